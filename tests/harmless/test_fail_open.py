"""The core fails at every call, or panics at every event: a healthy stream is delivered all the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from seamstream import _core
from seamstream.recovery.policy import RecoveryPolicy
from tests.corpus import STREAMS, CorpusStream, by_name
from tests.harmless.fragile import CoreBrokenError, break_at, panic_at
from tests.support.single_run import Ran, Script, run_healthy
from tests.support.wire import frames, spoken

THOROUGH = [
    by_name(name)
    for name in (
        *("chat_text_plain", "chat_tool_parallel", "chat_azure_late_filters", "chat_usage_chunks"),
        *("chat_two_choices", "anthropic_text_then_tool", "anthropic_pings", "anthropic_thinking_text"),
        *("anthropic_server_search", "anthropic_crlf_no_space"),
    )
]
MODULES = ("guard", "intake", "attempting")


def _reads(data: bytes) -> Script:
    """Reads that cut events, with a wait in which holds fall due."""
    for number, at in enumerate(range(0, len(data), 331)):
        yield (3.0 if number % 4 == 3 else 0.01), data[at : at + 331]


def _delivered(stream: CorpusStream, ran: Ran) -> None:
    assert ran.run.error is None
    assert ran.run.finished
    assert len(ran.run.requests) == 1
    assert spoken(ran.run.data) == spoken(stream.data)


@pytest.fixture
def core(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Puts a stand-in for the core into the driver."""

    def install(stand_in: Any) -> Any:
        for module in MODULES:
            monkeypatch.setattr(f"seamstream.driver.{module}.Splice", stand_in)
        return stand_in

    yield install
    monkeypatch.undo()


@pytest.mark.parametrize("stream", THOROUGH, ids=str)
def test_an_exception_at_every_core_call(stream: CorpusStream, core: Any) -> None:
    calls = core(break_at(None))
    run_healthy(stream, _reads)
    assert calls.made > 2 * len(stream.data) // 331
    for number in range(calls.made):
        core(break_at(number))
        ran = run_healthy(stream, _reads)
        _delivered(stream, ran)
        assert ran.driver.guard.degraded == f"the core failed: {CoreBrokenError.__name__}"


@pytest.mark.parametrize("stream", STREAMS, ids=str)
def test_a_panic_at_every_event(stream: CorpusStream, core: Any) -> None:
    for number in range(1, len(frames(stream.data))):
        core(panic_at(number))
        ran = run_healthy(stream, _reads)
        _delivered(stream, ran)
        assert ran.driver.guard.degraded == "the core failed: PanicException"


@pytest.mark.parametrize("limit", [{"max_turn_bytes": 64}, {"max_json_depth": 2}, {"max_parts": 1}], ids=str)
@pytest.mark.parametrize("stream", STREAMS, ids=str)
def test_every_limit_passed(stream: CorpusStream, limit: dict[str, int]) -> None:
    _delivered(stream, run_healthy(stream, _reads, policy=RecoveryPolicy().replace(**limit)))


@pytest.mark.parametrize("stream", STREAMS, ids=str)
def test_a_request_too_large_to_keep(stream: CorpusStream) -> None:
    _delivered(stream, run_healthy(stream, _reads, body=None))


def test_the_stand_in_covers_the_whole_core() -> None:
    """A new method of the core is broken too."""
    public = {name for name in dir(_core.Splice) if not name.startswith("_")}
    assert public <= set(dir(break_at(None)))

"""The sinks: what is counted, what is logged, what is never told, and that a bad sink breaks nothing."""

from __future__ import annotations

import logging
import sys
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from seamstream.errors import ConfigurationError
from seamstream.observe import Notice, Record, RunEvent, Sinks
from seamstream.observe.counts import COUNTERS, Count, counts
from seamstream.observe.logging import LoggingSink
from seamstream.observe.prometheus import PrometheusSink
from seamstream.recovery.states import RunInput, RunState
from seamstream.types import Outcome, Turn, Usage

STALL = Notice("stall_warning", 10.0, "api.example:443", "run-7", "no progress for 30 s")


def outcome(**fields: Any) -> Outcome:
    values: dict[str, Any] = {
        "kind": "complete",
        "attempts": 1,
        "joins": (),
        "extra_usage": Usage(),
        "run_id": "run-7",
        "request_ids": ("req_1",),
        "degraded": None,
    }
    return Outcome(**{**values, **fields})


def event(state_from: RunState, input_: RunInput, state_to: RunState, **fields: Any) -> RunEvent:
    known: dict[str, Any] = {
        "target": "api.example:443",
        "dialect": "anthropic",
        "model": "m",
        "mode": "recover",
    }
    return RunEvent("run-7", 1, 10.0, state_from, input_, state_to, **{**known, **fields})


CUT = event(
    RunState.STREAMING,
    RunInput.FAIL,
    RunState.FAILED_AFTER_START,
    cause="ConnectionReset",
    plan="R1",
    strategy="prompt",
)
HEALTHY_END = event(RunState.STREAMING, RunInput.SUCCEED, RunState.SUCCEEDED, outcome=outcome())
RECOVERED = event(
    RunState.STREAMING,
    RunInput.SUCCEED,
    RunState.SUCCEEDED,
    gap_s=1.25,
    emitted_chars=412,
    outcome=outcome(
        kind="recovered",
        attempts=2,
        joins=("anchored",),
        extra_usage=Usage(30, 12),
        causes=("ConnectionReset",),
        plan="R1",
        request_ids=("req_1", "req_2"),
    ),
)
GIVEN_UP = event(
    RunState.FAILED_AFTER_START,
    RunInput.GIVE_UP,
    RunState.TERMINAL_FAILED,
    error_code="budget_exhausted",
    why="all used",
    outcome=outcome(kind="failed", attempts=3, causes=("IdleStall",)),
)


class TestCounts:
    def test_a_cut_is_counted_once_where_it_happened(self) -> None:
        assert list(counts(CUT)) == [Count("cuts", ("ConnectionReset", "R1", "recover"))]
        budgeted = event(
            RunState.FAILED_AFTER_START,
            RunInput.BUDGET,
            RunState.RECOVERY_BUDGETED,
            cause="ConnectionReset",
            plan="R1",
        )
        assert list(counts(budgeted)) == []

    def test_a_cut_without_a_plan(self) -> None:
        cut = event(
            RunState.STREAMING, RunInput.FAIL, RunState.FAILED_AFTER_START, cause="EarlyEof", mode="observe"
        )
        assert list(counts(cut)) == [Count("cuts", ("EarlyEof", "none", "observe"))]

    def test_a_salvaged_turn_is_a_cut_and_an_outcome(self) -> None:
        salvaged = event(
            RunState.STREAMING,
            RunInput.SUCCEED,
            RunState.SUCCEEDED,
            cause="EarlyEof",
            plan="R2",
            salvaged="R2",
            outcome=outcome(kind="salvaged", causes=("EarlyEof",)),
        )
        assert list(counts(salvaged)) == [
            Count("cuts", ("EarlyEof", "R2", "recover")),
            Count("streams", ("salvaged", "anthropic", "recover")),
        ]

    def test_a_recovered_run(self) -> None:
        assert list(counts(RECOVERED)) == [
            Count("streams", ("recovered", "anthropic", "recover")),
            Count("gap_seconds", ("anthropic",), 1.25),
            Count("joins", ("anchored",)),
            Count("extra_tokens", ("input",), 30.0),
            Count("extra_tokens", ("output",), 12.0),
        ]

    def test_a_run_given_up_for_its_budget(self) -> None:
        assert Count("budget_refusals", ("budget_exhausted",)) in list(counts(GIVEN_UP))
        other = event(
            RunState.FAILED_AFTER_START,
            RunInput.GIVE_UP,
            RunState.TERMINAL_FAILED,
            error_code="not_continuable",
        )
        assert list(counts(other)) == []

    def test_a_degraded_run_without_the_details_of_its_reason(self) -> None:
        ended = event(
            RunState.STREAMING,
            RunInput.SUCCEED,
            RunState.SUCCEEDED,
            outcome=outcome(degraded="max_parts: 4097 parts"),
        )
        assert Count("degraded", ("max_parts",)) in list(counts(ended))

    def test_notices_and_other_arrows_add_nothing(self) -> None:
        opened = event(RunState.CREATED, RunInput.REQUEST, RunState.REQUESTING)
        assert list(counts(STALL)) == list(counts(opened)) == []


class TestPrometheus:
    def test_counters_add_up_under_their_names(self) -> None:
        registry = CollectorRegistry()
        sink = PrometheusSink(registry)
        for record in (CUT, RECOVERED, RECOVERED, GIVEN_UP, HEALTHY_END, STALL):
            sink.record(record)

        def value(name: str, **labels: str) -> float | None:
            return registry.get_sample_value(f"seamstream_{name}_total", labels)

        assert value("streams", outcome="recovered", dialect="anthropic", mode="recover") == 2
        assert value("streams", outcome="complete", dialect="anthropic", mode="recover") == 1
        assert value("cuts", cause="ConnectionReset", plan="R1", mode="recover") == 1
        assert value("joins", join="anchored") == 2
        assert value("gap_seconds", dialect="anthropic") == 2.5
        assert value("extra_tokens", kind="output") == 24
        assert value("budget_refusals", code="budget_exhausted") == 1

    def test_every_counter_exists_from_the_start(self) -> None:
        registry = CollectorRegistry()
        PrometheusSink(registry)
        assert {metric.name for metric in registry.collect()} == {f"seamstream_{name}" for name in COUNTERS}

    def test_without_the_library_the_error_names_the_extra(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "prometheus_client", None)
        with pytest.raises(ConfigurationError, match=r"pip install 'seamstream\[prometheus\]'"):
            PrometheusSink()


class TestLogging:
    def lines(self, caplog: pytest.LogCaptureFixture, *records: Record) -> list[logging.LogRecord]:
        sink = LoggingSink()
        with caplog.at_level(logging.DEBUG, "seamstream"):
            for record in records:
                sink.record(record)
        return caplog.records

    def test_one_line_for_a_cut_run(self, caplog: pytest.LogCaptureFixture) -> None:
        (line,) = self.lines(caplog, CUT, RECOVERED)
        assert line.levelno == logging.INFO
        assert line.getMessage() == (
            "run recovered: run=run-7 attempts=2 causes=ConnectionReset plan=R1 joins=anchored gap_s=1.250 "
            "extra_output_tokens=12 chars=412 mode=recover dialect=anthropic target=api.example:443 model=m "
            "requests=req_1,req_2"
        )
        assert vars(line)["seamstream"]["joins"] == "anchored"

    def test_none_for_a_healthy_run(self, caplog: pytest.LogCaptureFixture) -> None:
        assert self.lines(caplog, HEALTHY_END) == []

    def test_a_failed_run_is_a_warning_with_its_code(self, caplog: pytest.LogCaptureFixture) -> None:
        (line,) = self.lines(caplog, GIVEN_UP)
        assert line.levelno == logging.WARNING
        assert "code=budget_exhausted" in line.getMessage()

    def test_a_notice_is_a_warning(self, caplog: pytest.LogCaptureFixture) -> None:
        (line,) = self.lines(caplog, STALL)
        assert line.levelno == logging.WARNING
        assert line.getMessage() == (
            "notice stall_warning: target=api.example:443 run=run-7 detail=no progress for 30 s"
        )

    def test_content_and_wording_stay_out(self, caplog: pytest.LogCaptureFixture) -> None:
        turn = Turn("SECRET", "SECRET", "", (), Usage(), None, (), (), ("SECRET",), outcome())
        told = event(
            RunState.FAILED_AFTER_START,
            RunInput.GIVE_UP,
            RunState.TERMINAL_FAILED,
            why="SECRET wording",
            turn=turn,
            outcome=outcome(kind="failed", attempts=2, causes=("EarlyEof",), degraded="panic: SECRET"),
        )
        (line,) = self.lines(caplog, told)
        assert "SECRET" not in line.getMessage() + repr(vars(line))

    def test_another_logger_may_be_given(self, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level(logging.DEBUG, "mine"):
            LoggingSink(logging.getLogger("mine")).record(RECOVERED)
        assert [line.name for line in caplog.records] == ["mine"]


class TestSinks:
    def test_every_sink_gets_every_record_and_a_bad_one_harms_nobody(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        class Bad:
            def record(self, record: Record) -> None:
                raise RuntimeError("full disk")

        class Good:
            def __init__(self) -> None:
                self.seen: list[Record] = []

            def record(self, record: Record) -> None:
                self.seen.append(record)

        first, last = Good(), Good()
        sinks = Sinks([first, Bad(), last])
        for record in (CUT, STALL, HEALTHY_END):
            sinks.record(record)
        assert first.seen == last.seen == [CUT, STALL, HEALTHY_END]
        assert [line.getMessage() for line in caplog.records] == [
            "a sink of type Bad failed; this is said once"
        ]

    def test_no_sink_at_all(self) -> None:
        Sinks().record(CUT)

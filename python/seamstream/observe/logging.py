"""One log line for each run that was cut, and one for each notice; healthy runs log nothing.

The line holds ids, counts and codes. It never holds content, keys, or a provider's wording, which may quote
content.
"""

from __future__ import annotations

import logging

from ..types import Outcome
from .hooks import Notice, Record, RunEvent


class LoggingSink:
    """Writes to the logger `seamstream` or the one given; the facts also stand in a field of that name."""

    def __init__(self, logger: logging.Logger | None = None) -> None:
        self._logger = logger or logging.getLogger("seamstream")

    def record(self, record: Record) -> None:
        if isinstance(record, Notice):
            self._write(logging.WARNING, f"notice {record.kind}", _notice_facts(record))
        elif record.outcome is not None and _was_cut(record.outcome):
            failed = record.outcome.kind in ("failed", "truncated")
            facts = _run_facts(record, record.outcome)
            self._write(logging.WARNING if failed else logging.INFO, f"run {record.outcome.kind}", facts)

    def _write(self, level: int, headline: str, facts: dict[str, str]) -> None:
        shown = " ".join(f"{name}={value}" for name, value in facts.items() if value)
        self._logger.log(level, "%s: %s", headline, shown, extra={"seamstream": facts})


def _was_cut(outcome: Outcome) -> bool:
    return bool(outcome.causes) or outcome.attempts > 1 or outcome.degraded is not None


def _run_facts(event: RunEvent, outcome: Outcome) -> dict[str, str]:
    extra_tokens = outcome.extra_usage.output_tokens
    return {
        "run": outcome.run_id,
        "attempts": str(outcome.attempts),
        "causes": ",".join(outcome.causes),
        "plan": outcome.plan or "",
        "joins": ",".join(outcome.joins),
        "gap_s": f"{event.gap_s:.3f}" if event.gap_s else "",
        "extra_output_tokens": "" if extra_tokens is None else str(extra_tokens),
        "chars": str(event.emitted_chars),
        "code": event.error_code or "",
        "degraded": (outcome.degraded or "").partition(":")[0],
        "mode": event.mode,
        "dialect": event.dialect,
        "target": event.target,
        "model": event.model,
        "requests": ",".join(outcome.request_ids),
    }


def _notice_facts(notice: Notice) -> dict[str, str]:
    return {"target": notice.target, "run": notice.run_id, "detail": notice.detail}

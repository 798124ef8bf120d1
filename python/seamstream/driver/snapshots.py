"""The core's view of a turn as the package's records, and what it says about usage."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..types import InBandError, PartialToolCall, ResumePoint, Shown, Snapshot, ToolCall, Usage

AttemptUsage = tuple[int | None, int | None, int | None, int | None]


def read_snapshot(fields: Mapping[str, Any]) -> Snapshot:
    """A `Snapshot` from the core's dict, whose nested records are tuples in field order."""
    values = dict(fields)
    values["completed_tool_calls"] = tuple(ToolCall(*call) for call in values["completed_tool_calls"])
    values["in_flight_tools"] = tuple(PartialToolCall(*call) for call in values["in_flight_tools"])
    values["usage"] = Usage(*values["usage"])
    values["shown"] = Shown(*values["shown"])
    values["signed_thinking"] = tuple(values["signed_thinking"])
    if values["error"] is not None:
        values["error"] = InBandError(*values["error"])
    if values["resume_point"] is not None:
        values["resume_point"] = ResumePoint(*values["resume_point"])
    return Snapshot(**values)


@dataclass(frozen=True, slots=True)
class Bill:
    """What one streamed attempt reported, and what is known if that is too little.

    A cut attempt's counters are those of its beginning; its content deltas are a lower bound of its output.
    """

    reported: AttemptUsage
    content_deltas: int
    cut: bool
    resumes: bool = False
    """The attempt only took up the response of the one before: their bill is one, and stands there."""

    @property
    def complete(self) -> bool:
        return self.resumes or (not self.cut and self.reported[1] is not None)

    @property
    def output_tokens(self) -> int | None:
        """The best lower bound; None when nothing is known."""
        reported = self.reported[1]
        if self.complete or not self.content_deltas:
            return reported
        return max(reported or 0, self.content_deltas)

    @property
    def usage(self) -> Usage:
        """The attempt's own bill, as far as it was reported."""
        inputs, outputs, cache_reads, cache_writes = self.reported
        return Usage(inputs, outputs, cache_reads, cache_writes, complete=self.complete)


def sum_usage(bills: Sequence[Bill]) -> Usage:
    """A turn's usage: the input of the first attempt that reported it, the outputs of all."""
    first = next((bill.reported for bill in bills if bill.reported[0] is not None), (None, None, None, None))
    outputs = [bill.output_tokens for bill in bills]
    return Usage(
        first[0],
        _sum(outputs),
        first[2],
        first[3],
        complete=bool(bills) and all(bill.complete for bill in bills),
        estimated=any(bill.output_tokens != bill.reported[1] for bill in bills),
    )


def extra_usage(bills: Sequence[Bill]) -> Usage:
    """What recovery cost: everything that the attempts after the first reported."""
    later = [bill.reported for bill in bills[1:]]
    inputs, outputs, cache_reads, cache_writes = (_sum(usage[field] for usage in later) for field in range(4))
    complete = all(bill.complete for bill in bills[1:])
    return Usage(inputs, outputs, cache_reads, cache_writes, complete=complete)


def _sum(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None

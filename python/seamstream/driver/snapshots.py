"""The core's view of a turn as the package's records, and what it says about usage."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..types import InBandError, PartialToolCall, Shown, Snapshot, ToolCall, Usage

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
    return Snapshot(**values)


def usage_of(reported: AttemptUsage) -> Usage:
    """One attempt's own bill."""
    return Usage(*reported, complete=reported[1] is not None)


def sum_usage(attempts: Sequence[AttemptUsage], content_deltas: Sequence[int]) -> Usage:
    """A turn's usage: the input of the first attempt that reported it, the outputs of all.

    An attempt that was cut before it reported is estimated by its number of content deltas, a lower bound.
    """
    outputs = [usage[1] for usage in attempts]
    estimates = [
        deltas if output is None else output for output, deltas in zip(outputs, content_deltas, strict=False)
    ]
    inputs = next((usage for usage in attempts if usage[0] is not None), (None, None, None, None))
    missing = None in outputs or not outputs
    known = any(estimates) or not missing
    return Usage(
        inputs[0],
        sum(estimates) if known else None,
        inputs[2],
        inputs[3],
        complete=not missing,
        estimated=missing and known,
    )


def extra_usage(attempts: Sequence[AttemptUsage]) -> Usage:
    """What recovery cost: everything that the attempts after the first reported."""
    later = attempts[1:]
    complete = all(usage[1] is not None for usage in later)
    inputs, outputs, cache_reads, cache_writes = (_sum(usage[field] for usage in later) for field in range(4))
    return Usage(inputs, outputs, cache_reads, cache_writes, complete=complete)


def _sum(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None

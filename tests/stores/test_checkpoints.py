"""Checkpoints: their order, and that nothing is lost or guessed on the way through JSON."""

from __future__ import annotations

import dataclasses
from typing import Any

import orjson
import pytest

from seamstream.errors import StoreError
from seamstream.recovery.budget import RunBudget
from seamstream.recovery.policy import RecoveryPolicy
from seamstream.stores.checkpoints import StreamCheckpoint
from seamstream.types import (
    AttemptRecord,
    InBandError,
    PartialToolCall,
    SeamRecord,
    Shown,
    ToolCall,
    Usage,
)
from tests.recovery.made import EMPTY, snapshot

FULL = StreamCheckpoint(
    key="tenant/run-7",
    run_id="run-7",
    dialect="anthropic",
    attempt=2,
    epoch=3,
    restarts=1,
    request_digest="d",
    model="m",
    snapshot=dataclasses.replace(
        EMPTY,
        text="Ebbe 🙂 \ufffd",
        reasoning="Hm",
        refusal="No",
        completed_tool_calls=(ToolCall("1", "f", '{"a":1}'),),
        in_flight_tools=(PartialToolCall("2", "g", '{"b'),),
        usage=Usage(10, 20, complete=False),
        shown=Shown(anything=True, text_chars=4, reasoning=True),
        signed_thinking=('{"type":"thinking"}',),
        server_items="paired",
        error=InBandError("overloaded_error", "", 529, "busy", b"event: error\ndata: \xff\n\n"),
    ),
    attempts=(AttemptRecord(1, 0.5, cause="ConnectionReset", usage=Usage(1, 2)),),
    seams=(SeamRecord(4, "ConnectionReset", "R1", "prefill", 2),),
    budget=RunBudget.from_policy(RecoveryPolicy()).to_dict(0.0),
    base_request=b'{"messages":[]}\xff',
)


def checkpoint(**fields: Any) -> StreamCheckpoint:
    return StreamCheckpoint(
        **{"key": "k", "run_id": "r", "dialect": "anthropic", "attempt": 1, "snapshot": EMPTY, **fields}
    )


def test_json_and_back() -> None:
    assert StreamCheckpoint.from_json(FULL.to_json()) == FULL
    assert StreamCheckpoint.from_json(checkpoint().to_json()) == checkpoint()


def test_the_budget_of_a_checkpoint_goes_on() -> None:
    stored = StreamCheckpoint.from_json(FULL.to_json())
    assert RunBudget.from_dict(stored.budget) == RunBudget.from_policy(RecoveryPolicy())


def test_everything_that_was_received_counts_as_characters() -> None:
    assert FULL.characters == len("Ebbe 🙂 \ufffd") + len("Hm") + len("No") + len('{"a":1}') + len('{"b')
    assert FULL.order == (3, 1, FULL.characters)


def test_the_order_is_owner_then_restart_then_length() -> None:
    ascending = [
        checkpoint(),
        checkpoint(snapshot=snapshot(text="ab")),
        checkpoint(restarts=1),
        checkpoint(restarts=1, snapshot=snapshot(reasoning="a")),
        checkpoint(epoch=2),
    ]
    orders = [one.order for one in ascending]
    assert orders == sorted(orders)
    assert len(set(orders)) == len(orders)


def changed(path: tuple[str, ...], value: Any) -> bytes:
    document = orjson.loads(FULL.to_json())
    place = document
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return orjson.dumps(document)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"{}",
        changed(("schema_version",), 2),
        changed(("schema_version",), "1"),
        changed(("base_request",), "no base64!"),
        changed(("attempt",), "2"),
        changed(("attempt",), True),
        changed(("attempt",), None),
        changed(("budget",), []),
        changed(("attempts",), 7),
        changed(("snapshot", "signed_thinking"), "abc"),
        changed(("snapshot",), None),
        changed(("snapshot", "text"), 7),
        changed(("snapshot", "terminal_seen"), 1),
        changed(("snapshot", "server_items"), "some"),
        changed(("snapshot", "shown", "unknown"), 1),
        changed(("snapshot", "error", "raw"), 5),
    ],
)
def test_what_cannot_be_read_is_a_store_error(data: bytes) -> None:
    with pytest.raises(StoreError):
        StreamCheckpoint.from_json(data)


def test_a_field_that_an_older_writer_did_not_have_takes_its_default() -> None:
    document = orjson.loads(FULL.to_json())
    del document["restarts"]
    del document["snapshot"]["usage"]["estimated"]
    del document["snapshot"]["shown"]["live_tool"]
    assert StreamCheckpoint.from_json(orjson.dumps(document)) == dataclasses.replace(FULL, restarts=0)

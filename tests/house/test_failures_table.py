"""docs/failures.md says what happens: each cell of its table is made to happen and compared."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from typing import Any

import pytest

import seamstream
from seamstream.testing import Dialect
from tests.house.failures import COLUMNS, ROWS, SAID, Got, server_for
from tests.house.imports import ROOT

TEXT = (ROOT / "docs" / "failures.md").read_text("utf-8")


def table() -> dict[tuple[str, str], str]:
    """The cells by row and column."""
    rows = [re.findall(r"(?<=\| ).*?(?= \|)", line) for line in TEXT.splitlines() if line.startswith("| ")]
    header, *body = rows
    return {(row[0], column): cell for row in body for column, cell in zip(header[1:], row[1:], strict=True)}


def cells() -> Iterator[Any]:
    for (row, column), cell in table().items():
        for dialect in COLUMNS[column][1]:
            yield pytest.param(row, column, cell, dialect, id=f"{row}-{column}-{dialect}")


def named(cell: str) -> list[Any]:
    """The classes in back-ticks."""
    paths = [name.rpartition(".") for name in re.findall(r"`([\w.]+)`", cell)]
    return [getattr(importlib.import_module(module), name) for module, _, name in paths]


def causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__


def text_after_reset(got: Got) -> str:
    kinds = [type(event) for event in got.events]
    later = got.events[kinds.index(seamstream.StreamReset) :]
    return "".join(event.text for event in later if isinstance(event, seamstream.TextDelta))


def test_the_table_has_every_row_and_column() -> None:
    assert set(table()) == {(row, column) for row in ROWS for column in COLUMNS}


@pytest.mark.parametrize(("row", "column", "cell", "dialect"), list(cells()))
async def test_a_cell_is_what_happens(row: str, column: str, cell: str, dialect: Dialect) -> None:
    read, _ = COLUMNS[column]
    async with server_for(ROWS[row]) as server:
        got = await read(server, dialect, ROWS[row], True)
        sent = bytes(server.requests[-1].sent)
        shown = ROWS[row].script[0] if ROWS[row].script else None
    if cell.startswith("`"):
        assert got.error is not None
        assert [kind for kind in named(cell) if not isinstance(got.error, kind)] == []
        broke = shown is not None and shown.after_text is not None and shown.error_status is None
        assert not broke or any(isinstance(cause, seamstream.StreamCutError) for cause in causes(got.error))
        return
    if cell == "as without seamstream":
        async with server_for(ROWS[row]) as server:
            without = await read(server, dialect, ROWS[row], False)
        assert (got.events, repr(got.error)) == (without.events, repr(without.error))
        return
    assert got.error is None
    if cell == "the provider's response":
        assert (got.status, got.body) == (server.requests[-1].status, sent)
        assert got.status == 200 or got.headers["x-should-retry"] == "false"
    elif cell == "the provider's error event, then the end":
        last_event = sent.removesuffix(b"\n\n").rpartition(b"\n\n")[2]
        assert b'"error"' in last_event
        assert got.body.endswith(last_event + b"\n\n")
    else:
        assert cell == "the whole answer again, behind `seamstream.StreamReset`"
        assert text_after_reset(got) == SAID

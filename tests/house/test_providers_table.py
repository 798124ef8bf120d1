"""docs/providers.md says who is continued how: each row is compared with what the code would do."""

from __future__ import annotations

import re
from typing import Any

import pytest

from seamstream import ProfileBook
from seamstream.recovery.continuation import SERVERS
from seamstream.recovery.continuation.known import KNOWN
from tests.house.imports import ROOT

TEXT = (ROOT / "docs" / "providers.md").read_text("utf-8")
ROWS = [line.strip("| ").split(" | ") for line in TEXT.splitlines() if line.startswith("| ")][1:]
JOIN_OF = {
    "prompt": "anchored",
    "prefill": "prefill",
    "prefix-flag": "prefill",
    "continue-final-message": "prefill",
}
NAMED_SERVER = re.compile(r'SERVERS\["(.+)"\]')


def codes(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def strategies(known_by: str, dialect: Any, model: str) -> list[str]:
    """As a book without profiles of the user's has them."""
    book, host = ProfileBook(), known_by
    if server := NAMED_SERVER.fullmatch(known_by):
        book.learn_server(host="localhost", dialect=dialect, headers={"server": server[1]})
        host = "localhost"
    return list(book.strategies(host=host, dialect=dialect, model=model, now=0.0))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_row_is_what_the_code_does(row: list[str]) -> None:
    _, dialect, known_by, model, ways, join, _ = row
    (dialect,), (known_by,), (model,) = codes(dialect), codes(known_by), codes(model)
    assert codes(ways) == strategies(known_by, dialect, model)
    assert JOIN_OF[codes(ways)[0]] in join


def test_every_known_profile_has_a_row() -> None:
    told = [[codes(cell)[0] for cell in row[1:4]] for row in ROWS]
    hosts = [(host, dialect, model) for dialect, host, model in told]
    missing = [each for each in KNOWN if not any(each.matches(*row) for row in hosts)]  # type: ignore[arg-type]
    assert [each for each in missing if each.host != "*.mistral.ai"] == []
    servers = {match[1] for _, known_by, _ in told if (match := NAMED_SERVER.fullmatch(known_by))}
    assert servers == set(SERVERS)

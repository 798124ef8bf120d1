"""Cuts event streams at their blank lines, for tests that compare bytes."""

from __future__ import annotations

import re

FRAME = re.compile(rb".*?(?:\r\n\r\n|\n\n|\r\r)", re.DOTALL)
LINE = re.compile(rb".*?\n", re.DOTALL)
"""The frames of NDJSON, which begins with an object where an event stream begins with a field's name."""
LINE_END = re.compile(rb"\r\n|\n|\r")
PING = re.compile(rb"event: ?ping$")


def _binary(data: bytes) -> list[bytes]:
    """The frames of an AWS event stream, which say how long they are."""
    found, at = list[bytes](), 0
    while at + 4 <= len(data) and at + (total := int.from_bytes(data[at : at + 4], "big")) <= len(data):
        found.append(data[at : at + total])
        at += total
    return found


def _frames(data: bytes) -> list[bytes]:
    return _binary(data) if data.startswith(b"\0") else _frame(data).findall(data)


def _frame(data: bytes) -> re.Pattern[bytes]:
    return LINE if data.startswith(b"{") else FRAME


def frames(data: bytes) -> list[bytes]:
    """Each event with its blank line; a half one at the end is the last item."""
    found = _frames(data)
    rest = data[sum(map(len, found)) :]
    return found + ([rest] if rest else [])


def boundaries(data: bytes) -> list[int]:
    """The offsets right behind a blank line."""
    ends, at = [], 0
    for frame in _frames(data):
        at += len(frame)
        ends.append(at)
    return ends


def spoken(data: bytes) -> list[list[bytes]]:
    """The lines of each event, without comments and pings: the two things that may overtake what is held."""
    events: list[list[bytes]] = [[]]
    for line in LINE_END.split(data):
        if not line:
            events.append([])
        elif not line.startswith(b":"):
            events[-1].append(line)
    return [event for event in events if event and not PING.match(event[0])]

"""Plays an entry through the core: a stream that is cut where `shown` ends, then the reply that follows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from seamstream._core import Splice
from seamstream.testing import Answer, Dialect, Text, Tool, read_turn, render
from tests.seams.corpus import REFUSED, Entry

SEAM_REFUSED = 32
MORE = "(and what never arrived)"


@dataclass(frozen=True)
class Decided:
    """The core's verdict. `text` is the whole answer, `read` what a byte reader's bytes say it is."""

    verdict: str
    text: str | None = None
    read: str | None = None
    guessed_blanks: bool = False


def play(entry: Entry, dialect: Dialect, deltas: Iterable[str], reads: int | None = None) -> Decided:
    """`deltas` are the pieces of the reply, `reads` the bytes of one read (None: an event)."""
    splice = Splice(dialect)
    out = _show(splice, entry, dialect) + splice.cut()
    out += splice.resume("R1", exact=entry.strategy == "exact", quote=entry.quote, stripped=entry.stripped)
    for read in _reads(dialect, entry, tuple(deltas), reads):
        out += splice.feed(read)
        if splice.flags & SEAM_REFUSED:
            return Decided(REFUSED)
    if not splice.done:
        splice.cut()
        out += splice.finish()
    ((_, _, join, _, guessed),) = splice.seams()
    return Decided(join, str(splice.snapshot()["text"]), read_turn(dialect, out).text, guessed)


def right(entry: Entry) -> Decided:
    return Decided(entry.verdict, entry.text, entry.text, entry.guessed_blanks)


def _show(splice: Splice, entry: Entry, dialect: Dialect) -> bytes:
    out = b""
    for event in render(dialect, Answer((Text((entry.shown, MORE)),))):
        out += splice.feed(event)
        if splice.snapshot()["text"] == entry.shown:
            return out
    raise AssertionError(f"{dialect} never showed {entry.shown!r}")


def _reads(dialect: Dialect, entry: Entry, deltas: tuple[str, ...], size: int | None) -> list[bytes]:
    calls = (Tool("look", ('{"at":', '"sea"}')),) if entry.calls else ()
    spoken = (Text(deltas),) if entry.says else ()
    events = render(dialect, Answer((*spoken, *calls)))
    if size is None:
        return events
    data = b"".join(events)
    return [data[at : at + size] for at in range(0, len(data), size)]

"""docs/cut_outcomes.md: what a reader of the provider's own bytes gets when a stream is cut, per stream.

`python -m tests.exhaustive.table` plays every cut and writes it; the suite compares it with what it plays.
"""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.corpus import STREAMS, CorpusStream
from tests.exhaustive.judge import Verdict
from tests.exhaustive.sweep import main_cuts, sweep

FILE = Path(__file__).parents[2] / "docs" / "cut_outcomes.md"
HEAD = """# What is left of a cut stream

Untyped reader gets: the whole answer, a restart it does not see, or an honest failure. Each stream of the
test corpus is cut at every byte; reset, early end, stall and malformed frame take turns, and so do the ways
of asking for the rest. "Salvaged" are those of the whole ones that end early as tool use, because a complete
call must not be asked for twice. A restart is only made while nothing that would be repeated has left.
Written by `python -m tests.exhaustive.table`; the suite fails when it says anything else than what happens.

| stream | cuts | whole | of these salvaged | restart | honest failure | share | why it may fail |
|---|---:|---:|---:|---:|---:|---:|---|
"""
TAIL = """
A call goes live, that is it leaves before it is complete, when it holds more than 4,096 bytes, as in the two
streams with long arguments, or when more of it comes after two seconds, which no stream here takes. What was
shown of it cannot be taken back. Silence alone makes nothing go live.
"""


def row(stream: CorpusStream, verdicts: Counter[Verdict]) -> str:
    """The stream's line of the table."""
    failed, total = verdicts["failure"], sum(verdicts.values())
    why = (stream.unrecoverable or "") if failed else ""
    share = f"{100 * failed / total:.1f} %" if failed else "0"
    whole = verdicts["whole"] + verdicts["salvaged"]
    cells = [stream.name, total, whole, verdicts["salvaged"], verdicts["restart"], failed, share, why]
    return f"| {' | '.join(map(str, cells))} |"


def committed_rows() -> dict[str, str]:
    """The lines of the committed table by stream."""
    lines = FILE.read_text(encoding="utf-8").split("|---|\n", 1)[1].splitlines()
    return {line.split("|")[1].strip(): line for line in lines if line.startswith("| ")}


def cuts_in(line: str) -> int:
    return int(line.split("|")[2])


def failures_in(line: str) -> int:
    return int(line.split("|")[6])


def _measured_row(stream: CorpusStream) -> str:
    return row(stream, sweep(stream, main_cuts(stream)))


def main() -> None:
    with ProcessPoolExecutor() as pool:
        rows = list(pool.map(_measured_row, STREAMS))
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(HEAD + "\n".join(rows) + "\n" + TAIL, encoding="utf-8")


if __name__ == "__main__":
    main()

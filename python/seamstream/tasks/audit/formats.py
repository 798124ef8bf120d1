"""An audit as text for people, as JSON, and as JUnit XML for whatever gates a release."""

from __future__ import annotations

import dataclasses
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Final
from xml.etree import ElementTree

import orjson

from .report import Alarm, Audit, Note, Row

WIDTH: Final = 100
_UNPRINTABLE: Final = re.compile(r"[^\t\n\r\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Control characters, surrogates and what XML does not allow: tools' names are whatever a model wrote."""
_RAISED: Final = {True: "raised", False: "quiet", None: "unknown"}


def as_text(audit: Audit) -> str:
    """Aligned lines of at most 100 characters (a longer word stays whole)."""
    return "\n".join(_clean(line) for line in _lines(audit)) + "\n"


def as_json(audit: Audit) -> str:
    """The audit's own fields, and `passed`."""
    document = {**dataclasses.asdict(audit), "passed": audit.passed}
    plain = _cleaned(document)
    return orjson.dumps(plain, option=orjson.OPT_INDENT_2).decode() + "\n"


def as_junit(audit: Audit) -> str:
    """One test case for each row: one that fails is a failure, one that nobody can judge an error."""
    suite = ElementTree.Element("testsuite", name=f"seamstream audit {_clean(audit.task_id)}")
    for row in audit.rows:
        suite.append(_case(row))
    counts = {verdict: sum(row.verdict == verdict for row in audit.rows) for verdict in ("fail", "unknown")}
    suite.attrib.update(
        tests=str(len(audit.rows)), failures=str(counts["fail"]), errors=str(counts["unknown"])
    )
    ElementTree.SubElement(suite, "system-out").text = as_text(audit)
    ElementTree.indent(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suite, encoding="unicode") + "\n"


def printable(text: str) -> str:
    """The text on one line, without control characters."""
    return _clean(text).replace("\n", " ").replace("\r", " ").replace("\t", " ")


# ---------------------------------------------------------------- text


def _lines(audit: Audit) -> Iterator[str]:
    yield f"Task {audit.task_id} of tenant {audit.tenant} is {audit.state}."
    yield f"Evidence: {audit.evidence_ref}"
    for answer in audit.answers:
        yield from ("", answer.question)
        yield from _notes(answer.notes, "  ")
    yield from ("", "Acceptance")
    for row in audit.rows:
        yield from _row(row)
    yield from ("", "Alarms")
    for alarm in audit.alarms:
        yield from _alarm(alarm)
    passed = sum(row.verdict == "pass" for row in audit.rows)
    yield from ("", f"{passed} of {len(audit.rows)} rows pass.")


def _row(row: Row) -> Iterator[str]:
    yield f"  {row.number}  {row.verdict:<8} {row.name}"
    yield from _notes(row.notes, " " * 14)
    if row.verdict != "pass":
        yield from _wrapped(f"-> {row.action}", " " * 14, " " * 17)


def _alarm(alarm: Alarm) -> Iterator[str]:
    yield from _wrapped(f"{_RAISED[alarm.raised]:<8} {alarm.event}: {alarm.condition}", " " * 5, " " * 14)
    yield from _notes(alarm.notes, " " * 14)


def _notes(notes: Sequence[Note], indent: str) -> Iterator[str]:
    for note in notes:
        seqs = f"  {numbers(note.entries)}" if note.entries else ""
        yield from _wrapped(printable(note.text) + seqs, indent, indent + "  ")


def _wrapped(text: str, first: str, rest: str) -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )


def numbers(entries: Iterable[int]) -> str:
    """Entry numbers, neighbours as a range: `#3-5 #9`."""
    ranges: list[list[int]] = []
    for seq in sorted(set(entries)):
        if ranges and ranges[-1][1] == seq - 1:
            ranges[-1][1] = seq
        else:
            ranges.append([seq, seq])
    return " ".join(f"#{first}" if first == last else f"#{first}-{last}" for first, last in ranges)


# ---------------------------------------------------------------- XML


def _case(row: Row) -> ElementTree.Element:
    case = ElementTree.Element("testcase", classname="seamstream.audit", name=f"{row.number} {row.name}")
    said = "\n".join(_notes(row.notes, ""))
    if row.verdict == "pass":
        ElementTree.SubElement(case, "system-out").text = said
    else:
        first = _clean(row.notes[0].text) if row.notes else row.standard
        tag = "failure" if row.verdict == "fail" else "error"
        told = ElementTree.SubElement(case, tag, message=first, type=row.verdict)
        told.text = f"{said}\naction: {row.action}"
    return case


def _clean(text: str) -> str:
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def _cleaned(value: object) -> object:
    """Lone surrogates fit into no JSON text."""
    if isinstance(value, str):
        return _clean(value)
    if isinstance(value, dict):
        return {name: _cleaned(each) for name, each in value.items()}
    return [_cleaned(each) for each in value] if isinstance(value, list | tuple) else value

"""The display form of arguments so far, as a program would build it from the scanner's two answers."""

from __future__ import annotations

import json
from typing import Any

from seamstream._core import JsonScanner


def scan(*fragments: bytes) -> JsonScanner:
    scanner = JsonScanner()
    for fragment in fragments:
        scanner.push(fragment)
    return scanner


def display_text(prefix: bytes) -> str:
    """Strict in both senses: the form has to be valid UTF-8 and valid JSON."""
    scanner = scan(prefix)
    suffix = scanner.suffix()
    assert suffix is not None
    return prefix[: scanner.display_cut()].decode() + suffix


def display_value(prefix: bytes) -> Any:
    return json.loads(display_text(prefix), parse_constant=_refuse)


def is_json(text: bytes) -> bool:
    """What the standard library's strict reader says."""
    try:
        json.loads(text.decode(), parse_constant=_refuse)
    except ValueError:
        return False
    return True


def _refuse(name: str) -> None:
    raise ValueError(name)

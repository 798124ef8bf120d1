"""What tools give back, as text that every store and provider takes.

A result is written down when its effect has taken place, so no value may be refused any more: what JSON has
no form for is described.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Final

import orjson

_LONE: Final = re.compile("[\ud800-\udfff]")


def clean(text: str) -> str:
    """The text with U+FFFD for lone surrogates, as file names that are no UTF-8 have them."""
    return _LONE.sub("\ufffd", text)


def as_json(value: Any) -> bytes:
    """A value as JSON; keys that are no text are written as text, and objects as `str` gives them."""
    try:
        return orjson.dumps(value, default=described, option=orjson.OPT_NON_STR_KEYS)
    except TypeError:  # also for integers above 64 bits, lone surrogates, depth and cycles
        return clean(_at_length(value)).encode()


def _at_length(value: Any) -> str:
    try:
        return json.dumps(value, default=described, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return json.dumps(described(value, repr), ensure_ascii=False)


def described(value: Any, describe: Callable[[Any], str] = str) -> str:
    """An object or error of the user's as text; it may fail at that, too."""
    try:
        return str(describe(value))
    except Exception:
        return f"<{type(value).__name__}>"

"""Keys as text that every store takes as it is: segments of `[A-Za-z0-9_=-]`, joined by dots.

Whatever stands in a tenant or a key (dots, wildcards, slashes, letters of any script), two different ones
never meet, and none is a pattern.
"""

from __future__ import annotations

import re
from typing import Final

from .backend import Key

_UNSAFE: Final = re.compile(rb"[^A-Za-z0-9_-]")
_ESCAPED: Final = re.compile(rb"=([0-9A-F]{2})")
_EMPTY: Final = "="


def escape(segment: str) -> str:
    """One segment in safe characters: UTF-8, all other bytes as `=XX`. An empty one is a lone `=`."""
    safe = _UNSAFE.sub(lambda found: b"=%02X" % found[0][0], segment.encode("utf-8", "surrogatepass"))
    return safe.decode("ascii") or _EMPTY


def unescape(segment: str) -> str:
    """What `escape` was given."""
    if segment == _EMPTY:
        return ""
    raw = _ESCAPED.sub(lambda found: bytes((int(found[1], 16),)), segment.encode("ascii"))
    return raw.decode("utf-8", "surrogatepass")


def join(key: Key) -> str:
    """A key as one text."""
    return ".".join(map(escape, key))


def split(text: str) -> Key:
    """What `join` was given."""
    return tuple(map(unescape, text.split("."))) if text else ()


def is_under(text: str, prefix: Key) -> bool:
    """Does a joined key begin with these segments?"""
    start = join(prefix)
    return not start or text == start or text.startswith(start + ".")

"""Which requests are for an LLM stream, told from method, path and content type; the body is looked at, not
parsed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from .recovery.continuation.request import Dialect, read_request

_PATHS: Final[tuple[tuple[str, Dialect], ...]] = (
    ("/chat/completions", "openai-chat"),
    ("/responses", "openai-responses"),
    ("/messages", "anthropic"),
)
_IDEMPOTENCY_KEY: Final = "Idempotency-Key"
# Inside a JSON string the quotes would be escaped, so these find keys only.
_STREAM_KEY: Final = b'"stream"'
_STREAM: Final = re.compile(rb'"stream"\s*:\s*true')
_CHOICES_KEY: Final = b'"n"'
_CHOICES: Final = re.compile(rb'"n"\s*:\s*(\d{1,4})\b')


def dialect_of(method: str, path: str, headers: Mapping[str, str]) -> Dialect | None:
    """The protocol of a request, None if it is none of ours."""
    if method != "POST":
        return None
    for ending, dialect in _PATHS:
        if path.endswith(ending):
            content_type = headers.get("Content-Type", "").partition(";")[0].strip().lower()
            return dialect if content_type.endswith(("/json", "+json")) else None
    return None


def asks_for_stream(body: bytes) -> bool:
    """Does `"stream": true` stand in it as a key? Clients write it near the end, so look from there."""
    at = body.rfind(_STREAM_KEY)
    while at >= 0:
        if _STREAM.match(body, at):
            return True
        at = body.rfind(_STREAM_KEY, 0, at)
    return False


def choices_asked(dialect: Dialect, body: bytes | None) -> int:
    """How many choices a request asks for. It is read only if a number above one stands in it somewhere."""
    if body is None or dialect != "openai-chat":
        return 1
    at = body.rfind(_CHOICES_KEY)
    while at >= 0:
        found = _CHOICES.match(body, at)
        if found and int(found[1]) > 1:
            return read_request(dialect, body).choices
        at = body.rfind(_CHOICES_KEY, 0, at)
    return 1


def idempotency_of(headers: Mapping[str, str]) -> tuple[str, str] | None:
    """The caller's idempotency header, if there is one."""
    value = headers.get(_IDEMPOTENCY_KEY)
    return (_IDEMPOTENCY_KEY, value) if value is not None else None

"""Which requests are for an LLM stream, told from method, path and content type; the body is looked at, not
parsed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from .recovery.continuation.dialects import form_of, recognised
from .recovery.continuation.facts import Dialect
from .recovery.continuation.request import read_request
from .recovery.continuation.resume import CONVERSATION_HEADER

_IDEMPOTENCY_KEY: Final = "Idempotency-Key"
_NUMBER: Final = re.compile(rb"\s*:\s*(\d{1,4})\b")


def dialect_of(method: str, path: str, headers: Mapping[str, str]) -> Dialect | None:
    """The protocol of a request, None if it is none of ours."""
    if method != "POST":
        return None
    form = recognised(path)
    if form is None:
        return None
    content_type = headers.get("Content-Type", "").partition(";")[0].strip().lower()
    return form.name if content_type.endswith(("/json", "+json")) else None


def asks_for_stream(dialect: Dialect, path: str, body: bytes) -> bool:
    """Is it a stream that the request asks for?"""
    return form_of(dialect).streams(path, body)


def choices_asked(dialect: Dialect, body: bytes | None) -> int:
    """How many choices a request asks for. It is read only if a number above one stands in it somewhere."""
    member = form_of(dialect).choices_member
    if body is None or not member:
        return 1
    # Inside a JSON string the quotes would be escaped, so this finds keys only.
    key = f'"{member}"'.encode()
    at = body.rfind(key)
    while at >= 0:
        found = _NUMBER.match(body, at + len(key))
        if found and int(found[1]) > 1:
            return read_request(dialect, body).choices
        at = body.rfind(key, 0, at)
    return 1


def named_by(headers: Mapping[str, str]) -> dict[str, Any]:
    """The names that a caller gave its request, as fields of a run's spec."""
    return {"conversation": conversation_of(headers), "idempotency": idempotency_of(headers)}


def conversation_of(headers: Mapping[str, str]) -> str | None:
    """The name under which the caller has asked the server to keep the stream, if it has."""
    name = CONVERSATION_HEADER.lower()
    return next((value for key, value in headers.items() if key.lower() == name), None)


def idempotency_of(headers: Mapping[str, str]) -> tuple[str, str] | None:
    """The caller's idempotency header, if there is one."""
    value = headers.get(_IDEMPOTENCY_KEY)
    return (_IDEMPOTENCY_KEY, value) if value is not None else None

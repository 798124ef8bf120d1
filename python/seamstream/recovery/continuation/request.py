"""Reads a base request, by the form of its dialect.

Done only after a cut; the request itself is never changed. A body that cannot be read is no reason to fail:
it can still be sent again as it is, but not be continued, and `problem` says why.
"""

from __future__ import annotations

import orjson

from .dialects import form_of
from .facts import Dialect, RequestFacts

__all__ = ["Dialect", "RequestFacts", "read_request"]


def read_request(dialect: Dialect, body: bytes | None, path: str = "") -> RequestFacts:
    """Read the facts from a request body; None stands for a body that was not retained. Some dialects name
    the model in the URL's `path`.
    """
    if body is None:
        return RequestFacts(dialect, retained=False, problem="the request was too large to be kept")
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        return RequestFacts(dialect, problem="the request body is no JSON")
    if not isinstance(document, dict):
        return RequestFacts(dialect, problem="the request body is no JSON object")
    form = form_of(dialect)
    return RequestFacts(
        dialect,
        problem=form.problem(document),
        stream=form.streams(path, body),
        model=form.model(document, path),
        tools_offered=bool(document.get("tools") or document.get("functions") or document.get("toolConfig")),
        **form.read(document),
    )


def with_model(body: bytes, model: str) -> bytes:
    """The same request for another model. Where a dialect names the model in the path, it stays as it is, and
    so does what is no JSON object.
    """
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        return body
    if not isinstance(document, dict) or "model" not in document:
        return body
    return orjson.dumps({**document, "model": model})

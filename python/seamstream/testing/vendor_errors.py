"""Errors as the vendors write them, for an HTTP status: as a body and as an event inside a stream."""

from __future__ import annotations

from typing import Any

from ..recovery.continuation.facts import Dialect
from .render_bedrock import frame
from .render_options import RenderOptions, compact, sse

DONE = b"data: [DONE]\n\n"

_ANTHROPIC_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}
_CHAT_TYPES: dict[int, tuple[str, str | int | None]] = {
    400: ("invalid_request_error", None),
    401: ("invalid_request_error", "invalid_api_key"),
    404: ("invalid_request_error", "model_not_found"),
    429: ("rate_limit_error", "rate_limit_exceeded"),
    500: ("server_error", None),
}
_GOOGLE_STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    504: "DEADLINE_EXCEEDED",
}
_UNNAMED_EVENTS = ("openai-chat", "gemini")
"""Dialects whose streams name no events."""
_AWS_EXCEPTIONS = {
    400: "validationException",
    424: "modelStreamErrorException",
    429: "throttlingException",
    500: "internalServerException",
}
_MESSAGES = {
    429: "Rate limit reached, slow down.",
    500: "The server had an error while processing the request.",
    503: "The service is unavailable at the moment.",
    529: "Overloaded",
}


def error_data(dialect: Dialect, status: int, message: str | None = None) -> dict[str, Any]:
    """The error object that both HTTP errors and errors inside a stream carry."""
    text = message or _MESSAGES.get(status, f"The request failed with status {status}.")
    if dialect == "anthropic":
        error = {"type": _ANTHROPIC_TYPES.get(status, "api_error"), "message": text}
        return {"type": "error", "error": error, "request_id": "req_test"}
    if dialect == "gemini":
        google = _GOOGLE_STATUSES.get(status, "UNAVAILABLE")
        return {"error": {"code": status, "message": text, "status": google}}
    if dialect == "ollama":
        return {"error": text}
    if dialect == "bedrock":
        return {"message": text}
    if dialect == "cohere":
        return {"id": "err_test", "message": text}
    if dialect == "gemini-interactions":
        name = _GOOGLE_STATUSES.get(status, "UNAVAILABLE").lower()
        return {"error": {"code": name, "message": text}}
    # Servers that speak OpenAI's protocol without being OpenAI put the HTTP status where OpenAI has no code.
    kind, code = _CHAT_TYPES.get(status, ("server_error", status))
    return {"error": {"message": text, "type": kind, "param": None, "code": code}}


def error_body(dialect: Dialect, status: int, message: str | None = None) -> bytes:
    """The body of an HTTP error."""
    return compact(error_data(dialect, status, message)).encode()


def error_event(dialect: Dialect, status: int) -> bytes:
    """An error event inside a 200 stream."""
    data = error_data(dialect, status)
    if dialect == "bedrock":
        return frame(_AWS_EXCEPTIONS.get(status, "serviceUnavailableException"), data, exception=True)
    if dialect == "ollama":
        return f"{compact(data)}\n".encode()
    if dialect == "cohere":
        end = {"finish_reason": "ERROR", "error": data["message"]}
        return sse({"type": "message-end", "delta": end}, RenderOptions(), event="message-end")
    if dialect == "openai-responses":
        data = {"type": "error", **data}
    if dialect == "gemini-interactions":
        data = {"event_type": "error", **data}
    return sse(data, RenderOptions(), event=None if dialect in _UNNAMED_EVENTS else "error")


def keep_alive_event(dialect: Dialect) -> bytes:
    """What the dialect sends when it has nothing to say."""
    if dialect in ("ollama", "bedrock"):
        return b""
    return (
        sse({"type": "ping"}, RenderOptions(), event="ping")
        if dialect == "anthropic"
        else b": keep-alive\n\n"
    )

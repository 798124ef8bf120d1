"""Which reply a fault lets through: the model's, one in its place, or an HTTP error."""

from __future__ import annotations

from typing import Any, Protocol

from ..recovery.continuation.facts import Dialect
from .exchange import Exchange
from .faults import Fault
from .model import Reply
from .vendor_errors import error_body

_JSON = {"content-type": "application/json"}


class Responder(Protocol):
    """What answers requests: `DeterministicModel`, or anything with this method."""

    def reply(self, dialect: Dialect, body: dict[str, Any]) -> Reply: ...


def reply_under(fault: Fault, model: Responder, exchange: Exchange) -> Reply:
    """The reply to `exchange` before it is cut."""
    reply = _reply(fault, model, exchange)
    request_id = {"request-id": f"req_{exchange.number}", "x-request-id": f"req_{exchange.number}"}
    return Reply(reply.status, {**request_id, **reply.headers, **fault.headers}, reply.events, reply.body)


def _reply(fault: Fault, model: Responder, exchange: Exchange) -> Reply:
    dialect, body = exchange.dialect, exchange.body
    if dialect is not None and fault.http_status is not None:
        return Reply(fault.http_status, _JSON, body=error_body(dialect, fault.http_status))
    if dialect is None or not isinstance(body, dict):
        return Reply(
            404, _JSON, body=error_body(dialect or "openai-chat", 404, f"Unknown request: {exchange.path}")
        )
    if fault.body is not None:
        return Reply(200, {}, body=fault.body)
    return model.reply(dialect, {**body, "stream": False} if fault.unstreamed else body)

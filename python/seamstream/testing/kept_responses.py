"""What a provider keeps of responses that run in the background: their streams and how they end."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from .exchange import Exchange
from .model import Reply
from .vendor_errors import error_body

_JSON: Final = {"content-type": "application/json"}
_EVENT_STREAM: Final = {"content-type": "text/event-stream"}
_PATH: Final = "/v1/responses/"
TOO_OLD: Final = "This response can no longer be streamed because it is more than 5 minutes old."
NOT_BACKGROUND: Final = "This response cannot be streamed because it was not created with background=true."

Memory = Literal["streams", "ends", "nothing"]
"""Of a background response: its stream and its end, only its end (as after five minutes), or neither."""


@dataclass(slots=True)
class KeptResponses:
    """A background response goes on without its reader, so the whole of it is kept when it is asked for.

    `polls`: so often a response is still in progress when it is asked for without a stream.
    """

    memory: Memory = "streams"
    polls: int = 0
    _streams: dict[str, list[bytes]] = field(default_factory=dict)
    _plain: set[str] = field(default_factory=set)
    _polled: dict[str, int] = field(default_factory=dict)

    def keep(self, exchange: Exchange, reply: Reply) -> None:
        """Note the response that is about to be streamed."""
        body = exchange.body
        if exchange.dialect != "openai-responses" or not isinstance(body, dict) or not reply.events:
            return
        created = _data_of(reply.events[0]).get("response") or {}
        if body.get("background") is True and body.get("store") is not False:
            self._streams[created.get("id", "")] = list(reply.events)
        else:
            self._plain.add(created.get("id", ""))

    def reply(self, exchange: Exchange) -> Reply | None:
        """The answer to a request for a kept response; None when it is none."""
        if exchange.method != "GET" or not exchange.path.startswith(_PATH):
            return None
        name = exchange.path.removeprefix(_PATH)
        streams = exchange.query.get("stream") == "true"
        if streams and name in self._plain:
            return _refusal(400, NOT_BACKGROUND)
        events = self._streams.get(name)
        if events is None or self.memory == "nothing":
            return _refusal(404, f"Response with id '{name}' not found.")
        if not streams:
            return self._polled_reply(name, events)
        if self.memory == "ends":
            return _refusal(400, TOO_OLD)
        after = int(exchange.query.get("starting_after", "-1"))
        rest = [event for event in events if _data_of(event).get("sequence_number", -1) > after]
        return Reply(200, _EVENT_STREAM, events=rest)

    def _polled_reply(self, name: str, events: list[bytes]) -> Reply:
        polled = self._polled[name] = self._polled.get(name, 0) + 1
        event = events[0] if polled <= self.polls else events[-1]
        return Reply(200, _JSON, body=json.dumps(_data_of(event)["response"]).encode())


def _refusal(status: int, message: str) -> Reply:
    return Reply(status, _JSON, body=error_body("openai-responses", status, message))


def _data_of(event: bytes) -> dict[str, Any]:
    lines = [line[5:] for line in event.splitlines() if line.startswith(b"data:")]
    try:
        document = json.loads(b"\n".join(lines))
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}

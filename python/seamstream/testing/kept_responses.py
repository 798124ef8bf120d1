"""What providers keep of their answers: OpenAI of background responses, Gemini of interactions."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from ..recovery.continuation.facts import Dialect
from .exchange import Exchange
from .model import Reply
from .vendor_errors import error_body

_JSON: Final = {"content-type": "application/json"}
_EVENT_STREAM: Final = {"content-type": "text/event-stream"}
_PATH: Final = re.compile(r".*/(responses|interactions)/([^/]+)", re.ASCII)
_DIALECTS: Final[dict[str, Dialect]] = {
    "responses": "openai-responses",
    "interactions": "gemini-interactions",
}
TOO_OLD: Final = "This response can no longer be streamed because it is more than 5 minutes old."
NOT_BACKGROUND: Final = "This response cannot be streamed because it was not created with background=true."

Memory = Literal["streams", "ends", "nothing"]
"""Of an answer: its stream and its end, only its end (as OpenAI after five minutes), or neither."""


@dataclass(frozen=True, slots=True)
class _Kept:
    events: list[bytes]
    whole: dict[str, Any]


@dataclass(slots=True)
class KeptResponses:
    """An answer that is kept goes on without its reader, so the whole of it is there when it is asked for.

    `polls`: so often it is still in progress when it is asked for without a stream.
    """

    memory: Memory = "streams"
    polls: int = 0
    _kept: dict[str, _Kept] = field(default_factory=dict)
    _plain: set[str] = field(default_factory=set)
    _polled: dict[str, int] = field(default_factory=dict)

    def keep(self, exchange: Exchange, reply: Reply, whole: Callable[[], Reply]) -> None:
        """Note the answer that is about to be streamed; `whole` is the same one as a document."""
        body = exchange.body
        if exchange.dialect not in _DIALECTS.values() or not isinstance(body, dict) or not reply.events:
            return
        created = _data_of(reply.events[0])
        name = (created.get("response") or created.get("interaction") or {}).get("id", "")
        if body.get("store") is not False and (
            body.get("background") is True or exchange.dialect == "gemini-interactions"
        ):
            self._kept[name] = _Kept(list(reply.events), json.loads(whole().body))
        else:
            self._plain.add(name)

    def reply(self, exchange: Exchange) -> Reply | None:
        """The answer to a request for one that is kept; None when it is none."""
        asked = _PATH.fullmatch(exchange.path)
        if exchange.method != "GET" or asked is None:
            return None
        dialect, name = _DIALECTS[asked[1]], asked[2]
        streams = exchange.query.get("stream") == "true"
        if streams and name in self._plain and dialect == "openai-responses":
            return _refusal(dialect, 400, NOT_BACKGROUND)
        kept = self._kept.get(name)
        if kept is None or self.memory == "nothing":
            return _refusal(dialect, 404, f"'{name}' was not found.")
        if not streams:
            return self._polled_reply(name, kept)
        if self.memory == "ends":
            return _refusal(dialect, 400, TOO_OLD)
        return Reply(200, _EVENT_STREAM, events=_behind(kept.events, exchange.query))

    def _polled_reply(self, name: str, kept: _Kept) -> Reply:
        polled = self._polled[name] = self._polled.get(name, 0) + 1
        under_way = {"id": name, "status": "in_progress"}
        document = under_way if polled <= self.polls else kept.whole
        return Reply(200, _JSON, body=json.dumps(document).encode())


def _behind(events: list[bytes], query: dict[str, str]) -> list[bytes]:
    """The events that follow the one named, or all."""
    after = query.get("starting_after", query.get("last_event_id"))
    marks = [_mark(event) for event in events]
    rest = events[marks.index(after) + 1 :] if after in marks else events
    return [event for event in rest if not event.startswith(b":")]


def _mark(event: bytes) -> str | None:
    data = _data_of(event)
    mark = data.get("sequence_number", data.get("event_id"))
    return None if mark is None else str(mark)


def _refusal(dialect: Dialect, status: int, message: str) -> Reply:
    return Reply(status, _JSON, body=error_body(dialect, status, message))


def _data_of(event: bytes) -> dict[str, Any]:
    lines = [line[5:] for line in event.splitlines() if line.startswith(b"data:")]
    try:
        document = json.loads(b"\n".join(lines))
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}

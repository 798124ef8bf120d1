"""Is what a reader got well-formed in its protocol?

SDKs take a block that was never closed, or one that was opened twice, without a word, so reading with them
proves nothing about it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from seamstream.testing.render_bedrock import unframe
from tests.corpus.stream import Dialect
from tests.support.bedrock_grammar import check_events
from tests.support.cut_state import events_of
from tests.support.item_grammar import check_interactions, check_responses
from tests.support.message_grammar import check_anthropic, check_chat, check_gemini
from tests.support.wire import spoken

_OPENS = {"content-start": "content", "tool-call-start": "call", "citation-start": "citation"}
_FEEDS = {"content-delta": "content", "tool-call-delta": "call"}
_CLOSES = {"content-end": "content", "tool-call-end": "call", "citation-end": "citation"}


def assert_well_formed(dialect: Dialect, data: bytes, *, whole: bool) -> None:
    """`whole`: the answer came to its end; else it may stop anywhere, but only between events.

    `[DONE]` is an event without members.
    """
    if dialect == "bedrock":
        check_events(list(unframe(data)), whole)
    else:
        if dialect != "ollama":
            _check_names(data)
        read = [{} if event == "[DONE]" else json.loads(event) for event in events_of(data)]
        _GRAMMARS[dialect](read, whole)


def _check_names(data: bytes) -> None:
    """An event that has a name and a type has one for both. Chat's events have no type."""
    for lines in spoken(data):
        fields = dict(line.partition(b":")[::2] for line in lines)
        name, text = fields.get(b"event"), fields.get(b"data", b"").strip()
        if name is not None and text.startswith(b"{") and text.endswith(b"}"):
            event = json.loads(text)
            kind = event.get("type") or event.get("event_type")
            assert kind in (None, name.decode().strip()), f"{name!r} of {kind}"


def _lines(lines: list[dict[str, Any]], whole: bool) -> None:
    """Every line is of one endpoint, and the only `done` is the last."""
    spoken = [line for line in lines if "error" not in line]
    assert len({"message" in line for line in spoken}) <= 1, "chat and generate in one stream"
    assert all(line.get("done") is False for line in spoken[: -1 if whole else None]), "done before the end"
    if whole:
        assert lines[-1].get("done") is True


def _events(events: list[dict[str, Any]], whole: bool) -> None:
    """One start, one end, and whatever is opened is fed only while open and closed once."""
    kinds = [event["type"] for event in events]
    assert kinds[:1] in ([], ["message-start"])
    assert kinds.count("message-start") <= 1
    assert "message-end" not in kinds[:-1]
    is_open, seen = set[tuple[str, int]](), set[tuple[str, int]]()
    for event in events:
        kind, index = event["type"], event.get("index", 0)
        if kind in _OPENS:
            key = (_OPENS[kind], index)
            assert key not in is_open, f"{key} opened twice"
            assert kind == "citation-start" or key not in seen, f"{key} used again"
            is_open.add(key)
            seen.add(key)
        elif kind in _FEEDS:
            assert (_FEEDS[kind], index) in is_open, f"{kind} {index} outside its block"
        elif kind in _CLOSES:
            is_open.remove((_CLOSES[kind], index))
    if whole:
        assert kinds[-1] == "message-end"
        assert not is_open, f"{is_open} never closed"


_GRAMMARS: dict[Dialect, Callable[[list[dict[str, Any]], bool], None]] = {
    "openai-chat": check_chat,
    "openai-responses": check_responses,
    "anthropic": check_anthropic,
    "gemini": check_gemini,
    "gemini-interactions": check_interactions,
    "ollama": _lines,
    "cohere": _events,
}

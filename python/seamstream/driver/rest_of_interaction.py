"""What is left of an interaction of Gemini's that its server has only as a whole: the events behind the last
one that was read, as its stream would have brought them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from .replaying_parts import named_sse
from .rest import Known, Misfit, objects, text_of

_Event = dict[str, Any]


def rest_of_interaction(interaction: Mapping[str, Any], known: Known) -> Iterator[bytes]:
    """The events. Misfit when the interaction is not what was read of it."""
    kind, at, _ = known.place
    steps = objects(interaction.get("steps", interaction.get("outputs")))
    begun = kind.startswith(("step.", "content."))
    if begun and at >= len(steps):
        raise Misfit("the interaction lacks a step that was read")
    older = kind.startswith("content.") or "outputs" in interaction
    noun = "content" if older else "step"
    for index, step in enumerate(steps):
        if begun and (index < at or (index == at and kind.endswith(".stop"))):
            _check(step, index, known)
            continue
        if not begun or index > at:
            yield _sse(f"{noun}.start", index=index, **{noun: _opening(step)})
        for delta in _deltas(step, index, known):
            yield _sse(f"{noun}.delta", index=index, delta=delta)
        yield _sse(f"{noun}.stop", index=index)
    yield _sse("interaction.complete" if older else "interaction.completed", interaction=_head(interaction))
    yield b"event: done\ndata: [DONE]\n\n"


def _head(interaction: Mapping[str, Any]) -> _Event:
    """The last event says everything but what was said."""
    return {name: value for name, value in interaction.items() if name not in ("steps", "outputs")}


def _opening(step: _Event) -> _Event:
    emptied: _Event = {"arguments": {}} if _is_call(step) else {}
    told = ("content", "summary", "text", "signature")
    return {**{name: value for name, value in step.items() if name not in told}, **emptied}


def _check(step: _Event, index: int, known: Known) -> None:
    """A step that was read to its end must be that."""
    if any(_deltas(step, index, known)):
        raise Misfit("a step of the interaction is not what was read of it")


def _deltas(step: _Event, index: int, known: Known) -> Iterator[_Event]:
    """What was not read of a step."""
    read = known.read(index)
    if _is_call(step):
        yield from _arguments(step.get("arguments") or {}, read)
        return
    if (said := _said(step)) is None:
        return
    thought = step.get("type") == "thought"
    if rest := Known.rest(said, read):
        text = {"type": "text", "text": rest}
        yield {"type": "thought_summary", "content": text} if thought else text
    signature = text_of(step.get("signature"))
    if thought and signature != known.signatures.get((index, 0), ""):
        yield {"type": "thought_signature", "signature": signature}


def _arguments(arguments: Any, read: str) -> Iterator[_Event]:
    """They are an object here and text in the stream, so what was read must be the beginning of a way of
    writing that object.
    """
    ways = (
        json.dumps(arguments, ensure_ascii=ascii_only, separators=separators)
        for separators in ((",", ":"), (", ", ": "))
        for ascii_only in (False, True)
    )
    written = next((way for way in ways if way.startswith(read)), None)
    if written is None and (read.strip() or "{}") != "{}" and not _is(read, arguments):
        raise Misfit("the arguments of a call are not those that were read")
    if written is not None and (rest := written[len(read) :]) and (arguments or read):
        yield {"type": "arguments_delta", "arguments": rest}


def _is(read: str, arguments: Any) -> bool:
    try:
        return bool(json.loads(read) == arguments)
    except ValueError:
        return False


def _is_call(step: _Event) -> bool:
    return step.get("type") == "function_call"


def _said(step: _Event) -> str | None:
    """What a step says; None for one that is passed on as it is, and for thoughts that are not told."""
    kind = step.get("type")
    if kind == "text":
        return text_of(step.get("text"))
    member = {"model_output": "content", "thought": "summary"}.get(text_of(kind))
    if member is None or (member == "summary" and member not in step):
        return None
    return "".join(text_of(part.get("text")) for part in objects(step.get(member)))


def _sse(kind: str, **fields: Any) -> bytes:
    return named_sse(kind, {"event_type": kind, **fields})

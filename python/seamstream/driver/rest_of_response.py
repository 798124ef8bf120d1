"""What is left of a Responses answer that its server has only as a whole: the events behind the last one that
was read, as its stream would have brought them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from .replaying_parts import named_sse
from .rest import Known, Misfit, objects, text_of

_CALLS: Final = {
    "function_call": ("response.function_call_arguments", "arguments"),
    "custom_tool_call": ("response.custom_tool_call_input", "input"),
}
_CONTENTS: Final = {
    "output_text": ("response.output_text", "text"),
    "refusal": ("response.refusal", "refusal"),
    "reasoning_text": ("response.reasoning_text", "text"),
}
_DELTA: Final = ".delta"
_Event = dict[str, Any]


def rest_of_response(response: Mapping[str, Any], known: Known) -> Iterator[bytes]:
    """The events. Misfit when the response is not what was read of it."""
    last = {"type": f"response.{response['status']}", "response": response}
    for number, event in enumerate((*_behind(response, known), last), int(known.event or 0) + 1):
        yield named_sse(str(event["type"]), {"sequence_number": number, **event})


def _behind(response: Mapping[str, Any], known: Known) -> Iterator[_Event]:
    """All events of the items but those up to the place that is known."""
    kind, at, inner = known.place
    began = kind.count(".") > 1  # `response.created` and its like come before all items
    items = objects(response.get("output"))
    numbers = _numbers(len(items), known)
    if began and at not in numbers:
        raise Misfit("the response lacks an item that was read")
    for number, item in zip(numbers, items, strict=True):
        events = _item(number, item, known)
        if not began or number > at:
            yield from _unread(events)
        elif number == at:
            yield from _after(list(events), kind, inner)
        elif any(event.get("delta") for event in events):
            raise Misfit("an item of the response is longer than what was read of it")


def _numbers(count: int, known: Known) -> list[int]:
    """The output indexes of the items: there may be gaps between those that were read."""
    read = known.items
    first_new = read[-1] + 1 if read else 0
    return [*read, *range(first_new, first_new + count - len(read))][:count]


def _after(events: list[_Event], kind: str, inner: int) -> Iterator[_Event]:
    """What follows in one item. An event that is not written here stands in the middle of its item."""
    here = (at for at, event in enumerate(events) if event["type"] == kind and _inner(event, inner) == inner)
    at = next(here, None)
    if at is not None:
        yield from _unread(events[at if kind.endswith(_DELTA) else at + 1 :])
        return
    later = (event for event in events if _inner(event, inner) >= inner)
    yield from _unread(event for event in later if event["type"].endswith((_DELTA, ".done")))


def _inner(event: _Event, default: int) -> Any:
    return event["content_index"] if "content_index" in event else event.get("summary_index", default)


def _unread(events: Iterable[_Event]) -> Iterator[_Event]:
    return (event for event in events if event.get("delta") != "")


def _item(index: int, item: _Event, known: Known) -> Iterator[_Event]:
    """All events of one item, whose deltas bring only what was not read."""
    place = {"item_id": item.get("id", ""), "output_index": index}
    kind = text_of(item.get("type"))
    if kind == "message":
        yield _added(index, {**item, "content": []})
        for inner, content in enumerate(objects(item.get("content"))):
            yield from _content({**place, "content_index": inner}, content, known.read(index, inner))
    elif kind == "reasoning":
        yield _added(index, {**item, "summary": [], **({"content": []} if "content" in item else {})})
        yield from _reasoning(place, item, known.read(index))
    elif kind in _CALLS:
        name, member = _CALLS[kind]
        yield _added(index, {**item, member: ""})
        whole = text_of(item.get(member))
        yield {"type": f"{name}.delta", **place, "delta": known.rest(whole, known.read(index))}
        yield {"type": f"{name}.done", **place, member: whole}
    else:
        yield _added(index, item)
    yield {"type": "response.output_item.done", "output_index": index, "item": item}


def _added(index: int, item: _Event) -> _Event:
    opened = {**item, "status": "in_progress"} if "status" in item else item
    return {"type": "response.output_item.added", "output_index": index, "item": opened}


def _content(place: _Event, content: _Event, read: str) -> Iterator[_Event]:
    name, member = _CONTENTS.get(text_of(content.get("type")), ("", "text"))
    part = "response.content_part"
    if not name:
        yield {"type": f"{part}.added", **place, "part": content}
        yield {"type": f"{part}.done", **place, "part": content}
        return
    whole = text_of(content.get(member))
    yield {"type": f"{part}.added", **place, "part": {**content, member: ""}}
    yield {"type": f"{name}.delta", **place, "delta": Known.rest(whole, read)}
    yield {"type": f"{name}.done", **place, member: whole}
    yield {"type": f"{part}.done", **place, "part": content}


def _reasoning(place: _Event, item: _Event, read: str) -> Iterator[_Event]:
    """Summaries, then what the model thought itself; the core reads both into one text."""
    for inner, part in enumerate(objects(item.get("summary"))):
        name, whole = "response.reasoning_summary", text_of(part.get("text"))
        here, read = Known.split(whole, read)
        at = {**place, "summary_index": inner}
        yield {"type": f"{name}_part.added", **at, "part": {**part, "text": ""}}
        yield {"type": f"{name}_text.delta", **at, "delta": Known.rest(whole, here)}
        yield {"type": f"{name}_text.done", **at, "text": whole}
        yield {"type": f"{name}_part.done", **at, "part": part}
    for inner, part in enumerate(objects(item.get("content"))):
        here, read = Known.split(text_of(part.get("text")), read)
        yield from _content({**place, "content_index": inner}, part, here)
    if read:
        raise Misfit("the response lacks reasoning that was read")

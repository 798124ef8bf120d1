"""The rules of Responses and of Gemini Interactions for the order of events, unchecked by their SDKs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Event = dict[str, Any]

_KEEPALIVES = ("keepalive", "response.keepalive", "ping", "heartbeat")
_ENDS = ("response.completed", "response.incomplete")
_FAILURES = ("error", "response.failed")
_ARGUMENTS = ("response.function_call_arguments", "response.custom_tool_call_input")
_SEALS = ("encrypted_content", "fingerprint")
_TEXTS = {"response.output_text": "text", "response.refusal": "refusal"}


@dataclass
class _Item:
    """An item on the wire: its contents in order, the number of the open one, and what its deltas said."""

    id: str
    contents: list[str] = field(default_factory=list)
    is_open: bool = False
    arguments: str = ""
    done: Event | None = None


def check_responses(events: list[Event], whole: bool) -> None:
    """One response whose numbers rise by one, and items that are fed only while open and closed once."""
    numbers = [event["sequence_number"] for event in events if "sequence_number" in event]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)) if numbers else ()), numbers
    spoken = [event for event in events if event["type"] not in _KEEPALIVES]
    kinds = [event["type"] for event in spoken]
    assert kinds.count("response.created") <= 1
    assert not {*_ENDS, *_FAILURES} & set(kinds[:-1]), "an end before the end"
    assert len({event["response"]["id"] for event in spoken if "response" in event}) <= 1, "two responses"
    items = dict[int, _Item]()
    for event in spoken:
        if "output_index" in event:
            _take(items, event)
    if whole:
        assert kinds[-1] in _ENDS, kinds[-1]
        _check_output(items, spoken[-1]["response"]["output"])


def _take(items: dict[int, _Item], event: Event) -> None:
    kind, index = event["type"], event["output_index"]
    if kind == "response.output_item.added":
        assert index > max(items, default=-1), f"item {index} behind {max(items)}"
        assert event["item"]["id"] not in {item.id for item in items.values()}, "an id used twice"
        items[index] = _Item(event["item"]["id"])
        return
    item = items[index]
    assert item.done is None, f"{kind} behind the end of item {index}"
    if kind == "response.output_item.done":
        _close(item, event["item"])
    else:
        assert event["item_id"] == item.id, f"{event['item_id']} inside {item.id}"
        _feed(item, event)


def _feed(item: _Item, event: Event) -> None:
    name, _, stage = event["type"].rpartition(".")
    if name == "response.content_part":
        _open_or_close(item, event, stage)
    elif name in _TEXTS:
        assert item.is_open, f"{event['type']} outside a content part"
        assert event["content_index"] == len(item.contents) - 1
        if stage == "delta":
            item.contents[-1] += event["delta"]
        else:
            assert event[_TEXTS[name]] == item.contents[-1]
    elif name in _ARGUMENTS and stage == "delta":
        item.arguments += event["delta"]
    elif name in _ARGUMENTS:
        said = event.get("arguments", event.get("input"))
        assert item.arguments in ("", said), f"{said} after {item.arguments}"


def _open_or_close(item: _Item, event: Event, stage: str) -> None:
    assert item.is_open == (stage == "done"), f"{event['type']} of {item}"
    item.is_open = stage == "added"
    if stage == "added":
        item.contents.append("")
    assert event["content_index"] == len(item.contents) - 1
    if stage == "done" and event["part"]["type"] in ("output_text", "refusal"):
        assert event["part"].get("text", event["part"].get("refusal")) == item.contents[-1]


def _close(item: _Item, whole: Event) -> None:
    assert whole["id"] == item.id
    assert not item.is_open, f"{item.id} ends inside a content part"
    if whole["type"] == "message":
        said = [part.get("text", part.get("refusal")) for part in whole["content"]]
        assert said == item.contents, f"{said} after {item.contents}"
    item.done = whole


def _check_output(items: dict[int, _Item], output: list[Event]) -> None:
    """The last event repeats every item as it ended; only what is encrypted or signed is so anew."""
    open_still = [item.id for item in items.values() if item.done is None]
    assert not open_still, f"{open_still} never closed"
    assert [_readable(item.done or {}) for item in items.values()] == list(map(_readable, output))


def _readable(item: Event) -> Event:
    return {name: value for name, value in item.items() if name not in _SEALS}


def check_interactions(events: list[Event], whole: bool) -> None:
    """One interaction, and steps that follow one another; `[DONE]` only behind its end."""
    kinds = [event["event_type"] if event else "[DONE]" for event in events]
    begins = [kind for kind in kinds if kind in ("interaction.created", "interaction.start")]
    assert begins in ([], kinds[:1])
    ends = [at for at, kind in enumerate(kinds) if kind.startswith("interaction.complete")]
    assert len(ends) <= 1
    assert not ends or set(kinds[ends[0] + 1 :]) <= {"[DONE]"}, "more behind the end"
    assert "[DONE]" not in kinds[:-1]
    assert "error" not in kinds[: None if whole else -1]
    is_open, count = False, 0
    for event in filter(None, events):
        noun, _, stage = event["event_type"].partition(".")
        if noun not in ("step", "content"):
            continue
        assert is_open == (stage != "start"), f"{event} while open is {is_open}"
        count, is_open = count + (stage == "start"), stage != "stop"
        assert event["index"] == count - 1, f"{event} is number {count - 1}"
    if whole:
        assert ends
        assert not is_open, "a step never closed"

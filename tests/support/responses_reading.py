"""What the SDK's strict Responses helper makes of a reader's bytes, and what it does not check itself.

The helper takes the final text from the last event and would not notice a doubled delta, a number that falls
or an item that is never finished; those are asserted here.
"""

from __future__ import annotations

from typing import Any

from tests.support.reading import Answer, Reading
from tests.support.responses_state import call_of, is_clients, stop_of


class ResponsesFold:
    """Takes the events of the helper, or of a raw stream."""

    def __init__(self) -> None:
        self.text = self.refusal = ""
        self.kinds: list[str] = []
        self.ids: list[str] = []
        self.added: list[int] = []
        self.done: list[int] = []
        self.final: dict[str, Any] | None = None
        self.error: str | None = None
        self._number = -1

    def add(self, event: Any) -> None:
        self.kinds.append(event.type)
        number = getattr(event, "sequence_number", None)
        if number is not None:
            assert number > self._number, (event.type, number)
            self._number = number
        assert self.final is None, "an event after the end"
        match event.type:
            case "response.output_text.delta":
                self.text += event.delta
            case "response.refusal.delta":
                self.refusal += event.delta
            case "response.output_item.added":
                self.added.append(event.output_index)
            case "response.output_item.done":
                self.done.append(event.output_index)
            case "error":
                self.error = str(event)
            case "response.failed":
                self.error = str(event.response.error)
            case "response.completed" | "response.incomplete":
                self.final = event.response.to_dict(mode="json")
        if getattr(event, "response", None) is not None and event.response.id not in self.ids:
            self.ids.append(event.response.id)

    def check_whole(self) -> None:
        """What the last event says is what the events before it said."""
        assert self.final is not None
        contents = [part for item in self.items("message") for part in item["content"]]
        assert self.text == "".join(part.get("text", "") for part in contents), (
            "the deltas say something else"
        )
        assert self.refusal == "".join(part.get("refusal", "") for part in contents)
        assert sorted(self.done) == sorted(self.added), "items are not finished once"
        assert len(self.final["output"]) == len(self.added)

    def items(self, kind: str) -> list[dict[str, Any]]:
        return [item for item in (self.final or {})["output"] if item["type"] == kind]

    def calls(self) -> tuple[tuple[str, str], ...]:
        return tuple(call_of(item) for item in (self.final or {"output": ()})["output"] if is_clients(item))

    @property
    def stop(self) -> str | None:
        return stop_of(self.final, calls=bool(self.calls())) if self.final is not None else None

    @property
    def usage(self) -> tuple[int | None, int | None]:
        usage = (self.final or {}).get("usage") or {}
        return usage.get("input_tokens"), usage.get("output_tokens")

    def reading(self, error: str | None = None) -> Reading:
        if self.final is not None:
            self.check_whole()
        answer = Answer(self.text, self.refusal, self.calls(), self.stop)
        kinds = tuple(kind for at, kind in enumerate(self.kinds) if at == 0 or self.kinds[at - 1] != kind)
        return Reading((answer,), tuple(self.ids), kinds, error or self.error, self.usage)

"""What google-genai tells of an Interactions stream, folded; the SDK itself does not watch the grammar."""

from __future__ import annotations

from typing import Any

from tests.support.gemini_state import canonical
from tests.support.interactions_state import STOPS, tidy
from tests.support.reading import Answer, Reading


class InteractionsFold:
    """Takes the events of `interactions.create(stream=True)`; its steps must open and close in order."""

    def __init__(self) -> None:
        self.text = ""
        self.stop: str | None = None
        self.calls: dict[int, tuple[str, str]] = {}
        self.ids: list[str] = []
        self.kinds: list[str] = []
        self.error: str | None = None
        self._open: set[int] = set()
        self._seen = 0
        self._usage: tuple[int | None, int | None] = (None, None)

    def add(self, event: Any) -> None:
        kind = str(event.event_type)
        self.kinds.append(kind)
        if kind == "interaction.created":
            self.ids.append(event.interaction.id)
        elif kind == "step.start":
            assert not self._open, "steps overlap"
            assert event.index >= self._seen, "an index comes twice"
            self._open.add(event.index)
            self._seen = event.index + 1
            if event.step.type == "function_call":
                given = event.step.arguments
                self.calls[event.index] = (event.step.name, canonical(given) if given else "")
        elif kind == "step.delta":
            assert event.index in self._open, "a delta outside its step"
            self._add_delta(event.index, event.delta)
        elif kind == "step.stop":
            self._open.remove(event.index)
        elif kind == "interaction.completed":
            self._end(event.interaction)
        elif kind == "error":
            self.error = str(event)

    def _add_delta(self, index: int, delta: Any) -> None:
        if delta.type == "text":
            self.text += delta.text
        elif delta.type == "arguments_delta":
            name, arguments = self.calls[index]
            self.calls[index] = (name, arguments + delta.arguments)

    def _end(self, interaction: Any) -> None:
        assert not self._open, "a step was left open"
        assert self.stop is None, "two ends"
        self.stop = STOPS.get(interaction.status, interaction.status)
        usage = interaction.usage
        if usage is not None and usage.total_output_tokens is not None:
            output = usage.total_output_tokens + (usage.total_thought_tokens or 0)
            self._usage = (usage.total_input_tokens, output)

    def reading(self, error: str | None = None) -> Reading:
        calls = tuple((name, tidy(arguments or "{}")) for name, arguments in self.calls.values())
        kinds = [kind for at, kind in enumerate(self.kinds) if at == 0 or self.kinds[at - 1] != kind]
        answer = Answer(self.text, "", calls, self.stop)
        return Reading((answer,), tuple(self.ids), tuple(kinds), error or self.error, self._usage)

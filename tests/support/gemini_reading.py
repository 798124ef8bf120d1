"""What google-genai's stream tells, folded: it has no accumulator, so its users add chunks up like this."""

from __future__ import annotations

from typing import Any

from tests.support.gemini_state import canonical, put, stop_of
from tests.support.reading import Answer, Reading


class _Candidate:
    def __init__(self) -> None:
        self.text = ""
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.reason: str | None = None

    def add(self, part: Any) -> str:
        if part.function_call is not None:
            self._add_call(part.function_call)
            return "call"
        if part.text and not part.thought:
            self.text += part.text
        return "thought" if part.thought else "text"

    def _add_call(self, call: Any) -> None:
        if call.name:
            self.calls.append((call.name, dict(call.args or {})))
        for piece in call.partial_args or ():
            known = ("string_value", "number_value", "bool_value")
            value = next((getattr(piece, name) for name in known if getattr(piece, name) is not None), None)
            put(self.calls[-1][1], piece.json_path, value)

    def answer(self) -> Answer:
        calls = tuple((name, canonical(arguments)) for name, arguments in self.calls)
        stop = stop_of(self.reason, calls=bool(calls)) if self.reason else None
        return Answer(self.text, "", calls, stop)


class GeminiFold:
    """Takes the chunks of `generate_content_stream`."""

    def __init__(self) -> None:
        self._candidates: dict[int, _Candidate] = {}
        self._ids: list[str] = []
        self._kinds: list[str] = []
        self._usage: tuple[int | None, int | None] = (None, None)

    def add(self, chunk: Any) -> None:
        if chunk.response_id and chunk.response_id not in self._ids:
            self._ids.append(chunk.response_id)
        usage = chunk.usage_metadata
        if usage is not None and usage.candidates_token_count is not None:
            output = usage.candidates_token_count + (usage.thoughts_token_count or 0)
            self._usage = (usage.prompt_token_count, output)
        for found in chunk.candidates or ():
            candidate = self._candidates.setdefault(found.index or 0, _Candidate())
            parts = (found.content.parts if found.content else None) or ()
            self._kinds += [candidate.add(part) for part in parts]
            if found.finish_reason is not None:
                candidate.reason = found.finish_reason.value
                self._kinds.append("finish")
        blocked = chunk.prompt_feedback.block_reason if chunk.prompt_feedback else None
        if blocked is not None:
            self._candidates.setdefault(0, _Candidate()).reason = blocked.value

    def reading(self, error: str | None = None) -> Reading:
        answers = tuple(self._candidates[index].answer() for index in sorted(self._candidates))
        kinds = [kind for at, kind in enumerate(self._kinds) if at == 0 or self._kinds[at - 1] != kind]
        return Reading(answers, tuple(self._ids), tuple(kinds), error, self._usage)

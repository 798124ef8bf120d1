"""Writes OpenAI Responses streams byte by byte as the providers of that dialect do."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

JsonObject = dict[str, Any]


def request(question: str, **fields: Any) -> JsonObject:
    """The body that an SDK sends for one question."""
    return {"model": "harbour-1", "input": question, "stream": True, **fields}


def function_tool(name: str, *parameters: str) -> JsonObject:
    schema = {"type": "object", "properties": {key: {"type": "string"} for key in parameters}}
    return {"type": "function", "name": name, "parameters": schema, "strict": False}


class ResponsesWriter:
    """Collects the bytes of one stream and the items of its last event."""

    def __init__(
        self,
        number: int,
        *,
        eol: str = "\n",
        space: str = " ",
        ascii_only: bool = False,
        padded: bool = False,
    ) -> None:
        self._id = f"{number:04d}c41b7e"
        self._eol, self._space, self._ascii_only, self._padded = eol, space, ascii_only, padded
        self._parts: list[str] = []
        self._sequence = 0
        self._items: dict[int, JsonObject] = {}
        self._index = -1
        for kind in ("created", "in_progress"):
            self.event(f"response.{kind}", response=self._response("in_progress"))

    def _response(self, status: str, **fields: Any) -> JsonObject:
        return {
            "id": f"resp_{self._id}",
            "object": "response",
            "created_at": 1_764_000_000,
            "status": status,
            "error": None,
            "incomplete_details": None,
            "model": "harbour-1-2026-05",
            "output": [],
            "tools": [],
            "usage": None,
            **fields,
        }

    def raw(self, text: str) -> ResponsesWriter:
        self._parts.append(text)
        return self

    def event(self, kind: str, **fields: Any) -> ResponsesWriter:
        data = {"type": kind, "sequence_number": self._sequence, **fields}
        self._sequence += 1
        text = json.dumps(data, ensure_ascii=self._ascii_only, separators=(",", ":"))
        return self.raw(f"event:{self._space}{kind}{self._eol}data:{self._space}{text}{self._eol * 2}")

    def add(self, kind: str, *, skip: int = 0, **fields: Any) -> JsonObject:
        """Opens an item; numbers may have gaps."""
        self._index += 1 + skip
        item = {"id": f"{kind[:3]}_{self._id}_{self._index}", "type": kind, **fields}
        self.event("response.output_item.added", output_index=self._index, item=item)
        return item

    def done(self, item: JsonObject, **fields: Any) -> ResponsesWriter:
        whole = {**item, **fields}
        self._items[self._index] = whole
        return self.event("response.output_item.done", output_index=self._index, item=whole)

    def _place(self, item: JsonObject, **more: int) -> JsonObject:
        return {"item_id": item["id"], "output_index": self._index, **more}

    def message(self, parts: Iterable[str], *, kind: str = "output_text", **fields: Any) -> ResponsesWriter:
        """A message with one content part, `output_text` or `refusal`."""
        item = self.add("message", status="in_progress", content=[], role="assistant", **fields)
        place, whole = self._place(item, content_index=0), ""
        member = "text" if kind == "output_text" else "refusal"
        extra: JsonObject = {"annotations": [], "logprobs": []} if kind == "output_text" else {}
        logprobs: JsonObject = {"logprobs": []} if kind == "output_text" else {}
        self.event("response.content_part.added", **place, part={"type": kind, **extra, member: ""})
        for part in parts:
            whole += part
            padding = {"obfuscation": "x" * (15 - len(part) % 16)} if self._padded else {}
            self.event(f"response.{kind}.delta", **place, delta=part, **logprobs, **padding)
        self.event(f"response.{kind}.done", **place, **{member: whole}, **logprobs)
        content = {"type": kind, **extra, member: whole}
        self.event("response.content_part.done", **place, part=content)
        return self.done(item, status="completed", content=[content])

    def reasoning(self, parts: Iterable[str], **fields: Any) -> ResponsesWriter:
        """A reasoning item with one summary, or with none."""
        item, pieces = self.add("reasoning", summary=[], **fields), list(parts)
        if not pieces:
            return self.done(item)
        place, name = self._place(item, summary_index=0), "response.reasoning_summary"
        self.event(f"{name}_part.added", **place, part={"type": "summary_text", "text": ""})
        for piece in pieces:
            self.event(f"{name}_text.delta", **place, delta=piece)
        summary = {"type": "summary_text", "text": "".join(pieces)}
        self.event(f"{name}_text.done", **place, text=summary["text"])
        self.event(f"{name}_part.done", **place, part=summary)
        return self.done(item, summary=[summary])

    def call(self, name: str, parts: Iterable[str], *, custom: bool = False) -> ResponsesWriter:
        """A call of a function, or of a tool that takes free text."""
        kind, member = ("custom_tool_call", "input") if custom else ("function_call", "arguments")
        event = "custom_tool_call_input" if custom else "function_call_arguments"
        call_id = f"call_{self._id}_{self._index + 1}"
        item = self.add(kind, status="in_progress", call_id=call_id, name=name, **{member: ""})
        whole = ""
        for part in parts:
            whole += part
            self.event(f"response.{event}.delta", **self._place(item), delta=part)
        self.event(f"response.{event}.done", **self._place(item), **{member: whole})
        return self.done(item, status="completed", **{member: whole})

    def end(self, reason: str | None = None, usage: tuple[int, int] = (20, 60)) -> bytes:
        total = {"input_tokens": usage[0], "output_tokens": usage[1], "total_tokens": sum(usage)}
        status = "completed" if reason is None else "incomplete"
        details = None if reason is None else {"reason": reason}
        response = self._response(
            status, output=list(self._items.values()), incomplete_details=details, usage=total
        )
        self.event(f"response.{status}", response=response)
        return "".join(self._parts).encode()

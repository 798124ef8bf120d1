"""An answer in the shape of Gemini's generateContent, streamed or whole."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

from .answer import Answer, Part, Reasoning, ServerTool, Tool, signature_of_call
from .render_options import RenderOptions, sse

_FINISH = {"max_tokens": "MAX_TOKENS", "content_filter": "SAFETY"}


def render_gemini(answer: Answer, options: RenderOptions) -> list[bytes]:
    """The chunks of a streamed reply: data lines only, and no end but the finish reason."""
    every = [list(_candidates(each, index, options)) for index, each in enumerate((answer, *options.others))]
    rows = [candidate for row in zip_longest(*every) for candidate in row if candidate is not None]
    return [sse(_chunk([candidate], answer, options), options) for candidate in rows]


def gemini_body(answer: Answer, options: RenderOptions) -> dict[str, Any]:
    """The reply to a request that did not ask for a stream."""
    candidates = []
    for index, each in enumerate((answer, *options.others)):
        parts = [_whole(part, position, options) for position, part in enumerate(each.parts)]
        candidates.append(_candidate(parts, index, _finish(each)))
    return _chunk(candidates, answer, options)


def _chunk(candidates: list[dict[str, Any]], answer: Answer, options: RenderOptions) -> dict[str, Any]:
    """Pieces are tokens; the running total is that of the whole answer in every chunk."""
    output = sum(each.piece_count for each in (answer, *options.others))
    return {
        "candidates": candidates,
        "usageMetadata": {
            "promptTokenCount": options.input_tokens,
            "candidatesTokenCount": output,
            "totalTokenCount": options.input_tokens + output,
        },
        "modelVersion": options.model,
        "responseId": options.reply_id,
    }


def _candidates(answer: Answer, index: int, options: RenderOptions) -> Iterator[dict[str, Any]]:
    for position, part in enumerate(answer.parts):
        if isinstance(part, Tool | ServerTool):
            yield _candidate([_whole(part, position, options)], index)
            continue
        for piece in part.pieces:
            yield _candidate([_spoken(part, piece)], index)
    yield _candidate([{"text": ""}], index, _finish(answer))


def _candidate(parts: list[dict[str, Any]], index: int, finish: str | None = None) -> dict[str, Any]:
    reason = {"finishReason": finish} if finish is not None else {}
    return {"content": {"parts": parts, "role": "model"}, **reason, "index": index}


def _finish(answer: Answer) -> str:
    return _FINISH.get(answer.stop_reason, "STOP")


def _spoken(part: Part, text: str) -> dict[str, Any]:
    return {"text": text, "thought": True} if isinstance(part, Reasoning) else {"text": text}


def _whole(part: Part, position: int, options: RenderOptions) -> dict[str, Any]:
    said = "".join(part.pieces)
    if isinstance(part, Tool):
        call_id = part.id or f"call_{options.reply_id}_{position}"
        call = {"id": call_id, "name": part.name, "args": json.loads(said or "{}")}
        return {"functionCall": call, "thoughtSignature": signature_of_call(call["args"])}
    if isinstance(part, ServerTool):
        return {"executableCode": {"language": "PYTHON", "code": said}}
    return _spoken(part, said)

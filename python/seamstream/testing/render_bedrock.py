"""An answer in the shape of Bedrock's ConverseStream, streamed as binary frames or whole."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator
from typing import Any

from .answer import Answer, Part, Reasoning, ServerTool, Tool, signature_of
from .render_options import RenderOptions, compact

_STOPS = {"content_filter": "content_filtered", "refusal": "end_turn", "pause_turn": "end_turn"}
_STRING = 7


def frame(kind: str, payload: Any, *, exception: bool = False) -> bytes:
    """One frame of an AWS event stream, with its checksums."""
    what = "exception" if exception else "event"
    named = ((f":{what}-type", kind), (":content-type", "application/json"), (":message-type", what))
    headers = b"".join(_header(name, value) for name, value in named)
    body = compact(payload).encode()
    prelude = struct.pack(">II", 16 + len(headers) + len(body), len(headers))
    guarded = prelude + struct.pack(">I", zlib.crc32(prelude)) + headers + body
    return guarded + struct.pack(">I", zlib.crc32(guarded))


def unframe(data: bytes) -> Iterator[tuple[str, dict[str, Any]]]:
    """The name and payload of each whole frame; half a one at the end is left out."""
    at = 0
    while at + 12 <= len(data):
        total, length = struct.unpack_from(">II", data, at)
        if at + total > len(data):
            return
        headers, payload = data[at + 12 : at + 12 + length], data[at + 12 + length : at + total - 4]
        yield _name_in(headers), json.loads(payload or b"{}")
        at += total


def render_bedrock(answer: Answer, options: RenderOptions) -> list[bytes]:
    """The frames of a streamed reply."""
    frames = [frame("messageStart", {"role": "assistant"})]
    for index, part in enumerate(answer.parts):
        frames += _block(part, index, options)
    frames.append(frame("messageStop", {"stopReason": _stop(answer)}))
    frames.append(frame("metadata", {"usage": _usage(answer, options), "metrics": {"latencyMs": 7}}))
    return frames


def bedrock_body(answer: Answer, options: RenderOptions) -> dict[str, Any]:
    """The reply to a request that did not ask for a stream."""
    content: list[dict[str, Any]] = []
    for index, part in enumerate(answer.parts):
        whole = "".join(part.pieces)
        if isinstance(part, Tool):
            content.append({"toolUse": {**_tool(part, index, options), "input": json.loads(whole or "{}")}})
        elif isinstance(part, Reasoning):
            text = {"text": whole, "signature": signature_of(whole)}
            content.append({"reasoningContent": {"reasoningText": text}})
        else:
            content.append({"text": whole})
    message = {"role": "assistant", "content": content}
    return {
        "output": {"message": message},
        "stopReason": _stop(answer),
        "usage": _usage(answer, options),
        "metrics": {"latencyMs": 7},
    }


def _block(part: Part, index: int, options: RenderOptions) -> Iterator[bytes]:
    if isinstance(part, ServerTool):
        raise TypeError("this model runs no server-side tools over Bedrock")
    number: dict[str, Any] = {"contentBlockIndex": index}
    if isinstance(part, Tool):
        yield frame("contentBlockStart", {"start": {"toolUse": _tool(part, index, options)}, **number})
    for piece in part.pieces:
        yield frame("contentBlockDelta", {"delta": _delta(part, piece), **number})
    if isinstance(part, Reasoning) and part.signed:
        signature = {"signature": signature_of("".join(part.pieces))}
        yield frame("contentBlockDelta", {"delta": {"reasoningContent": signature}, **number})
    yield frame("contentBlockStop", number)


def _delta(part: Part, piece: str) -> dict[str, Any]:
    if isinstance(part, Tool):
        return {"toolUse": {"input": piece}}
    return {"reasoningContent": {"text": piece}} if isinstance(part, Reasoning) else {"text": piece}


def _tool(part: Tool, index: int, options: RenderOptions) -> dict[str, str]:
    return {"toolUseId": part.id or f"tooluse_{options.reply_id}_{index}", "name": part.name}


def _stop(answer: Answer) -> str:
    return _STOPS.get(answer.stop_reason, answer.stop_reason)


def _usage(answer: Answer, options: RenderOptions) -> dict[str, int]:
    output = answer.piece_count
    return {
        "inputTokens": options.input_tokens,
        "outputTokens": output,
        "totalTokens": options.input_tokens + output,
    }


def _header(name: str, value: str) -> bytes:
    return (
        bytes((len(name),))
        + name.encode()
        + bytes((_STRING,))
        + struct.pack(">H", len(value))
        + value.encode()
    )


def _name_in(headers: bytes) -> str:
    """The value of the header that names the event or exception; all are strings."""
    at, found = 0, ""
    while at < len(headers):
        name_end = at + 1 + headers[at]
        name = headers[at + 1 : name_end].decode()
        (length,) = struct.unpack_from(">H", headers, name_end + 1)
        value = headers[name_end + 3 : name_end + 3 + length].decode()
        if name in (":event-type", ":exception-type", ":error-code"):
            found = value
        at = name_end + 3 + length
    return found

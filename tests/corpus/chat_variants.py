"""Chat Completions as other providers and servers send them: their extra fields, comments and ways to break.

`broken_end` is what each of them puts into a stream that it cannot finish; several send `[DONE]` after it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.corpus import prose
from tests.corpus.chat_wire import ChatWriter, JsonObject, function_tool, request
from tests.corpus.stream import CorpusStream, pieces

TEXT = prose.PLAIN[:120]
DONE = b"data: [DONE]\n\n"
USAGE = {"prompt_tokens": 17, "completion_tokens": 40, "total_tokens": 57}


def streams() -> Iterator[CorpusStream]:
    yield _stream("chat_mistral_text", _mistral_text(), _finish("error"))
    yield _stream("chat_mistral_thinking", _mistral_thinking(), _finish("error") + DONE)
    yield _tool_stream("chat_mistral_tool", _mistral_tool(), _finish("error"))
    yield _stream("chat_deepseek", _deepseek(), _finish("insufficient_system_resource") + DONE)
    yield _stream("chat_vllm", _vllm(), _error(type="InternalServerError", param=None, code=500) + DONE)
    sglang = {"object": "error", "type": "INTERNAL_SERVER_ERROR", "param": None, "code": 500}
    yield _stream("chat_sglang_text", _sglang_text(), _finish("abort", matched_stop=None) + DONE)
    yield _tool_stream("chat_sglang_tool", _sglang_tool(), _error(**sglang) + DONE)
    yield _stream("chat_llamacpp", _llamacpp(), _error(code=500, type="server_error"))
    yield _stream("chat_tgi", _tgi(), _error(http_status_code=422) + DONE)
    yield _stream("chat_openrouter", _openrouter(), _openrouter_error() + DONE)


def _stream(name: str, data: bytes, broken_end: bytes, **fields: Any) -> CorpusStream:
    asked = request(f"Please answer ({name}).", **fields)
    return CorpusStream(name, "openai-chat", asked, data, broken_end=broken_end)


def _tool_stream(name: str, data: bytes, broken_end: bytes) -> CorpusStream:
    return _stream(name, data, broken_end, tools=[function_tool("tide_table", "port", "day")])


def _finish(reason: str, **more: Any) -> bytes:
    choice = {"index": 0, "delta": {"content": ""}, "finish_reason": reason, **more}
    return ChatWriter(900).chunk([choice]).getvalue()


def _error(**fields: Any) -> bytes:
    return ChatWriter(901).payload({"error": {"message": "The engine stopped.", **fields}}).getvalue()


def _openrouter_error() -> bytes:
    """Error and finish reason stand in one chunk."""
    error = {"code": 502, "message": "Gone away", "metadata": {"error_type": "provider_unavailable"}}
    choice = {"index": 0, "delta": {"content": ""}, "finish_reason": "error"}
    return ChatWriter(902, fields={"provider": "Quay"}).chunk([choice], error=error).getvalue()


def _mistral_text() -> bytes:
    """Usage comes with the finish reason."""
    writer = ChatWriter(100).delta({"role": "assistant", "content": ""})
    writer.text(pieces(TEXT, 11, 6))
    return writer.delta({"content": ""}, finish="stop", usage=USAGE).done()


def _mistral_thinking() -> bytes:
    """Content is a list of parts while the model thinks and at the turn to text, then plain strings."""
    writer = ChatWriter(101).delta({"role": "assistant", "content": ""})
    for part in pieces(prose.REASONING[:90], 17, 22):
        thought = {"type": "thinking", "thinking": [{"type": "text", "text": part}]}
        writer.delta({"content": [thought]})
    closing = {"type": "thinking", "thinking": [{"type": "text", "text": ""}], "closed": True}
    writer.delta({"content": [closing, {"type": "text", "text": TEXT[:9]}]})
    writer.text(pieces(TEXT[9:], 14, 8))
    return writer.delta({"content": ""}, finish="stop", usage=USAGE).done()


def _mistral_tool() -> bytes:
    """A call comes whole, in the chunk that ends the turn."""
    call = {
        "id": "t1deTab1e",
        "function": {"name": "tide_table", "arguments": '{"port": "Vell", "day": "sunday"}'},
        "index": 0,
    }
    writer = ChatWriter(102).delta({"role": "assistant", "content": ""}).text(pieces(TEXT[:40], 13))
    return writer.delta({"content": "", "tool_calls": [call]}, finish="tool_calls", usage=USAGE).done()


def _deepseek() -> bytes:
    """Comments while the request waits; the last chunk holds the usage."""
    writer = ChatWriter(103, full=True).comment("keep-alive").comment("keep-alive")
    writer.delta({"role": "assistant", "content": None, "reasoning_content": ""})
    for part in pieces(prose.REASONING[:70], 12, 25):
        writer.delta({"content": None, "reasoning_content": part})
    for part in pieces(TEXT, 15, 7):
        writer.delta({"content": part, "reasoning_content": None})
    return writer.delta({"content": "", "reasoning_content": None}, finish="stop", usage=USAGE).done()


def _vllm() -> bytes:
    """`reasoning`, running usage in each chunk, and `stop_reason` beside the finish reason."""
    writer = ChatWriter(104)
    writer.chunk([_choice({"role": "assistant", "content": ""})], usage=_running(0))
    for turn, part in enumerate(pieces(prose.REASONING[:60], 14, 20), 1):
        writer.chunk([_choice({"reasoning": part}, token_ids=None)], usage=_running(turn))
    for turn, part in enumerate(pieces(TEXT, 12, 9), 5):
        writer.chunk([_choice({"content": part}, token_ids=None)], usage=_running(turn))
    ending = _choice({"content": ""}, "stop", stop_reason=None, token_ids=None)
    return writer.chunk([ending], usage=_running(40)).usage(17, 40).done()


def _running(completion: int) -> JsonObject:
    return {"prompt_tokens": 17, "total_tokens": 17 + completion, "completion_tokens": completion}


def _choice(delta: JsonObject, finish: str | None = None, **more: Any) -> JsonObject:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish, **more}


def _sglang_text() -> bytes:
    """Every field of a delta is there in each chunk; `matched_stop` stands on the choice."""
    writer = ChatWriter(105).chunk([_sglang_choice(role="assistant", content="")])
    for part in pieces(TEXT, 10, 16):
        writer.chunk([_sglang_choice(content=part)])
    return writer.chunk([{**_sglang_choice(), "finish_reason": "stop", "matched_stop": 151_645}]).done()


def _sglang_tool() -> bytes:
    writer = ChatWriter(106).chunk([_sglang_choice(role="assistant", content="")])
    first = {"name": "tide_table", "arguments": ""}
    calls: list[JsonObject] = [{"id": "call_9b1f", "index": 0, "type": "function", "function": first}]
    calls += [
        {"id": None, "index": 0, "type": "function", "function": {"name": None, "arguments": part}}
        for part in pieces('{"port": "Vell", "day": "monday"}', 9)
    ]
    for call in calls:
        writer.chunk([_sglang_choice(tool_calls=[call])])
    return writer.chunk([{**_sglang_choice(), "finish_reason": "tool_calls", "matched_stop": None}]).done()


def _sglang_choice(**delta: Any) -> JsonObject:
    empty = {"role": None, "content": None, "reasoning_content": None, "tool_calls": None}
    return {**_choice({**empty, **delta}), "matched_stop": None}


def _llamacpp() -> bytes:
    """A bare comment is its ping; the last chunk tells its timings."""
    writer = ChatWriter(107, fields={"system_fingerprint": "b9741-1d28604"}).raw(":\n\n")
    writer.delta({"role": "assistant", "content": None})
    for part in pieces(TEXT, 9, 13):
        writer.delta({"content": part})
    timings = {"prompt_n": 17, "prompt_ms": 41.5, "predicted_n": 40, "predicted_ms": 612.25}
    return writer.raw(":\n\n").delta({}, finish="stop", timings=timings).done()


def _tgi() -> bytes:
    """The role stands in every chunk."""
    writer = ChatWriter(108, space="", fields={"system_fingerprint": "3.3.6-sha-db931fc", "usage": None})
    for part in pieces(TEXT, 8, 17):
        writer.delta({"role": "assistant", "content": part})
    return writer.delta({"role": "assistant", "content": ""}, finish="stop").done()


def _openrouter() -> bytes:
    """Comments while it looks for a provider; the role stands in every chunk, and each names the provider."""
    writer = ChatWriter(109, fields={"provider": "Quay"})
    writer.comment("OPENROUTER PROCESSING").comment("OPENROUTER PROCESSING")
    for part in pieces(prose.REASONING[:50], 21):
        detail = {"type": "reasoning.text", "text": part, "format": "unknown", "index": 0}
        delta = {"role": "assistant", "content": "", "reasoning": part, "reasoning_details": [detail]}
        writer.chunk([_choice(delta, native_finish_reason=None)])
    for part in pieces(TEXT, 18, 10):
        writer.chunk([_choice({"role": "assistant", "content": part}, native_finish_reason=None)])
    writer.chunk([_choice({"role": "assistant", "content": ""}, "stop", native_finish_reason="end_turn")])
    return writer.chunk([_choice({"role": "assistant", "content": ""})], usage=USAGE).done()

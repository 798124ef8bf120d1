"""Chat Completions streams that call tools of the client."""

from __future__ import annotations

import json
from collections.abc import Iterator

from tests.corpus import prose
from tests.corpus.chat_wire import ChatWriter, function_tool, request
from tests.corpus.stream import CorpusStream, pieces

TOOLS = [
    function_tool("tide_table", "port", "day"),
    function_tool("log_note", "text"),
    function_tool("now"),
]
TABLE_ARGUMENTS = '{"port": "Vell \\u00d8st", "day": "2026-05-01", "units": {"height": ["m", "ft"]}}'
NOTE_ARGUMENTS = '{"text":"He said \\"ebb\\" {twice}, then \\\\ and a bell \\ud83d\\udd14."}'


def streams() -> Iterator[CorpusStream]:
    yield _stream("chat_tool_one", _one(30))
    yield _stream("chat_tool_parallel", _parallel(31))
    yield _stream("chat_tool_no_arguments", _no_arguments(32))
    yield _stream("chat_tool_placeholder", _placeholder(33))
    yield _stream("chat_tool_whole_in_one_chunk", _whole(34))
    yield _stream("chat_text_then_tool", _text_then_tool(35))
    yield _stream("chat_text_then_parallel_tools", _text_then_parallel(36))
    yield _stream("chat_tool_then_text", _tool_then_text(37))
    yield _stream("chat_reasoning_then_tool", _reasoning_then_tool(38))
    long_call = request("Write the log.", tools=TOOLS)
    yield CorpusStream("chat_tool_long_arguments", "openai-chat", long_call, _long(39), "live call")


def _stream(name: str, data: bytes) -> CorpusStream:
    body = request(f"Please use the tools ({name}).", tools=TOOLS, parallel_tool_calls=True)
    return CorpusStream(name, "openai-chat", body, data)


def _opened(number: int) -> ChatWriter:
    return ChatWriter(number).delta({"role": "assistant", "content": None})


def _one(number: int) -> bytes:
    writer = _opened(number).tool(0, "call_w81", "tide_table", pieces(TABLE_ARGUMENTS, 4, 11, 7))
    return writer.finish("tool_calls").done()


def _parallel(number: int) -> bytes:
    writer = _opened(number)
    writer.tool(0, "call_p0", "tide_table", pieces(TABLE_ARGUMENTS, 13, 6))
    writer.tool(1, "call_p1", "log_note", pieces(NOTE_ARGUMENTS, 9, 14))
    writer.tool(2, "call_p2", "now", ["{}"])
    return writer.finish("tool_calls").done()


def _no_arguments(number: int) -> bytes:
    return _opened(number).tool(0, "call_n0", "now", []).finish("tool_calls").done()


def _placeholder(number: int) -> bytes:
    """Some servers open a call with `{}` and send the real arguments afterwards."""
    writer = _opened(number)
    writer.tool(0, "call_e0", "tide_table", pieces(TABLE_ARGUMENTS, 12, 7), opening="{}")
    return writer.finish("tool_calls").done()


def _whole(number: int) -> bytes:
    writer = _opened(number)
    for index, name in enumerate(("tide_table", "log_note")):
        arguments = (TABLE_ARGUMENTS, NOTE_ARGUMENTS)[index]
        function = {"name": name, "arguments": arguments}
        call = {"index": index, "id": f"call_s{index}", "type": "function", "function": function}
        writer.delta({"tool_calls": [call]})
    return writer.finish("tool_calls").done()


def _text_then_tool(number: int) -> bytes:
    writer = ChatWriter(number).role().text(pieces(prose.PLAIN[:110], 10, 17))
    writer.tool(0, "call_t0", "tide_table", pieces(TABLE_ARGUMENTS, 5, 10))
    return writer.finish("tool_calls").done()


def _text_then_parallel(number: int) -> bytes:
    writer = ChatWriter(number).role().text(pieces("I will look up both.\n\n", 8))
    writer.tool(0, "call_q0", "log_note", pieces(NOTE_ARGUMENTS, 14, 3))
    writer.tool(1, "call_q1", "now", [""])
    writer.tool(2, "call_q2", "tide_table", pieces(TABLE_ARGUMENTS, 15, 6))
    return writer.finish("tool_calls").done()


def _tool_then_text(number: int) -> bytes:
    writer = _opened(number).tool(0, "call_u0", "tide_table", pieces(TABLE_ARGUMENTS, 16, 9))
    writer.text(pieces("While that runs: the bar is calm today.", 9, 6))
    return writer.finish("tool_calls").done()


def _reasoning_then_tool(number: int) -> bytes:
    writer = _opened(number).text(pieces(prose.REASONING, 12, 19), key="reasoning_content")
    writer.tool(0, "call_r0", "log_note", pieces(NOTE_ARGUMENTS, 8, 15))
    return writer.finish("tool_calls").usage(120, 61).done()


def _long(number: int) -> bytes:
    """Arguments of more than 4,096 bytes: the call cannot be held back to its end."""
    arguments = json.dumps({"text": prose.LONG * 3})
    writer = _opened(number).tool(0, "call_l0", "log_note", pieces(arguments, 420))
    return writer.finish("tool_calls").done()

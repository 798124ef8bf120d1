"""Messages streams that call tools, the client's and the server's own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.corpus import prose
from tests.corpus.anthropic_text import SIGNATURE
from tests.corpus.anthropic_wire import AnthropicWriter, client_tool, request
from tests.corpus.chat_tools import NOTE_ARGUMENTS, TABLE_ARGUMENTS
from tests.corpus.stream import CorpusStream, pieces

TOOLS = [client_tool("tide_table", "port", "day"), client_tool("log_note", "text"), client_tool("now")]
SEARCH = {"type": "web_search_20250305", "name": "web_search", "max_uses": 3}


def streams() -> Iterator[CorpusStream]:
    yield _stream("anthropic_tool_one", _one(30))
    yield _stream("anthropic_tool_parallel", _parallel(31))
    yield _stream("anthropic_tool_no_arguments", _no_arguments(32, []))
    yield _stream("anthropic_tool_empty_delta", _no_arguments(33, [""]))
    yield _stream("anthropic_text_then_tool", _text_then_tool(34))
    yield _stream("anthropic_text_then_parallel_tools", _text_then_parallel(35))
    yield _stream("anthropic_tool_then_text", _tool_then_text(36))
    yield _stream("anthropic_thinking_tool", _thinking_tool(37), thinking={"type": "adaptive"})
    log = request("Write the log.", tools=TOOLS)
    yield CorpusStream("anthropic_tool_long_arguments", "anthropic", log, _long(38), "live call")
    search = request("Search for the tide.", tools=[SEARCH])
    yield CorpusStream("anthropic_server_search", "anthropic", search, _search(39), "server tools")


def _stream(name: str, data: bytes, **fields: Any) -> CorpusStream:
    body = request(f"Please use the tools ({name}).", tools=TOOLS, **fields)
    return CorpusStream(name, "anthropic", body, data)


def _one(number: int) -> bytes:
    writer = AnthropicWriter(number).start().ping()
    return writer.tool("toolu_w81", "tide_table", pieces(TABLE_ARGUMENTS, 3, 8, 5)).end("tool_use", 52)


def _parallel(number: int) -> bytes:
    writer = AnthropicWriter(number).start()
    writer.tool("toolu_p0", "tide_table", pieces(TABLE_ARGUMENTS, 9, 4))
    writer.tool("toolu_p1", "log_note", ["", *pieces(NOTE_ARGUMENTS, 6, 11)])
    return writer.tool("toolu_p2", "now", ["{}"]).end("tool_use", 90)


def _no_arguments(number: int, parts: list[str]) -> bytes:
    return AnthropicWriter(number).start().tool("toolu_n0", "now", parts).end("tool_use", 20)


def _text_then_tool(number: int) -> bytes:
    writer = AnthropicWriter(number).start().text(pieces(prose.PLAIN[:110], 7, 12)).ping()
    return writer.tool("toolu_t0", "tide_table", pieces(TABLE_ARGUMENTS, 5, 10)).end("tool_use", 71)


def _text_then_parallel(number: int) -> bytes:
    writer = AnthropicWriter(number).start().text(pieces("I will look up both.", 8))
    writer.tool("toolu_q0", "log_note", pieces(NOTE_ARGUMENTS, 14, 3))
    writer.tool("toolu_q1", "now", [])
    return writer.tool("toolu_q2", "tide_table", pieces(TABLE_ARGUMENTS, 15, 6)).end("tool_use", 99)


def _tool_then_text(number: int) -> bytes:
    writer = AnthropicWriter(number).start()
    writer.tool("toolu_u0", "tide_table", pieces(TABLE_ARGUMENTS, 16, 9))
    return writer.text(pieces("While that runs: the bar is calm today.", 9, 6)).end("tool_use", 60)


def _thinking_tool(number: int) -> bytes:
    writer = AnthropicWriter(number).start().thinking(pieces(prose.REASONING, 12, 19), SIGNATURE)
    writer.open({"type": "redacted_thinking", "data": "EmwKAhgBEgy3va3pzix/LafPsn4="}).close()
    return writer.tool("toolu_r0", "log_note", pieces(NOTE_ARGUMENTS, 8, 15)).end("tool_use", 80)


def _long(number: int) -> bytes:
    """Arguments of more than 4,096 bytes: the call cannot be held back to its end."""
    arguments = json.dumps({"text": prose.LONG * 3})
    writer = AnthropicWriter(number).start()
    return writer.tool("toolu_l0", "log_note", pieces(arguments, 390)).end("tool_use", 1400)


def _search(number: int) -> bytes:
    """Text, a search that the server runs itself, its result, and text with a citation."""
    found = {
        "type": "web_search_result",
        "title": "Tides of Vell",
        "url": "https://tides.example/vell",
        "encrypted_content": "EsgBCioIARgBIiQ3",
        "page_age": None,
    }
    cited = {
        "type": "web_search_result_location",
        "cited_text": "High water 06:42",
        "url": "https://tides.example/vell",
        "title": "Tides of Vell",
        "encrypted_index": "Eo8BCioIARgB",
    }
    writer = AnthropicWriter(number).start().text(pieces("I will search for that.", 9))
    writer.tool("srvtoolu_1", "web_search", ["", '{"query": ', '"tide Vell"}'], kind="server_tool_use")
    writer.open({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [found]}).close()
    writer.text(pieces("The table says: ", 8)).open({"type": "text", "text": "", "citations": []})
    writer.delta("citations_delta", citation=cited)
    for part in pieces(prose.SHORT, 7):
        writer.delta("text_delta", text=part)
    return writer.close().end("end_turn", 64)

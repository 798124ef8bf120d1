"""Responses streams that leave something to the client: functions, free-text tools, patches, shells."""

from __future__ import annotations

import json
from collections.abc import Iterator

from tests.corpus import prose
from tests.corpus.responses_wire import ResponsesWriter, function_tool, request
from tests.corpus.stream import CorpusStream, pieces

TOOLS = [function_tool("tide_table", "port", "day"), function_tool("log_note", "text"), function_tool("now")]
TABLE_ARGUMENTS = '{"port":"Vell \\u00d8st","day":"2026-05-01","units":{"height":["m","ft"]}}'
NOTE_ARGUMENTS = '{"text":"He said \\"ebb\\" {twice}, then \\\\ and a bell."}'
PATCH = '*** Begin Patch\n+{"open": [1,\n+high water\n*** End Patch'  # half an object inside free text
DIFF = "+## Tides\n+\n+- [ ] high\n+- [ ] low\n"


def streams() -> Iterator[CorpusStream]:
    yield _stream("responses_tool_one", _one(30))
    yield _stream("responses_tool_parallel", _parallel(31))
    yield _stream("responses_text_then_tool", _text_then_tool(32))
    yield _stream("responses_tool_then_text", _tool_then_text(33))
    yield _stream("responses_tool_free_text", _free_text(34))
    yield _stream("responses_tool_patch", _patch(35))
    yield _stream("responses_text_then_tool_shell", _shell(36))
    yield _stream("responses_tool_approval", _approval(37))
    yield _stream("responses_tool_whole_in_item", _whole_in_item(38))


def _stream(name: str, data: bytes) -> CorpusStream:
    body = request(f"Please use the tools ({name}).", tools=TOOLS, parallel_tool_calls=True)
    return CorpusStream(name, "openai-responses", body, data)


def _one(number: int) -> bytes:
    return ResponsesWriter(number).call("tide_table", pieces(TABLE_ARGUMENTS, 13, 8)).end()


def _parallel(number: int) -> bytes:
    writer = ResponsesWriter(number).call("tide_table", pieces(TABLE_ARGUMENTS, 29))
    return writer.call("log_note", pieces(NOTE_ARGUMENTS, 22)).call("now", ["{}"]).end()


def _text_then_tool(number: int) -> bytes:
    writer = ResponsesWriter(number).message(pieces(prose.PLAIN[:80], 14))
    return writer.call("tide_table", pieces(TABLE_ARGUMENTS, 20)).end()


def _tool_then_text(number: int) -> bytes:
    writer = ResponsesWriter(number).call("tide_table", pieces(TABLE_ARGUMENTS, 36))
    return writer.message(pieces("While that runs: the bar is calm.", 9)).end()


def _free_text(number: int) -> bytes:
    writer = ResponsesWriter(number).message(pieces("I patch it.", 6))
    return writer.call("apply", pieces(PATCH, 12, 5), custom=True).end()


def _patch(number: int) -> bytes:
    """A patch of which only the finished item is the call; its deltas are for display."""
    writer, operation = ResponsesWriter(number), {"path": "tides.md", "type": "create_file"}
    fields = {"status": "in_progress", "call_id": "call_patch"}
    item = writer.add("apply_patch_call", **fields, operation={"diff": "", **operation})
    place, event = {"item_id": item["id"], "output_index": 0}, "response.apply_patch_call_operation_diff"
    for part in pieces(DIFF, 14):
        writer.event(f"{event}.delta", **place, delta=part)
    writer.event(f"{event}.done", **place, diff=DIFF)
    return writer.done(item, status="completed", operation={"diff": DIFF, **operation}).end()


def _shell(number: int) -> bytes:
    writer = ResponsesWriter(number).message(pieces("I list the files.", 8))
    action = {"command": [], "env": {}, "type": "exec"}
    item = writer.add("local_shell_call", status="in_progress", call_id="call_shell", action=action)
    writer.done(item, status="completed", action={**action, "command": ["ls", "-a", "~/tides"]})
    return writer.call("now", ["{}"]).end()


def _approval(number: int) -> bytes:
    """The list of a server's tools is no answer yet; its call waits for the client's consent."""
    writer = ResponsesWriter(number)
    listed = writer.add("mcp_list_tools", server_label="harbour", tools=[])
    writer.event("response.mcp_list_tools.completed", item_id=listed["id"], output_index=0)
    writer.done(listed, tools=[{"name": "open_gate", "input_schema": {"type": "object"}}])
    arguments = json.dumps({"gate": "north"})
    item = writer.add("mcp_approval_request", name="open_gate", server_label="harbour", arguments=arguments)
    return writer.done(item).end()


def _whole_in_item(number: int) -> bytes:
    """Servers that send no deltas: the arguments stand in the finished item only."""
    writer = ResponsesWriter(number)
    item = writer.add(
        "function_call", status="in_progress", call_id="call_w", name="tide_table", arguments=""
    )
    return writer.done(item, status="completed", arguments=TABLE_ARGUMENTS).end()

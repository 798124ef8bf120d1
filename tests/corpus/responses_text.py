"""Responses streams whose answer is text, a refusal, or text behind reasoning or a server-side tool."""

from __future__ import annotations

from collections.abc import Iterator

from tests.corpus import prose
from tests.corpus.responses_wire import ResponsesWriter, request
from tests.corpus.stream import CorpusStream, pieces

DIALECT = "openai-responses"


def streams() -> Iterator[CorpusStream]:
    yield _stream("responses_text_plain", _text(1, prose.PLAIN, 11, 17))
    yield _stream("responses_text_emoji_cjk", _text(2, prose.EMOJI_CJK, 12, 7, ascii_only=True))
    yield _stream("responses_text_code", _text(3, prose.CODE, 24, 13, padded=True))
    yield _stream("responses_crlf_no_space", _text(4, prose.SHORT, 5, eol="\r\n", space=""))
    yield _stream("responses_text_length", _length(5))
    yield _stream("responses_two_messages", _two_messages(6))
    yield _stream("responses_refusal", _refusal(7))
    yield _stream("responses_keepalives", _keepalives(8))
    reasoning = request("When is high water?", reasoning={"effort": "high", "summary": "auto"})
    yield CorpusStream("responses_reasoning", DIALECT, reasoning, _reasoning(9), "shown reasoning")
    hidden = request("And low water?", store=False, include=["reasoning.encrypted_content"])
    yield CorpusStream("responses_hidden_reasoning", DIALECT, hidden, _hidden(10), "shown reasoning")
    search = request("Search for it.", tools=[{"type": "web_search"}])
    yield CorpusStream("responses_server_search", DIALECT, search, _search(11), "server tools")
    form = {"format": {"type": "json_schema", "name": "tide", "schema": {"type": "object"}}}
    structured = request("As JSON.", text=form)
    data = _text(12, '{"port": "Vell", "height_m": 3.42, "ok": true}', 9)
    yield CorpusStream("responses_structured_output", DIALECT, structured, data, "structured output")


def _stream(name: str, data: bytes) -> CorpusStream:
    body = request(f"Tell me about tides ({name}).", instructions="Be brief.", max_output_tokens=4_000)
    return CorpusStream(name, DIALECT, body, data)


def _text(number: int, text: str, *sizes: int, **framing: object) -> bytes:
    return ResponsesWriter(number, **framing).message(pieces(text, *sizes)).end()  # type: ignore[arg-type]


def _length(number: int) -> bytes:
    writer = ResponsesWriter(number).message(pieces(prose.PLAIN[:120], 15, 9))
    return writer.end("max_output_tokens")


def _two_messages(number: int) -> bytes:
    """A comment and the answer, whose numbers leave one out, as newer models send them."""
    writer = ResponsesWriter(number).message(pieces("I look it up. ", 7), phase="commentary")
    writer._index += 1
    return writer.message(pieces(prose.REPEATS[:150], 21, 8), phase="final_answer").end()


def _refusal(number: int) -> bytes:
    return ResponsesWriter(number).message(pieces(prose.REFUSAL, 14, 9), kind="refusal").end()


def _keepalives(number: int) -> bytes:
    """Numbered keep-alives, a comment and a queue in front of the answer."""
    writer = ResponsesWriter(number).event("response.queued", response={"id": "resp_0008c41b7e"})
    writer.event("keepalive").raw(": beat\n\n").event("keepalive")
    return writer.message(pieces(prose.SHORT, 8)).end()


def _reasoning(number: int) -> bytes:
    writer = ResponsesWriter(number).reasoning(pieces(prose.REASONING, 31, 22))
    return writer.message(pieces(prose.SHORT, 6)).end(usage=(31, 52))


def _hidden(number: int) -> bytes:
    writer = ResponsesWriter(number).reasoning([], encrypted_content="gAAAAB" + "k3" * 40)
    return writer.message(pieces(prose.PLAIN[:90], 13)).end()


def _search(number: int) -> bytes:
    writer = ResponsesWriter(number)
    item = writer.add("web_search_call", status="in_progress")
    for stage in ("in_progress", "searching", "completed"):
        writer.event(f"response.web_search_call.{stage}", item_id=item["id"], output_index=0)
    writer.done(item, status="completed", action={"type": "search", "query": "tides"})
    return writer.message(pieces(prose.SHORT * 2, 9)).end()

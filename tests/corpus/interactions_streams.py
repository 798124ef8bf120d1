"""Interactions streams: text, thoughts, calls, a search that the provider runs, and what the server keeps."""

from __future__ import annotations

from collections.abc import Iterator

from tests.corpus import prose
from tests.corpus.interactions_wire import InteractionsWriter, request
from tests.corpus.stream import CorpusStream, pieces

DIALECT = "gemini-interactions"
TABLE_ARGUMENTS = '{"port":"Vell Øst","day":"2026-05-01","units":{"height":["m","ft"]}}'
NOTE_ARGUMENTS = '{"text":"He said \\"ebb\\" {twice}, then \\\\ and a bell."}'
SIGNATURE = "Eq4Bp2R7" * 6


def streams() -> Iterator[CorpusStream]:
    yield _stream("interactions_text_plain", _text(1, prose.PLAIN, 31, 47))
    emoji = InteractionsWriter(2, ascii_only=True).text(pieces(prose.EMOJI_CJK, 12, 7)).end()
    yield _stream("interactions_text_emoji_cjk", emoji)
    yield _stream("interactions_text_code", _text(3, prose.CODE, 44, 23))
    length = InteractionsWriter(4).text(pieces(prose.PLAIN[:120], 35, 29)).end("incomplete")
    yield _stream("interactions_text_length", length)
    thoughts = InteractionsWriter(5).thought(pieces(prose.REASONING, 61), SIGNATURE)
    yield _stream("interactions_thoughts", thoughts.text(pieces(prose.SHORT, 16)).end())
    older = InteractionsWriter(6, older=True).text(pieces(prose.PLAIN[:150], 17, 31)).end()
    yield _stream("interactions_older_revision", older)
    beat = InteractionsWriter(7).raw(": beat\n\n").text(pieces(prose.SHORT, 8)).end()
    yield _stream("interactions_comment", beat)
    one = InteractionsWriter(8).call("tide_table", pieces(TABLE_ARGUMENTS, 13, 8)).end("requires_action")
    yield _stream("interactions_tool_one", one)
    yield _stream("interactions_tool_parallel", _parallel(9))
    then = InteractionsWriter(10).text(pieces(prose.PLAIN[:80], 24))
    calls = then.call("tide_table", pieces(TABLE_ARGUMENTS, 20)).end("requires_action")
    yield _stream("interactions_text_then_tool", calls)
    search = request("Search for it.", tools=[{"type": "google_search"}])
    yield CorpusStream("interactions_server_search", DIALECT, search, _search(11), "server tools")
    kept = request("Go on.", previous_interaction_id="v1_0011Qx")
    yield CorpusStream("interactions_stored", DIALECT, kept, _text(12, prose.SHORT, 9), "kept by server")


def _stream(name: str, data: bytes) -> CorpusStream:
    limit = {"max_output_tokens": 4_000}
    return CorpusStream(name, DIALECT, request(f"Of tides ({name}).", generation_config=limit), data)


def _text(number: int, text: str, *sizes: int) -> bytes:
    return InteractionsWriter(number).text(pieces(text, *sizes)).end()


def _parallel(number: int) -> bytes:
    writer = InteractionsWriter(number).call("tide_table", pieces(TABLE_ARGUMENTS, 29), "k1")
    return (
        writer.call("log_note", pieces(NOTE_ARGUMENTS, 22), "k2").call("now", [], "k3").end("requires_action")
    )


def _search(number: int) -> bytes:
    writer = InteractionsWriter(number)
    writer.step("google_search_call", id="s1", arguments={"queries": ["tides"]})
    writer.step("google_search_result", call_id="s1", result=[])
    return writer.text(pieces(prose.SHORT * 2, 19)).end()

"""The model's first replies: what the vendors' own SDKs read from them is the answer."""

from __future__ import annotations

import json

import pytest

from seamstream.testing import (
    Answer,
    DeterministicModel,
    Dialect,
    Reasoning,
    Refusal,
    RenderOptions,
    ServerTool,
    Text,
    Tool,
    read_turn,
    render,
    signature_of,
    tokens,
)
from tests.support.turns import turn_of

from .asking import base, said

DIALECTS: list[Dialect] = ["openai-chat", "anthropic"]
TOOLS = Answer(
    (
        Reasoning(tokens("The user wants two depths.")),
        Text(tokens("Let me look 🐠 — one moment. ")),
        Tool("depth", ('{"at":', ' "reef"}')),
        Tool("now"),
    )
)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_sdk_reads_the_answer(dialect: Dialect) -> None:
    answer = said(DeterministicModel(TOOLS), dialect, base())
    assert answer.text == "Let me look 🐠 — one moment. "
    assert [name for name, _ in answer.calls] == ["depth", "now"]
    assert json.loads(answer.calls[0][1]) == {"at": "reef"}
    assert answer.stop == {"openai-chat": "tool_calls", "anthropic": "tool_use"}[dialect]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "options",
    [
        RenderOptions(ascii_json=True),
        RenderOptions(line_end="\r\n"),
        RenderOptions(ping_every=1),
        RenderOptions(azure=True, include_usage=True),
    ],
    ids=["escaped", "crlf", "pings", "azure"],
)
def test_habits_of_the_provider_do_not_change_the_answer(dialect: Dialect, options: RenderOptions) -> None:
    written = b"".join(render(dialect, TOOLS, options=options))
    plain = b"".join(render(dialect, TOOLS))
    assert written != plain or (dialect == "anthropic" and options.azure)
    assert turn_of(dialect, written).answer == turn_of(dialect, plain).answer


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_event_is_closed_by_its_own_blank_line(dialect: Dialect) -> None:
    for event in render(dialect, TOOLS):
        assert event.endswith(b"\n\n")
        assert event.count(b"\n\n") == 1


def test_thinking_is_signed_and_a_ping_follows_the_first_block() -> None:
    events = render("anthropic", TOOLS)
    names = [event.split(b"\n")[0].removeprefix(b"event: ").decode() for event in events]
    assert names[:3] == ["message_start", "content_block_start", "ping"]
    assert names[-2:] == ["message_delta", "message_stop"]
    assert signature_of("The user wants two depths.").encode() in b"".join(events)


def test_server_tools_come_with_their_result() -> None:
    answer = Answer(
        (ServerTool("web_search", ('{"query":"reef"}',), result=[{"title": "Reef"}]), Text(("Found.",)))
    )
    data = b"".join(render("anthropic", answer))
    assert b'"type":"web_search_tool_result","tool_use_id":"srvtoolu_1"' in data
    assert turn_of("anthropic", data).answer.text == "Found."
    with pytest.raises(TypeError, match="server-side"):
        render("openai-chat", answer)


def test_a_refusal_has_its_own_field_in_chat() -> None:
    answer = Answer((Refusal(tokens("I cannot help with that.")),), stop="refusal")
    chat = said(DeterministicModel(answer), "openai-chat", base())
    assert (chat.text, chat.refusal, chat.stop) == ("", "I cannot help with that.", "stop")
    anthropic = said(DeterministicModel(answer), "anthropic", base())
    assert (anthropic.text, anthropic.stop) == ("I cannot help with that.", "refusal")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_same_request_gets_the_same_bytes_and_another_another_id(dialect: Dialect) -> None:
    model = DeterministicModel(TOOLS)
    first, other = model.reply(dialect, base()), model.reply(dialect, base(system="Be brief."))
    assert first == model.reply(dialect, base())
    assert turn_of(dialect, first.payload).ids != turn_of(dialect, other.payload).ids


def test_usage_comes_when_it_was_asked_for() -> None:
    model = DeterministicModel(Answer((Text(("a", "b", "c")),)))
    asked = base(stream_options={"include_usage": True})
    assert turn_of("openai-chat", model.reply("openai-chat", base()).payload).usage == (None, None)
    assert turn_of("openai-chat", model.reply("openai-chat", asked).payload).usage[1] == 3
    chunks = model.reply("openai-chat", asked).events
    assert b'"choices":[],"usage":{' in chunks[-2]
    assert all(b'"usage":null' in chunk for chunk in chunks[:-2])
    assert turn_of("anthropic", model.reply("anthropic", base()).payload).usage[1] == 3


def test_a_longer_conversation_costs_more_input() -> None:
    model = DeterministicModel(TOOLS)
    short = turn_of("anthropic", model.reply("anthropic", base()).payload).usage[0]
    long = turn_of("anthropic", model.reply("anthropic", base(system="word " * 100)).payload).usage[0]
    assert short is not None
    assert long is not None
    assert long > short + 100


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("limit", [1, 5, 10_000])
def test_one_piece_is_one_token(dialect: Dialect, limit: int) -> None:
    model = DeterministicModel(Answer((Text(tokens("one two three four five six seven")),)))
    answer = said(model, dialect, base(max_tokens=limit))
    assert len(tokens(answer.text)) == min(limit, 7)
    cut = {"openai-chat": "length", "anthropic": "max_tokens"}[dialect]
    assert (answer.stop == cut) == (limit < 7)


def test_max_completion_tokens_is_the_newer_name() -> None:
    model = DeterministicModel(Answer((Text(tokens("one two three")),)))
    body = base(max_completion_tokens=2)
    assert said(model, "openai-chat", body).text == "one two"


@pytest.mark.parametrize(("dialect", "name"), [("openai-chat", "stop"), ("anthropic", "stop_sequences")])
def test_a_stop_sequence_ends_the_answer_before_it(dialect: Dialect, name: str) -> None:
    model = DeterministicModel(Answer((Text(tokens("one two three")), Tool("t"))))
    answer = said(model, dialect, base(**{name: ["zzz", "o thr"]}))
    assert (answer.text, answer.calls) == ("one tw", ())
    assert answer.stop == {"openai-chat": "stop", "anthropic": "stop_sequence"}[dialect]


def test_choices_alternate_and_are_whole() -> None:
    options = RenderOptions(others=(Answer((Text(tokens("the second answer")),)),))
    data = b"".join(
        render("openai-chat", Answer((Text(tokens("the first answer is longer")),)), options=options)
    )
    texts = [read_turn("openai-chat", data, choice=index).text for index in (0, 1)]
    assert texts == ["the first answer is longer", "the second answer"]
    assert [answer.text for answer in turn_of("openai-chat", data).answers] == texts
    model = DeterministicModel(TOOLS)
    assert len(turn_of("openai-chat", model.reply("openai-chat", base(n=3)).payload).answers) == 3


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_request_without_stream_gets_one_json_body(dialect: Dialect) -> None:
    reply = DeterministicModel(TOOLS).reply(dialect, base(stream=False))
    assert reply.events == []
    assert reply.headers["content-type"] == "application/json"
    body = json.loads(reply.body)
    if dialect == "anthropic":
        kinds = [block["type"] for block in body["content"]]
        assert kinds == ["thinking", "text", "tool_use", "tool_use"]
        assert body["content"][2]["input"] == {"at": "reef"}
        assert body["stop_reason"] == "tool_use"
    else:
        message = body["choices"][0]["message"]
        assert message["content"] == "Let me look 🐠 — one moment. "
        assert json.loads(message["tool_calls"][0]["function"]["arguments"]) == {"at": "reef"}
        assert body["choices"][0]["finish_reason"] == "tool_calls"

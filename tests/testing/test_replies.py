"""Replies that are not the stream that was asked for, and errors inside a stream."""

from __future__ import annotations

import json

import pytest

from seamstream.testing import DeterministicModel, Dialect, Fault, FaultServer, read_turn, retry_headers

from .conftest import Run
from .raw_client import ASK, Received, ask_once, fetch, unchunk


@pytest.mark.parametrize(
    ("dialect", "status", "words"),
    [
        ("anthropic", 529, ["event: error", '"type":"overloaded_error"']),
        ("anthropic", 500, ["event: error", '"type":"api_error"']),
        ("anthropic", 429, ["event: error", '"type":"rate_limit_error"']),
        ("openai-chat", 529, ['data: {"error":{', '"code":529']),
        ("openai-chat", 500, ['data: {"error":{', '"type":"server_error"']),
        ("openai-chat", 429, ['data: {"error":{', '"code":"rate_limit_exceeded"']),
    ],
)
def test_an_error_event_comes_inside_the_stream(
    run: Run, model: DeterministicModel, dialect: Dialect, status: int, words: list[str]
) -> None:
    received = ask_once(run, model, Fault.in_band_error(status, after_events=2), dialect)
    body, ended = unchunk(received.rest)
    sent = b"".join(model.reply(dialect, ASK).events[:2])
    assert ended
    assert received.head.startswith("http/1.1 200")
    assert body.startswith(sent)
    last = body[len(sent) :].decode()
    assert last.endswith("\n\n")
    assert last.count("\n\n") == 1
    assert all(word in last for word in words)


def test_done_can_follow_the_error(run: Run, model: DeterministicModel) -> None:
    body, _ = unchunk(ask_once(run, model, Fault.error_then_done(after_events=1)).rest)
    assert body.count(b'data: {"error":') == 1
    assert body.endswith(b"}}\n\ndata: [DONE]\n\n")


def test_html_comes_with_status_200(run: Run, model: DeterministicModel) -> None:
    received = ask_once(run, model, Fault.html())
    assert received.head.startswith("http/1.1 200")
    assert "content-type: text/html" in received.head
    assert unchunk(received.rest)[0].startswith(b"<!doctype html>")


@pytest.mark.parametrize("dialect", ["openai-chat", "anthropic"])
def test_json_can_come_in_place_of_a_stream(run: Run, model: DeterministicModel, dialect: Dialect) -> None:
    received = ask_once(run, model, Fault.json_body(), dialect)
    assert "content-type: application/json" in received.head
    answer = json.loads(unchunk(received.rest)[0])
    content = (
        answer["content"][0]["text"] if dialect == "anthropic" else answer["choices"][0]["message"]["content"]
    )
    assert content.startswith("Reefs grow")


@pytest.mark.parametrize("status", [429, 503, 529])
@pytest.mark.parametrize("form", sorted(retry_headers(30, 1_800_000_000)))
def test_http_errors_carry_every_retry_header(
    run: Run, model: DeterministicModel, status: int, form: str
) -> None:
    headers = retry_headers(30, 1_800_000_000)[form]
    received = ask_once(run, model, Fault.http_error(status, headers), "anthropic")
    assert received.head.startswith(f"http/1.1 {status}")
    for name, value in headers.items():
        assert f"\r\n{name}: {value}".lower() in received.head
    assert json.loads(unchunk(received.rest)[0])["type"] == "error"


def test_retry_headers_say_the_same_time_in_their_own_ways() -> None:
    forms = retry_headers(90, 1_800_000_000)
    assert forms["retry-after seconds"] == {"retry-after": "90"}
    assert forms["retry-after date"] == {"retry-after": "Fri, 15 Jan 2027 08:01:30 GMT"}
    assert forms["retry-after-ms"] == {"retry-after-ms": "90000"}
    assert forms["openai reset duration"]["x-ratelimit-reset-requests"] == "1m30s"
    assert forms["anthropic reset"]["anthropic-ratelimit-requests-reset"] == "2027-01-15T08:01:30Z"
    assert forms["reset epoch milliseconds"] == {"x-ratelimit-reset": "1800000090000"}
    assert retry_headers(0.25, 0)["openai reset duration"]["x-ratelimit-reset-requests"] == "250ms"


def test_faults_leave_http_errors_of_the_model_alone(run: Run, model: DeterministicModel) -> None:
    async def once() -> Received:
        async with FaultServer(model, [Fault.reset(after_events=1)], connections="close") as server:
            return await fetch(server, body={**ASK, "messages": []})

    received = run(once())
    assert received.head.startswith("http/1.1 400")
    assert received.ended == "fin"
    assert unchunk(received.rest)[1]


def test_unknown_paths_get_404(run: Run, model: DeterministicModel) -> None:
    async def ask() -> Received:
        async with FaultServer(model, connections="close") as server:
            return await fetch(server, path="/v1/models")

    assert run(ask()).head.startswith("http/1.1 404")


@pytest.mark.parametrize("dialect", ["openai-chat", "anthropic"])
def test_what_arrives_is_the_answer(run: Run, model: DeterministicModel, dialect: Dialect) -> None:
    turn = read_turn(dialect, unchunk(ask_once(run, model, Fault.none(), dialect).rest)[0])
    assert turn.text == model.answer.text
    assert [(call.name, call.arguments) for call in turn.calls] == [("depth", {"metres": 12})]
    assert (turn.stop, turn.ended, turn.error) == ("tool_use", True, None)

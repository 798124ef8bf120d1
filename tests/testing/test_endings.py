"""Each ending of a reply, seen by a client that reads raw sockets: it is what its name says."""

from __future__ import annotations

import pytest

from seamstream.testing import DeterministicModel, Ending, Fault

from .conftest import Run
from .raw_client import ASK, Received, ask_once, unchunk, whole


def test_a_healthy_reply_is_whole_and_properly_ended(run: Run, model: DeterministicModel) -> None:
    received = ask_once(run, model, Fault.none())
    assert unchunk(received.rest) == (whole(model), True)
    assert "transfer-encoding: chunked" in received.head
    assert received.ended == "fin"


def test_reset_is_a_reset_and_loses_nothing_before_it(run: Run, model: DeterministicModel) -> None:
    received = ask_once(run, model, Fault.reset(after_events=3))
    events = model.reply("openai-chat", ASK).events
    assert received.ended == "reset"
    assert unchunk(received.rest) == (b"".join(events[:3]), False)


def test_a_reset_can_come_at_any_byte(run: Run, model: DeterministicModel) -> None:
    for cut in (0, 1, 401, 402):
        received = ask_once(run, model, Fault.reset(after_bytes=cut))
        assert received.ended == "reset"
        assert unchunk(received.rest)[0] == whole(model)[:cut]


def test_a_large_body_arrives_before_the_reset(run: Run, model: DeterministicModel) -> None:
    body = b"x" * 5_000_000
    received = ask_once(run, model, Fault(Ending.RESET, body=body))
    assert received.ended == "reset"
    assert unchunk(received.rest) == (body, False)


def test_fin_leaves_the_chunked_body_without_its_last_chunk(run: Run, model: DeterministicModel) -> None:
    received = ask_once(run, model, Fault.fin(after_events=2))
    assert received.ended == "fin"
    assert unchunk(received.rest)[1] is False


def test_fin_inside_a_chunk_leaves_it_torn(run: Run, model: DeterministicModel) -> None:
    received = ask_once(run, model, Fault.fin(after_bytes=100, torn_chunk=True))
    assert received.ended == "fin"
    size, _, data = received.rest.partition(b"\r\n")
    assert data == whole(model)[:100]
    assert int(size, 16) == 101


def test_a_clean_end_cannot_be_told_from_a_good_one(run: Run, model: DeterministicModel) -> None:
    received = ask_once(run, model, Fault.clean_end(after_events=4))
    assert received.ended == "fin"
    assert unchunk(received.rest) == (b"".join(model.reply("openai-chat", ASK).events[:4]), True)


@pytest.mark.parametrize("ending", [Ending.FIN, Ending.RESET])
def test_a_short_body_comes_under_the_length_of_the_whole(
    run: Run, model: DeterministicModel, ending: Ending
) -> None:
    received = ask_once(run, model, Fault.short_length(ending, after_bytes=500))
    assert received.ended == ending.value
    assert f"content-length: {len(whole(model))}\r\n" in received.head + "\r\n"
    assert "transfer-encoding" not in received.head
    assert received.rest == whole(model)[:500]


@pytest.mark.parametrize("ending", [Ending.FIN, Ending.RESET])
def test_a_close_delimited_body_has_neither_length_nor_chunks(
    run: Run, model: DeterministicModel, ending: Ending
) -> None:
    received = ask_once(run, model, Fault.close_delimited(ending, after_bytes=500))
    assert received.ended == ending.value
    assert "content-length" not in received.head
    assert "transfer-encoding" not in received.head
    assert received.rest == whole(model)[:500]


@pytest.mark.parametrize("ending", [Ending.FIN, Ending.RESET])
def test_the_connection_can_end_before_any_response_byte(
    run: Run, model: DeterministicModel, ending: Ending
) -> None:
    assert ask_once(run, model, Fault.no_response(ending)) == Received(b"", ending.value)

"""Every way in which a stream breaks on a real socket: the reader gets the same answer, in one envelope."""

from __future__ import annotations

import asyncio
import dataclasses

import pytest

from seamstream import RecoveryPolicy
from seamstream.testing import (
    Answer,
    DeterministicModel,
    Dialect,
    Ending,
    FakeClock,
    Fault,
    Text,
    Tool,
    differences,
    read_turn,
    salvaged,
    tokens,
)
from tests.middleware.asking import DIALECTS, Asker, read_on, turns_of_the_loop, until

BROKEN = {
    "rst": (Fault.reset(after_events=12), "ConnectionReset"),
    "rst inside an event": (Fault.reset(after_bytes=1_801), "ConnectionReset"),
    "fin before the last chunk": (Fault.fin(after_events=12), "ConnectionReset"),
    "fin inside a chunk": (Fault.fin(after_events=12, torn_chunk=True), "ConnectionReset"),
    "proper end, no terminal event": (Fault.clean_end(after_events=12), "EarlyEof"),
    "short content length, fin": (Fault.short_length(after_events=12), "ConnectionReset"),
    "short content length, rst": (Fault.short_length(Ending.RESET, after_events=12), "ConnectionReset"),
    "no length, fin": (Fault.close_delimited(after_events=12), "EarlyEof"),
    "no length, rst": (Fault.close_delimited(Ending.RESET, after_events=12), "ConnectionReset"),
    "malformed chunk size": (Fault.bad_chunk_size(after_events=12), "MalformedFrame"),
    "error event 529": (Fault.in_band_error(529, after_events=12), "Provider5xxMidStream(529)"),
    "error event 500": (Fault.in_band_error(500, after_events=12), "Provider5xxMidStream(500)"),
}
AT_ONCE = RecoveryPolicy(backoff=dataclasses.replace(RecoveryPolicy().backoff, first_s=0.0, max_s=0.0))


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_broken_stream_comes_out_whole(asker: Asker, dialect: Dialect, name: str) -> None:
    fault, cause = BROKEN[name]
    expected = await asker.unbroken_turn(dialect)
    async with asker.scene([fault], dialect=dialect, policy=AT_ONCE) as scene:
        got = await scene.turn()
    assert differences(expected, got) == []
    assert len(got.response_ids) == 1
    assert [exchange.number for exchange in scene.requests] == [1, 2]
    (outcome,) = scene.runs
    assert (outcome.kind, outcome.attempts, outcome.plan, outcome.causes) == ("recovered", 2, "R1", (cause,))


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_before_any_content_the_reader_sees_no_seam(asker: Asker, dialect: Dialect) -> None:
    expected = await asker.unbroken_turn(dialect)
    async with asker.scene([Fault.reset(after_events=1)], dialect=dialect) as scene:
        got = await scene.turn()
    assert differences(expected, got) == []
    assert (scene.runs[0].kind, scene.runs[0].plan, scene.runs[0].joins) == ("recovered", "R4", ())


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_two_cuts_in_a_row(asker: Asker, dialect: Dialect) -> None:
    expected = await asker.unbroken_turn(dialect)
    script = [Fault.reset(after_events=12), Fault.fin(after_events=9)]
    async with asker.scene(script, dialect=dialect, policy=AT_ONCE) as scene:
        got = await scene.turn()
    assert differences(expected, got) == []
    assert scene.runs[0].attempts == 3
    assert scene.requests[2].body["messages"][0] == scene.requests[0].body["messages"][0]


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_an_answer_that_lacks_only_its_terminal_event_is_finished_without_a_request(
    asker: Asker, dialect: Dialect
) -> None:
    expected = await asker.unbroken_turn(dialect)
    data = await asker.unbroken(dialect)
    stop = b"data: [DONE]" if dialect == "openai-chat" else b"event: message_stop"
    async with asker.scene([Fault.clean_end(after_bytes=data.rindex(stop))], dialect=dialect) as scene:
        got = await scene.turn()
    assert differences(expected, got) == []
    assert len(scene.requests) == 1
    proven = dialect == "openai-chat"  # by its stop reason; a message is not, before its last event
    assert (scene.runs[0].kind, scene.runs[0].plan) == (("complete", None) if proven else ("salvaged", "R0"))


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_cut_behind_a_whole_call_ends_as_tool_use(asker: Asker, dialect: Dialect) -> None:
    calls = (Tool("look", ('{"where":', '"north"}')), Tool("look", ('{"where":', '"so', 'uth"}')))
    model = DeterministicModel(Answer((Text(tokens("Let me look twice.")), *calls)))
    async with asker.scene(dialect=dialect, model=model, stock=True) as scene:
        whole = await scene.read()
    cut = whole.index(b'"so' if dialect == "openai-chat" else b'\\"so')
    async with asker.scene([Fault.reset(after_bytes=cut)], dialect=dialect, model=model) as scene:
        got = await scene.turn()
    assert len(scene.requests) == 1
    assert (scene.runs[0].kind, scene.runs[0].plan) == ("salvaged", "R2")
    assert differences(salvaged(read_turn(dialect, whole[:cut])), got) == []
    assert [call.arguments for call in got.calls] == [{"where": "north"}]


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_text_and_an_unfinished_call_go_on_from_the_text(asker: Asker, dialect: Dialect) -> None:
    model = DeterministicModel(
        Answer((Text(tokens("Let me look.")), Tool("look", ('{"where":', '"no', 'rth"}'))))
    )
    async with asker.scene(dialect=dialect, model=model, stock=True) as scene:
        expected = await scene.turn()
    cut = Fault.reset(after_text=b"rth" if dialect == "openai-chat" else b"where")
    async with asker.scene([cut], dialect=dialect, model=model) as scene:
        got = await scene.turn()
    assert differences(expected, got) == []
    assert scene.runs[0].plan == "R3"


@pytest.mark.parametrize(
    "fault", [Fault.stall(after_events=12), Fault.stall_with_pings(0.001, after_events=12)]
)
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_stall_ends_after_its_limit_however_many_pings_come(
    asker: Asker, dialect: Dialect, fault: Fault
) -> None:
    expected = await asker.unbroken_turn(dialect)
    clock, chunks = FakeClock(), list[bytes]()
    async with asker.scene([fault], dialect=dialect, middleware={"clock": clock}) as scene:
        reading = asyncio.create_task(read_on(scene, chunks))
        await until(lambda: b"".join(chunks).count(b"data:") >= 9)
        await turns_of_the_loop()
        await clock.advance(119.0)
        await turns_of_the_loop()
        assert len(scene.requests) == 1
        await clock.advance(1.5)
        await until(lambda: len(scene.requests) == 2)
        await until(lambda: clock.pending or reading.done())
        while not reading.done():
            await clock.advance(0.5)
            await turns_of_the_loop()
        await reading
    assert differences(expected, read_turn(dialect, b"".join(chunks))) == []
    assert scene.runs[0].causes == ("IdleStall",)


@pytest.mark.parametrize("words", [(), ("Let me look.",)])
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_stall_within_a_call_is_no_loss(
    asker: Asker, dialect: Dialect, words: tuple[str, ...]
) -> None:
    """The half call was held for longer than its two seconds, but silence does not let it go."""
    parts = (*(Text(tokens(said)) for said in words), Tool("look", ('{"where":', '"no', 'rth"}')))
    model = DeterministicModel(Answer(parts))
    async with asker.scene(dialect=dialect, model=model, stock=True) as scene:
        expected = await scene.turn()
    clock, chunks = FakeClock(), list[bytes]()
    stall = Fault.stall_with_pings(0.001, after_text=b"where")
    async with asker.scene([stall], dialect=dialect, model=model, middleware={"clock": clock}) as scene:
        reading = asyncio.create_task(read_on(scene, chunks))
        while not reading.done():
            await clock.advance(0.5)
            await turns_of_the_loop()
        await reading
    assert differences(expected, read_turn(dialect, b"".join(chunks))) == []
    assert scene.runs[0].causes == ("IdleStall",)
    assert scene.runs[0].plan == ("R3" if words else "R4")

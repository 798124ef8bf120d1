"""A run that a second process goes on with by its id alone: its request is stored, no credential is."""

from __future__ import annotations

import asyncio
from typing import Any, get_args

import pytest

import seamstream
from seamstream import (
    BackendCheckpointStore,
    BackoffPolicy,
    ConfigurationError,
    Finish,
    InMemoryStreamCheckpointStore,
    ProfileBook,
    RecoveryPolicy,
    StaleOwner,
    StreamCutError,
    TextDelta,
    UnknownRun,
    WaitingForCredentials,
)
from seamstream.stores.memory_backend import MemoryBackend
from seamstream.testing import Dialect, Fault
from tests.stream.conftest import QUESTION, TEXT

AT_ONCE = RecoveryPolicy(backoff=BackoffPolicy(first_s=0.0, max_s=0.0), checkpoint_every_s=0.0)
SECRETS = {"Authorization": "Bearer secret-1", "x-api-key": "secret-2", "Cookie": "secret-3"}
STALLS = Fault.stall(after_events=14)
ASKED = {
    **QUESTION,
    "stream": True,
    "store": False,
    "input": "Where is north?",
    "contents": [{"role": "user", "parts": [{"text": "Where is north?"}]}],
}
"""What each dialect wants to see, in one request."""


def taken(here: Any, store: Any, **options: Any) -> Any:
    """A second process's way to the run."""
    given = {"headers": {}, "policy": AT_ONCE, "profiles": ProfileBook(), "run_id": "r", **options}
    return seamstream.take_over(here.session, here.server.url_for(here.dialect), store=store, **given)


async def die(here: Any, store: Any, **options: Any) -> None:
    """A process that is gone after some of the answer."""
    given = {"run_id": "r", "takeover": True, "policy": AT_ONCE, **options}
    with pytest.raises(RuntimeError, match="dies"):
        await _read_and_die(here.ask(store=store, **given))


async def _read_and_die(run: Any) -> None:
    async with run:
        texts = 0
        async for event in run:
            texts += isinstance(event, TextDelta)
            await asyncio.sleep(0)
            if texts == 10:
                raise RuntimeError("the process dies")


async def read(run: Any) -> tuple[Any, list[Any]]:
    async with run as entered:
        return entered, [event async for event in entered]


async def test_the_id_is_enough(place: Any) -> None:
    store = BackendCheckpointStore(MemoryBackend(), "t")
    async with place([STALLS]) as here:
        await die(here, store, headers=SECRETS)
        run, events = await read(taken(here, store, headers={"Authorization": "Bearer mine"}))
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == TEXT
    assert type(events[-1]) is Finish
    assert run.turn.outcome.causes == ("ResumedFromCheckpoint",)
    assert [seam.cause for seam in run.turn.seams] == ["ResumedFromCheckpoint"]
    assert here.requests[1].headers["authorization"] == "Bearer mine"
    assert {"secret-2", "secret-3"}.isdisjoint(here.requests[1].headers.values())
    assert await store.get("r") is None


@pytest.mark.parametrize("dialect", get_args(Dialect))
async def test_every_dialect_is_taken_over(place: Any, dialect: Dialect) -> None:
    """The second attempt asks for the rest alone, and not for the whole answer again."""
    store = BackendCheckpointStore(MemoryBackend(), "t")
    async with place([STALLS]) as here:
        await die(here, store, json=ASKED)
        run, events = await read(taken(here, store))
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == TEXT
    assert [(seam.plan, seam.cause) for seam in run.turn.seams] == [("R1", "ResumedFromCheckpoint")]
    assert [record.strategy for record in run.turn.attempts] in ([None, "prompt"], [None, "prefill"])
    assert len(here.requests) == 2


async def test_no_header_is_ever_stored(place: Any) -> None:
    backend = MemoryBackend()
    async with place([STALLS]) as here:
        await die(here, BackendCheckpointStore(backend, "t"), headers=SECRETS)
    values = [record.value for record in backend._records.values()]
    values += [entry.value for log in backend._logs.values() for entry in log.entries]
    assert any(b"Where is north?" in value for value in values)
    assert not [value for value in values if b"secret" in value]


async def test_the_request_is_stored_only_if_that_was_asked(place: Any) -> None:
    for store in (BackendCheckpointStore(MemoryBackend(), "t"), InMemoryStreamCheckpointStore()):
        async with place([STALLS]) as here:
            await die(here, store, takeover=False)
            stored = await store.get("r")
            assert stored is not None
            assert stored.base_request is None
            with pytest.raises(ConfigurationError, match="takeover=True"):
                await read(taken(here, store))
            run, _ = await here.events(store=store, run_id="r", policy=AT_ONCE)
    assert run.turn.text == TEXT


async def test_takeover_needs_a_store(place: Any) -> None:
    async with place() as here:
        with pytest.raises(ConfigurationError):
            here.ask(takeover=True)


async def test_a_run_of_which_nothing_came_begins_anew(place: Any) -> None:
    """Its process died before the provider's first byte."""
    store = BackendCheckpointStore(MemoryBackend(), "t")
    async with place() as here:
        async with here.ask(store=store, run_id="r", takeover=True, policy=AT_ONCE):
            assert await store.get("r") is not None
        again, _ = await read(taken(here, store))
    assert again.turn.text == TEXT
    assert len(here.requests) == 1


async def test_without_credentials_it_waits(place: Any) -> None:
    store = BackendCheckpointStore(MemoryBackend(), "t")
    async with place([STALLS]) as here:
        await die(here, store)
        before = await store.get("r")
        with pytest.raises(WaitingForCredentials) as caught:
            await read(taken(here, store, headers=None))
        assert caught.value.run_id == "r"
        assert await store.get("r") == before
        run, _ = await read(taken(here, store))
    assert run.turn.text == TEXT


async def test_refused_credentials_leave_it_waiting_and_cost_nothing(place: Any) -> None:
    store = BackendCheckpointStore(MemoryBackend(), "t")
    refused = [Fault.http_error(401)] * 3
    async with place([STALLS, *refused]) as here:
        await die(here, store)
        for _ in refused:
            with pytest.raises(WaitingForCredentials) as caught:
                await read(taken(here, store))
            assert isinstance(caught.value.__cause__, StreamCutError)
        run, _ = await read(taken(here, store, policy=AT_ONCE.replace(max_recoveries=1)))
    assert run.turn.text == TEXT


async def test_the_budget_goes_on(place: Any) -> None:
    store = BackendCheckpointStore(MemoryBackend(), "t")
    once = AT_ONCE.replace(max_recoveries=1)
    async with place([Fault.reset(after_events=5), STALLS]) as here:
        await die(here, store, policy=once)
        with pytest.raises(StreamCutError) as caught:
            await read(taken(here, store, policy=once))
    assert caught.value.code == "budget_exhausted"


async def test_of_two_processes_one_gets_it(place: Any) -> None:
    store = BackendCheckpointStore(MemoryBackend(), "t")
    others = [BackendCheckpointStore(store.backend, "t") for _ in range(4)]
    async with place([STALLS]) as here:
        await die(here, store)
        tries = [read(taken(here, other)) for other in others]
        results = await asyncio.gather(*tries, return_exceptions=True)
    lost = [result for result in results if isinstance(result, BaseException)]
    [(run, _)] = [result for result in results if not isinstance(result, BaseException)]
    assert {type(error) for error in lost} <= {StaleOwner, UnknownRun}
    assert (len(lost), run.turn.text, len(here.requests)) == (3, TEXT, 2)


async def test_an_unknown_run_is_an_error(place: Any) -> None:
    async with place() as here:
        with pytest.raises(UnknownRun):
            await read(taken(here, InMemoryStreamCheckpointStore()))

"""The unmodified `mistralai` client over the transport: Mistral's own stream shapes, cut on a real socket."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import httpx2
import pytest
from mistralai.client import Mistral

import seamstream
from seamstream import Profile, ProfileBook, RecoveryPolicy
from seamstream.httpx import RecoveryTransport, SyncRecoveryTransport
from seamstream.testing import DeterministicModel, Dialect, Ending, Fault, FaultServer
from seamstream.testing.model import Reply
from tests.corpus import CorpusStream, by_name
from tests.httpx.asking import AT_ONCE, NO_MORE, Style
from tests.support.mistral_reading import MistralFold, read_mistral
from tests.support.provider import answer_of
from tests.support.reading import Reading
from tests.support.wire import frames

MISTRAL = Profile(("prefix-flag", "prompt"))
ENDINGS = [Ending.FIN, Ending.RESET, Ending.CLEAN_END, Ending.BAD_CHUNK_SIZE]
PLACES = [0.05, 0.6, 0.9]


class Server:
    """Mistral: recorded shapes first; then it goes on after a prefix, which some versions repeated."""

    def __init__(self, stream: CorpusStream, *, echoes: bool = False) -> None:
        self._stream = stream
        flags = {"accepts_prefill": False, "accepted_flags": ("prefix",), "echoes_prefix": echoes}
        self._model = DeterministicModel(answer_of(stream), **flags)  # type: ignore[arg-type]

    def reply(self, dialect: Dialect, body: dict[str, Any]) -> Reply:
        if [message["role"] for message in body["messages"]] != ["user"]:
            reply = self._model.reply(dialect, body)
            return replace(reply, events=list(_with_whole_calls(reply.events)))
        return Reply(200, {"content-type": "text/event-stream"}, events=frames(self._stream.data))


def _with_whole_calls(events: list[bytes]) -> Iterator[bytes]:
    """A call comes in one chunk, without a type."""
    calls: list[dict[str, Any]] = []
    for event in events:
        chunk = json.loads(event[6:]) if event.startswith(b"data: {") else None
        choice = chunk["choices"][0] if chunk and chunk["choices"] else {"delta": {}, "finish_reason": None}
        for call in choice["delta"].get("tool_calls") or ():
            if "id" in call:
                calls.append({"id": call["id"], "index": call["index"], "function": call["function"]})
            else:
                calls[-1]["function"]["arguments"] += call["function"]["arguments"]
        if calls and choice["finish_reason"]:
            choice["delta"] = {"content": "", "tool_calls": calls}
            yield b"data: " + json.dumps(chunk).encode() + b"\n\n"
        elif not choice["delta"].get("tool_calls"):
            yield event


@dataclass(frozen=True)
class Sdk:
    """The client in one style. Without a policy its requests go out as they are."""

    style: Style
    policy: RecoveryPolicy = AT_ONCE

    async def read(self, url: str, stream: CorpusStream) -> Reading:
        if self.style == "sync":
            return await asyncio.to_thread(self._read_sync, url, stream)
        transport = RecoveryTransport(policy=self.policy, profiles=ProfileBook([MISTRAL]))
        async with httpx2.AsyncClient(transport=transport) as http:
            client, fold = Mistral(api_key="k", server_url=url, async_client=http), MistralFold()
            async with await client.chat.stream_async(**_asked(stream)) as events:
                async for event in events:
                    fold.add(event.data)
            return fold.reading()

    def _read_sync(self, url: str, stream: CorpusStream) -> Reading:
        transport = SyncRecoveryTransport(
            httpx2.HTTPTransport(), self.policy, profiles=ProfileBook([MISTRAL])
        )
        with httpx2.Client(transport=transport) as http:
            client, fold = Mistral(api_key="k", server_url=url, client=http), MistralFold()
            with client.chat.stream(**_asked(stream)) as events:
                for event in events:
                    fold.add(event.data)
            return fold.reading()


def _asked(stream: CorpusStream) -> dict[str, Any]:
    return {key: value for key, value in stream.request.items() if key != "stream"}


@pytest.fixture(params=["async", "sync"])
def sdk(request: pytest.FixtureRequest) -> Sdk:
    return Sdk(request.param)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("name", ["chat_mistral_text", "chat_mistral_thinking", "chat_mistral_tool"])
async def test_a_cut_answer_is_one_answer(sdk: Sdk, name: str, ending: Ending, place: float) -> None:
    stream = by_name(name)
    fault = Fault(ending, after_bytes=int(len(stream.data) * place))
    with seamstream.capture() as runs:
        async with FaultServer(Server(stream), [fault]) as server:
            reading = await sdk.read(server.url, stream)
            assert len(server.requests) == 2
    whole = read_mistral(stream.data)
    assert (reading.answers, reading.kinds, len(reading.ids)) == (whole.answers, whole.kinds, 1)
    assert [run.kind for run in runs] == ["recovered"]


@pytest.mark.parametrize("echoes", [False, True])
async def test_the_prefix_flag_is_what_asks(sdk: Sdk, *, echoes: bool) -> None:
    stream = by_name("chat_mistral_text")
    fault = Fault.fin(after_bytes=len(stream.data) * 2 // 3)
    with seamstream.capture() as runs:
        async with FaultServer(Server(stream, echoes=echoes), [fault]) as server:
            reading = await sdk.read(server.url, stream)
            sent = server.requests[-1].body
    assert isinstance(sent, dict)
    assert sent["messages"][-1]["prefix"] is True
    assert reading.answers == read_mistral(stream.data).answers
    assert runs[0].joins == ("anchored" if echoes else "prefill",)


async def test_a_finish_of_error_is_no_end(sdk: Sdk) -> None:
    stream = by_name("chat_mistral_text")
    broken = [*frames(stream.data)[:6], stream.broken_end]

    class Breaking(Server):
        def reply(self, dialect: Dialect, body: dict[str, Any]) -> Reply:
            whole = super().reply(dialect, body)
            first = len(body["messages"]) == 1
            return Reply(200, whole.headers, events=broken) if first else whole

    async with FaultServer(Breaking(stream)) as server:
        reading = await sdk.read(server.url, stream)
        assert len(server.requests) == 2
    assert reading.answers == read_mistral(stream.data).answers


async def test_a_cut_for_good_reaches_the_user(sdk: Sdk) -> None:
    stream = by_name("chat_mistral_text")
    fault = Fault.fin(after_bytes=len(stream.data) // 2)
    async with FaultServer(Server(stream), [fault]) as server:
        with pytest.raises(seamstream.StreamCutError) as caught:
            await Sdk(sdk.style, NO_MORE).read(server.url, stream)
    assert isinstance(caught.value, httpx2.ReadError)
    assert caught.value.code == "budget_exhausted"

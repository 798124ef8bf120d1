"""The README is true: its Python runs as printed, its commands exist, its links lead somewhere."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import AsyncIterator
from pathlib import Path
from types import CodeType
from typing import Any

import aiohttp
import pytest

import seamstream
from seamstream.testing import Answer, DeterministicModel, Fault, FaultServer, Text, tokens
from tests.house.imports import ROOT

README = ROOT / "README.md"
PROVIDER = "https://api.anthropic.com"
SAID = "Reefs grow where warm, clear water meets the light, slowly and for ever."
REQUEST = {
    "model": "claude-sonnet-4-5",
    "max_tokens": 100,
    "stream": True,
    "messages": [{"role": "user", "content": "How do reefs grow?"}],
}
CUT = Fault.reset(after_text=b"clear")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README.read_text("utf-8"), re.DOTALL | re.MULTILINE)


def compiled(block: str, provider: str) -> CodeType:
    """The block as it would run in a REPL that knows `await`."""
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    code: CodeType = compile(block.replace(PROVIDER, provider), README.name, "exec", flags=flags)
    return code


async def run_block(block: str, provider: str, names: dict[str, Any]) -> None:
    result = eval(compiled(block, provider), names)
    if inspect.isawaitable(result):
        await result


def block_with(text: str) -> str:
    found = [block for block in blocks("python") if text in block]
    assert len(found) == 1
    return found[0]


@pytest.fixture
async def provider() -> AsyncIterator[FaultServer]:
    """A provider whose first answer is reset in the middle."""
    model = DeterministicModel(Answer((Text(tokens(SAID)),)), accepted_flags=("continue_final_message",))
    async with FaultServer(model, [CUT]) as server:
        yield server


@pytest.fixture
def names() -> dict[str, Any]:
    """What the README says the reader has, and what its first block imports."""
    names: dict[str, Any] = {"request": REQUEST, "headers": {}}
    exec("import aiohttp, seamstream", names)
    return names


async def test_a_durable_task_in_ten_lines(
    provider: FaultServer,
    names: dict[str, Any],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    await run_block(block_with("seamstream.tasks import"), provider.url, names)
    assert capsys.readouterr().out.strip() == SAID
    assert len(provider.requests) == 2
    assert provider.requests[0].body["tools"][0]["name"] == "weather"


def text_in(printed: str) -> str:
    return "".join(re.findall(r'"text_delta","text":"(.*?)"', printed))


async def test_the_middleware_saves_the_answer_of_a_stock_client(
    provider: FaultServer, names: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    await run_block(blocks("python")[0], provider.url, names)
    printed = capsys.readouterr().out
    assert text_in(printed) == SAID
    assert printed.count("message_stop") == 2  # the event's name and its data
    assert len(provider.requests) == 2


def test_the_middleware_takes_five_lines() -> None:
    lines = [line for line in blocks("python")[0].splitlines() if line]
    assert len(lines) == 5


async def test_an_sdk_reads_through_it(
    provider: FaultServer, names: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("OPENAI_BASE_URL", f"{provider.url}/v1")
    await run_block(block_with("openai.AsyncOpenAI"), provider.url, names)
    async with names["client"] as client:
        chunks = await client.chat.completions.create(**REQUEST)
        said = [chunk.choices[0].delta.content or "" async for chunk in chunks if chunk.choices]
    assert "".join(said) == SAID


async def test_a_wrapped_sdk_and_an_httpx_client_read_it_whole(
    provider: FaultServer, names: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", provider.url)
    await run_block(block_with("seamstream.wrap("), provider.url, names)
    asked = {name: value for name, value in REQUEST.items() if name != "stream"} | {"model": "any"}
    async with names["client"] as client, client.messages.stream(**asked) as stream:
        assert await stream.get_final_text() == SAID
    async with names["http"] as client:
        response = await client.post(f"{provider.url}/v1/messages", json=REQUEST)
    assert text_in(response.text) == SAID
    assert len(provider.requests) == 3


async def test_a_server_of_ones_own_is_asked_in_its_best_way(
    provider: FaultServer, names: dict[str, Any]
) -> None:
    await run_block(block_with('SERVERS["vllm"]'), provider.url, names)
    url = f"{provider.url}/v1/chat/completions"
    async with (
        aiohttp.ClientSession(middlewares=[names["middleware"]]) as session,
        session.post(url, json=REQUEST) as response,
    ):
        await response.read()
    assert provider.requests[1].body["messages"][-1]["role"] == "assistant"
    assert provider.requests[1].body["continue_final_message"] is True


async def test_observe_mode_shows_the_cut_and_asks_for_nothing(
    provider: FaultServer, names: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO", logger="seamstream"), pytest.raises(aiohttp.ClientPayloadError):
        await run_block(block_with('mode="observe"'), provider.url, names)
    assert len(provider.requests) == 1
    assert any("ConnectionReset" in message for message in caplog.messages)


async def test_typed_events_tell_the_text_and_the_seam(
    provider: FaultServer, names: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    await run_block(block_with("run.turn.outcome.kind"), provider.url, names)
    said, _, told = capsys.readouterr().out.partition("recovered ")
    assert said == SAID
    assert "join='prefill'" in told


async def test_another_process_goes_on(
    provider: FaultServer, names: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    await run_block(block_with("seamstream.take_over("), provider.url, names)
    assert names["run"].turn.text == SAID


async def test_a_reader_comes_back(
    provider: FaultServer,
    names: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    async with aiohttp.ClientSession() as session, seamstream.open_store("sqlite:///runs.db") as backend:
        store = seamstream.BackendCheckpointStore(backend, "acme")
        asked = {"json": REQUEST, "store": store, "run_id": "r8", "replayable": True}
        async with seamstream.stream(session, f"{provider.url}/v1/messages", **asked) as run:
            events = [str(event) async for event in run]
    await run_block(block_with("seamstream.replay("), provider.url, names)
    printed = capsys.readouterr().out.splitlines()
    assert printed[:-1] == events
    assert "kind='recovered'" in printed[-1]


def test_every_python_block_is_run_above() -> None:
    assert len(blocks("python")) == 9


def test_every_command_is_a_target() -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    commands = [line.partition("#")[0].strip() for block in blocks("sh") for line in block.splitlines()]
    assert commands
    assert [command for command in commands if command.removeprefix("make ") not in targets] == []


def test_every_link_leads_to_a_file() -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", README.read_text("utf-8"))
    assert links
    assert [link for link in links if not (ROOT / Path(link)).exists()] == []

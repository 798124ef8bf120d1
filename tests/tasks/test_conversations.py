"""What agents give back to a provider of what it had said beside its text and calls."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from seamstream import ConfigurationError, Profile
from seamstream.recovery.continuation.facts import Dialect
from seamstream.recovery.continuation.known import known_profile
from seamstream.tasks import Agent, ModelTarget, ToolContext, Worker, open_store, tool
from seamstream.tasks.reading import load_task
from seamstream.testing import DeterministicModel, FaultServer, Reply
from seamstream.testing.answer import Answer, Reasoning, Text, Tool, signature_of, signature_of_call, tokens
from tests.tasks.playing import TENANT, stage
from tests.tasks.scripted import says
from tests.tasks.test_agent import ASKS

THOUGHT = "The user wants the lamp on."
ARGUMENTS = {"lamp": "kitchen"}
SPOKEN = Answer(
    (Reasoning(tokens(THOUGHT)), Text(("One moment.",)), Tool("switch", (json.dumps(ARGUMENTS),), "c1"))
)
PLANNED = Answer((Reasoning(tokens(THOUGHT)), Tool("switch", (json.dumps(ARGUMENTS),), "c1")))


@tool(side_effect="none")
async def switch(context: ToolContext, lamp: str) -> str:
    return f"{lamp} is on"


async def second_request(
    dialect: Dialect, first: Answer = SPOKEN, profiles: tuple[Profile, ...] = ()
) -> dict[str, Any]:
    """The request that follows upon a call, which the provider has accepted."""
    script = lambda results: says("Done.") if results else first  # noqa: E731
    async with stage(script, [switch], dialect=dialect, profiles=profiles) as on:
        await on.agent.submit(TENANT, ASKS[dialect])
        [envelope] = await on.worker().drain()
        assert envelope.state == "succeeded"
        [_, request] = on.server.requests
        return dict(json.loads(request.raw_body))


async def test_anthropic_gets_its_signed_thinking_first() -> None:
    [_, said, _] = (await second_request("anthropic"))["messages"]
    assert said["content"] == [
        {"type": "thinking", "thinking": THOUGHT, "signature": signature_of(THOUGHT)},
        {"type": "text", "text": "One moment."},
        {"type": "tool_use", "id": "c1", "name": "switch", "input": ARGUMENTS},
    ]


async def test_bedrock_gets_its_signed_reasoning_first_and_tools_as_it_wants_them() -> None:
    request = await second_request("bedrock")
    [_, said, answered] = request["messages"]
    reasoning = {"text": THOUGHT, "signature": signature_of(THOUGHT)}
    assert said["content"] == [
        {"reasoningContent": {"reasoningText": reasoning}},
        {"text": "One moment."},
        {"toolUse": {"toolUseId": "c1", "name": "switch", "input": ARGUMENTS}},
    ]
    result = {"toolUseId": "c1", "content": [{"text": '"kitchen is on"'}], "status": "success"}
    assert answered == {"role": "user", "content": [{"toolResult": result}]}
    [declared] = request["toolConfig"]["tools"]
    assert declared["toolSpec"]["inputSchema"]["json"]["required"] == ["lamp"]


async def test_gemini_gets_the_signature_of_its_call_and_no_thoughts() -> None:
    [_, said, answered] = (await second_request("gemini"))["contents"]
    call = {"id": "c1", "name": "switch", "args": ARGUMENTS}
    assert said["parts"] == [
        {"text": "One moment."},
        {"functionCall": call, "thoughtSignature": signature_of_call(ARGUMENTS)},
    ]
    told = {"id": "c1", "name": "switch", "response": {"output": '"kitchen is on"'}}
    assert answered == {"role": "user", "parts": [{"functionResponse": told}]}


async def test_ollama_gets_its_thoughts_and_the_tools_name() -> None:
    [_, said, answered] = (await second_request("ollama"))["messages"]
    assert said["thinking"] == THOUGHT
    assert said["tool_calls"] == [{"function": {"name": "switch", "arguments": ARGUMENTS}}]
    assert answered == {"role": "tool", "tool_name": "switch", "content": '"kitchen is on"'}


async def test_cohere_gets_its_plan() -> None:
    [_, said, _] = (await second_request("cohere", PLANNED))["messages"]
    assert said["tool_plan"] == THOUGHT
    assert "content" not in said


@pytest.mark.parametrize("returns", [True, False])
async def test_chat_gets_reasoning_only_where_the_provider_wants_it(returns: bool) -> None:
    profile = Profile(("prompt",), host="127.0.0.1", returns_reasoning=returns)
    [_, said, _] = (await second_request("openai-chat", profiles=(profile,)))["messages"]
    assert said.get("reasoning_content") == (THOUGHT if returns else None)


def test_deepseek_wants_it() -> None:
    assert known_profile("api.deepseek.com", "openai-chat", "deepseek-v4").returns_reasoning
    assert not known_profile("api.openai.com", "openai-chat", "gpt-5").returns_reasoning


def test_a_dialect_that_agents_do_not_speak_is_refused_at_once() -> None:
    with pytest.raises(ConfigurationError, match=r"agents speak .*gemini"):
        ModelTarget("https://generativelanguage.googleapis.com/v1beta/interactions")


async def test_the_model_of_a_url_is_the_tasks_model() -> None:
    async with stage(lambda results: says("Done."), dialect="gemini") as on:
        task = await on.agent.submit(TENANT, ASKS["gemini"])
        assert task.model == on.agent.model.url.rpartition("models/")[2].partition(":")[0] != ""


class Nameless:
    """A server that gives the calls of its first turn these ids."""

    def __init__(self, *ids: str) -> None:
        self.ids = ids
        self.asked: list[dict[str, Any]] = []

    def reply(self, dialect: Dialect, body: dict[str, Any]) -> Reply:
        self.asked.append(body)
        if len(self.asked) > 1:
            return DeterministicModel(says("Done.")).reply(dialect, body)
        answer = Answer(tuple(Tool("switch", (json.dumps(ARGUMENTS),), f"id{at}") for at in range(2)))
        told = DeterministicModel(answer).reply(dialect, body)
        for at, given in enumerate(self.ids):
            told = replace(told, events=[each.replace(b"id%d" % at, given.encode()) for each in told.events])
        return told


@pytest.mark.parametrize("dialect", ["openai-chat", "anthropic"])
@pytest.mark.parametrize(
    ("given", "sent"), [(("", ""), ["call_1_1", "call_1_2"]), (("one", "one"), ["one", "call_1_2"])]
)
async def test_calls_go_back_under_ids_of_their_own(
    dialect: Dialect, given: tuple[str, str], sent: list[str]
) -> None:
    model = Nameless(*given)
    async with FaultServer(model) as server, open_store("memory:") as store:
        target = ModelTarget(server.url_for(dialect), {"model": "test-model"})
        async with Agent(target, [switch], store) as agent:
            await agent.submit(TENANT, ASKS[dialect])
            [envelope] = await Worker(agent, [TENANT]).drain()
    assert envelope.state == "succeeded"
    document = json.dumps(model.asked[-1])
    for call_id in sent:
        assert document.count(json.dumps(call_id)) == 2, "the call and its answer"


async def test_a_worker_of_another_dialect_leaves_the_task() -> None:
    async with stage(lambda results: says("Hello.")) as played:
        task = await played.agent.submit(TENANT, ASKS["openai-chat"])
        other = ModelTarget(played.server.url_for("anthropic"), {"model": "test-model", "max_tokens": 9})
        async with Agent(other, [], played.store) as agent:
            [envelope] = await Worker(agent, [TENANT]).drain()
        waiting = await load_task(played.store, TENANT, task.task_id)
        assert (envelope.state, played.server.requests) == ("waiting", [])
        assert waiting.why == "the task speaks openai-chat, this worker's model anthropic"
        await played.agent.enqueue(TENANT, task.task_id)
        assert [each.state for each in await played.worker().drain()] == ["succeeded"]

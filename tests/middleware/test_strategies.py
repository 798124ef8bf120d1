"""Each way of asking for the rest, through the middleware: what is sent, learnt and recognised."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seamstream import Profile, ProfileBook
from seamstream.recovery.continuation import SERVERS
from seamstream.testing import Answer, DeterministicModel, Fault, Text, differences
from tests.middleware.asking import QUESTION, Asker, Scene
from tests.middleware.test_healing import AT_ONCE

TEXT = "The harbour office opens at six, and the ferry leaves when the tide has turned at last."
ANSWER = Answer((Text((TEXT[:20], TEXT[20:41], TEXT[41:60], TEXT[60:])),))
DEEPSEEK = Profile(("prefix-flag", "prompt"), prefix_path="/beta/chat/completions")
MISTRAL = Profile(("prefix-flag", "prompt"))
VLLM, SGLANG = (replace(SERVERS[name], host="*") for name in ("vllm", "sglang"))
CUT = Fault.reset(after_text=b"leaves")


def model(**fields: Any) -> DeterministicModel:
    return DeterministicModel(ANSWER, accepts_prefill=False, **fields)


async def healed(asker: Asker, scene: Scene, join: str = "prefill") -> dict[str, Any]:
    """The answer is whole, by one more request; returns its body."""
    async with asker.scene(stock=True, model=model()) as unbroken:
        expected = await unbroken.turn()
    assert differences(expected, await scene.turn()) == []
    (outcome,) = scene.runs
    assert (outcome.kind, outcome.plan, outcome.joins) == ("recovered", "R1", (join,))
    last = scene.requests[-1].body
    assert isinstance(last, dict)
    return last


@pytest.mark.parametrize("echoes", [False, True])
@pytest.mark.parametrize("profile", [DEEPSEEK, MISTRAL], ids=["DeepSeek", "Mistral"])
async def test_a_prefix_flag_goes_where_the_profile_says(
    asker: Asker, profile: Profile, *, echoes: bool
) -> None:
    flagged = model(accepted_flags=("prefix",), echoes_prefix=echoes)
    book = {"profiles": ProfileBook([profile])}
    async with asker.scene([CUT], policy=AT_ONCE, model=flagged, middleware=book) as scene:
        sent = await healed(asker, scene, "anchored" if echoes else "prefill")
        assert sent["messages"][-1]["prefix"] is True
        assert TEXT.startswith(sent["messages"][-1]["content"])
        assert sent["messages"][:-1] == QUESTION["messages"]
        assert [exchange.path for exchange in scene.requests] == [
            "/v1/chat/completions",
            profile.prefix_path or "/v1/chat/completions",
        ]


@pytest.mark.parametrize("profile", [VLLM, SGLANG], ids=["vLLM", "SGLang"])
async def test_the_final_message_is_continued(asker: Asker, profile: Profile) -> None:
    fields = dict(profile.continue_fields)
    assert fields["continue_final_message"] is True
    open_template = OpenTemplate(model(accepted_flags=("continue_final_message",)), profile)
    book = {"profiles": ProfileBook([profile])}
    async with asker.scene([CUT], policy=AT_ONCE, model=open_template, middleware=book) as scene:  # type: ignore[arg-type]
        sent = await healed(asker, scene)
    assert {name: sent[name] for name in fields} == fields


class OpenTemplate:
    """SGLang knows no `add_generation_prompt`; vLLM insists that it is off."""

    def __init__(self, inner: DeterministicModel, profile: Profile) -> None:
        self._inner = inner
        self._knows = "add_generation_prompt" in dict(profile.continue_fields)

    def reply(self, dialect: Any, body: dict[str, Any]) -> Any:
        if not self._knows:
            assert "add_generation_prompt" not in body
            body = {**body, "add_generation_prompt": False}
        return self._inner.reply(dialect, body)


@pytest.mark.parametrize("profile", [MISTRAL, VLLM], ids=["prefix-flag", "continue-final-message"])
async def test_a_refused_way_is_remembered_and_the_next_one_tried(asker: Asker, profile: Profile) -> None:
    book = ProfileBook([profile])
    async with asker.scene(
        [CUT, Fault.none(), Fault.none(), CUT], policy=AT_ONCE, model=model(), middleware={"profiles": book}
    ) as scene:
        first, second = await scene.turn(), await scene.turn()
    assert first.text == second.text == TEXT
    assert [exchange.status for exchange in scene.requests] == [200, 400, 200, 200, 200]
    assert [run.joins for run in scene.runs] == [("anchored",)] * 2
    assert {refusal.strategy for refusal in book.export()} == {profile.strategies[0]}


async def test_tools_keep_a_prefix_flag_away(asker: Asker) -> None:
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
    book = {"profiles": ProfileBook([MISTRAL])}
    async with asker.scene([CUT], policy=AT_ONCE, model=model(), middleware=book) as scene:
        assert (await scene.turn(json={**QUESTION, "tools": tools})).text == TEXT
    assert [exchange.status for exchange in scene.requests] == [200, 200]
    assert scene.requests[-1].body["tools"] == tools
    assert "prefix" not in str(scene.requests[-1].body["messages"][-2])


async def test_a_server_that_says_who_it_is_needs_no_profile(asker: Asker) -> None:
    told = replace(CUT, headers={"server": "llama.cpp"})
    continues = model(accepted_flags=("continue_final_message",))
    async with asker.scene([told], policy=AT_ONCE, model=continues) as scene:
        sent = await healed(asker, scene)
    assert sent["continue_final_message"] is True

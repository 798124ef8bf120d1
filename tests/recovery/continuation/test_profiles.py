"""Who accepts which strategy, and what refusals teach."""

from __future__ import annotations

import pytest

from seamstream.recovery.continuation import profiles
from seamstream.recovery.continuation.profiles import LearntRefusal, Profile, ProfileBook, refuses_prefill
from seamstream.recovery.continuation.request import Dialect

DAY_S = 86_400.0


def known(
    book: ProfileBook, dialect: Dialect, model: str, host: str = "h", now: float = 0.0
) -> tuple[str, ...]:
    return book.strategies(host=host, dialect=dialect, model=model, now=now)


@pytest.mark.parametrize(
    "model",
    [
        "claude-opus-4-6",
        "claude-sonnet-4-6-20260101",
        "claude-sonnet-5",
        "claude-opus-5-1",
        "claude-haiku-5-5",
        "claude-mythos-preview",
        "claude-fable-5-1",
        "anthropic/claude-opus-4.6",
        "anthropic.claude-opus-4-7-v1:0",
        "Claude-Opus-4-8",
        "claude-sonnet-10-1",
    ],
)
def test_new_claude_models_refuse_prefill(model: str) -> None:
    assert refuses_prefill(model)
    assert known(ProfileBook(), "anthropic", model) == ("prompt",)


@pytest.mark.parametrize(
    "model",
    [
        "claude-opus-4-5",
        "claude-sonnet-4-5-20250929",
        "claude-haiku-4-5",
        "claude-opus-4-20250514",
        "claude-3-7-sonnet-latest",
        "claude-3-opus-20240229",
        "claude-2.1",
        "local-model",
        "",
    ],
)
def test_older_and_unknown_models_are_tried_with_prefill_first(model: str) -> None:
    assert known(ProfileBook(), "anthropic", model) == ("prefill", "prompt")


def test_unknown_chat_hosts_are_asked_by_prompt() -> None:
    assert known(ProfileBook(), "openai-chat", "gpt-x", "api.example") == ("prompt",)


class TestProfilesOfTheUser:
    LOCAL = Profile(("prefill",), host="127.0.0.1:*", dialect="openai-chat")
    QWEN = Profile(("prefill", "prompt"), host="*", model="Qwen*", done_is_end=True)

    def test_the_first_that_matches_wins(self) -> None:
        book = ProfileBook([self.LOCAL, self.QWEN])
        assert known(book, "openai-chat", "qwen3", "127.0.0.1:8080") == ("prefill",)
        assert known(book, "openai-chat", "qwen3", "api.example") == ("prefill", "prompt")
        assert known(book, "anthropic", "claude-opus-4-6", "127.0.0.1:8080") == ("prompt",)

    def test_a_profile_says_how_the_server_ends(self) -> None:
        book = ProfileBook([self.QWEN])
        assert book.profile(host="h", dialect="openai-chat", model="qwen3").done_is_end
        assert not book.profile(host="h", dialect="openai-chat", model="llama").done_is_end

    def test_brackets_in_a_host_are_no_pattern_of_ours_to_break(self) -> None:
        assert Profile(("prompt",), host="*").matches("[::1]:80", "openai-chat", "m[x]")


class TestLearning:
    def test_a_refusal_holds_for_a_day_for_that_target_model_and_strategy(self) -> None:
        book = ProfileBook()
        book.remember_refusal(host="h", model="m", strategy="prefill", now=100.0)
        assert known(book, "anthropic", "m", now=100.0) == ("prompt",)
        assert known(book, "anthropic", "m", now=100.0 + DAY_S - 1) == ("prompt",)
        assert known(book, "anthropic", "m", now=100.0 + DAY_S) == ("prefill", "prompt")
        assert known(book, "anthropic", "other", now=100.0) == ("prefill", "prompt")
        assert known(book, "anthropic", "m", "other", now=100.0) == ("prefill", "prompt")

    def test_what_was_learnt_can_be_handed_on(self) -> None:
        book = ProfileBook()
        book.remember_refusal(host="h", model="m", strategy="prefill", now=100.0)
        assert book.export() == (LearntRefusal("h", "m", "prefill", 100.0 + DAY_S),)
        other = ProfileBook()
        other.load(book.export())
        assert known(other, "anthropic", "m", now=200.0) == ("prompt",)

    def test_the_memory_is_bounded_and_forgets_the_oldest(self) -> None:
        book = ProfileBook()
        for number in range(profiles.MAX_REMEMBERED + 1):
            book.remember_refusal(host="h", model=f"m{number}", strategy="prefill", now=0.0)
        book.remember_refusal(host="h", model="m1", strategy="prefill", now=5.0)
        assert len(book.export()) == profiles.MAX_REMEMBERED
        assert known(book, "anthropic", "m0") == ("prefill", "prompt")
        assert known(book, "anthropic", "m1") == ("prompt",)
        assert book.export()[-1].model == "m1"

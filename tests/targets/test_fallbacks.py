"""Fallbacks over real sockets: when a run goes to one, what it takes along, and when it comes back."""

from __future__ import annotations

import pytest

from seamstream import AttemptRecord, BackoffPolicy, ConfigurationError, Fallback, RecoveryPolicy
from seamstream.driver.spec import PROCESS_BUDGET
from seamstream.recovery.breaker import FAILURES_IN_A_ROW
from seamstream.testing import Fault, FaultServer
from tests.targets.asking import MODEL, TEXT, ask

AT_ONCE = RecoveryPolicy(backoff=BackoffPolicy(0.0, 1.0, 0.0))
CUT = Fault.reset(after_events=9)
KEY = {"Authorization": "Bearer sk-fallback"}
NOWHERE = "http://127.0.0.1:9/v1/chat/completions"


def to(server: FaultServer, **options: object) -> RecoveryPolicy:
    fallback = Fallback(server.url_for("openai-chat"), KEY, **options)  # type: ignore[arg-type]
    return AT_ONCE.replace(fallbacks=(fallback,))


BAD_STARTS = {
    "overloaded": Fault.http_error(529),
    "unavailable": Fault.http_error(503),
    "asks to be left alone": Fault.http_error(429, {"retry-after": "60"}),
    "asks for longer than allowed": Fault.http_error(429, {"retry-after": "3600"}),
}


@pytest.mark.parametrize("bad", BAD_STARTS.values(), ids=BAD_STARTS.keys())
async def test_a_target_that_does_not_serve_is_left_at_once(surface: str, bad: Fault) -> None:
    async with FaultServer(MODEL, [bad] * 9) as server, FaultServer(MODEL) as other:
        got = await ask(surface, server.url_for("openai-chat"), to(other))
        assert (got.text, got.error) == (TEXT, None)
        assert (len(server.requests), len(other.requests)) == (1, 1)


async def test_one_that_cannot_be_reached_too(surface: str) -> None:
    async with FaultServer(MODEL) as other:
        got = await ask(surface, NOWHERE, to(other))
        assert (got.text, got.error) == (TEXT, None)


async def test_no_secret_of_the_caller_goes_along(surface: str) -> None:
    async with FaultServer(MODEL, [CUT, Fault.http_error(503)]) as server, FaultServer(MODEL) as other:
        got = await ask(surface, server.url_for("openai-chat"), to(other))
        assert (got.text, got.error) == (TEXT, None)
        (moved,) = other.requests
        assert moved.headers["authorization"] == "Bearer sk-fallback"
        assert moved.headers["host"] == other.url.removeprefix("http://")
        assert str(moved.headers).count("sk-") == 1
        assert all("sk-fallback" not in str(exchange.headers) for exchange in server.requests)


async def test_a_lone_cut_stays_with_its_target(surface: str) -> None:
    async with FaultServer(MODEL, [CUT]) as server, FaultServer(MODEL) as other:
        got = await ask(surface, server.url_for("openai-chat"), to(other))
        assert got.text == TEXT
        assert (len(server.requests), len(other.requests)) == (2, 0)


async def test_a_short_wait_is_waited(surface: str) -> None:
    busy = Fault.http_error(429, {"retry-after": "0.05"})
    async with FaultServer(MODEL, [busy]) as server, FaultServer(MODEL) as other:
        got = await ask(surface, server.url_for("openai-chat"), to(other))
        assert got.text == TEXT
        assert (len(server.requests), len(other.requests)) == (2, 0)


async def test_a_run_goes_back_when_its_fallback_fails(surface: str) -> None:
    down = Fault.http_error(503)
    async with FaultServer(MODEL, [down]) as server, FaultServer(MODEL, [down]) as other:
        got = await ask(surface, server.url_for("openai-chat"), to(other))
        assert got.text == TEXT
        assert (len(server.requests), len(other.requests)) == (2, 1)


async def test_an_error_of_the_request_is_no_reason_to_move(surface: str) -> None:
    async with FaultServer(MODEL, [Fault.http_error(400)]) as server, FaultServer(MODEL) as other:
        await ask(surface, server.url_for("openai-chat"), to(other))
        assert (len(server.requests), other.requests) == (1, [])


async def test_new_runs_begin_elsewhere_while_the_breaker_is_open(surface: str) -> None:
    async with FaultServer(MODEL, [Fault.http_error(503)] * 99) as server, FaultServer(MODEL) as other:
        url = server.url_for("openai-chat")
        for _ in range(FAILURES_IN_A_ROW + 3):
            assert (await ask(surface, url, to(other))).text == TEXT
        assert len(server.requests) == FAILURES_IN_A_ROW
        assert len(other.requests) == FAILURES_IN_A_ROW + 3


async def test_another_model_is_asked_before_text_was_shown(surface: str) -> None:
    async with FaultServer(MODEL, [Fault.http_error(503)]) as server, FaultServer(MODEL) as other:
        got = await ask(surface, server.url_for("openai-chat"), to(other, model="m2"))
        assert got.text == TEXT
        assert [exchange.body["model"] for exchange in other.requests] == ["m2"]


async def test_text_is_not_continued_by_another_model(surface: str) -> None:
    async with FaultServer(MODEL, [CUT, Fault.http_error(503)]) as server, FaultServer(MODEL) as other:
        got = await ask(surface, server.url_for("openai-chat"), to(other, model="m2"))
        assert got.text == TEXT
        assert (len(server.requests), other.requests) == (3, [])


async def test_unless_that_is_allowed_and_then_the_seam_says_so(surface: str) -> None:
    async with FaultServer(MODEL, [CUT, Fault.http_error(503)]) as server, FaultServer(MODEL) as other:
        policy = to(other, model="m2").replace(allow_model_change=True)
        got = await ask(surface, server.url_for("openai-chat"), policy)
        assert got.text == TEXT
        (moved,) = other.requests
        assert moved.body["model"] == "m2"
        if surface == "stream":
            (seam,) = got.turn.seams
            assert (seam.model_before, seam.model_after) == ("m", "m2")
            records: tuple[AttemptRecord, ...] = got.turn.attempts
            assert [record.target for record in records] == [server.url, server.url, other.url]


def test_a_fallback_shows_no_secret() -> None:
    fallback = Fallback("https://api.example/v1/chat/completions?key=sk-query", {"x-api-key": "sk-header"})
    policy = RecoveryPolicy(fallbacks=(fallback,))
    assert "sk-" not in repr(fallback) + repr(policy) + repr(fallback.place)
    assert "https://api.example/v1/chat/completions" in repr(policy)


@pytest.mark.parametrize("url", ["api.example/v1", "ftp://api.example/", "https://user:pw@api.example/"])
def test_an_address_that_cannot_be_used_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError) as refusal:
        Fallback(url)
    assert "pw" not in str(refusal.value)


async def test_a_fallback_that_redirects_gives_no_secret_away(surface: str) -> None:
    """Neither its own nor the caller's reach the address that it names."""
    async with FaultServer(MODEL) as third:
        away = Fault.http_error(307, {"location": third.url_for("openai-chat")})
        async with (
            FaultServer(MODEL, [Fault.http_error(503)]) as server,
            FaultServer(MODEL, [away] * 9) as other,
        ):
            await ask(surface, server.url_for("openai-chat"), to(other))
            assert len(other.requests) == 1
        assert "sk-" not in str([exchange.headers for exchange in third.requests])


async def test_a_run_without_a_slot_goes_where_there_is_one(surface: str) -> None:
    async with FaultServer(MODEL, [CUT]) as server, FaultServer(MODEL) as other:
        account = PROCESS_BUDGET.target(server.url)
        taken = 0
        while account.try_acquire():
            taken += 1
        assert taken == 3
        got = await ask(surface, server.url_for("openai-chat"), to(other))
        assert (got.text, got.error) == (TEXT, None)
        assert (len(server.requests), len(other.requests)) == (1, 1)
        for _ in range(taken):
            account.release()
        assert (account.open_streams, PROCESS_BUDGET.target(other.url).recovering) == (0, 0)


async def test_a_fallback_without_room_to_spare_is_asked_only_where_the_target_fails(surface: str) -> None:
    async with FaultServer(MODEL, [CUT, Fault.http_error(503)]) as server, FaultServer(MODEL) as other:
        got = await ask(surface, server.url_for("openai-chat"), to(other, spare=False))
        assert (got.text, got.error) == (TEXT, None)
        assert (len(server.requests), len(other.requests)) == (2, 1)
        account = PROCESS_BUDGET.target(other.url)
        assert (account.guests, account.open_streams, account.recovering) == (0, 0, 0)

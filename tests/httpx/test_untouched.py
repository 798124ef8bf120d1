"""First, do no harm: what a healthy stream, and what is no stream, look like through the transports."""

from __future__ import annotations

import gzip

import pytest

from seamstream import ConfigurationError
from seamstream.httpx import RecoveryTransport, SyncRecoveryTransport
from seamstream.testing import Delivery, Dialect, Fault, FaultServer
from tests.httpx.asking import ASK, AT_ONCE, NO_MORE, SPOKEN, Reader, whole

OBSERVE = AT_ONCE.replace(mode="observe")


@pytest.mark.parametrize("dialect", ["openai-chat", "anthropic"])
async def test_a_healthy_stream_passes_verbatim_on_one_kept_connection(
    reader: Reader, dialect: Dialect
) -> None:
    async with FaultServer(SPOKEN) as server:
        got = await reader.fetch(server.url_for(dialect), AT_ONCE, warm_up=server.url)
        assert got.body == whole(SPOKEN, dialect)
        assert got.outcome.kind == "complete"
        assert len({exchange.connection for exchange in server.requests}) == 1
        assert server.requests[-1].headers["accept-encoding"] == "identity"
        assert server.requests[-1].body == ASK


async def test_the_length_of_one_attempt_is_not_told(reader: Reader) -> None:
    async with FaultServer(SPOKEN, framing="content-length") as server:
        bare = await reader.fetch(server.url_for("openai-chat"), None)
        got = await reader.fetch(server.url_for("openai-chat"), AT_ONCE)
    assert "content-length" in bare.headers
    assert "content-length" not in got.headers
    own = {"content-length", "date", "request-id", "x-request-id"}
    kept = {name: value for name, value in bare.headers.items() if name not in own}
    assert kept.items() <= got.headers.items()


async def test_what_is_no_stream_passes_untouched(reader: Reader) -> None:
    async with FaultServer(SPOKEN) as server:
        plain = ASK | {"stream": False}
        bare = await reader.fetch(server.url_for("openai-chat"), None, json=plain)
        got = await reader.fetch(server.url_for("openai-chat"), AT_ONCE, json=plain)
        other = await reader.fetch(server.url, AT_ONCE, json={"stream": True})
        sent = [exchange.headers for exchange in server.requests]
    assert (got.status, got.body, got.outcomes) == (200, bare.body, [])
    assert "x-seamstream-run-id" not in got.headers
    assert sent[0].items() - sent[1].items() == set()
    assert (other.status, other.outcomes) == (404, [])


async def test_an_error_about_the_request_is_neither_read_nor_retried(reader: Reader) -> None:
    async with FaultServer(SPOKEN, [Fault.http_error(400)]) as server:
        got = await reader.fetch(server.url_for("anthropic"), AT_ONCE)
        assert (got.status, got.body) == (400, bytes(server.requests[0].sent))
        assert len(server.requests) == 1


async def test_a_stream_that_is_compressed_anyway_passes_as_it_is(reader: Reader) -> None:
    async with FaultServer(SPOKEN, delivery=Delivery(gzip="always")) as server:
        got = await reader.fetch(server.url_for("openai-chat"), AT_ONCE)
    assert gzip.decompress(got.body) == whole(SPOKEN, "openai-chat")
    assert got.headers["content-encoding"] == "gzip"
    assert got.outcome.degraded == "the response is compressed"


@pytest.mark.parametrize(
    "fault",
    [Fault.none(), Fault.fin(after_events=5), Fault.clean_end(after_events=5)],
    ids=lambda fault: fault.ending.value,
)
async def test_observing_changes_nothing(reader: Reader, fault: Fault) -> None:
    async with FaultServer(SPOKEN, [fault, fault]) as server:
        bare = await reader.fetch(server.url_for("openai-chat"), None)
        got = await reader.fetch(server.url_for("openai-chat"), OBSERVE)
        assert len(server.requests) == 2
    assert got.body == bare.body
    assert type(got.error) is type(bare.error)
    assert got.outcome.kind == ("complete" if fault == Fault.none() else "truncated")


async def test_a_failure_to_connect_is_observed(reader: Reader) -> None:
    async with FaultServer(SPOKEN) as server:
        url = server.url_for("openai-chat")
    got = await reader.fetch(url, OBSERVE)
    assert type(got.error) is reader.library.ConnectError
    assert got.outcome.kind == "failed"


async def test_a_body_that_can_be_sent_once_is_only_observed(reader: Reader) -> None:
    data = b'{"model":"m","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"Hi."}]}'

    async def pieces():  # type: ignore[no-untyped-def]
        yield data[:20]
        yield data[20:]

    once = pieces() if reader.style == "async" else iter([data[:20], data[20:]])
    async with FaultServer(SPOKEN, [Fault.reset(after_events=3)]) as server:
        json = {"content-type": "application/json"}
        got = await reader.fetch(
            server.url_for("openai-chat"), AT_ONCE, json=None, content=once, headers=json
        )
        assert server.requests[0].raw_body == data
        assert len(server.requests) == 1
    assert type(got.error) is reader.library.ReadError


async def test_off_is_off(reader: Reader) -> None:
    async with FaultServer(SPOKEN, [Fault.reset(after_events=3)]) as server:
        got = await reader.fetch(server.url_for("openai-chat"), NO_MORE.replace(mode="off"))
    assert (type(got.error), got.outcomes) == (reader.library.ReadError, [])


@pytest.mark.parametrize("kind", [RecoveryTransport, SyncRecoveryTransport])
def test_a_transport_of_nobody_is_refused(kind: type) -> None:
    with pytest.raises(ConfigurationError, match="neither httpx2 nor httpx"):
        kind(object())


def test_a_missing_library_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    from seamstream.transports import httpx_module

    def missing(name: str) -> None:
        raise ModuleNotFoundError(name)

    httpx_module.load.cache_clear()
    monkeypatch.setattr(httpx_module.importlib, "import_module", missing)
    with pytest.raises(ConfigurationError, match=r"pip install 'seamstream\[httpx\]'"):
        RecoveryTransport()

"""How bytes are cut into writes and compressed, and what becomes of the connection."""

from __future__ import annotations

import zlib

import pytest

from seamstream.testing import Delivery, DeterministicModel, Ending, Fault, FaultServer

from .conftest import Run
from .raw_client import ASK, Connection, Received, fetch, unchunk, whole


@pytest.mark.parametrize("size", [1, 7, 4096])
def test_writes_have_the_size_that_was_chosen(run: Run, model: DeterministicModel, size: int) -> None:
    async def once() -> Received:
        delivery = Delivery(write_bytes=size)
        async with FaultServer(model, delivery=delivery, connections="close") as server:
            return await fetch(server)

    rest = run(once()).rest
    assert unchunk(rest) == (whole(model), True)
    sizes = [int(line, 16) for line in rest.split(b"\r\n")[:-3:2] if line]
    assert set(sizes[:-2]) <= {size}


def test_several_events_can_share_a_write(run: Run, model: DeterministicModel) -> None:
    async def once() -> Received:
        delivery = Delivery(events_per_write=4)
        async with FaultServer(model, delivery=delivery, connections="close") as server:
            return await fetch(server)

    rest = run(once()).rest
    first = b"".join(model.reply("openai-chat", ASK).events[:4])
    assert rest.startswith(b"%x\r\n%b\r\n" % (len(first), first))


@pytest.mark.parametrize("gzip", ["asked", "always"])
def test_gzip_bodies_can_be_read_event_by_event(run: Run, model: DeterministicModel, gzip: str) -> None:
    async def once() -> tuple[Received, Received]:
        delivery = Delivery(gzip=gzip)  # type: ignore[arg-type]
        async with FaultServer(model, delivery=delivery, connections="close") as server:
            return await fetch(server, more="Accept-Encoding: gzip\r\n"), await fetch(server)

    asked, unasked = run(once())
    body, ended = unchunk(asked.rest)
    assert ended
    assert "content-encoding: gzip" in asked.head
    assert zlib.decompress(body, wbits=31) == whole(model)
    first, _, _ = asked.rest.partition(b"\r\n")
    opening = asked.rest[len(first) + 2 :][: int(first, 16)]
    assert zlib.decompressobj(wbits=31).decompress(opening) == model.reply("openai-chat", ASK).events[0]
    assert ("content-encoding: gzip" in unasked.head) == (gzip == "always")


def test_a_gzip_body_can_be_cut_under_its_true_length(run: Run, model: DeterministicModel) -> None:
    async def once(fault: Fault) -> Received:
        delivery = Delivery(gzip="always")
        async with FaultServer(model, [fault], delivery=delivery, connections="close") as server:
            return await fetch(server)

    whole_body = run(once(Fault(Ending.COMPLETE, framing="content-length")))
    cut_body = run(once(Fault.short_length(after_events=2)))
    length = f"content-length: {len(whole_body.rest)}"
    assert length in whole_body.head
    assert length in cut_body.head
    assert zlib.decompress(whole_body.rest, wbits=31) == whole(model)
    assert len(cut_body.rest) < len(whole_body.rest)


def test_a_connection_is_kept_closed_or_falsely_promised(run: Run, model: DeterministicModel) -> None:
    async def second_on(policy: str) -> str:
        async with FaultServer(model, connections=policy) as server:  # type: ignore[arg-type]
            connection = await Connection.open(server)
            endings = []
            for _ in range(2):
                try:
                    await connection.ask()
                except ConnectionError:
                    endings.append("refused")
                    break
                endings.append((await connection.until(b"0\r\n\r\n")).ended)
            await connection.close()
            return " ".join(endings)

    assert run(second_on("keep")) == "open open"
    assert run(second_on("stale")) == "open fin"
    closing = run(second_on("close"))
    assert closing.startswith("open ")
    assert closing != "open open"

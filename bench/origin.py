"""The provider that the client benchmarks talk to: a bare asyncio server in a process of its own.

The request's `model` says what to send, e.g. "burst 20000 4 0": the client is the same for all cases, and
looks like any program that asks for a chat completion.
"""

from __future__ import annotations

import asyncio
import json
import re
import socket
import struct
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

from bench.payloads import chat_event, words

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
OPENING = chat_event({"role": "assistant", "content": ""})
ENDING = chat_event({}, "stop") + b"data: [DONE]\n\n"
LAST_CHUNK = b"0\r\n\r\n"
RESET_ON_CLOSE = struct.pack("ii", 1, 0)
QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')

were_cut: set[str] = set()


def chunk(data: bytes) -> bytes:
    """One HTTP chunk."""
    return b"%x\r\n%s\r\n" % (len(data), data)


async def burst(writer: asyncio.StreamWriter, _: Any, events: str, per_write: str, gap_us: str) -> None:
    """With a gap between two writes the reader keeps up and a read is a write; without, it is never idle."""
    size = int(per_write)
    deltas = [chat_event({"content": word}) for word in words(64)]
    parts = [chunk(b"".join(deltas[start : start + size])) for start in range(0, len(deltas), size)]
    writer.write(HEAD + chunk(OPENING))
    for sent in range(int(events) // size):
        writer.write(parts[sent % len(parts)])
        due_s = time.perf_counter() + int(gap_us) * 1e-6
        while time.perf_counter() < due_s:
            pass
        if sent % 64 == 0:
            await writer.drain()
    writer.write(chunk(ENDING) + LAST_CHUNK)


async def at_once(writer: asyncio.StreamWriter, _: Any) -> None:
    writer.write(HEAD + chunk(OPENING + chat_event({"content": "yes"})) + chunk(ENDING) + LAST_CHUNK)


async def paced(writer: asyncio.StreamWriter, _: Any, events: str, per_second: str) -> None:
    writer.write(HEAD + chunk(OPENING))
    loop = asyncio.get_running_loop()
    begun_s = loop.time()
    for sent, word in enumerate(words(int(events))):
        await asyncio.sleep(begun_s + sent / int(per_second) - loop.time())
        writer.write(chunk(chat_event({"content": word})))
    writer.write(chunk(ENDING) + LAST_CHUNK)


async def open_ended(writer: asyncio.StreamWriter, _: Any) -> None:
    writer.write(HEAD + chunk(OPENING + chat_event({"content": "yes"})))
    await writer.drain()
    await asyncio.Event().wait()


async def cut_once(writer: asyncio.StreamWriter, body: dict[str, Any], name: str) -> None:
    """Reset the first request of that name; go on after the text that the second one quotes."""
    if name in were_cut:
        were_cut.remove(name)
        quote = json.loads(QUOTED.findall(body["messages"][-1]["content"])[-1])
        text = chat_event({"content": quote}) + chat_event({"content": " and the rest."})
        writer.write(HEAD + chunk(OPENING + text) + chunk(ENDING) + LAST_CHUNK)
        return
    writer.write(HEAD + chunk(OPENING + b"".join(chat_event({"content": word}) for word in words(40))))
    await writer.drain()
    await asyncio.sleep(0.005)  # the reader has seen all of it before the reset
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
    were_cut.add(name)
    writer.close()


CASES: dict[str, Callable[..., Awaitable[None]]] = {
    "burst": burst,
    "at_once": at_once,
    "paced": paced,
    "open_ended": open_ended,
    "cut_once": cut_once,
}


async def read_request(reader: asyncio.StreamReader) -> dict[str, Any] | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    length = re.search(rb"(?i)content-length: *(\d+)", head)
    body: dict[str, Any] = json.loads(await reader.readexactly(int(length[1]) if length else 0))
    return body


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while not writer.is_closing() and (body := await read_request(reader)) is not None:
            case, *arguments = body["model"].split()
            await CASES[case](writer, body, *arguments)
    except ConnectionError:
        pass
    finally:
        writer.close()


async def main() -> None:
    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    watcher = asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)  # ends with the parent
    await watcher


if __name__ == "__main__":
    asyncio.run(main())

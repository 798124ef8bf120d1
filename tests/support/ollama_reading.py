"""Ollama's own client over canned bytes, folded into what answers are compared by."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import ollama

import httpx
from tests.support.cut_state import CutState, OpenCall
from tests.support.ollama_state import read_line
from tests.support.reading import Answer, Reading

ID = ("ollama",)
"""The protocol has no ids; its one reader sees one answer."""


class _Canned(httpx.BaseTransport):
    """Answers every request with the bytes it was given last."""

    body = b""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers={"content-type": "application/x-ndjson"}, content=self.body)


@cache
def _client() -> tuple[ollama.Client, _Canned]:
    canned = _Canned()
    return ollama.Client(host="http://t", transport=canned), canned


def read_ollama(data: bytes) -> Reading:
    """Everything that the client reads; an error line ends the reading."""
    client, canned = _client()
    canned.body = data
    generates = data.startswith(b"{") and b'"response":' in data.split(b"\n", 1)[0]
    stream: Any = (
        client.generate(model="m", prompt="p", stream=True)
        if generates
        else client.chat(model="m", messages=[], stream=True)
    )
    fold, kinds, error = CutState(), list[str](), None
    usage: tuple[int | None, int | None] = (None, None)
    try:
        for part in stream:
            kinds.append("done" if part.done else "part")
            read_line(fold, part.model_dump(exclude_none=True), OpenCall)
            usage = (part.prompt_eval_count, part.eval_count)
    except ollama.ResponseError as failure:
        error = str(failure)
    except json.JSONDecodeError as failure:  # half a line: a client that is told of a broken body drops it
        error = None if generates or not kinds else str(failure)
    answer = Answer(fold.text, "", fold.complete_calls, fold.stops.get(0))
    return Reading((answer,), ID, tuple(kinds), error, usage)

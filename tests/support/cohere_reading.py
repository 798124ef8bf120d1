"""Cohere's own client over canned bytes, folded into what answers are compared by."""

from __future__ import annotations

from functools import cache

import cohere

import httpx
from tests.support.cohere_state import read_event
from tests.support.cut_state import CutState, OpenCall
from tests.support.reading import Answer, Reading


class _Canned(httpx.BaseTransport):
    """Answers every request with the bytes it was given last."""

    body = b""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, content=self.body)


@cache
def _client() -> tuple[cohere.ClientV2, _Canned]:
    canned = _Canned()
    http = httpx.Client(transport=canned)
    return cohere.ClientV2(api_key="none", base_url="http://t", httpx_client=http), canned


def read_cohere(data: bytes) -> Reading:
    """Everything that the client reads."""
    client, canned = _client()
    canned.body = data
    state, blocks, kinds = CutState(), dict[int, OpenCall](), list[str]()
    usage: tuple[int | None, int | None] = (None, None)
    for event in client.chat_stream(model="m", messages=[]):
        kinds.append(event.type)
        document = event.model_dump(exclude_none=True)
        read_event(state, blocks, document, OpenCall)
        if event.type == "message-end":
            tokens = ((document.get("delta") or {}).get("usage") or {}).get("tokens") or {}
            usage = (tokens.get("input_tokens"), tokens.get("output_tokens"))
    answer = Answer(state.text, "", state.complete_calls, state.stops.get(0))
    collapsed = tuple(kind for at, kind in enumerate(kinds) if at == 0 or kinds[at - 1] != kind)
    return Reading((answer,), tuple(state.ids), collapsed, state.error, usage)

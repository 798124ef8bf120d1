"""botocore's own event stream and parser over canned bytes, folded into what answers are compared by."""

from __future__ import annotations

import io
from functools import cache
from typing import Any

import botocore.session
from botocore.eventstream import EventStream
from botocore.exceptions import EventStreamError
from botocore.parsers import EventStreamJSONParser

from tests.support.bedrock_state import read_event
from tests.support.cut_state import CutState, OpenCall
from tests.support.reading import Answer, Reading

ID = ("bedrock",)
"""The protocol has no ids; its one reader sees one answer."""


class _Raw:
    """What botocore gets from urllib3."""

    def __init__(self, data: bytes) -> None:
        self._data = io.BytesIO(data)

    def stream(self) -> Any:
        while chunk := self._data.read(1024):
            yield chunk

    def close(self) -> None:
        self._data.close()


@cache
def _shape() -> Any:
    session = botocore.session.get_session()
    model = session.get_service_model("bedrock-runtime")
    return model.operation_model("ConverseStream").output_shape.members["stream"]


def read_bedrock(data: bytes) -> Reading:
    """Everything that botocore reads; an exception in the stream ends the reading."""
    state, blocks, kinds, error = CutState(), dict[int, OpenCall](), list[str](), None
    usage: tuple[int | None, int | None] = (None, None)
    try:
        for event in EventStream(_Raw(data), _shape(), EventStreamJSONParser(), "ConverseStream"):
            ((kind, payload),) = event.items()
            kinds.append(kind)
            read_event(state, blocks, kind, payload, OpenCall)
            if kind == "metadata":
                usage = (payload["usage"]["inputTokens"], payload["usage"]["outputTokens"])
    except EventStreamError as failure:
        error = str(failure)
    answer = Answer(state.text, "", state.complete_calls, state.stops.get(0))
    collapsed = tuple(kind for at, kind in enumerate(kinds) if at == 0 or kinds[at - 1] != kind)
    return Reading((answer,), ID, collapsed, error, usage)

"""Which response a later request means when it names one by `previous_response_id`.

A response that was asked for anew keeps the first id for its reader, but the provider has the answer under
the last one, so later requests are given that. An answer that was joined from several is nowhere whole at the
provider: going on from any part of it would silently lose the rest, so such a request is refused.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

import orjson

MAX_REMEMBERED: Final = 4096
STITCHED_CODE: Final = "previous_response_stitched"
_KEY: Final = b'"previous_response_id"'


class ResponseIds:
    """The ids that this process has left with its readers in place of others; the oldest are forgotten."""

    def __init__(self, limit: int = MAX_REMEMBERED) -> None:
        self._limit = limit
        self._kept = OrderedDict[str, str | None]()

    def __len__(self) -> int:
        return len(self._kept)

    def remember(self, shown: str, kept: str | None) -> None:
        """The provider has the answer that was `shown` under the id `kept`; None: under none as a whole."""
        if not shown or shown == kept:
            return
        self._kept[shown] = kept
        self._kept.move_to_end(shown)
        if len(self._kept) > self._limit:
            self._kept.popitem(last=False)

    def rewritten(self, body: bytes) -> bytes | None:
        """The request with the provider's own id in it; None when it is to be sent as it is."""
        document, name = self._naming(body)
        kept = self._kept.get(name)
        return None if kept is None else orjson.dumps({**document, "previous_response_id": kept})

    def refusal(self, body: bytes) -> bytes | None:
        """The error body for a request that goes on from an answer which the provider does not have."""
        _, name = self._naming(body)
        if self._kept.get(name, name) is not None:
            return None
        message = (
            f"The response {name!r} was cut and continued, so the provider has it"
            " only in parts. Send the conversation as input items instead of previous_response_id."
        )
        error = {
            "message": message,
            "type": "invalid_request_error",
            "param": "previous_response_id",
            "code": STITCHED_CODE,
        }
        return orjson.dumps({"error": error})

    def _naming(self, body: bytes) -> tuple[dict[str, object], str]:
        """The request and the response that it names; empty if it is none that is known."""
        if not self._kept or _KEY not in body:
            return {}, ""
        try:
            document = orjson.loads(body)
        except orjson.JSONDecodeError:
            return {}, ""
        named = document.get("previous_response_id") if isinstance(document, dict) else None
        return (document, named) if isinstance(named, str) and named in self._kept else ({}, "")

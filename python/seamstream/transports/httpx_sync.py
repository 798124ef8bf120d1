"""The synchronous twin of `httpx.py`: the same upstream, but only a read's own timeout ends a wait."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from typing import Any

from ..effects import Broke, Open, Opened, OpenFailed
from ..recovery.causes import BodyEnd
from .httpx_ends import end_of_body, is_failure_of_transport, may_be_sent_again, note_http2_end
from .httpx_exchange import (
    MAX_ERROR_BODY_BYTES,
    Requests,
    is_stream,
    opened,
    own_connection,
    tells_about_a_retry,
    with_body,
)
from .httpx_module import HttpxModule


class PulledBody:
    """A response's body, chunk by chunk."""

    def __init__(self, response: Any) -> None:
        self.response = response
        self._chunks: Any = response.stream.__iter__()

    def next(self) -> bytes | None:
        """The next chunk, None at the end."""
        for chunk in self._chunks:
            if chunk:  # HTTP/2 has empty frames
                return bytes(chunk)
        return None

    def close(self, *, reuse: bool = False) -> None:
        """Without `reuse` the connection goes too, even if the body came to a proper end: a server that cuts
        an answer short may be about to close it.
        """
        with suppress(Exception):  # a connection that is broken already has nothing more to say
            if isinstance(self._chunks, Generator):
                self._chunks.close()
        with suppress(Exception):
            if not reuse and (connection := own_connection(self.response)) is not None:
                connection.close()
        with suppress(Exception):
            self.response.close()


class ReplayedBody:
    """A body whose beginning was read already."""

    def __init__(self, pieces: list[bytes], rest: PulledBody) -> None:
        self._pieces = pieces
        self._rest = rest

    def __iter__(self) -> Iterator[bytes]:
        yield from self._pieces
        while (chunk := self._rest.next()) is not None:
            yield chunk

    def close(self) -> None:
        self._rest.close(reuse=True)


class SyncHttpxUpstream:
    """The attempts of one run."""

    def __init__(self, module: HttpxModule, send: Callable[[Any], Any], requests: Requests) -> None:
        self._module = module
        self._send = send
        self._requests = requests
        self._body: PulledBody | None = None
        self.response: Any = None

    def open(self, effect: Open) -> Opened | OpenFailed:
        try:
            response = self.response = self._send(self._requests.make(effect))
        except Exception as error:
            if not is_failure_of_transport(error):
                raise
            note_http2_end(error)
            return OpenFailed(error, retryable=may_be_sent_again(error))
        media_types = self._requests.media_types
        if is_stream(response, media_types):
            head = opened(response, media_types)
            self._body = PulledBody(response) if head.stream else None
            return head
        return opened(response, media_types, self._peek(response, effect))

    def read(self) -> bytes | Broke:
        if self._body is None:
            return Broke(BodyEnd.RESET)
        try:
            chunk = self._body.next()
        except Exception as error:
            note_http2_end(error)
            return Broke(end_of_body(error), error)
        return Broke(BodyEnd.CLEAN) if chunk is None else chunk

    def close(self, *, reuse: bool) -> None:
        """With `reuse`, read to the end of the body first, as a reader of the bare transport would."""
        body, response, self._body, self.response = self._body, self.response, None, None
        if body is None:
            if response is not None:
                response.close()
            return
        try:
            if reuse:
                _read_some(body)
        finally:
            body.close(reuse=reuse)

    def abandon(self) -> None:
        """Drop the current attempt at once."""
        if self._body is not None:
            self.close(reuse=False)

    def hand_over(self) -> Any:
        """The current response goes to the reader; from now on it is not ours to close."""
        response, self.response, self._body = self.response, None, None
        return response

    def _peek(self, response: Any, effect: Open) -> bytes:
        """The beginning of an answer that is no stream, or the document that was asked for; left in place for
        whoever gets the response.
        """
        if not tells_about_a_retry(response, effect.attempt):
            return b""
        body = PulledBody(response)
        pieces = _read_some(body, effect.document_bytes or MAX_ERROR_BODY_BYTES)
        replayed = self._module.sync_stream(ReplayedBody)(pieces, body)
        self.response = with_body(self._module, response, replayed)
        return b"".join(pieces)


def _read_some(body: PulledBody, limit_bytes: int = MAX_ERROR_BODY_BYTES) -> list[bytes]:
    """The body's beginning, as far as it comes."""
    pieces: list[bytes] = []
    with suppress(Exception):  # what came before it is what there is to know
        while sum(map(len, pieces)) < limit_bytes and (chunk := body.next()) is not None:
            pieces.append(chunk)
    return pieces

"""boto3 as a run's upstream: botocore signs and sends, urllib3 reads. Only its read timeout ends a wait."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from functools import cache
from typing import Any, Final

from ..effects import Broke, Open, Opened, OpenFailed
from ..errors import AttemptRefusedError, FrameTooLarge, StreamCutError
from ..recovery.causes import BodyEnd
from ..surface import TransportErrors

MAX_ERROR_BODY_BYTES: Final = 65_536
_HOPELESS: Final = frozenset(
    {"ParamValidationError", "NoCredentialsError", "InvalidProxiesConfigError", "SSLError"}
)

_UNANSWERED: Final = frozenset({"HTTPClientError", "ConnectionError"})
"""botocore's errors of connecting are not among those of its HTTP client."""


class SyncBotocoreUpstream:
    """The attempts of one run. `send` makes each one's request and returns botocore's response."""

    def __init__(self, send: Callable[[Open], Any], media_types: Collection[str]) -> None:
        self._send = send
        self._media_types = media_types
        self._chunks: Iterator[bytes] | None = None
        self._raw: Any = None
        """urllib3's response: in botocore's the reader's stream takes its place."""
        self.response: Any = None

    def open(self, effect: Open) -> Opened | OpenFailed:
        if effect.route is not None:
            return elsewhere()
        try:
            response = self.response = self._send(effect)
            self._raw = response.raw
        except Exception as error:
            if not is_failure_of_transport(error):
                raise
            return OpenFailed(error, retryable=may_be_sent_again(error))
        headers = {name.lower(): value for name, value in response.headers.items()}
        if is_stream(response.status_code, headers, self._media_types):
            self._chunks = iter(response.raw.stream())
            return Opened(response.status_code, headers, True)
        # botocore keeps what it has read, so that its own parser finds it again.
        return Opened(response.status_code, headers, False, response.content[:MAX_ERROR_BODY_BYTES])

    def read(self) -> bytes | Broke:
        if self._chunks is None:
            return Broke(BodyEnd.RESET)
        try:
            chunk = next(self._chunks, None)
        except Exception as error:
            return Broke(end_of_body(error), error)
        return Broke(BodyEnd.CLEAN) if chunk is None else chunk

    def close(self, *, reuse: bool) -> None:
        """With `reuse`, read to the end of the body first, so that the connection goes back to its pool."""
        raw, chunks = self._raw, self._chunks
        self.response = self._raw = self._chunks = None
        if raw is None:
            return
        with suppress(Exception):  # a connection that is broken already has nothing more to say
            if reuse and chunks is not None:
                for _ in chunks:
                    pass
            raw.close()

    def abandon(self) -> None:
        self.close(reuse=False)

    def hand_over(self) -> Any:
        """The current response goes to the reader; from now on it is not ours to close."""
        response, self.response, self._raw, self._chunks = self.response, None, None, None
        return response


def elsewhere() -> OpenFailed:
    """The hook wants another URL. The client's credentials are for its own endpoint and no other."""
    reason = "a Bedrock client signs for its own endpoint, so an attempt cannot go to another URL"
    return OpenFailed(AttemptRefusedError(reason), retryable=False, refused=reason)


def is_stream(status: int, headers: dict[str, str], media_types: Collection[str]) -> bool:
    """A success whose body is a stream of such a type."""
    content_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    return 200 <= status < 300 and content_type in media_types


def end_of_body(error: BaseException) -> BodyEnd:
    """How urllib3 says that the body ended."""
    names = {kind.__name__ for link in _with_arguments(error) for kind in type(link).__mro__}
    if names & {"TimeoutError", "ReadTimeoutError"}:
        return BodyEnd.STALLED
    if "InvalidChunkLength" in names:
        return BodyEnd.MALFORMED
    return BodyEnd.SHORT if "IncompleteRead" in names else BodyEnd.RESET


def is_failure_of_transport(error: BaseException) -> bool:
    """The request got no answer, or could not be made; anything else is a bug, and not to be hidden."""
    names = {kind.__name__ for kind in type(error).__mro__}
    return isinstance(error, OSError) or "BotoCoreError" in names


def may_be_sent_again(error: BaseException) -> bool:
    """False where the same request must fail in the same way."""
    names = {kind.__name__ for kind in type(error).__mro__}
    return bool(names & _UNANSWERED) and not names & _HOPELESS


def _with_arguments(error: BaseException) -> Iterator[BaseException]:
    """The exception and those inside it: urllib3 passes what it caught on as an argument."""
    yield error
    for argument in error.args:
        if isinstance(argument, BaseException):
            yield from _with_arguments(argument)


class SyncRaw:
    """What stands for urllib3's response where botocore reads its event stream."""

    def __init__(self, chunks: Any) -> None:
        self._chunks = chunks

    def stream(self) -> Iterator[bytes]:
        """As urllib3 gives them."""
        yield from self._chunks

    def close(self) -> None:
        """The reader leaves."""
        self._chunks.close()


class SyncWatched:
    """urllib3's response as something to look on at."""

    def __init__(self, raw: Any) -> None:
        self.stream = raw.stream()
        self.close = raw.close


@cache
def sync_errors() -> TransportErrors:
    """The classes by which a run ends for good: ours, and those that a reader of boto3 knows."""
    library = importlib.import_module("urllib3.exceptions")

    def mixed(name: str, first: type, second: type) -> Any:
        doc = f"{first.__name__}, for readers who know urllib3's exceptions."
        return type(name, (first, second), {"__module__": __name__, "__doc__": doc})

    return TransportErrors(
        mixed("BotocoreStreamCutError", StreamCutError, library.ProtocolError),
        mixed("BotocoreFrameTooLarge", FrameTooLarge, library.ProtocolError),
        mixed("BotocoreTimeoutError", TimeoutError, library.TimeoutError),
    )

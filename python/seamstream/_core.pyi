"""The Rust core: bytes in, bytes and deltas out. No I/O, no clock.

Objects belong to one stream and one thread.
"""

from typing import Any, Final, Literal, final

__all__ = [
    "DEBUG_BUILD",
    "CoreError",
    "FrameTooLargeError",
    "JsonScanner",
    "Splice",
    "SseDecoder",
    "SseEvent",
    "__version__",
    "bedrock_frame",
]

__version__: Final[str]
DEBUG_BUILD: Final[bool]

class CoreError(Exception):
    """Base of the core's errors. `kind` names the limit or rule, `offset` the byte where it was met."""

    kind: str
    offset: int

class FrameTooLargeError(CoreError):
    """One event is larger than `max_event_bytes`."""

def bedrock_frame(name: str, payload: bytes) -> bytes:
    """One event of an AWS event stream, with its checksums; `payload` is its JSON."""

@final
class SseEvent:
    """One dispatched event of a WHATWG event stream."""

    event: str
    data: str
    id: str

@final
class SseDecoder:
    """WHATWG event-stream framing on bytes; the result does not depend on how the bytes were cut."""

    def __new__(cls, *, max_event_bytes: int = 16_777_216) -> SseDecoder: ...
    def feed(self, chunk: bytes) -> list[SseEvent]: ...
    def finish(self) -> list[SseEvent]:
        """End of input: a pending event whose data is a whole JSON object or `[DONE]` is given, no other."""
    @property
    def last_event_id(self) -> str: ...
    @property
    def retry_ms(self) -> int | None: ...

@final
class JsonScanner:
    """Incremental completeness of one JSON value; constant work per byte, nothing is built."""

    def __new__(cls, *, max_depth: int = 512) -> JsonScanner: ...
    def push(self, data: bytes) -> Literal["complete", "open", "invalid"]: ...
    def finish(self) -> Literal["complete", "open", "invalid"]:
        """End of input: a bare number at the top level is complete only now."""
    @property
    def state(self) -> Literal["complete", "open", "invalid"]: ...
    @property
    def offset(self) -> int | None:
        """Byte offset of the error when invalid."""
    @property
    def depth(self) -> int: ...
    def suffix(self) -> str | None:
        """What makes the open prefix valid JSON, for display only; None when it is invalid."""
    def display_cut(self) -> int:
        """How many bytes of the input the display form keeps (half escapes and half literals are cut off)."""

@final
class Splice:
    """The state machine that owns a run's bytes: feed, cut, resume, finish."""

    def __new__(
        cls,
        dialect: Literal["openai-chat", "openai-responses", "anthropic"],
        *,
        reader: Literal["bytes", "typed"] = "bytes",
        hold_tools: bool = True,
        hold_tools_bytes: int = 4096,
        max_event_bytes: int = 16_777_216,
        max_turn_bytes: int = 67_108_864,
        max_json_depth: int = 512,
        max_parts: int = 4096,
        choices: int = 1,
        done_is_end: bool = False,
    ) -> Splice: ...
    def feed(self, chunk: bytes) -> bytes:
        """Give received bytes; returns what may go to the reader now (the same object when nothing was held).

        Never raises on content: a passed limit sets `degraded` and the stream goes on verbatim. An event
        above `max_event_bytes` ends the attempt (flag 4) with `error` of type `frame_too_large`; what came
        before it is returned as usual.
        """
    def events(self) -> list[tuple[Any, ...]]:
        """Typed events since the last call (reader="typed" only).

        ("text", str), ("reasoning", str), ("refusal", str), ("tool_start", id, name),
        ("tool_delta", id, args), ("tool_ready", id, name, args), ("tool_cancel", id, name, reason),
        ("reset", reason), ("seam", offset, join), ("usage",), ("finish", stop).
        """
    @property
    def flags(self) -> int:
        """0 in steady flow. 1: something is held (see `waiting`); 2: no progress in the last chunk (pings,
        comments, blanks only); 4: the attempt must end now (in-band error or abnormal stop, see `error`);
        8: the answer is proven complete and its end has left (`done`); 16: degraded;
        32: the seam was refused (see `seam_refusal`); 64: the phase is "quiet" or "start"."""
    @property
    def waiting(self) -> Literal["preamble", "seam", "tool", "end", "content"] | None:
        """Why something is held; "content": a call that waited long enough leaves with what comes next."""
    @property
    def phase(self) -> Literal["start", "text", "quiet"]:
        """start: no content yet in this attempt; quiet: reasoning, a call or a server-side item is open."""
    @property
    def progress(self) -> int:
        """Counts events that are progress (not pings, comments, blanks)."""
    @property
    def done(self) -> bool:
        """The dialect's end has been seen (and has left, for a byte reader). Later bytes are ignored."""
    @property
    def terminal_seen(self) -> bool: ...
    @property
    def degraded(self) -> str | None: ...
    @property
    def seam_refusal(self) -> str | None: ...
    @property
    def error(self) -> tuple[str, str, int | None, str, bytes] | None:
        """In-band error of this attempt: (type, code, status, message, raw event)."""
    def expire(self) -> bytes:
        """The driver's hold timer ran out: do not hold any longer. Returns what leaves now."""
    def pending(self) -> bytes:
        """Raw bytes of this attempt that were received and have not left (held events and a half event)."""
    def degrade(self, reason: str) -> bytes:
        """Stop interpreting: from now on bytes pass verbatim. Returns what was pending."""
    def snapshot(self) -> dict[str, Any]:
        """The fields of `seamstream.types.Snapshot` (nested records as tuples in field order)."""
    def cut(self) -> bytes:
        """The attempt is over. A pending event whose data is a whole JSON object or `[DONE]` is taken.

        Returns bytes that may still leave; afterwards `snapshot()` is what the planner wants.
        """
    def resume(
        self,
        plan: Literal["R1", "R3", "R4", "native"],
        *,
        exact: bool = False,
        quote: str = "",
        stripped: str = "",
        strict: bool = True,
        stop: list[str] = ...,
        reason: str = "",
    ) -> bytes:
        """The next attempt begins.

        R1/R3: `exact` for prefill-like strategies, else `quote` is the text whose echo anchors the seam;
        `stripped` are shown blanks that the prefix sent did not carry. R4: the turn is dropped. Returns bytes
        that leave now (closing of an unsigned thinking block). native: the same response goes on behind the
        snapshot's `resume_point`; events read already are dropped, missing ones refuse the seam.
        """
    def finish(self) -> bytes:
        """R0: the closing bytes that are still missing."""
    def synthesize_tool_use(self) -> bytes:
        """R2: held complete calls, the tool-use stop and the end, in the dialect's own form."""
    def finish_length(self) -> bytes:
        """End the turn as `length` without a request."""
    def fail(self) -> bytes:
        """What was received and held, then the provider's own error event if there was one, else nothing."""
    def error_event(self, error_type: str, message: str, status: int | None = None) -> bytes:
        """An error in the dialect's own form, for surfaces that cannot raise (gateway)."""
    def keepalive(self) -> bytes:
        """The dialect's keep-alive: `event: ping` for Anthropic, an SSE comment for OpenAI shapes."""
    def expect_choices(self, choices: int) -> None:
        """How many choices the request asked for, once somebody has read it (never lowers the number)."""
    def _panic_after(self, events: int) -> None:
        """For tests of fail-open: a Rust panic at the n-th event from now."""
    def was_replayed(self) -> None:
        """What was fed was a stored turn and no server's stream: it has no `resume_point`."""
    def last_place(self) -> tuple[str, int, int] | None:
        """The last event of the response at hand: its type, the number of its item, and that of what it is
        about inside that. None in dialects whose responses cannot be asked for as a whole.
        """
    def read_parts(self) -> list[tuple[tuple[int, int], str, str]]:
        """What was read of each part of the response at hand: the number of its item and its own inside that,
        its text, its signature.
        """
    def unsigned_thinking(self) -> list[str]:
        """Thinking that was closed for the reader before its provider had signed it."""
    def seams(self) -> list[tuple[int, str, str, int, bool]]:
        """Seams so far: (offset, plan, join, attempt, whitespace_guess)."""
    def usages(self) -> list[tuple[int | None, int | None, int | None, int | None]]:
        """Per attempt: (input, output, cache_read, cache_write) as reported."""

"""The stored records of durable work: a task, its steps, and within them the turn and its tool calls.

A record changes only by compare-and-set under its owner's `epoch`. `unlogged` are the facts of its last
change that may not be in the ledger yet: whoever goes on with the task writes them there first, so the ledger
misses nothing that a record shows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeVar

import orjson

from ..errors import StoreError
from ..observe.provenance import Span
from ..recovery.digests import digest
from ..stores.encoding import decode_record, encode_record
from ..types import Usage

R = TypeVar("R")

SCHEMA_VERSION: Final = 1

TaskState = Literal["running", "waiting", "waiting_compensation", "succeeded", "terminal_failed", "aborted"]
StepState = Literal["running", "waiting", "succeeded", "failed"]
SideEffect = Literal["none", "idempotent", "compensatable"]
InvocationStatus = Literal["planned", "started", "succeeded", "failed", "unknown"]
Kind = Literal["transport", "resample", "side_effect"]
"""What a "retry" was: getting the rest of an answer, asking the model anew, or touching the world."""

PERSON: Final = "person"
"""Whose decision it was: the `resolution` of a call, and the beginning of the owner's name."""
WAITING: Final[tuple[TaskState, ...]] = ("waiting", "waiting_compensation")
"""States in which no worker looks at a task until somebody puts a job for it into the queue."""
FINAL_STATES: Final[tuple[TaskState, ...]] = ("succeeded", "terminal_failed", "aborted")


@dataclass(frozen=True, slots=True)
class Fact:
    """One event on its way to the ledger. `details` hold ids, counts and codes, never content."""

    id: str
    event: str
    at_s: float
    epoch: int
    step_id: str = ""
    attempt: int = 0
    invocation_id: str = ""
    kind: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FileRef:
    """A file that a step read or made. Times are seconds since the epoch; `checksum` is `sha256:<hex>`."""

    id: str
    order: int
    checksum: str
    produced_at_s: float
    expires_at_s: float | None = None


@dataclass(frozen=True, slots=True)
class SourceRef:
    """A source that was consulted; its order is part of what the model was told."""

    uri: str
    order: int
    retrieved_at_s: float


@dataclass(frozen=True, slots=True)
class ResultRef:
    """A result that is kept as an object; checked on read (`results.py`)."""

    path: str
    checksum: str
    size: int
    expires_at_s: float


@dataclass(frozen=True, slots=True)
class StructuredOutput:
    """The answer as JSON text, with the version of the schema that it was read by."""

    schema_version: str
    value: str


@dataclass(frozen=True, slots=True)
class ToolInvocation:
    """One call of a tool. `id` is unique in the task and the same in every process; `job_id` names long work
    that was submitted; `resolution` says how an unknown outcome was cleared.
    """

    id: str
    call_id: str
    tool_name: str
    arguments: str
    input_hash: str
    side_effect: SideEffect
    attempt: int
    """The attempt of the task whose turn asked for it."""
    signature: str = ""
    """What the provider wants to have back with it."""
    status: InvocationStatus = "planned"
    epoch: int = 0
    """The owner that started it."""
    executions: int = 0
    approved: bool | None = None
    job_id: str | None = None
    result: str | None = None
    """The result as JSON text."""
    result_ref: ResultRef | None = None
    error: str | None = None
    resolution: str | None = None
    manual: bool = False
    """Waits in the manual queue."""

    @property
    def settled(self) -> bool:
        return self.status in ("succeeded", "failed")


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """What the model said in a step: the whole turn of the attempt that succeeded."""

    text: str
    reasoning: str
    stop_reason: str
    final_attempt: int
    usage: Usage
    provenance: tuple[Span, ...] = ()
    signed_thinking: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DurableStep:
    """One run of the model and the tool calls that it led to."""

    task_id: str
    step_id: str
    number: int
    input_digest: str
    epoch: int
    state: StepState = "running"
    turn: TurnRecord | None = None
    tool_calls: tuple[ToolInvocation, ...] = ()
    files: tuple[FileRef, ...] = ()
    sources: tuple[SourceRef, ...] = ()
    structured_output: StructuredOutput | None = None
    why: str = ""
    """Why it failed."""
    unlogged: tuple[Fact, ...] = ()
    schema_version: int = SCHEMA_VERSION

    def invocation(self, invocation_id: str) -> ToolInvocation:
        """The call of that id; StoreError when the step has none."""
        for call in self.tool_calls:
            if call.id == invocation_id:
                return call
        raise StoreError(f"step {self.step_id} of task {self.task_id} has no tool call {invocation_id!r}")


@dataclass(frozen=True, slots=True)
class Task:
    """A piece of durable agent work, and its budget, which no restart gives back.

    `attempts` counts requests to the model over all steps and processes, `step_attempts` those of the current
    step; each one of a step after its first is a recovery.
    """

    tenant: str
    task_id: str
    request: str
    """The body of the first request as JSON text."""
    dialect: str
    model: str
    input_digest: str
    created_at_s: float
    max_steps: int
    max_recoveries: int
    allow_after_start: bool
    tool_names: tuple[str, ...] = ()
    state: TaskState = "running"
    why: str = ""
    epoch: int = 0
    owner: str = ""
    step: int = 0
    attempts: int = 0
    step_attempts: int = 0
    recoveries: int = 0
    final_attempt: int = 0
    output_schema: str = ""
    files: tuple[FileRef, ...] = ()
    sources: tuple[SourceRef, ...] = ()
    origin: str = ""
    """The task that this one tries again."""
    unlogged: tuple[Fact, ...] = ()
    schema_version: int = SCHEMA_VERSION

    @property
    def over(self) -> bool:
        return self.state in FINAL_STATES

    @property
    def mark(self) -> str:
        """Tells the task from others of its id: another tenant's, another store's, one that was forgotten."""
        created = repr(self.created_at_s).encode()
        return digest(self.tenant.encode(), created, self.input_digest.encode())[:12]

    @property
    def remaining_recoveries(self) -> int:
        return max(0, self.max_recoveries - self.recoveries)


@dataclass(frozen=True, slots=True)
class Envelope:
    """What a caller is told about a task. `evidence_ref` names the ledger and its last entry."""

    task_id: str
    final_attempt: int
    state: TaskState
    evidence_ref: str


def encode(record: Task | DurableStep) -> bytes:
    """A record as JSON."""
    return orjson.dumps(encode_record(record))


def decode_task(data: bytes) -> Task:
    """Read a task; StoreError for what this version cannot read."""
    return _decode(Task, data)


def decode_step(data: bytes) -> DurableStep:
    """Read a step; StoreError for what this version cannot read."""
    return _decode(DurableStep, data)


def checksum(data: bytes) -> str:
    """The checksum that records carry."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def _decode(cls: type[R], data: bytes) -> R:
    try:
        fields = orjson.loads(data)
        if fields["schema_version"] != SCHEMA_VERSION:
            found = fields["schema_version"]
            raise StoreError(
                f"a {cls.__name__} has schema version {found}, this version reads {SCHEMA_VERSION}"
            )
        return decode_record(cls, fields)
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(f"a {cls.__name__} cannot be read: {error}") from error

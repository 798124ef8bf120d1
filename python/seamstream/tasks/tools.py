"""Tools that an agent may call, and what each promises about its side effect.

    @tool(side_effect="compensatable", query=find_booking, compensate=cancel_booking)
    async def book(context: ToolContext, hotel: str, nights: int) -> dict: ...

A tool that writes must be able to say afterwards whether it did (`query`) or to undo it (`compensate`), or
its author allows that a person decides (`allow_manual`). It passes `context.idempotency_key` to the service.
`compensate` must also keep out a write that is still under way: a service does that by remembering the key.
"""

from __future__ import annotations

import asyncio
import inspect
import math
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, get_args

from ..errors import ConfigurationError, SeamstreamError
from .plain import clean, described
from .records import FileRef, SideEffect, SourceRef, Task, ToolInvocation
from .schema import check_schema, schema_of

DEFAULT_TIMEOUT_S: Final = 60.0


class ToolFailed(SeamstreamError):
    """Raised by a tool that knows that nothing happened. The model is told the message."""


@dataclass(frozen=True, slots=True)
class Executed:
    """What a query answers about a call that took place."""

    result: Any = None


@dataclass(frozen=True, slots=True)
class NotExecuted:
    """What a query answers about a call that did not take place. `final`: and the service will refuse it
    from now on, should it still arrive.
    """

    final: bool = False


@dataclass(frozen=True, slots=True)
class Pending:
    """What a job's poll answers while the work goes on. `after_s`: when to ask again; ConfigurationError for
    what is no number of seconds.
    """

    after_s: float = 5.0

    def __post_init__(self) -> None:
        if not 0 <= self.after_s < math.inf:
            raise ConfigurationError(f"after_s is a number of seconds, not {self.after_s!r}")


@dataclass(slots=True)
class ToolContext:
    """What a tool knows about its call, and what it leaves behind besides its result."""

    tenant: str
    task_id: str
    invocation_id: str
    call_id: str
    job_id: str | None = None
    mark: str = ""
    """The task's (`records.Task.mark`), which makes the key unique."""
    files: list[FileRef] = field(default_factory=list)
    sources: list[SourceRef] = field(default_factory=list)

    @property
    def idempotency_key(self) -> str:
        """`<task>:<call>:<mark>`: the same for this call in every process, and another one for every other
        call, also of another tenant whose task has the same id.
        """
        return f"{self.task_id}:{self.invocation_id}:{self.mark}"

    def add_file(
        self, file_id: str, checksum: str, *, produced_at_s: float, expires_at_s: float | None = None
    ) -> None:
        """Record a file that the tool made; the order of calls is kept. `checksum`: `records.checksum`.

        TypeError for what no record can hold, as a date where seconds should be.
        """
        expires = None if expires_at_s is None else _seconds(expires_at_s)
        made_at, name = _seconds(produced_at_s), _text(file_id)
        self.files.append(FileRef(name, len(self.files), _text(checksum), made_at, expires))

    def add_source(self, uri: str, *, retrieved_at_s: float) -> None:
        """Record a source that the tool consulted; the order of calls is kept. TypeError as `add_file`."""
        self.sources.append(SourceRef(_text(uri), len(self.sources), _seconds(retrieved_at_s)))


def context_for(task: Task, call: ToolInvocation) -> ToolContext:
    """What a call of this task is told."""
    return ToolContext(task.tenant, task.task_id, call.id, call.call_id, call.job_id, task.mark)


def _text(value: str) -> str:
    wanted: object = value
    if not isinstance(wanted, str):
        raise TypeError(f"text is wanted, not {type(value).__name__}")
    return clean(wanted)


def _seconds(value: float) -> float:
    wanted: object = value
    if not isinstance(wanted, int | float) or not math.isfinite(wanted):
        raise TypeError(f"seconds since the epoch are wanted, not {type(value).__name__}")
    return float(value)


Function = Callable[..., Coroutine[Any, Any, Any]]


async def called(function: Callable[..., Any], *args: Any, **arguments: Any) -> Any:
    """What a function of the user's gives. One that has run without an `await` has run all the same; one that
    would end the process, as by `sys.exit`, has failed with a RuntimeError.
    """
    try:
        answer = function(*args, **arguments)
        return await answer if inspect.isawaitable(answer) else answer
    except (Exception, asyncio.CancelledError, GeneratorExit, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise RuntimeError(f"{type(error).__name__}: {described(error)}") from error


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool. Functions are called with the context, then the arguments by name.

    `job`: the function only submits work and returns its id; `job` is asked until it is done. `parallel`: it
    may run beside other calls of the same turn. `secret`: its arguments must not be stored in clear.
    """

    name: str
    function: Function
    description: str
    parameters: Mapping[str, Any]
    """The JSON schema of the arguments."""
    side_effect: SideEffect
    query: Function | None = None
    compensate: Function | None = None
    job: Function | None = None
    timeout_s: float = DEFAULT_TIMEOUT_S
    parallel: bool = False
    allow_manual: bool = False
    secret: bool = False

    def __post_init__(self) -> None:
        if not self.name:
            raise ConfigurationError("a tool has no name")
        if self.side_effect not in get_args(SideEffect):
            raise ConfigurationError(f"tool {self.name}: no side effect is called {self.side_effect!r}")
        if not self.timeout_s > 0:
            raise ConfigurationError(f"tool {self.name}: timeout must be above 0, not {self.timeout_s!r}")
        check_schema(self.parameters, f"tool {self.name}")
        if self.writes and not (self.query or self.compensate or self.allow_manual):
            raise ConfigurationError(
                f"tool {self.name} has a side effect, but neither query nor compensate: nobody could say what"
                " became of a call that was cut off (allow_manual=True lets a person decide)"
            )
        if self.side_effect == "compensatable" and self.compensate is None:
            raise ConfigurationError(f"tool {self.name} is compensatable, but has no compensate function")

    @property
    def writes(self) -> bool:
        return self.side_effect != "none"


class Toolbox:
    """The tools of an agent, by name."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._tools: dict[str, Tool] = {}
        for each in tools:
            if each.name in self._tools:
                raise ConfigurationError(f"two tools are called {each.name!r}")
            self._tools[each.name] = each

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __bool__(self) -> bool:
        return bool(self._tools)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._tools)

    def get(self, name: str) -> Tool | None:
        return self._tools.get(name)


def tool(
    function: Function | None = None,
    *,
    side_effect: SideEffect,
    name: str | None = None,
    description: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    query: Function | None = None,
    compensate: Function | None = None,
    job: Function | None = None,
    timeout: float = DEFAULT_TIMEOUT_S,
    parallel: bool = False,
    allow_manual: bool = False,
    secret: bool = False,
) -> Any:
    """Make a coroutine function a `Tool`; ConfigurationError for one that could not be recovered.

    `parameters` defaults to a schema of the function's annotations (str, int, float, bool, list, dict).
    `timeout` is in seconds: a write that takes longer has an unknown outcome. See `Tool` for the rest.
    """

    def made(function: Function) -> Tool:
        if not inspect.iscoroutinefunction(function):
            raise ConfigurationError(f"tool {function!r} is no coroutine function")
        return Tool(
            name=name or str(getattr(function, "__name__", "")),
            function=function,
            description=description or inspect.cleandoc(function.__doc__ or ""),
            parameters=schema_of(function) if parameters is None else parameters,
            side_effect=side_effect,
            query=query,
            compensate=compensate,
            job=job,
            timeout_s=timeout,
            parallel=parallel,
            allow_manual=allow_manual,
            secret=secret,
        )

    return made if function is None else made(function)

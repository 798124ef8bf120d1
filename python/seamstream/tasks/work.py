"""One owner's work on one task: step after step, until it is over or must wait.

Everything is decided from the records, so it does not matter which process goes on with them, or where the
one before it died.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import orjson

from ..errors import HttpFailureError, StoreError, StreamCutError
from ..recovery.digests import digest
from ..types import ToolCall, Turn
from .context import context_of
from .hold import Hold, Waits
from .invoking import Invoker, Surroundings
from .journal import TaskJournal
from .ledger import read_ledger
from .model_turn import BudgetSpent, ModelTurn, NoConnection
from .records import DurableStep, Envelope, Fact, StructuredOutput, ToolInvocation
from .requests import Requests
from .schema import problem_of
from .versions import versions_of

if TYPE_CHECKING:
    from .agent import Agent

MAX_OWNERS: Final = 200
"""A task that so many workers have begun with may be what ends them."""
FINISHES: Final = ("end_turn", "stop_sequence")
"""Stop reasons of a turn that is an answer. One that was cut short or filtered is none."""


class TaskWork:
    """Works on the task that `journal` owns."""

    def __init__(self, agent: Agent, journal: TaskJournal, tenant: str, hold: Hold) -> None:
        self._agent = agent
        self._journal = journal
        self._tenant = tenant
        self._hold = hold
        self.streaming = False
        """A request to the model is under way: it may be cut off without harm."""
        around = Surroundings(
            agent.toolbox, tenant, agent.clock, hold, results=agent.results, approve=agent.approve
        )
        self._invoker = Invoker(journal, around)
        self._requests = Requests(agent, journal, tenant)

    @property
    def envelope(self) -> Envelope:
        """What a caller is told now."""
        task = self._journal.task
        return Envelope(task.task_id, task.final_attempt, task.state, self._journal.ledger.reference)

    async def run(self) -> Envelope:
        """Go on until the task is over or waits. Errors of the store end this work, not the task."""
        if self._journal.task.over:
            return self.envelope
        versions = self._journal.fact("worker_versions", **versions_of(self._agent.model.policy))
        await self._journal.change_task(versions, state="running", why="")
        try:
            self._check_owners()
            self._check_dialect()
            self._check_schema()
            while not await self._step():
                self._hold.check_start()
        except Waits as waits:
            await self._wait(waits)
        except (BudgetSpent, NoConnection, StreamCutError, HttpFailureError) as error:
            await self._fail(getattr(error, "code", type(error).__name__), error)
        return self.envelope

    async def abort(self) -> Envelope:
        """End the task for good: find out about writes that were cut off, and close its records."""
        journal = self._journal
        if journal.task.over:
            return self.envelope
        if journal.step is not None and journal.step.state == "running":
            await self._invoker.clear_up()
            await journal.change_step(
                journal.fact("step_failed", why="cancelled"), state="failed", why="cancelled"
            )
        manual = [call.id for call in journal.step.tool_calls if call.manual] if journal.step else []
        fact = journal.fact("task_aborted", step_id="", manual=manual or None)
        await journal.change_task(fact, state="aborted", why="cancelled")
        return self.envelope

    async def hand_over(self) -> None:
        """Leave the task to the next owner."""
        await self._journal.tell(self._journal.fact("task_handed_over", owner=self._journal.task.owner))

    # ---------------------------------------------------------------- a step

    def _check_owners(self) -> None:
        if self._journal.task.epoch > MAX_OWNERS:
            raise BudgetSpent(f"the task has had {MAX_OWNERS} owners")

    def _check_dialect(self) -> None:
        """What was said so far is written as the task's own dialect has it."""
        began, here = self._journal.task.dialect, self._agent.model.dialect
        if began != here:
            raise Waits("waiting", f"the task speaks {began}, this worker's model {here}")

    def _check_schema(self) -> None:
        """A task's output is read by the schema that it began with, or not at all."""
        wanted = self._agent.output.version if self._agent.output is not None else ""
        if wanted != self._journal.task.output_schema:
            began = self._journal.task.output_schema or "none"
            raise Waits("waiting", f"the task's output has schema {began}, this worker's {wanted or 'none'}")

    async def _step(self) -> bool:
        """Bring the current step to its end; True when the task is over with it."""
        step = self._journal.step
        if step is not None and step.state == "failed":
            await self._fail(step.why, None)
            return True
        if step is None or (step.state == "succeeded" and step.tool_calls):
            step = await self._next_step()
        if step.turn is None:
            await self._ask(step)
        else:
            await self._agent.checkpoints(self._tenant).delete(f"{step.task_id}/{step.step_id}")
        step = self._journal.current_step
        if not step.tool_calls:
            await self._finish(step)
            return True
        await self._call_tools()
        return False

    async def _next_step(self) -> DurableStep:
        task = self._journal.task
        number = 1 if self._journal.step is None else self._journal.step.number + 1
        if number > task.max_steps:
            raise BudgetSpent(f"all {task.max_steps} steps of the task are used")
        document = await self._requests.document(number)
        input_digest = digest(orjson.dumps(document))
        step = DurableStep(task.task_id, str(number), number, input_digest, task.epoch)
        began = self._journal.fact("step_started", step_id=step.step_id, input_digest=step.input_digest)
        await self._journal.begin_step(step, began)
        return self._journal.current_step

    async def _ask(self, step: DurableStep) -> None:
        """Have the model answer; its turn is durable before its checkpoint goes."""
        document = await self._requests.document(step.number)
        if digest(orjson.dumps(document)) != step.input_digest:
            raise Waits("waiting", "this worker would send another request than the step began with")
        headers = await self._agent.model.headers(self._tenant)
        if headers is None:
            raise Waits("waiting", "there is no credential")
        self._hold.check_start()
        agent = self._agent
        checkpoints = agent.checkpoints(self._tenant)
        turn = ModelTurn(self._journal, agent.model, agent.session, checkpoints, agent.clock, agent.on_event)

        async def keep(said: Turn) -> None:
            await self._keep(turn, said)

        self.streaming = True
        try:
            await turn.run(document, headers, keep)
        finally:
            self.streaming = False

    async def _keep(self, model_turn: ModelTurn, said: Turn) -> None:
        record = model_turn.books.record_of(said)
        calls = tuple(
            self._planned(call, at, record.final_attempt) for at, call in enumerate(said.tool_calls, 1)
        )
        planned = [self._plan_fact(call) for call in calls]
        await self._journal.change_step(
            *model_turn.books.bills(said.attempts), *planned, turn=record, tool_calls=calls
        )

    def _plan_fact(self, call: ToolInvocation) -> Fact:
        name, hashed = call.tool_name, call.input_hash
        return self._journal.fact("tool_planned", invocation=call, tool_name=name, input_hash=hashed)

    def _planned(self, call: ToolCall, at: int, attempt: int) -> ToolInvocation:
        tool = self._agent.toolbox.get(call.name)
        return ToolInvocation(
            id=f"{self._journal.current_step.step_id}-{at}",
            call_id=call.id,
            tool_name=call.name,
            arguments=call.arguments,
            input_hash=digest(call.name.encode(), call.arguments.encode("utf-8", "surrogatepass")),
            side_effect="none" if tool is None else tool.side_effect,
            attempt=attempt,
            signature=call.signature,
        )

    async def _call_tools(self) -> None:
        calls = await self._invoker.run()
        if any(call.manual for call in calls):
            raise Waits("waiting_compensation", "a tool call's outcome is unknown")
        if not all(call.settled for call in calls):
            raise Waits("waiting", "a tool call is not approved yet")
        succeeded = self._journal.fact("step_succeeded", **context_of(self._journal.current_step))
        await self._journal.change_step(succeeded, state="succeeded")

    # ---------------------------------------------------------------- how it ends

    async def _finish(self, step: DurableStep) -> None:
        journal, turn = self._journal, step.turn
        if turn is None:
            raise StoreError(f"step {step.step_id} of task {step.task_id} has no turn")
        if turn.stop_reason not in FINISHES:
            await self._fail(f"stopped:{turn.stop_reason}", None)
            return
        output, problem = self._output(turn.text)
        if problem is not None:
            await self._fail("output_does_not_fit", None, detail=problem)
            return
        if step.state == "running":
            succeeded = journal.fact("step_succeeded", **context_of(step, output))
            await journal.change_step(succeeded, state="succeeded", structured_output=output)
        steps = [str(number) for number in range(1, step.number + 1)]
        done = journal.fact(
            "workflow_succeeded",
            attempt=turn.final_attempt,
            step_id="",
            final_attempt=turn.final_attempt,
            step_ids=steps,
            cost=await self._cost(),
        )
        await journal.change_task(done, state="succeeded", final_attempt=turn.final_attempt)

    async def _cost(self) -> float | None:
        """What all attempts have cost so far; None when no price is known."""
        entries = await read_ledger(self._journal.backend, self._tenant, self._journal.task.task_id)
        costs = [entry.details["cost"] for entry in entries if "cost" in entry.details]
        return sum(costs) if costs else None

    def _output(self, text: str) -> tuple[StructuredOutput | None, str | None]:
        """The structured output, and why there is none where there should be."""
        wanted = self._agent.output
        if wanted is None:
            return None, None
        try:
            value = orjson.loads(text)
        except orjson.JSONDecodeError as error:
            return None, f"the answer is no JSON: {error}"
        problem = problem_of(wanted.schema, value)
        return StructuredOutput(wanted.version, text), problem

    async def _wait(self, waits: Waits) -> None:
        fact = self._journal.fact("task_waiting", state=waits.state, why=waits.why)
        await self._journal.change_task(fact, state=waits.state, why=waits.why)

    async def _fail(self, code: str, error: Exception | None, *, detail: str = "") -> None:
        journal = self._journal
        if journal.step is not None and journal.step.state == "running":
            await journal.change_step(journal.fact("step_failed", why=code), state="failed", why=code)
        fact = journal.fact("task_failed", step_id="", why=code)
        message = detail or (str(error) if error is not None else "")
        await journal.change_task(
            fact, state="terminal_failed", why=f"{code}: {message}" if message else code
        )

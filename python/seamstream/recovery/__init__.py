"""Pure decisions about a broken stream: no I/O, no clock, no event loop."""

from .backoff import WaitDecision, decide_wait
from .budget import BudgetRefusal, RunBudget
from .causes import BodyEnd, cause_of_end, cause_of_error
from .classify import FailureClass, classify_http, classify_in_band, network_failure
from .digests import content_digest, digest
from .error_codes import FailureKind
from .planner import Decision, make_plan
from .policy import BackoffPolicy, RecoveryPolicy
from .retry_after import RetryHint, read_retry_hint
from .retry_budget import RetryBudget, TargetBudget
from .states import RunInput, RunMachine, RunState, closed_gate

__all__ = [
    "BackoffPolicy",
    "BodyEnd",
    "BudgetRefusal",
    "Decision",
    "FailureClass",
    "FailureKind",
    "RecoveryPolicy",
    "RetryBudget",
    "RetryHint",
    "RunBudget",
    "RunInput",
    "RunMachine",
    "RunState",
    "TargetBudget",
    "WaitDecision",
    "cause_of_end",
    "cause_of_error",
    "classify_http",
    "classify_in_band",
    "closed_gate",
    "content_digest",
    "decide_wait",
    "digest",
    "make_plan",
    "network_failure",
    "read_retry_hint",
]

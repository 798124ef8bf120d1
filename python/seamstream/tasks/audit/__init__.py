"""The audit of a task: four answers, nine rows of acceptance, and alarms, from its records and its ledger."""

from .auditing import audit
from .formats import as_json, as_junit, as_text
from .release import (
    Drill,
    Provider,
    RecoveryDecision,
    Release,
    ReleaseError,
    load_release,
    read_release,
)
from .report import Alarm, Answer, Audit, Note, Row

__all__ = [
    "Alarm",
    "Answer",
    "Audit",
    "Drill",
    "Note",
    "Provider",
    "RecoveryDecision",
    "Release",
    "ReleaseError",
    "Row",
    "as_json",
    "as_junit",
    "as_text",
    "audit",
    "load_release",
    "read_release",
]

"""Durable agent work on any store: tasks, steps, tools that run once, a ledger, and workers that take over.

Optional: `import seamstream` does not import this package.
"""

from ..stores.cipher import Cipher
from ..stores.encrypted import EncryptedBackend
from ..stores.url import open_store
from .agent import Agent, OutputSchema
from .invoking import Approval
from .ledger import Entry, read_ledger
from .prices import Price
from .records import (
    DurableStep,
    Envelope,
    FileRef,
    ResultRef,
    SourceRef,
    StructuredOutput,
    Task,
    ToolInvocation,
    TurnRecord,
    checksum,
)
from .results import ResultStore
from .target import ModelTarget
from .tools import Executed, NotExecuted, Pending, Tool, ToolContext, ToolFailed, tool
from .worker import Worker

__all__ = [
    "Agent",
    "Approval",
    "Cipher",
    "DurableStep",
    "EncryptedBackend",
    "Entry",
    "Envelope",
    "Executed",
    "FileRef",
    "ModelTarget",
    "NotExecuted",
    "OutputSchema",
    "Pending",
    "Price",
    "ResultRef",
    "ResultStore",
    "SourceRef",
    "StructuredOutput",
    "Task",
    "Tool",
    "ToolContext",
    "ToolFailed",
    "ToolInvocation",
    "TurnRecord",
    "Worker",
    "checksum",
    "open_store",
    "read_ledger",
    "tool",
]

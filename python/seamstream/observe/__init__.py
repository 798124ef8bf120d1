"""What a program can see of its runs: one port, and one optional sink per file."""

from .hooks import Notice, Record, RunEvent, Sink, Sinks
from .provenance import Span

__all__ = ["Notice", "Record", "RunEvent", "Sink", "Sinks", "Span"]

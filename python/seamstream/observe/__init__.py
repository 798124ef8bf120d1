"""What a program can see of its runs: one port, and one optional sink per file."""

from .hooks import Notice, Record, RunEvent, Sink, Sinks
from .spans import Span, provenance

__all__ = ["Notice", "Record", "RunEvent", "Sink", "Sinks", "Span", "provenance"]

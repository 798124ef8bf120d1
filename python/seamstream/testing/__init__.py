"""Public test tools: a model with a script, a server that really breaks, a clock that tests move."""

from ..recovery.continuation.facts import Dialect
from .answer import Answer, Reasoning, Refusal, ServerTool, Text, Tool, signature_of, tokens
from .clock import FakeClock
from .equality import differences, read_turn, salvaged
from .exchange import Exchange
from .fault_server import FaultServer
from .faults import Ending, Fault, Framing
from .model import DeterministicModel, Reply
from .personas import Persona
from .render import render
from .render_options import RenderOptions
from .retry_headers import retry_headers
from .sender import Delivery
from .turn_parts import Call, ReadTurn

__all__ = [
    "Answer",
    "Call",
    "Delivery",
    "DeterministicModel",
    "Dialect",
    "Ending",
    "Exchange",
    "FakeClock",
    "Fault",
    "FaultServer",
    "Framing",
    "Persona",
    "ReadTurn",
    "Reasoning",
    "Refusal",
    "RenderOptions",
    "Reply",
    "ServerTool",
    "Text",
    "Tool",
    "differences",
    "read_turn",
    "render",
    "retry_headers",
    "salvaged",
    "signature_of",
    "tokens",
]

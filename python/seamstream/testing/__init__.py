"""Public test tools: a model with a script, a server that really breaks, a clock that tests move."""

from .answer import Answer, Reasoning, Refusal, ServerTool, Text, Tool, signature_of, tokens
from .model import DeterministicModel, Reply
from .personas import Persona
from .render import render
from .render_options import Dialect, RenderOptions

__all__ = [
    "Answer",
    "DeterministicModel",
    "Dialect",
    "Persona",
    "Reasoning",
    "Refusal",
    "RenderOptions",
    "Reply",
    "ServerTool",
    "Text",
    "Tool",
    "render",
    "signature_of",
    "tokens",
]

"""The forms of all dialects, by name and by path."""

from __future__ import annotations

from typing import Final

from ..facts import Dialect
from .anthropic import AnthropicForm
from .base import RequestForm
from .bedrock import BedrockForm
from .chat import ChatForm
from .cohere import CohereForm
from .gemini import GeminiForm
from .interactions import InteractionsForm
from .ollama import OllamaForm
from .responses import ResponsesForm

FORMS: Final[tuple[RequestForm, ...]] = (
    ChatForm(),
    ResponsesForm(),
    AnthropicForm(),
    GeminiForm(),
    OllamaForm(),
    CohereForm(),
    BedrockForm(),
    InteractionsForm(),
)
_BY_NAME: Final[dict[str, RequestForm]] = {form.name: form for form in FORMS}


def form_of(dialect: Dialect) -> RequestForm:
    """The form of that dialect's requests."""
    return _BY_NAME[dialect]


def recognised(path: str) -> RequestForm | None:
    """The form of a request with this path, None if it is none of ours."""
    return next((form for form in FORMS if form.recognises(path)), None)

"""All streams of the corpus, in one order."""

from __future__ import annotations

from tests.corpus import (
    anthropic_text,
    anthropic_tools,
    bedrock_streams,
    chat_odd,
    chat_text,
    chat_tools,
    chat_variants,
    cohere_streams,
    gemini_streams,
    interactions_streams,
    ollama_streams,
    responses_text,
    responses_tools,
)
from tests.corpus.stream import CorpusStream

STREAMS: tuple[CorpusStream, ...] = tuple(
    stream
    for module in (
        chat_text,
        chat_tools,
        chat_odd,
        chat_variants,
        responses_text,
        responses_tools,
        anthropic_text,
        anthropic_tools,
        gemini_streams,
        ollama_streams,
        cohere_streams,
        bedrock_streams,
        interactions_streams,
    )
    for stream in module.streams()
)


def by_name(name: str) -> CorpusStream:
    return next(stream for stream in STREAMS if stream.name == name)

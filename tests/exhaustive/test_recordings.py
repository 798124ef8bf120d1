"""The streams of real providers through the same suite: cut at every event boundary, ten of them at every
byte.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.corpus import CorpusStream
from tests.exhaustive.cut import ANYWHERE, BOUNDARY_ONLY, Cut
from tests.exhaustive.sweep import cut_at, main_cuts, sweep
from tests.support.recordings import require_recordings, whole_recordings
from tests.support.wire import boundaries

pytestmark = [pytest.mark.exhaustive, pytest.mark.timeout(600)]

EVERY_BYTE = (
    "alibaba--alibaba-tool-call",
    "anthropic--anthropic-clear-tool-uses.1",
    "anthropic--anthropic-json-tool.1",
    "anthropic--anthropic-mcp.1",
    "anthropic--anthropic-refusal",
    "anthropic--anthropic-text",
    "cohere--cohere-reasoning",
    "google--google-stream-no-args-tool-call",
    "google--google-tool-call",
    "google--tool-call-step1",
    "groq--groq-tool-call",
    "mistral--mistral-text",
    "azure--azure-tool-call.1",
    "open-responses--lmstudio-tool-call.2",
    "openai--azure-model-router.1",
    "openai--openai-apply-patch-tool.1",
    "openai--openai-shell-container-multiturn.1",
    "openai--programmatic-tool-calling.1",
    "xai--xai-tool-call",
)
PROVIDERS = {
    "amazon-bedrock",
    "alibaba",
    "anthropic",
    "azure",
    "cohere",
    "deepseek",
    "google",
    "groq",
    "mistral",
    "moonshotai",
    "open-responses",
    "openai",
    "openai-compatible",
    "perplexity",
    "xai",
}


LONG_EVENTS = 150
SDK_EVERY = 50
"""An SDK takes up to 0.3 s for one output of a long recording, so there it judges every fiftieth."""


def _boundary_cuts(stream: CorpusStream) -> Iterator[Cut]:
    """Every boundary once, with causes and ways of asking in turn; an error event is one of them."""
    causes = (*ANYWHERE, BOUNDARY_ONLY)
    for turn, offset in enumerate([0, *boundaries(stream.data)[:-1]]):
        rotated = cut_at(turn)
        yield Cut(offset, causes[turn % len(causes)], rotated.strategy, rethinks=rotated.rethinks)
        if turn % 7 == 0:
            yield Cut(offset, causes[turn % len(causes)], rotated.strategy, reader="typed")


def test_every_provider_of_these_dialects_is_there() -> None:
    require_recordings()
    assert {stream.name.split("--")[0] for stream in whole_recordings()} >= PROVIDERS


@pytest.mark.parametrize("stream", whole_recordings(), ids=str)
def test_a_cut_at_every_event_boundary(stream: CorpusStream) -> None:
    events = len(boundaries(stream.data))
    sdk_every = SDK_EVERY if events > LONG_EVENTS else 1
    verdicts = sweep(stream, _boundary_cuts(stream), sdk_every=sdk_every)
    assert sum(verdicts.values()) >= events


@pytest.mark.parametrize("name", EVERY_BYTE)
def test_a_cut_at_every_byte(name: str) -> None:
    require_recordings()
    stream = next(each for each in whole_recordings() if each.name == name)
    assert sum(sweep(stream, main_cuts(stream)).values()) == len(stream.data)

"""The streams of real providers through the same suite: cut at every event boundary, ten of them at every
byte.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from seamstream._core import Splice
from tests.corpus import STREAMS, CorpusStream
from tests.exhaustive.cut import ANYWHERE, BOUNDARY_ONLY, Cut
from tests.exhaustive.judge import keeps_grammar
from tests.exhaustive.sweep import cut_at, main_cuts, sweep
from tests.support.recordings import (
    BROKEN,
    FOLDER,
    broken_recordings,
    recordings,
    require_recordings,
    whole_recordings,
)
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
ODD = {
    "amazon-bedrock--amazon-bedrock-json-only-text-first.1",
    "amazon-bedrock--amazon-bedrock-json-other-tool.1",
    "amazon-bedrock--amazon-bedrock-json-tool-text-then-weather-then-json.1",
    "amazon-bedrock--amazon-bedrock-json-tool.1",
    "amazon-bedrock--amazon-bedrock-json-tool.3",
    "amazon-bedrock--amazon-bedrock-tool-call.1",
}
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


def test_every_recording_is_there() -> None:
    require_recordings()
    assert {stream.name.partition("#")[0] for stream in recordings()} == {
        path.stem for path in FOLDER.glob("*.jsonl")
    }
    assert {stream.name for stream in broken_recordings()} == set(BROKEN)


def test_few_recordings_break_their_providers_grammar() -> None:
    """Published without their first event, or with the usage before the stop."""
    streams = (*STREAMS, *whole_recordings())
    odd = {stream.name for stream in streams if not keeps_grammar(stream.dialect, stream.data)}
    assert odd <= ODD


@pytest.mark.parametrize("stream", broken_recordings(), ids=str)
def test_what_is_no_whole_answer_is_not_made_worse(stream: CorpusStream) -> None:
    """Wherever it ends, its reader has a beginning of what was sent, and an error of the provider's whole."""
    for offset in (*boundaries(stream.data), len(stream.data)):
        splice = Splice(stream.dialect, reader="bytes")
        out = splice.feed(stream.data[:offset]) + splice.cut()
        assert stream.data[:offset].startswith(out), offset
        told = splice.error
        assert told is None or told[4] in stream.data, offset


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

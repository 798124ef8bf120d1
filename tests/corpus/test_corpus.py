"""The corpus is what the suites claim: valid, distinct, large enough, read alike by two readers."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from seamstream.recovery.continuation.dialects import FORMS
from tests.corpus import STREAMS, CorpusStream, by_name, prose
from tests.corpus.chat_tools import NOTE_ARGUMENTS, TABLE_ARGUMENTS
from tests.corpus.stream import choices_of
from tests.support.cut_state import state_of
from tests.support.turns import Answer, turn_of

WRITTEN = {
    "chat_text_long": prose.LONG,
    "chat_text_escapes": prose.ESCAPES,
    "chat_crlf_no_space": prose.EMOJI_CJK,
    "chat_cr_only": prose.EMOJI_CJK,
    "anthropic_text_code": prose.CODE,
    "anthropic_text_repeats": prose.REPEATS,
    "anthropic_thinking_text": prose.PLAIN,
}


def test_all_dialects_and_enough_bytes() -> None:
    counts = Counter(stream.dialect for stream in STREAMS)
    assert set(counts) == {form.name for form in FORMS}
    assert min(counts.values()) >= 8
    assert len({stream.name for stream in STREAMS}) == len(STREAMS)
    assert len({stream.data for stream in STREAMS}) == len(STREAMS)
    assert sum(len(stream.data) for stream in STREAMS) >= 100_000


@pytest.mark.parametrize("name", WRITTEN)
def test_the_sdk_reads_the_text_that_was_written(name: str) -> None:
    stream = by_name(name)
    assert turn_of(stream.dialect, stream.data).answer.text == WRITTEN[name]


@pytest.mark.parametrize("name", ["chat_tool_parallel", "anthropic_tool_parallel"])
def test_the_sdk_reads_the_calls_that_were_written(name: str) -> None:
    stream = by_name(name)
    calls = turn_of(stream.dialect, stream.data).answer.calls
    assert calls == (("tide_table", TABLE_ARGUMENTS), ("log_note", NOTE_ARGUMENTS), ("now", "{}"))
    assert all(json.loads(arguments) is not None for _, arguments in calls)


@pytest.mark.parametrize("stream", STREAMS, ids=str)
def test_the_sdk_and_the_small_reader_agree(stream: CorpusStream) -> None:
    reading, state = turn_of(stream.dialect, stream.data), state_of(stream.dialect, stream.data)
    assert reading.error is None
    assert len(reading.ids) == 1
    assert len(reading.answers) == len(state.stops) == choices_of(stream)
    if len(reading.answers) == 1:
        assert reading.answer == Answer(state.text, state.refusal, state.complete_calls, state.stops[0])

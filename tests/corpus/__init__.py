"""Recorded-shape streams of both dialects, written for these tests; no conversation in them is real."""

from tests.corpus.registry import STREAMS, by_name
from tests.corpus.stream import CorpusStream

__all__ = ["STREAMS", "CorpusStream", "by_name"]

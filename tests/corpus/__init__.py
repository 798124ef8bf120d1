"""Recorded-shape streams of both dialects, written for these tests; nothing in them is a real conversation."""

from tests.corpus.registry import STREAMS, by_name
from tests.corpus.stream import CorpusStream

__all__ = ["STREAMS", "CorpusStream", "by_name"]

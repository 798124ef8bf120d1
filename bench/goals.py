"""The numbers to reach, and how each is taken from the results; what was measured never stands here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bench.results import Results, p99


@dataclass(frozen=True)
class Goal:
    """One line of the table: `measured` must be `relation` the bound."""

    what: str
    relation: str
    bound: float
    unit: str
    measured: Callable[[Results], float]

    def is_met(self, value: float) -> bool:
        return value >= self.bound if self.relation == "≥" else value <= self.bound


TURN_CHAT = "turn, openai-chat, 1,400-byte reads"
TURN_ANTHROPIC = "turn, anthropic, 1,400-byte reads"

GOALS = (
    Goal("chat: bytes to turn, against split + msgspec by hand", "≥", 4, "x faster",
         lambda results: results.times_faster(TURN_CHAT, "by hand")),
    Goal("chat: bytes to turn, against openai-python", "≥", 400, "x faster",
         lambda results: results.times_faster(TURN_CHAT, "sdk")),
    Goal("Anthropic: bytes to turn, against anthropic", "≥", 200, "x faster",
         lambda results: results.times_faster(TURN_ANTHROPIC, "sdk")),
    Goal("tool arguments 1 KB to 1 MB, growth of the cost per delta", "≤", 1.2, "x",
         lambda results: results.growth("arguments, 1000 KB", "arguments, 1 KB")),
    Goal("typed stream end to end, CPU against AsyncOpenAI", "≥", 4.5, "x less",
         lambda results: results.times_faster("typed stream", "AsyncOpenAI")),
    Goal("middleware against plain aiohttp, CPU, one event a read", "≤", 1.2, "x",
         lambda results: results.times_slower("client, one event a read", "bare")),
    Goal("middleware against plain aiohttp, CPU, four events a read", "≤", 1.1, "x",
         lambda results: results.times_slower("client, four events a read", "bare")),
    Goal("added time to first token, p99", "≤", 1, "ms",
         lambda results: results.added_p99_ms("first token")),
    Goal("10,000 open streams: lost", "≤", 0, "streams", Results.lost_streams),
    Goal("10,000 open streams: added resident memory", "≤", 32, "KiB a stream", Results.kib_a_stream),
    Goal("from a lost connection to the next request on the wire, p99", "≤", 2, "ms",
         lambda results: p99(results.readings["reconnect"]["seamstream"])),
)  # fmt: skip

NOT_MEASURED = (
    "LiteLLM's accumulator and the LiteLLM proxy, which are not among the development packages",
    "the gateway, which is not built yet",
)

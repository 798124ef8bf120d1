"""What an attempt cost, by a price table that the user gives: nothing here knows a price."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from ..types import Usage

_CACHE_BESIDE_INPUT: Final = frozenset({"anthropic", "bedrock"})
"""Dialects whose input counter leaves out what was read from a cache; elsewhere it is part of it."""
_MILLION: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Price:
    """Prices for a million tokens, in the user's currency. Caches cost as input unless they are given."""

    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None


PriceTable = Mapping[str, Price]
"""Prices by the model's name as the provider reports it or as it was asked for."""


def cost_of(usage: Usage, price: Price, dialect: str) -> float | None:
    """The cost of what was counted; None when nothing was."""
    if usage.input_tokens is None and usage.output_tokens is None:
        return None
    read, written = usage.cache_read_tokens or 0, usage.cache_write_tokens or 0
    fresh = usage.input_tokens or 0
    if dialect not in _CACHE_BESIDE_INPUT:
        fresh = max(0, fresh - read - written)
    read_price = price.input if price.cache_read is None else price.cache_read
    write_price = price.input if price.cache_write is None else price.cache_write
    total = fresh * price.input + read * read_price + written * write_price
    return (total + (usage.output_tokens or 0) * price.output) / _MILLION


def bill(usage: Usage, *, model: str, dialect: str, prices: PriceTable) -> dict[str, Any]:
    """An attempt's usage and cost as a ledger entry holds them. `estimated` marks numbers that nobody
    reported or that are only a lower bound; counters that are None are left out.
    """
    price = prices.get(model)
    counted = {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cache_read_tokens": usage.cache_read_tokens,
        "cache_write_tokens": usage.cache_write_tokens,
        "cost": None if price is None else cost_of(usage, price, dialect),
    }
    told: dict[str, Any] = {name: value for name, value in counted.items() if value is not None}
    return {**told, "model": model, "estimated": usage.estimated or not usage.complete}

"""The answer that most tests of this folder ask for."""

from __future__ import annotations

import pytest

from seamstream.testing import Answer, DeterministicModel, Text, tokens
from tests.middleware.asking import Asker

PROSE = (
    "A reef is built by animals no larger than a grain of rice. Each one lays down a cup of stone, divides, "
    "and leaves the cup behind; in ten thousand years the cups are a wall — 水の中の街 — that ships avoid."
)


@pytest.fixture
def model() -> DeterministicModel:
    return DeterministicModel(Answer((Text(tokens(PROSE)),)))


@pytest.fixture
def asker(model: DeterministicModel) -> Asker:
    return Asker(model)

"""The reported cases of the recovery layer are played with the scenes of the middleware's tests."""

from __future__ import annotations

import pytest

from seamstream.testing import Answer, DeterministicModel, Text
from tests.middleware.asking import Asker


@pytest.fixture
def asker() -> Asker:
    return Asker(DeterministicModel(Answer((Text(("Grey ", "gulls!")),))))

"""Each surface in turn."""

from __future__ import annotations

import pytest

from tests.targets.asking import SURFACES


@pytest.fixture(params=SURFACES)
def surface(request: pytest.FixtureRequest) -> str:
    surface: str = request.param
    return surface

"""Both libraries, both styles."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

import httpx
from tests.httpx.asking import Reader


@pytest.fixture(params=[httpx2, httpx], ids=["httpx2", "httpx"])
def library(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture(params=["async", "sync"])
def reader(request: pytest.FixtureRequest, library: Any) -> Reader:
    return Reader(library, request.param)

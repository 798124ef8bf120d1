"""The Node process that all tests of this folder read with."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.npm.node import HERE, NODE, Node


@pytest.fixture(scope="session")
def node() -> Iterator[Node]:
    if not NODE.exists() or not (HERE / "node_modules").exists():
        pytest.fail("Node or its packages are missing: make test-npm installs them", pytrace=False)
    process = Node()
    yield process
    process.stop()

"""A URL that no driver can use is a setting that is wrong, told without what stands in it."""

from __future__ import annotations

import pytest

from seamstream.errors import ConfigurationError
from seamstream.stores.url import open_store

SECRET = "p4ss"


@pytest.mark.parametrize(
    "url",
    [
        f"redis://u:{SECRET}@127.0.0.1:6379?{SECRET}=1",
        f"redis://u:{SECRET}/@127.0.0.1:6379",
        f"postgresql://u:{SECRET}/w@127.0.0.1:5432/db",
        f"postgresql://u:{SECRET}@127.0.0.1:{SECRET}/db",
        f"nats://u:{SECRET}/w@127.0.0.1:4222",
        "memory:?timeout_s=soon",
        "sqlite:///store.db?synchronous=OFF",
    ],
    ids=lambda url: url.replace(SECRET, "_"),
)
async def test_it_is_refused_without_being_quoted(url: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        async with open_store(url, timeout_s=None):
            pytest.fail("it was opened")
    assert SECRET not in str(refused.value)
    assert refused.value.__suppress_context__ or SECRET not in str(refused.value.__context__)

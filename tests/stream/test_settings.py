"""Settings of a run that could only fail later, unseen, are refused when it is made."""

from __future__ import annotations

from typing import Any

import pytest
from aiohttp import ClientSession

from seamstream import ConfigurationError, RecoveryPolicy, stream
from seamstream.stores.memory_backend import MemoryBackend

URL = "http://127.0.0.1/v1/chat/completions"


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"store": MemoryBackend()}, "MemoryBackend is no checkpoint store: store=BackendCheckpointStore"),
        ({"run_id": 5}, "a run_id is text without lone surrogates, not 5"),
        ({"run_id": "a\udc80"}, r"a run_id is text without lone surrogates, not 'a\\udc80'"),
    ],
)
async def test_a_run_that_could_not_be_kept_is_refused(options: dict[str, Any], why: str) -> None:
    async with ClientSession() as session:
        with pytest.raises(ConfigurationError, match=why):
            stream(session, URL, json={"messages": []}, **options)


@pytest.mark.parametrize("fallbacks", ["http://other.example/v1", ("http://other.example/v1",)])
def test_fallbacks_are_fallbacks(fallbacks: Any) -> None:
    with pytest.raises(ConfigurationError, match="fallbacks must be Fallback"):
        RecoveryPolicy(fallbacks=fallbacks)

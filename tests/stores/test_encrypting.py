"""A cipher that fails, as when its key service is away, is a store that fails: never another error."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from seamstream.errors import StoreError
from seamstream.stores.encrypted import EncryptedBackend
from seamstream.stores.event_log import EventLog
from seamstream.stores.memory_backend import MemoryBackend
from seamstream.types import TextDelta


class Away:
    """Its key service cannot be reached, and says where it is."""

    def encrypt(self, data: bytes) -> bytes:
        raise OSError("kms://k3y is away")

    decrypt = encrypt


STORE = EncryptedBackend(MemoryBackend(), Away())
LOG = EventLog(MemoryBackend(), "acme", "run", ttl_s=None, cipher=Away())
WRITES: dict[str, Callable[[], Awaitable[object]]] = {
    "put": lambda: STORE.put("acme", ("a",), b"x"),
    "compare_and_set": lambda: STORE.compare_and_set("acme", ("a",), b"x", revision=0),
    "append": lambda: STORE.append("acme", ("a",), [b"x"]),
    "enqueue": lambda: STORE.enqueue("acme", "q", b"x"),
    "events": lambda: LOG.append([TextDelta(1, 1, "x")], epoch=1, after=0),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
async def test_a_value_that_cannot_be_encrypted_is_an_error_of_the_store(
    write: Callable[[], Awaitable[object]],
) -> None:
    with pytest.raises(StoreError, match=r"^a value cannot be encrypted: OSError$"):
        await write()

"""Large results as objects: in any object store that obstore reaches, referred to by digest, size and expiry.

A reference is checked each time it is read. Its path begins with the tenant's name, so that one that was
copied into another tenant's record leads nowhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..errors import ConfigurationError, StoreError
from ..stores.cipher import Cipher, Plain, decrypted, encrypted
from ..stores.keys import escape
from .records import ResultRef, checksum

if TYPE_CHECKING:
    from obstore.store import ObjectStore

INLINE_BYTES: Final = 32 * 1024
"""Results up to this size stand in the step's record itself."""
DEFAULT_TTL_S: Final = 7 * 86_400.0


class ResultStore:
    """Objects under `<tenant>/<task>/`. The store's own lifecycle rules should delete them after `ttl_s`."""

    def __init__(
        self,
        objects: ObjectStore,
        *,
        inline_bytes: int = INLINE_BYTES,
        ttl_s: float = DEFAULT_TTL_S,
        cipher: Cipher | None = None,
    ) -> None:
        """`cipher`: what encrypts the objects; beside an encrypted store they must have one, which may be
        `Plain()` where the objects' own store encrypts.
        """
        self.inline_bytes = inline_bytes
        self.encrypts = cipher is not None
        self._cipher: Cipher = cipher or Plain()
        self._objects = objects
        self._ttl_s = ttl_s

    @classmethod
    def from_url(
        cls,
        url: str,
        *,
        inline_bytes: int = INLINE_BYTES,
        ttl_s: float = DEFAULT_TTL_S,
        cipher: Cipher | None = None,
    ) -> ResultStore:
        """A store by its URL (`s3://bucket/prefix`, `gs://`, `az://`, `file:///path`, `memory:///`).
        ConfigurationError for one that names none.
        """
        try:
            from obstore.store import from_url
        except ImportError as error:
            raise ConfigurationError("objects need obstore: pip install 'seamstream[tasks]'") from error
        try:
            objects = from_url(url)
        except Exception as error:  # its text holds the URL, which may hold credentials
            kind = type(error).__name__
            raise ConfigurationError(f"no object store can be opened by this URL: {kind}") from None
        return cls(objects, inline_bytes=inline_bytes, ttl_s=ttl_s, cipher=cipher)

    async def put(self, tenant: str, task_id: str, name: str, data: bytes, *, now_s: float) -> ResultRef:
        """Keep a result and return the reference to it; putting the same again is no harm."""
        digest = checksum(data)
        path = f"{_home(tenant)}{escape(task_id)}/{escape(name)}-{digest[-16:]}"
        try:
            await self._objects.put_async(path, encrypted(self._cipher, data))
        except Exception as error:
            raise StoreError(f"result {path} could not be kept: {error}") from error
        return ResultRef(path, digest, len(data), now_s + self._ttl_s)

    async def get(self, tenant: str, ref: ResultRef, *, now_s: float) -> bytes:
        """The result, checked; StoreError when it is another tenant's, is over, or is not what was kept."""
        if not ref.path.startswith(_home(tenant)) or ".." in ref.path.split("/"):
            raise StoreError(f"result {ref.path} is not of this tenant")
        if now_s >= ref.expires_at_s:
            raise StoreError(f"result {ref.path} has expired")
        try:
            found = await self._objects.get_async(ref.path)
            data = decrypted(self._cipher, bytes(await found.bytes_async()))
        except Exception as error:
            raise StoreError(f"result {ref.path} cannot be read: {error}") from error
        if len(data) != ref.size or checksum(data) != ref.checksum:
            raise StoreError(f"result {ref.path} is not what was kept: its checksum differs")
        return data

    async def delete(self, tenant: str, ref: ResultRef) -> None:
        """Delete the object; one that is gone already is no error."""
        if not ref.path.startswith(_home(tenant)):
            raise StoreError(f"result {ref.path} is not of this tenant")
        try:
            await self._objects.delete_async(ref.path)
        except FileNotFoundError:
            return
        except Exception as error:
            raise StoreError(f"result {ref.path} could not be deleted: {error}") from error


def _home(tenant: str) -> str:
    return f"{escape(tenant)}/"

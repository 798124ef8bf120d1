"""The hook by which stored content is encrypted with keys that only the user has."""

from __future__ import annotations

from typing import Protocol

from ..errors import StoreError


class Cipher(Protocol):
    """Authenticated encryption of whole values, like `cryptography`'s Fernet, whose methods fit."""

    def encrypt(self, data: bytes) -> bytes: ...
    def decrypt(self, data: bytes) -> bytes: ...


class Plain:
    """Stores values as they are."""

    def encrypt(self, data: bytes) -> bytes:
        return data

    def decrypt(self, data: bytes) -> bytes:
        return data


def encrypted(cipher: Cipher, data: bytes) -> bytes:
    """What may be stored. StoreError if the cipher fails, as when its key service is away."""
    try:
        return cipher.encrypt(data)
    except Exception as error:
        raise StoreError(f"a value cannot be encrypted: {type(error).__name__}") from error


def decrypted(cipher: Cipher, data: bytes) -> bytes:
    """What was encrypted. StoreError if the cipher refuses, as with another key."""
    try:
        return cipher.decrypt(data)
    except Exception as error:
        raise StoreError(f"a stored value cannot be decrypted: {type(error).__name__}") from error

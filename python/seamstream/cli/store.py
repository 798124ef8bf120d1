"""The store that a command works on; its failures are told without a traceback and without a password."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from ..environment import store_url
from ..errors import ConfigurationError, SeamstreamError
from ..stores.backend import Backend
from .loading import load

FAILED: Final = 2
"""The exit status when the command could not be carried out at all."""

Work = Callable[[Backend], Awaitable[int]]


def add_store_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what names the store."""
    parser.add_argument("--store", metavar="URL", help="the tasks' store (default: $SEAMSTREAM_STORE)")
    parser.add_argument(
        "--cipher",
        metavar="MODULE:NAME",
        help="what encrypts the store: a Cipher, or a function without arguments that makes one",
    )


def run_on_store(options: argparse.Namespace, work: Work) -> int:
    """Open the store, do the work and return its exit status; 2, with one line on standard error, when the
    store or a setting does not allow it.
    """
    url = options.store or store_url()
    try:
        return asyncio.run(_run(options, url, work))
    except SeamstreamError as error:
        complain(_without_secrets(str(error), url))
        return FAILED


def complain(message: str) -> None:
    """Write one line to standard error."""
    print(f"seamstream: {message}", file=sys.stderr)


async def _run(options: argparse.Namespace, url: str | None, work: Work) -> int:
    async with _opened(url, options.cipher) as backend:
        return await work(backend)


@asynccontextmanager
async def _opened(url: str | None, cipher: str | None) -> AsyncIterator[Backend]:
    from ..stores.url import open_store

    if url is None:
        raise ConfigurationError("no store: give --store URL, or set SEAMSTREAM_STORE")
    async with open_store(url) as backend:
        if cipher is None:
            yield backend
        else:
            yield _encrypted(backend, load(cipher))


def _encrypted(backend: Backend, cipher: Any) -> Backend:
    from ..stores.encrypted import EncryptedBackend

    if hasattr(cipher, "decrypt"):
        return EncryptedBackend(backend, cipher)
    try:
        return EncryptedBackend(backend, cipher())
    except Exception as error:
        raise ConfigurationError(f"the cipher broke: {type(error).__name__}: {error}") from error


def _without_secrets(message: str, url: str | None) -> str:
    """Drivers put the URL that they were given into their errors."""
    try:
        password = urlsplit(url or "").password
    except ValueError:
        return "the store's URL cannot be read"
    for secret in {password, unquote(password)} if password else ():
        message = message.replace(secret, "***")
    return message

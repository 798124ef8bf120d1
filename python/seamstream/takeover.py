"""Going on with a run by its id alone: its request is in the store, the credentials are one's own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import cast

from aiohttp import ClientSession
from yarl import URL

from .clock import Clock
from .errors import ConfigurationError, StoreError, StreamCutError, UnknownRun, WaitingForCredentials
from .observe.hooks import Sink
from .recovery.continuation.facts import Dialect
from .recovery.continuation.profile import Profile
from .recovery.continuation.profiles import ProfileBook
from .recovery.digests import digest
from .recovery.error_codes import FailureKind
from .recovery.policy import RecoveryPolicy
from .stores.checkpoints import StreamCheckpoint, StreamCheckpointStore
from .stream import Run
from .typed import services_of, spec_of, upstream_of
from .within import within


@asynccontextmanager
async def take_over(
    session: ClientSession,
    url: str | URL,
    *,
    store: StreamCheckpointStore,
    run_id: str,
    headers: Mapping[str, str] | None,
    policy: RecoveryPolicy | None = None,
    sinks: Iterable[Sink] = (),
    clock: Clock | None = None,
    profiles: ProfileBook | Iterable[Profile] | None = None,
) -> AsyncIterator[Run]:
    """Go on with a run that was begun with `takeover=True`: `async with take_over(...) as run`.

    Its reader gets the whole answer from the start; budget and seams go on. `headers` are one's own
    credentials. Without any (None), or with some that the provider refuses, the run is left to whoever has
    them: WaitingForCredentials, and its checkpoint stays. UnknownRun if nothing is stored under the id,
    StaleOwner if somebody else took it, ConfigurationError if its request was not stored.
    """
    services, url = services_of(sinks, clock, profiles), URL(url)
    found = await _found(store, run_id, policy or RecoveryPolicy(), services.clock)
    if headers is None:
        raise WaitingForCredentials(run_id)
    dialect = cast("Dialect", found.dialect)
    spec = spec_of(url, dialect, found.base_request or b"", headers, policy, services, run_id)
    spec = replace(spec, checkpoint_key=run_id)
    upstream = upstream_of(session, url, headers, spec, services)
    try:
        async with Run(spec, services, upstream, store, found) as run:
            yield run
    except StreamCutError as error:
        if error.run_id == run_id and _refused_credentials(error):
            raise WaitingForCredentials(run_id) from error
        raise


async def _found(
    store: StreamCheckpointStore, run_id: str, policy: RecoveryPolicy, clock: Clock
) -> StreamCheckpoint:
    """Nothing can be done without the store, so here its failure is always an error."""
    try:
        found = await within(clock, policy.store_s, store.get(run_id))
    except TimeoutError as error:
        raise StoreError(f"the checkpoint store failed: {error}") from error
    if found is None:
        raise UnknownRun(f"no run {run_id!r} is in flight")
    if found.base_request is None:
        raise ConfigurationError(f"the request of run {run_id!r} was not stored; begin it with takeover=True")
    if digest(found.base_request) != found.request_digest:
        raise StoreError(f"the stored request of run {run_id!r} is not the one it was begun with")
    return found


def _refused_credentials(error: StreamCutError) -> bool:
    attempts = error.turn.attempts if error.turn is not None else ()
    return bool(attempts) and attempts[-1].error == FailureKind.AUTH.value

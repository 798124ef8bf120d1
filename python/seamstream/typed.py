"""What a run of typed events is made of: its facts, what it shares, and its way to the provider."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from aiohttp import ClientSession, ServerTimeoutError
from yarl import URL

from .capture import collectors
from .clock import Clock, SystemClock
from .driver import RunSpec, Services
from .driver.spec import book_of
from .environment import apply_environment
from .observe.hooks import Sink, Sinks
from .recognise import choices_asked, named_by
from .recovery.continuation.dialects import form_of
from .recovery.continuation.facts import Dialect
from .recovery.continuation.profile import Profile
from .recovery.continuation.profiles import ProfileBook
from .recovery.continuation.route import public_headers
from .recovery.policy import RecoveryPolicy
from .transports.aiohttp import (
    AiohttpFrameTooLarge,
    AiohttpStreamCutError,
    AiohttpUpstream,
    SessionSender,
)


def services_of(
    sinks: Iterable[Sink], clock: Clock | None, profiles: ProfileBook | Iterable[Profile] | None
) -> Services:
    """What the run shares with others."""
    return Services(clock or SystemClock(), Sinks(sinks), book_of(profiles))


def spec_of(
    url: URL,
    dialect: Dialect,
    body: bytes,
    headers: Mapping[str, str],
    policy: RecoveryPolicy | None,
    services: Services,
    run_id: str | None,
) -> RunSpec:
    """The run's facts, without a store."""
    policy = apply_environment(policy or RecoveryPolicy())
    recovers = policy.effective_mode(services.clock.random()) == "recover"
    return RunSpec(
        run_id=run_id or services.clock.uuid(),
        dialect=dialect,
        target=str(url.origin()),
        host=url.host or "",
        reader="typed",
        policy=policy,
        mode="recover" if recovers else "observe",
        body=body,
        path=url.path,
        headers=public_headers(headers),
        choices=choices_asked(dialect, body),
        **named_by(headers),
        cut_error=AiohttpStreamCutError,
        frame_error=AiohttpFrameTooLarge,
        timeout_error=ServerTimeoutError,
        collectors=collectors(),
    )


def upstream_of(
    session: ClientSession, url: URL, headers: Mapping[str, str], spec: RunSpec, services: Services
) -> AiohttpUpstream:
    """The run's way to its provider."""
    sender = SessionSender(session, url, spec.body or b"", headers, connect_s=spec.policy.connect_s)
    return AiohttpUpstream(
        sender,
        services.clock,
        form_of(spec.dialect).media_types,
        describes=True,
        decompresses=session.auto_decompress,
    )

"""`seamstream.wrap(client)`: the same SDK client, whose answers come whole.

What a kind of client needs is imported once such a client comes: who only uses aiohttp does not wait for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from .clock import BlockingClock
    from .observe.hooks import Sink
    from .recovery.continuation.profile import Profile
    from .recovery.continuation.profiles import ProfileBook
    from .recovery.policy import RecoveryPolicy
    from .stores.checkpoints import StreamCheckpointStore

C = TypeVar("C")


def wrap(
    client: C,
    policy: RecoveryPolicy | None = None,
    *,
    store: StreamCheckpointStore | None = None,
    sinks: Iterable[Sink] = (),
    clock: BlockingClock | None = None,
    profiles: ProfileBook | Iterable[Profile] | None = None,
) -> C:
    """A client like `client` (openai, anthropic, google-genai; async, sync) over a recovering transport, or
    one of boto3 or aiobotocore for Bedrock, whose `converse_stream` is made whole.

    The client that is passed in stays as it is, and both share their connections. The SDK's own retries are
    off in the new one, because there is one budget for all of them. `store` is for async clients.
    google-genai closes no HTTP client that it was given: there close the client that was passed in.
    """
    from .transports.botocore_internals import is_botocore

    shared: dict[str, Any] = {"store": store, "sinks": sinks, "clock": clock, "profiles": profiles}
    if is_botocore(client):
        from .bedrock import wrap_bedrock

        return wrap_bedrock(client, policy, **shared)
    from .wrap_sdk import wrap_sdk

    return wrap_sdk(client, policy, **shared)

"""A process that runs one answer and prints what its reader got, a line an event, until it is killed.

python -m tests.stores.writing_child STORE_URL TENANT RUN_ID PROVIDER_URL
"""

from __future__ import annotations

import asyncio
import sys

import aiohttp

import seamstream
from seamstream import BackendCheckpointStore, RecoveryPolicy, open_store
from tests.stores.writing import QUESTION


async def main(url: str, tenant: str, run_id: str, provider: str) -> None:
    policy = RecoveryPolicy(checkpoint_every_s=0.0)
    async with aiohttp.ClientSession() as session, open_store(url) as backend:
        store = BackendCheckpointStore(backend, tenant)
        asked = {"json": QUESTION, "headers": {"x-api-key": "a secret"}, "store": store, "run_id": run_id}
        async with seamstream.stream(
            session, provider, policy=policy, takeover=True, replayable=True, **asked
        ) as run:
            async for event in run:
                print(event.seq, type(event).__name__, flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))

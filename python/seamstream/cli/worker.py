"""`seamstream worker`: work on the tasks of some tenants until it is told to stop.

`--app module:factory` names a function that is called with the open store and returns an async context
manager of an `Agent`. An agent is one itself, so both of these will do:

    def factory(store):
        return Agent(model, [book], store)

    @asynccontextmanager
    async def factory(store):
        async with aiohttp.ClientSession() as session, Agent(model, [book], store, session=session) as agent:
            yield agent

SIGTERM and SIGINT hand over: nothing new is begun, what runs comes to an end or to its next owner.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import signal
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

from ..errors import ConfigurationError
from ..stores.backend import Backend
from .loading import load
from .store import add_store_arguments, run_on_store

if TYPE_CHECKING:
    from ..tasks.agent import Agent


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = subparsers.add_parser("worker", help="work on durable tasks until SIGTERM")
    add_app_argument(parser, required=True)
    parser.add_argument("--tenant", action="append", required=True, help="whose tasks; may be repeated")
    add_store_arguments(parser)
    parser.add_argument("--concurrency", type=int, default=8, metavar="N", help="tasks at a time (8)")
    parser.add_argument("--lease-s", type=float, default=30.0, metavar="S", help="seconds of a lease (30)")
    parser.add_argument(
        "--grace-s", type=float, default=30.0, metavar="S", help="seconds for tools to end after a stop (30)"
    )
    parser.add_argument("--owner", help="its name in the ledger (default: a random one)")
    parser.set_defaults(run=run)


def add_app_argument(parser: argparse.ArgumentParser, *, required: bool) -> None:
    """Add what names the user's agent."""
    help_text = "a function of the open store that returns an Agent, or an async context manager of one"
    parser.add_argument("--app", required=required, metavar="MODULE:FACTORY", help=help_text)


def run(options: argparse.Namespace) -> int:
    """Work. 0 after a stop, 2 when the store or the factory is not there."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")

    async def work(backend: Backend) -> int:
        return await _work(options, backend)

    return run_on_store(options, work)


@asynccontextmanager
async def agent_of(app: str, backend: Backend) -> AsyncIterator[Agent]:
    """The user's agent on this store; ConfigurationError when the factory gives none."""
    from ..tasks.agent import Agent

    factory = load(app)
    async with AsyncExitStack() as opened:
        try:
            made: Any = factory(backend)
            agent: Any = made
            if isinstance(made, AbstractAsyncContextManager):
                agent = await opened.enter_async_context(made)
        except Exception as error:
            raise ConfigurationError(f"{app} broke: {type(error).__name__}: {error}") from error
        if agent is made and not isinstance(made, AbstractAsyncContextManager):
            raise ConfigurationError(
                f"{app} returned {type(made).__name__}, no async context manager of an Agent"
            )
        if not isinstance(agent, Agent):
            raise ConfigurationError(f"{app} opened {type(agent).__name__}, no Agent")
        yield agent


async def _work(options: argparse.Namespace, backend: Backend) -> int:
    from ..tasks.worker import Worker

    async with agent_of(options.app, backend) as agent:
        worker = Worker(
            *(agent, options.tenant),
            owner=options.owner,
            concurrency=options.concurrency,
            lease_s=options.lease_s,
            grace_s=options.grace_s,
        )
        for name in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(name, worker.stop)
        logging.getLogger("seamstream.tasks").info("worker %s works", worker.owner)
        await worker.run()
    return 0

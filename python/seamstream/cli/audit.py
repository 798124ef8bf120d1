"""`seamstream audit`: what can be proven about a task, and whether it is enough for a release."""

from __future__ import annotations

import argparse

from ..clock import SystemClock
from ..stores.backend import Backend
from .screen import Screen
from .store import add_store_arguments, run_on_store

_FORMATS = ("text", "json", "junit")


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = subparsers.add_parser("audit", help="prove what happened to a task, from its ledger")
    parser.add_argument("task", metavar="TASK", help="the task's id")
    parser.add_argument("--tenant", required=True, help="whose task it is")
    add_store_arguments(parser)
    parser.add_argument("--release", metavar="FILE", help="facts from outside the store (docs/audit.md)")
    parser.add_argument("--results", metavar="URL", help="the object store of large results, to read them")
    parser.add_argument("--evidence", metavar="REF", help="what the ledger must contain: an evidence_ref")
    parser.add_argument("--format", choices=_FORMATS, default="text")
    parser.add_argument("--gate", action="store_true", help="exit with 1 unless all nine rows pass")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the audit. 0; with --gate 1 unless every row passes; 2 when the task could not be audited."""

    async def work(backend: Backend) -> int:
        return await _audit(options, backend)

    return run_on_store(options, work)


async def _audit(options: argparse.Namespace, backend: Backend) -> int:
    from ..stores.encrypted import EncryptedBackend
    from ..tasks.audit import as_json, as_junit, as_text, audit, load_release
    from ..tasks.results import ResultStore

    cipher = backend.cipher if isinstance(backend, EncryptedBackend) else None
    made = await audit(
        *(backend, options.tenant, options.task),
        now_s=SystemClock().wall(),
        release=load_release(options.release) if options.release else None,
        results=ResultStore.from_url(options.results, cipher=cipher) if options.results else None,
        expected=options.evidence,
    )
    write = {"text": as_text, "json": as_json, "junit": as_junit}[options.format]
    Screen.standard(no_colour=True).write(write(made))
    return 1 if options.gate and not made.passed else 0

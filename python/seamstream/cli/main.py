"""The `seamstream` command: one module per subcommand, each of which adds its own parser."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence

from .._core import __version__
from ..errors import SeamstreamError
from . import audit, demo, tasks, worker
from .store import FAILED, complain

_COMMANDS = (demo, worker, tasks, audit)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    parser = argparse.ArgumentParser(prog="seamstream", description="Broken LLM streams come out whole.")
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    subparsers = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for command in _COMMANDS:
        command.add_parser(subparsers)
    options = parser.parse_args(arguments)
    run: Callable[[argparse.Namespace], int] = options.run
    try:
        return run(options)
    except SeamstreamError as error:
        complain(str(error))
        return FAILED
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Who read the output has gone; the interpreter would complain once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1

"""`seamstream demo`: answers that break on real sockets, and what becomes of them."""

from __future__ import annotations

import argparse
import asyncio
import logging
from collections.abc import Sequence

from ..environment import apply_environment, colour_is_refused
from .demo_play import POLICY, Played, play
from .demo_scenes import SCENES
from .screen import Screen

_HEADER = ("what happened", "dialect", "cause", "plan", "join", "attempts", "added delay", "verdict")
_INTRODUCTION = (
    "Each answer below is streamed from a local server that really breaks, through the recovery that a"
    " program gets with one line. |Marks| show where the stream was cut and which plan took over. Afterwards"
    " each answer is compared with the same answer fetched unbroken."
)


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = subparsers.add_parser("demo", help="break streams in eight ways and watch them come out whole")
    parser.add_argument("--no-color", action="store_true", help="write no colours, as NO_COLOR=1 does")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Play every scene; 0 when each promise was kept."""
    # A refused continuation is one of the scenes: its log line would only repeat what is shown.
    logging.getLogger("seamstream").setLevel(logging.ERROR)
    screen = Screen.standard(no_colour=options.no_color or colour_is_refused())
    screen.paragraph(_INTRODUCTION)
    mode = apply_environment(POLICY).mode
    if mode != "recover":
        screen.line(f"The environment sets the mode to {mode}: nothing will be recovered.", "bad")
    played = asyncio.run(_play_all(screen))
    _show_table(screen, played)
    return 0 if all(each.verdict.kept for each in played) else 1


async def _play_all(screen: Screen) -> list[Played]:
    pause_s = 0.02 if screen.watched else 0.005
    return [await play(scene, screen, pause_s=pause_s) for scene in SCENES]


def _show_table(screen: Screen, played: Sequence[Played]) -> None:
    screen.line()
    screen.table(_HEADER, [_row(each) for each in played])
    kept = sum(each.verdict.kept for each in played)
    screen.line()
    screen.line(f"{kept} of {len(played)} promises kept.", "good" if kept == len(played) else "bad")


def _row(played: Played) -> tuple[str, ...]:
    watcher, outcome = played.watcher, played.watcher.outcome
    return (
        played.scene.title,
        played.scene.dialect,
        ", ".join(watcher.causes) or "-",
        ", ".join(watcher.plans) or "-",
        ", ".join(outcome.joins if outcome else ()) or "-",
        str(outcome.attempts if outcome else 0),
        f"{watcher.delay.total_s:.2f} s",
        str(played.verdict),
    )

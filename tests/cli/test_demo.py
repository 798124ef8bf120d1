"""The demonstration: every promise is kept, and one that is not makes it fail."""

from __future__ import annotations

import asyncio
import io
import re

import pytest
from aiohttp import ClientTimeout

from seamstream.cli import demo, demo_scenes
from seamstream.cli.demo_play import POLICY, Played, play
from seamstream.cli.demo_scenes import TIDES, Scene
from seamstream.cli.main import main
from seamstream.cli.screen import Screen
from seamstream.testing import Fault

TITLES = [scene.title for scene in demo_scenes.SCENES]


def row_of(output: str, title: str) -> list[str]:
    """The cells of a scene's row in the table."""
    rows = [line for line in output.splitlines() if line.startswith(title + "  ")]
    assert len(rows) == 1
    return re.split(r"\s{2,}", rows[0])


def test_the_demo_keeps_every_promise(capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["demo"])
    output = capsys.readouterr().out
    assert status == 0
    assert "\x1b" not in output
    verdicts = [row_of(output, title)[-1] for title in TITLES]
    assert verdicts == ["same answer: yes"] * 7 + ["refused honestly: yes"]
    assert {scene.dialect for scene in demo_scenes.SCENES} == {"openai-chat", "anthropic"}


def test_the_table_says_what_each_scene_was(capsys: pytest.CaptureFixture[str]) -> None:
    main(["demo"])
    output = capsys.readouterr().out
    expected = {
        "connection reset": ("ConnectionReset", "R1", "anchored", "2"),
        "stall with pings": ("IdleStall", "R1", "prefill", "2"),
        "overload in the stream": ("Provider5xxMidStream(529)", "R1", "prefill", "2"),
        "silent early end": ("EarlyEof", "R1", "anchored", "2"),
        "cut inside tool arguments": ("ConnectionReset", "R3", "prefill", "2"),
        "two cuts in a row": ("ConnectionReset, ConnectionReset", "R1, R1", "anchored, anchored", "3"),
        "cut after a complete tool call": ("ConnectionReset", "R2", "-", "1"),
        "continuation that does not fit": ("ConnectionReset", "R1", "-", "2"),
    }
    assert {title: tuple(row_of(output, title)[2:6]) for title in expected} == expected
    assert float(row_of(output, "stall with pings")[6].removesuffix(" s")) >= POLICY.idle_s


def shown(scene: Scene) -> tuple[Played, str]:
    out = io.StringIO()
    return asyncio.run(play(scene, Screen(out, colour=False), pause_s=0.0)), out.getvalue()


def test_the_text_is_shown_whole_around_its_mark() -> None:
    played, output = shown(demo_scenes.SCENES[0])
    text = re.sub(r" \|[^|]*\| ", "", output.splitlines()[2])
    assert output.count("|ConnectionReset, R1| ") == 1
    assert text == TIDES.text
    assert played.verdict.kept


def test_a_promise_that_is_not_kept_is_told_and_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = Scene("wrong", "openai-chat", TIDES, (Fault.reset(after_events=9),), persona="paraphraser")
    rash = Scene("rash", "openai-chat", TIDES, (Fault.none(),), due="refusal")
    monkeypatch.setattr(demo, "SCENES", (wrong, rash))
    assert main(["demo"]) == 1
    output = capsys.readouterr().out
    assert row_of(output, "wrong")[-1] == "same answer: no"
    assert row_of(output, "rash")[-1] == "refused honestly: no"
    assert "0 of 2 promises kept." in output


def test_a_mode_that_recovers_nothing_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SEAMSTREAM_MODE", "observe")
    monkeypatch.setattr(demo, "SCENES", demo_scenes.SCENES[:1])
    assert main(["demo"]) == 1
    output = capsys.readouterr().out
    assert "The environment sets the mode to observe" in output
    assert row_of(output, "connection reset")[-1] == "same answer: no"


def test_a_mode_that_is_none_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEAMSTREAM_MODE", "banana")
    assert main(["demo"]) == 2
    told = "seamstream: SEAMSTREAM_MODE must be one of off, observe, recover, not 'banana'\n"
    assert capsys.readouterr().err == told


def test_who_only_watches_is_told_what_was_not_kept(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEAMSTREAM_MODE", "observe")
    monkeypatch.setattr("seamstream.cli.demo_play._PATIENCE", ClientTimeout(total=1.0))
    assert main(["demo"]) == 1
    output = capsys.readouterr().out
    assert "not kept: an error: " in output
    assert row_of(output, "connection reset")[-1] == "same answer: no"

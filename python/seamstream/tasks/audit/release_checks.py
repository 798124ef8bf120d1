"""What must hold of the world outside the store, by the release file and as far as the ledger shows it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from ..ledger import Entry
from .evidence import Evidence
from .release import CANCEL_REACHES, Release
from .report import Findings

_PRERELEASE: Final = re.compile(r"\d(?:a|b|rc|\.?dev|[-.]?alpha|[-.]?beta)[.-]?\d*", re.IGNORECASE)
_STARTS: Final = ("step_started", "attempt_started", "recovery_started", "tool_started")
_LAYERS: Final = {"code": "code", "task": "tasks", "side_effect": "side effects"}
NO_FILE: Final = "without a release file nobody can tell"


def check_cancellation(evidence: Evidence) -> Findings:
    """Row 6. A drill has seen provider, tools, stream and worker end; nothing began after an abort."""
    found = Findings()
    for aborted in evidence.of("task_aborted"):
        for entry in evidence.of(*_STARTS):
            if entry.seq > aborted.seq:
                found.fail(f"{entry.event} follows the end of the task", aborted.seq, entry.seq)
    if evidence.cancel_asked and not evidence.task.over:
        found.doubt("the task was cancelled, and has not ended yet")
    if evidence.release is None:
        found.doubt(f"{NO_FILE} whether cancellation was rehearsed")
        return found
    _check_drill(evidence, evidence.release, "cancel", "the drill of cancellation", found)
    drill = evidence.release.drills.get("cancel")
    missing = [] if drill is None else [name for name in CANCEL_REACHES if name not in drill.covers]
    if missing:
        found.fail(f"the drill of cancellation did not cover: {', '.join(missing)}")
    return found


def check_versions(evidence: Evidence) -> Findings:
    """Row 8. Each worker ran what was locked, against a provider that was meant, and no loose pre-release."""
    found = Findings()
    release = evidence.release
    if release is None:
        found.doubt(f"{NO_FILE} which versions are locked")
        return found
    if not release.versions:
        found.fail("the release file locks no versions")
    if not release.providers:
        found.fail("the release file names no provider")
    for entry in evidence.of("worker_versions"):
        _check_locked(entry, release, found)
    for entry in evidence.of("attempt_started", "stream_started"):
        _check_provider(entry, release, found)
    if not evidence.of("worker_versions"):
        found.doubt("no worker has said what it runs")
    seqs = [entry.seq for entry in evidence.of("worker_versions")]
    found.show(f"{len(release.versions)} locked versions are those that worked", *seqs)
    return found


def _check_locked(entry: Entry, release: Release, found: Findings) -> None:
    ran: Any = entry.details.get("versions")
    versions: Mapping[str, Any] = ran if isinstance(ran, Mapping) else {}
    for package in sorted(release.versions.keys() | versions.keys()):
        locked, version = release.versions.get(package), versions.get(package)
        if locked is None:
            found.fail(f"{package} {version} worked, and is not locked", entry.seq)
        elif version is None:
            found.fail(f"{package} {locked} is locked, and did not work", entry.seq)
        elif locked != version:
            found.fail(f"{package} {version} worked, {locked} is locked", entry.seq)
        if version and _PRERELEASE.search(str(version)) and package not in release.isolated_prereleases:
            found.fail(f"{package} {version} is a pre-release, and not isolated", entry.seq)


def _check_provider(entry: Entry, release: Release, found: Findings) -> None:
    target, model = entry.details.get("target"), entry.details.get("model")
    meant = [each for each in release.providers if target in (None, each.target)]
    if release.providers and not meant:
        found.fail(f"{target} was asked, which is no provider of the release", entry.seq)
    elif meant and model and not any(model in each.models for each in meant):
        found.fail(f"model {model} answered, which the release does not name", entry.seq)


def check_rollback(evidence: Evidence) -> Findings:
    """Row 9. Somebody has rehearsed to roll back code, tasks and side effects; every write can be undone."""
    found = Findings()
    release = evidence.release
    if release is None:
        found.doubt(f"{NO_FILE} who is responsible, and whether there were drills")
        return found
    for layer, name in _LAYERS.items():
        _check_drill(evidence, release, layer, f"the drill of rolling back {name}", found)
    for entry in evidence.of("tool_started"):
        tool, effect = str(entry.details.get("tool_name")), entry.details.get("side_effect")
        if effect != "none" and tool not in release.undo:
            found.fail(f"the release does not say how {tool} is undone", entry.seq)
        elif effect != "none":
            found.show(f"{tool} is undone by {release.undo[tool]}", entry.seq)
    return found


def _check_drill(evidence: Evidence, release: Release, name: str, what: str, found: Findings) -> None:
    drill = release.drills.get(name)
    if drill is None:
        found.fail(f"{what} is not in the release file (drills.{name})")
    elif not drill.passed:
        found.fail(f"{what} failed on {drill.on}; {drill.owner} is responsible")
    elif drill.on > datetime.fromtimestamp(evidence.now_s, UTC).date():
        found.fail(f"{what} is dated {drill.on}, which is still to come")
    else:
        found.show(f"{what} passed on {drill.on}; {drill.owner} is responsible")

"""Says whether the reader of a scene got what was due, from the reader's bytes and the provider's record."""

from __future__ import annotations

from dataclasses import dataclass

from seamstream import StreamCutError
from seamstream.errors import SEAM_REFUSED
from seamstream.testing import Exchange, ReadTurn, differences, read_turn, salvaged

from .demo_scenes import Scene


@dataclass(frozen=True, slots=True)
class Verdict:
    """`question` is the promise that was tested; `faults` is empty when it was kept."""

    question: str
    faults: tuple[str, ...]

    @property
    def kept(self) -> bool:
        return not self.faults

    def __str__(self) -> str:
        return f"{self.question}: {'yes' if self.kept else 'no'}"


def judge(
    scene: Scene,
    unbroken: ReadTurn,
    got: ReadTurn,
    error: Exception | None,
    requests: list[Exchange],
) -> Verdict:
    """Compare what the reader got with what an unbroken fetch of the same answer brought."""
    if scene.due == "refusal":
        return Verdict("refused honestly", tuple(_faults_of_refusal(unbroken, got, error, requests)))
    due = unbroken
    if scene.due == "salvaged":
        due = salvaged(read_turn(scene.dialect, bytes(requests[0].sent)))
    faults = differences(due, got)
    if error is not None:
        faults.append(f"an error: {error}")
    if scene.reader == "bytes" and len(got.response_ids) != 1:
        faults.append(f"{len(got.response_ids)} response ids")
    return Verdict("same answer", tuple(faults))


def _faults_of_refusal(
    unbroken: ReadTurn, got: ReadTurn, error: Exception | None, requests: list[Exchange]
) -> list[str]:
    """An honest refusal raises, names the seam, keeps all that came before the cut and adds nothing to it."""
    faults = []
    if not isinstance(error, StreamCutError):
        faults.append(f"no StreamCutError but {error!r}")
    elif error.code != SEAM_REFUSED:
        faults.append(f"the error's code is {error.code}")
    if got.ended:
        faults.append("the stream ended as if it were whole")
    if not unbroken.text.startswith(got.text):
        faults.append("text that is not of this answer was shown")
    dialect = requests[0].dialect
    if dialect is not None and got.text != read_turn(dialect, bytes(requests[0].sent)).text:
        faults.append("what was received before the cut was not shown to its end")
    return faults

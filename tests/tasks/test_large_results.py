"""Large results beside an encrypted store are encrypted, too."""

from __future__ import annotations

from pathlib import Path

import pytest
from cryptography.fernet import Fernet

from seamstream.errors import ConfigurationError, StoreError
from seamstream.stores.cipher import Plain
from seamstream.stores.memory_backend import MemoryBackend
from seamstream.tasks import Agent, EncryptedBackend, ModelTarget, ResultStore, ToolContext, tool
from seamstream.tasks.audit import audit
from tests.tasks.playing import ASK, TENANT, stage
from tests.tasks.scripted import calls, says

MARK = "M4rk"


@tool(side_effect="none")
async def look(context: ToolContext) -> str:
    return MARK * 100


def on_disk(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


async def test_they_are_encrypted_and_read_back(tmp_path: Path) -> None:
    key = Fernet(Fernet.generate_key())
    results = ResultStore.from_url(tmp_path.as_uri(), inline_bytes=100, cipher=key)
    store = EncryptedBackend(MemoryBackend(), key)
    told: list[list[str]] = []

    def script(answers: list[str]) -> object:
        told.append(answers)
        return says("Seen.") if answers else calls(("look", {}))

    async with stage(script, [look], store=store, results=results) as played:  # type: ignore[arg-type]
        task = await played.agent.submit(TENANT, ASK)
        [envelope] = await played.worker().drain()
        [step, _] = await played.steps(task.task_id)
        ref = step.tool_calls[0].result_ref
        assert ref is not None
        other = ResultStore.from_url(tmp_path.as_uri(), cipher=Fernet(Fernet.generate_key()))
        with pytest.raises(StoreError, match="cannot be read"):
            await other.get(TENANT, ref, now_s=0.0)
        made = await audit(store, TENANT, task.task_id, now_s=task.created_at_s, results=results)
    assert envelope.state == "succeeded"
    assert told[-1] == [f'"{MARK * 100}"']
    assert on_disk(tmp_path)
    assert MARK.encode() not in on_disk(tmp_path)
    assert {row.number: row.verdict for row in made.rows}[5] == "pass"


async def test_in_clear_they_are_refused_unless_it_is_meant(tmp_path: Path) -> None:
    store = EncryptedBackend(MemoryBackend(), Fernet(Fernet.generate_key()))
    model = ModelTarget("http://127.0.0.1/v1/chat/completions")
    with pytest.raises(ConfigurationError, match="large results are not"):
        Agent(model, [look], store, results=ResultStore.from_url(tmp_path.as_uri()))
    async with Agent(model, [look], store, results=ResultStore.from_url(tmp_path.as_uri(), cipher=Plain())):
        pass

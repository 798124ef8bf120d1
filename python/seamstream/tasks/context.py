"""What a step leaves behind besides messages, as the ledger holds it: counts and a digest."""

from __future__ import annotations

from typing import Any

import orjson

from ..recovery.digests import digest
from ..stores.encoding import encode_record
from .records import DurableStep, StructuredOutput


def context_of(step: DurableStep, output: StructuredOutput | None = None) -> dict[str, Any]:
    """The step's files, sources and structured output, in their order. `output`: one it is about to get."""
    held = (step.files, step.sources, output or step.structured_output)
    return {
        "files": len(step.files) or None,
        "sources": len(step.sources) or None,
        "context_digest": digest(orjson.dumps(encode_record(held))),
    }

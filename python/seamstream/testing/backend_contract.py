"""What every store backend must do, as checks that anybody can run on one of their own.

    @pytest.mark.parametrize("check", BACKEND_CONTRACT, ids=lambda check: check.__name__)
    async def test_backend(check):
        async with open_store(URL) as first, open_store(URL) as second:
            await check(first, second)

Both handles must lead to the same data, best as two clients with connections of their own: half of the checks
are races. Each check uses tenants of its own and leaves its data there. A broken rule is an AssertionError.
"""

from __future__ import annotations

from typing import Final

from .contract_helpers import Check
from .log_contract import LOG_CHECKS
from .record_contract import RECORD_CHECKS
from .work_contract import WORK_CHECKS

__all__ = ["BACKEND_CONTRACT", "Check"]

BACKEND_CONTRACT: Final[tuple[Check, ...]] = (*RECORD_CHECKS, *LOG_CHECKS, *WORK_CHECKS)

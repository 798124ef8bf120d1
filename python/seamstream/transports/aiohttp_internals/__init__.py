"""The only folder that touches what aiohttp does not document.

A healthy stream must cost one call a chunk and no task, so bytes are transformed where aiohttp's parser feeds
the response's reader: the reader object keeps its identity (the parser, the response and the caller all hold
it) and is given a subclass without slots of its own; what it needs to know hangs on a stand-in for its
protocol. The response's connection is wrapped too, so that leaving the response in any way is noticed and
aiohttp's total timeout keeps watching over later attempts.

`aiohttp_self_test.problem` tells at import whether the installed aiohttp still works like that; if not,
nobody may call the rest.
"""

from .body import TappedBody, hold_end, let_end, observe_body, put_back
from .response import (
    blank_response,
    end_of_body,
    middlewares_of,
    missing_names,
    protocol_of,
    set_headers,
    stop_read_timeout,
    total_timeout_passed,
    wake_reader,
    watch_close,
)

__all__ = [
    "TappedBody",
    "blank_response",
    "end_of_body",
    "hold_end",
    "let_end",
    "middlewares_of",
    "missing_names",
    "observe_body",
    "protocol_of",
    "put_back",
    "set_headers",
    "stop_read_timeout",
    "total_timeout_passed",
    "wake_reader",
    "watch_close",
]

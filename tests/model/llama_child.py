"""The program of the model's process: llama.cpp's own HTTP server, from the `xllamacpp` wheel.

A process of its own, because the server is native code that keeps threads running until its process ends, and
because tests kill it with SIGKILL. Prints its address on one line once it serves, and lives until it is
killed or its standard input closes (so that it never outlives the test run).

    python llama_child.py WEIGHTS.gguf PORT CHAT_TEMPLATE CACHE

An empty template stands for the one that comes with the weights; an empty CACHE for none.
"""

from __future__ import annotations

import os
import sys

import xllamacpp  # type: ignore[import-untyped]

CONTEXT_TOKENS = 2048


def settings(weights: str, port: int, chat_template: str, cache: bool) -> xllamacpp.CommonParams:
    """One slot, one thread. Without a cache the same request is always computed in the same way."""
    params = xllamacpp.CommonParams()
    params.model.path = weights
    params.chat_template = chat_template
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.n_ctx = CONTEXT_TOKENS
    params.n_parallel = 1
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    params.cache_prompt = cache
    params.cache_ram_mib = 0
    params.warmup = False
    return params


def main() -> None:
    weights, port, chat_template, cache = sys.argv[1:]
    server = xllamacpp.Server(settings(weights, int(port), chat_template, bool(cache)))
    print(server.listening_address, flush=True)
    sys.stdin.read()
    # The native threads have no part in an orderly interpreter shutdown.
    os._exit(0)


if __name__ == "__main__":
    main()

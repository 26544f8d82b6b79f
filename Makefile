# Everything runs in .venv, which `make install` makes. PIP_ARGS is passed to every pip install.
PYTHON ?= python3
PIP_ARGS ?=
PYTEST_ARGS ?=
# Per cent of lines and branches that `make test` must run; it lists what it has not. Not measured if empty.
COVERAGE ?=
export COVERAGE
BIN := .venv/bin
# Kernels that only some machines need; a set one slows current numpy down, and rounds otherwise: with one, two of the 736
# golden questions end otherwise.
RUN := env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE
# Many images forbid compiled modules; each of the many processes that tests start would compile all of ours anew.
COMPILED := env -u PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help install install-dev up test test-slow test-alone test-beside screenshots check lint format types contracts collect eval bench clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-12s %s\n", $$1, $$2}'

# An environment without pip is half of one: it was left where the system lacks the package for `venv`, or by Ctrl-C.
# The pip that comes with Python 3.11 takes twice as long. torch goes first and by the constraints file: resolved later,
# it would bring gigabytes of CUDA along. What setuptools warns of at each installation in place is nobody's concern.
define INSTALL
@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; set PYTHON=...")'
@echo "Installing into .venv: a few minutes the first time, and some 2 GB."
@test -x $(BIN)/pip || $(PYTHON) -m venv .venv
$(BIN)/pip install --quiet --disable-pip-version-check $(PIP_ARGS) 'pip>=26,<27'
$(BIN)/pip install --quiet --disable-pip-version-check $(PIP_ARGS) -c constraints.txt torch
PYTHONWARNINGS=ignore $(BIN)/pip install --quiet --disable-pip-version-check $(PIP_ARGS) -c constraints.txt -e
endef

.venv/installed: pyproject.toml constraints.txt
	$(INSTALL) .
	@touch $@

# All at once: after the other, pip would look for the versions of everything a second time.
.venv/installed-dev: pyproject.toml constraints.txt
	$(INSTALL) '.[dev]'
	@touch .venv/installed $@

install: .venv/installed ## Make .venv and install into it

install-dev: .venv/installed-dev ## The same with what tests and checks need

up: .venv/installed ## Start everything on http://127.0.0.1:8765
	@exec $(COMPILED) $(BIN)/commonplace up

# Two threads that compute wait for each other by spinning, on the core that another process of the tests could use.
TEST := $(COMPILED) OMP_NUM_THREADS=1 $(BIN)/python -m pytest

# In one process more than there are cores, as tests also wait; each file in one of them, each process with a database of
# its own. Tests sort their files themselves.
SHARED := -n $$(($$(getconf _NPROCESSORS_ONLN) + 1)) --dist loadfile --no-loadscope-reorder

# Files with slow tests in them: to find the tests of all files first takes each of the processes ten seconds.
SLOW := $$(grep -rl --include 'test_*.py' 'mark\.slow' tests | grep -v '^tests/slow/')

test: .venv/installed-dev ## Run every test but the slow ones
	$(TEST) -m "not slow" $(SHARED) $(PYTEST_ARGS)

test-slow: test-alone test-beside ## Run the slow tests: browser, processes, training, kills, load, real data

test-alone: .venv/installed-dev ## Those of them that have to be in time, with the machine for themselves
	$(TEST) tests/slow $(PYTEST_ARGS)

test-beside: .venv/installed-dev ## All others of them
	$(TEST) $(SLOW) -m slow $(SHARED) $(PYTEST_ARGS)

screenshots: .venv/installed-dev ## Make pictures of every page into docs/screens
	$(BIN)/python -m pytest -q tests/e2e/screens.py

check: lint types contracts test ## Everything that a change must pass

lint: .venv/installed-dev ## Lint, and check the format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/djlint templates --check --lint --quiet

format: .venv/installed-dev ## Format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/djlint templates --reformat --quiet

types: .venv/installed-dev ## Check types
	$(BIN)/mypy

contracts: .venv/installed-dev ## Check the direction of imports
	$(BIN)/lint-imports

collect: .venv/installed-dev ## Find all tests, by which Python compiles what they import
	@said=$$($(TEST) --collect-only -q) || { echo "$$said"; exit 1; }

eval: .venv/installed ## Evaluate retrieval on the golden cases, or on a LoCoMo file: make eval FILE=...
	$(RUN) $(BIN)/commonplace eval $(if $(FILE),locomo $(FILE),golden)

bench: .venv/installed-dev ## Measure search and ingest
	$(RUN) $(BIN)/commonplace bench search
	$(RUN) $(BIN)/commonplace bench ingest

clean: ## Remove .venv and caches; the data folder stays
	rm -rf .venv build *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache

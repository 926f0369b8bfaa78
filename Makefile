# Every target makes its own environment in .venv: `make run` and `make test` work in a fresh clone.
PYTHON ?= python3
VENV := .venv
# Windows has its programs in another folder, with an ending.
EXE := $(if $(filter Windows_NT,$(OS)),.exe)
BIN := $(VENV)/$(if $(EXE),Scripts,bin)
PIP := $(BIN)/python -m pip --disable-pip-version-check
PINS := packaging/constraints.txt
ARGS ?=
# One worker for each core, eight at most; ARGS="-n0 --pdb" is one process. Tests of one group stay in one worker.
WORKERS := -n logical --maxprocesses 8 --dist loadgroup

# The tests start the programs many times: bytecode is kept, whatever the machine is told otherwise.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help run test check full lint types layers fix bench fuzz mutate soak pictures screenshots interop man venv clean

help: ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(BIN)/python$(EXE):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Python 3.11 or newer is needed; name it with PYTHON=..." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null \
	  || { echo "This Python cannot make environments: install python3-venv (Debian, Ubuntu)" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

# One stamp for what the program needs, one for the tests and checks, one for all with the reference implementations:
# each is one run of pip.
$(VENV)/run.stamp: pyproject.toml $(PINS) packaging/hook.py shardcore/codecs/native.c | $(BIN)/python$(EXE)
	$(PIP) install -q -e '.[gui]' -c $(PINS)
	@touch $@

$(VENV)/test.stamp: $(VENV)/run.stamp
	$(PIP) install -q -e '.[gui,test,check]' -c $(PINS)
	@touch $@

$(VENV)/interop.stamp: pyproject.toml $(PINS) packaging/hook.py shardcore/codecs/native.c | $(BIN)/python$(EXE)
	$(PIP) install -q -e '.[gui,test,check,interop]' -c $(PINS)
	@touch $(VENV)/run.stamp $(VENV)/test.stamp $@

$(VENV)/docs.stamp: pyproject.toml $(PINS) | $(BIN)/python$(EXE)
	$(PIP) install -q -e '.[docs]' -c $(PINS)
	@touch $@

venv: $(VENV)/test.stamp ## make .venv with everything but the reference implementations

interop: $(VENV)/interop.stamp ## add the reference implementations to .venv

run: $(VENV)/run.stamp ## open the window; ARGS="file.shard" opens a file
	$(BIN)/shardscope $(ARGS)

test: $(VENV)/test.stamp ## run the tests; ARGS="-k name" selects
	$(BIN)/python -m pytest $(WORKERS) $(ARGS)

check: lint types layers test ## everything a change must pass

full: $(VENV)/interop.stamp ## all tests with all matrices, the large files included
	SHARDSCOPE_FULL=1 $(BIN)/python -m pytest $(WORKERS) $(ARGS)

lint: $(VENV)/test.stamp ## ruff
	$(BIN)/ruff check .

types: $(VENV)/test.stamp ## mypy, strict
	$(BIN)/mypy

layers: $(VENV)/test.stamp ## import-linter
	$(BIN)/lint-imports

fix: $(VENV)/test.stamp ## let ruff mend what it can
	$(BIN)/ruff check --fix .

bench: $(VENV)/interop.stamp ## our times beside the reference implementations'
	$(BIN)/python -m tests.bench $(ARGS)

fuzz: $(VENV)/test.stamp ## damaged files for readers, writers and the window; ARGS="--minutes 10 --seed 7 --format swh"
	$(BIN)/python -m tests.fuzz $(ARGS)

mutate: $(VENV)/test.stamp ## break the program at random, and count what the tests detect; ARGS="--seed 1 --count 60"
	$(BIN)/python -m tests.mutate $(ARGS)

soak: $(VENV)/test.stamp ## use window and library for long, and fail on growth; ARGS="--minutes 60"
	$(BIN)/python -m tests.soak $(ARGS)

man: $(VENV)/test.stamp ## write the man pages into build/man; a wheel has them, too
	$(BIN)/python packaging/man.py build/man

.PHONY: docs
docs: $(VENV)/docs.stamp ## build the pages as a site in site/; strict, and complete without a network
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build $(ARGS)

.PHONY: bundle wheel
wheel: $(VENV)/test.stamp ## build the source archive and the wheels in dist, one for this system and one for all
	SHARDSCOPE_PURE=1 $(BIN)/python -m hatchling build
	$(BIN)/python -m hatchling build -t wheel

bundle: $(VENV)/test.stamp ## build dist/shardscope, which needs no Python; ARGS=--one-file adds an archive and a single file
	$(BIN)/python packaging/bundle.py $(ARGS)

pictures: $(VENV)/test.stamp ## render docs/images/ again, without a display; ARGS="window hex" makes some
	$(BIN)/python -m tests.pictures docs/images $(ARGS)

screenshots: $(VENV)/test.stamp ## panels and dialogs by zoom, theme and size in build/screenshots; ARGS="trace about" makes some
	$(BIN)/python -m tests.contact_sheet build/screenshots $(ARGS)

clean: ## remove caches and what was built
	rm -rf build dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

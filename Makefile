# Every target makes its own environment in .venv: `make run` and `make test` work in a fresh clone.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
PINS := packaging/constraints.txt
ARGS ?=
# One worker for each core, eight at most; ARGS="-n0 --pdb" is one process. Tests of one group stay in one worker.
WORKERS := -n logical --maxprocesses 8 --dist loadgroup

# The tests start the programs many times: bytecode is kept, whatever the machine is told otherwise.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help run test check lint types layers fix bench fuzz screenshots interop venv clean

help: ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Python 3.11 or newer is needed; name it with PYTHON=..." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null \
	  || { echo "This Python cannot make environments: install python3-venv (Debian, Ubuntu)" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

# One stamp for what the program needs, one for the tests and checks, one for the reference implementations.
$(VENV)/run.stamp: pyproject.toml $(PINS) | $(BIN)/python
	$(PIP) install -q -e . -c $(PINS)
	@touch $@

$(VENV)/test.stamp: $(VENV)/run.stamp
	$(PIP) install -q -e '.[test,check]' -c $(PINS)
	@touch $@

$(VENV)/interop.stamp: $(VENV)/test.stamp
	$(PIP) install -q -e '.[interop]' -c $(PINS)
	@touch $@

venv: $(VENV)/test.stamp ## make .venv with everything but the reference implementations

interop: $(VENV)/interop.stamp ## add the reference implementations to .venv

run: $(VENV)/run.stamp ## open the window; ARGS="file.shard" opens a file
	$(BIN)/shardscope $(ARGS)

test: $(VENV)/test.stamp ## run the tests; ARGS="-k name" selects, SHARDSCOPE_FULL=1 leaves no sample out
	$(BIN)/python -m pytest $(WORKERS) $(ARGS)

check: lint types layers test ## everything a change must pass

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

fuzz: $(VENV)/test.stamp ## throw damaged files at every reader
	$(BIN)/python -m tests.fuzz $(ARGS)

# Each picture: its name, then what is shown in it and how.
SHOT = QT_QPA_PLATFORM=offscreen $(BIN)/shardscope --size 1440x840 --screenshot
SAMPLES := resources/samples
SWH_KEY := 9d0c38e7aafe062c3a6dfc561e42771ec997d9359bb3d417ac4775a303292964

screenshots: $(VENV)/run.stamp ## render docs/images/ again, without a display
	@mkdir -p docs/images
	$(SHOT) docs/images/welcome.png
	$(BIN)/python -m shardcore compare --count 1000 --size 1K --svg docs/images/formats.svg --force
	$(SHOT) docs/images/swh.png $(SAMPLES)/swh/small.shard --trace $(SWH_KEY) --step 8 --show trace
	$(SHOT) docs/images/drawing.png $(SAMPLES)/swh/small.shard --trace $(SWH_KEY) --step 9 --show drawing:parking
	$(BIN)/shardcore draw $(SAMPLES)/swh/small.shard $(SWH_KEY) --name parking --svg docs/images/parking.svg
	$(BIN)/shardcore draw $(SAMPLES)/neuroglancer/worked/0.shard 9 --name bits --svg docs/images/bits.svg
	$(SHOT) docs/images/swh-dark.png $(SAMPLES)/swh/small.shard --select 0x48 --theme dark
	$(SHOT:1440x840=1680x840) docs/images/fields.png $(SAMPLES)/swh/small.shard --select 0x11b9
	$(SHOT) docs/images/mdb.png $(SAMPLES)/mdb/cache/b31c*.mdb --select 0x20
	$(SHOT) docs/images/xorb.png $(SAMPLES)/xorb/chunks.xorb --select 0x4
	$(SHOT) docs/images/bloscpack.png $(SAMPLES)/bloscpack/array.blp --select 0x2f6
	$(SHOT) docs/images/charts.png $(SAMPLES)/bloscpack/array.blp --select 0x2f6 --show charts
	$(SHOT) docs/images/des.png $(SAMPLES)/des/archive --trace 2090 --show trace
	$(SHOT) docs/images/neuroglancer.png $(SAMPLES)/neuroglancer/hashed --trace 101 --show trace
	$(SHOT) docs/images/neuroglancer-dark.png $(SAMPLES)/neuroglancer/volume --theme dark

clean: ## remove caches and what was built
	rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

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

# Each picture: its name, then what is shown in it and how. Drawings are SVG, light and dark.
SHOT = QT_QPA_PLATFORM=offscreen $(BIN)/shardscope --size 1440x$(or $(1),840) --screenshot
SAMPLES := resources/samples
SWH_KEY := a1d4f7a74d5e156d6a3be2432c2767fc6cdc91ab95b833e0f015cf38715b7cda
MDB_SHARD := mdb/cache/b31c58f4afe1d61b870f2aea365c952c79fd311d1fe55c9f3bbebf30df872205.mdb
MDB_KEY := 5baaad9078484f22d44f82ba555ae5892233d94389ba132c81e6421fcd4e8c68
ELEMENT := '[24,40]'
define draw
	$(BIN)/shardcore draw $(SAMPLES)/$(2) --name $(3) --svg docs/images/$(1).svg
	$(BIN)/shardcore draw $(SAMPLES)/$(2) --name $(3) --svg docs/images/$(1)-dark.svg --dark
endef

screenshots: $(VENV)/run.stamp ## render docs/images/ again, without a display
	@mkdir -p docs/images
	$(call draw,parking,swh/small.shard $(SWH_KEY),parking)
	$(call draw,displacement,swh/small.shard $(SWH_KEY),displacement)
	$(call draw,bits,neuroglancer/worked 9,bits)
	$(call draw,address,des/archive 2090,address)
	$(call draw,rulers,bloscpack/array.blp $(ELEMENT),rulers)
	$(call draw,block,bloscpack/array.blp $(ELEMENT),block)
	$(call draw,ribbons,$(MDB_SHARD) $(MDB_KEY),ribbons)
	$(call draw,cuts,$(MDB_SHARD) $(MDB_KEY),cuts)
	$(call draw,entrance,$(MDB_SHARD) $(MDB_KEY),entrance)
	$(call draw,records,xorb/chunks.xorb 1,records)
	$(call draw,lanes,xorb/chunks.xorb 1,lanes)
	$(call SHOT,920) docs/images/drawing.png $(SAMPLES)/swh/small.shard --trace $(SWH_KEY) --step 9 --show drawing:parking
	$(call SHOT,920) docs/images/drawing-dark.png $(SAMPLES)/swh/small.shard --trace $(SWH_KEY) --step 9 --show drawing:parking --theme dark
	$(call SHOT) docs/images/preview.png $(SAMPLES)/neuroglancer/segmentation/mesh/0.shard --select 7288 --show preview
	$(call SHOT) docs/images/preview-dark.png $(SAMPLES)/neuroglancer/segmentation/mesh/0.shard --select 7288 --show preview --theme dark
	$(call SHOT) docs/images/contents.png $(SAMPLES)/des/contents.des --select 0x2000 --show preview
	$(call SHOT) docs/images/contents-dark.png $(SAMPLES)/des/contents.des --select 0x2000 --show preview --theme dark
	$(call SHOT) docs/images/charts.png $(SAMPLES)/bloscpack/array.blp --select 0x2f6 --show charts
	$(BIN)/python -m tests.pictures docs/images

clean: ## remove caches and what was built
	rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

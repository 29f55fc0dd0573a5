# make replay    set everything up, and replay the resume contract on CrewAI
# make test      set everything up, and run the tests
# make lint      style and types
# make receipts  write the committed receipts anew
# make sweeps    measure the studies of receipts/studies anew, all releases among them
# make nightly   what takes long: the receipts, the sweeps, the grids with R8, the figures of benchmarks/
# make lock      pin the dependencies anew

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
MBT ?= $(BIN)/mbt
READY := $(VENV)/.ready
SPEC := specs/ResumeContract.tla
GRIDS := table2 table3 table3-r8 r10 r11 parked consumerace indcheck mechanisms

setup: $(READY)

$(READY): requirements/all.txt requirements/uv.txt pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/uv.txt
	$(BIN)/uv pip sync --quiet --require-hashes --python $(BIN)/python requirements/all.txt
	$(BIN)/uv pip install --quiet --no-deps --no-build-isolation --python $(BIN)/python --editable .
	touch $@

# A system that diverges is a result, not a failure of the target; wrong use and broken
# machinery (2 and more) are failures.
replay: $(READY)
	$(MBT) replay $(SPEC) --adapter crewai || [ $$? -eq 1 ]

test: $(READY)
	$(BIN)/python -m pytest

lint: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

receipts: $(READY)
	$(BIN)/python receipts/regenerate.py

sweeps: $(READY)
	$(BIN)/python receipts/sweeps.py

nightly: $(READY) receipts sweeps
	for grid in $(GRIDS); do $(MBT) matrix specs/$$grid.grid.toml --slow --write || exit $$?; done
	$(BIN)/python benchmarks/grid.py
	$(BIN)/python benchmarks/tour.py
	$(BIN)/python benchmarks/parse.py
	$(BIN)/python benchmarks/replay.py
	$(BIN)/python benchmarks/overheads.py
	$(BIN)/python benchmarks/reproductions.py

lock: $(READY)
	cd requirements && echo uv | ../$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --no-emit-index-url --no-emit-find-links --output-file uv.txt -
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate --no-emit-index-url --no-emit-find-links --python-version 3.11 --extra frameworks --extra dev --output-file requirements/all.txt pyproject.toml

.PHONY: setup replay test lint receipts sweeps nightly lock

# make replay: set everything up and replay the resume contract on CrewAI.
# make test:   set everything up and run the tests.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

setup: $(READY)

$(READY): requirements/dev.txt pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements/uv.txt
	$(BIN)/uv pip sync --quiet --require-hashes --python $(BIN)/python requirements/dev.txt
	$(BIN)/uv pip install --quiet --no-deps --no-build-isolation --python $(BIN)/python -e .
	touch $@

.PHONY: setup

# Both commands need Python 3.11 or newer and nothing else: `make PYTHON=python3.13 test` names another one.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test lint docs corpus rule bench-probe clean

demo: $(VENV)/.demo
	cd fixtures/demo && ../../$(BIN)/statelint check --exit-zero --python ../../$(BIN)/python

test: $(VENV)/.dev
	$(BIN)/python -m pytest -n 2

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

docs: $(VENV)/.demo
	$(BIN)/python docs/write_rules.py

corpus: $(VENV)/.dev
	$(BIN)/python tests/precision/corpus.py $(VENV)/corpus && STATELINT_CORPUS=$(VENV)/corpus $(BIN)/python -m pytest tests/precision

rule:
	@$(PYTHON) docs/new_rule.py '$(CODE)' '$(NAME)'

bench-probe: $(VENV)/.demo
	$(BIN)/python benchmarks/probe_scale.py

clean:
	rm -rf $(VENV)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo 'statelint needs Python 3.11 or newer: make PYTHON=python3.13 ...' >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[probe]'
	@touch $@

$(VENV)/.dev: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

# Both commands need Python 3.11 or newer and nothing else: `make PYTHON=python3.13 test` names another one.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test test-matrix test-311 test-313 test-jax05 lint docs corpus rule bench bench-probe clean

demo: $(VENV)/.demo
	cd fixtures/demo && ../../$(BIN)/statelint check --exit-zero --python ../../$(BIN)/python

test: $(VENV)/.dev
	$(BIN)/python -m pytest -n 2

# The whole suite on the oldest Python with its newest jax, on the newest of both, and with the oldest jax.
test-matrix: test-311 test-313 test-jax05

test-311:
	$(call test-on,3.11,.venv-311)

test-313:
	$(call test-on,3.13,.venv-313)

test-jax05:
	$(call test-on,3.11,.venv-jax05,tests/constraints-jax05.txt)

interpreter = $(shell for each in python$(1) "$$(pyenv root 2>/dev/null)"/versions/$(1).*/bin/python; do \
	"$$each" -c '' 2>/dev/null && { echo "$$each"; break; }; done)

define test-on
@test -n '$(call interpreter,$(1))' || { echo 'Python $(1) is missing: neither python$(1) nor a pyenv version of it runs' >&2; exit 1; }
$(MAKE) test VENV=$(2) PYTHON='$(call interpreter,$(1))' CONSTRAINTS=$(3)
endef

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

docs: $(VENV)/.demo
	$(BIN)/python docs/write_rules.py
	$(BIN)/statelint schema > docs/statelint.schema.json

corpus: $(VENV)/.dev
	$(BIN)/python tests/precision/corpus.py $(VENV)/corpus && STATELINT_CORPUS=$(VENV)/corpus $(BIN)/python -m pytest tests/precision

rule:
	@$(PYTHON) docs/new_rule.py '$(CODE)' '$(NAME)'

# QUICK=1 for a few files, WRITE=1 to write benchmarks/RESULTS.md, ONLY=cold for a part of the table.
bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks.bench --folder $(VENV)/bench $(if $(QUICK),--quick) $(if $(WRITE),--write) $(if $(ONLY),--only $(ONLY))

bench-probe:
	$(MAKE) bench ONLY=probe

clean:
	rm -rf $(VENV) .venv-311 .venv-313 .venv-jax05

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo 'statelint needs Python 3.11 or newer: make PYTHON=python3.13 ...' >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[probe]'
	@touch $@

$(VENV)/.dev: $(BIN)/python pyproject.toml $(CONSTRAINTS)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(addprefix --constraint ,$(CONSTRAINTS)) --editable '.[dev]'
	@touch $@

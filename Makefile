# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
MODEL ?= Qwen/Qwen3-8B
BUDGET ?= 12GB
HARDWARE ?= mi300x

.PHONY: demo test test-all lint check format schemas rules zoo bench wheel clean

# torch first and pinned: a range that admits a newer release pulls gigabytes of CUDA where a CPU build is at hand.
$(BIN)/solve: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet torch==2.13.0
	$(BIN)/python -m pip install --quiet --editable .
	touch $(BIN)/solve

# Quark comes without its extra `cli`, which pulls a torchvision that breaks transformers' imports.
$(VENV)/.dev: $(BIN)/solve
	$(BIN)/python -m pip install --quiet --editable '.[dev,quark]'
	touch $(VENV)/.dev

demo: $(BIN)/solve
	$(BIN)/solve $(MODEL) --budget $(BUDGET) --hardware $(HARDWARE) --yes --output $(VENV)/quant_plan.json
	$(BIN)/solve export $(VENV)/quant_plan.json --to quark-cli

test: $(VENV)/.dev
	$(BIN)/pytest -n 2

test-all: $(VENV)/.dev
	$(BIN)/pytest -n 2 -m 'slow or not slow'

lint: $(VENV)/.dev
	$(BIN)/ruff format --check solver tests bench
	$(BIN)/ruff check solver tests bench
	$(BIN)/mypy
	$(BIN)/lint-imports

check: lint test

format: $(VENV)/.dev
	$(BIN)/ruff format solver tests bench
	$(BIN)/ruff check --fix solver tests bench

schemas: $(BIN)/solve
	$(BIN)/python -m solver.schemas

rules: $(BIN)/solve
	$(BIN)/python -m solver.report.rules_page

zoo: $(BIN)/solve
	$(BIN)/python -m solver.intake.shipped

# The other benches: quark-exports, optimizer and sweep take minutes, kv-allocator needs vLLM. The slow tests hold the first.
bench: $(VENV)/.dev
	$(BIN)/python -m bench cold-start zoo optimizer-smoke

wheel: $(VENV)/.dev
	$(BIN)/python -m build --wheel

clean:
	rm -rf $(VENV) build dist

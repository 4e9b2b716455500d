# `make help` lists what there is. Works with GNU make 3.81 (macOS) and newer.

ifeq ($(OS),Windows_NT)
$(error The course does not run on Windows itself: install WSL2 (`wsl --install`) and run make there)
endif

PYTHON ?= python3
PORT ?= 8888
BROWSER ?=
TORCH_INDEX ?=
ARGS ?=

# In the activated conda environment of environment.yml, that one is used; else a .venv is made.
VENV := .venv
ifeq ($(CONDA_DEFAULT_ENV),multi-gpu-course)
VENV := $(CONDA_PREFIX)
endif
PY := $(VENV)/bin/python
READY := $(VENV)/.multi-gpu-course

.DEFAULT_GOAL := help
.PHONY: help lab test test-gpu lint notebooks exercises bench lock clean

help: ## List what there is
	@echo "make TARGET, where TARGET is one of"
	@awk -F ':[^#]*## ' '/^[a-z-]+:[^#]*## / { printf "  %-10s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

lab: $(READY) ## Open JupyterLab on the lessons (PORT=8890, BROWSER=firefox, BROWSER=none)
	@exec $(PY) house/lab.py --port '$(PORT)' --browser '$(BROWSER)'

test: $(READY) ## Install what the tests need, then run lint and all tests (ARGS='-k ring' for pytest)
	@sh house/debian.sh
	@$(MAKE) --no-print-directory lint
	$(PY) -m pytest --timeout=300 $(ARGS)

# A GPU node may have torch and pytest but no environment of ours: any Python will do.
test-gpu: ## Run the tests that need a GPU (ARGS for pytest)
	$(if $(wildcard $(PY)),$(PY),$(PYTHON)) -m pytest tests/gpu $(ARGS)

lint: $(READY) ## Check style, formatting and types
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy

notebooks: $(READY) ## Make the notebooks from source/*/lesson.py
	$(PY) -m autograder.notebooks build $(ARGS)

exercises: $(READY) ## Prove each exercise: stub, reference, right and wrong answers
	$(PY) -m autograder.prove $(ARGS)

bench: $(READY) ## Time checks, virtual GPUs and CUDA on the CPU against their rivals
	$(PY) -m tests.bench $(ARGS)

lock: ## Choose versions anew and write requirements.lock (needs Python 3.11)
	$(PYTHON) house/lock.py

clean: ## Remove the environment, caches and JupyterLab's memory; work/ and grades stay
	rm -rf .venv .jupyter build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(READY): requirements.lock pyproject.toml house/environment.sh
	@sh house/environment.sh '$(PYTHON)' '$(VENV)' '$(TORCH_INDEX)'
	@touch $@

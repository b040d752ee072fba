# One door for people and CI. Every target makes what it needs, from any Python 3.11 or newer that is found.

SHELL := /bin/sh
VENV := .venv
BIN := $(VENV)/bin
PYTHONS := python3 python3.14 python3.13 python3.12 python3.11
PACKAGE := $(VENV)/.package-installed
DEV := $(VENV)/.dev-installed
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.DELETE_ON_ERROR:
.PHONY: demo test check fix docs catalogue bench clean help

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-9s %s\n", $$1, $$2}' Makefile

demo: $(PACKAGE) ## watch a scripted model fix a bug with the real tools; needs no key and no network
	@$(BIN)/pinyon demo

test: $(DEV) ## run every test
	$(BIN)/python -m pytest -n 2 $(PYTEST_ARGS)

check: $(DEV) ## lint, formatting, types, room order, generated pages
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python scripts/generate_docs.py --check

fix: $(DEV) ## let ruff repair and format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(DEV) ## write the generated pages anew
	$(BIN)/python scripts/generate_docs.py

catalogue: $(DEV) ## build the data files of models anew from published data sets; needs the package index
	@mkdir -p build/data-sets
	$(BIN)/python -m scripts.build_catalogue --sources build/data-sets --download --write

bench: $(PACKAGE) ## measure; PI_CMD='…' puts the original's figures beside ours
	$(BIN)/python benchmarks/run.py $(BENCH_ARGS)
	$(BIN)/python benchmarks/sdk_sessions.py
	$(BIN)/python benchmarks/session_open.py
	$(BIN)/python benchmarks/search.py
	$(BIN)/python benchmarks/rpc_stress.py

clean: ## remove the virtual environment and caches
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

# A candidate counts when it is new enough and can make an environment with pip in it.
$(BIN)/python:
	@for candidate in $(PYTHONS); do \
		if $$candidate -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then \
			echo "creating $(VENV) with $$($$candidate --version)"; exec $$candidate -m venv --clear $(VENV); \
		fi; \
	done; \
	echo "Python 3.11 or newer with venv and ensurepip is needed; tried: $(PYTHONS)" >&2; exit 1

$(PACKAGE): pyproject.toml | $(BIN)/python
	$(INSTALL) -e .
	@touch $@

# The groups of pyproject.toml are read here, because pip understands them only from 25.1 on.
$(DEV): pyproject.toml $(PACKAGE)
	@$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["dependency-groups"]["dev"], sep="\n")' > $(VENV)/dev-requirements.txt
	$(INSTALL) -r $(VENV)/dev-requirements.txt
	@touch $@

# Two commands matter: `make demo` and `make test`. Each works alone on a fresh machine with Python >= 3.11 and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
COVERED := */metagcd/losses/*,*/metagcd/protocol/*,*/metagcd/evaluate/*,*/metagcd/cluster/*

BENCHMARKS := loading indexing head step embed kmeans count meta_step workspace
QUICK ?=

.PHONY: demo test test-slow lint format bench clean

demo: $(READY) ## discover digits on three seeds; ends in a table and a report
	@echo "== demo: a few minutes on two cores; interrupted, it goes on where it was"
	$(BIN)/metagcd demo

test: lint ## lint, types, imports, and the fast tests with coverage
	@echo "== tests"
	$(BIN)/python -m pytest --cov=metagcd --cov-report=
	@echo "== coverage of the parts that must be right: at least 95 %"
	$(BIN)/python -m coverage report --fail-under=95 --include='$(COVERED)'

test-slow: $(READY) ## every test, those that take longer included
	$(BIN)/python -m pytest -m "slow or not slow"

lint: $(READY) ## what pre-commit runs: ruff, pyright, import-linter
	@echo "== lint, format, types, imports"
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports

format: $(READY) ## rewrite the files in the project's format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY) ## speed and memory beside the plain reference, an hour alone on the machine; QUICK=--quick: does it run?
	@for name in $(BENCHMARKS); do echo "== $$name"; $(BIN)/python benchmarks/$$name.py $(QUICK) || exit 1; done

clean: ## remove the environment and caches; runs stay
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis .import_linter_cache .coverage dist

$(READY): pyproject.toml constraints.txt
	@echo "== installing into $(VENV): a minute or two and about 6 GB, most of it torch"
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "metagcd needs Python 3.11 or later; set PYTHON=")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "pip>=25.1"  # the first that installs groups
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[encoders,onnx]" --group dev
	@touch $(READY)

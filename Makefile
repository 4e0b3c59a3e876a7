# make test: everything a change must pass.   make nightly: tests that take minutes.
# make reproduce: the paper.   make bench: speeds.
PYTHON ?= python3
BIN := .venv/bin
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: reproduce test nightly bench clean

reproduce: .venv/installed
	$(BIN)/fpbandits reproduce

test: .venv/installed-test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest --numprocesses auto --dist loadfile

nightly: .venv/installed-test
	$(BIN)/pytest --numprocesses auto -m nightly

bench: .venv/installed-test
	$(BIN)/python benchmarks/analyze.py
	$(BIN)/python benchmarks/draws.py
	$(BIN)/python benchmarks/engine.py
	$(BIN)/python benchmarks/contexts.py
	$(BIN)/python benchmarks/scale.py
	$(BIN)/python benchmarks/fit.py
	$(BIN)/python benchmarks/evaluate.py

.venv/installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "fpbandits needs Python 3.11 or newer: make PYTHON=/path/to/python3.11 …" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --editable .
	@touch $@

.venv/installed-test: .venv/installed
	$(BIN)/pip install --quiet --editable '.[test]'
	@touch $@

clean:
	rm -rf .venv report

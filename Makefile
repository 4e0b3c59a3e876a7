# make test: everything a change must pass.   make nightly: tests that take minutes.
# make reproduce: the paper.   make bench: speeds.   make lab: a page to see it all.
# make docs: the site, build/docs.   make outputs: what commands in the docs print.   make dist: a wheel, tried.
PYTHON ?= python3
BIN := .venv/bin
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Python keeps the bytecode of what is imported; that of all other modules takes half a minute.
export PIP_COMPILE := 0

.PHONY: reproduce lab test types tests nightly bench docs outputs dist chromium clean

reproduce: .venv/installed
	$(BIN)/fpbandits reproduce

lab: .venv/installed-lab
	$(BIN)/fpbandits lab

test: .venv/installed-test chromium
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	@$(MAKE) --no-print-directory --jobs=2 types tests

types:
	$(BIN)/mypy

tests:
	$(BIN)/pytest --numprocesses auto --dist loadfile --no-loadscope-reorder -rs

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
	$(BIN)/python benchmarks/serve.py

docs: .venv/installed-docs
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going docs build/docs

outputs: .venv/installed-test
	$(BIN)/python docs/outputs.py

# PYTHON=python3.13 tries what was built with that version.
dist: .venv/installed-dist
	rm -rf dist
	$(BIN)/python -m build --outdir dist
	$(BIN)/twine check --strict dist/*
	.ci/try-dist dist/*.whl $(PYTHON)
	.ci/try-dist dist/*.tar.gz $(PYTHON)

.venv/made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "fpbandits needs Python 3.11 or newer: make PYTHON=/path/to/python3.11 …" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	@touch $@

.venv/installed: .venv/made pyproject.toml constraints.txt
	$(BIN)/pip install --quiet --editable '.[plot]'
	@touch $@

# The first to play need not wait for the compiler: what the lab begins with is compiled here.
.venv/installed-lab: .venv/made pyproject.toml constraints.txt
	$(BIN)/pip install --quiet --editable '.[lab]'
	$(BIN)/python -m fpbandits.lab.precompile
	@touch $@

.venv/installed-test: .venv/made pyproject.toml constraints.txt
	$(BIN)/pip install --quiet --editable '.[test]'
	@touch $@

.venv/installed-docs: .venv/made pyproject.toml constraints.txt
	$(BIN)/pip install --quiet --editable '.[docs]'
	@touch $@

.venv/installed-dist: .venv/made constraints.txt
	$(BIN)/pip install --quiet build twine
	@touch $@

# The browser of the lab's tests: on Debian, as root, it is installed if there is none. Elsewhere
# these tests are skipped, and say so.
chromium:
	@command -v chromium > /dev/null || command -v chromium-browser > /dev/null || \
		if command -v apt-get > /dev/null && [ "$$(id -u)" = 0 ]; then \
			{ apt-get update -qq && apt-get install -qq --yes --no-install-recommends chromium; } \
				> /dev/null || echo "Chromium could not be installed: the lab's page is not tested" >&2; \
		fi

clean:
	rm -rf .venv report build dist docs/reference

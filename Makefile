# Every target sets itself up: `make test` in a fresh clone, with nothing but Python 3.11 or newer, is enough.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SUFFIXES:
SHELL := /bin/bash

# Another Python has an environment of its own: make test PYTHON=python3.13 works in .venv-python3.13.
PYTHON ?= python3
VENV := .venv$(if $(filter python3 python,$(notdir $(PYTHON))),,-$(notdir $(PYTHON)))
PY := $(VENV)/bin/python
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
PORT ?= 8866
FLAGS ?=

# Caches live in the working tree; compiled JAX programs survive between runs, the many tiny ones too (a chapter of 30 s takes 11).
CACHE := $(CURDIR)/.cache
export JAX_COMPILATION_CACHE_DIR ?= $(CACHE)/jax
export JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS ?= 0
export JAX_PLATFORMS ?= cpu
export MPLCONFIGDIR ?= $(CACHE)/matplotlib
# Bytecode is kept also where the environment forbids it: a hundred short processes would compile pandas and JAX anew.
export PYTHONDONTWRITEBYTECODE :=

PIP := $(PY) -m pip --disable-pip-version-check --quiet
SETUP := pyproject.toml constraints.txt constraints-newest.txt
TESTED = $(shell $(PY) -c 'import sys; print("constraints.txt" if sys.version_info < (3, 12) else "constraints-newest.txt")')

.PHONY: help setup demo app page test check slow versions peers docs readme notebooks outputs bench scoreboard case wheel clean

help:
	@echo "make demo       a real table to a release, a posterior, a summary and a figure"
	@echo "make app        six tools in a browser: explorer, calibration, budget, regression, your own data, published numbers"
	@echo "make page       dp_bayes_nb/page/dp_bayes.html from page/: one file that answers six questions without Python"
	@echo "make test       set-up, then every test; closes 'N passed, N failed' (PYTHON=python3.13: on another Python)"
	@echo "make check      one notebook: export, lint, types, its cells and its outputs (NB='chains/collapsed')"
	@echo "make slow       the repetitions and the statistical checks, file by file into results/slow.json; goes on where it ended"
	@echo "make versions   the tests of tables on the lowest and newest versions of DuckDB, narwhals and OpenDP"
	@echo "make peers      OpenDP, mbi, Tumult, DP Wizard and PipelineDP of today, each in a throw-away environment (PEER='mbi …')"
	@echo "make docs       the site, into _docs/ (VERSIONS=FOLDER: a copy there, in a folder named after the version)"
	@echo "make notebooks  run every notebook and save its outputs (NB='name …' for some)"
	@echo "make outputs    run every notebook but its slow cells and compare with the saved outputs (NB='name …')"
	@echo "make readme     README.md from nbs/index.ipynb"
	@echo "make bench      the benchmarks, into results/"
	@echo "make scoreboard coverage, width and time beside published figures, into results/scoreboard.json (ROW='name …' anew)"
	@echo "make case       the case study with hidden Markov models, into results/ (FLAGS=--fresh: anew)"
	@echo "make wheel      the wheel in empty environments, one an extra (FLAGS='--extras all --pythons 3.11 3.12 3.13')"
	@echo "make clean      remove what was built (not $(VENV))"

# A virtual environment, then the package with an extra; repeated when its requirements or the tested versions change.
$(VENV)/bin/pip:
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed; found " + sys.version.split()[0] + "; set PYTHON=python3.13") if sys.version_info < (3, 11) else None'
	@echo "Setting up $(VENV)"
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.dev: $(SETUP) | $(VENV)/bin/pip
	@echo "Installing dp_bayes_nb with its tools"
	@$(PIP) install --no-compile -c $(TESTED) -e '.[dev]'
	@touch $(VENV)/.demo $(VENV)/.app $@

$(VENV)/.demo: $(SETUP) | $(VENV)/bin/pip
	@echo "Installing dp_bayes_nb with the demo's data"
	@$(PIP) install --no-compile -c $(TESTED) -e '.[demo]'
	@touch $@

$(VENV)/.app: $(SETUP) | $(VENV)/bin/pip
	@echo "Installing dp_bayes_nb with its app"
	@$(PIP) install --no-compile -c $(TESTED) -e '.[app]'
	@touch $@

setup: $(VENV)/.dev

demo: $(VENV)/.demo
	@$(PY) tools/demo.py

# Only this machine can open the page, and only with the token in the address that is printed.
app: $(VENV)/.app
	@$(PY) tools/app.py --port $(PORT)

# The standard library is enough; a test holds the file to its sources.
page:
	@$(PYTHON) tools/page.py

test: $(VENV)/.dev
	@$(PY) tools/test.py --workers $(JOBS) $(FLAGS)

slow: $(VENV)/.dev
	@$(PY) tools/test.py --workers $(JOBS) --slow $(FLAGS)

# Before a version: what reads tables, at the ends of what settings.ini allows.
versions: $(VENV)/.dev
	@$(PY) tools/test.py --versions $(FLAGS)

# Before a version: what the readers of other tools read, made by these tools; needs Java, and 10 minutes.
peers: $(VENV)/.dev
	@$(PY) tools/other_tools.py $(PEER)

docs: $(VENV)/.dev
	@$(PY) tools/docs.py $(VERSIONS)

check: $(VENV)/.dev
	@$(PY) tools/check.py $(NB)

readme: $(VENV)/.dev
	@$(PY) tools/readme.py

notebooks: $(VENV)/.dev
	@$(PY) tools/execute.py $(NB)
	@$(PY) tools/readme.py

outputs: $(VENV)/.dev
	@$(PY) tools/execute.py --check --quick $(NB)

bench: $(VENV)/.dev
	@set -e; for script in benchmarks/*.py; do echo "$$script"; $(PY) $$script; done

# A row at a time, kept at once; goes on where it was interrupted.
scoreboard: $(VENV)/.dev
	@$(PY) benchmarks/scoreboard.py $(ROW)

# Two tables, every route, and the posteriors of their releases; goes on where it was interrupted.
case: $(VENV)/.dev
	@$(PY) nbs/papers/hmm_case.py --processes $(JOBS) $(FLAGS)

# What a stranger installs; without FLAGS the package alone, for this Python.
wheel: $(VENV)/.dev
	@$(PY) tools/install.py $(FLAGS)

clean:
	rm -rf _docs _proc build dist *.egg-info .cache .pytest_cache .mypy_cache .ruff_cache
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +

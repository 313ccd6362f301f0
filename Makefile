# Everything runs in .venv, which is made when it is missing. PYTHON chooses the interpreter.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -q

.DEFAULT_GOAL := help
.PHONY: help demo test test-cluster test-kafka check fmt bench figures docs clean

help:
	@echo 'make demo    answer three sample questions with cepheid, on Spark (needs Java 17 or later)'
	@echo 'make test    run all checks, tests and documentation examples'
	@echo 'make test-cluster  run a query on a Spark cluster of three JVMs on this machine'
	@echo 'make test-kafka    run a query between two topics of a Kafka broker on this machine'
	@echo 'make check   run the linter, the type checker and the import rules'
	@echo 'make fmt     format the code and mend what the linter can mend'
	@echo 'make bench   measure speed and memory (some minutes); results in build/benchmarks'
	@echo 'make figures  draw the figures of the papers with cepheid (some 10 minutes); in build/benchmarks'
	@echo 'make docs    build these pages as a site, in build/site'
	@echo 'make clean   remove .venv, caches and build products'
	@echo
	@echo 'PYTHON=...   the interpreter to make .venv with (Python 3.11 or later; default python3)'

demo: $(VENV)/.installed
	@$(BIN)/cepheid demo --spark 'local[*]'

test: check
	$(BIN)/pytest -n 2 --dist loadgroup

test-cluster: $(VENV)/.installed-dev
	CEPHEID_CLUSTER=1 $(BIN)/pytest tests/cluster

# The broker and Spark's connector come from the Java registry, by Maven.
KAFKA := build/kafka
FETCH := mvn -q dependency:copy-dependencies -DincludeScope=runtime
test-kafka: $(VENV)/.installed-dev
	@if $(FETCH) -f tests/kafka/broker.xml -DoutputDirectory=$(CURDIR)/$(KAFKA)/broker \
	&& $(FETCH) -f tests/kafka/connector.xml -DoutputDirectory=$(CURDIR)/$(KAFKA)/connector; then \
		CEPHEID_KAFKA=$(CURDIR)/$(KAFKA) $(BIN)/pytest tests/kafka; \
	else \
		echo 'test-kafka is skipped: Maven could not fetch the broker and the connector'; \
	fi

check: $(VENV)/.installed-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

fmt: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: $(VENV)/.installed-dev
	$(PIP) install -e '.[bench]'
	$(BIN)/python -m benchmarks.agrawal08
	$(BIN)/python -m benchmarks.buffers
	$(BIN)/python -m benchmarks.c_bound
	$(BIN)/python -m benchmarks.wu06
	$(BIN)/python -m benchmarks.parquet_file
	$(BIN)/python -m benchmarks.zhang10
	$(BIN)/python -m benchmarks.streaming_memory
	$(BIN)/python -m benchmarks.many_matches
	$(BIN)/python -m benchmarks.first_use

figures: $(VENV)/.installed-dev
	$(PIP) install -e '.[bench]'
	$(BIN)/python -m benchmarks.figures

docs: $(VENV)/.installed-dev
	$(PIP) install -e '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict -q
	@echo 'open build/site/index.html'

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "cepheid needs Python 3.11 or later, and '$(PYTHON)' is not: name another one," >&2; \
		echo "for example: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; \
		exit 1; }
	@echo 'Making $(VENV) with $(PYTHON)'
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	@echo 'Installing cepheid into $(VENV)'
	@$(PIP) install -e '.[spark]'
	@touch $@

$(VENV)/.installed-dev: pyproject.toml | $(BIN)/python
	@echo 'Installing cepheid and its development tools into $(VENV)'
	@$(PIP) install -e '.[dev,spark]'
	@touch $(VENV)/.installed $@

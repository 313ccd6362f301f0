# Everything runs in .venv, which is created if it does not exist. PYTHON chooses the interpreter.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -q

.DEFAULT_GOAL := help
.PHONY: help demo test browser test-checked test-cluster test-kafka test-tables test-spark pipeline test-lowest fuzz check fmt bench figures peers notebooks docs dist clean

help:
	@echo 'make demo          run three sample queries on Spark (needs Java 17 or later)'
	@echo 'make pipeline      run the example of a pipeline on Spark, and kill and restart it'
	@echo 'make test          run all checks, tests and documentation examples'
	@echo 'make browser       install Chromium for the tests of pages, if there is none'
	@echo 'make test-checked  run the agreement tests with kernels that check every index'
	@echo 'make test-cluster  run a query on a local Spark cluster of three JVMs'
	@echo 'make test-kafka    run a query between two topics of a local Kafka broker (needs Maven)'
	@echo 'make test-tables   run queries over Delta and Iceberg tables, with Spark 4.1 (needs Maven)'
	@echo 'make test-spark    run the tests of Spark on another version of it: SPARK=4.1'
	@echo 'make test-lowest   run the tests with the oldest versions of all dependencies that are allowed'
	@echo 'make fuzz          run the fuzzers for MINUTES (default: 3); findings are in build/fuzz'
	@echo 'make check         run the linter, the type checker and the import rules'
	@echo 'make fmt           format the code and apply automatic lint fixes'
	@echo 'make bench         measure speed and memory (several minutes); writes build/benchmarks'
	@echo 'make figures       repeat the experiments of the papers (about 10 minutes); writes build/benchmarks'
	@echo 'make peers         ask cepheid, Flink, Esper, Siddhi, DuckDB, Polars and others the same (needs Maven for some)'
	@echo 'make notebooks     execute the notebooks of docs/notebooks (several minutes; Spark)'
	@echo 'make docs          build the documentation site in build/site'
	@echo 'make dist          build the source archive and the wheels, and try each wheel in an empty environment'
	@echo 'make clean         remove .venv, caches and build products'
	@echo
	@echo 'PYTHON=...         the interpreter for .venv (Python 3.11 or later; default: python3)'

demo: $(VENV)/.installed
	@$(BIN)/cepheid demo --spark 'local[*]'

pipeline: $(VENV)/.installed-dev
	$(BIN)/python examples/pipeline/pipeline.py demo
	CEPHEID_PIPELINE=3 $(BIN)/pytest tests/spark/test_pipeline.py

test: check
	$(BIN)/pytest -n 2 --dist loadgroup

# The pages of report and studio are tested in Chromium: from the system's packages, or Playwright.
browser: $(VENV)/.installed-dev
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v chrome >/dev/null \
	|| { apt-get update -q && apt-get install -y -q --no-install-recommends chromium; } >/dev/null 2>&1 \
	|| $(BIN)/playwright install chromium-headless-shell >/dev/null 2>&1 \
	|| echo 'there is no Chromium: the tests of the report page in a browser are skipped'

CHECKED := tests/agreement tests/engines tests/sessions
test-checked: $(VENV)/.installed-dev
	CEPHEID_CHECKED=1 $(BIN)/pytest -n 2 --dist loadgroup $(CHECKED)

SPARK ?= 4.1
OTHER := build/spark-$(SPARK)
.PHONY: spark-environment
spark-environment: $(VENV)/.installed-dev
	@$(PIP) install uv
	@$(BIN)/uv venv -q --clear --python $(BIN)/python $(OTHER)
	@VIRTUAL_ENV=$(CURDIR)/$(OTHER) $(BIN)/uv pip install -q -e '.[dev,spark]' 'pyspark[connect]==$(SPARK).*'

test-spark: spark-environment
	$(OTHER)/bin/pytest -n 2 --dist loadgroup tests/spark

LOWEST := build/lowest
LOWEST_TESTS ?= tests/api tests/cli tests/language tests/sessions tests/engines
test-lowest: $(VENV)/.installed-dev
	@$(PIP) install uv
	@$(BIN)/uv venv -q --clear --python $(BIN)/python $(LOWEST)
	@VIRTUAL_ENV=$(CURDIR)/$(LOWEST) $(BIN)/uv pip install -q --resolution lowest-direct -e '.[dev,spark,sql]'
	$(LOWEST)/bin/pytest -n 2 --dist loadgroup $(LOWEST_TESTS)

MINUTES ?= 3
fuzz: $(VENV)/.installed-dev
	@$(PIP) install atheris 2>/dev/null || echo 'atheris cannot be installed here: cases are chosen at random'
	$(BIN)/python -m fuzz --minutes $(MINUTES)

test-cluster: $(VENV)/.installed-dev
	CEPHEID_CLUSTER=1 $(BIN)/pytest tests/cluster

# Maven downloads the broker and Spark's Kafka connector.
KAFKA := build/kafka
FETCH := mvn -q dependency:copy-dependencies -DincludeScope=runtime
test-kafka: $(VENV)/.installed-dev
	@if $(FETCH) -f tests/kafka/broker.xml -DoutputDirectory=$(CURDIR)/$(KAFKA)/broker \
	&& $(FETCH) -f tests/kafka/connector.xml -DoutputDirectory=$(CURDIR)/$(KAFKA)/connector; then \
		CEPHEID_KAFKA=$(CURDIR)/$(KAFKA) $(BIN)/pytest tests/kafka; \
	else \
		echo 'test-kafka skipped: Maven could not download the broker and the connector'; \
	fi

# Maven downloads Delta and Iceberg, which exist for Spark 4.1.
TABLES := build/tables
test-tables: SPARK := 4.1
test-tables: $(VENV)/.installed-dev
	@if $(FETCH) -f tests/tables/jars.xml -DoutputDirectory=$(CURDIR)/$(TABLES); then \
		$(MAKE) spark-environment SPARK=$(SPARK) && \
		CEPHEID_TABLES=$(CURDIR)/$(TABLES) build/spark-$(SPARK)/bin/pytest tests/tables; \
	else \
		echo 'test-tables skipped: Maven could not download Delta and Iceberg'; \
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

peers: $(VENV)/.installed-dev
	$(PIP) install -e '.[bench]'
	$(BIN)/python -m benchmarks.peers

notebooks: $(VENV)/.installed-dev
	$(PIP) install -e '.[notebooks]'
	$(BIN)/python docs/notebooks/make.py

docs: $(VENV)/.installed-dev
	$(PIP) install -e '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict -q
	@echo 'open build/site/index.html'

# The pure wheel is built from the source archive, and the wheel for this platform from the pure one.
# Each is tried in another folder, without git, with an empty cache.
dist: $(VENV)/.installed-dev
	@$(PIP) install build
	rm -rf dist build/wheel
	$(BIN)/python -m build -q
	$(BIN)/python distribution/platform_wheel.py dist/*-none-any.whl
	@for wheel in dist/*.whl; do \
		rm -rf build/wheel && $(BIN)/python -m venv build/wheel \
		&& build/wheel/bin/pip --disable-pip-version-check -q install $$wheel \
		&& cp tests/distribution/smoke.py build/wheel/ \
		&& (cd build/wheel && env -i HOME=$(CURDIR)/build/wheel PATH= bin/python smoke.py) || exit 1; \
	done
	@ls -l dist

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "cepheid needs Python 3.11 or later, but '$(PYTHON)' is older. Choose another interpreter," >&2; \
		echo "for example: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; \
		exit 1; }
	@echo 'Creating $(VENV) with $(PYTHON)'
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	@echo 'Installing cepheid into $(VENV)'
	@$(PIP) install -e '.[spark]'
	@touch $@

$(VENV)/.installed-dev: pyproject.toml | $(BIN)/python
	@echo 'Installing cepheid and its development tools into $(VENV)'
	@$(PIP) install -e '.[dev,spark]'
	@touch $(VENV)/.installed $@

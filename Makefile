# Everything runs in .venv, which the first target that needs it creates. `make help` lists targets.

VENV := .venv
PY := $(VENV)/bin/python
# Tests start some 60 Python processes: those after the first find compiled files.
PYTEST := PYTHONDONTWRITEBYTECODE= $(PY) -m pytest
STAMP := $(VENV)/.installed
DOCS := $(VENV)/.docs
MUTMUT := $(VENV)/.mutmut
# Such as f3ast_tff.methods.mifa.*; all by default, which takes hours.
MUTANTS ?=
# Flower needs a newer protobuf than TensorFlow: an environment of its own.
FLOWER := .venv-flower
# pfl-research has no release for Python 3.13.
PFL := .venv-pfl
# `pip install '.[fused,parquet]'` on Python 3.11, without a lock.
RESOLVED := build/venv-resolved
# PyTorch takes 5 GB.
TORCH := .venv-torch
UV ?= uv
# The interpreter that .venv is made with, such as python3.13; by default see tools/bootstrap.sh.
PYTHON ?=

TEST_PROCESSES ?= 2
# Of `fast-tests`; CI adds the long ones of the engines on the newest Python.
FAST ?= not long
CHROMIUM ?= chromium
DIST_PYTHONS ?=
CASES ?=
RAY_TESTS := tests/f3ast_tff/engines/distributed tests/examples
QUICK_TESTS := tests/availability tests/f3ast_tff/test_imports.py \
  $(addprefix tests/f3ast_tff/,core files settings delivery optimizers methods records run scores) \
  tests/f3ast_tff/cli/test_comma_lists.py \
  $(addprefix tests/analysis/compare/test_,judge.py paired_difference.py)
# These meet NumPy, pandas and JAX; the others run with the locks of the oldest and newest Python.
RESOLVED_TESTS := tests/analysis/compare tests/f3ast_tff/engines/test_recorded_rounds.py \
  $(addprefix tests/f3ast_tff/,core records run)
QUICK = -q -x -m "not long and not slow and not page and not ray and not tff" -n $(TEST_PROCESSES) \
  --dist loadfile --no-loadscope-reorder
DATA_DIR ?= $(HOME)/.cache/f3ast_tff
BENCH_DIR ?= runs/bench_gpu
DEMO_DIR ?= runs


help:  ## List the targets
	@awk -F ':.*## *' '/^[a-z-]+:.*##/ { printf "%-14s%s\n", $$1, $$2 }' Makefile

demo: $(STAMP)  ## f3ast-tff demo, then the engines checked against each other (DEMO_DIR)
	@$(PY) run_experiments.py demo --output_dir=$(DEMO_DIR)
	@for engine in fused $$(grep -q '^lock' $(STAMP) && echo tff); do \
	  $(PY) run_experiments.py --task=synthetic --algorithm=f3ast --availability=home_devices \
	    --engine=$$engine --rounds=30 --eval_every=5 \
	    --output_dir=$(DEMO_DIR)/demo_engines --run_name=$$engine || exit 1; \
	done
	@tff=$(DEMO_DIR)/demo_engines/tff; [ -d $$tff ] || tff=examples/recorded_tff_run; \
	  $(PY) -m f3ast_tff.analysis.agreement $(DEMO_DIR)/demo_engines/fused $$tff

test: style  ## Lint, and run the tests not marked long or slow
	@$(MAKE) --no-print-directory -j 2 types fast-tests

fast-tests: $(STAMP)
	$(PYTEST) -m "not slow and not page and not ray and $(FAST)" -n $(TEST_PROCESSES) --dist loadfile --no-loadscope-reorder

check: style  ## Lint, and run the tests that need neither TensorFlow nor a command, in one to two minutes
	@$(MAKE) --no-print-directory -j 2 types quick-tests

quick-tests: $(STAMP)
	$(PYTEST) $(QUICK) $(QUICK_TESTS)

test-resolved: $(RESOLVED)/.installed  ## Run tests of tables, runs and compiled rounds with what pip itself resolves
	PYTHONDONTWRITEBYTECODE= $(RESOLVED)/bin/python -m pytest $(QUICK) $(RESOLVED_TESTS)

# These two with XLA's optimisations, which the other tests do without.
test-slow test-long: export JAX_DISABLE_MOST_OPTIMIZATIONS = 0
test-slow: $(STAMP) $(DOCS)  ## Run the tests marked slow
	$(PY) -m pytest -m "slow and not ray"

test-long: $(STAMP)  ## Run the tests marked long, of the engines the slow ones too, optimised as runs are
	$(PYTEST) --durations=40 -m "((long and not slow) or (slow and engines)) and not page and not ray" -n $(TEST_PROCESSES) --dist loadfile --no-loadscope-reorder

test-page: $(STAMP)  ## Open a report's page, and the site of `make docs`, in headless Chromium (CHROMIUM)
	@command -v $(CHROMIUM) >/dev/null || { \
	  echo "error: $(CHROMIUM) is not there: apt-get install chromium, or set CHROMIUM" >&2; exit 1; }
	CHROMIUM=$(CHROMIUM) $(PY) -m pytest -m page tests/analysis/report tests/test_site_page.py

test-ray: $(STAMP)  ## Run the tests on Ray clusters that are not slow
	$(PY) -m pytest -m "ray and not slow" $(RAY_TESTS)
	$(PY) -m pytest -m "ray and not slow" tests/f3ast_tff/campaigns/test_ray_cluster.py

test-ray-slow: $(STAMP)  ## Run the slow ones: of two nodes one is killed
	$(PY) -m pytest -m "ray and slow" tests/f3ast_tff/campaigns/test_ray_cluster.py
	$(PY) -m pytest tests/f3ast_tff/settings/test_ray_run.py
	$(PY) -m pytest -m "ray and slow" $(RAY_TESTS)

dist: $(STAMP)  ## Build wheel and sdist into dist/, check them and run the wheel elsewhere (DIST_PYTHONS)
	tools/dist.sh $(PY) $(DIST_PYTHONS)

record-tff: $(STAMP)  ## Record what TFF computes, for Pythons without it (CASES; Python 3.11)
	$(PY) -m tests.f3ast_tff.engines.recorded_rounds $(CASES)

test-flower: $(FLOWER)/.installed  ## Run the tests of Flower, in an environment of their own
	FLWR_TELEMETRY_ENABLED=0 $(FLOWER)/bin/python -m pytest -m "not slow" tests/f3ast_tff/flower tests/examples/test_flower_synthetic.py

test-flower-slow: $(FLOWER)/.installed  ## Run the slow ones: a thousand schedules and replies, and a network
	FLWR_TELEMETRY_ENABLED=0 $(FLOWER)/bin/python -m pytest -m slow tests/f3ast_tff/flower

test-pfl: $(PFL)/.installed  ## Run the tests of pfl-research, in an environment of Python 3.12
	$(PFL)/bin/python -m pytest tests/f3ast_tff/test_pfl.py tests/examples/test_audited_servers.py

test-torch: $(TORCH)/.installed  ## Run the tests of PyTorch and scikit-learn, in an environment of their own
	$(TORCH)/bin/python -m pytest tests/f3ast_tff/test_torch.py tests/examples/test_sklearn_digits.py tests/examples/test_folder_per_client.py tests/examples/test_peft_adapters.py tests/test_notebooks.py::test_pytorch

lint: style types  ## Check style, formatting and types

style: $(STAMP)
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .

types: $(STAMP)
	$(PY) -m mypy

format: $(STAMP)  ## Apply the formatter and the safe fixes
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

docs-tables: $(STAMP)  ## Write the tables of components and of methods, and the lists of docs/reference and of papers
	$(PY) -m tools.component_table
	$(PY) -m tools.reference_lists
	$(PY) -m tools.paper_list
	$(PY) -m tools.server_table
	$(PY) -m tools.method_table

notebooks: $(DOCS)  ## Execute the notebooks of examples/ and keep their outputs in them
	$(PY) -m tools.notebooks examples/first_run.ipynb examples/own_strategy.ipynb examples/table_cell.ipynb

.PHONY: docs docs-serve dist notebooks mutants
docs: $(DOCS)  ## Build the site into build/site
	rm -rf build/pages build/site
	$(PY) -m tools.docs_site build/pages
	$(VENV)/bin/zensical build --strict --clean

docs-serve:  ## Serve the built site at http://localhost:8000, with its search (PORT)
	$(PY) -m http.server --directory build/site --bind localhost $(or $(PORT),8000)

bench: $(STAMP)  ## Measure the cost of a round on each engine, and memory
	$(PY) -m benchmarks.round_cost
	$(PY) -m benchmarks.memory
	$(PY) -m benchmarks.engine_speed
	$(PY) -m benchmarks.host_engine
	$(PY) -m benchmarks.start_up
	$(PY) -m benchmarks.campaign_overhead
	$(PY) -m benchmarks.availability_speed
	$(PY) -m benchmarks.report_speed
	$(PY) -m benchmarks.ray_rounds
	taskset -c 0 $(PY) -m benchmarks.selection_scale

bench-gpu: $(STAMP)  ## Measure rounds on a GPU in under 10 minutes: layers, precision, lanes, equality (BENCH_DIR)
	$(PY) -m benchmarks.gpu --out $(BENCH_DIR)

# Compiled files that are copied with the tests bear the names of the originals.
mutants: $(MUTMUT)  ## Change methods, delivery and rates in many places, and list the changes that no test notices (MUTANTS)
	PYTHONPYCACHEPREFIX=$(CURDIR)/build/pycache $(VENV)/bin/mutmut run $(MUTANTS)
	$(VENV)/bin/mutmut results | grep -v "not checked" || true

bench-data: $(STAMP)  ## The same for the real data and the large models (DATA_DIR)
	$(PY) -m benchmarks.data_layer --data_dir $(DATA_DIR)
	$(PY) -m benchmarks.centralised --data_dir $(DATA_DIR)
	$(PY) -m benchmarks.model_rounds --data_dir $(DATA_DIR) --task cifar100
	$(PY) -m benchmarks.model_rounds --data_dir $(DATA_DIR) --task shakespeare

lock:  ## Regenerate the .txt files of requirements/ from pyproject.toml and the .in files (needs uv)
	$(UV) pip compile --no-config --quiet --universal --python-version 3.12 --only-binary :all: \
	  --generate-hashes --no-emit-index-url --custom-compile-command "make lock" \
	  pyproject.toml --extra fused --extra parquet --extra trial requirements/fused.in -o requirements/fused.txt
	$(UV) pip compile --no-config --quiet --universal --python-version 3.12 --only-binary :all: \
	  --generate-hashes --no-emit-index-url --custom-compile-command "make lock" \
	  pyproject.toml --extra fused --extra flower requirements/flower.in -o requirements/flower.txt
	$(UV) pip compile --no-config --quiet --universal --python-version 3.12 --only-binary :all: \
	  --generate-hashes --no-emit-index-url --custom-compile-command "make lock" \
	  pyproject.toml --extra pfl requirements/pfl.in -o requirements/pfl.txt
	$(UV) pip compile --no-config --quiet --universal --python-version 3.12 --only-binary :all: \
	  --generate-hashes --no-emit-index-url --custom-compile-command "make lock" \
	  pyproject.toml --extra fused --extra torch requirements/torch.in -o requirements/torch.txt
	$(UV) pip compile --no-config --quiet --universal --python-version 3.11 --only-binary :all: \
	  --generate-hashes --no-emit-index-url --custom-compile-command "make lock" \
	  requirements/build.in -o requirements/build.txt
	$(UV) pip compile --quiet --universal --python-version 3.11 --only-binary :all: \
	  --override requirements/overrides.txt --generate-hashes --no-emit-index-url \
	  --custom-compile-command "make lock  (requirements/overrides.txt says why it overrides pins)" \
	  pyproject.toml --extra tff --extra fused --extra parquet --extra ray --extra trial requirements/lock.in \
	  -o requirements/lock.txt
	$(UV) pip compile --no-config --quiet --universal --python-version 3.11 --constraint requirements/lock.txt \
	  --generate-hashes --no-emit-index-url --no-emit-package packaging --custom-compile-command "make lock" \
	  requirements/docs.in -o requirements/docs.txt
	$(UV) pip compile --quiet --universal --python-version 3.11 --constraint requirements/lock.txt \
	  --generate-hashes --no-emit-index-url --custom-compile-command "make lock" \
	  requirements/mutants.in -o requirements/mutants.txt

$(STAMP): requirements/lock.txt requirements/fused.txt
	@PYTHON='$(PYTHON)' tools/bootstrap.sh $(VENV)

$(FLOWER)/.installed: requirements/flower.txt
	@PYTHON='$(PYTHON)' tools/bootstrap.sh $(FLOWER) flower.txt

$(PFL)/.installed: requirements/pfl.txt
	@PYTHON='$(or $(PYTHON),python3.12)' tools/bootstrap.sh $(PFL) pfl.txt

$(RESOLVED)/.installed: pyproject.toml requirements/fused.in
	rm -rf $(RESOLVED)
	$$(tools/pythons.sh 11 11) -m venv $(RESOLVED)
	$(RESOLVED)/bin/python -m pip install -qq --disable-pip-version-check --no-input \
	  --editable '.[fused,parquet]' -r requirements/fused.in
	@touch $@
$(TORCH)/.installed: requirements/torch.txt
	@PYTHON='$(PYTHON)' tools/bootstrap.sh $(TORCH) torch.txt

$(MUTMUT): $(STAMP) requirements/mutants.txt
	$(PY) -m pip install -qq --disable-pip-version-check --no-input \
	  --no-deps --require-hashes --only-binary :all: -r requirements/mutants.txt
	@touch $@

$(DOCS): $(STAMP) requirements/docs.txt
	$(PY) -m pip install -qq --disable-pip-version-check --no-input \
	  --no-deps --require-hashes --only-binary :all: -r requirements/docs.txt
	@touch $@

clean:  ## Remove .venv, caches and build products (not runs/)
	rm -rf $(VENV) $(FLOWER) $(PFL) $(TORCH) build dist mutants *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

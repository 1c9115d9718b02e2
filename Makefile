# All tasks of the repository. Each target installs what it needs in .venv; `make` alone lists them.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# One stamp for each part that is installed, newer than its sources.
DONE := $(VENV)/done

comma := ,
CORE := $(shell find core -name '*.?pp' -not -path 'core/tests/*' -o -name CMakeLists.txt) CMakeLists.txt
PACKAGE := $(shell find src -type f -not -name '*.so' -not -name '*.pyc')
CORE_FILES := $(shell find core -name '*.?pp')
# Where the tests of the core are built, under the sanitizers, and the module.
CORE_SANITIZED := build/core-sanitized
CORE_ARM := build/core-arm
# Undefined behaviour, but for the checks of every pointer: they double the time, and the address sanitizer finds what is
# read or written through one that is wrong. The workflow `sanitizers` has them all.
CORE_SANITIZE := address,bool,bounds,builtin,enum,integer-divide-by-zero,nonnull-attribute,return,returns-nonnull-attribute,shift,signed-integer-overflow,unreachable,vla-bound
SANITIZE ?= address,undefined
SANITIZED := build/python-$(subst $(comma),-,$(SANITIZE))

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## */\1|/' | \
	while IFS='|' read -r name text; do printf '  make %-12s %s\n' "$$name" "$$text"; done

.PHONY: run
run: $(DONE)/package ## find the pairs of real and of moving boxes, and print a table of the times
	@$(BIN)/python -m benchmarks.tour

.PHONY: demo
demo: $(DONE)/package $(DONE)/demo ## show the live demo in the browser (ARGS= goes to broadphase demo)
	$(BIN)/python -m broadphase.cli demo $(ARGS)

# Bytecode is kept even where the environment says otherwise: rewriting the asserts of all tests takes 9 s on each core.
.PHONY: test
test: $(DONE)/package $(DONE)/test ## the tests of the package, its docstrings and the documentation (ARGS= goes to pytest)
	@echo 'Running the tests on all cores: some 21,000, a quarter of an hour on two. A test that fails is named at the end.'
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n auto --dist worksteal $(ARGS)

.PHONY: soak
soak: $(DONE)/package $(DONE)/test ## the long tests go on where they stopped, for two hours at most, and show what they reached
	$(BIN)/python -m pytest -o addopts='-ra --strict-config --strict-markers' $(or $(ARGS),tests/soak)

.PHONY: scale
scale: $(DONE)/package $(DONE)/test ## 10^8 boxes in 2 GB, and 20 kills of a run over 10^7: half an hour, 8 GB of disk
	$(BIN)/python -m benchmarks.scale kills $(ARGS)
	$(BIN)/python -m benchmarks.scale memory $(ARGS)

.PHONY: mutants
mutants: $(DONE)/package $(DONE)/test ## 300 small changes of the core, and which of them no test notices: hours, goes on where it stopped
	PATH="$(abspath $(BIN)):$$PATH" PYTHONPATH=tests $(BIN)/python -m mutation $(ARGS)

.PHONY: docs
docs: site $(DONE)/test ## build the documentation site, run the code of README and docs, and check their links
	$(BIN)/python -m pytest -q tests/test_docs.py tests/test_readme.py

.PHONY: site
site: $(DONE)/package $(DONE)/docs ## build the documentation site in build/site, recipes included; a warning is an error
	$(BIN)/python -m sphinx -q -W --keep-going -j auto -d build/doctrees docs build/site
	@echo 'open build/site/index.html'

# The core with one instruction set and without bindings.
WEB_SHARED := base/forks base/memory base/parallel base/team base/radix_sort bvh/bvh choose/choose grid/few_in_cells grid/plan linear_tree/linear_tree octree/octree query/collect simd/levels sweep/sweep tree/exact_bounds tree/nearest_rows tree/orders
WEB_KERNELS := kernels tree_kernels eight_kernels
WEB_FLAGS := -std=c++20 -Os -Icore -include core/web/missing.hpp -fwasm-exceptions -msimd128 -ffp-contract=off -fvisibility=hidden
WEB := build/playground
WEB_OBJECTS := $(WEB_SHARED:%=$(WEB)/%.o) $(WEB_KERNELS:%=$(WEB)/scalar/%.o) $(WEB)/web/page.o

.PHONY: playground
playground: $(WEB)/broadphase.wasm ## compile the core for the documentation's playground; needs Emscripten (Debian: emscripten)

$(WEB)/broadphase.wasm: $(WEB_OBJECTS)
	em++ -Os -fwasm-exceptions -msimd128 --no-entry -sALLOW_MEMORY_GROWTH=1 -sSTANDALONE_WASM=1 -sFILESYSTEM=0 -sMALLOC=emmalloc \
	  -sEXPORTED_FUNCTIONS=_make,_step,_find,_cells,_cell_list,_drag,_boxes,_touching,_pairs,_stride $^ -o $@

$(WEB)/scalar/%.o: core/%.cpp $(wildcard core/*/*.hpp)
	mkdir -p $(@D)
	em++ $(WEB_FLAGS) -DBROADPHASE_LEVEL=scalar -DBROADPHASE_TREES=scalar -DBROADPHASE_EIGHT=scalar -c $< -o $@

$(WEB)/%.o: core/%.cpp $(wildcard core/*/*.hpp)
	mkdir -p $(@D)
	em++ $(WEB_FLAGS) -c $< -o $@

.PHONY: bench
bench: $(DONE)/package $(DONE)/bench ## compare with other libraries, pairs, queries and worlds: benchmarks/results, and plots
	$(BIN)/python -m benchmarks pairs $(ARGS)
	$(BIN)/python -m benchmarks queries
	$(BIN)/python -m benchmarks worlds
	$(BIN)/python -m benchmarks.joins

.PHONY: targets
targets: $(DONE)/package $(DONE)/bench ## measure every speed target, and how far "auto" is from the best method
	$(BIN)/python -m benchmarks.targets $(ARGS)
	$(BIN)/python -m benchmarks.auto_regret

.PHONY: tune
tune: $(DONE)/package $(DONE)/bench ## measure the numbers that choose between several ways, and what each is worth (ARGS=--quick: two minutes)
	$(BIN)/python -m benchmarks.tune $(ARGS)

.PHONY: climb
climb: $(DONE)/package $(DONE)/bench ## search for scenes on which a method or a step of a world falls
	$(BIN)/python -m benchmarks.climb $(ARGS)

.PHONY: cliffs
cliffs: $(DONE)/package $(DONE)/bench ## search for calls that cost far more than the plain call of their size: an hour (ARGS=--quick: 5 minutes)
	$(BIN)/python -m benchmarks.search_cliffs $(ARGS)

.PHONY: doors
doors: $(DONE)/package $(DONE)/bench ## search for scenes on which a drop-in is slower than its library: two hours (ARGS=--quick: 5 minutes)
	$(BIN)/python -m benchmarks.doors $(ARGS)

.PHONY: pictures
pictures: $(DONE)/package $(DONE)/test ## draw the pictures of README and docs, and fill their tables with the figures of the last make bench
	$(BIN)/python -m benchmarks.readme_table
	PYTHONPATH=. $(BIN)/python docs/images/draw_overview.py
	$(BIN)/python docs/images/draw_cells.py
	$(BIN)/python docs/images/draw_contacts.py
	$(BIN)/python docs/images/draw_plots.py
	$(BIN)/python docs/images/draw_recipes.py
	$(BIN)/python docs/images/draw_clashes.py
	$(BIN)/python docs/images/draw_robots.py
	$(BIN)/python docs/images/draw_terrain.py
	$(BIN)/python docs/images/draw_tiles.py
	$(BIN)/python docs/images/draw_gpu.py
	$(BIN)/python docs/images/draw_demo.py

.PHONY: wheels
wheels: ## build a wheel for each Python that is here, and test it where no compiler is (ARGS= names the interpreters)
	.ci/wheels $(ARGS)

.PHONY: check
check: sources core-check ## ruff, mypy, import-linter, clang-format, the site, and the core's tests under sanitizers
	@echo 'make check: passed'

.PHONY: sources
sources: lint types layers site ## make check without the core's tests

.PHONY: lint
lint: $(DONE)/check ## ruff and clang-format
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/clang-format --dry-run -Werror $(CORE_FILES)

.PHONY: types
types: $(DONE)/package $(DONE)/check $(DONE)/test ## mypy, strict: the package, the benchmarks, and programs of users
	$(BIN)/mypy
	$(BIN)/python -m pytest -qq tests/typing

.PHONY: layers
layers: $(DONE)/check ## import-linter: which package may import which
	PYTHONPATH=src $(BIN)/lint-imports --no-logo

.PHONY: core-check
core-check: $(DONE)/build ## the tests of the C++ core, under the address and undefined-behaviour sanitizers
	$(BIN)/cmake -S . -B $(CORE_SANITIZED) -G Ninja -DCMAKE_MAKE_PROGRAM="$(abspath $(BIN)/ninja)" -DCMAKE_BUILD_TYPE= \
	    -DBROADPHASE_PYTHON=OFF -DBROADPHASE_TESTS=ON -DBROADPHASE_SANITIZE=$(CORE_SANITIZE) >/dev/null
	$(BIN)/cmake --build $(CORE_SANITIZED)
	$(BIN)/ctest --test-dir $(CORE_SANITIZED)/core --parallel 2 --output-on-failure --no-tests=error

# Needs Debian's g++-aarch64-linux-gnu and qemu-user, or their like.
.PHONY: core-arm
core-arm: $(DONE)/build ## the tests of the C++ core with NEON, compiled for aarch64 and run by qemu: an hour
	$(BIN)/cmake -S . -B $(CORE_ARM) -G Ninja -DCMAKE_MAKE_PROGRAM="$(abspath $(BIN)/ninja)" -DCMAKE_BUILD_TYPE= \
	    -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ \
	    -DCMAKE_CROSSCOMPILING_EMULATOR='qemu-aarch64;-L;/usr/aarch64-linux-gnu' \
	    -DBROADPHASE_PYTHON=OFF -DBROADPHASE_TESTS=ON >/dev/null
	$(BIN)/cmake --build $(CORE_ARM)
	$(BIN)/ctest --test-dir $(CORE_ARM)/core --parallel 2 --output-on-failure --no-tests=error

# One process: each takes memory for shadows. The runtimes must be there before Python is; malloc of Python tells blocks apart.
# Free-threaded Python must be built --with-thread-sanitizer itself: make sanitize SANITIZE=thread PYTHON=...
.PHONY: sanitize
sanitize: $(DONE)/package $(DONE)/test ## the tests of the package, its core under sanitizers (SANITIZE=thread; ARGS= goes to pytest)
	$(BIN)/cmake -S . -B $(SANITIZED) -G Ninja -DCMAKE_MAKE_PROGRAM="$(abspath $(BIN)/ninja)" -DCMAKE_BUILD_TYPE= \
	    -DPython_EXECUTABLE="$(abspath $(BIN)/python)" -DBROADPHASE_SANITIZE=$(SANITIZE) >/dev/null
	$(BIN)/cmake --build $(SANITIZED) --target _core
	mkdir -p $(SANITIZED)/package && cp -R src/. $(SANITIZED)/package
	cp $(SANITIZED)/core/bindings/_core*.so $(SANITIZED)/package/broadphase
	tests/sanitizers/run $(SANITIZE) $(SANITIZED)/package $(BIN)/python -m pytest $(or $(ARGS),tests)

.PHONY: fuzz
fuzz: $(DONE)/package $(DONE)/test ## fuzz the core by libFuzzer (clang) and the readers by Atheris: ARGS= seconds for each, and names
	$(PIP) atheris
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python tests/fuzz/run.py $(or $(ARGS),60)

.PHONY: format
format: $(DONE)/check ## format the sources
	$(BIN)/ruff check --fix
	$(BIN)/ruff format
	$(BIN)/clang-format -i $(CORE_FILES)

.PHONY: stub
stub: $(DONE)/package ## copy the type stub of the core from the build
	cp $$(cd build && $(CURDIR)/$(BIN)/python -c 'import broadphase; print(broadphase.__path__[0])')/_core.pyi src/broadphase/

.PHONY: clean
clean: ## remove all build output, and .venv
	rm -rf docs/recipes docs/api/generated docs/api/signatures.rst
	rm -rf $(VENV) build dist wheelhouse .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

$(DONE)/venv:
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else \
	    "broadphase needs Python 3.11 or later; this is " + sys.version.split()[0] + ". Name another by PYTHON=")'
	@echo 'Making a Python environment in $(VENV), and installing what the build needs: half a minute.'
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) --upgrade 'pip>=25.1'
	@mkdir -p $(DONE) && touch $@

$(DONE)/build: $(DONE)/venv pyproject.toml
	@$(PIP) --group build
	@touch $@

# Without isolation, so that the build folder stays and only what has changed is compiled again.
$(DONE)/package: $(DONE)/build $(CORE) $(PACKAGE) README.md LICENSE
	@echo 'Compiling the core: 2 to 6 minutes on two cores the first time, later only what has changed.'
	@$(PIP) --no-build-isolation .
	@touch $@

# The package is installed already, so these install only the extras.
$(DONE)/demo: pyproject.toml | $(DONE)/package
	@echo 'Installing the libraries of the demo: half a minute.'
	@$(PIP) 'broadphase[demo]'
	@touch $@

$(DONE)/extras: pyproject.toml | $(DONE)/package
	@$(PIP) 'broadphase[cli,demo,io,plot]'
	@touch $@

$(DONE)/docs: pyproject.toml | $(DONE)/extras
	@$(PIP) --group docs
	@touch $@

$(DONE)/bench: pyproject.toml | $(DONE)/package
	@$(PIP) 'broadphase[cli,plot]' --group bench
	@touch $@

$(DONE)/test: pyproject.toml | $(DONE)/extras
	@echo 'Installing the libraries that tests compare with, some 3 GB in $(VENV): one to three minutes.'
	@$(PIP) --group test --group browser
	@touch $@

$(DONE)/check: $(DONE)/venv pyproject.toml
	@$(PIP) --group check
	@touch $@

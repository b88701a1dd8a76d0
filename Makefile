# SPDX-License-Identifier: MIT
#
# Every target installs what it needs (scripts/setup.sh) and then calls CMake. The build itself is described in
# CMakeLists.txt, not here.
#
#   make run RECORDING=FILE CHAIN=FILE ARGS="..."   your own recording through your own chain
#   make install PREFIX=/usr DESTDIR=/tmp/stage     defaults: /usr/local, none
#   CMAKE_FLAGS=-DCMAKE_COMPILE_WARNING_AS_ERROR=ON make   further arguments for CMake

BUILD  ?= build
JOBS   ?= $(shell nproc 2>/dev/null || echo 2)
PREFIX ?= /usr/local
OUT    ?= out
export BUILD JOBS OUT RECORDING CHAIN ARGS CMAKE_FLAGS

.PHONY: build command run test bench counts install sanitize format docs clean help
.DEFAULT_GOAL := build

build:
	@scripts/setup.sh build
	@scripts/build.sh "$(BUILD)"

command:
	@scripts/setup.sh build
	@scripts/build.sh "$(BUILD)" -- weir_cli

run: command
	@scripts/run.sh

test: build
	@scripts/setup.sh test || echo "make test: instruction counts are left out"
	@ctest --test-dir "$(BUILD)" -j "$(JOBS)" --output-on-failure --no-tests=error

bench: command
	@scripts/bench_setup.sh "$(BUILD)"
	@scripts/build.sh "$(BUILD)" -- bench_peers
	@"$(BUILD)/weir" bench speed $(ARGS)
	@"$(BUILD)/weir" bench units
	@"$(BUILD)/bench/alloc_stream"

counts: build
	@scripts/setup.sh test
	@WEIR="$(BUILD)/weir" SOURCE=. sh tests/counts/counts.sh --record

install: build
	@DESTDIR="$(DESTDIR)" cmake --install "$(BUILD)" --prefix "$(PREFIX)"

sanitize:
	@scripts/setup.sh build
	@scripts/sanitize.sh

format:
	@scripts/setup.sh format
	@git ls-files '*.c' '*.h' | xargs clang-format -i

docs: command
	@"$(BUILD)/weir" docs doc
	@scripts/pictures.sh "$(BUILD)/weir" doc/units
	@echo "Written: doc/weir.1 (man -l doc/weir.1), doc/units/, doc/coming-from-ezmsg.md"

clean:
	@rm -rf build build-asan build-tsan build-clang build-fuzz out

help:
	@echo "make            build the library and build/weir"
	@echo "make run        a real EEG and a simulated 256-channel array through their chains"
	@echo "make test       build and run every test"
	@echo "make bench      speed beside other libraries, the cache beside allocators (installs what it can of them)"
	@echo "make counts     writes tests/counts/counts.txt again: instructions of each kernel"
	@echo "make install    PREFIX=/usr/local DESTDIR="
	@echo "make sanitize   tests under the address, undefined and thread sanitizers"
	@echo "make format     clang-format over all of it"
	@echo "make docs       man page and unit pages, doc/, from the tables"
	@echo "make clean      remove what was built"

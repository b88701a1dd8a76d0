#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Every test under the address and undefined-behaviour sanitizers, and those that start threads under the
# thread sanitizer. Debug checks stay on in both.
set -eu

export ASAN_OPTIONS="${ASAN_OPTIONS:-detect_leaks=1:strict_string_checks=1}"
export LSAN_OPTIONS="${LSAN_OPTIONS:-suppressions=$PWD/scripts/leaks.txt:print_suppressions=0}"
export UBSAN_OPTIONS="${UBSAN_OPTIONS:-print_stacktrace=1}"
export TSAN_OPTIONS="${TSAN_OPTIONS:-halt_on_error=1}"
export CFLAGS="${CFLAGS:--O1}" # kernels at -O0 take minutes
jobs=${JOBS:-2}

echo "== address and undefined =="
scripts/build.sh build-asan -DCMAKE_BUILD_TYPE=Debug -DWEIR_SANITIZE=address,undefined \
    -DWEIR_BENCH=OFF
ctest --test-dir build-asan -j "$jobs" --output-on-failure --no-tests=error

echo "== thread =="
# By the sources: a test that starts threads includes pthread.h; one that lets chains start them is called so.
labels=$( (grep -lE '<(pthread|threads)\.h>' src/*/*_test.c tests/*_test.c tests/*/*_test.c; ls tests/*/threads_test.c) 2>/dev/null |
    sed -e 's,^src/,,' -e 's,_test\.c$,,' -e 's,/,.,g')
if [ -z "$labels" ]; then
    echo "no test starts threads"
    exit 0
fi
targets=$(for label in $labels; do printf 'test_%s ' "$(echo "$label" | tr . _)"; done)
# shellcheck disable=SC2086 # a list of words
scripts/build.sh build-tsan -DCMAKE_BUILD_TYPE=Debug -DWEIR_SANITIZE=thread -DWEIR_BENCH=OFF \
    -- $targets
pattern="^($(echo $labels | sed -e 's/\./\\./g' -e 's/ /|/g'))\$"
ctest --test-dir build-tsan -j "$jobs" -R "$pattern" --output-on-failure --no-tests=error

#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Every libFuzzer target of tests/fuzz for so many seconds each: fuzz.sh SECONDS. Needs clang; without it
# says so and ends well. The chains of examples/ are the seeds of the target for chains.
set -eu

seconds=${1:-15}
if ! ls tests/fuzz/*.c >/dev/null 2>&1; then
    echo "no fuzz targets"
    exit 0
fi
if ! command -v clang >/dev/null 2>&1; then
    echo "fuzz: skipped, clang is not installed"
    exit 0
fi
CC=clang CFLAGS=-O1 scripts/build.sh build-fuzz -DCMAKE_BUILD_TYPE=Debug -DWEIR_FUZZ=ON -DWEIR_TESTS=OFF \
    -DWEIR_BENCH=OFF -DWEIR_CLI=OFF -DWEIR_SANITIZE=address,undefined -DWEIR_WERROR=OFF -- fuzz
for source in tests/fuzz/*.c; do
    name=$(basename "$source" .c)
    echo "== fuzz $name, $seconds s =="
    corpus="build-fuzz/corpus/$name"
    mkdir -p "$corpus"
    seeds=""
    [ "$name" != chain ] || seeds=examples
    # shellcheck disable=SC2086 # no seeds, no word
    if (cd build-fuzz && "./fuzz_$name" -max_total_time="$seconds" -rss_limit_mb=512 -max_len=65536 \
        -print_final_stats=1 -verbosity=0 "corpus/$name" ${seeds:+"../$seeds"}) >"build-fuzz/$name.log" 2>&1
    then
        grep '^stat::' "build-fuzz/$name.log" || true
    else
        tail -n 40 "build-fuzz/$name.log"
        exit 1
    fi
done

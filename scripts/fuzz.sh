#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Every libFuzzer target of tests/fuzz for that many seconds each: fuzz.sh SECONDS [SEED]. Seed 1 unless stated: the
# same inputs in the same order from a new corpus, and at most 1000 per second, so that CI does
# not fail at random. For that, what a run compares (addresses, times) is kept out of its inputs
# (-use_cmp=0) and the corpus's folder is read once. For long runs by hand use seed 0: a random one, all of
# libFuzzer's methods, and a corpus that is kept.
# Needs clang; without it the script says so and succeeds. Seed files: the chains of examples/ for the target of chains; for
# a reader's target the recordings of its format in ../shared/recordings, and $WEIR_SEEDS/NAME, if
# there is such a folder: files written by the tests, FOLDER relative to the root
# (WEIR_SEEDS=FOLDER/nsx build/tests/test_recording_nsx, and so on).
set -eu

seconds=${1:-15}
seed=${2:-1}
if ! ls tests/fuzz/*.c >/dev/null 2>&1; then
    echo "no fuzz targets"
    exit 0
fi
if ! command -v clang >/dev/null 2>&1; then
    echo "fuzz: skipped, clang is not installed"
    exit 0
fi
CC=clang CFLAGS=-O1 scripts/build.sh build-fuzz -DCMAKE_BUILD_TYPE=Debug -DWEIR_FUZZ=ON -DWEIR_TESTS=OFF \
    -DWEIR_BENCH=OFF -DWEIR_CLI=OFF -DWEIR_SANITIZE=address,undefined -DCMAKE_COMPILE_WARNING_AS_ERROR=OFF -- fuzz
# Freed memory is quarantined for some MiB only: the default of 256 costs two thirds of the speed.
export ASAN_OPTIONS="${ASAN_OPTIONS:-quarantine_size_mb=8:malloc_context_size=8}"
# Whole files of up to 60 KiB after four bytes of options (tests/fuzz/reading.h).
plant() {
    folder=$1
    shift
    mkdir -p "$folder"
    for file in "$@"; do
        if [ -f "$file" ] && [ "$(wc -c <"$file")" -le 61440 ]; then
            { printf '\0\0\0\040' && cat "$file"; } >"$folder/$(basename "$file")"
        fi
    done
}

recordings=../shared/recordings
for source in tests/fuzz/*.c; do
    name=$(basename "$source" .c)
    if [ ! -x "build-fuzz/fuzz_$name" ]; then
        echo "== fuzz $name: left out, the format is not built in =="
        continue
    fi
    echo "== fuzz $name, $seconds s, -seed=$seed =="
    corpus="corpus/$name"
    luck=""
    if [ "$seed" -ne 0 ]; then
        corpus="corpus-fixed/$name"
        luck="-runs=$((seconds * 1000)) -use_cmp=0 -reload=0"
        rm -rf "build-fuzz/$corpus"
    fi
    mkdir -p "build-fuzz/$corpus"
    seeds=""
    case $name in
    chain) seeds=../examples ;;
    edf) plant "build-fuzz/seeds/edf" "$recordings"/edf/* ;;
    nsx) plant "build-fuzz/seeds/nsx" "$recordings"/made-here/*.ns* "$recordings"/blackrock/* ;;
    esac
    [ ! -d "build-fuzz/seeds/$name" ] || seeds="seeds/$name"
    [ ! -d "${WEIR_SEEDS:-}/$name" ] || seeds="$seeds $WEIR_SEEDS/$name"
    # shellcheck disable=SC2086 # lists of words
    if (cd build-fuzz && "./fuzz_$name" -seed="$seed" $luck \
        -max_total_time="$seconds" -rss_limit_mb=512 -max_len=65536 \
        -print_final_stats=1 -verbosity=0 "$corpus" $seeds) >"build-fuzz/$name.log" 2>&1
    then
        grep '^stat::' "build-fuzz/$name.log" || true
    else
        tail -n 40 "build-fuzz/$name.log"
        exit 1
    fi
done

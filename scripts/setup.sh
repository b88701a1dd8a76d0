#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Installs what is missing for a job, and nothing else: setup.sh build|test|graphs|format|ci. Silent and quick when
# nothing is missing. Root installs by apt-get, others through sudo; if neither is possible it prints
# what to install and ends with 1.
set -eu

job=${1:-build}
missing=""

# has_command COMMAND PACKAGE, has_library PKG-CONFIG-NAME PACKAGE, has_file FILE PACKAGE
has_command() { command -v "$1" >/dev/null 2>&1 || missing="$missing $2"; }
has_library() { pkg-config --exists "$1" 2>/dev/null || missing="$missing $2"; }
has_file() { [ -e "$1" ] || missing="$missing $2"; }

case $job in
build)
    has_command make make
    has_command cc gcc
    has_file /usr/include/stdlib.h libc6-dev
    has_command cmake cmake
    has_command ninja ninja-build
    has_command pkg-config pkg-config
    has_library libfyaml libfyaml-dev
    has_library jansson libjansson-dev
    has_library sndfile libsndfile1-dev
    has_library hdf5 libhdf5-dev
    has_library cmocka libcmocka-dev
    ;;
test)
    has_command valgrind valgrind # tests/counts
    ;;
graphs) # tests/graphs.sh
    has_command python3 python3
    has_file /usr/lib/python3/dist-packages/numpy python3-numpy
    has_file /usr/lib/python3/dist-packages/scipy python3-scipy
    ;;
format)
    has_command clang-format clang-format
    ;;
ci)
    has_command clang clang
    ls /usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer-*.a >/dev/null 2>&1 ||
        missing="$missing libclang-rt-14-dev"
    ;;
*)
    echo "setup.sh: no such job: $job (build, test, graphs, format, ci)" >&2
    exit 2
    ;;
esac
[ -n "$missing" ] || exit 0

by_hand() {
    echo "weir needs these Debian packages, and $1:" >&2
    for package in $missing; do echo "    $package" >&2; done
    echo "Install them as root and call make again:" >&2
    echo "    apt-get update && apt-get install -y --no-install-recommends$missing" >&2
    exit 1
}

command -v apt-get >/dev/null 2>&1 || by_hand "there is no apt-get here to install them with"
as_root=""
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null 2>&1 || by_hand "you are not root and there is no sudo"
    # Without a terminal sudo would wait for a password indefinitely.
    if [ -t 0 ]; then as_root="sudo"; else as_root="sudo -n"; fi
    $as_root true 2>/dev/null || by_hand "sudo does not let you install them"
fi

install() {
    # shellcheck disable=SC2086 # a list of words
    $as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends $missing </dev/null >"$log" 2>&1
}

echo "weir: installing$missing"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! ls /var/lib/apt/lists/*Packages* >/dev/null 2>&1 || ! install; then
    $as_root apt-get update -qq </dev/null >"$log" 2>&1 || true
    if ! install; then
        tail -n 20 "$log" >&2
        by_hand "apt-get could not install them (above)"
    fi
fi

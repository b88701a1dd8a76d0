#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Configures FOLDER once and builds: build.sh FOLDER [CMake words...] [-- targets...]. Words in
# $CMAKE_FLAGS are added. Ninja detects when CMake's files change, so an incremental build does not
# configure again.
set -eu

folder=$1
shift
words=""
while [ $# -gt 0 ] && [ "$1" != "--" ]; do
    words="$words $1"
    shift
done
[ $# -eq 0 ] || shift

flags="${CMAKE_FLAGS:-}$words"
stamp="$folder/.flags"
if [ ! -f "$folder/CMakeCache.txt" ] || [ "$(cat "$stamp" 2>/dev/null)" != "$flags" ]; then
    generator=""
    [ -f "$folder/CMakeCache.txt" ] || generator="-G Ninja"
    # shellcheck disable=SC2086 # lists of words
    cmake -S . -B "$folder" $generator $flags >"$folder.log" 2>&1 || {
        cat "$folder.log" >&2
        rm -f "$folder.log"
        exit 1
    }
    rm -f "$folder.log"
    printf '%s' "$flags" >"$stamp"
fi
if [ $# -gt 0 ]; then
    exec cmake --build "$folder" -j "${JOBS:-2}" --target "$@"
fi
exec cmake --build "$folder" -j "${JOBS:-2}"

#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Runs every ```sh block of the given pages, each in a shell of its own in the project's root, and fails with the
# first that fails: readme.sh PAGE... `make test` is left to the caller.
set -eu

for page in "$@"; do
    blocks=$(grep -c '^```sh$' "$page")
    number=1
    while [ "$number" -le "$blocks" ]; do
        block=$(awk -v want="$number" '
            /^```sh$/ { count++; inside = count == want; next }
            /^```$/ { inside = 0 }
            inside' "$page" | grep -vx 'make test' || true)
        if [ -n "$block" ]; then
            printf '\n--- %s, block %s:\n%s\n---\n' "$page" "$number" "$block"
            sh -euxc "$block" </dev/null || {
                echo "$page: block $number failed" >&2
                exit 1
            }
        fi
        number=$((number + 1))
    done
done

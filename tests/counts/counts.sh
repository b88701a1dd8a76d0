#!/bin/sh
# SPDX-License-Identifier: MIT
# Instructions of each kernel and of small pushes, counted by callgrind: none may grow by more than 5 % over
# counts.txt, at each SIMD level that valgrind supports (AVX2, not AVX-512). The counts are of one compiler
# and C library, named in that file; with others the test is skipped. `make counts` writes the file again. New
# ones are listed and are no error, so that a new unit or kernel needs no line here.
set -eu
build=$(dirname "$WEIR")
count=$build/tests/count
table=$SOURCE/tests/counts/counts.txt
record=${1:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

skip() {
    echo "skipped: instruction counts: $1"
    [ "$record" = "--record" ] && exit 1
    exit 77
}
command -v valgrind >/dev/null 2>&1 || skip "valgrind is not installed (Debian: apt-get install valgrind)"
[ -x "$count" ] || skip "$count is not built"
about=$("$count" --about)
case $about in
*sanitize*) skip "this build has sanitizers ($about)" ;;
esac
stated=$(sed -n 's/^# counted with: //p' "$table" 2>/dev/null || true)
[ "$record" = "--record" ] || [ "$about" = "$stated" ] ||
    skip "this build is $about; counts.txt is of $stated"

# glibc's plain memcpy, log and pow, whichever is best for this processor: the counts must not depend on it.
GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX_Fast_Unaligned_Load,-ERMS,-FSRM,-SSSE3,-AVX,-AVX2,-FMA,-FMA4
export GLIBC_TUNABLES
# Each return from `counted` writes a part: only its instructions.
for level in avx2 baseline; do
    mkdir "$work/$level"
    if ! WEIR_SIMD=$level valgrind --tool=callgrind --toggle-collect=counted --dump-after=counted \
        --callgrind-out-file="$work/$level/part" "$count" >"$work/names" 2>"$work/log"; then
        cat "$work/log"
        exit 1 # what it says itself stands there too
    fi
    [ "$level" != avx2 ] || grep '^not counted: ' "$work/log" || true
    [ "$(head -n 1 "$work/names")" = "level	$level" ] ||
        { echo "not counted: $level (this processor lacks it)"; continue; }
    n=0
    sed 1d "$work/names" | while IFS= read -r name; do
        n=$((n + 1))
        printf '%s\t%s\t%s\n' "$level" "$name" "$(sed -n 's/^totals: *//p' "$work/$level/part.$n")"
    done >>"$work/counts"
done
[ "$(wc -l <"$work/counts")" -ge 20 ] || { echo "too few counts"; cat "$work/log"; exit 1; }

if [ "$record" = "--record" ]; then
    {
        echo "# Instructions (callgrind) of each kernel on 64 x 64 samples, of filters, and of one push: level, what, count."
        echo "# counted with: $about"
        cat "$work/counts"
    } >"$table"
    echo "written: $table"
    exit 0
fi
grep -v '^#' "$table" | awk -F '\t' -v counts="$work/counts" '
    BEGIN {
        while ((getline line < counts) > 0) {
            split(line, f, "\t")
            here[f[1] "\t" f[2]] = f[3]
            levels[f[1]] = 1
        }
    }
    !($1 in levels) { next }
    {
        key = $1 "\t" $2
        stated[key] = 1
        if (!(key in here)) {
            print "not there any more: " key; bad = 1
        } else if (here[key] > 1.05 * $3) {
            printf "grown by %.1f %%: %s: %d instructions, stated %d\n", 100 * (here[key] / $3 - 1), key, here[key], $3
            bad = 1
        } else if (here[key] < 0.95 * $3) {
            printf "less by %.1f %%: %s: %d, stated %d\n", 100 * (1 - here[key] / $3), key, here[key], $3
        }
    }
    END {
        for (key in here)
            if (!(key in stated)) print "new, not in counts.txt: " key
        if (bad) print "Where it is meant to be so: make counts writes counts.txt again."
        exit bad
    }'

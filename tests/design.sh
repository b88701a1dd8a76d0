# SPDX-License-Identifier: MIT
# doc/design.md's table of promises: every promise has a row, and each test that a row names exists and cites
# the promise's tag. Every file of tests/ is run by a test.
set -eu
cd "$SOURCE"
fail=0
for tag in M1 M2 M3 M4 M5 M6 M7 M8 S1 S2 S3 S4 S5 S6 S7 S8 S9 S10; do
    row=$(grep "^| \*\*$tag\*\* |" doc/design.md) || { echo "no row for $tag"; fail=1; continue; }
    tests=$(printf '%s\n' "$row" | grep -oE '`[A-Za-z0-9_/]+_test\.c`|`tests/[A-Za-z0-9_/]+\.sh`' | tr -d '`')
    [ -n "$tests" ] || { echo "$tag: no test is named"; fail=1; }
    for test in $tests; do
        [ -f "$test" ] || { echo "$tag: $test is not there"; fail=1; continue; }
        grep -qE "\b$tag\b" "$test" || { echo "$tag: $test does not cite it"; fail=1; }
    done
done
exit $fail

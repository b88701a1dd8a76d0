# SPDX-License-Identifier: MIT
# weir plot: a picture of a recording, well-formed, that loses no extreme; an existing file is kept.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sample="$SOURCE/examples/data/test_subsecond.edf"
LC_ALL=C.UTF-8 "$WEIR" plot "$sample" -o "$work/a.svg" >"$work/terminal"
head -n 1 "$work/terminal" | grep -q 'Fp1'
[ "$(wc -l <"$work/terminal")" -eq 8 ] # title, six rows, axis
tail -c 7 "$work/a.svg" | grep -q '</svg>'
[ "$(grep -c '<path' "$work/a.svg")" -gt 4 ]

# What weir wrote says itself what it is, by its side file: rate, label and unit.
printf 'chain:\n  - abs: {}\n' >"$work/chain.yaml"
"$WEIR" run "$work/chain.yaml" "$sample" -o "$work/abs.npy" >/dev/null 2>&1
"$WEIR" plot "$work/abs.npy" | head -n 1 | grep -qx 'Fp1, uV   abs.npy, 128 Hz'

# A single spike in 100,000 samples must reach higher than anything else in the picture.
head -c 200000 /dev/zero >"$work/raw"
printf '\377\177' | dd of="$work/raw" bs=1 seek=66666 conv=notrunc 2>/dev/null
"$WEIR" plot "$work/raw" --format raw --dtype i16 --channels-in-file 1 --rate 1000 -o "$work/b.svg" >"$work/terminal"
LC_ALL=C "$WEIR" plot "$work/raw" --format raw --dtype i16 --channels-in-file 1 --rate 1000 |
    LC_ALL=C grep -q '^ *34[0-9]* |.*[|.]' # the top row: the spike, 32767, and the air above it

status=0
"$WEIR" plot "$sample" -o "$work/a.svg" >/dev/null 2>"$work/error" || status=$?
[ "$status" -eq 2 ]
grep -q 'already exists' "$work/error"
"$WEIR" plot "$sample" -o "$work/a.svg" --force >/dev/null
status=0
"$WEIR" plot "$work/none.npy" >/dev/null 2>&1 || status=$?
[ "$status" -eq 7 ] || [ "$status" -eq 4 ]

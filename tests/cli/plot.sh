# SPDX-License-Identifier: MIT
# weir plot: a well-formed picture of a recording that loses no extreme; an existing file is kept.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sample="$SOURCE/examples/data/test_subsecond.edf"
LC_ALL=C.UTF-8 "$WEIR" plot "$sample" -o "$work/a.svg" >"$work/terminal"
head -n 1 "$work/terminal" | grep -q 'Fp1'
[ "$(wc -l <"$work/terminal")" -eq 8 ] # title, six rows, axis
tail -c 7 "$work/a.svg" | grep -q '</svg>'
[ "$(grep -c '<path' "$work/a.svg")" -gt 4 ]

# The side file of an output provides rate, label and unit.
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

# Annotations and gaps are drawn; formats other than SVG are refused by name.
grep -q 'class="note"' "$work/a.svg" || { echo "FAILED: no annotation in the picture"; exit 1; }
printf 'time,a\n0,1\n0.1,2\n0.2,1\n5,2\n5.1,1\n5.2,2\n' >"$work/gap.csv"
"$WEIR" plot "$work/gap.csv" --rate 10 -o "$work/gap.svg" >/dev/null 2>&1
[ "$(grep -c 'class="gap"' "$work/gap.svg")" -eq 1 ] || { echo "FAILED: no gap in the picture"; exit 1; }
status=0
"$WEIR" plot "$sample" -o "$work/x.png" >/dev/null 2>"$work/error" || status=$?
[ "$status" -eq 2 ] && [ ! -e "$work/x.png" ]
grep -q "written as SVG only; name it $work/x.svg" "$work/error"

# For an array with more dimensions --channels selects values of a frame, as the notice suggests.
printf 'chain:\n  - window: {newaxis: win, window_dur: 10 ms, window_shift: 5 ms}\n' >"$work/chain.yaml"
"$WEIR" run "$work/chain.yaml" synthetic:channels=4,rate=1000,seconds=2,seed=1 -o "$work/w.npy" -q
"$WEIR" plot "$work/w.npy" 2>"$work/error" >/dev/null
grep -q 'choose with --channels, by numbers from 0 to 39' "$work/error"
"$WEIR" plot "$work/w.npy" --channels 0,39 >"$work/terminal" 2>"$work/error"
grep -q '^time 0.009 s / ch3' "$work/terminal" && [ ! -s "$work/error" ]
for list in 40 0- Fp1; do
    status=0
    "$WEIR" plot "$work/w.npy" --channels $list >/dev/null 2>"$work/error" || status=$?
    [ "$status" -eq 2 ] && grep -q 'numbers 0 to 39' "$work/error"
done

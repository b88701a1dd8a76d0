# SPDX-License-Identifier: MIT
# Every chain of examples/ runs on the input named in its comment, within its plan (M6), and has output.
set -eu
cd "$SOURCE"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for chain in examples/*.yaml; do
    input=$(sed -n 's/^# input: //p' "$chain")
    [ -n "$input" ] || { echo "$chain names no input"; exit 1; }
    name=$(basename "$chain" .yaml)
    "$WEIR" plan "$chain" "$input" >/dev/null
    "$WEIR" run "$chain" "$input" -o "$work/$name.npy" --json >"$work/json"
    figure() { grep -oE "\"$1\": *[0-9]+" "$work/json" | grep -oE '[0-9]+$'; }
    [ "$(figure held_peak_bytes)" -le "$(figure plan_bytes)" ] || { echo "$chain: held above the plan"; exit 1; }
    [ "$(figure frames_out)" -gt 0 ] || { echo "$chain gives nothing"; exit 1; }
    ls "$work/$name"*.npy >/dev/null
done

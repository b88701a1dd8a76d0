# SPDX-License-Identifier: MIT
# weir bench speed: its chain is the example's, its JSON has the rows, the plan does not depend on the cut
# and is held; peers are run as programs, and those that are not there are named.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/peers"
cat >"$work/peers/ezmsg_sigproc" <<'PEER'
#!/bin/sh
[ "$1 $2 $3" = "256 300 30000" ] || exit 1
echo '{"name": "a stand-in", "work": "chain", "x_real_time": 2.0, "version": "0.0", "precision": "f32"}'
PEER
chmod +x "$work/peers/ezmsg_sigproc"
"$WEIR" bench speed --rounds 2 --seconds 0.02 --peers "$work/peers" --json >"$work/json"
for key in machine versions settings rows units memory skipped weir_over_it; do
    grep -q "\"$key\"" "$work/json" || { echo "no $key"; exit 1; }
done
grep -q 'librtfilter' "$work/json" # among the skipped
awk '/^  - / { sub(/^  - /, ""); sub(/ +#.*/, ""); print }' "$SOURCE/examples/spike_band_power.yaml" >"$work/units"
[ "$(wc -l <"$work/units")" -eq 6 ]
while read -r unit; do
    grep -qF "\"$unit\"" "$work/json" || { echo "the bench does not run: $unit"; exit 1; }
done <"$work/units"
plans=$(grep -oE '"plan_bytes": *[0-9]+' "$work/json" | sort -u | wc -l)
[ "$plans" -eq 1 ]
plan=$(grep -oE '"plan_bytes": *[0-9]+' "$work/json" | head -n 1 | grep -oE '[0-9]+$')
[ "$plan" -le 4194304 ] # DESIGN 11
for held in $(grep -oE '"held_peak_bytes": *[0-9]+' "$work/json" | grep -oE '[0-9]+$'); do
    [ "$held" -le "$plan" ] || { echo "held $held above the plan $plan"; exit 1; }
done
"$WEIR" bench speed --rounds 1 --seconds 0.01 --peers "$work/peers" >"$work/table"
grep -q 'left out: liquid-dsp' "$work/table"
status=0
"$WEIR" bench nothing >/dev/null 2>&1 || status=$?
[ "$status" -eq 2 ]

# SPDX-License-Identifier: MIT
# weir bench speed: its chain is the example's, its JSON has all rows of DESIGN 11, the plan does not depend on
# message lengths and is not exceeded; peers and kernels are run as programs, and missing ones are listed; a peer
# that is faster at the same work is marked.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/peers"
cat >"$work/peers/ezmsg_sigproc" <<'PEER'
#!/bin/sh
case "$*" in
"256 300 30000 "*) [ $# -eq 4 ] || exit 1 ;;
"1024 30 30000 "*" 1 ms") ;;
*) exit 1 ;;
esac
echo '{"name": "a stand-in", "work": "chain", "x_real_time": 0.001, "version": "0.0", "precision": "f32"}'
PEER
cat >"$work/peers/rtfilter" <<'PEER'
#!/bin/sh
case $5 in f32) x=0.001 ;; f64) x=1e9 ;; *) exit 1 ;; esac
echo "{\"x_real_time\": $x, \"version\": \"0.0\"}"
PEER
cat >"$work/peers/kernels" <<'PEER'
#!/bin/sh
[ "$1" = "--seconds" ] && [ "$3" = "--only" ] || exit 1
cat <<'JSON'
{"level": "none", "vector_bytes": 32, "channels": 16, "frames": 16,
 "limits": {"multiply_add_ns": {"median": 0.2}, "section_ns": {"median": 0.5}, "l2_copy_gb_s": {"median": 60},
  "l2_read_gb_s": {"median": 70}, "ram_copy_gb_s": {"median": 8}, "ram_read_gb_s": {"median": 9}},
 "kernels": [{"name": "sos, 4 band-pass sections", "dtype": "f32", "fma_floor_ns": {"low": 0.4},
  "memory_floor_ns": {"low": 0.1}}, {"name": "a stand-in", "dtype": "f32", "ns_per_sample": {"median": 0.5, "low": 0.4, "high": 0.6},
  "fma_floor_ns": {"median": 0.4}, "memory_floor_ns": {"median": 0.1}, "share_of_limit": {"median": 0.8},
  "share_quiet": 0.9, "multiply_adds": 8, "other_operations": 5, "arithmetic": "f64", "bytes": 8,
  "counted": "by hand"}]}
JSON
PEER
chmod +x "$work/peers/"*
"$WEIR" bench speed --rounds 2 --seconds 0.02 --peers "$work/peers" --json >"$work/json"
for key in machine versions settings rows units memory skipped weir_over_it over_one push_p99_ns \
    ns_per_sample_from_300_x_64 limits kernels share_of_limit; do
    grep -q "\"$key\"" "$work/json" || { echo "no $key"; exit 1; }
done
for work_name in chain filter latency threads busy shapes pushes; do
    grep -q "\"work\": \"$work_name\"" "$work/json" || { echo "no row of $work_name"; exit 1; }
done
grep -q 'liquid-dsp' "$work/json" # among those left out
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
"$WEIR" bench speed --rounds 1 --seconds 0.01 --threads 2 --peers "$work/peers" >"$work/table"
grep -q 'left out: liquid-dsp' "$work/table"
grep -q '^SLOWER than librtfilter, f64' "$work/table"
[ "$(grep -c SLOWER "$work/table")" -eq 2 ] || { cat "$work/table"; exit 1; } # there, and in its line
grep -q '^2 threads' "$work/table"
grep -q '^weir, f32: .*would take 0.400: [0-9]* %\.$' "$work/table"
grep -q '^a stand-in .* 80 %  ████████████████····  *90 %' "$work/table"
"$WEIR" bench speed --kernels=stand --peers "$work/peers" | grep -q '^a stand-in'
rm "$work/peers/kernels"
status=0
"$WEIR" bench speed --kernels --peers "$work/peers" >/dev/null 2>"$work/said" || status=$?
[ "$status" -eq 1 ] && grep -q 'make bench builds it' "$work/said"
status=0
"$WEIR" bench nothing >/dev/null 2>&1 || status=$?
[ "$status" -eq 2 ]

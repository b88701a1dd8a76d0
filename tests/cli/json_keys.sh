# SPDX-License-Identifier: MIT
# --json of run, plan and info has the keys of DESIGN 8, is valid JSON, and is all there is on standard output.
. "$SOURCE/tests/cli/_lib.sh"
input=synthetic:channels=4,rate=30000,seconds=1,seed=1
has() {
    for key in "$@"; do
        grep -q "\"$key\": " out || fail "no key $key in $(cat out)"
    done
    [ "$(head -c 1 out)" = "{" ] || fail "does not start with a brace"
    [ "$(tail -n 1 out)" = "}" ] || fail "does not end with a brace"
    ! command -v python3 >/dev/null || python3 -m json.tool out >/dev/null || fail "not JSON"
    [ ! -s err ] || fail "something on standard error: $(cat err)"
}
status 0 "$WEIR" run "$SPIKE" "$input" --json
has frames_in frames_out seconds x_real_time plan_bytes held_peak_bytes live_peak_bytes idle_bytes hits misses \
    evictions refusals rss_before_bytes rss_peak_bytes segments missing_samples notices
grep -q '"frames_in": 30000,' out
grep -q '"frames_out": 100,' out
status 0 "$WEIR" plan "$SPIKE" "$input" --json
has total_bytes fits memory_limit_bytes parts name kind bytes used_bytes shape rate_hz capacity_frames fused \
    tile_frames threads input_rate_hz lag_frames delay_frames settle_frames
# in all: bins of 10 ms; the filter's delay differs by frequency; the scaler never settles
sed '1,/^  "threads"/d; /^  "parts"/,$d' out >total
printf '  "lag_frames": 299,\n  "delay_frames": null,\n  "settle_frames": null,\n' | cmp - total || fail "$(cat total)"
grep -q '"fits": true' out
grep -q '"memory_limit_bytes": 67108864' out
awk -F'[:,]' '/"total_bytes"/ { total = $2 } /^ *"bytes"/ { sum += $2 } END { exit total != sum }' out ||
    fail "the parts do not sum to the total"
status 0 "$WEIR" info "$input" --json
has format rate_hz frames channels label unit scale segments start_s frames start_time annotations notices
grep -q '"frames": 30000' out

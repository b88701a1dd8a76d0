# SPDX-License-Identifier: MIT
# weir trace record writes what the chain's cache does; it replays under every policy; errors are reported.
. "$SOURCE/tests/cli/_lib.sh"
input=synthetic:channels=4,rate=30000,seconds=1,seed=1
status 0 "$WEIR" trace record "$SPIKE" "$input" -o trace
[ "$(head -c 13 trace)" = "weir-trace 1 " ] || fail "not a trace"
grep -q "recorded .* in trace" out || fail "$(cat out)"
refused 2 "already exists" "$WEIR" trace record "$SPIKE" "$input" -o trace
status 0 "$WEIR" trace record "$SPIKE" "$input" -o trace --force --json
grep -q '"trace": "trace"' out || fail "$(cat out)"
cp trace first
status 0 "$WEIR" trace record "$SPIKE" "$input" -o trace --force --quiet
cmp -s trace first || fail "the same run gives another trace"
[ ! -s out ] || fail "--quiet: $(cat out)"
for policy in fit pages mlx:cpu mlx:cuda mlx:metal; do
    status 0 "$WEIR" trace replay trace --policy $policy --json
    grep -q "\"policy\": \"$policy\"" out || fail "$(cat out)"
    grep -q '"refused": 0' out || fail "$(cat out)"
done
status 0 "$WEIR" trace replay trace --cache-limit 64K --memory-limit none
grep -q "cache_limit 64 KiB" out || fail "$(cat out)"
status 0 "$WEIR" trace replay trace --memory-limit 8K # all but the smallest takes are refused
grep -q " [1-9][0-9]* refused" out || fail "$(cat out)"
refused 2 "-o FILE is required" "$WEIR" trace record "$SPIKE" "$input"
refused 7 "nowhere/t" "$WEIR" trace record "$SPIKE" "$input" -o nowhere/t
refused 4 "is no trace" "$WEIR" trace replay "$SPIKE"
refused 7 "missing" "$WEIR" trace replay missing
refused 2 "no policy 'fitt'" "$WEIR" trace replay trace --policy fitt
refused 2 "did you mean replay" "$WEIR" trace repley trace
status 2 "$WEIR" trace
status 0 "$WEIR" trace --help
head -c -1 trace >cut # the number of events at the end
status 0 "$WEIR" trace replay cut
grep -q "is truncated" err || fail "not said: $(cat err)"

# What an array library would allocate: a buffer for each unit's output of each message. Here 3 messages of 40
# frames and one of 30, 2 channels f32; one bin of 50 frames ends in each of the last three.
printf 'chain:\n- abs\n- binned_aggregate: {bin_duration: 50 ms}\n- log\n' >bins.yaml
small=synthetic:channels=2,rate=1000,seconds=0.15,seed=1
status 0 "$WEIR" trace record bins.yaml "$small" --untiled --message-frames 40 -o untiled --json
grep -q '"frames_in": 150' out || fail "$(cat out)"
status 0 "$WEIR" trace replay untiled --json
grep -q '"takes": 10,' out || fail "$(cat out)" # 4 of abs, 3 each of the others
grep -q '"live_peak_bytes": 576,' out || fail "$(cat out)" # 40 frames of abs (512 B are charged) and one bin (64 B)
printf '40\n' >lengths
status 0 "$WEIR" trace record bins.yaml "$small" --untiled --message-lengths lengths -o same --quiet
cmp same untiled || fail "the same lengths give another trace"
status 6 "$WEIR" trace record bins.yaml "$small" --untiled --message-frames 40 --memory-limit 8500 -o clean/t
[ -z "$(ls -A clean)" ] || fail "left behind: $(ls clean)"
refused 2 "needs --message-frames N or --message-lengths FILE" "$WEIR" trace record bins.yaml "$small" --untiled -o clean/t
refused 2 "remove --tile" "$WEIR" trace record bins.yaml "$small" --untiled --message-frames 4 --tile 3 -o clean/t
head -c 4000 /dev/zero >pipe.raw
got=0
cat pipe.raw | "$WEIR" trace record bins.yaml - --format raw --dtype i16 --channels-in-file 2 --rate 1000 --untiled \
    --message-frames 40 -o clean/t >out 2>err || got=$?
[ $got -eq 2 ] && grep -q "number of frames is unknown" err || fail "$got: $(cat err)"

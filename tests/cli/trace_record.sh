# SPDX-License-Identifier: MIT
# weir trace record writes what the chain's cache does; it replays under every policy, and what is wrong is said.
. "$SOURCE/tests/cli/_lib.sh"
input=synthetic:channels=4,rate=30000,seconds=1,seed=1
status 0 "$WEIR" trace record "$SPIKE" "$input" -o trace
[ "$(head -c 13 trace)" = "weir-trace 1 " ] || fail "not a trace"
grep -q "recorded .* in trace" out || fail "$(cat out)"
refused 2 "is there already" "$WEIR" trace record "$SPIKE" "$input" -o trace
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
refused 2 "-o FILE is needed" "$WEIR" trace record "$SPIKE" "$input"
refused 7 "nowhere/t" "$WEIR" trace record "$SPIKE" "$input" -o nowhere/t
refused 4 "is no trace" "$WEIR" trace replay "$SPIKE"
refused 7 "missing" "$WEIR" trace replay missing
refused 2 "no policy 'fitt'" "$WEIR" trace replay trace --policy fitt
refused 2 "did you mean replay" "$WEIR" trace repley trace
status 2 "$WEIR" trace
status 0 "$WEIR" trace --help
head -c -1 trace >cut # the number of events at the end
status 0 "$WEIR" trace replay cut
grep -q "cut short" err || fail "not said: $(cat err)"

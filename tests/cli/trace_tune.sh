# SPDX-License-Identifier: MIT
# weir trace tune finds the smallest limit for a hit rate; replays there and one byte below agree.
. "$SOURCE/tests/cli/_lib.sh"
# Two buffers of 1 MiB and then two of 2 MiB, alternating: all stay cached with 6 MiB, and only then.
awk 'BEGIN {
    print "step,op,slot,bytes,active,cached"
    for (i = 0; i < 2000; i++) {
        size = 1048576 * (1 + i % 2)
        print s++ ",a,0," size; print s++ ",a,1," size; print s++ ",f,0,0"; print s++ ",f,1,0"
    }
}' >turns.csv
status 0 "$WEIR" trace tune turns.csv --policy fit --hit-rate 0.99
grep -q "^cache_limit: 6291456 B (6 MiB) gives a hit rate of 0.9990; one byte less gives 0" out || fail "$(cat out)"
grep -q "^ *6 MiB *6291456 *0.9990 *0.9990 *<" out || fail "$(cat out)"
status 0 "$WEIR" trace tune turns.csv --policy fit --json
grep -q '"limit_bytes": 6291456' out || fail "$(cat out)"
grep -q '"reachable": true' out || fail "$(cat out)"
! command -v python3 >/dev/null || python3 -m json.tool out >/dev/null || fail "not JSON"
status 0 "$WEIR" trace replay turns.csv --policy fit --cache-limit 6291456 --json
grep -q '"hits": 3996' out || fail "$(cat out)"
status 0 "$WEIR" trace replay turns.csv --policy fit --cache-limit 6291455 --json
! grep -q '"hits": 3996' out || fail "one byte less serves as many"
# auto: the same answer, during the run.
status 0 "$WEIR" trace replay turns.csv --policy fit --cache-limit auto
grep -q "cache_limit 6 MiB (auto)" out || fail "$(cat out)"
# Out of reach: 5, and that share of what can be hit.
status 5 "$WEIR" trace tune turns.csv --policy fit --hit-rate 1
grep -q "no limit reaches a hit rate of 1: without a limit it is 0.9990" out || fail "$(cat out)"
grep -q "^cache_limit: 6291456 B" out || fail "$(cat out)"
refused 2 "expected 0 to 1" "$WEIR" trace tune turns.csv --hit-rate 2
printf 'step,op,slot,bytes,active,cached\n' >empty.csv
refused 4 "no takes" "$WEIR" trace tune empty.csv
# The word in a chain file, as an option and in the environment; not for memory_limit.
sed 's/^memory_limit:.*/cache_limit: auto/' "$SPIKE" >auto.yaml
input=synthetic:channels=4,rate=30000,seconds=1,seed=1
for way in "run auto.yaml $input" "run $SPIKE $input --cache-limit auto"; do
    # shellcheck disable=SC2086
    status 0 "$WEIR" $way
    grep -q "^  cache_limit  auto: " out || fail "$way: $(cat out)"
done
status 0 env WEIR_CACHE_LIMIT=auto "$WEIR" run "$SPIKE" "$input" --json
grep -q '"auto_limit_bytes": [1-9]' out || fail "$(cat out)"
status 0 "$WEIR" run "$SPIKE" "$input" --json
grep -q '"auto_limit_bytes": null' out || fail "$(cat out)"
refused 2 "auto" "$WEIR" run "$SPIKE" "$input" --memory-limit auto

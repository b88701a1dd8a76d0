# SPDX-License-Identifier: MIT
# A plan above the limit: plan shows the sum and exits 5; run refuses by the same rule before its first
# sample. M8: flag, file, environment.
. "$SOURCE/tests/cli/_lib.sh"
input=synthetic:channels=256,rate=30000,seconds=1,seed=1
status 0 "$WEIR" plan "$SPIKE" "$input"
grep -q "fits memory_limit, 64 MiB" out
awk 'length > 80 { wide = 1 } END { exit wide }' out || fail "wider than 80 columns: $(cat out)"
grep -q "^4 binned_aggregate  *256 ch  *100 Hz  *9.97 ms  *0  *9.97 ms$" out || fail "$(cat out)"
grep -q "^whole chain  *9.97 ms  *differs  *never$" out || fail "$(cat out)"
total=$(awk '/^total/ { gsub(",", "", $2); print $2 }' out)
[ "$total" -gt 100000 ]
status 5 "$WEIR" plan "$SPIKE" "$input" --memory-limit $((total - 1))
grep -q "^total" out
grep -q "$total bytes" err
status 0 "$WEIR" plan "$SPIKE" "$input" --memory-limit "$total"
status 5 "$WEIR" plan "$SPIKE" "$input" --memory-limit 100K --json
grep -q '"fits": false' out
refused 5 "$total bytes" "$WEIR" run "$SPIKE" "$input" --memory-limit 100K --quiet
refused 5 "memory_limit is 100 KiB" "$WEIR" run "$SPIKE" "$input" -o clean/out.npy --memory-limit 100K --quiet
status 5 "$WEIR" run "$SPIKE" "$input" --memory-limit 100K
grep -q "^total" err

# M2: building the chain and opening the recording respect the limit too.
for limit in 1K 8K 16K 32K; do
    refused 5 "limit $((${limit%K} * 1024))" "$WEIR" plan "$SPIKE" "$input" --memory-limit $limit
done

sed /^memory_limit/d "$SPIKE" >free.yaml
status 5 env WEIR_MEMORY_LIMIT=100K "$WEIR" plan free.yaml "$input"
status 0 env WEIR_MEMORY_LIMIT=100K "$WEIR" plan "$SPIKE" "$input" # the file goes before the environment
status 0 env WEIR_MEMORY_LIMIT=100K "$WEIR" plan free.yaml "$input" --memory-limit none
status 2 env WEIR_MEMORY_LIMIT=much "$WEIR" plan free.yaml "$input"
status 0 "$WEIR" plan free.yaml "$input"
grep -q "the plan is the limit" out

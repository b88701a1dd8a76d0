# SPDX-License-Identifier: MIT
# --tile none: message by message, from the cache and by the policy that is named: the same bytes as tiled; a
# plan that is kept and says what may be idle; it needs a longest message.
. "$SOURCE/tests/cli/_lib.sh"
input=synthetic:channels=32,rate=30000,seconds=2,seed=1
status 0 "$WEIR" run "$SPIKE" "$input" -o tiled.npy --quiet
printf '300\n300\n0\n2400\n300\n17\n' >lengths
for policy in fit pages mlx:cpu mlx:cuda mlx:metal; do
    status 0 "$WEIR" run "$SPIKE" "$input" -o "$policy.npy" --tile none --message-lengths lengths \
        --policy "$policy" --json --quiet
    cmp tiled.npy "$policy.npy" || fail "$policy: not the same as tiled"
    number() { grep -oE "\"$1\": *[0-9]+" out | grep -oE '[0-9]+$'; }
    [ "$(number held_peak_bytes)" -le "$(number plan_bytes)" ] || fail "$policy: held above the plan"
    [ "$(number refusals)" -eq 0 ] || fail "$policy: refused"
    [ "$(number hits)" -gt 100 ] || fail "$policy: nothing was reused"
done
status 0 "$WEIR" plan "$SPIKE" "$input" --tile none --message-frames 300 --cache-limit 3M
grep -q '^kept for reuse  *idle  *3,145,728 ' out
grep -q 'within memory_limit, up to cache_limit' out
grep -q '^between units  *messages' out
status 0 "$WEIR" plan "$SPIKE" "$input" --tile none --message-frames 300 --json
grep -q '"whole_messages": true' out
refused 2 "longest message" "$WEIR" run "$SPIKE" "$input" --tile none
refused 2 "no policy 'fitt'" "$WEIR" run "$SPIKE" "$input" --policy fitt

# SPDX-License-Identifier: MIT
# - is standard input and standard output: a run in two halves gives the bytes of one run.
. "$SOURCE/tests/cli/_lib.sh"
input=synthetic:channels=8,rate=30000,seconds=2,seed=1
raw="--format raw --dtype f32 --channels-in-file 8 --rate 30kHz"
echo "[]" >through.yaml
status 0 "$WEIR" run "$SPIKE" "$input" -o one.npy -q
# shellcheck disable=SC2086
"$WEIR" run through.yaml "$input" -o - --output-format raw -q | "$WEIR" run "$SPIKE" - $raw -o two.npy -q
cmp one.npy two.npy || fail "other bytes through a pipe"
"$WEIR" run through.yaml "$input" -o - --output-format raw >bytes 2>err # plan and summary make way for the bytes
[ "$(wc -c <bytes)" -eq $((60000 * 8 * 4)) ] || fail "$(wc -c <bytes) bytes"
grep -q "^done: " err
# shellcheck disable=SC2086
"$WEIR" run - bytes $raw -o three.npy -q <"$SPIKE"
cmp one.npy three.npy || fail "other bytes with the chain from standard input"

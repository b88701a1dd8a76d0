# SPDX-License-Identifier: MIT
# A unit after a split joins branches; a branch that is not joined is an output; errors state their place.
. "$SOURCE/tests/cli/_lib.sh"
input=synthetic:channels=3,rate=1000,seconds=2,seed=1
echo '[scale: {scale: 2}]' >twice.yaml
echo '[split: {a: [], b: []}, add]' >sum.yaml
echo '[split: {raw: [], neg: [scale: {scale: -1}]}, difference: {inputs: [raw, neg]}]' >minus.yaml
status 0 "$WEIR" run twice.yaml "$input" -o twice.npy -q
for chain in sum minus; do
    status 0 "$WEIR" run $chain.yaml "$input" -o $chain.npy -q --message-frames 7
    cmp twice.npy $chain.npy || fail "$chain: not twice the input"
done

# A slow branch and a fast one: the difference to a low-passed copy, and that copy.
cat >slow.yaml <<'YAML'
- split:
    raw: []
    slow: [butterworth: {order: 2, cutoff: 5 Hz}]
    power: [pow: {exponent: 2}]
- difference: {inputs: [raw, slow]}
- clip: {min: -10, max: 10}
YAML
status 0 "$WEIR" run slow.yaml "$input" -o out.npy --json
[ "$(ls out.*npy | tr '\n' ' ')" = "out.clip.npy out.power.npy " ] || fail "$(ls out.*)"
cp out.clip.npy first.npy
for how in "--tile 3 --threads 2" "--message-frames 1" "--fuse off"; do
    # shellcheck disable=SC2086
    status 0 "$WEIR" run slow.yaml "$input" -o out.npy -q --force $how
    cmp first.npy out.clip.npy || fail "other bytes with $how"
done
status 0 "$WEIR" plan slow.yaml "$input"
grep -q "difference" out

# Inputs of different rates cannot be joined: found by the plan, at the unit's place.
echo '[split: {a: [], b: [downsample: {factor: 2}]}, add]' >rates.yaml
refused 3 "rates.yaml:1:48: add: its inputs have different rates: 1000 Hz and 500 Hz" \
    "$WEIR" run rates.yaml "$input" -o clean/out.npy
echo '[split: {a: [], b: []}, add: {inputs: [a, c]}]' >names.yaml
refused 3 "names.yaml:1:43: add: inputs: found 'c'; expected branches of the preceding split: a, b" \
    "$WEIR" plan names.yaml "$input"
echo '[split: {a: [], b: []}, difference: {inputs: [a, b, a]}]' >three.yaml
refused 3 "three.yaml:1:25: difference: " "$WEIR" plan three.yaml "$input"

# Group delays: the sum along the way, in frames of the input; of several ways the largest, whatever their order.
input=synthetic:channels=2,rate=1000,seconds=1,seed=1
cat >delays.yaml <<'YAML'
- fir: {order: 31, cutoff: 90 Hz}
- downsample: {factor: 2}
- fir: {order: 21, cutoff: 50 Hz}
YAML
status 0 "$WEIR" plan delays.yaml "$input"
grep -q "^whole chain .* 35 ms" out || fail "15 + 2 x 10 ms: $(cat out)"
for order in "a, b" "b, a"; do
    cat >both.yaml <<YAML
- split:
    a: [butterworth: {order: 2, cutoff: 100 Hz}]
    b: [fir: {order: 31, cutoff: 90 Hz}]
- add: {inputs: [$order]}
YAML
    status 0 "$WEIR" plan both.yaml "$input"
    grep -q "^whole chain .* differs" out || fail "$order: $(cat out)"
done
echo '[split: {a: [fir: {order: 101, cutoff: 90 Hz}], b: [fir: {order: 31, cutoff: 90 Hz}]}, add]' >firs.yaml
status 0 "$WEIR" run firs.yaml "$input" -o firs.npy --json
[ "$(grep -c "add: its inputs have different group delays, 50 ms and 15 ms" out)" -eq 1 ] || fail "not one notice: $(cat out)"
echo '[split: {a: [fir: {order: 31, cutoff: 90 Hz}], b: [fir: {order: 31, cutoff: 50 Hz}]}, add]' >equal.yaml
status 0 "$WEIR" run equal.yaml "$input" -o equal.npy --json
! grep -q "group delays" out || fail "delays are equal: $(cat out)"

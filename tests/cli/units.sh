# SPDX-License-Identifier: MIT
# weir units lists every unit; the example of each is a chain; its page names its settings.
. "$SOURCE/tests/cli/_lib.sh"
input=synthetic:channels=8,rate=30000,seconds=1,seed=1
status 0 "$WEIR" units
sed -n '2,/^$/p' out | awk 'NF { print $1 }' >names
sed -n 's/^X(\([a-z0-9_]*\)).*/\1/p' "$SOURCE/src/unit/units.def" >wanted
cmp names wanted || fail "not the units of units.def: $(cat names)"
[ -s names ]
while read -r unit; do
    status 0 "$WEIR" units "$unit"
    head -n 1 out | grep -q "^$unit: "
    sed '1,/^ *chain:$/d' out >example.yaml
    grep -q -- "- $unit: {" example.yaml || fail "no example for $unit"
    status 0 "$WEIR" plan example.yaml "$input"
    status 0 "$WEIR" units "$unit" --markdown
    grep -q "^# $unit$" out
done <names
status 0 "$WEIR" units butterworth
grep -q "^Can be changed while the chain runs: cuton, cutoff; the state is kept.$" out || fail "$(cat out)"
for word in order cuton cutoff Hz required; do
    grep -qw "$word" out || fail "no $word on the page of butterworth"
done

# A unit that joins branches shows the split before it; a setting that cannot be changed is not listed.
status 0 "$WEIR" units merge
grep -q "^ *- split: {a: \[\], b: \[abs\]}$" out && grep -q "^ *- merge: {inputs: \[a, b\]" out || fail "$(cat out)"
! grep -q "changed while" out
status 0 "$WEIR" units scale --markdown
grep -q "^Can be changed while the chain runs: \`scale\`.$" out || fail "$(cat out)"

# Settings that the chain reads for every stateful unit are on its page, and accepted as the page says.
for unit in butterworth ewma window; do
    status 0 "$WEIR" units $unit
    grep -q "^on_gap  *[a-z]*  *choice" out || fail "no on_gap on the page of $unit: $(cat out)"
done
status 0 "$WEIR" units scale
! grep -q on_gap out

# Printed text fits 80 columns: pages of units, plan and summary.
narrow() {
    awk 'length($0) > 80 { print; wide = 1 } END { exit wide }' "$1" || fail "more than 80 columns: $2"
}
while read -r unit; do
    LC_ALL=C.UTF-8 "$WEIR" units "$unit" >out
    narrow out "units $unit"
done <names
cat >chain.yaml <<'Y'
chain:
  - adaptive_standard_scaler: {time_constant: 3 s}
  - window: {newaxis: window_of_a_long_name, window_dur: 2 s, window_shift: 0.5 s}
  - aggregate: {axis: time, operation: mean}
Y
for command in plan "run -o out.npy --force"; do
    # shellcheck disable=SC2086 # words
    LC_ALL=C.UTF-8 "$WEIR" $command chain.yaml synthetic:channels=256,rate=30000,seconds=3,seed=1 --memory-limit 2GiB >out 2>&1
    narrow out "$command: $(cat out)"
done
grep -q "window_of_a_long_name" out || "$WEIR" plan chain.yaml "$input" | tr -d '\n ' | grep -q window_of_a_long_name

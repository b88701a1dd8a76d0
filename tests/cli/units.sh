# SPDX-License-Identifier: MIT
# weir units lists every unit; the example of each makes a chain, alone or after a window; its page names its settings.
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
    if ! "$WEIR" plan example.yaml "$input" >out 2>err; then # of a unit for windows
        { echo "      - window: {window_dur: 20 ms, window_shift: 5 ms}"; cat example.yaml; } >windows.yaml
        status 0 "$WEIR" plan windows.yaml "$input"
    fi
    status 0 "$WEIR" units "$unit" --markdown
    grep -q "^# $unit$" out
done <names
status 0 "$WEIR" units butterworth
grep -q "^Can be changed while the chain runs: cuton, cutoff; the state is kept.$" out || fail "$(cat out)"
for word in order cuton cutoff Hz required; do
    grep -qw "$word" out || fail "no $word on the page of butterworth"
done

# A unit that joins branches shows the split before it; a setting that cannot be changed is not named.
status 0 "$WEIR" units merge
grep -q "^ *- split: {a: \[\], b: \[abs\]}$" out && grep -q "^ *- merge: {inputs: \[a, b\]" out || fail "$(cat out)"
! grep -q "changed while" out
status 0 "$WEIR" units scale --markdown
grep -q "^Can be changed while the chain runs: \`scale\`.$" out || fail "$(cat out)"

# What the chain reads for every unit with a memory is on its page, and taken as the page says.
for unit in butterworth ewma window; do
    status 0 "$WEIR" units $unit
    grep -q "^on_gap  *choice " out || fail "no on_gap on the page of $unit: $(cat out)"
done
status 0 "$WEIR" units scale
! grep -q on_gap out

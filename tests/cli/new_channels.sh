# SPDX-License-Identifier: MIT
# A dimension that becomes the channels gives each of them the physical unit of the stream, and the stream's own cannot
# become them; what a plan notices is said once, and what is not possible is not called too large.
. "$SOURCE/tests/cli/_lib.sh"
input="synthetic:channels=3,rate=1000,seconds=1"
chain() {
    printf 'chain:\n' >c.yaml
    printf -- '- %s\n' "$@" >>c.yaml
}
window='window: {window_dur: 20 ms, window_shift: 10 ms}'
for step in 'flatten: {}' 'modify_axis: {name_map: {time: ch}}' \
    'spectrum: {axis: time, out_axis: ch, transform: real}'; do
    chain "$window" 'aggregate: {axis: ch}' "$step"
    status 0 "$WEIR" run c.yaml "$input" -o out.npy --quiet --force
    units=$(tr -d ' \n' <out.npy.json | sed 's/.*"units":\[\([^]]*\)\].*/\1/')
    case $step in spectrum*) channels=11 ;; *) channels=20 ;; esac
    [ "$(echo "$units" | tr ',' '\n' | grep -c '^"uV"$')" -eq $channels ] || fail "$step: units $units"
done
chain "$window" 'spectrum: {axis: ch, out_axis: ch, nfft: 512, transform: real}'
head -c 16000 /dev/zero >zeros.raw # channels without names
status 0 "$WEIR" run c.yaml zeros.raw --format raw --dtype f32 --channels-in-file 4 --rate 1000 --unit uV \
    -o out.npy --quiet --force
[ "$(tr ',' '\n' <out.npy.json | grep -c '"uV"')" -eq 257 ] || fail "not 257 units: $(cat out.npy.json)"
chain "$window" 'aggregate: {axis: ch}' 'modify_axis: {name_map: {win: ch}}'
refused 3 "modify_axis: its output is not possible: the stream's dimension would be called 'ch'" \
    "$WEIR" run c.yaml "$input" -o clean/out.npy
chain "$window" 'flatten: {sample_axis: ch}'
refused 3 "flatten: its output is not possible: dims[1]: duplicate axis 'ch'" \
    "$WEIR" run c.yaml "$input" -o clean/out.npy
chain 'chebyshev: {order: 0}'
status 0 "$WEIR" run c.yaml "$input" -o out.npy --force --json
[ "$(grep -c 'order 0 passes the signal through' out)" -eq 1 ] || fail "not said once: $(cat out)"

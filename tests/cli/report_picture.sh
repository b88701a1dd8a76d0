# SPDX-License-Identifier: MIT
# The picture of a report: that of weir plot while no two frames share a column, no extreme lost afterwards, gaps and
# annotations, the same output bytes, and its memory in the plan.
. "$SOURCE/tests/cli/_lib.sh"
picture() { # picture PAGE: the picture's SVG alone
    sed -n '/<svg xmlns/,/<\/svg>/p' "$1"
}
printf 'chain:\n  - scale: {scale: 2}\n' >x2.yaml

# 460 frames in 3 segments: as weir plot draws the output.
input=synthetic:channels=4,rate=30000,seconds=6,seed=1,pause_every=2,pause=0.7
status 0 "$WEIR" run "$SPIKE" $input -o plain.npy
status 0 "$WEIR" run "$SPIKE" $input -o o.npy --report o.html
cmp plain.npy o.npy || fail "the report changes the output"
"$WEIR" plot o.npy -o o.svg >/dev/null
picture o.html >report.svg
cmp report.svg o.svg || fail "not the picture that weir plot draws"
[ "$(grep -c 'class="gap"' report.svg)" -eq 8 ] || fail "two gaps in four panels expected"

# 100,000 frames, five spikes: all reach the same height, and 512 to 1024 columns are drawn.
head -c 200000 /dev/zero >spike.raw
for frame in 1001 20022 33333 55555 77777; do
    printf '\377\077' | dd of=spike.raw bs=2 seek=$frame conv=notrunc 2>/dev/null
done
status 0 sh -c '"$0" run x2.yaml - --format raw --dtype i16 --channels-in-file 1 --rate 1000 --report s.html <spike.raw' "$WEIR"
picture s.html >s.svg
# The panel is y = 48 to 224 and its range 0 to 34732 (6 % more than 2 x 16383), so a spike is at y = 57.96.
[ "$(sed -n 's/.*fill-opacity="0.3".* d="\([^"]*\)".*/\1/p' s.svg | tr 'MLZ' '\n\n\n' | grep -c ' 57.96$')" -eq 5 ] ||
    fail "a spike is lost"
points=$(sed -n 's/.*stroke-width="1.3".* d="\([^"]*\)".*/\1/p' s.svg | tr 'ML' '\n\n' | grep -c .)
[ "$points" -gt 512 ] && [ "$points" -le 1024 ] || fail "$points columns"
grep -q '>100</text>' s.svg || fail "the axis does not reach the end, 100 s"

# Annotations; a limit that the run fits and the picture does not.
status 0 "$WEIR" run x2.yaml "$SOURCE/examples/data/test_subsecond.edf" --report a.html
picture a.html | grep -q 'class="note"' || fail "no annotation"
status 0 "$WEIR" run x2.yaml $input --memory-limit 400K
refused 5 "does not fit" "$WEIR" run x2.yaml $input --memory-limit 400K --report clean/l.html -q

# With an output that can be resumed.
status 0 "$WEIR" run x2.yaml $input -o c.npy --checkpoint c.ckpt --report c.html
status 0 "$WEIR" run x2.yaml $input -o d.npy
cmp c.npy d.npy || fail "the checkpoint changes the output"

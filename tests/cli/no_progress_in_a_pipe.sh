# SPDX-License-Identifier: MIT
# Into a pipe or file there is no progress, no colour, no control character; --quiet prints nothing.
. "$SOURCE/tests/cli/_lib.sh"
input=synthetic:channels=64,rate=30000,seconds=20,seed=1
status 0 "$WEIR" run "$SPIKE" "$input"
cat out err >both
[ "$(tr -d '\n[:print:]' <both | wc -c)" -eq 0 ] || fail "control characters: $(cat -v both)"
! grep -q " left" both
grep -q "^total" err  # the plan before
grep -q "^done: " out # the figures after
for figure in frames plan allocated cache RSS segments; do
    grep -q "^  $figure " out || fail "no $figure in the summary"
done
status 0 "$WEIR" run "$SPIKE" "$input" --quiet
[ ! -s out ] && [ ! -s err ] || fail "--quiet said something"
if script -qec true /dev/null >/dev/null 2>&1 </dev/null; then # a terminal: there it is
    TERM=xterm script -qec "'$WEIR' run '$SPIKE' '$input'" /dev/null >terminal </dev/null
    grep -q "x real time  memory" terminal || fail "no progress on a terminal"
else
    echo "not tried on a terminal: script(1) cannot make one here"
fi

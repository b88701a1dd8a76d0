# SPDX-License-Identifier: MIT
# Ctrl-C while weir waits to open a fifo whose other end is closed: one line that says so, exit 130; as input,
# chain and every output.
. "$SOURCE/tests/cli/_lib.sh"
echo "[abs]" >c.yaml
echo "[threshold_crossing: {threshold: 4}]" >events.yaml
mkfifo fifo fifo.csv
signal=synthetic:channels=2,rate=1000,seconds=1,seed=1
raw="--format raw --dtype i16 --channels-in-file 2 --rate 1000"

opening() { # COMMAND...: interrupted while it opens the fifo
    "$@" >out 2>err </dev/null &
    child=$!
    sleep 0.5
    kill -s INT $child || fail "did not wait for the fifo: $*: $(cat err)"
    got=0
    wait $child || got=$?
    [ $got -eq 130 ] || fail "exit status $got: $*: $(cat err)"
    grep -q "Interrupted system call" err && fail "the system's words: $(cat err)"
    [ -p fifo ] || fail "the fifo is gone"
}
# shellcheck disable=SC2086 # words
opening "$WEIR" run c.yaml fifo $raw -q
grep -q "fifo: interrupted while opening it" err || fail "$(cat err)"
# shellcheck disable=SC2086 # words
opening "$WEIR" info fifo $raw
grep -q "fifo: interrupted while opening it" err || fail "$(cat err)"
opening "$WEIR" run fifo "$signal" -q
grep -q "fifo: interrupted while opening it" err || fail "$(cat err)"
opening "$WEIR" run c.yaml "$signal" -q -o fifo --output-format raw
for output in "run c.yaml $signal -q --report fifo" "trace record c.yaml $signal -q -o fifo" \
    "run events.yaml $signal -q --records fifo.csv"; do
    # shellcheck disable=SC2086 # words
    opening "$WEIR" $output
    grep -Eq "fifo(.csv)?: interrupted while opening it" err || fail "$output: $(cat err)"
done

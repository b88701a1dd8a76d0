# SPDX-License-Identifier: MIT
# Ctrl-C, SIGTERM and a closed terminal end a run cleanly: exit 130, a part that can be read, where it
# stopped. Under nohup a closed terminal does not.
. "$SOURCE/tests/cli/_lib.sh"
input=synthetic:channels=64,rate=30000,seconds=100000,seed=1
signals="INT TERM HUP"
case $(sed -n 's/^SigIgn:[[:blank:]]*//p' /proc/self/status) in
*[13579bdf]) # nohup is around this test
    signals="INT TERM"
    ;;
esac
for signal in $signals; do
    interrupted $signal $signal.npy "$WEIR" run "$SPIKE" "$input" -o $signal.npy
    grep -q "^interrupted" out
    status 0 "$WEIR" info $signal.npy.part --json
    grep -q 'was interrupted at' out
    grep -q '"frames": [1-9]' out
done

# Under nohup it continues after the terminal has closed: more rows are flushed. SIGTERM ends it.
rows() {
    sed -n 's/.*"rows": \([0-9]*\).*/\1/p' nohup.npy.json.part 2>/dev/null | head -n 1
}

# more_than ROWS: waits until more are flushed, for a minute at most.
more_than() {
    tries=0
    while found=$(rows) && [ "${found:-0}" -le "$1" ]; do
        [ $tries -lt 600 ] || fail "nohup: still $1 rows: $(cat err)"
        kill -s 0 $child || fail "nohup: it has ended: $(cat err)"
        sleep 0.1
        tries=$((tries + 1))
    done
}

nohup "$WEIR" run "$SPIKE" "$input" -o nohup.npy --quiet >out 2>err </dev/null &
child=$!
more_than 0
kill -s HUP $child
more_than "$(rows)"
kill -s TERM $child
got=0
wait $child || got=$?
[ $got -eq 130 ] || fail "nohup: exit status $got: $(cat err)"

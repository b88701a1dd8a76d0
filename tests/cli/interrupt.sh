# SPDX-License-Identifier: MIT
# Ctrl-C, SIGTERM and a closed terminal end a run well: exit 130, a part that can be read, where it stopped. Under nohup a closed terminal does not.
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
    grep -q 'stopped before its end, at' out
    grep -q '"frames": [1-9]' out
done

# Behind nohup it goes on, until SIGTERM.
nohup "$WEIR" run "$SPIKE" "$input" -o nohup.npy --quiet >out 2>err </dev/null &
child=$!
tries=0
while [ ! -s nohup.npy.part ] && [ $tries -lt 100 ]; do
    sleep 0.1
    tries=$((tries + 1))
done
kill -s HUP $child
sleep 0.5
kill -s TERM $child || true
got=0
wait $child || got=$?
[ $got -eq 130 ] || fail "nohup: exit status $got: $(cat err)"

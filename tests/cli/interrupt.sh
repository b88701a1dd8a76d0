# SPDX-License-Identifier: MIT
# Ctrl-C and SIGTERM end a run well: exit 130, a finished file that can be read, where it stopped.
. "$SOURCE/tests/cli/_lib.sh"
input=synthetic:channels=64,rate=30000,seconds=100000,seed=1
for signal in INT TERM; do
    # A shell starts its background jobs with SIGINT ignored; an exec from python or env would keep that,
    # but weir sets its own handler.
    "$WEIR" run "$SPIKE" "$input" -o $signal.npy >out 2>err &
    child=$!
    tries=0
    while [ ! -s $signal.npy.part ] && [ $tries -lt 100 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
    sleep 0.3
    kill -s $signal $child
    got=0
    wait $child || got=$?
    [ $got -eq 130 ] || fail "$signal: exit status $got: $(cat err)"
    [ ! -e $signal.npy.part ] || fail "$signal: .part is left"
    grep -q "^interrupted" out
    grep -q "stopped  *after frame" out
    status 0 "$WEIR" info $signal.npy --rate 100 --json
    grep -q '"frames": [1-9]' out
done

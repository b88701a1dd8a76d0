# SPDX-License-Identifier: MIT
# A source without data for a while: written rows are readable within about a second, for every format that can be
# read from a pipe, and Ctrl-C ends the wait, also the wait for the other end of a fifo.
. "$SOURCE/tests/cli/_lib.sh"
echo "[abs]" >c.yaml
status 0 "$WEIR" run c.yaml synthetic:channels=2,rate=1000,seconds=1,seed=1 -o in.raw -q
status 0 "$WEIR" run c.yaml in.raw -o in.csv -q
raw="--format raw --dtype f32 --channels-in-file 2 --rate 1000"

# ended CHILD PART: SIGINT ends it at once, exit 130; standard error or output contains PART.
ended() {
    kill -s INT "$1"
    got=0
    wait "$1" || got=$?
    [ $got -eq 130 ] || fail "exit status $got: $(cat err)"
    grep -q "$2" err out || fail "no '$2' in: $(cat err out)"
}

for format in raw csv; do
    mkfifo pipe
    options="--format csv --rate 1000"
    [ $format = csv ] || options=$raw
    # shellcheck disable=SC2086 # words
    "$WEIR" run c.yaml - $options -o out.npy <pipe >out 2>err &
    child=$!
    exec 3>pipe
    cat in.$format >&3
    [ $format = csv ] || printf 'abc' >&3 # and a part of the next frame
    tries=0 frames=
    while [ "${frames:-0}" -ne 1000 ] && [ $tries -lt 30 ]; do
        sleep 0.1
        tries=$((tries + 1))
        frames=$("$WEIR" info out.npy.part --json 2>/dev/null | sed -n 's/^ *"frames": \([0-9]*\),*$/\1/p' | head -n 1)
    done
    [ "${frames:-0}" -eq 1000 ] || fail "$format: ${frames:-no} frames can be read of 1000 after $tries tenths"
    was=$(stat -c %i out.npy.json.part)
    sleep 1.5
    [ "$(stat -c %i out.npy.json.part)" = "$was" ] || fail "$format: flushed again without anything new"
    ended $child "kept         out.npy.part"
    exec 3>&-
    rm pipe out.npy.part out.npy.json.part
done

mkfifo fifo
for command in "run c.yaml fifo $raw" "run fifo in.raw" "run c.yaml in.raw --message-lengths fifo" \
    "run c.yaml in.raw -o fifo --output-format raw" "plot fifo $raw" "info fifo $raw"; do
    # shellcheck disable=SC2086 # words
    "$WEIR" $command >out 2>err </dev/null &
    child=$!
    sleep 0.3
    case $command in
    plot* | info*) # no signal of theirs to catch: they just end
        kill -s TERM $child
        wait $child && fail "$command: ended well"
        continue
        ;;
    esac
    ended $child "interrupted"
    ! grep -q "Interrupted system call" err || fail "$command: $(cat err)"
done

# SPDX-License-Identifier: MIT
# Reports, pictures and traces are renamed when they are complete: a full disk leaves nothing of them, and existing
# files stay. A result that is not written is reported first; a part is replaced by --force only.
. "$SOURCE/tests/cli/_lib.sh"
signal=synthetic:channels=2,rate=1000,seconds=1,seed=1
echo "[abs]" >c.yaml
status 0 "$WEIR" run c.yaml "$signal" -o x.npy -q
limited() { # BLOCKS COMMAND...: no file may grow beyond that; exit 7
    blocks=$1
    shift
    got=0
    (
        ulimit -f "$blocks"
        exec "$@"
    ) >out 2>err </dev/null || got=$?
    [ $got -eq 7 ] || fail "exit status $got: $*: $(cat err)"
}
for name in r.html p.svg t.trace; do
    for old in "" old; do
        rm -f $name
        [ -z "$old" ] || echo $old >$name
        case $name in
        r.html) limited 2 "$WEIR" run c.yaml "$signal" --report $name -q --force ;;
        p.svg) limited 2 "$WEIR" plot x.npy -o $name --force ;;
        t.trace) limited 1 "$WEIR" trace record c.yaml "$signal" --untiled --message-frames 1 -o $name -q --force ;;
        esac
        [ ! -e $name.part ] || fail "$name.part is left"
        [ "$(cat $name 2>/dev/null)" = "$old" ] || fail "$name: something of it is left"
    done
done
mkdir doc
limited 2 "$WEIR" docs doc
[ -z "$(ls doc)" ] || fail "part of the man page is left: $(ls doc)"
for name in r.html p.svg t.trace; do # an existing file of the part's name
    rm -f $name
    echo rows >$name.part
    case $name in
    r.html) set -- run c.yaml "$signal" --report $name -q ;;
    p.svg) set -- plot x.npy -o $name ;;
    t.trace) set -- trace record c.yaml "$signal" -o $name -q ;;
    esac
    refused 2 "$name.part: already exists" "$WEIR" "$@"
    [ "$(cat $name.part)" = rows ] || fail "$name.part was replaced"
    echo mine >mine
    ln -sf mine $name.part
    status 0 "$WEIR" "$@" --force
    [ "$(cat mine)" = mine ] && [ -s $name ] && [ ! -e $name.part ] || fail "$name: a link was followed"
done

# Without -o nothing is written: reported in the first line.
status 0 "$WEIR" run c.yaml "$signal"
head -n 1 err | grep -q "no -o OUTPUT: the result is computed, not written" || fail "$(head -n 1 err)"
status 0 "$WEIR" run c.yaml "$signal" -o y.npy
! grep -q "no -o" err || fail "said with -o"

# Killed, and run again: the rows written before are still there.
"$WEIR" run c.yaml synthetic:channels=2,rate=1000,seconds=1e6,seed=1 -o k.npy -q >out 2>err </dev/null &
child=$!
tries=0
while [ "$(wc -c <k.npy.part 2>/dev/null || echo 0)" -lt 1000 ] && [ $tries -lt 100 ]; do
    sleep 0.1
    tries=$((tries + 1))
done
refused 2 "another run is writing it" "$WEIR" run c.yaml "$signal" -o k.npy --force
kill -s KILL $child
wait $child || true
cp k.npy.part killed
refused 2 "was left by an interrupted run; rename it to keep it" "$WEIR" run c.yaml "$signal" -o k.npy
cmp killed k.npy.part || fail "replaced"
mv k.npy.part saved.npy
refused 2 "k.npy.json.part: was left" "$WEIR" run c.yaml "$signal" -o k.npy
mv k.npy.json.part saved.npy.json
status 0 "$WEIR" run c.yaml "$signal" -o k.npy
status 0 "$WEIR" info saved.npy
grep -q "was interrupted at" out || fail "$(cat out)"
status 0 "$WEIR" run c.yaml saved.npy -o done.npy

# SPDX-License-Identifier: MIT
# An output that cannot be written completely: exit 7, one line that names what is kept as .part.
. "$SOURCE/tests/cli/_lib.sh"
input=synthetic:channels=64,rate=30000,seconds=2,seed=1
echo "[abs]" >c.yaml
got=0
(
    ulimit -f 2000
    exec "$WEIR" run c.yaml "$input" -o out.npy --quiet
) >out 2>err || got=$?
[ $got -eq 7 ] || fail "exit status $got: $(cat err)"
[ "$(wc -l <err)" -eq 1 ] || fail "not one line: $(cat err)"
grep -q "kept, incomplete: out.npy.part" err || fail "does not name what is kept: $(cat err)"
[ ! -e out.npy ] && [ -e out.npy.part ] || fail "$(ls)"
status 0 "$WEIR" info out.npy.part --format npy --rate 30000 --json # and can be read
grep -q '"frames": [1-9]' out
rm out.npy.part out.npy.json.part
got=0
( # nothing of it could be written: nothing is left
    ulimit -f 8
    exec "$WEIR" run c.yaml "$input" -o out.npy --quiet
) >out 2>err || got=$?
[ $got -eq 7 ] && ! grep -q kept err && [ ! -e out.npy.part ] || fail "$(ls): $(cat err)"
status 7 "$WEIR" run c.yaml "$input" -o none/out.npy --quiet
[ "$(wc -l <err)" -eq 1 ] || fail "not one line: $(cat err)"

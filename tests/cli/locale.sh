# SPDX-License-Identifier: MIT
# Numbers are written and read with a point in any locale.
. "$SOURCE/tests/cli/_lib.sh"
comma=$(locale -a 2>/dev/null | grep -iE '^(de|fr|es|it|nl)_.*utf-?8$' | head -n 1 || true)
if [ -z "$comma" ] && localedef -i de_DE -f UTF-8 "$work/de_DE.UTF-8" 2>/dev/null; then
    comma=de_DE.UTF-8
    export LOCPATH="$work"
fi
[ -n "$comma" ] && [ "$(LC_ALL=$comma locale decimal_point)" = , ] || {
    echo "skipped: no locale with a decimal comma is installed, and none can be made"
    exit 77
}
input=synthetic:channels=2,rate=1000.5,seconds=1,seed=1
echo "[{pow: {exponent: 1.5}}]" >c.yaml
status 0 "$WEIR" run c.yaml "$input" -o a.npy --json
status 0 env LC_ALL="$comma" "$WEIR" run c.yaml "$input" -o b.npy --json --start 0.25s
grep -q '"x_real_time": [0-9]*\.' out
grep -q '"rate_hz": 1000.5' b.npy.json
status 0 env LC_ALL="$comma" "$WEIR" run c.yaml "$input" -o c.npy -q
cmp a.npy c.npy || fail "other bytes in $comma"
status 0 env LC_ALL="$comma" "$WEIR" info "$input"
grep -q "1000.5 Hz" out

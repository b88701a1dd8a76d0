# SPDX-License-Identifier: MIT
# Replacing an existing output needs --force; the old one stays until the new one is complete.
. "$SOURCE/tests/cli/_lib.sh"
input=synthetic:channels=2,rate=1000,seconds=1,seed=1
echo "[abs]" >c.yaml
echo old >out.npy
status 2 "$WEIR" run c.yaml "$input" -o out.npy
grep -q "out.npy: already exists; use --force to overwrite" err
[ "$(cat out.npy)" = old ]
[ ! -e out.npy.part ]
status 0 "$WEIR" run c.yaml "$input" -o out.npy --force
[ "$(wc -c <out.npy)" -gt 8000 ]
[ ! -e out.npy.part ]
status 0 "$WEIR" plan c.yaml "$input" -o out.npy # a plan writes nothing
status 2 "$WEIR" run c.yaml out.npy --rate 1000 -o out.npy --force
grep -q "is the input" err
echo old >r.html
status 2 "$WEIR" run c.yaml "$input" --report r.html
[ "$(cat r.html)" = old ]

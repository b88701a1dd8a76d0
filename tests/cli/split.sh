# SPDX-License-Identifier: MIT
# A split writes out.NAME.npy for each branch; nested names are joined; an empty branch is the input.
. "$SOURCE/tests/cli/_lib.sh"
input=synthetic:channels=2,rate=1000,seconds=1,seed=1
cat >c.yaml <<'YAML'
- split:
    raw: []
    power:
      - pow: {exponent: 2}
      - split:
          log: [log]
          slow: [{downsample: {factor: 10}}]
YAML
mkdir d.d
status 0 "$WEIR" run c.yaml "$input" -o d.d/out.npy
[ "$(ls d.d/*.npy | tr '\n' ' ')" = "d.d/out.power.log.npy d.d/out.power.slow.npy d.d/out.raw.npy " ] || fail "$(ls d.d)"
grep -q "d.d/out.power.slow.npy" out
[ "$(wc -c <d.d/out.raw.npy)" -gt "$(wc -c <d.d/out.power.slow.npy)" ]
echo "[]" >through.yaml
status 0 "$WEIR" run through.yaml "$input" -o through.npy
cmp through.npy d.d/out.raw.npy
rm d.d/out.raw.npy
status 2 "$WEIR" run c.yaml "$input" -o d.d/out.npy # one of them is there
[ ! -e d.d/out.raw.npy ] && [ ! -e d.d/out.raw.npy.part ] || fail "something was written"
refused 2 "3 outputs" "$WEIR" run c.yaml "$input" -o - --output-format raw

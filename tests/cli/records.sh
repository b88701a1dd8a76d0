# SPDX-License-Identifier: MIT
# --records: the same table for any tile, threads and messages; CSV and npy agree; the file is renamed when it is
# complete, may not be an input or another output, and stays a part after an interruption.
. "$SOURCE/tests/cli/_lib.sh"
input=synthetic:channels=40,rate=30000,seconds=2,seed=1
cat >c.yaml <<'YAML'
- butterworth: {order: 2, cuton: 300 Hz}
- threshold_crossing: {threshold: 3, noise_time: 100 ms}
YAML
status 0 "$WEIR" run c.yaml "$input" --records a.csv
grep -q "^  records      a.csv  [0-9,]* records$" out || fail "$(cat out)"
[ ! -e a.csv.part ] || fail "a part is left"
head -1 a.csv | grep -qx "time_s,segment,frame,column,channel,kind,amplitude" || fail "$(head -1 a.csv)"
[ "$(wc -l <a.csv)" -gt 1000 ] || fail "few records: $(wc -l <a.csv)"
# ordered by frame, then column; times are frames / 30000; amplitudes below -threshold
awk -F, 'NR > 1 { if ($3 < frame || ($3 == frame && $4 <= column)) exit 1
    frame = $3; column = $4; d = $1 - $3 / 30000; if (d > 1e-9 || d < -1e-9 || $7 >= 0 || $6 != 0) exit 2 }' a.csv ||
    fail "order, times or amplitudes: $?"
status 0 "$WEIR" run c.yaml "$input" --records b.csv --tile 17 --threads 3 --message-frames 101 -o out.npy --json
cmp a.csv b.csv || fail "other records"
grep -q "\"count\": $(($(wc -l <a.csv) - 1))" out || fail "$(cat out)"
status 0 "$WEIR" run c.yaml "$input" --records a.npy -q
if command -v python3 >/dev/null && python3 -c 'import numpy' 2>/dev/null; then
    python3 - <<'PY' || fail "CSV and npy differ"
import numpy as np
a = np.load("a.npy")
b = np.loadtxt("a.csv", delimiter=",", skiprows=1, usecols=(0, 1, 2, 3, 5, 6))
assert a.shape == (len(b),), (a.shape, b.shape)
for i, name in enumerate(["time_s", "segment", "frame", "column", "kind", "amplitude"]):
    assert np.allclose(a[name], b[:, i], rtol=1e-8, atol=1e-9), name
counts = np.load("out.npy")
assert counts.sum() == (a["frame"] < len(counts) * 600).sum()
PY
fi
[ "$(wc -c <a.npy)" -eq $((256 + 40 * ($(wc -l <a.csv) - 1))) ] || fail "length of the npy file"

# Two units with records: one file each.
cat >two.yaml <<'YAML'
- split:
    down: [threshold_crossing: {level: 1}]
    up: [threshold_crossing: {level: 1, polarity: pos}]
YAML
status 0 "$WEIR" run two.yaml "$input" --records s.csv -q
[ "$(ls s.*)" = "s.1.csv
s.2.csv" ] || fail "$(ls s.*)"
! cut -d, -f6 s.1.csv | grep -qx 1 && ! cut -d, -f6 s.2.csv | grep -qx 0 || fail "kinds"

# Mistakes.
refused 2 "a.csv: already exists; use --force" "$WEIR" run c.yaml "$input" --records a.csv -q
cp c.yaml chain.csv
refused 2 "chain.csv: is the chain file" "$WEIR" run chain.csv "$input" --records chain.csv -q --force
refused 2 "would be written for both" "$WEIR" run c.yaml "$input" --records clean/x.npy -o clean/x.npy -q
refused 2 "expected NAME.csv or NAME.npy" "$WEIR" run c.yaml "$input" --records clean/x.txt -q
echo "[abs]" >abs.yaml
refused 2 "no unit of the chain writes records" "$WEIR" run abs.yaml "$input" --records clean/x.csv -q
# A full disk: one line, exit 7, a part remains.
got=0
(
    ulimit -f 8
    exec "$WEIR" run c.yaml "$input" --records full.csv -q
) >out 2>err </dev/null || got=$?
[ $got -eq 7 ] && [ "$(wc -l <err)" -eq 1 ] && grep -q "full.csv: cannot be written" err || fail "$got: $(cat err)"
[ ! -e full.csv ] || fail "what is not whole has its name"

# Interrupted: a part with complete rows, for npy with their number.
endless=synthetic:channels=40,rate=30000,seconds=100000,seed=1
for name in i.csv i.npy; do
    "$WEIR" run c.yaml "$endless" --records $name >out 2>err </dev/null &
    child=$!
    tries=0
    while { [ ! -e $name.part ] || [ "$(wc -c <$name.part)" -lt 20000 ]; } && [ $tries -lt 200 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
    kill $child
    got=0
    wait $child || got=$?
    [ $got -eq 130 ] && [ ! -e $name ] || fail "$name: $got: $(cat err)"
    grep -q "^  kept         $name.part  [0-9,]* records$" out || fail "$(cat out)"
done
rows=$(sed -n 's/.*i.npy.part  \([0-9,]*\) records/\1/p' out | tr -d ,)
[ "$(wc -c <i.npy.part)" -eq $((256 + 40 * rows)) ] || fail "rows of the part"
head -c 256 i.npy.part | grep -aq "'shape': ($rows,)" || fail "shape of the part"
[ "$(tail -c 1 i.csv.part | od -An -c | tr -d ' ')" = '\n' ] || fail "the last row is not whole"

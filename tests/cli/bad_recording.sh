# SPDX-License-Identifier: MIT
# An invalid recording: one line with file and offset, exit 4 (7 if it cannot be opened), no output
# file, no .part.
. "$SOURCE/tests/cli/_lib.sh"
sample="$SOURCE/examples/data/test_subsecond.edf"
echo "[abs]" >c.yaml
try() { # STATUS PART FILE
    rate=
    case $3 in *.npy) rate=--rate=1000 ;; esac
    refused "$1" "$2" "$WEIR" run c.yaml "$3" $rate -o clean/out.npy
    refused "$1" "$2" "$WEIR" info "$3" $rate
}
try 7 none.npy none.npy
try 7 none.edf none.edf
: >empty.npy
try 4 empty.npy empty.npy
: >empty.edf
try 4 empty.edf empty.edf
npy() { # FILE HEADER: version 1.0
    printf '\223NUMPY\001\000\166\000%-117s\n' "$2" >"$1"
}
npy claim.npy "{'descr': '<f4', 'fortran_order': False, 'shape': (300000000000, 4), }"
try 4 claim.npy claim.npy
grep -q "300000000000" err
npy good.npy "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 2), }"
head -c 32 /dev/zero >>good.npy
status 0 "$WEIR" run c.yaml good.npy --rate 1000
head -c 60 good.npy >header.npy # truncated within the header
try 4 header.npy header.npy
head -c 100 "$sample" >header.edf
try 4 header.edf header.edf
cp "$sample" signals.edf
printf '9999' | dd of=signals.edf bs=1 seek=252 conv=notrunc 2>/dev/null
try 4 signals.edf signals.edf
grep -q "9999" err

# Truncated within a record: complete records are read and a notice reports the rest, whether the header states more
# or -1 (the recorder was still writing).
bytes=$(wc -c <"$sample")
frames() { grep -oE '"frames_in": [0-9]+' out | grep -oE '[0-9]+'; }
status 0 "$WEIR" run c.yaml "$sample" --json
whole=$(frames)
head -c $((bytes - 100)) "$sample" >record.edf
cp record.edf open.edf
printf '%-8s' -1 | dd of=open.edf bs=1 seek=236 conv=notrunc 2>/dev/null
for file in record.edf open.edf; do
    status 0 "$WEIR" run c.yaml $file -o open.npy --force --json
    [ "$(frames)" -eq $((whole - 128)) ] || fail "$file: $(frames) of $whole frames"
    status 0 "$WEIR" info $file --json
    tr -d ' \n' <out | grep -q '"notices":\[".*\]' || fail "no notice of what was lost"
done
head -c 150 good.npy >data.npy # truncated within the data: complete frames are read
status 0 "$WEIR" run c.yaml data.npy --rate 100 --json
grep -q "truncated: 2 of the 4 frames that the header states are complete" out || fail "no notice of the cut: $(cat out)"

# SPDX-License-Identifier: MIT
# Complex values from file to file: formats and units that support them keep them, others refuse them by name.
. "$SOURCE/tests/cli/_lib.sh"

# 30 frames of 2 channels, 3 - 4i each.
i=0
while [ $i -lt 60 ]; do
    printf '\000\000\100\100\000\000\200\300'
    i=$((i + 1))
done >in.raw
how="--dtype <c8 --channels-in-file 2 --rate 10"

printf 'chain:\n  - slicer: {selection: "1"}\n  - downsample: {factor: 2}\n' >move.yaml
printf 'chain:\n  - pow: {exponent: 2}\n' >pow.yaml
printf 'chain:\n  - as_array: {dtype: f32}\n' >real.yaml
printf 'chain:\n  - as_array: {dtype: c128}\n' >wide.yaml

status 0 "$WEIR" run move.yaml in.raw $how -o out.npy
grep -aq "'descr': '[<>]c8'" out.npy || fail "no c8 in out.npy"
status 0 "$WEIR" info out.npy
grep -q 'c64' out || fail "info: $(cat out)"
status 0 "$WEIR" run move.yaml in.raw $how -o out.raw
cmp -s out.raw in.raw && fail "nothing was chosen"
[ "$(wc -c <out.raw)" -eq 120 ] || fail "out.raw: $(wc -c <out.raw) bytes"
head -c 120 in.raw | cmp - out.raw
status 0 "$WEIR" run wide.yaml in.raw $how -o wide.npy
grep -aq "'descr': '[<>]c16'" wide.npy || fail "no c16 in wide.npy"

refused 3 "pow.yaml:2:5: pow: accepts real values only; its input is complex (c64)" \
    "$WEIR" run pow.yaml in.raw $how -o clean/x.npy
refused 3 "dtype: the input is complex (c64)" "$WEIR" run real.yaml in.raw $how -o clean/x.npy
refused 2 "x.csv: csv stores real numbers only; the stream is complex (c64)" \
    "$WEIR" run move.yaml in.raw $how -o clean/x.csv
refused 2 "x.wav: wav stores real numbers only; the stream is complex (c64)" \
    "$WEIR" run move.yaml in.raw $how -o clean/x.wav

LC_ALL=C "$WEIR" plot wide.npy >plot || fail "plot"
head -n 1 plot | grep -q 'wide.npy, 10 Hz, magnitude' || fail "$(head -n 1 plot)"
grep -q '^ *[567]\.[0-9]* |' plot || fail "not about 5: $(cat plot)" # 5 and the margin above it

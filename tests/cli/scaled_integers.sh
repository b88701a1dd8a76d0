# SPDX-License-Identifier: MIT
# as_array with a scale: integers take the bytes of integers in every format and are read back as physical values, with
# labels and units; --raw reads the counts; units that follow in the chain get physical values too.
. "$SOURCE/tests/cli/_lib.sh"
input="synthetic:channels=2,rate=1000,seconds=1"
printf 'chain:\n  - as_array: {dtype: i16, scale: 0.25}\n' >i16.yaml
printf 'chain:\n  - scale: {scale: 1}\n  - as_array: {dtype: f32}\n' >same.yaml # text is f64
printf 'chain:\n  - as_array: {dtype: i16, scale: 0.25}\n  - scale: {scale: 1}\n' >both.yaml

status 0 "$WEIR" run i16.yaml "$input" -o counts.raw --quiet
[ "$(wc -c <counts.raw)" -eq 4000 ] || fail "counts.raw: $(wc -c <counts.raw) bytes"
grep -q '"scale": 0.25' counts.raw.json || fail "side file: $(cat counts.raw.json)"
status 0 "$WEIR" run both.yaml "$input" -o physical.raw --quiet
[ "$(wc -c <physical.raw)" -eq 8000 ] || fail "physical.raw: $(wc -c <physical.raw) bytes"
grep -q '"scale"' physical.raw.json && fail "floating point has a scale: $(cat physical.raw.json)"

for format in raw npy wav csv h5; do
    if [ $format = h5 ] && ! "$WEIR" --version | grep -q hdf5; then
        continue
    fi
    status 0 "$WEIR" run i16.yaml "$input" -o out.$format --quiet
    status 0 "$WEIR" run same.yaml out.$format -o again.raw --quiet --force
    cmp again.raw physical.raw || fail "$format: not read back as physical values"
    grep -q '"units": \["uV", "uV"\]' again.raw.json || fail "$format: units: $(cat again.raw.json)"
    status 0 "$WEIR" run i16.yaml out.$format -o twice.raw --quiet --force
    cmp twice.raw counts.raw || fail "$format: other counts the second time"
    if [ $format != csv ]; then # there a text is what it says
        status 0 "$WEIR" run i16.yaml out.$format --raw -o raw.raw --quiet --force
        cmp -s raw.raw counts.raw && fail "$format: --raw gives no counts"
    fi
done
mv out.npy.json aside && status 0 "$WEIR" run same.yaml out.npy --rate 1000 -o plain.raw --quiet
cmp -s plain.raw physical.raw && fail "a scale without a side file"

printf 'chain:\n  - as_array: {dtype: u8, scale: 0.001}\n' >u8.yaml
status 0 "$WEIR" run u8.yaml "$input" --json --quiet
grep -q '"saturated": [1-9]' out || fail "nothing is counted: $(cat out)"
printf 'chain:\n  - as_array: {dtype: f32, scale: 0.25}\n' >bad.yaml
refused 3 "bad.yaml:2:28: as_array: scale: 0.25: a number other than 0 is allowed, for u8 u16 i16 i32, not f32" \
    "$WEIR" run bad.yaml "$input" -o clean/x.npy

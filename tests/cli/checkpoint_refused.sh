# SPDX-License-Identifier: MIT
# If --resume cannot continue it states why, and changes nothing (S10).
. "$SOURCE/tests/cli/_lib.sh"
. "$SOURCE/tests/cli/_stopped.sh"
slow="common_reference: {mode: median}}, {butterworth: {order: 8, cutoff: 5 kHz}}, {butterworth: {order: 8, cutoff: 4 kHz}"
echo "[{$slow}, {butterworth: {order: 2, cutoff: 3 kHz}}]" >chain.yaml
echo "[{$slow}, {butterworth: {order: 2, cutoff: 2 kHz}}]" >other.yaml
echo "[]" >copy.yaml
status 0 "$WEIR" run copy.yaml synthetic:channels=64,rate=30000,seconds=20,seed=1 -o in.raw --quiet
cp in.raw other.raw
rm in.raw.json
by_hand="--format raw --dtype f32 --channels-in-file 64 --rate 30000"

run() {
    # shellcheck disable=SC2086 # words
    "$WEIR" run "$@" $by_hand --quiet
}
# shellcheck disable=SC2086 # words
stopped KILL job.ckpt "$WEIR" run chain.yaml in.raw $by_hand -o out.npy --checkpoint job.ckpt --quiet
[ $got -eq 137 ] || fail "not killed: exit status $got: $(cat err)"
mkdir kept
cp -p job.ckpt out.npy.part out.npy.json.part kept

# refused_as_it_is PART COMMAND...: with status 2, and the files of the run are not changed.
refused_as_it_is() {
    refused 2 "$@"
    for kept in kept/*; do
        cmp "$kept" "${kept#kept/}" || fail "${kept#kept/} was changed: $*"
    done
}
refused_as_it_is "job.ckpt: the input or its options have changed" \
    run chain.yaml other.raw -o out.npy --checkpoint job.ckpt --resume
refused_as_it_is "job.ckpt: the input or its options have changed" \
    run chain.yaml in.raw -o out.npy --checkpoint job.ckpt --resume --duration 5s
refused_as_it_is "job.ckpt: the chain file has changed" \
    run other.yaml in.raw -o out.npy --checkpoint job.ckpt --resume
refused_as_it_is "job.ckpt: it belongs to output out.npy, not to new.npy" \
    run chain.yaml in.raw -o new.npy --checkpoint job.ckpt --resume
if grep -q avx2 /proc/cpuinfo 2>/dev/null; then
    refused_as_it_is "SIMD level" \
        env WEIR_SIMD=baseline "$WEIR" run chain.yaml in.raw -o out.npy --checkpoint job.ckpt --resume \
        --format raw --dtype f32 --channels-in-file 64 --rate 30000 --quiet
fi
cp other.raw in.raw # the same bytes, with another modification time
refused_as_it_is "job.ckpt: the input or its options have changed" \
    run chain.yaml in.raw -o out.npy --checkpoint job.ckpt --resume
touch -r other.raw in.raw

# An output that is shorter than its checkpoint states, has other rows, or is missing.
rm -rf job.ckpt out.*
# shellcheck disable=SC2086 # words
stopped KILL job.ckpt "$WEIR" run chain.yaml in.raw $by_hand -o out.npy --checkpoint job.ckpt --quiet
cp -p job.ckpt out.npy.part out.npy.json.part kept
bytes=$(wc -c <out.npy.part)
truncate -s 1000 out.npy.part
refused 2 "out.npy.part has 1000 bytes, the checkpoint needs " run chain.yaml in.raw -o out.npy --checkpoint job.ckpt --resume
head -c "$bytes" /dev/zero >out.npy.part
refused 2 "out.npy.part has different rows before byte" \
    run chain.yaml in.raw -o out.npy --checkpoint job.ckpt --resume
rm out.npy.part
refused 2 "out.npy.part is missing" \
    run chain.yaml in.raw -o out.npy --checkpoint job.ckpt --resume
cp kept/out.npy.part .

# A damaged checkpoint, and a file that is not one.
for at in 0 100 2000; do
    cp kept/job.ckpt .
    printf '\377\376' | dd of=job.ckpt bs=1 seek=$at conv=notrunc 2>/dev/null
    refused 2 "job.ckpt: " run chain.yaml in.raw -o out.npy --checkpoint job.ckpt --resume
done
head -c 500 kept/job.ckpt >job.ckpt
refused 2 "job.ckpt: damaged" run chain.yaml in.raw -o out.npy --checkpoint job.ckpt --resume
rm job.ckpt
refused 2 "job.ckpt: there is no checkpoint, and the run cannot start from the beginning: out.npy.part: was left by an interrupted run" \
    run chain.yaml in.raw -o out.npy --checkpoint job.ckpt --resume
[ ! -e job.ckpt ] || fail "a checkpoint of what is not its own"

# Rows after the checkpoint are removed; then the run continues to its end.
cp kept/job.ckpt .
echo "what came later" >>out.npy.part
run chain.yaml in.raw -o out.npy --checkpoint job.ckpt --resume
run chain.yaml in.raw -o whole.npy
cmp out.npy whole.npy || fail "the output differs"

# Options that contradict each other.
refused 2 "--resume needs --checkpoint FILE" run chain.yaml in.raw -o new.npy --resume
refused 2 "--checkpoint needs -o OUTPUT" run chain.yaml in.raw --checkpoint job.ckpt
refused 2 "--records and --checkpoint cannot be used together" \
    run chain.yaml in.raw -o new.npy --checkpoint job.ckpt --records events.csv
refused 2 "in.raw: is the input" run chain.yaml in.raw -o new.npy --checkpoint in.raw
refused 2 "chain.yaml: is the chain file" run chain.yaml in.raw -o new.npy --checkpoint chain.yaml
refused 2 "would be written for both" run chain.yaml in.raw -o new.npy --checkpoint new.npy.part
refused 2 "kept: already exists" run chain.yaml in.raw -o new.npy --checkpoint kept
refused 2 "whole.npy: not a checkpoint" run chain.yaml in.raw -o new.npy --checkpoint whole.npy --resume
refused 2 "a pipe cannot be read again" run chain.yaml - -o new.npy --checkpoint job.ckpt
refused 2 "cannot be truncated" run chain.yaml in.raw -o - --output-format raw --checkpoint job.ckpt
[ ! -e new.npy ] && [ ! -e new.npy.part ] && [ ! -e job.ckpt ] || fail "left behind: $(ls)"

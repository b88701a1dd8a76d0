# SPDX-License-Identifier: MIT
# A WAV file of 5 GiB (sparse) whose size field wrapped, is 0 or FFFFFFFF: read to its end with a notice,
# within 16 MiB and 256 open files (M6), and the system agrees to 4 MiB (M7).
. "$SOURCE/tests/cli/_lib.sh"
if ! "$WEIR" --version | grep -q "^  wav  *read"; then
    echo "skipped: this build does not read WAV"
    exit 77
fi
size=5368709120 # of the file; 44 bytes of it are the head
if ! truncate -s $size big.wav 2>/dev/null; then
    echo "skipped: a sparse file of 5 GiB cannot be made here"
    exit 77
fi
ulimit -n 256

# head SIZE-FIELD: 256 channels of 16 bits at 30 kHz.
head() {
    {
        printf 'RIFF\377\377\377\377WAVEfmt \020\000\000\000'
        printf '\001\000\000\001\060\165\000\000\000\140\352\000\000\002\020\000'
        printf "data$1"
    } | dd of=big.wav conv=notrunc status=none
}

# number KEY: a number of the JSON in out.
number() {
    sed -n "s/^ *\"$1\": *\([0-9]*\),*\$/\1/p" out | sed q
}

frames=$(((size - 44) / 512))
echo "[{downsample: {factor: 1000}}]" >coarse.yaml
for field in '\324\377\377\077' '\000\000\000\000' '\377\377\377\377'; do
    head "$field"
    status 0 "$WEIR" info big.wav --json
    [ "$(number frames)" -eq $frames ] || fail "$field: $(number frames) frames instead of $frames"
    grep -q "up to the end of the file\|size wrapped" out || fail "$field: no notice: $(cat out)"
done

# To the end, and over 4 GiB, coarsely; from end to end with WEIR_TEST_LONG=1 (a minute).
printf '\001\000\377\177' | dd of=big.wav bs=1 seek=$((44 + 512 * (frames - 1))) conv=notrunc status=none
status 0 "$WEIR" run coarse.yaml big.wav --start 345s --memory-limit 16M --json
[ "$(number frames_in)" -eq $((frames - 345 * 30000)) ] || fail "$(cat out)"
part="--start 270s --duration 20s" part_frames=600000 # over 4 GiB, which lie at 279.6 s
if [ -n "${WEIR_TEST_LONG:-}" ]; then
    part="" part_frames=$frames
fi
# shellcheck disable=SC2086 # words
status 0 "$WEIR" run coarse.yaml big.wav $part --memory-limit 16M --json
[ "$(number frames_in)" -eq $part_frames ] || fail "$(cat out)"
plan=$(number plan_bytes) before=$(number rss_before_bytes) peak=$(number rss_peak_bytes)
case ${ASAN_OPTIONS:+asan} in
asan) ;; # its shadow memory is not in the plan
*) [ $((peak - before)) -le $((plan + 4194304)) ] ||
    fail "RSS grew by $((peak - before)) bytes, the plan is $plan" ;;
esac
echo "plan $plan, RSS + $((peak - before)) bytes"

# The last frame is at the right place: counts 1 and 32767.
echo "[]" >copy.yaml
status 0 "$WEIR" run copy.yaml big.wav --raw --channels 0,1 --start 349.5248s -o end.raw --quiet
[ "$(tail -c 4 end.raw | od -An -tx1 | tr -d ' ')" = 0100ff7f ] || fail "end: $(tail -c 4 end.raw | od -An -tx1)"

# What follows parses as chunks: then the size field is right, and the rest is not signal.
truncate -s $((44 + 5120 + 8 + 4)) big.wav
head '\000\024\000\000'
printf 'LIST\004\000\000\000abcd' | dd of=big.wav bs=1 seek=$((44 + 5120)) conv=notrunc status=none
status 0 "$WEIR" info big.wav --json
[ "$(number frames)" -eq 10 ] || fail "chunks behind the data were read as data: $(cat out)"

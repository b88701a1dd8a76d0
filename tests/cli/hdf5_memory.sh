# SPDX-License-Identifier: MIT
# M7: what libhdf5 holds beside our buffers is declared, as a part of the plan, and the system agrees: the
# resident set grows by no more than plan + 4 MiB, from before the library is touched at all, and not with
# the length of the file.
. "$SOURCE/tests/cli/_lib.sh"
if ! "$WEIR" --version | grep -q "^  hdf5  *read"; then
    echo "skipped: this build is without HDF5"
    exit 77
fi
number() {
    sed -n "s/^ *\"$1\": *\([0-9]*\),*\$/\1/p" out | sed q
}
echo "[]" >copy.yaml
status 0 "$WEIR" plan copy.yaml synthetic:channels=64,rate=30000,seconds=1,seed=1 -o out.h5
grep -q "^declared  *charges" out || fail "nothing is declared: $(cat out)"
status 0 "$WEIR" run copy.yaml synthetic:channels=64,rate=30000,seconds=1,seed=1 -o out.npy --json
plain=$(number rss_before_bytes)
for seconds in 2 20; do
    input=synthetic:channels=64,rate=30000,seconds=$seconds,seed=1
    for job in "$input -o $seconds.h5" "$seconds.h5 -o $seconds.raw" "$seconds.h5 -o 2$seconds.h5"; do
        # shellcheck disable=SC2086 # words
        status 0 "$WEIR" run copy.yaml $job --memory-limit 16M --json
        plan=$(number plan_bytes) peak=$(number rss_peak_bytes)
        echo "$job: plan $plan, RSS + $((peak - plain)) bytes"
        [ -n "${ASAN_OPTIONS:-}" ] || [ $((peak - plain)) -le $((plan + 4194304)) ] ||
            fail "$job: RSS grew by $((peak - plain)) bytes, the plan is $plan"
    done
done

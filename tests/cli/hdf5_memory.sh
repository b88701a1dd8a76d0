# SPDX-License-Identifier: MIT
# M7: what libhdf5 allocates, in the writer and in the helper that reads, is declared in the plan, and the system
# agrees: the resident set grows by no more than plan + 4 MiB, from before the library is used at all, and not with
# the length of the file. (The helper's own is measured in src/recording/hdf5/child_test.c.)
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
        status 0 "$WEIR" run copy.yaml $job --memory-limit 24M --json
        plan=$(number plan_bytes) peak=$(number rss_peak_bytes)
        echo "$job: plan $plan, RSS + $((peak - plain)) bytes"
        [ -n "${ASAN_OPTIONS:-}" ] || [ $((peak - plain)) -le $((plan + 4194304)) ] ||
            fail "$job: RSS grew by $((peak - plain)) bytes, the plan is $plan"
    done
done

# The helper ends when its parent ends, in any way, and when the recording is closed.
mkfifo full
exec 9<>full # from which nobody reads
"$WEIR" run copy.yaml 20.h5 -o - --output-format raw >full 2>/dev/null 9>&- &
child=$!
helper=
for _ in 1 2 3 4 5 6 7 8 9 10; do
    helper=$(cat /proc/$child/task/$child/children 2>/dev/null | tr -d ' ')
    [ -z "$helper" ] || break
    sleep 0.1
done
[ -n "$helper" ] || fail "no helper"
grep -q weir-hdf5 "/proc/$helper/cmdline" || fail "another child: $(tr '\0' ' ' <"/proc/$helper/cmdline")"
kill -9 $child
wait $child || true
for _ in 1 2 3 4 5 6 7 8 9 10; do
    [ -e "/proc/$helper/cmdline" ] && [ -s "/proc/$helper/cmdline" ] || break
    sleep 0.1
done
[ ! -s "/proc/$helper/cmdline" ] || fail "the helper is left"

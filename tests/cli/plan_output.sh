# SPDX-License-Identifier: MIT
# A plan without -o states what a run with -o needs: as many bytes as the plan with -o, and as that run allocates.
. "$SOURCE/tests/cli/_lib.sh"
input=synthetic:channels=64,rate=30000,seconds=2,seed=1
number() { # KEY: of the JSON in out
    sed -n "s/^ *\"$1\": \([0-9]*\),*\$/\1/p" out | head -n 1
}
printf 'chain: [abs, split: {a: [abs], b: [pow: {exponent: 3}]}]\n' >split.yaml
for chain in "$SPIKE" split.yaml; do
    status 0 "$WEIR" plan "$chain" $input --json
    without=$(number total_bytes) with=$(number total_bytes_with_output)
    [ "$with" -gt "$without" ] || fail "$chain: with -o $with B, without $without B"
    status 0 "$WEIR" plan "$chain" $input -o FILE.npy --json
    [ "$(number total_bytes)" -eq "$with" ] || fail "$chain: $(number total_bytes) B planned, $with B stated"
    grep -q '"total_bytes_with_output": null' out
    status 0 "$WEIR" run "$chain" $input -o FILE.npy --json
    [ "$(number held_peak_bytes)" -eq "$with" ] || fail "$chain: $(number held_peak_bytes) B held, $with B stated"
    status 0 "$WEIR" plan "$chain" $input
    grep -qE "^with -o FILE.npy: [0-9.]+ KiB more for the writer, [0-9.]+ KiB in total$" out || fail "$(cat out)"
    status 0 "$WEIR" plan "$chain" $input -o FILE.npy
    ! grep -q "^with -o" out
done
# If it is above the limit the plan says so, without failing.
status 0 "$WEIR" plan "$SPIKE" $input --memory-limit 380KiB
grep -q "more for the writer, .* in total: does not fit$" out || fail "$(cat out)"
[ "$(ls)" = "$(printf 'FILE.a.npy\nFILE.a.npy.json\nFILE.b.npy\nFILE.b.npy.json\nFILE.npy\nFILE.npy.json\nerr\nout\nsplit.yaml')" ] ||
    fail "left behind: $(ls)"

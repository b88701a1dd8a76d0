# SPDX-License-Identifier: MIT
# weir bench memory: results that do not depend on the machine: under mlx memory grows with the number of shapes, not
# with sizes; its limit is exceeded by one buffer at most; cached bytes of policy pages are within the limit after
# every call, and serve the usual size; weir's chain is within its plan and 4 MiB; the heap's count equals the cache's.
. "$SOURCE/tests/cli/_lib.sh"
status 0 "$WEIR" bench memory --quick --peers "$work/none" --json -o picture.svg
cp out json
python=$(command -v python3) || { echo "skipped: no python3 to read JSON with"; exit 77; }
"$python" - <<'CHECKS' || fail "see above"
import json

bench = json.load(open("json"))
rows = bench["rows"]
MIB = 1 << 20


def row(policy, stream, limit=None, clear=None, work="intermediates"):
    found = [
        r
        for r in rows
        if (r["work"], r["policy"], r["stream"], r["limit_bytes"], r["clear_s"])
        == (work, policy, stream, limit, clear)
    ]
    assert len(found) == 1, (policy, stream, limit, clear, len(found))
    return found[0]


def check(what, true):
    print(f"{'ok' if true else 'NOT'}: {what}")
    assert true, what


# B2: one step per length, and no others.
one, forty = row("mlx:metal", "constant 300"), row("mlx:metal", "40 lengths")
check("growth over 40 shapes >= 10 x that of one", forty["growth_bytes"] >= 10 * one["growth_bytes"])
check("one step a length", forty["steps"] == 39 and one["steps"] == 0)
ladder = [row("mlx:metal", s)["growth_bytes"] for s in ("constant 300", "10 lengths", "30 lengths", "40 lengths")]
check("growth rises with the number of lengths", ladder == sorted(ladder) and ladder[0] < ladder[1] < ladder[3])
# B3, B4: limit + largest buffer.
largest = 40 * 300 * forty["channels"] * 4 + 32768
for policy in ("mlx:metal", "mlx:cuda"):
    for limit in (512, 256, 128, 32, 16, 0):
        r = row(policy, "40 lengths", limit * MIB)
        check(f"{policy} at {limit} MiB: limit + largest buffer", r["idle_most_bytes"] <= limit * MIB + largest)
check("clearing leaves more than a limit", row("mlx:metal", "40 lengths", None, 60)["held_peak_bytes"]
      > row("mlx:metal", "40 lengths", 32 * MIB)["held_peak_bytes"])
# M1
for policy in ("fit", "pages", "mlx:cpu"):
    for limit in (512, 256, 128, 32, 16, 0):
        r = row(policy, "40 lengths", limit * MIB)
        check(f"{policy} at {limit} MiB: idle after every call", r["idle_most_bytes"] <= limit * MIB)
hot = row("pages", "40 lengths", 16 * MIB)
check(f"pages at 16 MiB: the usual size is served ({hot['hot_hit_rate']:.4f})", hot["hot_hit_rate"] >= 0.99)
# M3: the other counts agree.
for r in rows:
    check(r["title"] + ": heap", r["heap_peak_bytes"] == r["held_peak_bytes"] or r["policy"] == "pages")
    check(r["title"] + ": refusals", r["refusals"] == 0)
# M6: the chain.
for r in rows:
    if r["work"] == "chain, untiled":
        check(r["title"] + ": more than weir's plan", r["held_peak_bytes"] > 20 * MIB)
    if r["work"] == "chain, tiled":
        check(r["title"] + ": plan", r["held_peak_bytes"] <= r["plan_bytes"])
        check(r["title"] + ": 4 MiB", r["held_peak_bytes"] <= 4 * MIB and r["steps"] == 0)
check("the tiled chain has one plan", len({r["plan_bytes"] for r in rows if r["work"] == "chain, tiled"}) == 1)
check("real MLX is named as left out", [s["name"] for s in bench["skipped"]] == ["real MLX"])
check("a published figure stands beside", forty["published"]["cache_mib"] == 5743)
CHECKS
grep -q '</svg>' picture.svg
grep -q 'mlx:metal, no limit: ' picture.svg
status 2 "$WEIR" bench memory --row 9999
# The published 0.97 is relative to the time before; so is the figure next to it.
status 0 "$WEIR" bench memory --quick --only 'fit, 128 MiB'
awk '/x former time/ { told = 1 }
    told && $1 == "fit" { off = $3 / $2 - $4; good = off < 0.1 && off > -0.1 }
    END { exit !good }' out || fail "$(cat out)"
status 0 "$WEIR" bench memory --quick --only tiled
grep -q 'constant 9000 ' out

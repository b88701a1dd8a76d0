# SPDX-License-Identifier: MIT
# cache_limit auto compared with the exact answer on recorded traces: the stall stream, and the buffers of the
# spike-band chain without tiles, with stalls every 30 and every 300 messages. Within 20 % under fit; under pages
# also within a granule of 2 MiB, the least that it keeps, or two of them. And why pages is the default of the
# process's cache.
. "$SOURCE/tests/cli/_lib.sh"

number() { # number KEY: of the JSON in out
    sed -n 's/^.*"'"$1"'": *\([0-9][0-9]*\).*$/\1/p' out | head -n 1
}

compare() { # compare TRACE POLICY SLACK
    status 0 "$WEIR" trace replay "$1" --policy "$2" --cache-limit auto --json
    chosen=$(number auto_limit_bytes)
    status 0 "$WEIR" trace tune "$1" --policy "$2" --json
    exact=$(number limit_bytes)
    echo "$1, $2: auto $chosen B, exact $exact B"
    awk -v chosen="$chosen" -v exact="$exact" -v slack="$3" \
        'BEGIN { exit !(chosen >= 0.8 * exact - slack && chosen <= 1.2 * exact + slack) }' || fail "$1 under $2"
}

# 20 buffers per message of 300 frames x 256 channels f32, every 300th message 2 to 40 times as long.
awk 'BEGIN {
    print "step,op,slot,bytes,active,cached"
    r = 7
    for (m = 0; m < 3000; m++) {
        times = 1
        if (m % 300 == 299) {
            r = (r * 1103515 + 12345) % 2147483648
            times = 2 + int(r / 65536) % 39
        }
        for (i = 0; i < 20; i++) print s++ ",a," i "," 307200 * times
        for (i = 0; i < 20; i++) print s++ ",f," i ",0"
    }
}' >stall.csv
for every in 30 300; do
    awk -v every=$every 'BEGIN {
        for (m = 0; m < 20 * every; m++) print m % every == every - 1 ? 300 * (2 + int(m / every) * 17 % 39) : 300
    }' >lengths
    status 0 "$WEIR" trace record "$SPIKE" synthetic:channels=64,rate=30000,seconds=120,seed=1 \
        --untiled --message-lengths lengths --quiet -o "chain-$every"
done
for trace in stall.csv chain-30 chain-300; do
    compare $trace fit 0
    # The smallest limit of chain-300 is below a granule, auto chooses whole ones, and one alone keeps no buffer
    # that extends into two.
    [ $trace = chain-300 ] && granules=2 || granules=1
    compare $trace pages $((granules * 2097152))
done

# Without a limit: pages keeps what is live, fit a set of buffers for each length that it cannot serve.
for policy in fit pages; do
    status 0 "$WEIR" trace replay stall.csv --policy $policy --cache-limit none --json
    held=$(number held_peak_bytes) live=$(number live_peak_bytes)
    echo "stall.csv, $policy, no limit: $held B held of $live B live at most"
    [ $policy = fit ] || [ "$((held * 100))" -le "$((live * 105))" ] || fail "pages holds $held of $live"
    [ $policy = pages ] || [ "$held" -gt "$((live * 3))" ] || fail "fit holds $held of $live"
done

# SPDX-License-Identifier: MIT
# S3: --start, --duration and the synthetic source count frames from decimals, and selections that are
# adjacent in time are adjacent in frames.
. "$SOURCE/tests/cli/_lib.sh"
frames() { # FRAMES ARGUMENTS: info says so
    expected=$1
    shift
    status 0 "$WEIR" info "$@" --json
    found=$(sed -n 's/.*"frames": \([0-9]*\),*$/\1/p' out | head -1)
    [ "$found" = "$expected" ] || fail "info $*: $found frames, not $expected"
}
of() { # SECONDS RATE
    echo "synthetic:channels=1,rate=$2,seconds=$1,seed=1"
}
frames 225 "$(of 9ms 25000)"
frames 999 "$(of 33.3ms 30000)"
frames 30870 "$(of 700ms 44100)"
frames 1001 "$(of 1001ms 1000)"
frames 1 "$(of 0.05ms 30000)"
frames 3000 "$(of 1s 30000)" --duration 100ms
frames 15435 "$(of 1s 44100)" --duration 350ms
frames 27000 "$(of 1s 30000)" --start 0.1
frames 21000 "$(of 1s 30000)" --start 300ms
# 0.1 s + 0.2 s is 0.3 s: three selections are the whole.
for name in a b c; do
    case $name in
    a) part="--duration 0.1" ;;
    b) part="--start 0.1 --duration 0.2" ;;
    c) part="--start 0.3" ;;
    esac
    printf 'chain: []\n' >copy.yaml
    status 0 "$WEIR" run copy.yaml "$(of 1s 30000)" $part -o $name.raw --quiet
done
status 0 "$WEIR" run copy.yaml "$(of 1s 30000)" -o all.raw --quiet
cat a.raw b.raw c.raw | cmp - all.raw || fail "the stretches are not the whole"
# So are those of a recording with pauses, whose segments start between nanoseconds.
paused="synthetic:channels=1,rate=30000,seconds=3,pause_every=0.7001,pause=0.1,seed=1"
status 0 "$WEIR" run copy.yaml "$paused" -o all.raw --quiet --force
rm -f parts.raw
for at in 0 0.5 0.8001 1.2 1.6002 1.65 2.0 2.5; do
    case $at in
    0) part="--duration 0.5" ;;
    0.5) part="--start 0.5 --duration 0.3001" ;;
    0.8001) part="--start 0.8001 --duration 0.3999" ;;
    1.2) part="--start 1.2 --duration 0.4002" ;;
    1.6002) part="--start 1.6002 --duration 0.0498" ;;
    1.65) part="--start 1.65 --duration 0.35" ;;
    2.0) part="--start 2.0 --duration 0.5" ;;
    2.5) part="--start 2.5" ;;
    esac
    status 0 "$WEIR" run copy.yaml "$paused" $part -o part.raw --quiet --force
    cat part.raw >>parts.raw
done
cmp parts.raw all.raw || fail "the stretches are not the whole, with pauses"

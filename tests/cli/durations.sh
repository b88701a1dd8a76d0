# SPDX-License-Identifier: MIT
# S3: --start, --duration, the synthetic source and units count frames from decimals, and selections
# that are adjacent in time are adjacent in frames.
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

# After a change of rate as before it: every third frame of 0.3 Hz comes at 0.1 Hz, of which 30 s are 3.
windows() { # FRAMES-A-WINDOW RATE FACTOR SECONDS
    cat >windows.yaml <<Y
chain:
  - downsample: {factor: $3}
  - window: {window_dur: $4 s, window_shift: $4 s}
Y
    status 0 "$WEIR" plan windows.yaml all.raw $slow --rate "$2" --json
    tr -d ' \n' <out | grep -q "\"dims\":\"winx$1timex1ch\"" ||
        fail "$4 s at $2 Hz / $3 are not $1 frames: $(cat out)"
}
slow="--format raw --dtype f32 --channels-in-file 1"
windows 3 0.3 3 30
windows 1 0.3 3 10
windows 2 0.6 6 20
windows 7 0.7 7 70
windows 3 0.6 3 15
echo "[downsample: {factor: 3}]" >third.yaml
status 0 "$WEIR" run third.yaml all.raw $slow --rate 0.3 -o third.npy --quiet
grep -q '"rate_hz": 0.1,' third.npy.json || fail "$(cat third.npy.json)"

# noise_time of threshold_crossing: 290 ms at 100 Hz are 29 frames, as 293 ms are and 285 ms are not.
for time in 285 290 293; do
    echo "[threshold_crossing: {threshold: 2, noise_time: $time ms}]" >noise.yaml
    status 0 "$WEIR" run noise.yaml "synthetic:channels=8,rate=100,seconds=200,seed=3" --records $time.csv --quiet -o $time.npy
done
cmp 290.csv 293.csv || fail "290 ms are not 29 frames"
! cmp -s 285.csv 290.csv || fail "noise_time has no effect here"

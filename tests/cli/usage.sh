# SPDX-License-Identifier: MIT
# A usage error is exit 2 and states what is wrong; help is exit 0 and on standard output.
. "$SOURCE/tests/cli/_lib.sh"
input=synthetic:channels=2,rate=1000,seconds=1,seed=1
echo "[abs]" >c.yaml
status 2 "$WEIR"
refused 2 "did you mean run?" "$WEIR" rnu
refused 2 "--foo" "$WEIR" --foo
status 2 "$WEIR" run c.yaml "$input" --foo
grep -q -- "--foo" err && grep -q "weir run --help" err || fail "$(cat err)"
status 2 "$WEIR" run c.yaml
status 2 "$WEIR" run c.yaml "$input" more
status 2 "$WEIR" info
refused 2 "--rate" "$WEIR" run c.yaml "$input" --rate 3s
refused 2 "--rate" "$WEIR" run c.yaml "$input" --rate 0
refused 2 "--memory-limit" "$WEIR" run c.yaml "$input" --memory-limit 3Hz
refused 2 "--memory-limit" "$WEIR" run c.yaml "$input" --memory-limit -1
refused 2 "--tile" "$WEIR" run c.yaml "$input" --tile some
refused 2 "threads" "$WEIR" run c.yaml "$input" --threads 65
refused 2 "--message-frames" "$WEIR" run c.yaml "$input" --message-frames 0
refused 2 "cannot be used together" "$WEIR" run c.yaml "$input" --message-frames 3 --message-lengths c.yaml
refused 2 "or auto" "$WEIR" run c.yaml "$input" --tile none -o clean/out.npy
refused 2 "-o - needs --output-format" "$WEIR" run c.yaml "$input" -o -
refused 2 "standard output" "$WEIR" run c.yaml "$input" -o - --output-format raw --json
refused 2 "standard input" "$WEIR" run - - --format raw
refused 2 "clean/out.foo" "$WEIR" run c.yaml "$input" -o clean/out.foo
refused 3 "butterworth" "$WEIR" units butterwort
for command in run plan info units; do
    status 0 "$WEIR" $command --help
    [ ! -s err ] && grep -q "Usage: weir $command" out || fail "$command --help"
    status 0 "$WEIR" help $command
done
status 0 "$WEIR" --help
for command in run plan info units; do
    grep -q "^  $command " out || fail "$command is not in the help"
done
status 0 "$WEIR" --version
grep -q "^weir [0-9]" out && grep -q "^  npy " out

# The hint names an existing option.
refused 2 "or --output-format" "$WEIR" run "$SPIKE" synthetic:channels=1,rate=30000,seconds=1,seed=1 -o clean/o.mat

# -h is help in every command and subcommand.
for command in run plan info units plot docs trace bench "trace record" "trace replay" "trace tune" "bench speed" "bench units" "bench memory"; do
    # shellcheck disable=SC2086 # two words
    status 0 "$WEIR" $command -h
    grep -qi "^usage: weir $command" out || fail "$command -h: $(cat out)"
done

# --format is only for the input.
printf '1,2\n3,4\n' >in.csv
status 0 "$WEIR" run c.yaml in.csv --format csv --rate 10 -o - --output-format raw
grep -q ',' out && fail "--format set the output's" || :

# SPDX-License-Identifier: MIT
# Physical units follow the arithmetic, into side files, weir info and pictures.
. "$SOURCE/tests/cli/_lib.sh"
input="synthetic:channels=2,rate=1000,seconds=1"
unit() { # UNIT CHAIN-STEP...: what two channels in uV become
    expected=$1
    shift
    printf 'chain:\n' >c.yaml
    printf -- '- %s\n' "$@" >>c.yaml
    status 0 "$WEIR" run c.yaml "$input" -o out.npy --quiet --force
    tr -d ' \n' <out.npy.json | grep -qF "\"units\":[\"$expected\",\"$expected\"]" ||
        fail "$*: not $expected: $(cat out.npy.json)"
    status 0 "$WEIR" info out.npy --json
    [ "$(grep -cF "\"unit\": \"$expected\"" out)" -eq 2 ] || fail "info: not $expected: $(cat out)"
}
unit uV 'scale: {scale: 3}'
unit uV^2 'pow: {exponent: 2}'
unit uV 'pow: {exponent: 2}' 'binned_aggregate: {bin_duration: 10 ms}' 'pow: {exponent: 0.5}'
unit uV^-1 'pow: {exponent: -1}'
unit 1 'adaptive_standard_scaler: {time_constant: 1 s}'
status 0 "$WEIR" plot out.npy -o out.svg
grep -q 'rotate(-90)' out.svg && fail "a pure number has a unit in the picture"
unit 1 'pow: {exponent: 2}' 'log: {}'
unit uV^2 'pow: {exponent: 2}'
status 0 "$WEIR" plot out.npy -o squares.svg
grep -q 'uV^2' squares.svg || fail "no uV^2 in the picture"

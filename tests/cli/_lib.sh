# SPDX-License-Identifier: MIT
# What the tests of the command share: a folder of their own, and how a failure is said.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
SPIKE="$SOURCE/examples/spike_band_power.yaml"

fail() {
    echo "FAILED: $*"
    exit 1
}

# status N COMMAND...: runs it, its output in $work/out and $work/err, and checks its exit status.
status() {
    wanted=$1
    shift
    got=0
    "$@" >"$work/out" 2>"$work/err" </dev/null || got=$?
    [ "$got" -eq "$wanted" ] || fail "exit status $got instead of $wanted: $*: $(cat "$work/err")"
}

# refused N PART COMMAND...: exit status N, one line on standard error that holds PART, nothing on standard
# output, and no file left behind in the folder "clean".
refused() {
    wanted_status=$1 part=$2
    shift 2
    mkdir -p clean
    status "$wanted_status" "$@"
    [ "$(wc -l <err)" -eq 1 ] || fail "not one line: $*: $(cat err)"
    grep -qF -- "$part" err || fail "no '$part' in: $(cat err)"
    case $(cat err) in weir*) ;; *) fail "does not start with weir: $(cat err)" ;; esac
    [ ! -s out ] || fail "something on standard output: $*"
    [ -z "$(ls -A clean)" ] || fail "left behind: $(ls -A clean): $*"
}

# SPDX-License-Identifier: MIT
# Shared by tests of the command: a folder of their own, and failure messages.
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

# refused N PART COMMAND...: exit status N, one line on standard error that contains PART, nothing on standard
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

# interrupted SIGNAL FILE COMMAND...: runs it until rows of FILE.part were flushed, sends the signal, and expects
# exit status 130, no FILE, a part whose side file states that it is not complete, and on standard output
# ($work/out) where it stopped and what is kept.
interrupted() {
    signal=$1 file=$2
    shift 2
    # A shell starts its background jobs with SIGINT ignored; an exec from python or env would keep that, but
    # weir sets its own handler.
    "$@" >"$work/out" 2>"$work/err" </dev/null &
    child=$!
    tries=0
    while ! grep -q '"rows": [1-9]' "$file.json.part" 2>/dev/null && [ $tries -lt 200 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
    kill -s "$signal" $child
    got=0
    wait $child || got=$?
    [ $got -eq 130 ] || fail "$signal: exit status $got: $(cat "$work/err")"
    [ ! -e "$file" ] || fail "$signal: what is not whole has its final name"
    [ -s "$file.part" ] || fail "$signal: no .part is left"
    grep -q '"complete": false' "$file.json.part" || fail "$signal: the side file does not say it"
    grep -qF "kept         $file.part" "$work/out" || fail "$signal: does not name the part"
    grep -q "stopped  *after frame" "$work/out" ||
        fail "$signal: does not say where it stopped: $(cat "$work/out")"
}

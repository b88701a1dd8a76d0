# SPDX-License-Identifier: MIT
# Runs with --checkpoint that are stopped. Between a start and a signal a process is paused until its clock is a
# second later, so that it writes a checkpoint with its next tile, whatever the machine computes in a second.

number_of() { # of the file behind a name: a checkpoint that is written anew is another one
    # shellcheck disable=SC2012 # a name of ours
    ls -i "$1" 2>/dev/null | awk '{ print $1 }'
}

# stopped SIGNAL FILE COMMAND...: runs it until it has written a checkpoint to FILE after the one with which it began,
# and sends the signal; its exit status is $got, and its output in $work/out and $work/err.
stopped() {
    signal=$1 file=$2
    shift 2
    before=$(number_of "$file")
    "$@" >"$work/out" 2>"$work/err" </dev/null &
    child=$!
    tries=0
    while [ -z "$(number_of "$file")" ] && [ $tries -lt 200 ]; do
        sleep 0.02
        tries=$((tries + 1))
    done
    before=${before:-$(number_of "$file")}
    tries=0
    while [ "$(number_of "$file")" = "$before" ] && [ $tries -lt 20 ]; do
        kill -s STOP $child 2>/dev/null || break
        sleep 1.1
        kill -s CONT $child
        sleep 0.05
        tries=$((tries + 1))
    done
    kill -s "$signal" $child 2>/dev/null || true
    got=0
    wait $child || got=$?
}

# to_the_end COMMAND...: repeated until it ends with 0.
to_the_end() {
    tries=0
    while ! "$@" >"$work/out" 2>"$work/err" </dev/null && [ $tries -lt 5 ]; do
        tries=$((tries + 1))
    done
    [ $tries -lt 5 ] || fail "does not come to an end: $*: $(cat "$work/err")"
}

# SPDX-License-Identifier: MIT
# A closed pipe or a full disk is exit 7 and one line, not SIGPIPE.
. "$SOURCE/tests/cli/_lib.sh"
input=synthetic:channels=64,rate=30000,seconds=20,seed=1
echo "[abs]" >c.yaml
mkfifo pipe
run() {
    (exec 3<pipe; exec 3<&-) & # opens it for reading, and closes it
    got=0
    (sleep 0.3; exec "$WEIR" "$@") >pipe 2>err || got=$?
    wait
    [ $got -eq 7 ] || fail "exit status $got: $*: $(cat err)"
    [ "$(wc -l <err)" -eq 1 ] || fail "not one line: $(cat err)"
}
run plan c.yaml "$input"
run run c.yaml "$input" --quiet -o - --output-format raw
run run c.yaml "$input" --quiet -o - --output-format csv
for format in npy wav hdf5; do # which a pipe cannot hold, whether this build has them or not
    status 2 "$WEIR" run c.yaml "$input" --quiet -o - --output-format $format
    [ "$(wc -l <err)" -eq 1 ] || fail "not one line: $(cat err)"
done
if [ -w /dev/full ]; then
    for command in "plan c.yaml $input" "plan c.yaml $input --json" "info $input" units "units log" --version --help; do
        got=0
        # shellcheck disable=SC2086
        "$WEIR" $command >/dev/full 2>err || got=$?
        [ $got -eq 7 ] || fail "exit status $got: $command"
        [ "$(wc -l <err)" -eq 1 ] || fail "not one line: $(cat err)"
    done
fi

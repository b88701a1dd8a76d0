# SPDX-License-Identifier: MIT
# The end of a run, the same for every writer: ends EXTENSION OPTIONS-TO-READ-IT-BY-HAND...
. "$SOURCE/tests/cli/_lib.sh"
endless=synthetic:channels=64,rate=30000,seconds=100000,seed=1
echo "[]" >copy.yaml

# frames FILE OPTIONS...: its number of frames; nothing if it cannot be read.
frames() {
    "$WEIR" info "$@" --json 2>/dev/null | sed -n 's/^ *"frames": \([0-9]*\),*$/\1/p' | head -n 1
}

# same PART FULL COUNT: the first COUNT frames of both are the same values.
same() {
    part=$1 full=$2 count=$3
    shift 3
    rm -f a.raw* b.raw*
    status 0 "$WEIR" run copy.yaml "$part" "$@" -o a.raw --quiet
    status 0 "$WEIR" run copy.yaml "$full" "$@" -o b.raw --quiet
    bytes=$(wc -c <a.raw)
    [ "$bytes" -gt 0 ] && [ $((bytes % count)) -eq 0 ] || fail "$part: $bytes bytes of $count frames"
    cmp -n "$bytes" a.raw b.raw || fail "$part differs from a whole run"
}

# slowly FILE: its bytes, 1 MiB every tenth of a second.
slowly() {
    piece=0
    while [ $((piece * 1048576)) -lt "$(wc -c <"$1")" ] &&
        dd if="$1" bs=1048576 skip=$piece count=1 2>/dev/null; do
        piece=$((piece + 1))
        sleep 0.1
    done
}

ends() {
    ext=$1
    shift

    # An existing file is not changed without --force.
    echo old >"out.$ext"
    refused 2 "already exists; use --force to overwrite" "$WEIR" run "$SPIKE" "$endless" -o "out.$ext"
    [ "$(cat "out.$ext")" = old ]
    rm "out.$ext"

    # Ctrl-C and SIGTERM: the part can be read, and states where it stopped; the next run does not replace it.
    for signal in INT TERM; do
        interrupted $signal "out.$ext" "$WEIR" run "$SPIKE" "$endless" -o "out.$ext"
        count=$(frames "out.$ext.part" "$@")
        [ "${count:-0}" -gt 0 ] || fail "$signal: nothing can be read"
        same "out.$ext.part" "out.$ext.part" "$count" "$@"
        cp "out.$ext.part" before
        refused 2 "was left by an interrupted run" "$WEIR" run "$SPIKE" "$endless" -o "out.$ext"
        for force in "" --force; do # rescuing a part does not overwrite it
            # shellcheck disable=SC2086 # none or one word
            refused 2 "out.$ext.part: is the input" \
                "$WEIR" run copy.yaml "out.$ext.part" "$@" -o "out.$ext" $force
        done
        cmp before "out.$ext.part" || fail "$signal: the part was changed"
        rm "out.$ext.part" "out.$ext.json.part"
    done

    # kill -9: flushed rows are in the file, equal to those of a complete run.
    "$WEIR" run "$SPIKE" "$endless" -o "out.$ext" --quiet >out 2>err </dev/null &
    child=$!
    tries=0 count=
    while [ "${count:-0}" -eq 0 ] && [ $tries -lt 100 ]; do
        sleep 0.2
        tries=$((tries + 1))
        count=$(frames "out.$ext.part" "$@") || count=
    done
    flushed=${count:-0}
    kill -s KILL $child
    wait $child || true
    [ "$flushed" -gt 0 ] || fail "nothing was flushed"
    count=$(frames "out.$ext.part" "$@")
    [ "${count:-0}" -ge "$flushed" ] || fail "after kill -9: ${count:-no} frames of $flushed"
    status 0 "$WEIR" run "$SPIKE" synthetic:channels=64,rate=30000,seconds=$((count / 100 + 2)),seed=1 \
        -o "whole.$ext" --quiet
    same "out.$ext.part" "whole.$ext" "$count" "$@"
    rm out.* whole.*

    # A full disk: exit 7, one line that says where, and the part can be read.
    mkdir disk
    if ! mount -t tmpfs -o "size=${disk_mib:-6}m" weir-test disk 2>/dev/null; then
        echo "skipped: the full disk (a tmpfs cannot be mounted here)"
        return 0
    fi
    trap 'umount "$work/disk"; rm -rf "$work"' EXIT
    # 10 MB/s, however fast the machine is: the first flush comes a second after the start.
    status 0 "$WEIR" run copy.yaml synthetic:channels=64,rate=30000,seconds=3,seed=1 -o in.raw --quiet
    by_hand="--format raw --dtype f32 --channels-in-file 64 --rate 30000"
    got=0
    # shellcheck disable=SC2086 # words
    slowly in.raw | "$WEIR" run copy.yaml - $by_hand -o "disk/out.$ext" --quiet >out 2>err || got=$?
    [ $got -eq 7 ] || fail "full disk: exit status $got: $(cat err)"
    [ "$(wc -l <err)" -eq 1 ] || fail "not one line: $(cat err)"
    grep -q "No space left on device; stopped after frame .*; kept, incomplete: disk/out.$ext.part" err ||
        fail "full disk: $(cat err)"
    count=$(frames "disk/out.$ext.part" "$@")
    [ "${count:-0}" -gt 0 ] || fail "full disk: nothing can be read: $(ls -l disk)"
    # shellcheck disable=SC2086 # words
    status 0 "$WEIR" run copy.yaml in.raw $by_hand --duration $((count / 30000 + 1))s -o "whole.$ext" --quiet
    same "disk/out.$ext.part" "whole.$ext" "$count" "$@"
}

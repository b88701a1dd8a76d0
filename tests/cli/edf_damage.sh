# SPDX-License-Identifier: MIT
# EDF files as recorders leave them: a damaged end, onsets that jump, a blanked channel, texts with line ends:
# readable data are read with exit status 0, and a notice counts what is lost.
. "$SOURCE/tests/cli/_lib.sh"
field() { # WIDTH TEXT...: each in a field of that width
    width=$1
    shift
    for text in "$@"; do printf "%-${width}s" "$text"; done
}
# Signals A and B of 2 samples in 1 s, annotations of 20: edf FILE RECORDS DIGITAL_MIN_OF_B LIST...
edf() {
    file=$1 records=$2 low=$3
    shift 3
    {
        field 8 0
        field 80 X X
        field 8 31.02.20 01.02.03 1024
        field 44 EDF+C
        field 8 "$records" 1
        field 4 3
        field 16 A B "EDF Annotations"
        field 80 "" "" ""
        field 8 uV uV ""
        field 8 -10 -10 -1 10 10 1 -100 "$low" -32768 100 100 32767
        field 80 "" "" ""
        field 8 2 2 20
        field 32 "" "" ""
        for list in "$@"; do
            printf '\001\000\002\000\003\000\004\000'
            # shellcheck disable=SC2059 # texts with escapes
            { printf "$list" && head -c 40 /dev/zero; } | head -c 40
        done
    } >"$file"
}
said() { # TEXT
    grep -qF -- "$1" out || fail "no \"$1\" in: $(cat out)"
}
echo "[]" >copy.yaml
edf e.edf 3 -100 '+0\024\024' '+1\024\024\000+1.5\024two\nlines,\ta tab\024' '+60\024\024\000+60.5\024late\024'
status 0 "$WEIR" info e.edf
said "segments   2: 0 s + 2 s, 60 s + 1 s"
said "events     2: 1.5 s two\\nlines,\\ta tab, 60.5 s late"
said "EDF+C states that there are no gaps, but the onsets of its records have 1 gaps"
said 'start "31.02.20 01.02.03": not a date and time; the start is unknown'
said "start      not stated"
status 0 "$WEIR" info e.edf --json
said '"two\nlines,\ta tab"'
status 0 "$WEIR" run copy.yaml e.edf -o e.npy --json
said '"segments": 2'
grep -qF '"two\nlines,\u0009a tab"' e.npy.json || fail "$(cat e.npy.json)"
status 0 "$WEIR" info e.npy --json # and back
said '"two\nlines,\ta tab"'

# A recorder that was killed, and an interrupted copy.
for records in -1 3; do
    edf d.edf $records -100 '+0\024\024' '+1\024\024' '+2\024\024'
    head -c $(($(wc -c <d.edf) - 5)) d.edf >cut.edf
    status 0 "$WEIR" run copy.yaml cut.edf -o cut.npy --force --json
    said '"frames_in": 4'
    said "last record truncated (43 of 48 bytes); ignored"
    [ "$records" = -1 ] || said "the file is truncated: 2 of 3 records are complete and read, 1 are missing"
    cat cut.edf | "$WEIR" run copy.yaml - --format edf -o pipe.npy --force --json >out 2>err || fail "pipe: $(cat err)"
    cmp -s cut.npy pipe.npy || fail "a pipe gives other rows"
    said "last record truncated (43 of 48 bytes); ignored"
done

# A file found on the web that was converted as if it were text: the loss is reported.
mangled="$SHARED/recordings/edf/S001R01_utf8_mangled_64KiB.edf"
if [ -f "$mangled" ]; then
    status 0 "$WEIR" info "$mangled"
    said "the file is truncated: 2 of 61 records are complete and read, 59 are missing"
    said "2 records have no onset"
fi

# A blanked channel does not matter if it is not selected.
edf b.edf 1 100 '+0\024\024'
refused 4 "signal 1 (B): digital minimum and maximum are both 100; --exclude 1 leaves it out, --raw delivers its" \
    "$WEIR" run copy.yaml b.edf
status 0 "$WEIR" run copy.yaml b.edf --exclude B
status 0 "$WEIR" run copy.yaml b.edf --channels A
status 0 "$WEIR" run copy.yaml b.edf --raw
status 0 "$WEIR" info b.edf
said "channels   1: A"
said "1 channels are left out: offset 624: signal 1 (B): digital minimum and maximum are both 100"

# More annotations than the maximum.
list=$(i=0; while [ $i -lt 5 ]; do printf '+1\\024n\\024\\000'; i=$((i + 1)); done)
# shellcheck disable=SC2046 # a list of words
edf m.edf 300 -100 $(i=0; while [ $i -lt 300 ]; do printf '+%d\\024\\024\\000%s ' $i "$list"; i=$((i + 1)); done)
status 0 "$WEIR" info m.edf
said ", ... (the first 1024 are stored, 476 left out)"

# SPDX-License-Identifier: MIT
# Recordings that end within a frame, or before what their header states, from files and from pipes: complete
# frames are read, the rest is counted in a notice, exit status 0. And text files that would be misread.
. "$SOURCE/tests/cli/_lib.sh"
echo "[]" >copy.yaml

# reads FRAMES NOTICE FILE OPTIONS...: as a file and as a pipe; NOTICE "-": none.
reads() {
    frames=$1 notice=$2 file=$3
    shift 3
    for way in file pipe; do
        case $way in
        file) status 0 "$WEIR" run copy.yaml "$file" "$@" -o o.raw --force --json ;;
        pipe)
            got=0
            # shellcheck disable=SC2002 # standard input that is a file would do as well: a pipe is meant
            cat "$file" | "$WEIR" run copy.yaml - "$@" -o o.raw --force --json >out 2>err || got=$?
            [ $got -eq 0 ] || fail "exit status $got: $file in a pipe: $(cat err)"
            ;;
        esac
        grep -q "\"frames_in\": $frames," out || fail "$file ($way): not $frames frames: $(cat out)"
        if [ "$notice" = "-" ]; then
            tr -d ' \n' <out | grep -q '"notices":\[\]' || fail "$file ($way): a notice: $(cat out)"
        else
            grep -q "$notice" out || fail "$file ($way): no '$notice' in $(cat out)"
        fi
    done
}

status 0 "$WEIR" run copy.yaml synthetic:channels=2,rate=1000,seconds=0.01 -o whole.raw
head -c 80 whole.raw >ten.raw # its side file stays
raw="--format raw --dtype f32 --channels-in-file 2 --rate 1000"
# shellcheck disable=SC2086 # words
{
    reads 10 - ten.raw $raw
    head -c 77 whole.raw >cut.raw
    reads 9 "the last 5 bytes are ignored" cut.raw $raw
    head -c 5 whole.raw >less.raw
    reads 0 "the last 5 bytes are ignored" less.raw $raw
}
status 0 "$WEIR" run copy.yaml synthetic:channels=2,rate=1000,seconds=0.01 -o whole.npy
npy="--format npy --rate 1000"
bytes=$(wc -c <whole.npy)
head -c $((bytes - 11)) whole.npy >cut.npy
# shellcheck disable=SC2086
reads 8 "the last 5 bytes are ignored" cut.npy $npy
if "$WEIR" --version | grep -q "^  wav  *read"; then
    status 0 "$WEIR" run copy.yaml synthetic:channels=2,rate=1000,seconds=0.01 -o whole.wav
    bytes=$(wc -c <whole.wav)
    head -c $((bytes - 11)) whole.wav >cut.wav
    reads 8 "5 bytes" cut.wav --format wav
fi
csv="--format csv --rate 1000"
printf 'a,b\n1,2\n3,4\n5,\000\000\000' >cut.csv
# shellcheck disable=SC2086
{
    reads 2 "the last line is incomplete; its row is not read" cut.csv $csv
    printf 'a,b\r1,2\r3,4\r' >cr.csv
    reads 2 - cr.csv $csv
    printf 'a,b\n"1","2"\n' >quoted.csv
    reads 1 - quoted.csv $csv
}
# Nothing is misread.
printf '\377\376a\000\n\0001\000\n\000' >utf16.csv
refused 4 "text in UTF-16, expected UTF-8" "$WEIR" info utf16.csv --rate 1000
printf 'a,b\n9\0005,1\n' >nul.csv
refused 4 "line 2: found a NUL byte" "$WEIR" run copy.yaml nul.csv --rate 1000 -o clean/o.npy -q
printf 'a;b\n1,5;2\n' >comma.csv
refused 4 "a decimal comma" "$WEIR" run copy.yaml comma.csv --rate 1000 -o clean/o.npy -q
printf 'time,x,note\n0,1,"a, b"\n0.001,2,c\n' >note.csv
refused 4 'leaves this column out' "$WEIR" run copy.yaml note.csv --rate 1000 -o clean/o.npy -q
status 0 "$WEIR" run copy.yaml note.csv --rate 1000 --exclude note -o o.csv
[ "$(cat o.csv)" = "$(printf 'x\n1\n2')" ] || fail "not the column: $(cat o.csv)"
# Labels written and read as text: nothing is lost.
printf '# time column: none\n"NaN",Time\n1,2\n' >labels.csv
status 0 "$WEIR" run copy.yaml labels.csv --rate 1000 -o again.csv
cmp labels.csv again.csv || fail "other labels: $(cat again.csv)"
printf 'x' >100.hea
head -c 12 whole.raw >100.dat
refused 4 "WFDB cannot be read" "$WEIR" info 100.dat --dtype i16 --channels-in-file 2 --rate 1000

# SPDX-License-Identifier: MIT
# weir info describes a recording with gaps in a few lines: segments, gaps, start, events, notices; files that
# accompany a recording are refused with what they are.
. "$SOURCE/tests/cli/_lib.sh"
files="$SHARED/recordings"
if [ ! -d "$files/made-here" ]; then
    echo "skipped: $files is not there"
    exit 77
fi
line() { # NAME TEXT: that field's line says so
    grep -qE "^$1 +$2\$" out || fail "no line \"$1 $2\" in: $(cat out)"
}
info() {
    status 0 "$WEIR" info "$@"
    [ "$(wc -l <out)" -le 12 ] || fail "more than a few lines: $(cat out)"
}
info "$files/edf/edfPlusD.edf"
line format "edf: EDF\\+D"
line channels "11: squarewave, .*"
line segments "6: 0 s \\+ 1 s, 2 s \\+ 1 s, 4 s \\+ 6 s, \\.\\.\\."
line gaps "5, the longest 3 s"
line start "2009-12-10T12:44:02"
line events "1: 0 s RECORD START"
info "$files/edf/sleepedf_short_psg.edf"
line rate "100 Hz"
line channels "3: EEG Fpz-Cz, EEG Pz-Oz, EOG horizontal"
line notices "channels of other rates are left out; select them with --channels: 100 Hz: 0-2; 1 Hz: 3-6"
info "$files/edf/sleepedf_short_psg.edf" --channels 3-6
line rate "1 Hz"
line notices none
info "$files/edf/mne_test.edf"
line gaps 0
line events "5: 0 s start, 0.1344 s type A, 0.3904 s type A, \\.\\.\\."
status 0 "$WEIR" info "$files/edf/mne_test.edf" --json
tr -d ' \n' <out | grep -qF '[2.5,2.5,"typeA"]],"annotations_left_out":0' || fail "events"
info "$files/made-here/nsx30_ptp_one_sample_packets.ns6"
line format "nsx: NSx 3.0"
line rate "30 kHz"
line segments "2: 0 s \\+ 33.3 ms, 0.533333 s \\+ 16.7 ms"
line notices "timestamps are from an independent clock; times are relative to the first, 1700000000000000000 at .*"
info "$files/made-here/nsx23_three_segments.ns5"
line values "f32 in uV, one count is 0.25"
line start "2026-11-29T12:00:00.000Z"
info "$files/blackrock/bnsx.dat"
line frames "0 .*"
line notices "offset 8762: the data are truncated: 0 of 30300 frames are present, 30300 are lost"
refused 4 "a Blackrock NEV file: spikes and events" "$WEIR" info "$files/blackrock/l101210-001-02.nev"
info "$files/edf/biosemi_Newtest17-256.bdf"
line format "edf: BDF"
line values "f32 in uV \\(16\\), Boolean \\(1\\), one count is 0.03125 in the first channel"

# Timestamps that go back, and contiguous segments: no gap of 1e-16 s.
table() { # FILE: rows of a column of times
    { echo "time,x" && sed 's/$/,1/'; } >"$1"
}
printf '0\n0.01\n0.02\n0.01\n0.02\n' | table back.csv
info back.csv --rate 100
line segments "2: 0 s \\+ 30 ms, 0.01 s \\+ 20 ms"
line gaps "1, time goes back at 1"
printf '0\n0.01\n0.0205\n0.02\n0.03\n0.5\n' | table late.csv
info late.csv --rate 100
line gaps "2, the longest 0.46 s, time goes back at 1"
line format csv

echo "[]" >copy.yaml
for row in "wav wav: float" "h5 hdf5: /data"; do
    if "$WEIR" --version | grep -q "^  $(echo "$row" | sed 's/.* \(.*\):.*/\1/')  *read"; then
        status 0 "$WEIR" run copy.yaml synthetic:channels=2,rate=100,seconds=1,seed=1 -o "o.${row%% *}" --quiet
        info "o.${row%% *}"
        line format "${row#* }"
    fi
done

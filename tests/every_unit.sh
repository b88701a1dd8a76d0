# SPDX-License-Identifier: MIT
# Every unit of units.def has a page and a picture in doc/units, a line of `weir bench units`, and a case among the
# reference's answers, or the reason why not is written here; a reason for a unit that has a case is out of date.
. "$SOURCE/tests/cli/_lib.sh"
reasons="
concat several inputs; its own test has known values
flatten no case recorded; its own test has known values
transpose no case recorded; its own test has known values
fir_pmc no case recorded; dsp/remez_test.c has the property of its design
resample not comparable: ezmsg-sigproc interpolates; its own test has exact sinusoids
phase_shift not in ezmsg-sigproc; its own test has exact sinusoids
butterworth_zero_phase no case recorded; its own test has values of ezmsg-sigproc and SciPy
filter no case recorded; its own test has SciPy's values
zero_phase not in ezmsg-sigproc; its own test has values of scipy.signal.sosfiltfilt
rolling_scaler no case recorded; its own test has values of ezmsg-sigproc
adaptive_lnc no case recorded; its own test has values of ezmsg-sigproc
activation no case recorded; its own test has SciPy's values
adaptive_lattice_notch no case recorded; its own test has values of ezmsg-sigproc
const_add no case recorded; its own test adds
denormalize no case recorded: it draws random numbers; its own test has NumPy's
fbcca no case recorded; its own test has sines
modify_axis not in ezmsg-sigproc itself; a part of spectrogram
square_law_bandpower no case recorded; promise/parts_test.c has its parts
inverse_anscombe no case recorded; its own test inverts anscombe
add two inputs; a case is a chain without branches
as_array changes the dtype only; cases are compared as float64
difference two inputs
merge two inputs
threshold_crossing not in ezmsg-sigproc; its own test has known values
"
sed -n 's/^X(\([a-z0-9_]*\))$/\1/p' "$SOURCE/src/unit/units.def" >units
[ "$(wc -l <units)" -eq "$(grep -c '^X' "$SOURCE/src/unit/units.def")" ] || fail "units.def has other lines"
"$WEIR" bench units --rounds 1 --seconds 0.001 --peers none --json >bench
cat "$SHARED"/reference/*/case.json 2>/dev/null | tr -d ' \n' >cases || :
missing=0
lacks() {
    echo "$1 lacks $2"
    missing=$((missing + 1))
}
while read -r unit; do
    for page in "$unit.md" "$unit.svg"; do
        [ -s "$SOURCE/doc/units/$page" ] || lacks "$unit" "doc/units/$page (make docs)"
    done
    grep -q "^ *\"unit\": \"$unit\"" bench || lacks "$unit" "a line in weir bench units"
    reason=$(printf '%s' "$reasons" | sed -n "s/^$unit  *//p")
    if [ ! -s cases ]; then
        continue
    elif grep -q "{\"$unit\":{" cases; then
        [ -z "$reason" ] || lacks "$unit" "no case, against its reason in this test: $reason"
    else
        [ -n "$reason" ] || lacks "$unit" "a case in reference/, and a reason in this test"
    fi
done <units
[ "$missing" -eq 0 ] || fail "see above"
[ -s cases ] || { echo "skipped: cases of units: $SHARED/reference is not there"; exit 77; }

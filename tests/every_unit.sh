# SPDX-License-Identifier: MIT
# Every unit of units.def has a page and a picture in doc/units, a line of `weir bench units`, and a case among the
# reference's answers, or its descriptor says what else it is tested against; that of a unit with a case is out of date.
. "$SOURCE/tests/cli/_lib.sh"
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
    reason=$("$WEIR" units "$unit" --markdown | sed -n 's/^\*\*Tested against\.\*\* //p')
    if [ ! -s cases ]; then
        continue
    elif grep -q "{\"$unit\":{" cases; then
        [ -z "$reason" ] || lacks "$unit" "no case, against its descriptor: tested against $reason"
    else
        [ -n "$reason" ] || lacks "$unit" "a case in reference/, and what else it is tested against in its descriptor"
    fi
done <units
[ "$missing" -eq 0 ] || fail "see above"
[ -s cases ] || { echo "skipped: cases of units: $SHARED/reference is not there"; exit 77; }

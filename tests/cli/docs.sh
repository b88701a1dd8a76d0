# SPDX-License-Identifier: MIT
# The man page and the pages of units are generated from the tables: every command, option and unit is in them.
. "$SOURCE/tests/cli/_lib.sh"
mkdir doc
status 0 "$WEIR" docs doc
status 0 "$WEIR" docs doc # again, over existing files
for word in "weir run" "weir plan" "weir info" "weir units" 'memory\\-limit' 'message\\-lengths' "EXIT STATUS" NO_COLOR; do
    grep -q -- "$word" doc/weir.1 || fail "no $word in the man page"
done
while read -r unit; do
    grep -q "^# $unit$" "doc/units/$unit.md" || fail "no page of $unit"
    grep -q "fB$unit" doc/weir.1 || fail "no $unit in the man page"
done <<UNITS
$(sed -n 's/^X(\([a-z0-9_]*\)).*/\1/p' "$SOURCE/src/unit/units.def")
UNITS
if command -v man >/dev/null; then
    LC_ALL=C MANROFFSEQ='' MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 doc/weir.1 >/dev/null 2>err || true
    [ ! -s err ] || fail "$(cat err)"
fi
status 7 "$WEIR" docs none

# doc/ equals what the tables generate. A missing page is listed and is no error, so that a new unit needs no line
# elsewhere; a page of a removed unit is an error.
for page in doc/units/*.md; do
    unit=$(basename "$page" .md)
    [ ! -e "$SOURCE/$page" ] || [ -s "$SOURCE/doc/units/$unit.svg" ] || fail "$page has no picture: make docs"
    if [ ! -e "$SOURCE/$page" ]; then
        echo "new, not in doc/: $unit (make docs)"
        rm "$page"
        awk -v unit="\\\\fB$unit\\\\fR" '$0 == ".TP" { getline line
                if (line == unit) getline
                else print $0 ORS line
                next } 1' doc/weir.1 >shorter
        mv shorter doc/weir.1
        grep -v "| \[$unit\](units/$unit.md) |" doc/coming-from-ezmsg.md >shorter || true
        mv shorter doc/coming-from-ezmsg.md
    fi
done
diff -r -x '*.svg' doc/units "$SOURCE/doc/units" && cmp doc/weir.1 "$SOURCE/doc/weir.1" &&
    cmp doc/coming-from-ezmsg.md "$SOURCE/doc/coming-from-ezmsg.md" || fail "doc/ is behind the tables: make docs"

# Each class of ezmsg-sigproc has one row.
classes=$SOURCE/../shared/upstream/classes.md
if [ -e "$classes" ]; then
    sed -n 's/^| \([a-z_0-9.]*[A-Z][A-Za-z0-9]*\) |.*/\1/p' "$classes" | while read -r class; do
        grep -q "^| \`$class\` |" doc/coming-from-ezmsg.md || echo "no row for $class" >>missing
    done
    [ ! -e missing ] || cat missing # until issue 14 is closed
fi

# SPDX-License-Identifier: MIT
# weir bench units: a line for each unit of weir units, within 80 columns; peers are run as programs with the entries
# and classes of the descriptors; a faster one is marked, and one that is missing or cannot do it is listed.
. "$SOURCE/tests/cli/_lib.sh"
mkdir peers
cat >peers/ezmsg_unit <<'PEER'
#!/bin/sh
[ "$1 $2 $3 $4 $#" = "256 300 30000 0.002 6" ] || exit 1
case $6 in *'"butterworth":"butterworthfilter.ButterworthFilterTransformer"'*) ;; *) exit 1 ;; esac
case $5 in
"- butterworth: {order: 4, cuton: 300 Hz, cutoff: 6 kHz}"*) echo '{"pass_median_us": 1e5, "version": "0.0"}' ;;
"- abs: {}"*"- log: {}"*) echo '{"pass_median_us": 1e-6, "version": "0.0"}' ;;
*) echo '{"skipped": "a stand-in"}' ;;
esac
PEER
chmod +x peers/ezmsg_unit
printf '#!/bin/sh\nexit 1\n' >failing
status 0 "$WEIR" bench units --rounds 1 --seconds 0.002 --peers peers
[ "$(wc -L <out)" -le 80 ] || fail "wider than 80 columns"
sed -n 's/^X(\(.*\))$/\1/p' "$SOURCE/src/unit/units.def" >units
[ "$(wc -l <units)" -gt 10 ] || fail "no units listed"
while read -r unit; do
    grep -q "^$unit  *[0-9.e+-]*  *[0-9.e+-]*  copy  *[0-9.e+-]* %" out || fail "no line of $unit: $(cat out)"
done <units
grep -q '^butterworth .* ezmsg  ' out || fail "no peer of butterworth: $(cat out)"
grep -q '^SLOWER than ezmsg: log$' out || fail "a faster peer is not marked: $(cat out)"
[ "$(grep -c SLOWER out)" -eq 1 ] || fail "$(cat out)"
grep -q 'left out: ezmsg: a stand-in (common_reference, ' out || fail "$(cat out)"
grep -q 'left out: SciPy: not in peers .*(butterworth,' out || fail "$(cat out)"
status 0 "$WEIR" bench units --rounds 1 --seconds 0.002 --peers peers --only log --json
for key in machine settings rows ns_per_value limit_ns_per_value share_of_limit weir_over_it; do
    grep -q "\"$key\"" out || fail "no $key: $(cat out)"
done
[ "$(grep -c '"unit"' out)" -eq 1 ] || fail "--only: $(cat out)"
cp failing peers/ezmsg_unit && chmod +x peers/ezmsg_unit
status 1 "$WEIR" bench units --rounds 1 --seconds 0.002 --peers peers --only log
grep -q 'did not finish' err || fail "$(cat err)"
status 2 "$WEIR" bench units --only nothing

# SPDX-License-Identifier: MIT
# --report writes one page that needs no other file, with plan and figures.
. "$SOURCE/tests/cli/_lib.sh"
status 0 "$WEIR" run "$SPIKE" "synthetic:channels=4,rate=30000,seconds=1,seed=1" --report 'r<&>.html' -o 'o<&>.npy'
page='r<&>.html'
grep -q "o&lt;&amp;&gt;.npy" "$page" || fail "names are not escaped"
! grep -qE '(src|href)=|<script|@import|url\(' "$page" || fail "needs something from elsewhere"
[ "$(grep -c "</svg>" "$page")" -eq 3 ]
grep -q "butterworth" "$page"
grep -q "peak allocated" "$page"
tail -n 1 "$page" | grep -q '</html>'
refused 7 "none/r.html" "$WEIR" run "$SPIKE" "synthetic:channels=4,rate=30000,seconds=1,seed=1" --report none/r.html --quiet
grep -q '<th class="n">settling</th>' "$page" || fail "no settling time in the table"
grep -q '<td>2 butterworth</td><td>unit</td>.*<td class="n">differs</td><td class="n">21 ms</td>' "$page" ||
    fail "delay and settling time of butterworth"

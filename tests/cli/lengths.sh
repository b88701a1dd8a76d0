# SPDX-License-Identifier: MIT
# --message-lengths: one number per line, zeros allowed, repeated from the start; S1: the same bytes for any
# message boundaries and tile.
. "$SOURCE/tests/cli/_lib.sh"
input=synthetic:channels=8,rate=30000,seconds=1,seed=1
status 0 "$WEIR" run "$SPIKE" "$input" -o whole.npy -q
printf '300\n0\n\n7\r\n 12000 \n1' >lengths.txt
for cut in "--message-lengths lengths.txt" "--message-frames 1" "--message-frames 299" "--tile 17"; do
    # shellcheck disable=SC2086
    status 0 "$WEIR" run "$SPIKE" "$input" -o cut.npy --force --json $cut
    cmp whole.npy cut.npy || fail "other bytes with $cut"
    grep -q '"frames_in": 30000,' out
done
# 12308 frames per round of 5 messages: two rounds are 24616, and 300 + 0 + 7 + 5077 follow
status 0 "$WEIR" run "$SPIKE" "$input" --json --message-lengths lengths.txt
grep -q '"messages": 14,' out || fail "$(grep messages out)"
try() { # STATUS PART TEXT
    printf '%b' "$3" >bad.txt
    refused "$1" "$2" "$WEIR" run "$SPIKE" "$input" -o clean/out.npy --message-lengths bad.txt
}
try 2 "bad.txt: " ''
try 2 "all lengths are 0" '0\n0\n'
try 2 "bad.txt:2: " '3\n-4\n'
try 2 "bad.txt:1: " '3 4\n'
try 2 "bad.txt:3: " '3\n4\n5.5\n'
try 2 "bad.txt:1: " '99999999999999999999999\n'
refused 7 none.txt "$WEIR" run "$SPIKE" "$input" --message-lengths none.txt

# SPDX-License-Identifier: MIT
# Ctrl-C and SIGTERM end a run well: exit 130, a finished file that can be read, where it stopped.
. "$SOURCE/tests/cli/_lib.sh"
input=synthetic:channels=64,rate=30000,seconds=100000,seed=1
for signal in INT TERM; do
    interrupted $signal $signal.npy "$WEIR" run "$SPIKE" "$input" -o $signal.npy
    grep -q "^interrupted" out
    status 0 "$WEIR" info $signal.npy --rate 100 --json
    grep -q '"frames": [1-9]' out
done

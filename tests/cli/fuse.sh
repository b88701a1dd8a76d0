# SPDX-License-Identifier: MIT
# --fuse: the plan shows which units are fused; the bytes are the same on and off, with one channel block and
# with several, on one thread and on three.
. "$SOURCE/tests/cli/_lib.sh"
for channels in 64 1024; do
	input=synthetic:channels=$channels,rate=30000,seconds=0.3,seed=3
	for threads in 1 3; do
		for fuse in on off; do
			status 0 "$WEIR" run "$SPIKE" "$input" -o "$fuse.npy" --force --quiet \
				--fuse $fuse --threads $threads
		done
		cmp on.npy off.npy
	done
done
status 0 "$WEIR" plan "$SPIKE" "$input"
grep -q "^2 butterworth .* fused " out
grep -q "^fused: " out
status 0 "$WEIR" plan "$SPIKE" "$input" --json
[ "$(grep -c '"fused": true' out)" -ge 4 ]
status 0 "$WEIR" plan "$SPIKE" "$input" --fuse off
! grep -q "fused" out
refused 2 "found 'maybe'; expected on or off" "$WEIR" plan "$SPIKE" "$input" --fuse maybe

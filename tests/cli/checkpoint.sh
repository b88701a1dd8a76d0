# SPDX-License-Identifier: MIT
# A run with --checkpoint that is killed, or interrupted, is continued with --resume until it ends with 0, with other
# tiles and threads (S10); its outputs equal those of an uninterrupted run. tests/fault/resume_test.c kills at every
# call.
. "$SOURCE/tests/cli/_lib.sh"
. "$SOURCE/tests/cli/_stopped.sh"
input=synthetic:channels=256,rate=30000,seconds=300,seed=1,pause_every=37.7,pause=2
status 0 "$WEIR" run "$SPIKE" "$input" -o whole.npy --quiet

stopped KILL job.ckpt "$WEIR" run "$SPIKE" "$input" -o out.npy --checkpoint job.ckpt
[ $got -eq 137 ] || fail "not killed: exit status $got: $(cat err)"
[ -s job.ckpt ] && [ -s out.npy.part ] && [ ! -e out.npy ] || fail "after kill -9: $(ls)"
refused 2 "job.ckpt: already exists; use --resume to continue from it, or remove it to start again" \
    "$WEIR" run "$SPIKE" "$input" -o out.npy --checkpoint job.ckpt --quiet
for more in "--threads 2" "--tile 100"; do
    # shellcheck disable=SC2086 # words
    stopped KILL job.ckpt "$WEIR" run "$SPIKE" "$input" -o out.npy --checkpoint job.ckpt --resume $more
    [ $got -eq 137 ] || fail "not killed: exit status $got: $(cat err)"
    grep -q "resumed after frame [1-9]" err || fail "does not say where it goes on: $(cat err)"
done
stopped INT job.ckpt "$WEIR" run "$SPIKE" "$input" -o out.npy --checkpoint job.ckpt --resume
[ $got -eq 130 ] || fail "Ctrl-C: exit status $got: $(cat err)"
grep -q "checkpoint   job.ckpt: continue with the same command and --resume" out || fail "does not say it: $(cat out)"
grep -q '"complete": false' out.npy.json.part || fail "the side file of what is kept does not say it"
to_the_end "$WEIR" run "$SPIKE" "$input" -o out.npy --checkpoint job.ckpt --resume
grep -q "resumed      after frame [1-9]" out || fail "the summary does not say it: $(cat out)"
[ ! -e job.ckpt ] && [ ! -e job.ckpt.part ] && [ ! -e out.npy.part ] || fail "left behind: $(ls)"
cmp out.npy whole.npy || fail "the output differs"
cmp out.npy.json whole.npy.json || fail "the side file differs"

# What lies behind the checkpoint is cut off when a run goes on, not only at its end; the first time is kept.
status 0 "$WEIR" run "$SPIKE" "$input" --start 5s -o whole.raw --quiet
stopped KILL tail.ckpt "$WEIR" run "$SPIKE" "$input" --start 5s -o tail.raw --checkpoint tail.ckpt
head -c 60000000 /dev/zero >>tail.raw.part
stopped KILL tail.ckpt "$WEIR" run "$SPIKE" "$input" --start 5s -o tail.raw --checkpoint tail.ckpt --resume
[ $got -eq 137 ] || fail "not killed: exit status $got: $(cat err)"
[ "$(stat -c %s tail.raw.part)" -lt 60000000 ] || fail "the tail was not cut off"
to_the_end "$WEIR" run "$SPIKE" "$input" --start 5s -o tail.raw --checkpoint tail.ckpt --resume
cmp tail.raw whole.raw && cmp tail.raw.json whole.raw.json || fail "the output differs"

# Without a checkpoint and without a part of an earlier run, --resume starts from the beginning.
status 0 "$WEIR" run "$SPIKE" synthetic:channels=4,rate=30000,seconds=1,seed=1 -o new.npy --checkpoint job.ckpt --resume
grep -q "job.ckpt: no checkpoint yet; starting from the beginning" err || fail "silent: $(cat err)"
status 0 "$WEIR" run "$SPIKE" synthetic:channels=4,rate=30000,seconds=1,seed=1 -o new.npy --force --json \
    --checkpoint job.ckpt
grep -q '"resumed_frames": null' out || fail "no resumed_frames: $(cat out)"
status 0 "$WEIR" plan "$SPIKE" "$input" -o out.npy --force --checkpoint job.ckpt
grep -q "saved state  *checkpoint" out || fail "not in the plan: $(cat out)"

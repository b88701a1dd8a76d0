#!/bin/sh
# SPDX-License-Identifier: MIT
#
# pictures.sh WEIR FOLDER [UNIT...]: what each unit's example does to the first channel of a synthetic neural
# recording, as FOLDER/UNIT.svg. The recording is 30 ms long, or longer if the output would have fewer than 8
# frames.
set -eu

weir=$(realpath "$1")
folder=$(realpath "$2")
shift 2
[ $# -gt 0 ] || set -- $("$weir" units | sed -n '2,/^$/p' | awk 'NF { print $1 }')
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

echo "chain: [{scale: {scale: 1}}]" >same.yaml
for unit in "$@"; do
    "$weir" units "$unit" | sed '1,/^ *chain:$/d' >example.yaml
    for seconds in 0.03 0.3 3 30; do
        recording=synthetic:channels=4,rate=30000,seconds=$seconds,seed=1
        "$weir" run example.yaml "$recording" -o "$unit.npy" --force --quiet
        frames=$("$weir" info "$unit.npy" --json | sed -n 's/^ *"frames": \([0-9]*\).*/\1/p' | head -n 1)
        [ "$frames" -lt 8 ] || break
    done
    "$weir" run same.yaml "$recording" -o input.npy --force --quiet
    "$weir" plot input.npy "$unit.npy" --channels 0 -o "$folder/$unit.svg" --force >/dev/null
done

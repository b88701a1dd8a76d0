#!/bin/sh
# SPDX-License-Identifier: MIT
#
# `make run`: two chains; `weir run` prints the plan before and measured figures after. Or, with RECORDING and
# CHAIN in the environment, the user's own; ARGS has further words for `weir run`.
set -eu

weir="${BUILD:-build}/weir"
out="${OUT:-out}"
mkdir -p "$out"

say() { printf '\n=== %s ===\n\n' "$1"; }

if [ -n "${RECORDING:-}${CHAIN:-}" ]; then
    if [ -z "${RECORDING:-}" ] || [ -z "${CHAIN:-}" ]; then
        echo "make run needs both: make run RECORDING=FILE CHAIN=FILE" >&2
        exit 2
    fi
    # shellcheck disable=SC2086 # ARGS is a list of words
    exec "$weir" run "$CHAIN" "$RECORDING" -o "$out/result.npy" --force ${ARGS:-}
fi

sample=examples/data/test_subsecond.edf
say "A real EEG (Fp1, 128 Hz, 698 s): how strong is its alpha rhythm?"
"$weir" run examples/alpha.yaml "$sample" -o "$out/alpha.npy" --force
echo
"$weir" plot "$sample" "$out/alpha.npy" -o "$out/alpha.svg" --force

array="synthetic:channels=256,rate=30000,seconds=${SYNTHETIC_SECONDS:-60},seed=1"
say "256 channels at 30 kHz (simulated): spike-band power inside 64 MiB"
"$weir" run examples/spike_band_power.yaml "$array" -o "$out/spike_band_power.npy" --force

echo
echo "Written: $out/alpha.npy, $out/alpha.svg (a picture: open it in a browser),"
echo "         $out/spike_band_power.npy; each .npy has its axes beside it in .npy.json."
echo "Your own: make run RECORDING=FILE CHAIN=FILE"

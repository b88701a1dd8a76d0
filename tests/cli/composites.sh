# SPDX-License-Identifier: MIT
# Units that stand for several are these, with their settings: the same bytes and axes as the parts written out.
. "$SOURCE/tests/cli/_lib.sh"
input="synthetic:channels=3,rate=1000,seconds=2,seed=4"
same() { # COMPOSITE PART...
    whole=$1
    shift
    printf 'chain:\n- %s\n' "$whole" >whole.yaml
    printf 'chain:\n' >parts.yaml
    printf -- '- %s\n' "$@" >>parts.yaml
    status 0 "$WEIR" run whole.yaml "$input" -o whole.npy --quiet --force
    status 0 "$WEIR" run parts.yaml "$input" -o parts.npy --quiet --force
    cmp whole.npy parts.npy || fail "$whole: not as its parts"
    for name in whole parts; do
        grep -v '"chain"' $name.npy.json >$name.json
    done
    cmp whole.json parts.json || fail "$whole: other axes than its parts"
}
window="window: {newaxis: win, window_dur: 50 ms, window_shift: 20 ms, zero_pad_until: shift"
axis="modify_axis: {name_map: {win: time}}"
settings="window_dur: 50 ms, window_shift: 20 ms"
same "spectrogram: {$settings}" "$window}" "spectrum: {axis: time}" "$axis"
same "spectrogram: {$settings, window_anchor: end, window: blackman, transform: rel_power, output: full}" \
    "$window, anchor: end}" "spectrum: {axis: time, window: blackman, transform: rel_power, output: full}" "$axis"
long="window: {newaxis: win, window_dur: 100 ms, window_shift: 20 ms, zero_pad_until: shift}" # a line each 10 Hz
same "bandpower: {spectrogram: {window_dur: 100 ms, window_shift: 20 ms}}" "$long" "spectrum: {axis: time}" "$axis" \
    "ranged_aggregate: {axis: freq, bands: [[17, 30], [70, 170]]}"
same "bandpower: {spectrogram_settings: {$settings}, bands: [[0, 100]], aggregation: max}" \
    "$window}" "spectrum: {axis: time}" "$axis" \
    "ranged_aggregate: {axis: freq, bands: [[0, 100]], operation: max}"
band="butterworth: {order: 2, cuton: 50, cutoff: 100}" square="pow: {exponent: 2}"
same "rms_bandpower: {bandpass: {order: 2, cuton: 50, cutoff: 100}, bin_duration: 9.5 ms}" "$band" "$square" \
    "binned_aggregate: {bin_duration: 9.5 ms, fractional: false}" "pow: {exponent: 0.5}"
same "rms_bandpower: {bandpass: {order: 2, cuton: 50, cutoff: 100}, apply_sqrt: false}" "$band" "$square" \
    "binned_aggregate: {bin_duration: 50 ms, fractional: false}"
low="butterworth: {order: 3, cutoff: 20}"
same "square_law_bandpower: {bandpass: {order: 2, cuton: 50, cutoff: 100}, lowpass: {order: 3, cutoff: 20}}" \
    "$band" "$square" "$low"
same "square_law_bandpower: {bandpass: {order: 2, cuton: 50, cutoff: 100}, lowpass: {order: 3, cutoff: 20}, \
downsample: {factor: 7}}" "$band" "$square" "$low" "downsample: {factor: 7}"
same "decimate: {factor: 4}" \
    "chebyshev: {order: 8, ripple_tol: 0.05, Wn: 0.2, wn_hz: false}" "downsample: {factor: 4}"
same "decimate: {target_rate: 300}" "chebyshev: {order: 8, ripple_tol: 0.05, Wn: 120}" \
    "downsample: {target_rate: 300}"
# A part without settings: those that it needs are named.
printf 'chain:\n- rms_bandpower: {bandpass: {}}\n' >c.yaml
refused 3 "rms_bandpower.bandpass: order: is required" "$WEIR" run c.yaml "$input" -o clean/out.npy
printf 'chain:\n- bandpower: {bands: [[0, 1]]}\n' >c.yaml
refused 3 "bandpower.spectrogram: window_dur: is required" "$WEIR" run c.yaml "$input" -o clean/out.npy

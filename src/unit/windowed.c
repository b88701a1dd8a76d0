/* SPDX-License-Identifier: MIT
 *
 * windowed.c: see windowed.h.
 */
#include "unit/windowed.h"

enum { TRUE, FALSE, LOWPASS, HIGHPASS, BANDPASS, BANDSTOP };

const weir_choice weiri_pass_zero[] = {
    [TRUE] = {.name = "true"},
    [FALSE] = {.name = "false"},
    [LOWPASS] = {.name = "lowpass"},
    [HIGHPASS] = {.name = "highpass"},
    [BANDPASS] = {.name = "bandpass"},
    [BANDSTOP] = {.name = "bandstop"},
    {0},
};

weir_err weiri_windowed_bands(const weiri_windowed_settings *settings,
                              weiri_unit_plan *plan,
                              weiri_fir_bands *ret_bands)
{
    weiri_edges edges = {.rate_hz = plan->in->rate_hz, .wn_hz = settings->wn_hz};
    const weir_list *cutoff = &settings->cutoff;
    int kind = settings->pass_zero;
    if (cutoff->count == 0) {
        return weiri_fail(WEIR_E_CHAIN, "cutoff: no edge is given; a low-pass has one: 3 kHz");
    }
    bool one = kind == LOWPASS || kind == HIGHPASS, several = kind == BANDPASS || kind == BANDSTOP;
    if ((one && cutoff->count != 1) || (several && cutoff->count < 2)) {
        return weiri_fail(WEIR_E_CHAIN, "cutoff: a %s has %s; %zu given",
                          weiri_pass_zero[kind].name, one ? "one edge" : "two edges or more",
                          cutoff->count);
    }
    double *list = plan->memory.get(plan->memory.user, cutoff->count * sizeof *list);
    if (list == NULL) {
        return WEIR_E_NOMEM;
    }
    for (size_t i = 0; i < cutoff->count; i++) {
        double edge = cutoff->of.numbers[i];
        weir_err err = weiri_edge_check(&edges, "cutoff", edge);
        if (err != WEIR_OK) {
            return err;
        }
        if (i > 0 && !(edge > cutoff->of.numbers[i - 1])) {
            return weiri_fail(WEIR_E_CHAIN, "cutoff: %.15g is not above %.15g; edges must rise",
                              edge, cutoff->of.numbers[i - 1]);
        }
        list[i] = settings->wn_hz ? edge / (0.5 * edges.rate_hz) : edge;
    }
    *ret_bands = (weiri_fir_bands){
        .edges = list,
        .count = cutoff->count,
        .pass_zero = kind == TRUE || kind == LOWPASS || kind == BANDSTOP,
    };
    return WEIR_OK;
}

/* SPDX-License-Identifier: MIT
 *
 * fir_pmc.c: equiripple linear-phase filters by the Parks-McClellan algorithm.
 */
#include <math.h>

#include "dsp/remez.h"
#include "unit/convolve.h"

typedef struct pmc_settings {
    int64_t order;
    double cuton, cutoff; /* NAN = not given */
    double transition_hz;
    double weight_pass, weight_stop_lo, weight_stop_hi;
    const char *axis;
} pmc_settings;

/* The bands in fractions of the rate; edges beyond 0 and the Nyquist frequency are moved there. */
static weiri_remez bands_of(const pmc_settings *set, double rate_hz)
{
    double low = set->cuton / rate_hz, high = set->cutoff / rate_hz;
    double gap = set->transition_hz / rate_hz;
    double pass = set->weight_pass, stop_lo = set->weight_stop_lo, stop_hi = set->weight_stop_hi;
    if (isnan(low)) {
        return (weiri_remez){.bands = {{0, high, 1, pass}, {high + gap, 0.5, 0, stop_hi}},
                             .count = 2};
    }
    if (isnan(high)) {
        return (weiri_remez){.bands = {{0, low - gap, 0, stop_lo}, {low, 0.5, 1, pass}},
                             .count = 2};
    }
    if (low <= high) {
        return (weiri_remez){.bands = {{0, low - gap, 0, stop_lo},
                                       {low, high, 1, pass},
                                       {high + gap, 0.5, 0, stop_hi}},
                             .count = 3};
    }
    return (weiri_remez){
        .bands = {{0, high, 1, pass}, {high + gap, low - gap, 0, stop_hi}, {low, 0.5, 1, pass}},
        .count = 3};
}

static weir_err check(const pmc_settings *set, const weiri_remez *wanted, double rate_hz)
{
    weiri_edges edges = {.rate_hz = rate_hz, .wn_hz = true};
    weir_err err = WEIR_OK;
    if (!isnan(set->cuton)) {
        err = weiri_edge_check(&edges, "cuton", set->cuton);
    }
    if (err == WEIR_OK && !isnan(set->cutoff)) {
        err = weiri_edge_check(&edges, "cutoff", set->cutoff);
    }
    for (size_t i = 0; err == WEIR_OK && i < wanted->count; i++) {
        const weiri_remez_band *b = &wanted->bands[i];
        if (!(b->low < b->high)) {
            err = weiri_fail(WEIR_E_CHAIN,
                             "transition: %.15g Hz leaves no band from %.15g to %.15g Hz",
                             set->transition_hz, b->low * rate_hz, b->high * rate_hz);
        }
    }
    return err;
}

static weir_err design(const pmc_settings *set, weiri_unit_plan *plan, weiri_taps **ret_taps)
{
    uint64_t count = (uint64_t)(set->order + set->order % 2) + 1;
    weiri_remez wanted = bands_of(set, plan->in->rate_hz);
    weir_err err = check(set, &wanted, plan->in->rate_hz);
    if (err == WEIR_OK) {
        err = weiri_taps_make(plan, "order", 1, &count, ret_taps);
    }
    if (err != WEIR_OK) {
        return err;
    }
    void *work = plan->memory.get(plan->memory.user, weiri_remez_bytes(count));
    if (work == NULL) {
        return WEIR_E_NOMEM;
    }
    if (!weiri_remez_design(&wanted, count, work, (*ret_taps)->kernels[0].taps)) {
        return weiri_fail(
            WEIR_E_CHAIN,
            "order: the design with %llu taps and a transition of %.15g Hz does not "
            "converge (its ripple is too small); lower order or transition, or use kaiser",
            (unsigned long long)count, set->transition_hz);
    }
    return WEIR_OK;
}

static weir_err plan(const void *settings, weiri_unit_plan *plan)
{
    const pmc_settings *set = settings;
    weiri_taps *taps = NULL;
    bool passes = set->order == 0 || (isnan(set->cuton) && isnan(set->cutoff));
    weir_err err = weiri_axis_is_stream(plan->in, set->axis);
    if (err == WEIR_OK && passes) {
        weiri_notice(plan->notices, "fir_pmc: without order, or without cuton and cutoff, the "
                                    "signal passes through unchanged");
        err = weiri_taps_make(plan, "order", 0, NULL, &taps);
    } else if (err == WEIR_OK) {
        err = design(set, plan, &taps);
    }
    if (err != WEIR_OK) {
        return err;
    }
    taps->starts = true;
    return weiri_convolve_plan(plan, taps);
}

#define WEIGHT(setting, member, what)                                                              \
    {                                                                                              \
        .name = setting, .type = WEIR_SETTING_NUMBER, .preset = "1", .min = 1e-6, .max = 1e6,      \
        .offset = offsetof(pmc_settings, member), .help = what                                     \
    }

static const weir_setting table[] = {
    {.name = "order",
     .type = WEIR_SETTING_INTEGER,
     .preset = "0",
     .min = 0,
     .max = WEIRI_REMEZ_TAPS - 1,
     .offset = offsetof(pmc_settings, order),
     .help = "number of taps minus 1, rounded up to an even number; 0 passes the signal through "
             "unchanged",
     .example = "62"},
    {.name = "cuton",
     .type = WEIR_SETTING_QUANTITY,
     .kind = WEIR_FREQUENCY,
     .preset = "null",
     .offset = offsetof(pmc_settings, cuton),
     .help = "lower edge: alone a high-pass; below cutoff a band-pass, above it a band-stop"},
    {.name = "cutoff",
     .type = WEIR_SETTING_QUANTITY,
     .kind = WEIR_FREQUENCY,
     .preset = "null",
     .offset = offsetof(pmc_settings, cutoff),
     .help = "upper edge: alone a low-pass",
     .example = "3 kHz"},
    {.name = "transition",
     .type = WEIR_SETTING_QUANTITY,
     .kind = WEIR_FREQUENCY,
     .preset = "10",
     .min = 1e-6,
     .max = 1e12,
     .offset = offsetof(pmc_settings, transition_hz),
     .help = "width from the edge of the pass band to the stop band",
     .example = "1 kHz"},
    WEIGHT("weight_pass", weight_pass, "weight of deviations in pass bands"),
    WEIGHT("weight_stop_lo",
           weight_stop_lo,
           "weight of deviations in the stop band below the pass band"),
    WEIGHT("weight_stop_hi",
           weight_stop_hi,
           "weight of deviations in the stop band above the pass band, or of a band-stop"),
    WEIRI_AXIS_SETTING(pmc_settings, axis),
    WEIRI_IGNORED_FIR_SETTINGS,
    {0},
};

const weiri_unit_ops weiri_unit_fir_pmc = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "fir_pmc",
             .summary = "equiripple linear-phase filter by the Parks-McClellan algorithm",
             .formula =
                 "y[n] = sum of h[k] x[n-k], k = 0 to order; h is the symmetric filter whose "
                 "largest weighted deviation from 1 in pass bands and from 0 in stop bands "
                 "is least.",
             .source = "Parks and McClellan, IEEE Trans. Circuit Theory 19 (1972) 189-194; agrees "
                       "with scipy.signal.remez.",
             .start = WEIRI_CONVOLVE_START,
             .ezmsg = "fir_pmc.ParksMcClellanFIRTransformer",
             .differs =
                 "Bands that transition leaves empty are an error (there they are made 1 uHz "
                 "wide), as are weights of 0 and a design that does not converge.",
             .flags = WEIR_UNIT_STATEFUL | WEIR_UNIT_COLUMNWISE,
             .settings = table},
    .settings_bytes = sizeof(pmc_settings),
    .plan = plan,
    .prepare = weiri_convolve_prepare,
    .settle = weiri_convolve_settle,
    .reset = weiri_convolve_reset,
    .run = weiri_convolve_run,
};

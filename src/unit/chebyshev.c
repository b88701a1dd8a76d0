/* SPDX-License-Identifier: MIT
 *
 * chebyshev.c: Chebyshev filters of type 1 (ripples in the pass band) and type 2 (ripples in the stop band).
 */
#include <math.h>

#include "unit/iir.h"

typedef struct chebyshev_settings {
    int64_t order;
    double ripple_db;
    weir_list edges;
    int band, type;
    bool analog, wn_hz, for_decimate;
    const char *axis;
} chebyshev_settings;

static weir_err check(const chebyshev_settings *settings, const weiri_edges *edges)
{
    bool two = settings->band == WEIRI_BANDPASS || settings->band == WEIRI_BANDSTOP;
    const double *wn = settings->edges.of.numbers;
    if (settings->analog) {
        return weiri_fail(WEIR_E_CHAIN,
                          "analog: true has no meaning for samples; only false is allowed");
    }
    if (isnan(settings->ripple_db)) {
        return weiri_fail(WEIR_E_CHAIN,
                          "ripple_tol is required: dB of ripple in the pass band (cheby1), or of "
                          "attenuation in the stop band (cheby2)");
    }
    if (settings->edges.count != (two ? 2u : 1u)) {
        return weiri_fail(WEIR_E_CHAIN, "Wn: %zu frequencies are given; a %s has %s",
                          settings->edges.count,
                          two ? "band-pass or band-stop" : "low-pass or high-pass",
                          two ? "two, [low, high]" : "one");
    }
    for (size_t i = 0; i < settings->edges.count; i++) {
        weir_err err = weiri_edge_check(edges, "Wn", wn[i]);
        if (err != WEIR_OK) {
            return err;
        }
    }
    if (two && !(wn[0] < wn[1])) {
        return weiri_fail(WEIR_E_CHAIN, "Wn: %.15g is not below %.15g; the lower edge comes first",
                          wn[0], wn[1]);
    }
    return WEIR_OK;
}

/* Whether the edge is that of a filter before every second frame or fewer: 0.8 / factor of Nyquist. */
static bool decimates(const chebyshev_settings *settings, double rate_hz)
{
    if (settings->edges.count == 0) {
        return false;
    }
    double wn = settings->edges.of.numbers[0];
    double factor = settings->wn_hz ? rate_hz / (2.5 * wn) : 0.8 / wn;
    return factor > (settings->wn_hz ? 2.0 - 1e-9 : 1.5);
}

/* Every error of the settings; no sections for order 0. */
static weir_err
design(const chebyshev_settings *settings, const weir_spec *in, weiri_sos_params *ret_sections)
{
    weiri_edges edges = {.rate_hz = in->rate_hz, .wn_hz = settings->wn_hz};
    weir_err err = weiri_axis_is_stream(in, settings->axis);
    bool through =
        settings->order == 0 || (settings->for_decimate && !decimates(settings, in->rate_hz));
    if (err == WEIR_OK && through) {
        *ret_sections = (weiri_sos_params){.sections = 0};
        return WEIR_OK;
    }
    err = err == WEIR_OK ? check(settings, &edges) : err;
    if (err != WEIR_OK) {
        return err;
    }
    const double *wn = settings->edges.of.numbers;
    double low = weiri_edge_of(&edges, wn[0]);
    double high = weiri_edge_of(&edges, wn[settings->edges.count - 1]);
    int order = (int)settings->order;
    weiri_zpk prototype = settings->type == 0
                              ? weiri_chebyshev1_prototype(order, settings->ripple_db)
                              : weiri_chebyshev2_prototype(order, settings->ripple_db);
    return weiri_iir_design(&edges, "Wn", wn[0], order, &prototype, (weiri_band)settings->band, low,
                            high, ret_sections);
}

static weir_err plan(const void *settings, weiri_unit_plan *plan)
{
    weiri_sos_params sections;
    weir_err err = design(settings, plan->in, &sections);
    if (err == WEIR_OK && sections.sections == 0) {
        const chebyshev_settings *set = settings;
        weiri_notice(plan->notices,
                     set->order > 0
                         ? "chebyshev: nothing to decimate; the signal passes through unchanged"
                         : "chebyshev: order 0 passes the signal through unchanged");
    }
    return err == WEIR_OK ? weiri_iir_plan(plan, &sections) : err;
}

static void prepare(const void *settings, const weiri_unit_plan *plan, void *constants)
{
    weiri_sos_params sections;
    (void)design(settings, plan->in, &sections);
    weiri_recursive_sections(plan, &sections, constants);
}

static uint64_t settle(const void *settings, const weiri_unit_plan *plan, double tolerance)
{
    weiri_sos_params sections;
    (void)design(settings, plan->in, &sections);
    return weiri_iir_settle(&sections, tolerance);
}

static const weir_choice bands[] = {{.name = "lowpass", .also = "low"},
                                    {.name = "highpass", .also = "high"},
                                    {.name = "bandpass", .also = "band"},
                                    {.name = "bandstop", .also = "stop"},
                                    {0}};
static const weir_choice types[] = {{.name = "cheby1"}, {.name = "cheby2"}, {0}};

static const weir_setting table[] = {
    {.name = "order",
     .type = WEIR_SETTING_INTEGER,
     .preset = "0",
     .min = 0,
     .max = WEIRI_ORDER_MAX,
     .offset = offsetof(chebyshev_settings, order),
     .help = "prototype low-pass order; 0 passes the signal through unchanged",
     .example = "4"},
    {.name = "ripple_tol",
     .type = WEIR_SETTING_NUMBER,
     .preset = "null",
     .min = 1e-6,
     .max = 300,
     .offset = offsetof(chebyshev_settings, ripple_db),
     .help = "dB, positive: cheby1: largest ripple in the pass band; cheby2: least attenuation in "
             "the stop band; a change while running keeps the filter's state",
     .example = "0.5",
     .live = true},
    {.name = "Wn",
     .type = WEIR_SETTING_LIST,
     .kind = WEIR_FREQUENCY,
     .preset = "null",
     .offset = offsetof(chebyshev_settings, edges),
     .help = "edge, or [low, high]: where the gain first falls below -ripple_tol (cheby1) or "
             "reaches it (cheby2); a change while running keeps the filter's state",
     .example = "6 kHz",
     .live = true},
    {.name = "btype",
     .type = WEIR_SETTING_ENUM,
     .preset = "lowpass",
     .choices = bands,
     .offset = offsetof(chebyshev_settings, band),
     .help = "kind of filter"},
    {.name = "cheby_type",
     .type = WEIR_SETTING_ENUM,
     .preset = "cheby1",
     .choices = types,
     .offset = offsetof(chebyshev_settings, type),
     .help = "cheby1: ripples in the pass band; cheby2: ripples in the stop band"},
    {.name = "analog",
     .type = WEIR_SETTING_BOOL,
     .preset = "false",
     .offset = offsetof(chebyshev_settings, analog),
     .help = "only false is allowed"},
    {.name = "wn_hz",
     .type = WEIR_SETTING_BOOL,
     .preset = "true",
     .offset = offsetof(chebyshev_settings, wn_hz),
     .help = "false: edges are fractions of the Nyquist frequency, plain numbers from 0 to 1"},
    {.name = "for_decimate",
     .type = WEIR_SETTING_BOOL,
     .preset = "false",
     .offset = offsetof(chebyshev_settings, for_decimate),
     .help =
         "true: pass the signal through unchanged if Wn is not the edge for every second frame or "
         "fewer (input rate below 5 Wn), as decimate needs"},
    WEIRI_AXIS_SETTING(chebyshev_settings, axis),
    WEIRI_COEF_TYPE_IGNORED,
    WEIRI_IGNORED_FILTER_SETTINGS,
    {0},
};

const weiri_unit_ops weiri_unit_chebyshev = {
    .ops_size = sizeof(weiri_unit_ops),
    .info =
        {.name = "chebyshev",
         .summary = "Chebyshev filter of type 1 or 2: low-pass, high-pass, band-pass or band-stop",
         .formula =
             "Second-order sections of the low-pass prototype |H(w)|^2 = 1 / (1 + e^2 T(w)^2) "
             "(cheby1, e^2 = 10^(ripple_tol / 10) - 1) or 1 / (1 + 1 / (d^2 T(1 / w)^2)) (cheby2, "
             "d^2 = 1 / (10^(ripple_tol / 10) - 1)), T the Chebyshev polynomial of the order, "
             "transformed to the band and to discrete time by the bilinear transform with "
             "pre-warped edges.",
         .source = "Oppenheim and Schafer, Discrete-Time Signal Processing, 3rd ed., appendix B.2 "
                   "and section 7.3; agrees with scipy.signal.cheby1 and cheby2 (output='sos').",
         .start = "The steady state of a constant signal equal to the channel's first sample that "
                  "is not missing.",
         .ezmsg = "cheby.ChebyshevFilterTransformer decimate.ChebyForDecimateTransformer",
         .differs = "Always second-order sections in float64, whatever coef_type is; a design that "
                    "float64 cannot represent is an error; wn_hz: false acts on cheby2 too (there "
                    "it is ignored).",
         .flags = WEIR_UNIT_STATEFUL | WEIR_UNIT_COLUMNWISE,
         .settings = table},
    .settings_bytes = sizeof(chebyshev_settings),
    .plan = plan,
    .prepare = prepare,
    .settle = settle,
    .reset = weiri_recursive_reset,
    .run = weiri_iir_run,
    .strided = true,
    .changed = weiri_recursive_changed,
};

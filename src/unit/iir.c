/* SPDX-License-Identifier: MIT
 *
 * iir.c: see iir.h.
 */
#include "unit/iir.h"

#include <math.h>
#include <stdio.h>

double weiri_edge_of(const weiri_edges *edges, double frequency)
{
    return edges->wn_hz ? frequency / edges->rate_hz : frequency / 2.0;
}

weir_err weiri_edge_check(const weiri_edges *edges, const char *name, double frequency)
{
    const char *unit = edges->wn_hz ? " Hz" : "";
    double limit = edges->wn_hz ? edges->rate_hz / 2.0 : 1.0;
    if (frequency <= 0.0) {
        return weiri_fail(WEIR_E_CHAIN, "%s: %.15g%s is not above 0", name, frequency, unit);
    }
    if (frequency >= limit) {
        return weiri_fail(WEIR_E_CHAIN, "%s: %.15g%s is %s the Nyquist frequency, %.15g%s", name,
                          frequency, unit, frequency > limit ? "above" : "not below", limit, unit);
    }
    return WEIR_OK;
}

/* The response may be off by so much, relative to it: more than any use notices, and far below what a rounded
 * pole does soon after. */
#define ERROR_MOST 0.01

weir_err weiri_iir_design(const weiri_edges *edges,
                          const char *name,
                          double frequency,
                          int order,
                          const weiri_zpk *prototype,
                          weiri_band band,
                          double low,
                          double high,
                          weiri_sos_params *ret_sections)
{
    weiri_design_sections(prototype, band, low, high, ret_sections);
    double error = weiri_design_error(prototype, band, low, high, ret_sections);
    if (error <= ERROR_MOST) {
        return WEIR_OK;
    }
    char how[64] = "it would not be stable";
    if (isfinite(error)) {
        snprintf(how, sizeof how, "its response would be off by %.2g %%", 100.0 * error);
    }
    return weiri_fail(
        WEIR_E_CHAIN,
        "%s: float64 cannot represent a filter of order %d with an edge at %.15g%s for %.15g "
        "Hz: %s; lower the rate before it (downsample), or the order",
        name, order, frequency, edges->wn_hz ? " Hz" : "", edges->rate_hz, how);
}

weir_err weiri_iir_plan(weiri_unit_plan *plan, const weiri_sos_params *sections)
{
    weiri_sos_params *made = plan->memory.get(plan->memory.user, sizeof *made);
    if (made == NULL) {
        return WEIR_E_NOMEM;
    }
    *made = *sections;
    plan->made = made;
    plan->delay_frames = sections->sections > 0 ? (double)NAN : 0.0;
    return weiri_recursive_plan_sections(plan, sections);
}

void weiri_iir_prepare(const void *settings, const weiri_unit_plan *plan, void *constants)
{
    (void)settings;
    weiri_recursive_sections(plan, plan->made, constants);
}

uint64_t weiri_iir_settle(const void *settings, const weiri_unit_plan *plan, double tolerance)
{
    (void)settings;
    const weiri_sos_params *sections = plan->made;
    return sections->sections > 0 ? weiri_sos_settle(sections, tolerance) : 0;
}

void weiri_iir_run(weiri_block *block, const weiri_work *work)
{
    const weiri_kernels *kernels = weiri_kernels_get();
    weiri_recursive_run(block, work, kernels->sos_f32, kernels->sos_f64);
}

/* ---- Butterworth ----------------------------------------------------------------------------------- */

static weir_err check(const weiri_butterworth *settings, const weiri_edges *edges)
{
    weir_err err = WEIR_OK;
    if (isnan(settings->cuton) && isnan(settings->cutoff)) {
        err =
            weiri_fail(WEIR_E_CHAIN,
                       "cutoff: neither cuton (high-pass) nor cutoff (low-pass) is given; order: 0 "
                       "passes the signal through unchanged");
    }
    if (err == WEIR_OK && !isnan(settings->cuton)) {
        err = weiri_edge_check(edges, "cuton", settings->cuton);
    }
    if (err == WEIR_OK && !isnan(settings->cutoff)) {
        err = weiri_edge_check(edges, "cutoff", settings->cutoff);
    }
    if (err == WEIR_OK && settings->cuton == settings->cutoff) {
        err = weiri_fail(WEIR_E_CHAIN, "cutoff: %.15g%s equals cuton: the band is empty",
                         settings->cutoff, settings->wn_hz ? " Hz" : "");
    }
    return err;
}

weir_err weiri_butterworth_design(const weiri_butterworth *settings,
                                  const weir_spec *in,
                                  weiri_sos_params *ret_sections)
{
    weiri_edges edges = {.rate_hz = in->rate_hz, .wn_hz = settings->wn_hz};
    weir_err err = weiri_axis_is_stream(in, settings->axis);
    if (err == WEIR_OK && settings->order == 0) {
        *ret_sections = (weiri_sos_params){.sections = 0};
        return WEIR_OK;
    }
    err = err == WEIR_OK ? check(settings, &edges) : err;
    if (err != WEIR_OK) {
        return err;
    }
    double cuton = weiri_edge_of(&edges, settings->cuton);
    double cutoff = weiri_edge_of(&edges, settings->cutoff);
    weiri_band band = isnan(cuton)     ? WEIRI_LOWPASS
                      : isnan(cutoff)  ? WEIRI_HIGHPASS
                      : cuton < cutoff ? WEIRI_BANDPASS
                                       : WEIRI_BANDSTOP;
    /* Of the edge that a low-pass or a high-pass has not, nothing depends. */
    double low = isnan(cuton) ? 0.25 : cuton, high = isnan(cutoff) ? 0.25 : cutoff;
    if (band == WEIRI_BANDSTOP) {
        low = cutoff, high = cuton;
    }
    weiri_zpk prototype = weiri_butterworth_prototype((int)settings->order);
    bool by_cutoff = band == WEIRI_LOWPASS;
    return weiri_iir_design(&edges, by_cutoff ? "cutoff" : "cuton",
                            by_cutoff ? settings->cutoff : settings->cuton, (int)settings->order,
                            &prototype, band, low, high, ret_sections);
}

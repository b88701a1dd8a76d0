/* SPDX-License-Identifier: MIT
 *
 * filter.c: a recursive filter by given coefficients: second-order sections, or numerator and denominator.
 */
#include <math.h>
#include <string.h>

#include "dsp/factor.h"
#include "unit/iir.h"

enum { BA, SOS };

typedef struct filter_settings {
    const weir_value *coefs;
    int type;
    const char *axis;
} filter_settings;

/* A list of numbers. */
static weir_err
read_list(const weir_value *list, double *ret_numbers, size_t most, size_t *ret_count)
{
    if (list == NULL || list->type != WEIR_VALUE_LIST || list->count > most) {
        return weiri_fail(WEIR_E_CHAIN, "coefs: expected lists of 1 to %zu numbers", most);
    }
    for (size_t i = 0; i < list->count; i++) {
        const weir_value *item = &list->items[i];
        ret_numbers[i] = item->number;
        weir_err err = item->type == WEIR_VALUE_TEXT
                           ? weir_quantity_parse(item->text, WEIR_PLAIN, &ret_numbers[i])
                           : WEIR_OK;
        if (err != WEIR_OK || !isfinite(ret_numbers[i]) ||
            (item->type != WEIR_VALUE_TEXT && item->type != WEIR_VALUE_NUMBER)) {
            return weiri_fail(WEIR_E_CHAIN, "coefs: coefficient %zu is not a finite number", i);
        }
    }
    *ret_count = list->count;
    return WEIR_OK;
}

/* [[b0, b1, b2, a0, a1, a2], ...] */
static weir_err read_sections(const weir_value *coefs, weiri_sos_params *ret_sections)
{
    double rows[WEIRI_SOS_MAX + 1][6];
    if (coefs->type != WEIR_VALUE_LIST || coefs->count == 0 || coefs->count > WEIRI_SOS_MAX) {
        return weiri_fail(
            WEIR_E_CHAIN,
            "coefs: expected a list of 1 to %d sections, [b0, b1, b2, a0, a1, a2] each",
            WEIRI_SOS_MAX);
    }
    for (size_t i = 0; i < coefs->count; i++) {
        size_t count = 0;
        weir_err err = read_list(&coefs->items[i], rows[i], 6, &count);
        if (err != WEIR_OK) {
            return err;
        }
        if (count != 6) {
            return weiri_fail(WEIR_E_CHAIN,
                              "coefs: section %zu has %zu numbers; a section has 6, [b0, b1, b2, "
                              "a0, a1, a2]",
                              i, count);
        }
    }
    weir_err err = weiri_sections_given(rows[0], coefs->count, ret_sections);
    return err == WEIR_OK ? err : weiri_fail_prefix(WEIR_E_CHAIN, "coefs: ");
}

/* {b: [...], a: [...]} or [[...], [...]] */
static weir_err read_ratio(const weir_value *coefs, weiri_sos_params *ret_sections)
{
    double numbers[2][WEIRI_FACTOR_DEGREE + 1];
    size_t counts[2] = {0, 0};
    const weir_value *lists[2] = {NULL, NULL};
    if (coefs->type == WEIR_VALUE_LIST && coefs->count == 2) {
        lists[0] = &coefs->items[0];
        lists[1] = &coefs->items[1];
    }
    for (size_t i = 0; coefs->type == WEIR_VALUE_MAP && i < coefs->count; i++) {
        const weir_value *item = &coefs->items[i];
        if (item->key == NULL || (strcmp(item->key, "b") != 0 && strcmp(item->key, "a") != 0)) {
            return weiri_fail(WEIR_E_CHAIN, "coefs: '%.40s' is neither b nor a",
                              item->key != NULL ? item->key : "");
        }
        lists[strcmp(item->key, "a") == 0] = item;
    }
    if (lists[0] == NULL || lists[1] == NULL) {
        return weiri_fail(WEIR_E_CHAIN, "coefs: expected {b: [...], a: [...]} or [[b0, b1, ...], "
                                        "[a0, a1, ...]] (coef_type: ba)");
    }
    for (int k = 0; k < 2; k++) {
        weir_err err = read_list(lists[k], numbers[k], WEIRI_FACTOR_DEGREE + 1, &counts[k]);
        if (err != WEIR_OK) {
            return err;
        }
    }
    while (counts[1] > 1 && numbers[1][counts[1] - 1] == 0.0) {
        counts[1]--;
    }
    if (counts[1] == 1) {
        return weiri_fail(WEIR_E_CHAIN, "coefs: a has one coefficient: FIR filters are not "
                                        "accepted by this unit");
    }
    weir_err err =
        weiri_sections_factored(numbers[0], counts[0], numbers[1], counts[1], ret_sections);
    return err == WEIR_OK ? err : weiri_fail_prefix(WEIR_E_CHAIN, "coefs: ");
}

/* Every error of the settings; no sections without coefficients. */
static weir_err
design(const filter_settings *settings, const weir_spec *in, weiri_sos_params *ret_sections)
{
    weir_err err = weiri_axis_is_stream(in, settings->axis);
    if (err != WEIR_OK) {
        return err;
    }
    if (settings->coefs == NULL || settings->coefs->type == WEIR_VALUE_NULL) {
        *ret_sections = (weiri_sos_params){.sections = 0};
        return WEIR_OK;
    }
    return settings->type == SOS ? read_sections(settings->coefs, ret_sections)
                                 : read_ratio(settings->coefs, ret_sections);
}

static weir_err plan(const void *settings, weiri_unit_plan *plan)
{
    weiri_sos_params sections;
    weir_err err = design(settings, plan->in, &sections);
    if (err == WEIR_OK && sections.sections == 0) {
        weiri_notice(plan->notices,
                     "filter: no coefs are given: passes the signal through unchanged");
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

static const weir_choice types[] = {{.name = "ba"}, {.name = "sos"}, {0}};

static const weir_setting table[] = {
    {.name = "coefs",
     .type = WEIR_SETTING_ANY,
     .preset = "null",
     .offset = offsetof(filter_settings, coefs),
     .help = "ba: {b: [b0, b1, ...], a: [a0, a1, ...]} or [[b0, b1, ...], [a0, a1, ...]]; sos: "
             "list of sections, [b0, b1, b2, a0, a1, a2] each, as scipy.signal has them",
     .example = "[[0.2, 0.4, 0.2], [1, -0.5, 0.3]]"},
    {.name = "coef_type",
     .type = WEIR_SETTING_ENUM,
     .preset = "ba",
     .choices = types,
     .offset = offsetof(filter_settings, type),
     .help = "ba: numerator and denominator, which are factored into sections; sos: sections"},
    WEIRI_AXIS_SETTING(filter_settings, axis),
    WEIRI_IGNORED_FILTER_SETTINGS,
    {0},
};

const weiri_unit_ops weiri_unit_filter = {
    .ops_size = sizeof(weiri_unit_ops),
    .info =
        {.name = "filter",
         .summary =
             "recursive filter by given coefficients: sections, or numerator and denominator",
         .formula =
             "a0 y[n] = b0 x[n] + b1 x[n-1] + ... - a1 y[n-1] - ..., as second-order sections. b "
             "and a are factored by their roots, which are found in long double; it is an error if "
             "the sections' response differs from theirs by more than 1e-6 of the largest gain.",
         .source = "Aberth, Mathematics of Computation 27(122), 1973 (roots); agrees with "
                   "scipy.signal.lfilter and sosfilt.",
         .start = "The steady state of a constant signal equal to the channel's first sample that "
                  "is not missing.",
         .ezmsg = "filter.FilterTransformer",
         .differs = "b and a run as second-order sections in float64. A filter that is not stable, "
                    "a first coefficient of 0 and more than 32 sections are errors.",
         .flags = WEIR_UNIT_STATEFUL | WEIR_UNIT_COLUMNWISE,
         .settings = table},
    .settings_bytes = sizeof(filter_settings),
    .plan = plan,
    .prepare = prepare,
    .settle = settle,
    .reset = weiri_recursive_reset,
    .run = weiri_iir_run,
    .strided = true,
};

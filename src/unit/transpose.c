/* SPDX-License-Identifier: MIT
 *
 * transpose.c: dimensions of frames in another order. The stream's dimension stays the first: frames are its entries.
 */
#include "unit/permute.h"

typedef struct transpose_settings {
    const weir_value *axes;
} transpose_settings;

static bool is_rest(const weir_value *value)
{
    return value->type == WEIR_VALUE_TEXT && weiri_equal_blind(value->text, "...");
}

/* axes[at..end) */
static weir_err
add_axes(weiri_permute *permute, const weir_spec *in, const weir_value *axes, size_t at, size_t end)
{
    for (; at < end; at++) {
        uint32_t dim = 0;
        weir_err err = weiri_permute_find(in, "axes", &axes->items[at], &dim);
        if (err != WEIR_OK) {
            return err;
        }
        for (uint32_t i = 0; i < permute->count; i++) {
            if (permute->from[i] == dim) {
                return weiri_fail(WEIR_E_CHAIN, "axes: '%s' is listed twice", in->dims[dim].name);
            }
        }
        permute->from[permute->count++] = dim;
    }
    return WEIR_OK;
}

static weir_err read_axes(const transpose_settings *set, const weir_spec *in, weiri_permute *ret)
{
    const weir_value *axes = set->axes;
    weiri_permute permute = {.count = 0}, tail = {.count = 0};
    size_t rest = 0;
    if (axes != NULL && axes->type != WEIR_VALUE_LIST) {
        return weiri_fail(WEIR_E_CHAIN, "axes: expected a list of dimensions");
    }
    while (axes != NULL && rest < axes->count && !is_rest(&axes->items[rest])) {
        rest++;
    }
    weir_err err = axes != NULL ? add_axes(&permute, in, axes, 0, rest) : WEIR_OK;
    if (err == WEIR_OK && axes != NULL && rest < axes->count) { /* after "...": at the end */
        err = add_axes(&tail, in, axes, rest + 1, axes->count);
    }
    if (err != WEIR_OK) {
        return err;
    }
    for (uint32_t dim = 0; dim < in->dim_count; dim++) {
        bool there = false, last = false;
        for (uint32_t i = 0; i < WEIR_MAX_DIMS; i++) {
            there = there || (i < permute.count && permute.from[i] == dim);
            last = last || (i < tail.count && tail.from[i] == dim);
        }
        if (there && last) {
            return weiri_fail(WEIR_E_CHAIN, "axes: '%s' is listed twice", in->dims[dim].name);
        }
        if (!there && !last) {
            permute.from[permute.count++] = dim;
        }
    }
    for (uint32_t i = 0; i < tail.count; i++) {
        permute.from[permute.count++] = tail.from[i];
    }
    if (permute.from[0] != 0) {
        return weiri_fail(
            WEIR_E_CHAIN,
            "axes: '%s' would be the first dimension; '%s', along which the stream goes, "
            "stays the first",
            in->dims[permute.from[0]].name, in->dims[0].name);
    }
    *ret = permute;
    return WEIR_OK;
}

static weir_err plan(const void *settings, weiri_unit_plan *plan)
{
    weiri_permute permute;
    weir_err err = read_axes(settings, plan->in, &permute);
    for (uint32_t i = 0; err == WEIR_OK && i < permute.count; i++) {
        plan->out.dims[i] = plan->in->dims[permute.from[i]];
    }
    plan->constant_bytes = sizeof permute;
    return err;
}

static void prepare(const void *settings, const weiri_unit_plan *plan, void *constants)
{
    weir_err err = read_axes(settings, plan->in, constants);
    (void)err; /* plan() has seen that it is none */
}

static const weir_setting table[] = {
    {.name = "axes",
     .type = WEIR_SETTING_ANY,
     .preset = "null",
     .offset = offsetof(transpose_settings, axes),
     .help =
         "the dimensions in their new order, by name or number, the stream's first; ... stands for "
         "all others; null: as they are",
     .example = "[0, ..., 1]"},
    {.name = "order",
     .type = WEIR_SETTING_IGNORED,
     .preset = "null",
     .help = "has no effect: output is always row-major"},
    {.name = NULL},
};

const weiri_unit_ops weiri_unit_transpose = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "transpose",
             .summary = "puts the dimensions of frames in another order",
             .before = "- window: {window_dur: 20 ms, window_shift: 5 ms}",
             .formula =
                 "y[n, j, i] = x[n, i, j], for any order of the dimensions after the stream's.",
             .ezmsg = "transpose.TransposeTransformer",
             .differs =
                 "The stream's dimension stays the first, since frames are its entries; an order "
                 "that moves it is an error.",
             .flags = WEIR_UNIT_ANY_DTYPE | WEIR_UNIT_COMPLEX | WEIR_UNIT_COLUMNWISE,
             .settings = table},
    .settings_bytes = sizeof(transpose_settings),
    .plan = plan,
    .prepare = prepare,
    .run = weiri_permute_run,
};

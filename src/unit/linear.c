/* SPDX-License-Identifier: MIT
 *
 * linear.c: each value times a factor, plus an offset; one of each for all, or one an entry of an
 * axis. Sums over channels are affine_transform's.
 */
#include "kernel/kernel.h"
#include "unit/elementwise.h"

typedef struct linear_settings {
    weir_list scale, offset;
    const char *axis;
} linear_settings;

/* Factors and offsets of whole rows, as many rows as make calls worth it. */
typedef struct linear_state {
    size_t period;
    double *factors, *offsets;
} linear_state;

static linear_state *lay_out(const weir_spec *in, void *base, uint64_t *ret_bytes)
{
    weiri_carver carver = {.base = base};
    size_t columns = (size_t)weir_spec_columns(in);
    size_t rows = columns < 256 ? 256 / columns : 1;
    linear_state *state = weiri_carve(&carver, 1, sizeof *state);
    double *factors = weiri_carve(&carver, rows * columns, sizeof *factors);
    double *offsets = weiri_carve(&carver, rows * columns, sizeof *offsets);
    if (base != NULL) {
        *state = (linear_state){rows * columns, factors, offsets};
    }
    *ret_bytes = carver.used;
    return state;
}

/* The dimension that lists go along: the named one, or the last. */
static int dimension(const linear_settings *linear, const weir_spec *in)
{
    return linear->axis != NULL ? weir_spec_dim(in, linear->axis) : (int)in->dim_count - 1;
}

static weir_err check_list(const char *name, const weir_list *list, const weir_spec *in, int dim)
{
    if (list->count == 0) {
        return weiri_fail(WEIR_E_CHAIN, "%s: an empty list", name);
    }
    if (list->count == 1) {
        return WEIR_OK;
    }
    if (dim == 0) {
        return weiri_fail(WEIR_E_CHAIN,
                          "%s: a list goes along an axis of the frames, not along '%s'", name,
                          in->dims[0].name);
    }
    if (in->dims[dim].size != list->count) {
        return weiri_fail(WEIR_E_CHAIN, "%s: %zu numbers for the %llu entries of axis '%s'", name,
                          list->count, (unsigned long long)in->dims[dim].size, in->dims[dim].name);
    }
    return WEIR_OK;
}

static weir_err plan(const void *settings, weiri_unit_plan *plan)
{
    const linear_settings *linear = settings;
    int dim = dimension(linear, plan->in);
    if (dim < 0) {
        return weiri_fail(WEIR_E_CHAIN, "axis: the stream has no axis '%s'", linear->axis);
    }
    weir_err err = check_list("scale", &linear->scale, plan->in, dim);
    if (err == WEIR_OK) {
        err = check_list("offset", &linear->offset, plan->in, dim);
    }
    plan->columnwise = linear->scale.count == 1 && linear->offset.count == 1;
    (void)lay_out(plan->in, NULL, &plan->state_bytes);
    return err;
}

static void init(weiri_unit *unit)
{
    const linear_settings *linear = unit->settings;
    uint64_t bytes;
    linear_state *state = lay_out(unit->in, unit->state, &bytes);
    size_t columns = (size_t)weir_spec_columns(unit->in);
    int dim = dimension(linear, unit->in);
    weiri_split split = dim > 0 ? weiri_spec_split(unit->in, dim) : (weiri_split){1, columns, 1};
    for (size_t i = 0; i < state->period; i++) {
        size_t entry = i % columns / (size_t)split.inner % (size_t)split.size;
        state->factors[i] = linear->scale.of.numbers[linear->scale.count == 1 ? 0 : entry];
        state->offsets[i] = linear->offset.of.numbers[linear->offset.count == 1 ? 0 : entry];
    }
}

static void compute(const weiri_unit *unit, const void *in, void *out, size_t first, size_t count)
{
    const linear_state *state = unit->state;
    for (size_t done = 0; done < count;) {
        size_t at = (first + done) % state->period;
        size_t some = count - done < state->period - at ? count - done : state->period - at;
        const double *factors = state->factors + at, *offsets = state->offsets + at;
        if (unit->in->dtype == WEIR_F32) {
            weiri_kernels_get()->linear_f32((const float *)in + done, (float *)out + done, some,
                                            factors, offsets);
        } else {
            weiri_kernels_get()->linear_f64((const double *)in + done, (double *)out + done, some,
                                            factors, offsets);
        }
        done += some;
    }
}

static const weir_setting table[] = {
    {.name = "scale",
     .type = WEIR_SETTING_LIST,
     .preset = "1",
     .offset = offsetof(linear_settings, scale),
     .help = "the factor: one number, or one an entry of the axis"},
    {.name = "offset",
     .type = WEIR_SETTING_LIST,
     .preset = "0",
     .offset = offsetof(linear_settings, offset),
     .help = "what is added then: one number, or one an entry of the axis"},
    {.name = "axis",
     .type = WEIR_SETTING_STRING,
     .preset = "null",
     .offset = offsetof(linear_settings, axis),
     .help = "the axis that lists go along; null = the last"},
    {0},
};

const weiri_unit_ops weiri_unit_linear = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "linear",
             .summary = "each value times a factor, plus an offset",
             .flags = WEIR_UNIT_IN_PLACE | WEIR_UNIT_COLUMNWISE,
             .settings = table},
    .settings_bytes = sizeof(linear_settings),
    .plan = plan,
    .init = init,
    .process = weiri_elementwise_process,
    .compute = compute,
};

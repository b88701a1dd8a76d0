/* SPDX-License-Identifier: MIT
 *
 * linear.c: each value times a factor, plus an offset; one of each for all, or one an entry of an
 * axis. Sums over channels are affine_transform's.
 */
#include "unit/linear.h"
#include "kernel/kernel.h"
#include "unit/elementwise.h"

typedef struct linear_settings {
    weir_list scale, offset;
    const char *axis;
} linear_settings;

weiri_linear weiri_linear_lay_out(const weir_spec *in, uint64_t *ret_bytes)
{
    weiri_carver carver = {.base = NULL};
    weiri_split split = weiri_spec_channels(in);
    size_t columns = (size_t)weir_spec_columns(in);
    weiri_linear constants = {
        .channels = (size_t)split.size,
        .inner = (size_t)split.inner,
        .period = columns < 256 ? 256 / columns * columns : columns,
    };
    (void)weiri_carve(&carver, 1, sizeof constants);
    constants.factors = carver.used;
    (void)weiri_carve(&carver, constants.period, sizeof(double));
    constants.offsets = carver.used;
    (void)weiri_carve(&carver, constants.period, sizeof(double));
    *ret_bytes = carver.used;
    return constants;
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
    (void)weiri_linear_lay_out(plan->in, &plan->constant_bytes);
    return err;
}

static void prepare(const void *settings, const weiri_unit_plan *plan, void *memory)
{
    const linear_settings *linear = settings;
    const weir_spec *in = plan->in;
    uint64_t bytes;
    weiri_linear *constants = memory;
    *constants = weiri_linear_lay_out(in, &bytes);
    constants->equal = linear->scale.count == 1 && linear->offset.count == 1;
    double *factors = (double *)((unsigned char *)memory + constants->factors);
    double *offsets = (double *)((unsigned char *)memory + constants->offsets);
    size_t columns = (size_t)weir_spec_columns(in);
    int dim = dimension(linear, in);
    weiri_split split = dim > 0 ? weiri_spec_split(in, dim) : (weiri_split){1, columns, 1};
    for (size_t i = 0; i < constants->period; i++) {
        size_t entry = i % columns / (size_t)split.inner % (size_t)split.size;
        factors[i] = linear->scale.of.numbers[linear->scale.count == 1 ? 0 : entry];
        offsets[i] = linear->offset.of.numbers[linear->offset.count == 1 ? 0 : entry];
    }
}

/* Where value number `value` of a block of channels has its factor, and how many follow one another there. */
static size_t
place(const weiri_linear *constants, const weiri_block *block, size_t value, size_t *ret_count)
{
    if (constants->equal || block->channels == constants->channels) {
        *ret_count = constants->period - value % constants->period;
        return value % constants->period;
    }
    size_t some = (size_t)block->channels * constants->inner;
    size_t all = constants->channels * constants->inner;
    size_t column = value % (size_t)weir_spec_columns(block->in);
    *ret_count = some - column % some;
    return column / some * all + (size_t)block->first_channel * constants->inner + column % some;
}

void weiri_linear_compute(
    const weiri_block *block, const void *in, void *out, size_t first, size_t count)
{
    const weiri_linear *constants = block->constants;
    const unsigned char *base = block->constants;
    for (size_t done = 0; done < count;) {
        size_t some, at = place(constants, block, first + done, &some);
        some = some < count - done ? some : count - done;
        const double *factors = (const double *)(base + constants->factors) + at;
        const double *offsets = (const double *)(base + constants->offsets) + at;
        if (block->in->dtype == WEIR_F32) {
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
     .help = "factor: one number, or one per entry of the axis"},
    {.name = "offset",
     .type = WEIR_SETTING_LIST,
     .preset = "0",
     .offset = offsetof(linear_settings, offset),
     .help = "offset added after scaling: one number, or one per entry of the axis"},
    {.name = "axis",
     .type = WEIR_SETTING_STRING,
     .preset = "null",
     .offset = offsetof(linear_settings, axis),
     .help = "axis to which lists apply; null = the last"},
    {0},
};

const weiri_unit_ops weiri_unit_linear = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "linear",
             .summary = "each value times a factor, plus an offset",
             .formula = "y = scale x + offset; one scale and offset for all, or one for each entry "
                        "of an axis.",
             .ezmsg = "linear.LinearTransformTransformer",
             .flags = WEIR_UNIT_IN_PLACE | WEIR_UNIT_COLUMNWISE,
             .settings = table},
    .settings_bytes = sizeof(linear_settings),
    .plan = plan,
    .prepare = prepare,
    .run = weiri_elementwise_run,
    .compute = weiri_linear_compute,
};

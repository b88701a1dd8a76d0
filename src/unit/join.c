/* SPDX-License-Identifier: MIT
 *
 * join.c: see join.h.
 */
#include "unit/join.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernel/kernel.h"

/* ---- which inputs go together --------------------------------------------------------------------- */

weir_err weiri_join_check(const weiri_unit_plan *plan, size_t most)
{
    if (plan->inputs < 2 || plan->inputs > most) {
        char text[32] = "2";
        if (most > 2) {
            snprintf(text, sizeof text, "2 to %zu", most);
        }
        return weiri_fail(WEIR_E_CHAIN, "inputs: %s are needed, %zu given", text, plan->inputs);
    }
    for (size_t i = 1; i < plan->inputs; i++) {
        if (plan->in[i].dtype != plan->in[0].dtype) {
            return weiri_fail(
                WEIR_E_CHAIN, "inputs: the first is %s, number %zu is %s; convert one (as_array)",
                weir_dtype_name(plan->in[0].dtype), i + 1, weir_dtype_name(plan->in[i].dtype));
        }
        if (plan->in[i].scale != plan->in[0].scale) {
            return weiri_fail(WEIR_E_CHAIN,
                              "inputs: the first has a scale of %g, number %zu of %g (0: none); "
                              "convert both (as_array)",
                              plan->in[0].scale, i + 1, plan->in[i].scale);
        }
    }
    return WEIR_OK;
}

bool weiri_join_same(const weir_spec *a, const weir_spec *b, int but)
{
    bool same = a->dim_count == b->dim_count;
    for (uint32_t i = 0; same && i < a->dim_count; i++) {
        same = strcmp(a->dims[i].name, b->dims[i].name) == 0 &&
               ((int)i == but || a->dims[i].size == b->dims[i].size);
    }
    return same;
}

typedef struct shape_text {
    char text[160];
} shape_text;

/* "time x ch 32" */
static shape_text shape_of(const weir_spec *spec)
{
    shape_text shape;
    size_t used = (size_t)snprintf(shape.text, sizeof shape.text, "%.30s", spec->dims[0].name);
    for (uint32_t i = 1; i < spec->dim_count && used < sizeof shape.text; i++) {
        int more = snprintf(shape.text + used, sizeof shape.text - used, " x %.20s %llu",
                            spec->dims[i].name, (unsigned long long)spec->dims[i].size);
        used += (size_t)more;
    }
    return shape;
}

weir_err weiri_join_fail(const weiri_unit_plan *plan, size_t input, const char *allowed)
{
    return weiri_fail(WEIR_E_CHAIN, "inputs: the first is [%s], number %zu is [%s]; %s",
                      shape_of(&plan->in[0]).text, input + 1, shape_of(&plan->in[input]).text,
                      allowed);
}

static uint64_t channels_of(const weir_spec *spec)
{
    int dim = weir_spec_dim(spec, "ch");
    return dim > 0 ? spec->dims[dim].size : 1;
}

weir_err weiri_join_units(const weiri_unit_plan *plan, size_t input)
{
    const weir_spec *a = &plan->in[0], *b = &plan->in[input];
    uint64_t channels = channels_of(a);
    bool one = channels_of(b) != channels;
    for (uint64_t i = 0; a->units != NULL && b->units != NULL && i < channels; i++) {
        const char *first = a->units[i], *other = b->units[one ? 0 : i];
        if (first[0] != '\0' && other[0] != '\0' && strcmp(first, other) != 0) {
            return weiri_fail(WEIR_E_CHAIN,
                              "inputs: channel %llu is in '%s' in the first, in '%s' in number "
                              "%zu; they must have one physical unit",
                              (unsigned long long)i, first, other, input + 1);
        }
    }
    return WEIR_OK;
}

/* ---- sums: the plan ------------------------------------------------------------------------------- */

/* Values at once, so that they are read again from L1. */
enum { BLOCK = 2048 };

/* What an input has for a frame of the first, [outer x channels x inner]. */
typedef enum kind {
    KIND_EACH,  /* a value for each of its values */
    KIND_GROUP, /* [outer x inner]: one for all channels */
    KIND_LONE,  /* one value */
    KIND_NONE   /* does not go with it */
} kind;

typedef struct sum {
    double sign; /* of all inputs but the first */
    uint32_t inputs;
    uint32_t kinds[WEIRI_INPUTS_MAX];
} sum;

static kind kind_of(const weir_spec *a, const weir_spec *b)
{
    int dim = weir_spec_dim(a, "ch");
    if (weiri_join_same(a, b, 0)) {
        return KIND_EACH;
    }
    if (weir_spec_columns(b) == 1) {
        return KIND_LONE;
    }
    if (dim <= 0) {
        return KIND_NONE;
    }
    weir_spec less = *a;
    less.dims[dim].size = 1;
    if (weiri_join_same(&less, b, 0)) {
        return KIND_GROUP;
    }
    size_t after = less.dim_count - (size_t)dim - 1;
    memmove(&less.dims[dim], &less.dims[dim + 1], after * sizeof less.dims[0]);
    less.dim_count--;
    return weiri_join_same(&less, b, 0) ? KIND_GROUP : KIND_NONE;
}

static void notice_labels(const weiri_unit_plan *plan, size_t input)
{
    int dim = weir_spec_dim(&plan->in[0], "ch");
    const weir_axis *a = &plan->in[0].dims[dim > 0 ? dim : 0];
    const weir_axis *b = &plan->in[input].dims[dim > 0 ? dim : 0];
    for (uint64_t i = 0; a->labels != NULL && b->labels != NULL && i < a->size; i++) {
        if (strcmp(a->labels[i], b->labels[i]) != 0) {
            weiri_notice(plan->notices,
                         "inputs: channel %llu is '%s' in the first, '%s' in number %zu; the first "
                         "name is kept",
                         (unsigned long long)i, a->labels[i], b->labels[i], input + 1);
            return;
        }
    }
}

weir_err weiri_sum_plan(weiri_unit_plan *plan, size_t most)
{
    weir_err err = weiri_join_check(plan, most);
    for (size_t i = 1; err == WEIR_OK && i < plan->inputs; i++) {
        kind k = kind_of(&plan->in[0], &plan->in[i]);
        if (k == KIND_NONE) {
            return weiri_join_fail(plan, i, "equal shapes are allowed, or one channel");
        }
        err = weiri_join_units(plan, i);
        if (k == KIND_EACH) {
            notice_labels(plan, i);
            plan->out.units = plan->out.units != NULL ? plan->out.units : plan->in[i].units;
        } else {
            plan->columnwise = false;
            plan->scratch_bytes = BLOCK * sizeof(double);
        }
    }
    plan->constant_bytes = sizeof(sum);
    return err;
}

void weiri_sum_prepare(const weiri_unit_plan *plan, double sign, void *constants)
{
    sum *s = constants;
    s->sign = sign;
    s->inputs = (uint32_t)plan->inputs;
    for (size_t i = 0; i < plan->inputs; i++) {
        s->kinds[i] = (uint32_t)kind_of(&plan->in[0], &plan->in[i]);
    }
}

/* ---- sums: running -------------------------------------------------------------------------------- */

/* All but missing samples is by parts: a complex sum is that of the real and that of the imaginary parts. Counts of
 * parts are even where values have two, as BLOCK is. */
static weiri_split parts_around(weiri_split split, const weir_spec *spec)
{
    split.inner *= weir_dtype_parts(spec->dtype);
    return split;
}

/* Writes `count` parts of [frames x outer x size x inner] from part number `first` on, each the
 * reference's [frames x outer x inner]. */
#define SPREAD(type_name, type)                                                                    \
    static void spread_##type_name(const type *from, weiri_split split, size_t first,              \
                                   size_t count, type *to)                                         \
    {                                                                                              \
        size_t size = (size_t)split.size, inner = (size_t)split.inner;                             \
        while (count > 0) {                                                                        \
            size_t group = first / (size * inner), at = first % (size * inner);                    \
            size_t run = inner == 1 ? size - at : inner - at % inner;                              \
            run = run < count ? run : count;                                                       \
            for (size_t i = 0; i < run && inner == 1; i++) {                                       \
                to[i] = from[group];                                                               \
            }                                                                                      \
            if (inner > 1) {                                                                       \
                memcpy(to, from + group * inner + at % inner, run * sizeof *to);                   \
            }                                                                                      \
            first += run;                                                                          \
            count -= run;                                                                          \
            to += run;                                                                             \
        }                                                                                          \
    }

SPREAD(f32, float)
SPREAD(f64, double)

/* The parts of an input that belong to parts first.. of the output. */
static const void *values_of(
    const weiri_block *block, const weiri_work *work, size_t input, size_t first, size_t count)
{
    const sum *s = block->constants;
    const weir_spec *in = &block->in[0];
    weir_dtype part = weir_dtype_part(in->dtype);
    if (s->kinds[input] == KIND_EACH) {
        return (const unsigned char *)work->in[input] + first * weir_dtype_bytes(part);
    }
    weiri_split split = s->kinds[input] == KIND_LONE ? (weiri_split){1, weir_spec_columns(in), 1}
                                                     : weiri_spec_channels(in);
    split = parts_around(split, in);
    if (part == WEIR_F32) {
        spread_f32(work->in[input], split, first, count, work->scratch);
    } else {
        spread_f64(work->in[input], split, first, count, work->scratch);
    }
    return work->scratch;
}

static bool is_finite(weir_dtype dtype, const void *values, size_t count)
{
    const weiri_kernels *k = weiri_kernels_get();
    return dtype == WEIR_F32 ? k->finite_f32(values, count) : k->finite_f64(values, count);
}

static void mark_missing(weir_dtype dtype, const void *values, size_t count, bool *missing)
{
    for (size_t i = 0; i < count; i++) {
        bool present = dtype == WEIR_F32 ? isfinite(((const float *)values)[i])
                                         : isfinite(((const double *)values)[i]);
        missing[i] = missing[i] || !present;
    }
}

/* S5: NaN where a sample of any input is missing, which a complex one is with one of its parts. */
static void
put_missing(weiri_block *block, void *out, size_t first, size_t count, const bool *missing)
{
    const weir_spec *in = &block->in[0];
    weiri_split split = parts_around(weiri_spec_channels(in), in);
    size_t parts = weir_dtype_parts(in->dtype), columns = (size_t)weir_spec_columns(in) * parts;
    for (size_t i = 0; i < count; i += parts) {
        if (!missing[i] && !missing[i + parts - 1]) {
            continue;
        }
        block->missing[(first + i) % columns / split.inner % split.size]++;
        for (size_t k = i; k < i + parts; k++) {
            if (weir_dtype_part(in->dtype) == WEIR_F32) {
                ((float *)out)[k] = NAN;
            } else {
                ((double *)out)[k] = (double)NAN;
            }
        }
    }
}

/* The inputs one after the other: out may be the first of them. */
static void
sum_some(weiri_block *block, const weiri_work *work, size_t first, size_t count, void *out)
{
    const sum *s = block->constants;
    const weiri_kernels *k = weiri_kernels_get();
    weir_dtype dtype = weir_dtype_part(block->in[0].dtype);
    const void *so_far = NULL;
    bool missing[BLOCK], dirty = false;
    for (size_t i = 0; i < s->inputs; i++) {
        const void *values = values_of(block, work, i, first, count);
        if (!is_finite(dtype, values, count)) {
            if (!dirty) {
                memset(missing, 0, count);
            }
            dirty = true;
            mark_missing(dtype, values, count, missing);
        }
        if (i == 0) {
            so_far = values;
            continue;
        }
        if (dtype == WEIR_F32) {
            k->add_f32(so_far, values, out, count, (float)s->sign);
        } else {
            k->add_f64(so_far, values, out, count, s->sign);
        }
        so_far = out;
    }
    if (dirty) {
        put_missing(block, out, first, count, missing);
    }
}

void weiri_sum_run(weiri_block *block, const weiri_work *work)
{
    const weir_spec *in = &block->in[0];
    size_t all = work->consume * (size_t)weir_spec_columns(in) * weir_dtype_parts(in->dtype);
    size_t bytes = weir_dtype_bytes(weir_dtype_part(in->dtype));
    for (size_t first = 0; first < all; first += BLOCK) {
        size_t count = all - first < BLOCK ? all - first : BLOCK;
        sum_some(block, work, first, count, (unsigned char *)work->out + first * bytes);
    }
}

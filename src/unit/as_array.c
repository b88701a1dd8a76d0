/* SPDX-License-Identifier: MIT
 *
 * as_array.c: converts values to another type. Integers are rounded to the nearest, a tie to the even one, and
 * clamped to their range, which is counted; a sample that is not finite, which they cannot hold, becomes 0 and
 * is counted as missing. Real values become complex ones with an imaginary part of 0; complex ones never become
 * real, since a part would be lost.
 *
 * A conversion for another heap than the host's also limits what that heap's default cache keeps. The unit only
 * says so (as_array.h); the chain does it. Where a chain's buffers are is not decided here.
 */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "cache/default.h"
#include "kernel/kernel.h"
#include "unit/unit.h"

typedef struct as_array_settings {
    const char *backend;
    const char *dtype;       /* NULL = as it is */
    const char *cache_limit; /* bytes, "none", or "default" */
    double scale;            /* NAN = none */
} as_array_settings;

/* Constants: values in the output for one in the input, before rounding. */
typedef struct as_array {
    double factor;
} as_array;

/* NULL: the host. The reference's name for it is numpy. */
static weir_err find_heap(const as_array_settings *settings, weir_heap **ret_heap)
{
    *ret_heap = NULL;
    if (weiri_equal_blind(settings->backend, "host") ||
        weiri_equal_blind(settings->backend, "numpy")) {
        return WEIR_OK;
    }
    weir_err err = weir_heap_find(settings->backend, ret_heap);
    return err == WEIR_OK ? err : weiri_fail_prefix(WEIR_E_CHAIN, "backend: ");
}

/* WEIR_NO_LIMIT: the heap's own default applies. What is not stated is weaker than the environment, by which a
 * parent's limit reaches a child (M8). */
static weir_err read_limit(const as_array_settings *settings, uint64_t *ret_limit)
{
    if (weiri_equal_blind(settings->cache_limit, "default")) {
        *ret_limit = WEIRI_LIMIT_PRESET;
        return WEIR_OK;
    }
    weir_err err = weir_limit_parse(settings->cache_limit, false, ret_limit);
    return err == WEIR_OK ? err : weiri_fail_prefix(WEIR_E_CHAIN, "cache_limit: ");
}

static weir_err heap_limit(const void *settings, weir_heap **ret_heap, uint64_t *ret_limit)
{
    weir_heap *heap = NULL;
    uint64_t limit = WEIR_NO_LIMIT;
    weir_err err = find_heap(settings, &heap);
    if (err == WEIR_OK) {
        err = read_limit(settings, &limit);
    }
    if (err == WEIR_OK) {
        *ret_heap = limit == WEIR_NO_LIMIT ? NULL : heap;
        *ret_limit = limit;
    }
    return err;
}

static weir_err plan(const void *given, weiri_unit_plan *plan)
{
    const as_array_settings *settings = given;
    weir_heap *heap = NULL;
    uint64_t limit = 0;
    weir_err err = heap_limit(settings, &heap, &limit);
    if (err == WEIR_OK && settings->dtype != NULL &&
        weir_dtype_parse(settings->dtype, &plan->out.dtype) != WEIR_OK) {
        err = weiri_fail_prefix(WEIR_E_CHAIN, "dtype: ");
    }
    weir_dtype from = plan->in->dtype, to = plan->out.dtype;
    bool whole = weir_dtype_parts(to) == 1 && to != WEIR_F32 && to != WEIR_F64;
    bool scaled = isfinite(settings->scale) != 0;
    if (err == WEIR_OK && scaled && (!whole || settings->scale == 0)) {
        return weiri_fail(WEIR_E_CHAIN,
                          "scale: %g: a number other than 0 is allowed, for u8 u16 i16 i32, not %s",
                          settings->scale, weir_dtype_name(to));
    }
    if (settings->dtype != NULL || scaled) { /* else values and scale stay as they are */
        plan->out.scale = scaled ? settings->scale : 0;
    }
    plan->constant_bytes = sizeof(as_array);
    if (err == WEIR_OK && weir_dtype_parts(from) > weir_dtype_parts(to)) {
        return weiri_fail(WEIR_E_CHAIN,
                          "dtype: the input is complex (%s), and in %s the imaginary part would be "
                          "lost; c64 and c128 keep it",
                          weir_dtype_name(from), weir_dtype_name(to));
    }
    return err;
}

static void prepare(const void *given, const weiri_unit_plan *plan, void *constants)
{
    (void)given;
    double from = plan->in->scale != 0 ? plan->in->scale : 1;
    double to = plan->out.scale != 0 ? plan->out.scale : 1;
    ((as_array *)constants)->factor = from / to;
}

/* ---- values ----------------------------------------------------------------------------------- */

/* Through doubles, which hold every value of every real type: one rounding, the last. Complex values are
 * converted part by part. */
#define SOME 256

static void load(weir_dtype part, const void *data, size_t at, size_t count, double *to)
{
#define LOAD(name, type)                                                                           \
    case WEIR_##name:                                                                              \
        for (size_t i = 0; i < count; i++) {                                                       \
            to[i] = (double)((const type *)data)[at + i];                                          \
        }                                                                                          \
        break;
    switch (part) {
        LOAD(U8, uint8_t)
        LOAD(U16, uint16_t)
        LOAD(I16, int16_t)
        LOAD(I32, int32_t)
        LOAD(F32, float)
        LOAD(F64, double)
    default: /* a part is never complex */
        break;
    }
#undef LOAD
}

/* Rounded and held within least..most; returns how many were not in there. */
static uint64_t clamp(double *values, size_t count, double least, double most)
{
    uint64_t saturated = 0;
    for (size_t i = 0; i < count; i++) {
        double value = isfinite(values[i]) ? nearbyint(values[i]) : 0.0;
        saturated += value < least || value > most;
        value = value < least ? least : value;
        values[i] = value > most ? most : value;
    }
    return saturated;
}

static uint64_t store(weir_dtype part, void *data, size_t at, size_t count, double *from)
{
    uint64_t saturated = 0;
#define STORE(name, type)                                                                          \
    case WEIR_##name:                                                                              \
        for (size_t i = 0; i < count; i++) {                                                       \
            ((type *)data)[at + i] = (type)from[i];                                                \
        }                                                                                          \
        break;
#define STORE_WHOLE(name, type, least, most)                                                       \
    case WEIR_##name:                                                                              \
        saturated = clamp(from, count, least, most);                                               \
        for (size_t i = 0; i < count; i++) {                                                       \
            ((type *)data)[at + i] = (type)from[i];                                                \
        }                                                                                          \
        break;
    switch (part) {
        STORE_WHOLE(U8, uint8_t, 0, UINT8_MAX)
        STORE_WHOLE(U16, uint16_t, 0, UINT16_MAX)
        STORE_WHOLE(I16, int16_t, INT16_MIN, INT16_MAX)
        STORE_WHOLE(I32, int32_t, INT32_MIN, INT32_MAX)
        STORE(F32, float)
        STORE(F64, double)
    default: /* a part is never complex */
        break;
    }
#undef STORE_WHOLE
#undef STORE
    return saturated;
}

/* Real values as complex ones. */
static void add_imaginary(double *values, size_t count)
{
    for (size_t i = count; i-- > 0;) {
        values[2 * i] = values[i];
        values[2 * i + 1] = 0.0;
    }
}

static bool is_clean(weir_dtype part, const void *values, size_t count)
{
    const weiri_kernels *kernels = weiri_kernels_get();
    return part == WEIR_F32   ? kernels->finite_f32(values, count)
           : part == WEIR_F64 ? kernels->finite_f64(values, count)
                              : true;
}

/* Finite floating-point values to integers: 0.2 ns a value, by way of `values` 2. False: of other types. */
static bool round_clean(weiri_block *block, const void *in, void *out, size_t count, double factor)
{
    const weiri_kernels *k = weiri_kernels_get();
    bool f32 = block->in->dtype == WEIR_F32;
    if (!f32 && block->in->dtype != WEIR_F64) {
        return false;
    }
#define ROUND(name, type)                                                                          \
    case WEIR_##name:                                                                              \
        block->saturated += f32 ? k->whole_##type##_f32(in, out, count, factor)                    \
                                : k->whole_##type##_f64(in, out, count, factor);                   \
        return true;
    switch (block->out->dtype) {
        ROUND(U8, u8)
        ROUND(U16, u16)
        ROUND(I16, i16)
        ROUND(I32, i32)
    default:
        return false;
    }
#undef ROUND
}

/* Parts to f64, at once: 0.16 ns a value, by way of `values` 0.20. */
static void widen(weiri_block *block, const weiri_work *work, size_t count)
{
    weir_dtype from = weir_dtype_part(block->in->dtype);
    bool clean = true;
    for (size_t at = 0; at < count; at += SOME) {
        size_t some = count - at < SOME ? count - at : SOME;
        const unsigned char *values =
            (const unsigned char *)work->in[0] + at * weir_dtype_bytes(from);
        clean = is_clean(from, values, some) && clean;
        load(from, values, 0, some, (double *)work->out + at);
    }
    if (!clean) {
        weiri_count_missing(block, work->in[0], work->consume);
    }
}

static void run(weiri_block *block, const weiri_work *work)
{
    weir_dtype from = weir_dtype_part(block->in->dtype), to = weir_dtype_part(block->out->dtype);
    const void *in = work->in[0];
    size_t parts = weir_dtype_parts(block->in->dtype);
    size_t grows = weir_dtype_parts(block->out->dtype) / parts;
    size_t count = work->consume * (size_t)weir_spec_columns(block->in) * parts;
    const as_array *scale = block->constants;
    bool scaled = scale->factor != 1;
    bool same = from == to && grows == 1 && !scaled;
    double values[2 * SOME];
    if (to == WEIR_F64 && grows == 1 && !same &&
        !scaled) { /* larger than any input, so out is not in */
        widen(block, work, count);
        return;
    }
    if (!is_clean(from, in, count)) { /* S5; before anything is written, since out may be in */
        weiri_count_missing(block, in, work->consume);
    } else if (!same && round_clean(block, in, work->out, count, scale->factor)) {
        return;
    }
    if (same && in != work->out && count > 0) {
        memcpy(work->out, in, count * weir_dtype_bytes(from));
    }
    for (size_t at = 0; !same && at < count; at += SOME) {
        size_t some = count - at < SOME ? count - at : SOME;
        load(from, in, at, some, values);
        for (size_t i = 0; scaled && i < some; i++) {
            values[i] *= scale->factor;
        }
        if (grows > 1) {
            add_imaginary(values, some);
        }
        block->saturated += store(to, work->out, at * grows, some * grows, values);
    }
}

static const weir_setting table[] = {
    {.name = "backend",
     .type = WEIR_SETTING_STRING,
     .preset = "host",
     .offset = offsetof(as_array_settings, backend),
     .help = "heap that the values are converted for; host (or numpy) sets no limit"},
    {.name = "dtype",
     .type = WEIR_SETTING_STRING,
     .preset = "null",
     .offset = offsetof(as_array_settings, dtype),
     .help = "u8 u16 i16 i32 f32 f64 c64 c128, or the NumPy name; null: unchanged; complex to "
             "real is not allowed",
     .example = "float64"},
    {.name = "scale",
     .type = WEIR_SETTING_NUMBER,
     .preset = "null",
     .offset = offsetof(as_array_settings, scale),
     .help =
         "of integers: physical value of 1, such as 0.195 uV; outputs state it, so that they are "
         "read back as physical values; null: 1"},
    {.name = "cache_limit",
     .type = WEIR_SETTING_STRING,
     .preset = "default",
     .offset = offsetof(as_array_settings, cache_limit),
     .help = "largest size of unused buffers in the heap's default cache in this process; default: "
             "WEIR_CACHE_LIMIT, else 512 MiB; none: unlimited"},
    {.name = "mlx_cache_limit_mb",
     .type = WEIR_SETTING_IGNORED,
     .help = "accepted for ezmsg-sigproc compatibility; ignored: see cache_limit"},
    {0},
};

const weiri_unit_ops weiri_unit_as_array = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "as_array",
             .summary = "converts the values to another dtype, for another heap",
             .formula =
                 "y = x in another number type, or x / scale; integers round to nearest even and "
                 "saturate, which is counted.",
             .ezmsg = "asarray.AsArrayTransformer",
             .checks = "known values of each dtype",
             .flags = WEIR_UNIT_ANY_DTYPE | WEIR_UNIT_COMPLEX | WEIR_UNIT_IN_PLACE |
                      WEIR_UNIT_COLUMNWISE,
             .settings = table},
    .settings_bytes = sizeof(as_array_settings),
    .plan = plan,
    .prepare = prepare,
    .heap_limit = heap_limit,
    .run = run,
};

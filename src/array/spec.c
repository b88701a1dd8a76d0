/* SPDX-License-Identifier: MIT
 *
 * spec.c: description of a stream: dimensions, sizes, rate. Products are checked for
 * overflow here once (weir_spec_check), so that code using a checked spec need not.
 */
#include <math.h>
#include <string.h>

#include <weir/array.h>

#include "base/base.h"

/* Limits: columns * bytes * capacity must fit 63 bits, and absurd headers are rejected. 2^32 values per
 * frame are 16 GiB of f32. */
#define COLUMNS_MAX (UINT64_C(1) << 32)
#define RATE_MAX    1e12

weir_spec weir_spec_make(weir_dtype dtype,
                         double rate_hz,
                         uint64_t channels,
                         const char *const *labels,
                         const char *const *units)
{
    weir_spec spec = {
        .dtype = dtype, .dim_count = 2, .rate_hz = rate_hz, .units = units, .name = ""};
    spec.dims[0] = (weir_axis){.name = "time", .unit = "s", .step = 1 / rate_hz};
    spec.dims[1] =
        (weir_axis){.name = "ch", .unit = "", .size = channels, .step = 1, .labels = labels};
    return spec;
}

uint64_t weir_spec_columns(const weir_spec *spec)
{
    if (spec == NULL) {
        return 0;
    }
    uint64_t columns = 1;
    for (uint32_t i = 1; i < spec->dim_count; i++) {
        columns *= spec->dims[i].size;
    }
    return columns;
}

uint64_t weir_spec_frame_bytes(const weir_spec *spec)
{
    if (spec == NULL) {
        return 0;
    }
    return weir_spec_columns(spec) * weir_dtype_bytes(spec->dtype);
}

int weir_spec_dim(const weir_spec *spec, const char *name)
{
    if (spec == NULL || name == NULL) {
        return -1;
    }
    for (uint32_t i = 0; i < spec->dim_count; i++) {
        if (spec->dims[i].name != NULL && strcmp(spec->dims[i].name, name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

static weir_err check_axis(const weir_spec *spec, uint32_t number)
{
    const weir_axis *axis = &spec->dims[number];
    if (axis->name == NULL || axis->name[0] == '\0' || axis->unit == NULL) {
        return weiri_fail(WEIR_E_USAGE, "dims[%u]: name and unit are required", number);
    }
    for (uint32_t i = 0; i < number; i++) {
        if (strcmp(spec->dims[i].name, axis->name) == 0) {
            return weiri_fail(WEIR_E_USAGE, "dims[%u]: duplicate axis '%s'", number, axis->name);
        }
    }
    if (!isfinite(axis->start) || !isfinite(axis->step)) {
        return weiri_fail(WEIR_E_USAGE, "axis %s: start and step must be finite", axis->name);
    }
    if (axis->labels != NULL && axis->values != NULL) {
        return weiri_fail(WEIR_E_USAGE, "axis %s: labels or values, not both", axis->name);
    }
    for (uint64_t i = 0; number > 0 && axis->labels != NULL && i < axis->size; i++) {
        if (axis->labels[i] == NULL) {
            return weiri_fail(WEIR_E_USAGE, "axis %s: label %llu is missing", axis->name,
                              (unsigned long long)i);
        }
    }
    return WEIR_OK;
}

weir_err weir_spec_check(const weir_spec *spec)
{
    if (spec == NULL) {
        return weiri_fail(WEIR_E_USAGE, "no spec");
    }
    if (weir_dtype_bytes(spec->dtype) == 0) {
        return weiri_fail(WEIR_E_USAGE, "dtype: %d is not a dtype", (int)spec->dtype);
    }
    if (spec->dim_count < 1 || spec->dim_count > WEIR_MAX_DIMS) {
        return weiri_fail(WEIR_E_USAGE, "dim_count: %u is out of range; 1 to %d", spec->dim_count,
                          WEIR_MAX_DIMS);
    }
    if (!(spec->rate_hz > 0 && spec->rate_hz <= RATE_MAX)) {
        return weiri_fail(WEIR_E_USAGE, "rate_hz: %g is out of range; above 0 to %g Hz",
                          spec->rate_hz, RATE_MAX);
    }
    if (!isfinite(spec->scale)) {
        return weiri_fail(WEIR_E_USAGE, "scale: %g is not finite; 0 = none", spec->scale);
    }
    if (spec->dims[0].size != 0) {
        return weiri_fail(WEIR_E_USAGE, "dims[0].size: %llu; the stream's dimension has no size: 0",
                          (unsigned long long)spec->dims[0].size);
    }
    uint64_t columns = 1;
    for (uint32_t i = 1; i < spec->dim_count; i++) {
        uint64_t size = spec->dims[i].size;
        if (size < 1 || !weiri_mul(columns, size, &columns) || columns > COLUMNS_MAX) {
            return weiri_fail(
                WEIR_E_USAGE,
                "dims[%u].size: %llu is out of range; 1 to 2^32 values a frame in all", i,
                (unsigned long long)size);
        }
    }
    /* After the sizes: labels are walked by them. */
    for (uint32_t i = 0; i < spec->dim_count; i++) {
        weir_err err = check_axis(spec, i);
        if (err != WEIR_OK) {
            return err;
        }
    }
    return WEIR_OK;
}

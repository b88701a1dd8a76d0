/* SPDX-License-Identifier: MIT
 *
 * drive_values.h: signals for tests of units, values of their output, comparison, settling time (drive.h). A
 * complex value counts as two.
 */
#ifndef WEIRI_DRIVE_VALUES_H
#define WEIRI_DRIVE_VALUES_H

#include <math.h>

#include "unit/drive_run.h"

static inline double drive_value(const drive *d, const drive_output *o, size_t at)
{
    const weir_spec *out = &d->plan.out;
    assert_true(at < o->frames * (size_t)weir_spec_columns(out) * weir_dtype_parts(out->dtype));
    return weir_dtype_part(out->dtype) == WEIR_F32
               ? (double)((const float *)(const void *)o->data)[at]
               : ((const double *)(const void *)o->data)[at];
}

/* A signal of normal-like values about an offset, of the spec's type, a share of it missing. */
static inline void *
drive_signal(const weir_spec *spec, size_t frames, double offset, double missing, uint64_t *random)
{
    size_t count = frames * (size_t)weir_spec_columns(spec) * weir_dtype_parts(spec->dtype);
    bool f32 = weir_dtype_part(spec->dtype) == WEIR_F32;
    double *values = calloc(count + 1, sizeof *values);
    assert_non_null(values);
    for (size_t i = 0; i < count; i++) {
        double sum = offset - 3.0;
        for (int j = 0; j < 6; j++) {
            sum += (double)drive_random(random, 1u << 30) * 0x1p-30;
        }
        if ((double)drive_random(random, 1000000) < missing * 1e6) {
            static const double kinds[] = {NAN, INFINITY, -INFINITY};
            sum = kinds[drive_random(random, 3)];
        }
        if (f32) {
            ((float *)(void *)values)[i] = (float)sum;
        } else {
            values[i] = sum;
        }
    }
    return values;
}

static inline double drive_input(const weir_spec *spec, const void *data, size_t at)
{
    return weir_dtype_part(spec->dtype) == WEIR_F32 ? (double)((const float *)data)[at]
                                                    : ((const double *)data)[at];
}

/* Close enough, or both NaN. */
static inline void
drive_near(double found, double expected, double rtol, double atol, const char *what)
{
    bool same = isnan(expected) ? isnan(found) != 0
                                : fabs(found - expected) <= atol + rtol * fabs(expected) ||
                                      (isinf(expected) && found == expected);
    if (!same) {
        print_error("%s: %.17g found, %.17g expected\n", what, found, expected);
        fail();
    }
}

/* ---- settling ---------------------------------------------------------------------------------------- */

static inline uint64_t drive_settle(const drive *d, double tolerance)
{
    return d->ops->settle != NULL     ? d->ops->settle(d->settings, &d->plan, tolerance)
           : d->plan.field_count == 0 ? 0
                                      : WEIR_SETTLES_NEVER;
}

/* Two runs (f64) whose inputs differ by 1 at most before frame `before`: from settle() frames later on their
 * outputs differ by at most the tolerance. Returns the largest difference one frame earlier, or 0. */
static inline double drive_settles(drive *d, size_t before, double tolerance, uint64_t *random)
{
    uint64_t settle = drive_settle(d, tolerance);
    size_t in_columns = (size_t)weir_spec_columns(&d->in);
    size_t columns = (size_t)weir_spec_columns(&d->plan.out);
    size_t frames = before + (size_t)settle + 300;
    double worst = 0.0, earlier = 0.0;
    assert_true(d->in.dtype == WEIR_F64 && settle != WEIR_SETTLES_NEVER);
    double *data = drive_signal(&d->in, frames, 0.0, 0.0, random);
    drive_reset(d);
    drive_output a = drive_run(d, data, frames, 0, NULL);
    for (size_t i = 0; i < before * in_columns; i++) {
        data[i] += i % 3 == 0 ? 1.0 : (double)drive_random(random, 1u << 20) * 0x1p-20;
    }
    drive_reset(d);
    drive_output b = drive_run(d, data, frames, 0, NULL);
    size_t from = (size_t)weiri_due_at(&d->plan.due, before + settle, false) * columns;
    for (size_t i = 0; i < a.frames * columns; i++) {
        double difference = fabs(drive_value(d, &a, i) - drive_value(d, &b, i));
        worst = i >= from && difference > worst ? difference : worst;
        earlier = i < from && i + columns >= from && difference > earlier ? difference : earlier;
    }
    if (!(worst <= tolerance + 1e-12)) {
        fail_msg("%s: the outputs differ by %g, %llu frames later", d->ops->info.name, worst,
                 (unsigned long long)settle);
    }
    free(a.data);
    free(b.data);
    free(data);
    drive_reset(d);
    return earlier;
}

/* What a unit's plan answers to settings that it does not accept: the detail starts with the setting at fault. */
static inline void drive_refused(weir_err err, const char *start)
{
    assert_int_equal(err, WEIR_E_CHAIN);
    if (strncmp(weir_err_detail(), start, strlen(start)) != 0) {
        fail_msg("'%s' does not start with '%s'", weir_err_detail(), start);
    }
}

#endif

/* SPDX-License-Identifier: MIT
 *
 * aggregate_test.c: every operation over every inner dimension against plain loops.
 */
#include "dsp/reduce.h"
#include "plain_reduce.h"
#include "unit/drive.h"

static const double freqs[6] = {1.0, 2.5, 4.0, 8.0, 13.0, 30.0};
static const char *const names[6] = {"a", "b", "c", "d", "e", "f"};

static double coordinate(const weir_axis *axis, size_t i)
{
    return axis->labels != NULL   ? (double)i
           : axis->values != NULL ? axis->values[i]
                                  : axis->start + (double)i * axis->step;
}

/* v: the samples that are present, of `size`; where some are missing only the nan operations have a value. */
static double plain(int operation, const double *v, const double *x, size_t count, size_t size)
{
    bool ignores = strncmp(weiri_operations[operation].name, "nan", 3) == 0;
    if (count < size && !ignores) {
        return (double)NAN;
    }
    if (count == 0) {
        return operation == WEIRI_NANSUM ? 0.0 : (double)NAN;
    }
    return plain_reduce(operation, v, x, count);
}

static void
check_axis(const weir_spec *spec, int dim, int operation, double missing, uint64_t *random)
{
    weir_value given[] = {weir_text("axis", spec->dims[dim].name),
                          weir_text("operation", weiri_operations[operation].name)};
    drive *d = NULL;
    size_t frames = 40, columns = (size_t)weir_spec_columns(spec);
    assert_int_equal(drive_open("aggregate", spec, given, 2, &d), WEIR_OK);
    assert_int_equal(d->plan.out.dim_count, spec->dim_count - 1);
    assert_int_equal(weir_spec_dim(&d->plan.out, spec->dims[dim].name), -1);
    assert_int_equal(d->plan.columnwise, strcmp(spec->dims[dim].name, "ch") != 0);
    assert_int_equal(d->plan.field_count, 0);
    weiri_split split = weiri_spec_split(spec, dim);
    void *data = drive_signal(spec, frames, 0.5, missing, random);
    drive_output o = drive_cuts(d, data, frames, random);
    assert_int_equal(o.frames, frames);
    for (size_t f = 0; f < frames; f++) {
        for (size_t i = 0; i < split.outer * split.inner; i++) {
            double v[64], x[64];
            size_t count = 0;
            for (size_t k = 0; k < split.size; k++) {
                size_t column = (i / split.inner * split.size + k) * split.inner + i % split.inner;
                double value = drive_input(spec, data, f * columns + column);
                if (isfinite(value)) {
                    v[count] = value;
                    x[count++] = coordinate(&spec->dims[dim], k);
                }
            }
            double expected = plain(operation, v, x, count, split.size);
            double found = drive_value(d, &o, f * split.outer * split.inner + i);
            drive_near(found, expected, spec->dtype == WEIR_F32 ? 1e-5 : 1e-12,
                       spec->dtype == WEIR_F32 ? 1e-5 : 1e-12, weiri_operations[operation].name);
        }
    }
    free(o.data);
    free(data);
    drive_close(d);
}

static weir_spec make_spec(weir_dtype dtype, int kind)
{
    weir_spec spec = weir_spec_make(dtype, 10.0, 6, names, NULL);
    if (kind > 0) { /* [win x time x freq x ch] */
        spec.dims[0].name = "win";
        spec.dims[3] = spec.dims[1];
        spec.dims[1] =
            (weir_axis){.name = "time", .unit = "s", .size = 25, .start = -0.1, .step = 0.01};
        spec.dims[2] = (weir_axis){.name = "freq", .unit = "Hz", .size = 6, .values = freqs};
        spec.dim_count = 4;
    }
    return spec;
}

/* S1 S2 S5. */
static void operations_equal_plain_loops(void **state)
{
    (void)state;
    uint64_t random = drive_seed();
    for (int dtype = 0; dtype < 2; dtype++) {
        for (int kind = 0; kind < 2; kind++) {
            weir_spec spec = make_spec(dtype == 0 ? WEIR_F32 : WEIR_F64, kind);
            for (int dim = 1; dim < (int)spec.dim_count; dim++) {
                for (int op = 0; op < WEIRI_OPERATION_COUNT; op++) {
                    check_axis(&spec, dim, op, 0, &random);
                    check_axis(&spec, dim, op, 0.01, &random);
                    check_axis(&spec, dim, op, 0.9, &random);
                }
            }
        }
    }
}

static void mistakes_are_named(void **state)
{
    (void)state;
    weir_spec spec = make_spec(WEIR_F32, 1);
    const char *mixed[6] = {"uV", "uV", "mV", "uV", "uV", "uV"};
    spec.units = mixed;
    static const char *const cases[][2] = {
        {"win", "binned_aggregate"}, {"fre", "freq"}, {"ch", "different physical units"}};
    for (size_t i = 0; i < 3; i++) {
        weir_value given = weir_text("axis", cases[i][0]);
        drive *d = NULL;
        assert_int_equal(drive_open("aggregate", &spec, &given, 1, &d), WEIR_E_CHAIN);
        assert_true(strncmp(weir_err_detail(), "axis:", 5) == 0);
        assert_non_null(strstr(weir_err_detail(), cases[i][1]));
    }
    drive *d = NULL;
    assert_int_equal(drive_open("aggregate", &spec, NULL, 0, &d), WEIR_E_CHAIN);
    assert_non_null(strstr(weir_err_detail(), "axis"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_equal_plain_loops),
        cmocka_unit_test(mistakes_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

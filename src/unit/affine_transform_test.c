/* SPDX-License-Identifier: MIT
 *
 * affine_transform_test.c: dense, sparse and interleaved matrices against plain loops in float64; names and physical
 * units of outputs; missing samples; mistakes.
 */
#include "unit/drive.h"

enum { MOST = 80 };
static char label_text[MOST][8];
static const char *labels[MOST], *volts[MOST];

static weir_spec make_spec(weir_dtype dtype, size_t channels)
{
    for (size_t i = 0; i < MOST; i++) {
        (void)snprintf(label_text[i], sizeof label_text[i], "c%zu", i);
        labels[i] = label_text[i];
        volts[i] = "uV";
    }
    return weir_spec_make(dtype, 1000.0, channels, labels, volts);
}

/* A matrix as a value. */
typedef struct matrix {
    size_t rows, columns;
    double numbers[MOST * MOST + MOST];
    weir_value items[MOST * MOST + MOST], lists[MOST + 1], value;
} matrix;

static const weir_value *make_value(matrix *m)
{
    for (size_t i = 0; i < m->rows; i++) {
        m->lists[i] =
            weir_numbers(NULL, m->numbers + i * m->columns, m->columns, m->items + i * m->columns);
    }
    m->value = weir_list_of("weights", m->lists, m->rows);
    return &m->value;
}

static double uniform(uint64_t *random)
{
    return (double)drive_random(random, 2000001) * 1e-6 - 1.0;
}

/* S1 S2 S5: [frames x outer x in x inner]; outputs that use a missing input are missing, all others are not. */
static void check(weir_dtype dtype,
                  const weir_spec *spec,
                  matrix *m,
                  bool right,
                  const char *axis,
                  uint64_t *random)
{
    weir_value given[] = {*make_value(m), weir_bool("right_multiply", right),
                          weir_text("axis", axis)};
    drive *d = NULL;
    size_t frames = 40;
    assert_int_equal(drive_open("affine_transform", spec, given, 3, &d), WEIR_OK);
    weiri_split split = weiri_spec_split(spec, weir_spec_dim(spec, axis));
    size_t outs = right ? m->columns : m->rows;
    assert_int_equal(d->plan.out.dims[weir_spec_dim(spec, axis)].size, outs);
    bool offsets = (right ? m->rows : m->columns) == split.size + 1;
    void *data = drive_signal(spec, frames, 0.5, 0.003, random);
    drive_output o = drive_cuts(d, data, frames, random);
    assert_int_equal(o.frames, frames);
    for (size_t group = 0; group < frames * split.outer; group++) {
        for (size_t at = 0; at < outs * split.inner; at++) {
            size_t j = at / split.inner, k = at % split.inner;
            double sum = 0, size = 1;
            for (size_t i = 0; i < split.size + (offsets ? 1 : 0); i++) {
                double w = right ? m->numbers[i * m->columns + j] : m->numbers[j * m->columns + i];
                double x =
                    i == split.size
                        ? 1.0
                        : drive_input(spec, data, (group * split.size + i) * split.inner + k);
                x = isfinite(x) ? x : (double)NAN;
                sum += w == 0.0 ? 0.0 : w * x;
                size += isfinite(w * x) ? fabs(w * x) : 0;
            }
            double found = drive_value(d, &o, group * outs * split.inner + at);
            drive_near(found, sum, 0, (dtype == WEIR_F32 ? 1e-6 : 1e-15) * size, "y");
        }
    }
    free(o.data);
    free(data);
    drive_close(d);
}

static void fill(matrix *m, size_t rows, size_t columns, int kind, uint64_t *random)
{
    m->rows = rows;
    m->columns = columns;
    for (size_t i = 0; i < rows * columns; i++) {
        size_t row = i / columns, column = i % columns;
        bool used = kind == 0   ? true
                    : kind == 1 ? row / 16 == column / 16
                    : kind == 2 ? row % 4 == column % 4
                                : drive_random(random, 20) == 0;
        m->numbers[i] = used ? uniform(random) : 0.0;
    }
}

static void products_equal_plain_loops(void **state)
{
    (void)state;
    uint64_t random = drive_seed();
    static matrix m;
    for (size_t test = 0; test < 48; test++) {
        weir_dtype dtype = test % 2 == 0 ? WEIR_F32 : WEIR_F64;
        size_t in = 1 + (size_t)drive_random(&random, MOST - 1);
        size_t out = 1 + (size_t)drive_random(&random, MOST - 1);
        bool offsets = drive_random(&random, 3) == 0, right = drive_random(&random, 2) == 0;
        weir_spec spec = make_spec(dtype, in);
        size_t rows = in + (offsets ? 1 : 0);
        fill(&m, right ? rows : out, right ? out : rows, (int)(test / 2 % 4), &random);
        check(dtype, &spec, &m, right, "ch", &random);
    }
    weir_spec spec = make_spec(WEIR_F32, 5); /* [time x freq x ch] along freq */
    spec.dims[2] = spec.dims[1];
    spec.dims[1] = (weir_axis){.name = "freq", .unit = "Hz", .size = 7, .step = 2};
    spec.dim_count = 3;
    fill(&m, 7, 3, 0, &random);
    check(WEIR_F32, &spec, &m, true, "freq", &random);
    fill(&m, 6, 40, 0, &random);
    check(WEIR_F32, &spec, &m, true, "ch", &random);
}

/* car, with and without groups, is x minus the group's mean; identity is x. */
static void kinds_are_built(void **state)
{
    (void)state;
    uint64_t random = drive_seed();
    weir_spec spec = make_spec(WEIR_F64, 6);
    weir_value numbers[2][3];
    weir_value lists[2] = {weir_numbers(NULL, (const double[]){0, 2, 4}, 3, numbers[0]),
                           weir_numbers(NULL, (const double[]){1, 3}, 2, numbers[1])};
    for (int kind = 0; kind < 3; kind++) {
        weir_value given[] = {weir_text("weights", kind < 2 ? "car" : "IDENTITY"),
                              weir_list_of("channel_groups", lists, 2)};
        drive *d = NULL;
        assert_int_equal(drive_open("affine_transform", &spec, given, kind == 0 ? 1 : 2, &d),
                         WEIR_OK);
        assert_string_equal(d->plan.out.dims[1].labels[5], "c5");
        double *data = drive_signal(&spec, 20, 0.5, 0.0, &random);
        drive_output o = drive_cuts(d, data, 20, &random);
        for (size_t f = 0; f < 20; f++) {
            const double *x = data + 6 * f;
            double all = (x[0] + x[1] + x[2] + x[3] + x[4] + x[5]) / 6;
            double means[2] = {(x[0] + x[2] + x[4]) / 3, (x[1] + x[3]) / 2};
            for (size_t c = 0; c < 6; c++) {
                double expected = kind == 0   ? x[c] - all
                                  : kind == 2 ? x[c]
                                  : c == 5    ? x[c]
                                              : x[c] - means[c % 2];
                drive_near(drive_value(d, &o, 6 * f + c), expected, 1e-11, 1e-12, "car");
            }
        }
        free(o.data);
        free(data);
        drive_close(d);
    }
}

static void outputs_have_names_and_units(void **state)
{
    (void)state;
    static matrix m = {.rows = 3, .columns = 2, .numbers = {1, 2, 0, 0, 3, 4}};
    weir_spec spec = make_spec(WEIR_F32, 3);
    drive *d = NULL;
    assert_int_equal(drive_open("affine_transform", &spec, make_value(&m), 1, &d), WEIR_OK);
    assert_string_equal(d->plan.out.dims[1].labels[0], "c0"); /* c1 is not used */
    assert_string_equal(d->plan.out.dims[1].labels[1], "c2");
    assert_string_equal(d->plan.out.units[1], "uV");
    drive_close(d);
    m.numbers[2] = 1; /* three inputs, two outputs */
    assert_int_equal(drive_open("affine_transform", &spec, make_value(&m), 1, &d), WEIR_OK);
    assert_null(d->plan.out.dims[1].labels);
    assert_int_equal(d->plan.out.dims[1].size, 2);
    drive_close(d);
}

static void mistakes_are_named(void **state)
{
    (void)state;
    static matrix m = {.rows = 3, .columns = 2, .numbers = {1, 2, 0, 0, 3, 4}};
    weir_spec spec = make_spec(WEIR_F32, 5);
    drive *d = NULL;
    assert_int_equal(drive_open("affine_transform", &spec, make_value(&m), 1, &d), WEIR_E_CHAIN);
    assert_non_null(strstr(weir_err_detail(), "weights: 3 rows for the 5 entries of axis 'ch'"));
    weir_value given[] = {weir_text("weights", "/no/such.npy"), weir_text("axis", "time")};
    assert_int_equal(drive_open("affine_transform", &spec, given, 1, &d), WEIR_E_CHAIN);
    assert_non_null(strstr(weir_err_detail(), "weights: /no/such.npy: "));
    given[0] = weir_text("weights", "car");
    assert_int_equal(drive_open("affine_transform", &spec, given, 2, &d), WEIR_E_CHAIN);
    assert_non_null(strstr(weir_err_detail(), "axis: 'time' is not a dimension of frames"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_equal_plain_loops),
        cmocka_unit_test(kinds_are_built),
        cmocka_unit_test(outputs_have_names_and_units),
        cmocka_unit_test(mistakes_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT
 *
 * as_array_test.c: every type into every other against exact rounding; saturated and missing samples are
 * counted; which limit a conversion asks for. That it is set: tests/promise/as_array_limit_test.c.
 */

#include "cache/default.h"
#include "unit/drive.h"

#define COLUMNS 5
#define FRAMES  400

static const struct {
    const char *name;
    weir_dtype dtype;
    double least, most;
} types[] = {
    {"uint8", WEIR_U8, 0, 255},         {"u16", WEIR_U16, 0, 65535},
    {"int16", WEIR_I16, -32768, 32767}, {"i32", WEIR_I32, -2147483648.0, 2147483647.0},
    {"float32", WEIR_F32, 0, 0},        {"f64", WEIR_F64, 0, 0},
};

static double get(weir_dtype dtype, const void *data, size_t at)
{
    switch (dtype) {
    case WEIR_U8:
        return ((const uint8_t *)data)[at];
    case WEIR_U16:
        return ((const uint16_t *)data)[at];
    case WEIR_I16:
        return ((const int16_t *)data)[at];
    case WEIR_I32:
        return ((const int32_t *)data)[at];
    case WEIR_F32:
        return (double)((const float *)data)[at];
    default:
        return ((const double *)data)[at];
    }
}

static void set(weir_dtype dtype, void *data, size_t at, double value)
{
    switch (dtype) {
    case WEIR_U8:
        ((uint8_t *)data)[at] = (uint8_t)value;
        break;
    case WEIR_U16:
        ((uint16_t *)data)[at] = (uint16_t)value;
        break;
    case WEIR_I16:
        ((int16_t *)data)[at] = (int16_t)value;
        break;
    case WEIR_I32:
        ((int32_t *)data)[at] = (int32_t)value;
        break;
    case WEIR_F32:
        ((float *)data)[at] = (float)value;
        break;
    default:
        ((double *)data)[at] = value;
    }
}

/* Round half to even by hand, without the unit's function. */
static double half_even(double value)
{
    double below = floor(value), rest = value - below;
    bool up = rest > 0.5 || (rest == 0.5 && fmod(below, 2.0) != 0.0);
    return up ? below + 1 : below;
}

static double expected(size_t to, double value, uint64_t *saturated)
{
    if (types[to].dtype == WEIR_F64) {
        return value;
    }
    if (types[to].dtype == WEIR_F32) {
        return (double)(float)value;
    }
    double whole = isfinite(value) ? half_even(value) : 0.0;
    *saturated += whole < types[to].least || whole > types[to].most;
    return whole < types[to].least  ? types[to].least
           : whole > types[to].most ? types[to].most
                                    : whole;
}

/* Values of every size, halves among them, a few missing. */
static void fill(size_t from, void *data, uint64_t *random)
{
    static const double sizes[] = {3, 300, 70000, 5e9};
    static const double missing[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < COLUMNS * FRAMES; i++) {
        double part = (double)drive_random(random, 1u << 20) * 0x1p-19 - 1.0;
        double value = sizes[drive_random(random, 4)] * part;
        value = drive_random(random, 3) == 0 ? floor(value) + 0.5 : value;
        if (types[from].most > 0) {
            value = types[from].least + (types[from].most - types[from].least) *
                                            ((double)drive_random(random, 1u << 20) * 0x1p-20);
        } else if (drive_random(random, 50) == 0) {
            value = missing[drive_random(random, 3)];
        }
        set(types[from].dtype, data, i, value);
    }
}

static void every_type(void **state)
{
    (void)state;
    uint64_t random = drive_seed();
    static double data[COLUMNS * FRAMES];
    for (size_t from = 0; from < 6; from++) {
        for (size_t to = 0; to < 6; to++) {
            weir_spec spec = weir_spec_make(types[from].dtype, 1000, COLUMNS, NULL, NULL);
            weir_value settings[] = {weir_text("dtype", types[to].name)};
            drive *d = NULL;
            assert_int_equal(drive_open("as_array", &spec, settings, 1, &d), WEIR_OK);
            assert_int_equal(d->plan.out.dtype, types[to].dtype);
            fill(from, data, &random);
            drive_output o = drive_cuts(d, data, FRAMES, &random);
            assert_int_equal(o.frames, FRAMES);
            uint64_t saturated = 0, missing[COLUMNS] = {0};
            for (size_t i = 0; i < COLUMNS * FRAMES; i++) {
                double value = get(types[from].dtype, data, i);
                missing[i % COLUMNS] += !isfinite(value);
                double want = expected(to, value, &saturated);
                double found = get(types[to].dtype, o.data, i);
                if (!(found == want || (isnan(found) && isnan(want)))) {
                    fail_msg("%s to %s: %.17g becomes %.17g, not %.17g", types[from].name,
                             types[to].name, value, found, want);
                }
            }
            assert_int_equal(d->block->saturated, saturated);
            assert_memory_equal(d->block->missing, missing, sizeof missing);
            free(o.data);
            drive_close(d);
        }
    }
}

/* Integers hold physical value / scale; those with a scale are taken by their physical value. */
static void scales(void **state)
{
    (void)state;
    uint64_t random = drive_seed();
    static double data[COLUMNS * FRAMES];
    static const double steps[] = {0.195, -3.5, 0.25};
    for (size_t test = 0; test < 6 * 6; test++) {
        size_t from = test / 6, to = test % 6;
        double before = types[from].most > 0 ? steps[test % 3] : 0, after = steps[(test / 7) % 3];
        bool whole = types[to].most > 0;
        weir_spec spec = weir_spec_make(types[from].dtype, 1000, COLUMNS, NULL, NULL);
        spec.scale = before;
        weir_value settings[] = {weir_text("dtype", types[to].name), weir_number("scale", after)};
        drive *d = NULL;
        assert_int_equal(drive_open("as_array", &spec, settings, whole ? 2 : 1, &d), WEIR_OK);
        assert_true(d->plan.out.scale == (whole ? after : 0));
        fill(from, data, &random);
        drive_output o = drive_cuts(d, data, FRAMES, &random);
        uint64_t saturated = 0;
        for (size_t i = 0; i < COLUMNS * FRAMES; i++) {
            double factor = (before != 0 ? before : 1) / (whole ? after : 1);
            double want = expected(to, get(types[from].dtype, data, i) * factor, &saturated);
            double found = get(types[to].dtype, o.data, i);
            assert_true(found == want || (isnan(found) && isnan(want)));
        }
        assert_int_equal(d->block->saturated, saturated);
        free(o.data);
        drive_close(d);
    }
    /* A count of 16 bits times the scale, as f32, is that count again. */
    int16_t counts[COLUMNS * FRAMES];
    float physical[COLUMNS * FRAMES];
    for (size_t i = 0; i < COLUMNS * FRAMES; i++) {
        counts[i] = (int16_t)(drive_random(&random, 65536) - 32768);
        physical[i] = (float)(counts[i] * 0.195);
    }
    weir_spec spec = weir_spec_make(WEIR_F32, 1000, COLUMNS, NULL, NULL);
    weir_value settings[] = {weir_text("dtype", "i16"), weir_number("scale", 0.195)};
    drive *d = NULL;
    assert_int_equal(drive_open("as_array", &spec, settings, 2, &d), WEIR_OK);
    drive_output o = drive_cuts(d, physical, FRAMES, &random);
    assert_memory_equal(o.data, counts, sizeof counts);
    free(o.data);
    drive_close(d);
}

static void keeps_what_it_is(void **state)
{
    (void)state;
    weir_spec spec = weir_spec_make(WEIR_I16, 1000, COLUMNS, NULL, NULL);
    drive *d = NULL;
    assert_int_equal(drive_open("as_array", &spec, NULL, 0, &d), WEIR_OK);
    assert_int_equal(d->plan.out.dtype, WEIR_I16);
    drive_close(d);
}

static void refuses(void **state)
{
    (void)state;
    static const struct {
        const char *name, *value, *said;
    } wrong[] = {{"backend", "hots", "backend: no heap 'hots'"},
                 {"dtype", "complex65", "dtype: "},
                 {"scale", "0.5", "scale: 0.5: a number other than 0 is allowed, for u8"},
                 {"cache_limit", "10 ms", "cache_limit: "},
                 {"cache_limit", "-5", "cache_limit: "}};
    weir_spec spec = weir_spec_make(WEIR_F32, 1000, COLUMNS, NULL, NULL);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        weir_value settings[] = {weir_text(wrong[i].name, wrong[i].value)};
        drive *d = NULL;
        drive_refused(drive_open("as_array", &spec, settings, 1, &d), wrong[i].said);
    }
}

/* Complex values part by part, one that is missing in either part counted once; real ones with an imaginary part of
 * 0; never the other way. */
static void complex_values(void **state)
{
    (void)state;
    uint64_t random = drive_seed();
    static const weir_dtype dtypes[] = {WEIR_C64, WEIR_C128, WEIR_I32, WEIR_F32};
    static double data[2 * COLUMNS * FRAMES];
    for (size_t which = 0; which < 8; which++) {
        weir_dtype from = dtypes[which / 2], to = dtypes[which % 2];
        size_t parts = weir_dtype_parts(from), kind = from == WEIR_I32 ? 3 : 4;
        kind = weir_dtype_part(from) == WEIR_F64 ? 5 : kind; /* of types[] */
        weir_spec spec = weir_spec_make(from, 1000, COLUMNS, NULL, NULL);
        weir_value settings[] = {weir_text("dtype", weir_dtype_name(to))};
        drive *d = NULL;
        assert_int_equal(drive_open("as_array", &spec, settings, 1, &d), WEIR_OK);
        assert_int_equal(d->plan.out.dtype, to);
        for (size_t half = 0; half < parts; half++) {
            fill(kind, (char *)data + half * COLUMNS * FRAMES * weir_dtype_bytes(from) / 2,
                 &random);
        }
        drive_output o = drive_cuts(d, data, FRAMES, &random);
        uint64_t missing[COLUMNS] = {0};
        for (size_t i = 0; i < COLUMNS * FRAMES; i++) {
            bool present = true;
            for (size_t k = 0; k < 2; k++) {
                double value = k < parts ? get(weir_dtype_part(from), data, i * parts + k) : 0;
                double wanted = to == WEIR_C64 ? (double)(float)value : value;
                double found = drive_value(d, &o, 2 * i + k);
                assert_true(found == wanted || (isnan(found) && isnan(wanted)));
                present = present && isfinite(value);
            }
            missing[i % COLUMNS] += !present;
        }
        assert_memory_equal(d->block->missing, missing, sizeof missing);
        free(o.data);
        drive_close(d);
    }
    weir_spec spec = weir_spec_make(WEIR_C64, 1000, COLUMNS, NULL, NULL);
    weir_value settings[] = {weir_text("dtype", "f64")};
    drive *d = NULL;
    assert_int_equal(drive_open("as_array", &spec, settings, 1, &d), WEIR_E_CHAIN);
    assert_non_null(strstr(weir_err_detail(), "dtype: the input is complex (c64)"));
}

/* The hook by which the chain learns what to set. */
static void limits_are_asked_for(void **state)
{
    (void)state;
    static const struct {
        const char *backend, *limit;
        uint64_t expected; /* WEIR_NO_LIMIT: nothing is to be set */
    } asked[] = {{"nominal", "1 MB", 1000000},
                 {"nominal", "default", WEIRI_LIMIT_PRESET},
                 {"nominal", "none", WEIR_NO_LIMIT},
                 {"host", "1 MB", WEIR_NO_LIMIT},
                 {"numpy", "1 MB", WEIR_NO_LIMIT}};
    weir_spec spec = weir_spec_make(WEIR_F32, 1000, COLUMNS, NULL, NULL);
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
        weir_value settings[] = {weir_text("backend", asked[i].backend),
                                 weir_text("cache_limit", asked[i].limit)};
        drive *d = NULL;
        weir_heap *heap = NULL, *nominal = NULL;
        uint64_t limit = 0;
        assert_int_equal(drive_open("as_array", &spec, settings, 2, &d), WEIR_OK);
        assert_int_equal(d->ops->heap_limit(d->settings, &heap, &limit), WEIR_OK);
        assert_int_equal(weir_heap_find("nominal", &nominal), WEIR_OK);
        if (asked[i].expected == WEIR_NO_LIMIT) {
            assert_null(heap);
        } else {
            assert_ptr_equal(heap, nominal);
            assert_int_equal(limit, asked[i].expected);
        }
        drive_close(d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type),           cmocka_unit_test(keeps_what_it_is),
        cmocka_unit_test(complex_values),       cmocka_unit_test(refuses),
        cmocka_unit_test(limits_are_asked_for), cmocka_unit_test(scales),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT
 *
 * join_test.c: add, difference and merge against plain loops: shapes, references, missing samples, labels,
 * physical units, and what is refused.
 */
#include "unit/drive.h"

/* A spec [time x ...] of one of several layouts. */
static weir_spec layout(weir_dtype dtype, int kind, uint64_t channels)
{
    weir_spec spec = weir_spec_make(dtype, 1000.0, channels, NULL, NULL);
    weir_axis freq = {.name = "freq", .unit = "Hz", .size = 3, .step = 1};
    if (kind == 1) { /* channels last */
        spec.dims[2] = spec.dims[1];
        spec.dims[1] = freq;
        spec.dim_count = 3;
    } else if (kind == 2) { /* and first */
        spec.dims[2] = freq;
        spec.dim_count = 3;
    } else if (kind == 3) { /* in between */
        spec.dims[3] = (weir_axis){.name = "metric", .unit = "", .size = 2, .step = 1};
        spec.dims[2] = spec.dims[1];
        spec.dims[1] = freq;
        spec.dim_count = 4;
    } else if (kind == 4) { /* none */
        spec.dims[1] = freq;
    }
    return spec;
}

/* The same without the channels. */
static weir_spec without_channels(weir_spec spec)
{
    int dim = weir_spec_dim(&spec, "ch");
    for (int i = dim; i + 1 < (int)spec.dim_count; i++) {
        spec.dims[i] = spec.dims[i + 1];
    }
    spec.dim_count--;
    return spec;
}

/* Which value of an input belongs to column c of the first's frame. */
static size_t column_of(const weir_spec *first, const weir_spec *in, size_t c)
{
    weiri_split split = weiri_spec_channels(first);
    if (weir_spec_columns(in) == weir_spec_columns(first)) {
        return c;
    }
    return weir_spec_columns(in) == 1
               ? 0
               : c / (size_t)(split.size * split.inner) * (size_t)split.inner +
                     c % (size_t)split.inner;
}

static void
check_sum(const char *name, const weir_spec *ins, size_t inputs, double share, uint64_t *random)
{
    enum { FRAMES = 60 };
    drive *d = NULL;
    const void *data[WEIRI_INPUTS_MAX];
    bool f32 = weir_dtype_part(ins[0].dtype) == WEIR_F32, each = true;
    size_t parts = weir_dtype_parts(ins[0].dtype);
    uint64_t missing = 0, counted = 0;
    assert_int_equal(drive_open_all(name, ins, inputs, NULL, 0, &d), WEIR_OK);
    for (size_t i = 0; i < inputs; i++) {
        data[i] = drive_signal(&ins[i], FRAMES, 0.5, share, random);
        each = each && weir_spec_columns(&ins[i]) == weir_spec_columns(&ins[0]);
    }
    assert_int_equal(d->plan.columnwise, each);
    assert_true(weiri_due_is_same(&d->plan.due));
    drive_output o = drive_cuts_all(d, data, FRAMES, random);
    assert_int_equal(o.frames, FRAMES);
    size_t columns = (size_t)weir_spec_columns(&ins[0]);
    for (size_t j = 0; j < FRAMES * columns; j++) {
        double sums[2] = {0}, sign = strcmp(name, "add") == 0 ? 1 : -1;
        bool present = true; /* each part of each input */
        for (size_t i = 0; i < inputs; i++) {
            size_t at = j / columns * (size_t)weir_spec_columns(&ins[i]) +
                        column_of(&ins[0], &ins[i], j % columns);
            for (size_t k = 0; k < parts; k++) {
                double value = drive_input(&ins[i], data[i], at * parts + k);
                present = present && isfinite(value);
                sums[k] += i == 0 ? value : sign * value;
                sums[k] = f32 ? (double)(float)sums[k] : sums[k];
            }
        }
        missing += present ? 0 : 1;
        for (size_t k = 0; k < parts; k++) {
            double value = drive_value(d, &o, j * parts + k);
            assert_true(present ? value == sums[k] : isnan(value));
        }
    }
    for (size_t c = 0; c < d->block->channels; c++) {
        counted += d->block->missing[c];
    }
    assert_int_equal(counted, missing);
    for (size_t i = 0; i < inputs; i++) {
        free((void *)(uintptr_t)data[i]);
    }
    free(o.data);
    drive_close(d);
}

/* S1 S2 S5: equal shapes; a reference with one channel, without any, with one value. */
static void sums_equal_plain_loops(void **state)
{
    (void)state;
    static const double shares[] = {0, 0.01, 0.5};
    static const weir_dtype types[] = {WEIR_F32, WEIR_F64, WEIR_C64, WEIR_C128};
    uint64_t random = drive_seed();
    for (int kind = 0; kind < 5; kind++) {
        for (size_t dtype = 0; dtype < sizeof types / sizeof types[0]; dtype++) {
            for (size_t s = 0; s < 3; s++) {
                weir_dtype type = types[dtype];
                weir_spec all = layout(type, kind, 37), one = layout(type, kind, 1);
                weir_spec single = weir_spec_make(type, 1000.0, 1, NULL, NULL);
                weir_spec lone = without_channels(single);
                weir_spec none = kind == 4 ? all : without_channels(all);
                weir_spec pairs[][2] = {
                    {all, all}, {all, one}, {all, none}, {all, single}, {all, lone}};
                for (size_t i = 0; i < 5; i++) {
                    check_sum("add", pairs[i], 2, shares[s], &random);
                    check_sum("difference", pairs[i], 2, shares[s], &random);
                }
                weir_spec several[] = {all, all, none, all, lone};
                check_sum("add", several, 5, shares[s], &random);
                check_sum("add", several, 2, shares[s], &random);
            }
        }
    }
}

/* Finite values whose sum is not finite are not missing. */
static void overflow_is_not_missing(void **state)
{
    (void)state;
    weir_spec spec = weir_spec_make(WEIR_F32, 1000.0, 2, NULL, NULL), ins[] = {spec, spec};
    drive *d = NULL;
    assert_int_equal(drive_open_all("add", ins, 2, NULL, 0, &d), WEIR_OK);
    float a[] = {3e38f, 1, 3e38f, INFINITY}, b[] = {3e38f, 1, -3e38f, -INFINITY};
    const void *data[] = {a, b};
    drive_output o = drive_run_all(d, data, 2, 0, NULL);
    assert_true(isinf(drive_value(d, &o, 0)) && drive_value(d, &o, 1) == 2);
    assert_true(drive_value(d, &o, 2) == 0 && isnan(drive_value(d, &o, 3)));
    assert_int_equal(d->block->missing[0], 0);
    assert_int_equal(d->block->missing[1], 1);
    free(o.data);
    drive_close(d);
}

static void
check_merge(const weir_spec *ins, size_t inputs, const char *axis, double share, uint64_t *random)
{
    enum { FRAMES = 60 };
    drive *d = NULL;
    const unsigned char *data[WEIRI_INPUTS_MAX];
    weir_value given = weir_text("axis", axis);
    assert_int_equal(drive_open_all("merge", ins, inputs, &given, 1, &d), WEIR_OK);
    assert_int_equal(d->plan.columnwise, strcmp(axis, "ch") != 0);
    for (size_t i = 0; i < inputs; i++) {
        data[i] = drive_signal(&ins[i], FRAMES, 0.5, share, random);
    }
    drive_output o = drive_cuts_all(d, (const void *const *)data, FRAMES, random);
    int dim = weir_spec_dim(&ins[0], axis), out_dim = weir_spec_dim(&d->plan.out, axis);
    assert_true(out_dim > 0 && (dim < 0 || dim == out_dim));
    weiri_split out = weiri_spec_split(&d->plan.out, out_dim);
    size_t bytes = weir_dtype_bytes(ins[0].dtype), begin = 0;
    for (size_t i = 0; i < inputs; i++) {
        weiri_split in = dim < 0 ? (weiri_split){weir_spec_columns(&ins[i]), 1, 1}
                                 : weiri_spec_split(&ins[i], dim);
        assert_int_equal(in.outer * in.inner, out.outer * out.inner);
        for (size_t j = 0; j < FRAMES * (size_t)(in.outer * in.size * in.inner); j++) {
            size_t k = j % in.inner, e = j / in.inner % in.size, g = j / in.inner / in.size;
            size_t at = (g * out.size + begin + e) * out.inner + k;
            assert_memory_equal(o.data + at * bytes, data[i] + j * bytes, bytes);
        }
        begin += (size_t)in.size;
    }
    assert_int_equal(begin, out.size);
    assert_int_equal(o.frames, FRAMES);
    for (size_t i = 0; i < inputs; i++) {
        free((void *)(uintptr_t)data[i]);
    }
    free(o.data);
    drive_close(d);
}

/* S1 S5: values stay as they are, wherever the joined dimension is. */
static void merged_values_stay_as_they_are(void **state)
{
    (void)state;
    uint64_t random = drive_seed();
    for (int kind = 0; kind < 4; kind++) {
        for (int dtype = 0; dtype < 2; dtype++) {
            weir_dtype type = dtype == 0 ? WEIR_F32 : WEIR_F64;
            weir_spec ins[] = {layout(type, kind, 5), layout(type, kind, 1),
                               layout(type, kind, 33)};
            check_merge(ins, 2, "ch", 0.05, &random);
            check_merge(ins, 3, "ch", 0, &random);
            ins[1] = ins[2] = ins[0];
            if (kind < 3) {
                check_merge(ins, 3, "feature", 0.05, &random);
            }
            int freq = weir_spec_dim(&ins[0], "freq");
            if (freq > 0) {
                ins[1].dims[freq].size = 7;
                check_merge(ins, 3, "freq", 0.05, &random);
            }
        }
    }
}

/* Missing samples of the first input are counted, and of all where the channels are the same. */
static void missing_samples_are_counted(void **state)
{
    (void)state;
    double a[] = {1, NAN, 3, 4}, b[] = {NAN, NAN, 3, INFINITY};
    const void *data[] = {a, b};
    weir_spec spec = weir_spec_make(WEIR_F64, 1000.0, 2, NULL, NULL), ins[] = {spec, spec};
    for (int i = 0; i < 2; i++) {
        weir_value given = weir_text("axis", i == 0 ? "ch" : "feature");
        drive *d = NULL;
        assert_int_equal(drive_open_all("merge", ins, 2, &given, 1, &d), WEIR_OK);
        drive_output o = drive_run_all(d, data, 2, 0, NULL);
        assert_int_equal(d->block->missing[0], i == 0 ? 0 : 1);
        assert_int_equal(d->block->missing[1], i == 0 ? 1 : 3);
        free(o.data);
        drive_close(d);
    }
}

static drive *merge_of(const weir_spec *ins, size_t inputs, const weir_value *given, size_t count)
{
    drive *d = NULL;
    assert_int_equal(drive_open_all("merge", ins, inputs, given, count, &d), WEIR_OK);
    return d;
}

/* S2: labels as ezmsg-sigproc's Merge makes them; more inputs than its two go on with _c. */
static void labels_follow_the_reference(void **state)
{
    (void)state;
    static const char *const ab[] = {"a", "b"}, *const bc[] = {"b", "c"}, *const cd[] = {"c", "d"};
    static const char *const uV[] = {"uV", "mV"};
    weir_spec ins[] = {weir_spec_make(WEIR_F32, 100, 2, ab, uV),
                       weir_spec_make(WEIR_F32, 100, 2, bc, NULL),
                       weir_spec_make(WEIR_F32, 100, 2, NULL, uV)};
    drive *d = merge_of(ins, 3, NULL, 0);
    static const char *const expected[] = {"a_a", "b_a", "b_b", "c_b", "0_c", "1_c"};
    for (size_t i = 0; i < 6; i++) {
        assert_string_equal(d->plan.out.dims[1].labels[i], expected[i]);
        assert_string_equal(d->plan.out.units[i], i == 2 || i == 3 ? "" : uV[i % 2]);
    }
    drive_close(d);
    weir_value given[] = {weir_text("label_a", "x"), weir_text("label_b", "y"),
                          weir_text("new_key", "both")};
    d = merge_of(ins, 2, given, 3);
    assert_string_equal(d->plan.out.dims[1].labels[0], "ax");
    assert_string_equal(d->plan.out.dims[1].labels[3], "cy");
    assert_string_equal(d->plan.out.name, "both");
    drive_close(d);
    weir_value keep = weir_text("relabel_axis", "false");
    ins[1].dims[1].labels = cd;
    d = merge_of(ins, 2, &keep, 1);
    assert_string_equal(d->plan.out.dims[1].labels[3], "d");
    drive_close(d);
    ins[0].dims[1].labels = ins[1].dims[1].labels = NULL;
    d = merge_of(ins, 2, &keep, 1);
    assert_null(d->plan.out.dims[1].labels);
    assert_int_equal(d->plan.out.dims[1].size, 4);
    drive_close(d);
    given[2] = weir_text("axis", "feature");
    d = merge_of(ins, 2, given, 3);
    assert_string_equal(d->plan.out.dims[2].name, "feature");
    assert_string_equal(d->plan.out.dims[2].labels[0], "x");
    assert_string_equal(d->plan.out.dims[2].labels[1], "y");
    drive_close(d);
    /* Coordinates go with their entries. */
    weir_spec both[] = {layout(WEIR_F32, 1, 4), layout(WEIR_F32, 1, 4)};
    both[1].dims[1].start = 100;
    weir_value freq = weir_text("axis", "freq");
    d = merge_of(both, 2, &freq, 1);
    for (size_t i = 0; i < 6; i++) {
        assert_true(d->plan.out.dims[1].values[i] == (i < 3 ? (double)i : 97.0 + (double)i));
    }
    drive_close(d);
    /* Channels that differ where another dimension is joined: the first's, with a notice. */
    both[0].dims[2].labels = (const char *const[]){"a", "b", "c", "d"};
    both[1].dims[2].labels = (const char *const[]){"a", "b", "c", "e"};
    d = merge_of(both, 2, &freq, 1);
    assert_int_equal(d->notices.count, 1);
    assert_string_equal(d->plan.out.dims[2].labels[3], "d");
    drive_close(d);
}

static void refused(const char *name,
                    const weir_spec *ins,
                    size_t inputs,
                    const weir_value *given,
                    size_t count,
                    const char *start,
                    const char *wanted)
{
    drive *d = NULL;
    assert_int_equal(drive_open_all(name, ins, inputs, given, count, &d), WEIR_E_CHAIN);
    const char *detail = weir_err_detail();
    if (strncmp(detail, start, strlen(start)) != 0 || strstr(detail, wanted) == NULL) {
        print_error("'%s' has no '%s' and '%s'\n", detail, start, wanted);
        fail();
    }
}

static void mistakes_are_named(void **state)
{
    (void)state;
    static const char *const ab[] = {"a", "b"}, *const uV[] = {"uV", "uV"};
    static const char *const mV[] = {"uV", "mV"};
    weir_spec two = weir_spec_make(WEIR_F32, 100, 2, ab, uV);
    weir_spec three = weir_spec_make(WEIR_F32, 100, 3, NULL, NULL);
    weir_spec wide = weir_spec_make(WEIR_F64, 100, 2, NULL, NULL);
    weir_spec other = weir_spec_make(WEIR_F32, 100, 2, ab, mV);
    weir_spec freq = layout(WEIR_F32, 1, 2);
    weir_spec ins[] = {two, three, two};
    weir_value keep = weir_text("relabel_axis", "false"), axis = weir_text("axis", "time");
    weir_value same[] = {weir_text("label_b", "_a"), weir_text("align_axis", "ch")};
    refused("add", ins, 1, NULL, 0, "inputs:", "2 to 8 are needed, 1 given");
    refused("difference", ins, 3, NULL, 0, "inputs:", "2 are needed, 3 given");
    refused("add", ins, 2, NULL, 0, "inputs:", "[time x ch 2], number 2 is [time x ch 3]");
    refused("merge", (weir_spec[]){two, freq}, 2, NULL, 0, "inputs:", "[time x freq 3 x ch 2]");
    refused("merge", (weir_spec[]){two, wide}, 2, NULL, 0, "inputs:", "f64");
    refused("add", (weir_spec[]){two, other}, 2, NULL, 0, "inputs:", "'mV'");
    refused("merge", (weir_spec[]){two, two}, 2, &keep, 1, "relabel_axis:", "'a'");
    refused("merge", (weir_spec[]){two, two}, 2, &axis, 1, "axis:", "the stream's dimension");
    refused("merge", (weir_spec[]){two, two}, 2, same, 1, "label_b:", "'a_a'");
    refused("merge", (weir_spec[]){two, two}, 2, same + 1, 1, "align_axis:", "time");
    weir_value identical[] = {weir_text("assert_identical_shared_axes", "true"),
                              weir_text("axis", "feature")};
    other.units = uV;
    other.dims[1].labels = uV;
    refused("merge", (weir_spec[]){two, other}, 2, identical, 2,
            "assert_identical_shared_axes:", "'ch'");
    axis = weir_text("axis", "feature");
    weir_spec four = layout(WEIR_F32, 3, 2);
    refused("merge", (weir_spec[]){four, four}, 2, &axis, 1, "axis:", "4");
}

/* A sum keeps what is known of its channels, and says where their names differ. */
static void sums_keep_labels_and_units(void **state)
{
    (void)state;
    static const char *const ab[] = {"a", "b"}, *const ac[] = {"a", "c"};
    static const char *const uV[] = {"uV", ""};
    weir_spec ins[] = {weir_spec_make(WEIR_F32, 100, 2, ab, NULL),
                       weir_spec_make(WEIR_F32, 100, 2, ac, uV)};
    drive *d = NULL;
    assert_int_equal(drive_open_all("difference", ins, 2, NULL, 0, &d), WEIR_OK);
    assert_string_equal(d->plan.out.dims[1].labels[1], "b");
    assert_string_equal(d->plan.out.units[0], "uV");
    assert_int_equal(d->notices.count, 1);
    drive_close(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_equal_plain_loops),
        cmocka_unit_test(overflow_is_not_missing),
        cmocka_unit_test(merged_values_stay_as_they_are),
        cmocka_unit_test(missing_samples_are_counted),
        cmocka_unit_test(labels_follow_the_reference),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(sums_keep_labels_and_units),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT
 *
 * selection_test.c: what selections name, and the slicer that takes them.
 */
#include "unit/drive.h"
#include "unit/selection.h"

static const char *const labels[10] = {"Fp1", "Fp2",     "C3",     "C4", "O1",
                                       "O2",  "x-aip-1", "x-m1-1", "7",  "a b"};

/* As numbers with a blank before each; "!" and the detail where it fails. */
static const char *resolve(const weir_axis *axis, const weir_value *value, bool keep_order)
{
    static char text[400];
    uint64_t list[64];
    bool chosen[64];
    weiri_selection s = {.axis = axis, .keep_order = keep_order, .list = list, .chosen = chosen};
    assert_true(axis->size <= 64);
    if (weiri_selection_resolve(&s, value) != WEIR_OK) {
        snprintf(text, sizeof text, "!%s", weir_err_detail());
        return text;
    }
    text[0] = '\0';
    for (uint64_t i = 0; i < s.count; i++) {
        snprintf(text + strlen(text), 24, " %llu", (unsigned long long)list[i]);
    }
    if (s.single) {
        strcat(text, " single");
    }
    return text;
}

static const weir_axis named = {.name = "ch", .size = 10, .labels = labels};
static const weir_axis bare = {.name = "ch", .size = 10, .step = 1};

/* Slices are Python's. */
static void slices(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"1:5:2", " 1 3"},
        {"", " 0 1 2 3 4 5 6 7 8 9"},
        {":", " 0 1 2 3 4 5 6 7 8 9"},
        {"None", " 0 1 2 3 4 5 6 7 8 9"},
        {"::-1", " 9 8 7 6 5 4 3 2 1 0"},
        {"::4", " 0 4 8"},
        {"-3:", " 7 8 9"},
        {":-8", " 0 1"},
        {"8:100", " 8 9"},
        {"-100:2", " 0 1"},
        {"8:2:-3", " 8 5"},
        {"-1::-4", " 9 5 1"},
        {"3", " 3 single"},
        {"-1", " 9 single"},
        {" 4 ", " 4 single"},
        {"3,", "!selection"},
        {"1:3, 5", " 1 2 5"},
        {"5, 1:3", " 1 2 5"},
        {"0:3,1", " 0 1 2"},
        {"3,1,2", " 1 2 3"},
        {"5:2", "!selection"},
        {"10", "!selection"},
        {"-11", "!selection"},
        {"1:2:3:4", "!selection"},
        {"::0", "!selection"},
        {"1.5", "!selection"},
        {"Fp1", "!selection"},
        {"99999999999999999999", "!selection"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        weir_value value = weir_text("selection", cases[i][0]);
        const char *found = resolve(&bare, &value, false);
        bool same = cases[i][1][0] == '!' ? strncmp(found, cases[i][1], strlen(cases[i][1])) == 0
                                          : strcmp(found, cases[i][1]) == 0;
        if (!same) {
            print_error("'%s': '%s', '%s' expected\n", cases[i][0], found, cases[i][1]);
            fail();
        }
    }
}

/* A label goes before a number, a number before a pattern. */
static void labels_and_patterns(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        {"Fp1", " 0", " 0"},
        {"O2, Fp1", " 0 5", " 5 0"},
        {"C[34]", " 2 3", " 2 3"},
        {"7", " 8", " 8"},
        {"8", " 8 single", " 8 single"},
        {".*-m1-.*,.*-aip-.*", " 6 7", " 7 6"},
        {"a b", " 9", " 9"},
        {"[CO][1-3]", " 2 4 5", " 2 4 5"},
        {"O1,0:2,Fp2", " 0 1 4", " 4 0 1"},
        {"fp1", "!selection", "!selection"},
        {"Fp", "!selection", "!selection"},
        {"Fp1|C3", " 0 2", " 0 2"},
        {"O1, Oz", "!selection", "!selection"},
        {"(Fp1)", "!", "!"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        weir_value value = weir_text("selection", cases[i][0]);
        for (int keep = 0; keep < 2; keep++) {
            const char *found = resolve(&named, &value, keep == 1), *expected = cases[i][1 + keep];
            bool same = expected[0] == '!' ? found[0] == '!' : strcmp(found, expected) == 0;
            if (!same) {
                print_error("'%s': '%s', '%s' expected\n", cases[i][0], found, expected);
                fail();
            }
        }
    }
    weir_value value = weir_text("selection", "Fp9");
    const char *detail = resolve(&named, &value, false);
    assert_non_null(strstr(detail, "Fp1 Fp2 C3")); /* what is there */
    assert_non_null(strstr(detail, "nearest"));
}

static void lists(void **state)
{
    (void)state;
    weir_value items[] = {weir_number(NULL, 3), weir_number(NULL, 1), weir_text(NULL, "O1"),
                          weir_number(NULL, -1)};
    weir_value value = {.key = "selection", .type = WEIR_VALUE_LIST, .items = items, .count = 4};
    assert_string_equal(resolve(&named, &value, false), " 1 3 4 9");
    assert_string_equal(resolve(&named, &value, true), " 3 1 4 9");
    value.count = 1;
    assert_string_equal(resolve(&named, &value, false), " 3"); /* the dimension stays */
    value.count = 0;
    assert_int_equal(resolve(&named, &value, false)[0], '!');
    items[0] = weir_number(NULL, 1.5);
    value.count = 1;
    assert_int_equal(resolve(&named, &value, false)[0], '!');
    value = weir_number("selection", 3);
    assert_string_equal(resolve(&named, &value, false), " 3 single");
}

static void patterns(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *text;
        bool fits;
    } cases[] = {
        {"", "", true},
        {"a", "", false},
        {"a*", "", true},
        {"a+", "", false},
        {"a+b?", "aaa", true},
        {"a+b?", "aab", true},
        {"a+b?", "aabb", false},
        {".*", "anything", true},
        {"[a-c]+", "abcab", true},
        {"[^a-c]+", "xyz", true},
        {"[^a-c]+", "xaz", false},
        {"[]]", "]", true},
        {"[-a]", "-", true},
        {"a\\.b", "a.b", true},
        {"a\\.b", "axb", false},
        {"a|bc|", "", true},
        {"a|bc", "bc", true},
        {"a|bc", "ac", false},
        {"[a|b]", "|", true},
        {"[abc", "a", false},
        {"*a", "a", false},
        {"a**", "a", false},
        {"\\", "\\", false},
        {"x*x*x*x*x*y", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (weiri_pattern_fits(cases[i].pattern, strlen(cases[i].pattern), cases[i].text) !=
            cases[i].fits) {
            print_error("'%s' on '%s'\n", cases[i].pattern, cases[i].text);
            fail();
        }
    }
    char longest[200]; /* more atoms than there are bits */
    memset(longest, 'a', sizeof longest);
    longest[199] = '\0';
    assert_false(weiri_pattern_fits(longest, 199, longest));
}

/* ---- the unit ------------------------------------------------------------------------------- */

static void check_values(const weir_spec *spec, const char *text, uint64_t *random)
{
    uint64_t list[64];
    bool chosen[64];
    int dim = weir_spec_dim(spec, "ch");
    weir_value given = weir_text("selection", text);
    weiri_selection s = {.axis = &spec->dims[dim], .list = list, .chosen = chosen};
    assert_int_equal(weiri_selection_resolve(&s, &given), WEIR_OK);
    drive *d = NULL;
    assert_int_equal(drive_open("slicer", spec, &given, 1, &d), WEIR_OK);
    weiri_split split = weiri_spec_split(spec, dim);
    size_t bytes = weir_dtype_bytes(spec->dtype), row = (size_t)weir_spec_frame_bytes(spec);
    unsigned char *data = malloc(50 * row);
    assert_non_null(data);
    for (size_t i = 0; i < 50 * row; i++) {
        data[i] = (unsigned char)drive_random(random, 256);
    }
    drive_output o = drive_cuts(d, data, 50, random);
    assert_int_equal(o.frames, 50);
    assert_int_equal(d->plan.out.dtype, spec->dtype);
    const unsigned char *at = o.data;
    for (size_t f = 0; f < 50 * split.outer; f++) {
        for (size_t i = 0; i < s.count; i++) {
            size_t from = (f * split.size + list[i]) * split.inner;
            assert_memory_equal(at, data + from * bytes, split.inner * bytes);
            at += split.inner * bytes;
        }
    }
    free(o.data);
    free(data);
    drive_close(d);
}

/* S1, any dtype, channels last and between other dimensions. */
static void slicer_takes_what_is_named(void **state)
{
    (void)state;
    static const weir_dtype dtypes[] = {WEIR_U8, WEIR_I16, WEIR_I32, WEIR_F32, WEIR_F64};
    static const char *const texts[] = {"1:5:2", "2:6", "C[34],O1", "::-1", "4", "Fp1, 9"};
    uint64_t random = drive_seed();
    for (size_t i = 0; i < 5; i++) {
        for (size_t j = 0; j < 6; j++) {
            weir_spec spec = weir_spec_make(dtypes[i], 100.0, 10, labels, NULL);
            check_values(&spec, texts[j], &random);
            spec.dims[2] = (weir_axis){.name = "metric", .unit = "", .size = 3, .step = 1};
            spec.dim_count = 3;
            check_values(&spec, texts[j], &random);
            spec.dims[3] = spec.dims[1];
            spec.dims[1] = (weir_axis){.name = "time", .unit = "s", .size = 4, .step = 1};
            spec.dim_count = 4;
            check_values(&spec, texts[j], &random);
        }
    }
}

static drive *open_slicer(const weir_spec *spec, const char *selection, const char *axis)
{
    weir_value given[] = {weir_text("selection", selection), weir_text("axis", axis)};
    drive *d = NULL;
    assert_int_equal(drive_open("slicer", spec, given, axis == NULL ? 1 : 2, &d), WEIR_OK);
    return d;
}

static void labels_units_and_values_follow(void **state)
{
    (void)state;
    const char *units[10] = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
    static const double values[4] = {1, 2, 4, 8};
    weir_spec spec = weir_spec_make(WEIR_F32, 100.0, 10, labels, units);
    spec.dims[2] = (weir_axis){.name = "freq", .unit = "Hz", .size = 4, .values = values};
    spec.dim_count = 3;
    drive *d = open_slicer(&spec, "C4, O2", NULL);
    assert_int_equal(d->plan.out.dims[1].size, 2);
    assert_string_equal(d->plan.out.dims[1].labels[1], "O2");
    assert_string_equal(d->plan.out.units[0], "3");
    assert_string_equal(d->plan.out.units[1], "5");
    drive_close(d);
    d = open_slicer(&spec, "1,3", "freq");
    assert_true(d->plan.out.dims[2].values[0] == 2 && d->plan.out.dims[2].values[1] == 8);
    assert_ptr_equal(d->plan.out.units, spec.units);
    drive_close(d);
    d = open_slicer(&spec, "5", NULL); /* one bare number: the dimension goes */
    assert_int_equal(d->plan.out.dim_count, 2);
    assert_string_equal(d->plan.out.dims[1].name, "freq");
    assert_string_equal(d->plan.out.units[0], "5");
    drive_close(d);
    spec.dims[2] = (weir_axis){.name = "freq", .unit = "Hz", .size = 9, .start = 10, .step = 2};
    d = open_slicer(&spec, "1:8:3", "freq"); /* a regular axis stays one where it can */
    assert_true(d->plan.out.dims[2].values == NULL);
    assert_true(d->plan.out.dims[2].start == 12 && d->plan.out.dims[2].step == 6);
    drive_close(d);
    d = open_slicer(&spec, "0,1,5", "freq");
    assert_true(d->plan.out.dims[2].values[2] == 20);
    drive_close(d);
    weir_spec plain = weir_spec_make(WEIR_F32, 100.0, 10, NULL, NULL);
    plain.dims[1].name = "freq"; /* no channels: the last dimension */
    d = open_slicer(&plain, "2:4", NULL);
    assert_int_equal(d->plan.out.dims[1].size, 2);
    drive_close(d);
}

static void slicer_mistakes_are_named(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        {"axis", "time", "downsample"}, {"axis", "freq", "ch"},
        {"field", "bank", "field"},     {"selection", "Fp3", "Fp1"},
        {"selection", "12", "0 to 9"},  {"order", "up", "selection"}};
    weir_spec spec = weir_spec_make(WEIR_F32, 100.0, 10, labels, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        weir_value given = weir_text(cases[i][0], cases[i][1]);
        drive *d = NULL;
        assert_int_equal(drive_open("slicer", &spec, &given, 1, &d), WEIR_E_CHAIN);
        assert_true(strncmp(weir_err_detail(), cases[i][0], strlen(cases[i][0])) == 0);
        assert_non_null(strstr(weir_err_detail(), cases[i][2]));
    }
    weir_value given[] = {weir_text("selection", "Fp1, Fp3"), weir_text("on_empty", "warn")};
    drive *d = NULL;
    assert_int_equal(drive_open("slicer", &spec, given, 2, &d), WEIR_OK);
    assert_int_equal(d->plan.out.dims[1].size, 1);
    assert_int_equal(d->notices.count, 1);
    drive_close(d);
    given[0] = weir_text("selection", "Fp3");
    assert_int_equal(drive_open("slicer", &spec, given, 2, &d), WEIR_E_CHAIN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slices),
        cmocka_unit_test(labels_and_patterns),
        cmocka_unit_test(lists),
        cmocka_unit_test(patterns),
        cmocka_unit_test(slicer_takes_what_is_named),
        cmocka_unit_test(labels_units_and_values_follow),
        cmocka_unit_test(slicer_mistakes_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

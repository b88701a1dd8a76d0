/* SPDX-License-Identifier: MIT
 *
 * selection_test.c: what selections name. The unit that uses them: slicer_test.c.
 */
#include "dsp/selection.h"

#include <string.h>

#include "testing.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slices),
        cmocka_unit_test(labels_and_patterns),
        cmocka_unit_test(lists),
        cmocka_unit_test(patterns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

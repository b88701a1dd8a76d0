/* SPDX-License-Identifier: MIT
 *
 * Settings by their table: presets, types, ranges, names, and mistakes.
 */
#include <math.h>
#include <string.h>

#include "base/base.h"
#include "testing.h"

typedef struct settings {
    double cutoff, gain, none_number;
    int64_t order, none_integer;
    const char *name, *none_text;
    int kind, none_choice;
    weir_list operations, none_choices, weights, none_list;
    bool flag;
    weir_matrix matrix;
    const weir_value *any;
} settings;

static const weir_choice operations[] = {
    {"mean", "average"}, {"max", NULL}, {"min", NULL}, {NULL, NULL}};
static const weir_choice kinds[] = {{"abs", "magnitude"}, {"rel_power", NULL}, {NULL, NULL}};

#define FIELD(field) offsetof(settings, field)
static const weir_setting table[] = {
    {.name = "cutoff",
     .type = WEIR_SETTING_QUANTITY,
     .kind = WEIR_FREQUENCY,
     .preset = "300 Hz",
     .min = 0,
     .max = 15000,
     .offset = FIELD(cutoff),
     .help = "upper edge"},
    {.name = "gain", .type = WEIR_SETTING_NUMBER, .preset = "1.5", .offset = FIELD(gain)},
    {.name = "none_number",
     .type = WEIR_SETTING_NUMBER,
     .preset = "null",
     .offset = FIELD(none_number)},
    {.name = "order",
     .type = WEIR_SETTING_INTEGER,
     .min = 1,
     .max = 12,
     .offset = FIELD(order),
     .help = "of the filter"},
    {.name = "none_integer",
     .type = WEIR_SETTING_INTEGER,
     .preset = "null",
     .offset = FIELD(none_integer)},
    {.name = "name", .type = WEIR_SETTING_STRING, .preset = "time", .offset = FIELD(name)},
    {.name = "none_text",
     .type = WEIR_SETTING_STRING,
     .preset = "null",
     .offset = FIELD(none_text)},
    {.name = "kind",
     .type = WEIR_SETTING_ENUM,
     .preset = "ABS",
     .choices = kinds,
     .offset = FIELD(kind)},
    {.name = "none_choice",
     .type = WEIR_SETTING_ENUM,
     .preset = "null",
     .choices = kinds,
     .offset = FIELD(none_choice)},
    {.name = "operation",
     .type = WEIR_SETTING_ENUM_LIST,
     .preset = "mean",
     .choices = operations,
     .offset = FIELD(operations)},
    {.name = "none_choices",
     .type = WEIR_SETTING_ENUM_LIST,
     .preset = "null",
     .choices = operations,
     .offset = FIELD(none_choices)},
    {.name = "weights",
     .type = WEIR_SETTING_LIST,
     .preset = "[0.5, 0.25]",
     .offset = FIELD(weights)},
    {.name = "none_list", .type = WEIR_SETTING_LIST, .preset = "null", .offset = FIELD(none_list)},
    {.name = "flag", .type = WEIR_SETTING_BOOL, .preset = "true", .offset = FIELD(flag)},
    {.name = "matrix", .type = WEIR_SETTING_MATRIX, .preset = "null", .offset = FIELD(matrix)},
    {.name = "any", .type = WEIR_SETTING_ANY, .preset = "null", .offset = FIELD(any)},
    {.name = "use_numba", .type = WEIR_SETTING_IGNORED},
    {.name = NULL},
};
#define ROWS (sizeof table / sizeof table[0] - 1)

/* Memory that is let go at once, and that can run out. */
static void *blocks[4096];
static size_t block_count;
static size_t blocks_allowed = SIZE_MAX;

static void *get(void *user, size_t bytes)
{
    (void)user;
    if (block_count >= blocks_allowed || block_count >= sizeof blocks / sizeof blocks[0]) {
        return NULL;
    }
    return blocks[block_count++] = calloc(1, bytes);
}

static int release(void **state)
{
    (void)state;
    while (block_count > 0) {
        free(blocks[--block_count]);
    }
    blocks_allowed = SIZE_MAX;
    return 0;
}

static const weiri_memory memory = {get, NULL};
static settings s;
static weir_value marks[ROWS];
static const weir_value *wrong;
static weiri_notices notices;

static weir_err read_values(const weir_value *values, size_t count)
{
    static weir_value kept[16]; /* wrong points into it after the call */
    memcpy(kept, values, count * sizeof *values);
    wrong = NULL;
    notices.count = 0;
    return weiri_settings_read(table, NULL, kept, count, memory, &notices, &s, marks, &wrong);
}

#define READ(...)                                                                                  \
    read_values((const weir_value[]){__VA_ARGS__},                                                 \
                sizeof((const weir_value[]){__VA_ARGS__}) / sizeof(weir_value))
#define ORDER weir_number("order", 4)

static void presets(void **state)
{
    (void)state;
    memset(&s, 0xff, sizeof s);
    assert_ok(READ(ORDER));
    assert_true(s.cutoff == 300 && s.gain == 1.5 && s.order == 4 && s.flag);
    assert_true(isnan(s.none_number) && s.none_integer == INT64_MIN);
    assert_string_equal(s.name, "time");
    assert_null(s.none_text);
    assert_true(s.kind == 0 && s.none_choice == -1);
    assert_true(s.operations.count == 1 && s.operations.of.choices[0] == 0);
    assert_true(s.none_choices.count == 0 && s.none_list.count == 0);
    assert_true(s.weights.count == 2 && s.weights.of.numbers[0] == 0.5);
    assert_true(s.weights.of.numbers[1] == 0.25);
    assert_true(s.matrix.rows == 0 && s.matrix.numbers == NULL);
    assert_null(s.any);
    assert_true(notices.count == 0);
}

static void given_values(void **state)
{
    (void)state;
    const weir_value names[] = {weir_text(NULL, "AggregationFunction.MAX"),
                                weir_text(NULL, "Average")};
    const weir_value numbers[] = {weir_number(NULL, 1), weir_text(NULL, "2.5"),
                                  weir_number(NULL, 3)};
    const weir_value rows[] = {weir_list_of(NULL, numbers, 3), weir_list_of(NULL, numbers, 3)};
    weir_value null = weir_null("gain"), flag = weir_bool("flag", false);
    weir_value marked = weir_text("cutoff", "6 kHz");
    marked.line = 7;
    marked.column = 3;
    assert_ok(READ(marked, weir_text("order", "4"), null, flag, weir_text("name", "freq"),
                   weir_text("kind", "PowerKind.REL_POWER"), weir_list_of("operation", names, 2),
                   weir_number("weights", 2), weir_list_of("matrix", rows, 2),
                   weir_list_of("any", rows, 2), weir_text("use_numba", "x")));
    assert_true(s.cutoff == 6000 && s.order == 4 && s.gain == 1.5 && !s.flag && s.kind == 1);
    assert_true(s.operations.count == 2 && s.operations.of.choices[0] == 1);
    assert_true(s.operations.of.choices[1] == 0);
    assert_true(s.weights.count == 1 && s.weights.of.numbers[0] == 2);
    assert_true(s.matrix.rows == 2 && s.matrix.columns == 3 && s.matrix.numbers[4] == 2.5);
    assert_true(s.any != rows && s.any->count == 2 && s.any->items[1].items != numbers);
    assert_string_equal(s.any->items[1].items[1].text, "2.5");
    assert_true(marks[0].line == 7 && marks[0].column == 3 && marks[1].line == 0);
    assert_string_equal(marks[0].key, "cutoff");
    assert_true(notices.count == 1 && strstr(notices.lines[0], "use_numba") != NULL);
    weir_value number = {.key = "name", .type = WEIR_VALUE_NUMBER, .number = 7, .text = "007"};
    assert_ok(READ(ORDER, number));
    assert_string_equal(s.name, "007"); /* as written */
}

static void made_in_c(void **state)
{
    (void)state;
    weir_value items[3];
    weir_value numbers = weir_numbers("weights", (const double[]){1, -2.5, 3e9}, 3, items);
    assert_true(numbers.type == WEIR_VALUE_LIST && numbers.count == 3 && numbers.items == items);
    assert_ok(READ(ORDER, numbers, weir_bool("flag", true)));
    assert_true(s.flag && s.weights.count == 3 && s.weights.listed);
    assert_true(s.weights.of.numbers[1] == -2.5 && s.weights.of.numbers[2] == 3e9);
    assert_fails(READ(ORDER, weir_bool("name", true)), WEIR_E_CHAIN, "expected a text, found true");
    weir_value inner[] = {weir_number("a", 1), weir_text("b", "two")};
    assert_ok(READ(ORDER, weir_map_of("any", inner, 2)));
    assert_true(s.any->type == WEIR_VALUE_MAP && s.any->count == 2);
    assert_string_equal(s.any->items[1].key, "b");
}

static void mistakes(void **state)
{
    (void)state;
    weir_value bad = weir_text("cutof", "6 kHz");
    assert_fails(READ(ORDER, bad), WEIR_E_CHAIN,
                 "cutof: no such setting; did you mean 'cutoff'? allowed: cutoff gain");
    assert_string_equal(wrong->key, "cutof");
    assert_null(strstr(weir_err_detail(), "use_numba"));
    assert_fails(READ(weir_number("gain", 1)), WEIR_E_CHAIN, "order: is required (of the filter");
    assert_null(wrong);
    weir_value null = {.key = "order", .type = WEIR_VALUE_NULL};
    assert_fails(READ(null), WEIR_E_CHAIN, "order: is required");
    assert_non_null(wrong);
    assert_fails(READ(ORDER, ORDER), WEIR_E_CHAIN, "order: given twice");
    assert_fails(READ(weir_number("order", 13)), WEIR_E_CHAIN,
                 "order: 13 is out of range; 1 to 12");
    assert_fails(READ(weir_number("order", 4.5)), WEIR_E_CHAIN,
                 "order: expected a whole number, found 4.5");
    assert_fails(READ(weir_text("order", "4 Hz")), WEIR_E_CHAIN, "order: '4 Hz' is a frequency");
    assert_fails(READ(ORDER, weir_text("cutoff", "10 ms")), WEIR_E_CHAIN,
                 "cutoff: '10 ms' is a time; expected a frequency");
    assert_string_equal(wrong->text, "10 ms");
    assert_fails(READ(ORDER, weir_text("cutoff", "20 kHz")), WEIR_E_CHAIN,
                 "cutoff: 20000 is out of range; 0 to 15000");
    assert_fails(READ(ORDER, weir_number("gain", INFINITY)), WEIR_E_CHAIN,
                 "gain: the number is not finite");
    assert_fails(READ(ORDER, weir_text("kind", "rel_pover")), WEIR_E_CHAIN,
                 "kind: 'rel_pover' is not an allowed name; did you mean 'rel_power'? allowed: "
                 "abs rel_power");
    assert_fails(READ(ORDER, weir_text("flag", "maybe")), WEIR_E_CHAIN,
                 "flag: expected true or false, found 'maybe'");
    weir_value map = {.key = "gain", .type = WEIR_VALUE_MAP};
    assert_fails(READ(ORDER, map), WEIR_E_CHAIN, "gain: expected a number, found a map");
    weir_value nameless = weir_number(NULL, 3);
    assert_fails(READ(ORDER, nameless), WEIR_E_CHAIN, "a name and a value");
}

static void mistakes_in_lists(void **state)
{
    (void)state;
    const weir_value numbers[] = {weir_number(NULL, 1), weir_text(NULL, "x")};
    assert_fails(READ(ORDER, weir_list_of("weights", numbers, 2)), WEIR_E_CHAIN,
                 "weights: 'x' is not a number");
    assert_ptr_equal(wrong, &numbers[1]);
    const weir_value ragged[] = {weir_list_of(NULL, numbers, 1), weir_list_of(NULL, numbers, 2)};
    assert_fails(READ(ORDER, weir_list_of("matrix", ragged, 2)), WEIR_E_CHAIN,
                 "matrix: row 2 has 2 numbers, expected 1");
    assert_fails(READ(ORDER, weir_list_of("matrix", numbers, 1)), WEIR_E_CHAIN,
                 "matrix: expected a row");
    assert_fails(
        READ(ORDER, weir_list_of("matrix", (weir_value[]){weir_list_of(NULL, NULL, 0)}, 1)),
        WEIR_E_CHAIN, "row 1 has 0");
    weir_value nested[WEIRI_VALUE_DEPTH + 2];
    nested[0] = weir_number(NULL, 1);
    for (size_t i = 1; i < sizeof nested / sizeof nested[0]; i++) {
        nested[i] = weir_list_of(NULL, &nested[i - 1], 1);
    }
    nested[WEIRI_VALUE_DEPTH + 1].key = "any";
    assert_fails(READ(ORDER, nested[WEIRI_VALUE_DEPTH + 1]), WEIR_E_CHAIN,
                 "any: nested deeper than 32");
    nested[WEIRI_VALUE_DEPTH - 1].key = "any";
    assert_ok(READ(ORDER, nested[WEIRI_VALUE_DEPTH - 1]));
}

/* Memory that ends after n pieces, for each n, until all is there. */
static void memory_that_ends(void **state)
{
    (void)state;
    const weir_value numbers[] = {weir_number(NULL, 1), weir_text(NULL, "2.5")};
    weir_value rows[] = {weir_list_of("matrix", (weir_value[]){weir_list_of(NULL, numbers, 2)}, 1),
                         weir_list_of("any", numbers, 2), weir_text("name", "freq"), ORDER};
    weir_err err = WEIR_E_NOMEM;
    size_t n = 0;
    for (; err != WEIR_OK && n < 100; n++) {
        release(NULL);
        blocks_allowed = n;
        err = read_values(rows, 4);
        if (err != WEIR_OK) {
            assert_int_equal(err, WEIR_E_NOMEM);
        }
    }
    assert_int_equal(err, WEIR_OK);
    assert_true(n > 6);
}

/* Settings of random types and texts: an error or values in range, never a crash. */
static void wild_settings(void **state)
{
    (void)state;
    uint64_t seed = testing_seed("settings");
    static const char *const texts[] = {"mean", "4",    "1 s",    "",     ".",
                                        "null", "true", "[1, 2]", "a.b.", "6 kHz"};
    for (int i = 0; i < 5000; i++) {
        weir_value items[4], values[6];
        for (size_t j = 0; j < 4; j++) {
            items[j] = weir_text(NULL, texts[testing_random(&seed) % 10]);
            items[j].type = (weir_value_type)(testing_random(&seed) % 4);
            items[j].number = (double)(testing_random(&seed) % 20) - 2;
        }
        for (size_t j = 0; j < 6; j++) {
            values[j] = (weir_value){.key = table[testing_random(&seed) % ROWS].name,
                                     .type = (weir_value_type)(testing_random(&seed) % 6),
                                     .number = (double)(testing_random(&seed) % 20) - 2};
            bool holds = values[j].type >= WEIR_VALUE_LIST;
            values[j].text = holds ? NULL : texts[testing_random(&seed) % 10];
            values[j].items = items;
            values[j].count = holds ? testing_random(&seed) % 5 : 0;
        }
        values[0].key = "order";
        if (read_values(values, testing_random(&seed) % 7) == WEIR_OK) {
            assert_true(s.order >= 1 && s.order <= 12 && s.cutoff >= 0 && s.cutoff <= 15000);
        }
        release(NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(presets, release),
        cmocka_unit_test_teardown(given_values, release),
        cmocka_unit_test_teardown(made_in_c, release),
        cmocka_unit_test_teardown(mistakes, release),
        cmocka_unit_test_teardown(mistakes_in_lists, release),
        cmocka_unit_test_teardown(memory_that_ends, release),
        cmocka_unit_test_teardown(wild_settings, release),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

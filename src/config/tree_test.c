/* SPDX-License-Identifier: MIT
 *
 * tree_test.c: YAML 1.2 as values: types of scalars, places, and every error as one line with its
 * place.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"
#include "config/tree.h"

static void check_scalar(const char *text, weir_value_type type, double number)
{
    weir_value value = {0};
    weiri_scalar_read(text, &value);
    assert_int_equal(value.type, type);
    assert_string_equal(value.text, text);
    if (isnan(number))
        assert_true(isnan(value.number));
    else
        assert_true(value.number == number);
}

static void scalars_follow_the_core_schema(void **state)
{
    (void)state;
    check_scalar("", WEIR_VALUE_NULL, 0);
    check_scalar("~", WEIR_VALUE_NULL, 0);
    check_scalar("null", WEIR_VALUE_NULL, 0);
    check_scalar("nULL", WEIR_VALUE_TEXT, 0);
    check_scalar("true", WEIR_VALUE_BOOL, 1);
    check_scalar("FALSE", WEIR_VALUE_BOOL, 0);
    check_scalar("yes", WEIR_VALUE_TEXT, 0);
    check_scalar("off", WEIR_VALUE_TEXT, 0);
    check_scalar("12", WEIR_VALUE_NUMBER, 12);
    check_scalar("012", WEIR_VALUE_NUMBER, 12);
    check_scalar("0o12", WEIR_VALUE_NUMBER, 10);
    check_scalar("0o18", WEIR_VALUE_TEXT, 0);
    check_scalar("0x1F", WEIR_VALUE_NUMBER, 31);
    check_scalar("0x", WEIR_VALUE_TEXT, 0);
    check_scalar("-1.5e-3", WEIR_VALUE_NUMBER, -1.5e-3);
    check_scalar("+2", WEIR_VALUE_NUMBER, 2);
    check_scalar("+-2", WEIR_VALUE_TEXT, 0);
    check_scalar(".5", WEIR_VALUE_NUMBER, 0.5);
    check_scalar("1.", WEIR_VALUE_NUMBER, 1);
    check_scalar("1.e3", WEIR_VALUE_NUMBER, 1000);
    check_scalar("1e5", WEIR_VALUE_NUMBER, 1e5);
    check_scalar("1e", WEIR_VALUE_TEXT, 0);
    check_scalar(".", WEIR_VALUE_TEXT, 0);
    check_scalar("-", WEIR_VALUE_TEXT, 0);
    check_scalar("1_000", WEIR_VALUE_TEXT, 0);
    check_scalar("1:30", WEIR_VALUE_TEXT, 0);
    check_scalar("1,5", WEIR_VALUE_TEXT, 0);
    check_scalar("1e999", WEIR_VALUE_NUMBER, INFINITY);
    check_scalar("-1e999", WEIR_VALUE_NUMBER, -INFINITY);
    check_scalar(".inf", WEIR_VALUE_NUMBER, INFINITY);
    check_scalar("-.INF", WEIR_VALUE_NUMBER, -INFINITY);
    check_scalar(".nan", WEIR_VALUE_NUMBER, NAN);
    check_scalar("inf", WEIR_VALUE_TEXT, 0);
    check_scalar("nan", WEIR_VALUE_TEXT, 0);
    check_scalar("300 Hz", WEIR_VALUE_TEXT, 0);
}

static const weir_value *at(const weir_value *value, size_t index)
{
    assert_true(index < value->count);
    return &value->items[index];
}

static void values_carry_key_text_and_place(void **state)
{
    (void)state;
    const char text[] = "# a comment\n"
                        "memory_limit: 64 MiB\n"
                        "chain:\n"
                        "  - pow: {exponent: 2.50, \"q\": '7'}\n"
                        "  - log\n";
    weiri_tree *tree = NULL;
    assert_int_equal(weiri_tree_parse(text, strlen(text), "c.yaml", &tree), WEIR_OK);
    const weir_value *root = weiri_tree_root(tree);
    assert_int_equal(root->type, WEIR_VALUE_MAP);
    assert_int_equal(root->count, 2);
    assert_string_equal(at(root, 0)->key, "memory_limit");
    assert_string_equal(at(root, 0)->text, "64 MiB");
    assert_int_equal(at(root, 0)->line, 2);
    assert_int_equal(at(root, 0)->column, 1);
    const weir_value *unit = at(at(at(root, 1), 0), 0);
    assert_string_equal(unit->key, "pow");
    assert_int_equal(unit->line, 4);
    assert_int_equal(unit->column, 5);
    assert_string_equal(at(unit, 0)->key, "exponent");
    assert_int_equal(at(unit, 0)->type, WEIR_VALUE_NUMBER);
    assert_string_equal(at(unit, 0)->text, "2.50"); /* as written */
    assert_int_equal(at(unit, 0)->column, 11);
    assert_int_equal(at(unit, 1)->type, WEIR_VALUE_TEXT); /* quoted scalars stay text */
    assert_string_equal(at(unit, 1)->text, "7");
    assert_string_equal(at(at(root, 1), 1)->text, "log");
    weiri_tree_destroy(tree);
}

static void json_is_yaml(void **state)
{
    (void)state;
    const char text[] =
        "{\"chain\":[{\"pow\":{\"exponent\":2e0}},\t{\"a\\u0041\": [true,null,\"x\\ny\"]}]}\r\n";
    weiri_tree *tree = NULL;
    assert_int_equal(weiri_tree_parse(text, strlen(text), "c.json", &tree), WEIR_OK);
    const weir_value *list = at(weiri_tree_root(tree), 0);
    assert_true(at(at(at(list, 0), 0), 0)->number == 2);
    const weir_value *last = at(at(list, 1), 0);
    assert_string_equal(last->key, "aA");
    assert_int_equal(at(last, 0)->type, WEIR_VALUE_BOOL);
    assert_int_equal(at(last, 1)->type, WEIR_VALUE_NULL);
    assert_string_equal(at(last, 2)->text, "x\ny");
    weiri_tree_destroy(tree);
}

static void quoted_scalars_are_decoded(void **state)
{
    (void)state;
    static const struct {
        const char *text, *value;
    } cases[] = {
        {"''", ""},
        {"'a'", "a"},
        {"''''''''''''''''", "'''''''"},
        {"'a''b''''c'", "a'b''c"},
        {"'it''s  here'", "it's  here"},
        {"'a \n  b\n\n \n c'", "a b\n\nc"},
        {"'a\r\n b'", "a b"},
        {"' a\\n '", " a\\n "},
        {"\"\\\"\\\"\\\"\\\"\\\"\\t\\x41\"", "\"\"\"\"\"\tA"},
        {"|\n  a\n  b\n", "a\nb\n"},
        {"'\xc3\xa4''\xc2\xb5'", "\xc3\xa4'\xc2\xb5"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[128];
        weiri_tree *tree = NULL;
        snprintf(text, sizeof text, "\xef\xbb\xbf- a\n- %s", cases[i].text);
        assert_int_equal(weiri_tree_parse(text, strlen(text), "c.yaml", &tree), WEIR_OK);
        assert_int_equal(at(weiri_tree_root(tree), 1)->type, WEIR_VALUE_TEXT);
        assert_string_equal(at(weiri_tree_root(tree), 1)->text, cases[i].value);
        weiri_tree_destroy(tree);
    }
}

static void empty_files_are_null(void **state)
{
    (void)state;
    static const char *const texts[] = {"",      "\n",           "# only a comment\n",
                                        "---\n", "\xef\xbb\xbf", "\xef\xbb\xbf# x"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        weiri_tree *tree = NULL;
        assert_int_equal(weiri_tree_parse(texts[i], strlen(texts[i]), "c.yaml", &tree), WEIR_OK);
        assert_int_equal(weiri_tree_root(tree)->type, WEIR_VALUE_NULL);
        weiri_tree_destroy(tree);
    }
}

static void check_refused(const char *text, size_t length, const char *start, const char *part)
{
    weiri_tree *tree = NULL;
    assert_int_equal(weiri_tree_parse(text, length, "c.yaml", &tree), WEIR_E_CHAIN);
    assert_null(tree);
    const char *detail = weir_err_detail();
    if (strncmp(detail, start, strlen(start)) != 0 || strstr(detail, part) == NULL)
        fail_msg("found: %s\nwanted: %s ... %s", detail, start, part);
    assert_null(strchr(detail, '\n'));
}

static void mistakes_are_one_line_with_a_place(void **state)
{
    (void)state;
    static const struct {
        const char *text, *start, *part;
    } cases[] = {
        {"a: 1\nb: 2\na: 3\n", "c.yaml:3:1: ", "'a' again; its first use is at line 1, column 1"},
        {"c: {x: 1, y: {z: 1}, x: 2}\n", "c.yaml:1:22: ", "'x' again"},
        {"a: *b\n", "c.yaml:1:4: ", "alias"},
        {"a: &b 1\n", "c.yaml:1:", "anchor"},
        {"a: !!str 1\n", "c.yaml:1:", "tag"},
        {"? [a]\n: 1\n", "c.yaml:1:3: ", "as a key"},
        {"{a: 1}: 1\n", "c.yaml:1:1: ", "as a key"},
        {"a: 1\n---\nb: 1\n", "c.yaml:2:1: ", "second document"},
        {"%YAML 1.1\n---\na: 1\n", "c.yaml:", "expected 1.2"},
        {"a: [1, 2\n", "c.yaml:2:1: ", "not YAML 1.2"},
        {"a: b: c\n", "c.yaml:1:", "not YAML 1.2"},
        {"a:\n\t- b\n", "c.yaml:2:1: ", "not YAML 1.2"},
        {"a: \"x\\q\"\n", "c.yaml:1:", "not YAML 1.2"},
        {"a: \"x\\0y\"\n", "c.yaml:1:1: ", "zero byte"},
        {"a: \xff\n", "c.yaml:1:4: ", "0xff"},
        {"a: \xc0\xaf\n", "c.yaml:1:4: ", "0xc0"},
        {"a: \xed\xa0\x80\n", "c.yaml:1:4: ", "0xed"},
        {"\xc3\xa4: \x01\n", "c.yaml:1:4: ", "0x01"},
        {"- a\n- b\nc\n", "c.yaml:", "not YAML 1.2"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_refused(cases[i].text, strlen(cases[i].text), cases[i].start, cases[i].part);
    check_refused("a: \0", 4, "c.yaml:1:4: ", "0x00");
    check_refused("\x93NUMPY\x01\x00v", 9, "c.yaml:1:1: ", "0x93");
}

static void depth_and_size_are_bounded(void **state)
{
    (void)state;
    size_t size = WEIRI_CONFIG_BYTES + 1;
    char *text = malloc(size);
    assert_non_null(text);
    memset(text, '[', 3000);
    check_refused(text, 3000, "c.yaml:1:33: ", "at most 32");
    memset(text, '#', size);
    check_refused(text, size, "c.yaml: ", "larger than");
    for (size_t i = 0; i + 4 <= size - 1; i += 4)
        memcpy(text + i, "{a: ", 4);
    check_refused(text, size - 1, "c.yaml:1:", "at most 32");
    for (size_t i = 0; i + 2 <= size - 1; i += 2)
        memcpy(text + i, "- ", 2);
    check_refused(text, size - 1, "c.yaml:1:", "at most 32");
    weiri_tree *tree = NULL; /* as wide as allowed */
    memset(text, ',', size);
    text[0] = '[';
    for (size_t i = 1; i < size - 2; i += 2)
        text[i] = '1';
    text[size - 2] = ']';
    assert_int_equal(weiri_tree_parse(text, size - 1, "c.yaml", &tree), WEIR_OK);
    assert_int_equal(weiri_tree_root(tree)->count, (size - 2) / 2);
    weiri_tree_destroy(tree);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scalars_follow_the_core_schema),
        cmocka_unit_test(values_carry_key_text_and_place),
        cmocka_unit_test(json_is_yaml),
        cmocka_unit_test(quoted_scalars_are_decoded),
        cmocka_unit_test(empty_files_are_null),
        cmocka_unit_test(mistakes_are_one_line_with_a_place),
        cmocka_unit_test(depth_and_size_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

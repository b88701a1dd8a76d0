/* SPDX-License-Identifier: MIT */
#include "base/ahead.h"

#include "testing.h"

static void test_lines_lie_in_it_and_are_given_once(void **state)
{
    (void)state;
    _Alignas(WEIRI_LINE) static const char memory[10 * WEIRI_LINE + 7];
    weiri_ahead ahead;
    weiri_ahead_set(&ahead, memory, sizeof memory);
    assert_ptr_equal(weiri_ahead_take(&ahead, 4), memory);
    assert_ptr_equal(weiri_ahead_take(&ahead, 6), memory + 4 * WEIRI_LINE);
    assert_null(weiri_ahead_take(&ahead, 1)); /* 7 bytes are no line */
    weiri_ahead_set(&ahead, memory, sizeof memory);
    assert_null(weiri_ahead_take(&ahead, 11));
    assert_ptr_equal(weiri_ahead_take(&ahead, 10), memory); /* refusing took nothing */
}

static void test_nothing_is_given_of_nothing(void **state)
{
    (void)state;
    weiri_ahead ahead;
    weiri_ahead_set(&ahead, NULL, 0);
    assert_null(weiri_ahead_take(&ahead, 1));
    assert_null(weiri_ahead_take(NULL, 1));
    weiri_ahead none = {0}; /* as a chain has it before its first push */
    assert_null(weiri_ahead_take(&none, 64));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_lie_in_it_and_are_given_once),
        cmocka_unit_test(test_nothing_is_given_of_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

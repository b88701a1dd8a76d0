/* SPDX-License-Identifier: MIT
 *
 * Errors, detail lines, log, notices.
 */
#include <pthread.h>
#include <string.h>

#include "base/base.h"
#include "testing.h"

static void texts_and_exit_statuses(void **state)
{
    (void)state;
    assert_string_equal(weir_err_text(WEIR_OK), "success");
    assert_string_equal(weir_err_text(WEIR_E_PLAN), "plan exceeds the memory limit");
    assert_string_equal(weir_err_text((weir_err)99), "unknown error");
    assert_int_equal(weir_err_exit_status(WEIR_OK), 0);
    assert_int_equal(weir_err_exit_status(WEIR_E_NOMEM), 6);
    assert_int_equal(weir_err_exit_status(WEIR_E_INTERRUPTED), 130);
    assert_int_equal(weir_err_exit_status((weir_err)99), 1);
}

static void detail_is_one_line(void **state)
{
    (void)state;
    assert_int_equal(weiri_fail(WEIR_E_IO, "%s: %d\n\x1b[31m", "a", 3), WEIR_E_IO);
    assert_string_equal(weir_err_detail(), "a: 3??[31m");
    /* Arguments may be part of the detail itself. */
    assert_int_equal(weiri_fail(WEIR_E_CHAIN, "b %s", weir_err_detail()), WEIR_E_CHAIN);
    assert_string_equal(weir_err_detail(), "b a: 3??[31m");
    uint64_t count = weiri_fail_count();
    assert_int_equal(weiri_fail_prefix(WEIR_E_PLAN, "%s:%d: ", "f.yaml", 4), WEIR_E_PLAN);
    assert_string_equal(weir_err_detail(), "f.yaml:4: b a: 3??[31m");
    assert_true(weiri_fail_count() == count + 1);
}

static void detail_is_cut_at_a_character(void **state)
{
    (void)state;
    char text[3000];
    memset(text, 'x', sizeof text);
    for (size_t i = 1; i + 1 < sizeof text; i += 2) { /* two bytes a character, from an odd place */
        memcpy(text + i, "\xc3\xa9", 2);
    }
    text[sizeof text - 1] = '\0';
    (void)weiri_fail(WEIR_E_IO, "%s", text);
    size_t length = strlen(weir_err_detail());
    assert_true(length >= WEIRI_DETAIL_BYTES - 3 && length < WEIRI_DETAIL_BYTES);
    assert_true(length % 2 == 1); /* x and whole pairs */
    (void)weiri_fail_prefix(WEIR_E_IO, "%s", text);
    (void)weiri_fail_prefix(WEIR_E_IO, "prefix ");
    assert_true(strlen(weir_err_detail()) < WEIRI_DETAIL_BYTES);
    assert_memory_equal(weir_err_detail(), "prefix x\xc3\xa9", 10);
}

static void *other_thread(void *user)
{
    *(bool *)user = weir_err_detail()[0] == '\0';
    (void)weiri_fail(WEIR_E_IO, "other");
    return NULL;
}

static void detail_is_the_threads_own(void **state)
{
    (void)state;
    (void)weiri_fail(WEIR_E_IO, "mine");
    bool empty = false;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, other_thread, &empty), 0);
    pthread_join(thread, NULL);
    assert_true(empty);
    assert_string_equal(weir_err_detail(), "mine");
}

static void keep_line(void *user, const char *line)
{
    strcpy(user, line);
}

static void log_reaches_the_callback(void **state)
{
    (void)state;
    char line[WEIRI_DETAIL_BYTES] = "";
    weiri_log("nobody listens");
    weir_log_set(keep_line, line);
    weiri_log("%s %g", "half", 0.5);
    assert_string_equal(line, "half 0.5");
    weir_log_set(NULL, NULL);
    weiri_log("again nobody");
    assert_string_equal(line, "half 0.5");
}

static void notices_are_capped(void **state)
{
    (void)state;
    static weiri_notices notices;
    for (int i = 0; i < WEIRI_NOTICES + 5; i++) {
        weiri_notice(&notices, "notice %d", i);
    }
    weiri_notice(NULL, "nowhere");
    assert_int_equal(notices.count, WEIRI_NOTICES);
    assert_true(notices.left_out == 5);
    assert_string_equal(notices.lines[0], "notice 0");
    assert_string_equal(notices.lines[WEIRI_NOTICES - 1], "notice 15");
}

static void nearest_names(void **state)
{
    (void)state;
    static const char *const names[] = {"butterworth", "chebyshev", "pow", "log", "abs", "mean"};
    const size_t count = sizeof names / sizeof names[0];
    assert_string_equal(weiri_nearest("butterwort", names, count), "butterworth");
    assert_string_equal(weiri_nearest("BUTTERWROTH", names, count), "butterworth");
    assert_string_equal(weiri_nearest("butter", names, count), "butterworth");
    assert_string_equal(weiri_nearest("lgo", names, count), "log");
    assert_string_equal(weiri_nearest("maen", names, count), "mean");
    assert_null(weiri_nearest("kalman", names, count));
    static const char *const ends[] = {"cuton", "cutoff"};
    assert_string_equal(weiri_nearest("cutof", ends, 2),
                        "cutoff"); /* cut short goes before changed */
    assert_string_equal(weiri_nearest("cutom", ends, 2), "cuton");
    assert_null(weiri_nearest("", names, count));
    assert_null(weiri_nearest(NULL, names, count));
    char wild[500];
    memset(wild, 'a', sizeof wild);
    wild[sizeof wild - 1] = '\0';
    assert_null(weiri_nearest(wild, names, count));
}

static void sizes_without_overflow(void **state)
{
    (void)state;
    uint64_t product = 7;
    assert_true(weiri_round_up(0, 64) == 0 && weiri_round_up(1, 64) == 64);
    assert_true(weiri_round_up(64, 64) == 64 && weiri_round_up(65, 64) == 128);
    assert_true(weiri_round_up(SIZE_MAX - 62, 64) == SIZE_MAX);
    assert_true(weiri_round_up(SIZE_MAX - 63, 64) == SIZE_MAX - 63);
    assert_true(weiri_mul(UINT64_MAX, 1, &product) && product == UINT64_MAX);
    assert_true(weiri_mul(0, UINT64_MAX, &product) && product == 0);
    product = 7;
    assert_false(weiri_mul(UINT64_C(1) << 32, UINT64_C(1) << 32, &product));
    assert_true(product == 7);
    assert_true(weiri_equal_blind("MEAN", "mean") && !weiri_equal_blind("mean", "means"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_and_exit_statuses),
        cmocka_unit_test(detail_is_one_line),
        cmocka_unit_test(detail_is_cut_at_a_character),
        cmocka_unit_test(detail_is_the_threads_own),
        cmocka_unit_test(log_reaches_the_callback),
        cmocka_unit_test(notices_are_capped),
        cmocka_unit_test(nearest_names),
        cmocka_unit_test(sizes_without_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

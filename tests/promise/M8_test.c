/* SPDX-License-Identifier: MIT
 *
 * M8: the process's default cache, its limit read once, and limits that child processes inherit.
 * Each case runs in a child of its own, since there is one such cache per process.
 */
#include "children.h"
#include "witness.h"

static const char *self;
static int has_limits(uint64_t cache_limit, uint64_t memory_limit)
{
    weir_cache *cache = NULL, *again = NULL;
    WANT(weir_cache_default(&cache) == WEIR_OK && weir_cache_default(&again) == WEIR_OK);
    WANT(cache == again);
    weir_cache_stats s = stats_of(cache);
    WANT(s.cache_limit_bytes == cache_limit && s.memory_limit_bytes == memory_limit);
    return 0;
}

static int case_preset(void)
{
    return has_limits(UINT64_C(512) << 20, WEIR_NO_LIMIT);
}

static int case_environment(void)
{
    setenv("WEIR_CACHE_LIMIT", "64 MiB", 1);
    setenv("WEIR_MEMORY_LIMIT", "1G", 1);
    return has_limits(UINT64_C(64) << 20, UINT64_C(1) << 30);
}

static int case_none(void)
{
    setenv("WEIR_CACHE_LIMIT", "none", 1);
    setenv("WEIR_MEMORY_LIMIT", "", 1);
    return has_limits(WEIR_NO_LIMIT, WEIR_NO_LIMIT);
}

static int case_bad_environment(void)
{
    weir_cache *cache = NULL;
    setenv("WEIR_MEMORY_LIMIT", "much", 1);
    WANT(weir_cache_default(&cache) == WEIR_E_USAGE && cache == NULL);
    WANT(strstr(weir_err_detail(), "WEIR_MEMORY_LIMIT: 'much' is not a number") != NULL);
    setenv("WEIR_MEMORY_LIMIT", "10 ms", 1);
    WANT(weir_cache_default_limit(5) == WEIR_E_USAGE);
    unsetenv("WEIR_MEMORY_LIMIT");
    return has_limits(UINT64_C(512) << 20, WEIR_NO_LIMIT); /* it can be created after all */
}

static int case_asked_once(void)
{
    weir_log_set(keep_line, NULL);
    setenv("WEIR_CACHE_LIMIT", "64 MiB", 1); /* a call takes precedence over the environment */
    WANT(weir_cache_default_limit(1000000) == WEIR_OK && line_count == 0);
    WANT(weir_cache_default_limit(1000000) == WEIR_OK && line_count == 0); /* the same: silent */
    /* another: one message */
    WANT(weir_cache_default_limit(2000000) == WEIR_OK && line_count == 1);
    WANT(strstr(lines[0], "1000000") != NULL && strstr(lines[0], "2000000") != NULL);
    WANT(weir_cache_default_limit(2000000) == WEIR_OK && line_count == 1);
    WANT(weir_cache_default_limit(WEIR_NO_LIMIT) == WEIR_OK && line_count == 1);
    return has_limits(1000000, WEIR_NO_LIMIT);
}

static int case_exported(void)
{
    return has_limits(123456, WEIR_NO_LIMIT);
}

static const child_case cases[] = {{"preset", case_preset},
                                   {"environment", case_environment},
                                   {"none", case_none},
                                   {"bad_environment", case_bad_environment},
                                   {"asked_once", case_asked_once},
                                   {"exported", case_exported}};
#define CASES (sizeof cases / sizeof cases[0])

static void one_default_cache(void **state)
{
    (void)state;
    for (size_t i = 0; i + 1 < CASES; i++) {
        child_run(&cases[i]);
    }
}

static void limits_reach_children(void **state)
{
    (void)state;
    assert_ok(weir_limits_export(123456, WEIR_NO_LIMIT));
    assert_string_equal(getenv("WEIR_CACHE_LIMIT"), "123456");
    pid_t child = fork(); /* by fork */
    if (child == 0) {
        _exit(case_exported());
    }
    assert_int_equal(child_status(child), 0);
    child = child_spawn(self, "exported"); /* by spawn and exec */
    assert_int_equal(child_status(child), 0);
    unsetenv("WEIR_CACHE_LIMIT"); /* and the child does detect it: without it the default applies */
    child = child_spawn(self, "exported");
    int status = child_status(child);
    assert_true(status > 0 && status != 999);
}

int main(int argc, char **argv)
{
    self = argv[0];
    const child_case *called = child_called(cases, CASES, argc, argv);
    if (called != NULL) {
        return called->run();
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_default_cache),
        cmocka_unit_test(limits_reach_children),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

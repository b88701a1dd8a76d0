/* SPDX-License-Identifier: MIT
 *
 * M8: the process's one default cache, its limit asked for once, and limits that reach children. Each case
 * runs in a child of its own, since there is one such cache a process.
 */
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "witness.h"

extern char **environ;
static const char *self;
static char lines[4][256];
static int line_count;

static void keep_line(void *user, const char *line)
{
    (void)user;
    snprintf(lines[line_count++ % 4], sizeof lines[0], "%s", line);
}

/* Cases return 0 where all is right, else a line number. */
#define WANT(truth)                                                                                \
    do {                                                                                           \
        if (!(truth)) {                                                                            \
            return __LINE__ % 250 + 1;                                                             \
        }                                                                                          \
    } while (0)

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
    return has_limits(UINT64_C(512) << 20, WEIR_NO_LIMIT); /* it can be made after all */
}

static int case_asked_once(void)
{
    weir_log_set(keep_line, NULL);
    setenv("WEIR_CACHE_LIMIT", "64 MiB", 1); /* a call goes before the environment */
    WANT(weir_cache_default_limit(1000000) == WEIR_OK && line_count == 0);
    WANT(weir_cache_default_limit(1000000) == WEIR_OK && line_count == 0); /* the same: silent */
    WANT(weir_cache_default_limit(2000000) == WEIR_OK && line_count == 1); /* another: once */
    WANT(strstr(lines[0], "1000000") != NULL && strstr(lines[0], "2000000") != NULL);
    WANT(weir_cache_default_limit(2000000) == WEIR_OK && line_count == 1);
    WANT(weir_cache_default_limit(WEIR_NO_LIMIT) == WEIR_OK && line_count == 1);
    return has_limits(1000000, WEIR_NO_LIMIT);
}

static int case_exported(void)
{
    return has_limits(123456, WEIR_NO_LIMIT);
}

static const struct {
    const char *name;
    int (*run)(void);
} cases[] = {{"preset", case_preset},
             {"environment", case_environment},
             {"none", case_none},
             {"bad_environment", case_bad_environment},
             {"asked_once", case_asked_once},
             {"exported", case_exported}};
#define CASES (sizeof cases / sizeof cases[0])

static int status_of(pid_t child)
{
    int status = 0;
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 999;
}

static void one_default_cache(void **state)
{
    (void)state;
    for (size_t i = 0; i + 1 < CASES; i++) {
        pid_t child = fork();
        if (child == 0) {
            unsetenv("WEIR_CACHE_LIMIT");
            unsetenv("WEIR_MEMORY_LIMIT");
            _exit(cases[i].run());
        }
        int status = status_of(child);
        if (status != 0) {
            fail_msg("case %s: about line %d", cases[i].name, status - 1);
        }
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
    assert_int_equal(status_of(child), 0);
    char *argv[] = {(char *)self, "exported", NULL}; /* by spawn and exec */
    assert_int_equal(posix_spawn(&child, self, NULL, NULL, argv, environ), 0);
    assert_int_equal(status_of(child), 0);
    unsetenv("WEIR_CACHE_LIMIT"); /* and the child does tell: without it the preset stands */
    assert_int_equal(posix_spawn(&child, self, NULL, NULL, argv, environ), 0);
    assert_int_not_equal(status_of(child), 0);
}

int main(int argc, char **argv)
{
    self = argv[0];
    for (size_t i = 0; argc > 1 && i < CASES; i++) {
        if (strcmp(argv[1], cases[i].name) == 0) {
            return cases[i].run();
        }
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_default_cache),
        cmocka_unit_test(limits_reach_children),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

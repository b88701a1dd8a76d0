/* SPDX-License-Identifier: MIT
 *
 * as_array_limit_test.c: a conversion for another heap limits what that heap's default cache keeps,
 * at the first message and only there (SEEDS B5). A heap that is only address space (nominal)
 * represents a device; each case has a process of its own.
 */
#include "cache/default.h"
#include "children.h"

#include <weir/chain.h>

#define COLUMNS 5

static const char *self;

static uint64_t limit_of(const char *name)
{
    weir_heap *heap = NULL;
    weir_cache *cache = NULL;
    weir_cache_stats stats = {.stats_size = sizeof stats};
    if (weir_heap_find(name, &heap) != WEIR_OK || weiri_cache_default_of(heap, &cache) != WEIR_OK) {
        return 1;
    }
    weir_cache_stats_read(cache, &stats);
    return stats.cache_limit_bytes;
}

/* A chain with one as_array; pushes messages, 0 = it is only built. limit NULL: not stated. */
static bool convert(const char *backend, const char *limit, int messages)
{
    weir_spec spec = weir_spec_make(WEIR_F32, 1000, COLUMNS, NULL, NULL);
    weir_value settings[] = {weir_text("backend", backend), weir_text("cache_limit", limit)};
    size_t stated = limit != NULL ? 2 : 1;
    static const float rows[COLUMNS * 3];
    weir_message message = {
        .spec = &spec, .data = rows, .frames = 3, .first_index = WEIR_INDEX_NEXT};
    weir_chain *chain = NULL;
    const weir_plan *planned = NULL;
    int node = 0;
    bool good = weir_chain_create(NULL, &chain) == WEIR_OK &&
                weir_chain_add(chain, WEIR_CHAIN_INPUT, "as_array", settings, stated, NULL,
                               &node) == WEIR_OK &&
                weir_chain_plan(chain, &spec, &planned) == WEIR_OK;
    for (int i = 0; good && i < messages; i++) {
        good = weir_chain_push(chain, &message, NULL, NULL) == WEIR_OK;
    }
    weir_chain_destroy(chain);
    return good;
}

#define PRESET (UINT64_C(512) << 20)

static int at_the_first_message(void)
{
    WANT(convert("nominal", "1000000", 0) && limit_of("nominal") == PRESET); /* not when built */
    WANT(convert("nominal", "1000000", 2) && limit_of("nominal") == 1000000);
    WANT(limit_of("host") == PRESET); /* for that heap only */
    return 0;
}

static int same_is_silent_another_warns_once(void)
{
    weir_log_set(keep_line, NULL);
    WANT(convert("nominal", "1 MB", 3) && convert("nominal", "1000000", 3) && line_count == 0);
    WANT(convert("nominal", "2000000", 1) && line_count == 1);
    WANT(strstr(lines[0], "1000000") && strstr(lines[0], "2000000") && strstr(lines[0], "nominal"));
    WANT(convert("nominal", "3000000", 1) && line_count == 1 && limit_of("nominal") == 1000000);
    return 0;
}

static int none_and_host_set_nothing(void)
{
    weir_log_set(keep_line, NULL);
    WANT(convert("nominal", "none", 2) && limit_of("nominal") == PRESET);
    WANT(convert("host", "1000000", 2) && limit_of("host") == PRESET);
    WANT(convert("numpy", "1000000", 2) && limit_of("host") == PRESET);
    WANT(convert("nominal", "1000000", 2) && limit_of("nominal") == 1000000 && line_count == 0);
    return 0;
}

/* The default is 512 MiB, also if requested explicitly. */
static int the_default(void)
{
    weir_log_set(keep_line, NULL);
    WANT(convert("nominal", NULL, 1) && limit_of("nominal") == PRESET);
    WANT(convert("nominal", "512 MiB", 1) && line_count == 0);
    WANT(convert("nominal", "1000000", 1) && line_count == 1 && limit_of("nominal") == PRESET);
    WANT(strstr(lines[0], "1000000") && strstr(lines[0], "536870912"));
    return 0;
}

static int exported(void)
{
    WANT(convert("nominal", NULL, 1) && limit_of("nominal") == 64000000);
    WANT(convert("nominal:host", "5000000", 1) && limit_of("nominal:host") == 5000000);
    return 0;
}

/* M8: flag, file, environment, default, in this order; also in a child. */
static int the_environment_before_the_default(void)
{
    WANT(weir_limits_export(64000000, WEIR_NO_LIMIT) == WEIR_OK);
    int status = child_status(child_spawn(self, "exported"));
    return status != 0 ? status : exported();
}

/* By spawn: nothing of the parent's memory is inherited, and the child that converts has its
 * limit. */
static int in_the_process_that_converts(void)
{
    WANT(convert("nominal", "5000000", 1) && limit_of("nominal") == 5000000);
    return child_status(child_spawn(self, "at_the_first_message"));
}

static const child_case cases[] = {
    {"at_the_first_message", at_the_first_message},
    {"same_is_silent_another_warns_once", same_is_silent_another_warns_once},
    {"none_and_host_set_nothing", none_and_host_set_nothing},
    {"the_default", the_default},
    {"the_environment_before_the_default", the_environment_before_the_default},
    {"in_the_process_that_converts", in_the_process_that_converts},
    {"exported", exported}, /* the last: for a spawned process with a limit */
};
#define CASES (sizeof cases / sizeof cases[0])

static void limit(void **state)
{
    (void)state;
    for (size_t i = 0; i + 1 < CASES; i++) {
        child_run(&cases[i]);
    }
}

int main(int argc, char **argv)
{
    self = argv[0];
    const child_case *called = child_called(cases, CASES, argc, argv);
    if (called != NULL) {
        return called->run();
    }
    unsetenv("WEIR_CACHE_LIMIT");
    unsetenv("WEIR_MEMORY_LIMIT");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

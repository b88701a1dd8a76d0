/* SPDX-License-Identifier: MIT
 *
 * as_array_test.c: every type into every other against exact rounding; saturated and missing samples are
 * counted; the limit of a heap's default cache, at the first message and only there (SEEDS B5). A heap that
 * is only address space (nominal) stands for a device; each case on limits has a process of its own.
 */
#include "cache/default.h"
#include "children.h"
#include "unit/drive.h"

#include <weir/chain.h>

static const char *self;

#define COLUMNS 5
#define FRAMES  400

static const struct {
    const char *name;
    weir_dtype dtype;
    double least, most;
} types[] = {
    {"uint8", WEIR_U8, 0, 255},         {"u16", WEIR_U16, 0, 65535},
    {"int16", WEIR_I16, -32768, 32767}, {"i32", WEIR_I32, -2147483648.0, 2147483647.0},
    {"float32", WEIR_F32, 0, 0},        {"f64", WEIR_F64, 0, 0},
};

static double get(weir_dtype dtype, const void *data, size_t at)
{
    switch (dtype) {
    case WEIR_U8:
        return ((const uint8_t *)data)[at];
    case WEIR_U16:
        return ((const uint16_t *)data)[at];
    case WEIR_I16:
        return ((const int16_t *)data)[at];
    case WEIR_I32:
        return ((const int32_t *)data)[at];
    case WEIR_F32:
        return (double)((const float *)data)[at];
    default:
        return ((const double *)data)[at];
    }
}

static void set(weir_dtype dtype, void *data, size_t at, double value)
{
    switch (dtype) {
    case WEIR_U8:
        ((uint8_t *)data)[at] = (uint8_t)value;
        break;
    case WEIR_U16:
        ((uint16_t *)data)[at] = (uint16_t)value;
        break;
    case WEIR_I16:
        ((int16_t *)data)[at] = (int16_t)value;
        break;
    case WEIR_I32:
        ((int32_t *)data)[at] = (int32_t)value;
        break;
    case WEIR_F32:
        ((float *)data)[at] = (float)value;
        break;
    default:
        ((double *)data)[at] = value;
    }
}

/* Round half to even by hand, without the unit's function. */
static double half_even(double value)
{
    double below = floor(value), rest = value - below;
    bool up = rest > 0.5 || (rest == 0.5 && fmod(below, 2.0) != 0.0);
    return up ? below + 1 : below;
}

static double expected(size_t to, double value, uint64_t *saturated)
{
    if (types[to].dtype == WEIR_F64) {
        return value;
    }
    if (types[to].dtype == WEIR_F32) {
        return (double)(float)value;
    }
    double whole = isfinite(value) ? half_even(value) : 0.0;
    *saturated += whole < types[to].least || whole > types[to].most;
    return whole < types[to].least  ? types[to].least
           : whole > types[to].most ? types[to].most
                                    : whole;
}

/* Values of every size, halves among them, a few missing. */
static void fill(size_t from, void *data, uint64_t *random)
{
    static const double sizes[] = {3, 300, 70000, 5e9};
    static const double missing[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < COLUMNS * FRAMES; i++) {
        double part = (double)drive_random(random, 1u << 20) * 0x1p-19 - 1.0;
        double value = sizes[drive_random(random, 4)] * part;
        value = drive_random(random, 3) == 0 ? floor(value) + 0.5 : value;
        if (types[from].most > 0) {
            value = types[from].least + (types[from].most - types[from].least) *
                                            ((double)drive_random(random, 1u << 20) * 0x1p-20);
        } else if (drive_random(random, 50) == 0) {
            value = missing[drive_random(random, 3)];
        }
        set(types[from].dtype, data, i, value);
    }
}

static void every_type(void **state)
{
    (void)state;
    uint64_t random = drive_seed();
    static double data[COLUMNS * FRAMES];
    for (size_t from = 0; from < 6; from++) {
        for (size_t to = 0; to < 6; to++) {
            weir_spec spec = weir_spec_make(types[from].dtype, 1000, COLUMNS, NULL, NULL);
            weir_value settings[] = {weir_text("dtype", types[to].name)};
            drive *d = NULL;
            assert_int_equal(drive_open("as_array", &spec, settings, 1, &d), WEIR_OK);
            assert_int_equal(d->plan.out.dtype, types[to].dtype);
            fill(from, data, &random);
            drive_output o = drive_run(d, data, FRAMES, 37, &random);
            assert_int_equal(o.frames, FRAMES);
            uint64_t saturated = 0, missing[COLUMNS] = {0};
            for (size_t i = 0; i < COLUMNS * FRAMES; i++) {
                double value = get(types[from].dtype, data, i);
                missing[i % COLUMNS] += !isfinite(value);
                double want = expected(to, value, &saturated);
                double found = get(types[to].dtype, o.data, i);
                if (!(found == want || (isnan(found) && isnan(want)))) {
                    fail_msg("%s to %s: %.17g becomes %.17g, not %.17g", types[from].name,
                             types[to].name, value, found, want);
                }
            }
            assert_int_equal(d->unit.saturated, saturated);
            assert_memory_equal(d->unit.missing, missing, sizeof missing);
            free(o.data);
            drive_close(d);
        }
    }
}

static void keeps_what_it_is(void **state)
{
    (void)state;
    weir_spec spec = weir_spec_make(WEIR_I16, 1000, COLUMNS, NULL, NULL);
    drive *d = NULL;
    assert_int_equal(drive_open("as_array", &spec, NULL, 0, &d), WEIR_OK);
    assert_int_equal(d->plan.out.dtype, WEIR_I16);
    drive_close(d);
}

static void refuses(void **state)
{
    (void)state;
    static const struct {
        const char *name, *value, *said;
    } wrong[] = {{"backend", "hots", "backend: no heap 'hots'"},
                 {"dtype", "complex64", "dtype: "},
                 {"cache_limit", "10 ms", "cache_limit: "},
                 {"cache_limit", "-5", "cache_limit: "}};
    weir_spec spec = weir_spec_make(WEIR_F32, 1000, COLUMNS, NULL, NULL);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        weir_value settings[] = {weir_text(wrong[i].name, wrong[i].value)};
        drive *d = NULL;
        assert_int_equal(drive_open("as_array", &spec, settings, 1, &d), WEIR_E_CHAIN);
        assert_int_equal(strncmp(weir_err_detail(), wrong[i].said, strlen(wrong[i].said)), 0);
    }
}

/* ---- the limit (B5): each case in a process of its own -------------------------------------------- */

static char lines[4][256];
static int line_count;

static void keep_line(void *user, const char *line)
{
    (void)user;
    snprintf(lines[line_count++ % 4], sizeof lines[0], "%s", line);
}

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
    WANT(limit_of("host") == PRESET); /* that heap's alone */
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

/* What is not stated is 512 MiB, and a request as any other. */
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

/* By spawn: nothing of the parent's memory is there, and the child that converts has its limit. */
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
    {"exported", exported}, /* the last: for who is spawned with a limit */
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
        cmocka_unit_test(every_type),
        cmocka_unit_test(keeps_what_it_is),
        cmocka_unit_test(refuses),
        cmocka_unit_test(limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT
 *
 * Structs of the public interface state their size, and each function that receives one follows the
 * rule of weir/base.h: a size that is not set, or too small, is refused, and the detail names the
 * function that makes such a struct; fields unknown to this version must be zero.
 */
#include <weir/trace.h>
#include <weir/weir.h>

#include "base/base.h"
#include "conform/stream.h"
#include "no_sink.h"
#include "testing.h"

#include <unistd.h>

/* ---- the calls, each with a struct of `bytes` ----------------------------------------------------- */

/* A call may allocate something for its argument: freed here. */
static weir_err chain_options(void *given)
{
    weir_chain *chain = NULL;
    weir_err err = weir_chain_create(given, &chain);
    weir_chain_destroy(chain);
    return err;
}

static weir_err config_options(void *given)
{
    weir_chain *chain = NULL;
    weir_err err = weir_config_parse("chain: [abs]", 12, "test", given, &chain);
    weir_chain_destroy(chain);
    return err;
}

static weir_err cache_options(void *given)
{
    weir_cache *cache = NULL;
    weir_err err = weir_cache_create(given, &cache);
    weir_cache_destroy(cache);
    return err;
}

static weir_err recording_options(void *given)
{
    weir_source *source = NULL;
    weir_err err =
        weir_recording_open("synthetic:channels=1,rate=1000,seconds=1,seed=1", given, &source);
    weir_source_close(source);
    return err;
}

static weir_err output_options(void *given)
{
    weir_sink *sink = NULL;
    char path[64]; /* nothing is written before a start */
    snprintf(path, sizeof path, "/tmp/weir_sizes_%d.npy", (int)getpid());
    weir_err err = weir_recording_create(path, given, &sink);
    weir_sink_close(sink);
    return err;
}

static weir_err cache_stats(void *given)
{
    weir_cache *cache = NULL;
    assert_ok(weir_cache_create(NULL, &cache));
    weir_err err = weir_cache_stats_read(cache, given);
    weir_cache_destroy(cache);
    return err;
}

static weir_chain *one_unit(void)
{
    weir_chain *chain = NULL;
    int node;
    assert_ok(weir_chain_create(NULL, &chain));
    assert_ok(weir_chain_add(chain, WEIR_CHAIN_INPUT, "abs", NULL, 0, NULL, &node));
    return chain;
}

static weir_err unit_report(void *given)
{
    weir_chain *chain = one_unit();
    weir_err err = weir_chain_node_report(chain, 0, given);
    weir_chain_destroy(chain);
    return err;
}

static const weir_source_info *given_info;

static const weir_source_info *say_given_info(weir_source *source)
{
    (void)source;
    return given_info;
}

/* A run from a source in memory, with one of these arguments. */
static weir_err run(const weir_run_options *options,
                    weir_run_report *report,
                    const weir_source_ops *ops,
                    const weir_sink_ops *sink_ops,
                    const weir_source_info *info)
{
    test_signal signal = test_signal_make(weir_spec_make(WEIR_F32, 1000, 2, NULL, NULL), 50, 1);
    test_source source = test_source_make(&signal, 0, 1);
    weir_sink sink = {.ops = sink_ops}, *sinks[] = {&sink};
    weir_run_report own = {.report_size = sizeof own};
    const weir_plan *plan = NULL;
    weir_chain *chain = one_unit();
    source.base.ops = ops != NULL ? ops : source.base.ops;
    weir_source_ops with_info = *source.base.ops;
    if (info != NULL) { /* used where it is: it may be larger than ours */
        given_info = info;
        with_info.info = say_given_info;
        source.base.ops = &with_info;
    }
    weir_err err = weir_chain_plan_run(chain, &source.base, sinks, sink_ops != NULL ? 1 : 0, &plan);
    if (err == WEIR_OK) {
        err = weir_chain_run(chain, options, report != NULL ? report : &own);
    }
    weir_chain_destroy(chain);
    free(signal.data);
    return err;
}

static weir_err run_options(void *given)
{
    return run(given, NULL, NULL, NULL, NULL);
}

static weir_err run_report(void *given)
{
    return run(NULL, given, NULL, NULL, NULL);
}

static weir_err source_ops(void *given)
{
    return run(NULL, NULL, given, NULL, NULL);
}

static weir_err source_info(void *given)
{
    return run(NULL, NULL, NULL, NULL, given);
}

static weir_err sink_ops(void *given)
{
    return run(NULL, NULL, NULL, given, NULL);
}

static weir_err heap_ops(void *given)
{
    weir_heap heap = {.ops = given};
    return weir_heap_check(&heap);
}

static weir_trace *open_trace(void)
{
    char path[] = "/tmp/weir_sizes_XXXXXX";
    int fd = mkstemp(path);
    weir_cache *cache = NULL;
    weir_trace *trace = NULL;
    weir_buffer *buffer = NULL;
    assert_true(fd >= 0);
    close(fd);
    assert_ok(weir_cache_create(NULL, &cache));
    assert_ok(weir_trace_start(cache, path));
    assert_ok(weir_cache_take(cache, 100, &buffer));
    weir_buffer_unref(buffer);
    assert_ok(weir_trace_stop(cache));
    weir_cache_destroy(cache);
    assert_ok(weir_trace_open(path, &trace));
    unlink(path);
    return trace;
}

static weir_err replay_options(void *given)
{
    weir_trace *trace = open_trace();
    weir_replay_report report = {.report_size = sizeof report};
    weir_err err = weir_trace_replay(trace, given, &report);
    weir_trace_close(trace);
    return err;
}

static weir_err replay_report(void *given)
{
    weir_trace *trace = open_trace();
    weir_err err = weir_trace_replay(trace, NULL, given);
    weir_trace_close(trace);
    return err;
}

static weir_err tune_report(void *given)
{
    weir_trace *trace = open_trace();
    weir_err err = weir_trace_tune(trace, NULL, 0.5, given);
    weir_trace_close(trace);
    return err;
}

/* ---- all of them ---------------------------------------------------------------------------------- */

#define ROOM 2048

typedef struct kind {
    const char *name;
    weir_err (*call)(void *given);
    const char *makes; /* in the detail */
    size_t size;
    unsigned char made[ROOM];
} kind;

static kind kinds[20];
static size_t kind_count;

static void
add(const char *name, weir_err (*call)(void *), const char *makes, const void *made, size_t size)
{
    kind *k = &kinds[kind_count++];
    *k = (kind){.name = name, .call = call, .makes = makes, .size = size};
    assert_true(size <= ROOM - 64 && kind_count < sizeof kinds / sizeof *kinds);
    memcpy(k->made, made, size);
}

#define ADD_DEFAULT(name)                                                                          \
    {                                                                                              \
        weir_##name made = weir_##name##_default();                                                \
        add(#name, name, "weir_" #name "_default() makes them", &made, sizeof made);               \
    }
#define ADD(name, ...)                                                                             \
    {                                                                                              \
        weir_##name made = {__VA_ARGS__};                                                          \
        add(#name, name, "set it to sizeof(weir_" #name ")", &made, sizeof made);                  \
    }

static void fill_kinds(void)
{
    weir_heap *host = NULL;
    assert_ok(weir_heap_find("host", &host));
    test_signal signal = test_signal_make(weir_spec_make(WEIR_F32, 1000, 2, NULL, NULL), 1, 1);
    test_source source = test_source_make(&signal, 0, 1);
    kind_count = 0;
    ADD_DEFAULT(chain_options);
    kinds[kind_count] = kinds[kind_count - 1];
    kinds[kind_count++].call = config_options;
    ADD_DEFAULT(cache_options);
    ADD_DEFAULT(recording_options);
    ADD_DEFAULT(output_options);
    ADD_DEFAULT(run_options);
    ADD_DEFAULT(replay_options);
    ADD(cache_stats, .stats_size = sizeof made);
    ADD(unit_report, .report_size = sizeof made);
    ADD(run_report, .report_size = sizeof made);
    ADD(replay_report, .report_size = sizeof made);
    ADD(tune_report, .report_size = sizeof made);
    ADD(sink_ops, .ops_size = sizeof made, .name = "test", .plan = no_sink_plan,
        .start = no_sink_start, .write = no_sink_write, .flush = no_sink_do, .finish = no_sink_do,
        .close = no_sink_close);
    add("source_ops", source_ops, "set it to sizeof(weir_source_ops)", source.base.ops,
        sizeof *source.base.ops);
    add("source_info", source_info, "set it to sizeof(weir_source_info)", &source.info,
        sizeof source.info);
    add("heap_ops", heap_ops, "set it to sizeof(weir_heap_ops)", host->ops, sizeof *host->ops);
    free(signal.data);
}

static weir_err call_with(const kind *k, size_t size, size_t set_byte, unsigned char *given)
{
    memset(given, 0, ROOM);
    memcpy(given, k->made, k->size);
    memcpy(given, &size, sizeof size);
    if (set_byte > 0) {
        given[set_byte] = 1;
    }
    return k->call(given);
}

static bool filled_by_the_call(const kind *k)
{
    return strstr(k->name, "report") != NULL || strcmp(k->name, "cache_stats") == 0;
}

static void one_rule(void **state)
{
    (void)state;
    _Alignas(16) unsigned char given[ROOM];
    fill_kinds();
    for (size_t i = 0; i < kind_count; i++) {
        const kind *k = &kinds[i];
        weir_err err = call_with(k, k->size, 0, given);
        if (err != WEIR_OK) {
            fail_msg("%s: %s", k->name, weir_err_detail());
        }
        static const size_t bad[] = {0, 3, 8, SIZE_MAX}; /* not set, arbitrary */
        for (size_t j = 0; j < sizeof bad / sizeof *bad; j++) {
            err = call_with(k, bad[j], 0, given);
            if (err != WEIR_E_USAGE || strstr(weir_err_detail(), k->makes) == NULL) {
                fail_msg("%s: a size of %zu gives %d: %s", k->name, bad[j], (int)err,
                         weir_err_detail());
            }
        }
        /* From a newer program. */
        err = call_with(k, k->size + 16, 0, given);
        size_t after = 0;
        memcpy(&after, given, sizeof after);
        if (err != WEIR_OK || after != k->size + 16) {
            fail_msg("%s: zeros at its end: %s", k->name, weir_err_detail());
        }
        err = call_with(k, k->size + 16, k->size + 15, given);
        if (filled_by_the_call(k)) {
            assert_int_equal(err, WEIR_OK);
            assert_int_equal(given[k->size + 15], 0);
        } else if (err != WEIR_E_USAGE || strstr(weir_err_detail(), "does not know") == NULL) {
            fail_msg("%s: a field that nobody knows gives %d: %s", k->name, (int)err,
                     weir_err_detail());
        }
    }
}

static void slots_are_there(void **state)
{
    (void)state;
    fill_kinds();
    for (size_t i = 0; i < kind_count; i++) {
        const kind *k = &kinds[i];
        bool sink = strcmp(k->name, "sink_ops") == 0;
        if (!sink && strcmp(k->name, "source_ops") != 0) {
            continue;
        }
        size_t slots = sink ? offsetof(weir_sink_ops, close) : offsetof(weir_source_ops, close);
        for (size_t at = offsetof(weir_source_ops, name); at <= slots; at += sizeof(void *)) {
            unsigned char given[ROOM];
            memcpy(given, k->made, k->size);
            memset(given + at, 0, sizeof(void *));
            assert_fails(k->call(given), WEIR_E_USAGE, " is NULL");
        }
    }
}

/* An older program's options: missing ones have their defaults. */
static void shorter_ones(void **state)
{
    (void)state;
    struct {
        size_t size;
        int a, b;
    } known = {sizeof known, 7, 8}, given = {offsetof(__typeof__(known), b), 1, 2};
    const weiri_sized rule = {"x_size", "x", offsetof(__typeof__(known), b), sizeof known};
    assert_ok(weiri_sized_read(&rule, &given, &known));
    assert_true(known.size == sizeof known && known.a == 1 && known.b == 8);
    known.a = 5;
    assert_ok(weiri_sized_write(&rule, &known, &given));
    assert_true(given.size == offsetof(__typeof__(known), b) && given.a == 5 && given.b == 2);
}

static void lent_ones(void **state)
{
    (void)state;
    weir_chain *chain = one_unit();
    const weir_plan *plan = NULL;
    weir_spec spec = weir_spec_make(WEIR_F32, 1000, 2, NULL, NULL);
    assert_ok(weir_chain_plan(chain, &spec, &plan));
    assert_true(plan->plan_size == sizeof *plan);
    for (size_t i = 0; i < plan->part_count; i++) {
        assert_ptr_equal(weir_plan_part_at(plan, i), &plan->parts[i]);
        assert_true(plan->parts[i].part_size == sizeof(weir_plan_part));
    }
    assert_null(weir_plan_part_at(plan, plan->part_count));
    weir_chain_destroy(chain);
    weir_trace *trace = open_trace();
    assert_true(weir_trace_info_get(trace)->info_size == sizeof(weir_trace_info));
    weir_trace_close(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_rule),
        cmocka_unit_test(slots_are_there),
        cmocka_unit_test(shorter_ones),
        cmocka_unit_test(lent_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

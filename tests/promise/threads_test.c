/* SPDX-License-Identifier: MIT
 *
 * threads_test.c: S1 with threads: chains on 150 channels, with samples missing, give the same bits and the same
 * counts on 1 to 8 threads, also where threads are left out for a while because they do not pay (pool.c); M6 with
 * their stacks; threads that never run block nothing. Short enough for the thread sanitizer; random chains on several
 * threads are in chains_test.c.
 */
#include "caches.h"
#include "conform/stream.h"

#include <pthread.h>

#include "chain/pool.h"

#define CHANNELS   150
#define FRAMES     1500
#define LINKS_MOST 4

typedef struct link {
    const char *unit;
    const char *settings[6]; /* name, text */
} link;

/* What is divided by frames, and what by channels: in copies, and in rows of the whole width. */
static const link chains[][LINKS_MOST] = {
    {{"common_reference", {NULL}},
     {"butterworth", {"order", "4", "cuton", "300 Hz", "cutoff", "6 kHz"}},
     {"pow", {NULL}},
     {"binned_aggregate", {"bin_duration", "2 ms"}}},
    {{"butterworth", {"order", "2", "cutoff", "1 kHz"}}},
    {{"abs", {NULL}}},
    {{"abs", {NULL}}, {"ewma", {"time_constant", "10 ms"}}, {"pow", {NULL}}},
    {{"abs", {NULL}}, {"downsample", {"target_rate", "10 kHz"}}},
};
enum { CHAINS = sizeof chains / sizeof chains[0] };

static weir_chain *
make_chain(const link *links, uint64_t threads, const weir_spec *spec, const weir_plan **ret_plan)
{
    weir_chain_options options = weir_chain_options_default();
    options.threads = threads;
    weir_chain *chain = NULL;
    int node = WEIR_CHAIN_INPUT;
    test_ok(weir_chain_create(&options, &chain));
    for (int i = 0; i < LINKS_MOST && links[i].unit != NULL; i++) {
        weir_value settings[3];
        size_t count = 0;
        for (; count < 3 && links[i].settings[2 * count] != NULL; count++) {
            settings[count] =
                weir_text(links[i].settings[2 * count], links[i].settings[2 * count + 1]);
        }
        test_ok(weir_chain_add(chain, node, links[i].unit, settings, count, NULL, &node));
    }
    test_ok(weir_chain_plan(chain, spec, ret_plan));
    return chain;
}

static void check_plan(weir_chain *chain, const weir_plan *plan, uint64_t threads)
{
    weir_cache_stats stats = stats_of(weir_chain_cache(chain));
    assert_true(stats.held_peak_bytes <= plan->total_bytes); /* M6 */
    bool stacks = false;
    for (size_t i = 0; i < plan->part_count; i++) {
        stacks |= strcmp(plan->parts[i].kind, "threads") == 0 &&
                  plan->parts[i].bytes >= (threads - 1) * (64 << 10);
    }
    assert_true(stacks);
}

/* Missing samples of all nodes; returns how many there are. */
static uint64_t count_missing(const weir_chain *chain, uint64_t *ret_missing)
{
    uint64_t sum = 0;
    for (size_t node = 0; node < weir_chain_node_count(chain); node++) {
        weir_unit_report report = {.report_size = sizeof report};
        test_ok(weir_chain_node_report(chain, node, &report));
        for (uint64_t c = 0; c < report.channels; c++) {
            ret_missing[node * CHANNELS + c] = report.missing[c];
            sum += report.missing[c];
        }
    }
    return sum;
}

/* The signal, `times` times in a row. */
static test_output run(const link *links,
                       const test_signal *signal,
                       int times,
                       uint64_t threads,
                       uint64_t *ret_missing,
                       uint64_t *ret_sum)
{
    test_output output = {0};
    test_random random = {7};
    const weir_plan *plan = NULL;
    weir_chain *chain = make_chain(links, threads, &signal->spec, &plan);
    for (int i = 0; i < times; i++) {
        test_push(chain, signal, 0, signal->frames, 600, 0, 0, &random, &output);
    }
    check_plan(chain, plan, threads);
    *ret_sum = count_missing(chain, ret_missing);
    weir_chain_destroy(chain);
    return output;
}

static test_signal signal_with_gaps(void)
{
    weir_spec spec = weir_spec_make(WEIR_F32, 30000.0, CHANNELS, NULL, NULL);
    test_signal signal = test_signal_make(spec, FRAMES, test_seed());
    for (size_t i = 0; i < FRAMES * CHANNELS; i += 977) {
        test_signal_set(&signal, i, NAN);
    }
    return signal;
}

static void same_on(
    const link *links, const test_signal *signal, int times, const uint64_t *numbers, size_t count)
{
    uint64_t missing[LINKS_MOST * CHANNELS] = {0}, expected[LINKS_MOST * CHANNELS] = {0}, sum = 0;
    test_output alone = run(links, signal, times, 1, expected, &sum);
    assert_true(sum >= (FRAMES * CHANNELS + 976) / 977);
    for (size_t i = 0; i < count; i++) {
        test_output several = run(links, signal, times, numbers[i], missing, &sum);
        test_same(&alone, &several, "S1, threads");
        assert_memory_equal(missing, expected, sizeof missing);
        test_output_free(&several);
    }
    test_output_free(&alone);
}

/* S1, M6 */
static void same_on_any_number(void **state)
{
    (void)state;
    static const uint64_t numbers[] = {2, 3, 4, 8};
    test_signal signal = signal_with_gaps();
    weiri_pool_testing = (weiri_pool_test){.always = true};
    for (size_t i = 0; i < CHAINS; i++) {
        same_on(chains[i], &signal, 1, numbers, 4);
    }
    weiri_pool_testing = (weiri_pool_test){.always = false};
    free(signal.data);
}

/* Turns with and without threads, 4 MiB each: S1 does not depend on which. */
static void same_while_they_pay_or_not(void **state)
{
    (void)state;
    static const uint64_t numbers[] = {2};
    test_signal signal = signal_with_gaps();
    same_on(chains[0], &signal, 20, numbers, 1);
    free(signal.data);
}

static pthread_mutex_t cores = PTHREAD_MUTEX_INITIALIZER;

static void wait_for_a_core(void)
{
    pthread_mutex_lock(&cores);
    pthread_mutex_unlock(&cores);
}

/* As if other programs had all cores but the caller's: the run ends before any other thread runs. */
static void threads_that_never_run(void **state)
{
    (void)state;
    test_signal signal = signal_with_gaps();
    uint64_t missing[LINKS_MOST * CHANNELS], sum = 0;
    test_output alone = run(chains[0], &signal, 1, 1, missing, &sum);
    test_output several = {0};
    test_random random = {7};
    const weir_plan *plan = NULL;
    weiri_pool_testing = (weiri_pool_test){.always = true, .before_work = wait_for_a_core};
    weir_chain *chain = make_chain(chains[0], 4, &signal.spec, &plan);
    pthread_mutex_lock(&cores);
    test_push(chain, &signal, 0, signal.frames, 600, 0, 0, &random, &several);
    pthread_mutex_unlock(&cores);
    weir_chain_destroy(chain);
    weiri_pool_testing = (weiri_pool_test){.always = false};
    test_same(&alone, &several, "S1, threads that never run");
    test_output_free(&alone);
    test_output_free(&several);
    free(signal.data);
}

/* Each thread counts in a block of its own: the sum is that of one thread. */
static void saturated_values_are_counted(void **state)
{
    (void)state;
    static const uint64_t numbers[] = {1, 2, 3, 8};
    weir_spec spec = weir_spec_make(WEIR_F32, 30000.0, CHANNELS, NULL, NULL);
    test_signal signal = test_signal_make(spec, FRAMES, test_seed());
    uint64_t expected = 0;
    for (size_t i = 0; i < FRAMES * CHANNELS; i += 83) {
        test_signal_set(&signal, i, 1e6);
        expected++;
    }
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        weir_chain_options options = weir_chain_options_default();
        options.threads = numbers[i];
        weir_chain *chain = NULL;
        const weir_plan *plan = NULL;
        int node = 0;
        weir_value i16 = weir_text("dtype", "i16");
        test_output output = {0};
        test_random random = {3};
        weir_unit_report report = {.report_size = sizeof report};
        test_ok(weir_chain_create(&options, &chain));
        test_ok(weir_chain_add(chain, WEIR_CHAIN_INPUT, "as_array", &i16, 1, NULL, &node));
        test_ok(weir_chain_plan(chain, &spec, &plan));
        test_push(chain, &signal, 0, FRAMES, 700, 0, 0, &random, &output);
        test_ok(weir_chain_node_report(chain, 0, &report));
        assert_int_equal(report.saturated, expected);
        test_output_free(&output);
        weir_chain_destroy(chain);
    }
    free(signal.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_on_any_number),
        cmocka_unit_test(saturated_values_are_counted),
        cmocka_unit_test(same_while_they_pay_or_not),
        cmocka_unit_test(threads_that_never_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

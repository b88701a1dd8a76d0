/* SPDX-License-Identifier: MIT
 *
 * threads_test.c: S1 with threads: the chain of spike-band power on 150 channels, with samples missing, gives
 * the same bits and the same counts on 1 to 8 threads; M6 with their stacks. Short enough for the thread
 * sanitizer; random chains on several threads are in chains_test.c.
 */
#include "caches.h"
#include "conform/stream.h"

#define CHANNELS 150
#define FRAMES   1500

static weir_chain *make_chain(uint64_t threads, const weir_spec *spec, const weir_plan **ret_plan)
{
    weir_chain_options options = weir_chain_options_default();
    options.threads = threads;
    weir_chain *chain = NULL;
    int node = WEIR_CHAIN_INPUT;
    weir_value band[] = {weir_number("order", 4), weir_text("cuton", "300 Hz"),
                         weir_text("cutoff", "6 kHz")};
    weir_value bins[] = {weir_text("bin_duration", "2 ms")};
    test_ok(weir_chain_create(&options, &chain));
    test_ok(weir_chain_add(chain, node, "common_reference", NULL, 0, NULL, &node));
    test_ok(weir_chain_add(chain, node, "butterworth", band, 3, NULL, &node));
    test_ok(weir_chain_add(chain, node, "pow", NULL, 0, NULL, &node));
    test_ok(weir_chain_add(chain, node, "binned_aggregate", bins, 1, NULL, &node));
    test_ok(weir_chain_plan(chain, spec, ret_plan));
    return chain;
}

static test_output run(const test_signal *signal, uint64_t threads, uint64_t *ret_missing)
{
    test_output output = {0};
    test_random random = {7};
    const weir_plan *plan = NULL;
    weir_chain *chain = make_chain(threads, &signal->spec, &plan);
    test_push(chain, signal, 0, signal->frames, 600, 0, 0, &random, &output);
    weir_cache_stats stats = stats_of(weir_chain_cache(chain));
    assert_true(stats.held_peak_bytes <= plan->total_bytes); /* M6 */
    bool stacks = false;
    for (size_t i = 0; i < plan->part_count; i++) {
        stacks |= strcmp(plan->parts[i].kind, "threads") == 0 &&
                  plan->parts[i].bytes >= (threads - 1) * (64 << 10);
    }
    assert_true(stacks);
    for (size_t node = 0; node < 2; node++) {
        weir_unit_report report = {.report_size = sizeof report};
        test_ok(weir_chain_node_report(chain, node, &report));
        for (uint64_t c = 0; c < CHANNELS; c++) {
            ret_missing[node * CHANNELS + c] = report.missing[c];
        }
    }
    weir_chain_destroy(chain);
    return output;
}

/* S1, M6 */
static void same_on_any_number(void **state)
{
    (void)state;
    static const uint64_t numbers[] = {2, 3, 8};
    weir_spec spec = weir_spec_make(WEIR_F32, 30000.0, CHANNELS, NULL, NULL);
    test_signal signal = test_signal_make(spec, FRAMES, test_seed());
    for (size_t i = 0; i < FRAMES * CHANNELS; i += 977) {
        test_signal_set(&signal, i, NAN);
    }
    uint64_t missing[2 * CHANNELS], expected[2 * CHANNELS], sum = 0;
    test_output alone = run(&signal, 1, expected);
    for (size_t i = 0; i < CHANNELS; i++) {
        sum += expected[i];
    }
    assert_int_equal(sum, (FRAMES * CHANNELS + 976) / 977);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        test_output several = run(&signal, numbers[i], missing);
        test_same(&alone, &several, "S1, threads");
        assert_memory_equal(missing, expected, sizeof missing);
        test_output_free(&several);
    }
    test_output_free(&alone);
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_on_any_number),
                                       cmocka_unit_test(saturated_values_are_counted)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

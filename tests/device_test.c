/* SPDX-License-Identifier: MIT
 *
 * Device heaps, with one whose memory ends the process when touched: a cache with any policy never
 * touches it; copies use the heap's functions; a chain keeps its metadata in host memory, has a
 * count for each heap, and refuses to run there.
 */
#include "chain/chain.h"
#include "device_heap.h"
#include "witness.h"

static weir_heap *counted_device(void)
{
    weir_heap *heap = NULL;
    assert_ok(weir_heap_counting_create(device_heap(), &heap));
    return heap;
}

/* M1 to M4 hold, and only the heap accesses the content of the buffers. */
static void no_policy_touches_it(void **state)
{
    (void)state;
    for (size_t k = 0; k < ALL_POLICIES; k++) {
        weir_heap *heap = counted_device();
        weir_cache_options options = weir_cache_options_default();
        weir_cache *cache = NULL;
        options.heap = heap;
        options.policy = keeping_policies[k];
        options.cache_limit = 4 << 20;
        options.memory_limit = 64 << 20;
        assert_ok(weir_cache_create(&options, &cache));
        weir_buffer *live[40] = {NULL};
        uint64_t seed = testing_seed(keeping_policies[k]);
        for (int i = 0; i < 2000; i++) {
            size_t at = testing_random(&seed) % 40;
            weir_buffer_unref(live[at]);
            assert_ok(weir_cache_take(cache, 1 + testing_random(&seed) % 500000, &live[at]));
        }
        weir_cache_stats s = stats_of(cache);
        assert_true(s.hits > 0 && s.held_peak_bytes <= options.memory_limit);
        assert_true(weir_heap_counting_counts(heap).bytes == s.live_bytes + s.idle_bytes); /* M3 */
        assert_ok(weir_cache_check(cache));
        for (size_t i = 0; i < 40; i++) {
            weir_buffer_unref(live[i]);
        }
        weir_cache_destroy(cache);
        assert_true(weir_heap_counting_counts(heap).bytes == 0);
        weir_heap_destroy(heap);
    }
}

static void copies_go_through_the_heap(void **state)
{
    (void)state;
    weir_heap *heaps[] = {NULL, counted_device()};
    for (size_t h = 0; h < 2; h++) {
        weir_cache_options options = weir_cache_options_default();
        weir_cache *cache = NULL;
        weir_buffer *buffer = NULL;
        weir_queue *queue = NULL;
        char there[6] = "", in[] = "frames";
        options.heap = heaps[h];
        assert_ok(weir_cache_create(&options, &cache));
        assert_ok(weir_cache_take(cache, 10000, &buffer));
        assert_ok(weir_buffer_copy_in(buffer, 5000, in, 6, NULL));
        assert_ok(weir_buffer_copy_out(buffer, 5003, there, 3, NULL));
        assert_string_equal(there, "mes");
        assert_fails(weir_buffer_copy_in(buffer, buffer->bytes - 5, in, 6, NULL), WEIR_E_USAGE,
                     "copy of 6 bytes at offset");
        assert_fails(weir_buffer_copy_out(buffer, SIZE_MAX, there, 2, NULL), WEIR_E_USAGE,
                     "the buffer has");
        if (h == 1) { /* queued work is done when it is waited for */
            weir_heap *heap = heaps[h];
            assert_ok(heap->ops->queue_create(heap, &queue));
            assert_ok(weir_buffer_copy_in(buffer, 5003, "MES", 3, queue));
            assert_ok(weir_buffer_copy_out(buffer, 5003, there, 3, NULL));
            assert_string_equal(there, "mes");
            assert_ok(heap->ops->queue_wait(heap, queue));
            assert_ok(weir_buffer_copy_out(buffer, 5003, there, 3, NULL));
            assert_string_equal(there, "MES");
            heap->ops->queue_destroy(heap, queue);
        }
        weir_buffer_unref(buffer);
        weir_cache_destroy(cache);
    }
    weir_heap_destroy(heaps[1]);
}

static void tables_are_checked(void **state)
{
    (void)state;
    weir_heap_ops ops = *device_heap()->ops;
    weir_heap heap = {&ops};
    assert_ok(weir_heap_check(&heap));
    ops.copy_out = NULL;
    assert_fails(weir_heap_check(&heap), WEIR_E_USAGE,
                 "function copy_out is missing though WEIR_HEAP_DEVICE is set");
    ops = *device_heap()->ops;
    /* of a program compiled without these functions */
    ops.ops_size = offsetof(weir_heap_ops, copy_in);
    assert_fails(weir_heap_check(&heap), WEIR_E_USAGE, "function copy_in is missing");
    ops = *device_heap()->ops;
    ops.flags = WEIR_HEAP_PAGES;
    assert_fails(weir_heap_check(&heap), WEIR_E_USAGE, "though WEIR_HEAP_DEVICE is not set");
}

static weir_chain_options on(weir_heap *heap)
{
    weir_chain_options options = weir_chain_options_default();
    options.heap = heap;
    options.memory_limit = 4 << 20;
    return options;
}

static void a_chain_is_refused(void **state)
{
    (void)state;
    weir_heap *heap = counted_device();
    weir_chain_options options = on(device_heap());
    weir_chain *chain = NULL;
    assert_fails(weir_chain_create(&options, &chain), WEIR_E_USAGE,
                 "heap fake device: its memory is on a device, and no device can run a chain yet");
    options.heap = heap;
    assert_fails(weir_chain_create(&options, &chain), WEIR_E_USAGE, "heap counting");
    options.memory_limit = 1000;
    assert_int_equal(weir_chain_create(&options, &chain), WEIR_E_PLAN);
    assert_null(chain);
    assert_true(weir_heap_counting_counts(heap).bytes == 0);
    weir_heap_destroy(heap);
}

/* Chains on devices as far as they exist: everything up to the start. */
static void a_plan_counts_each_heap(void **state)
{
    (void)state;
    weir_heap *heap = counted_device();
    weir_chain_options options = on(heap);
    weir_chain *chain = NULL;
    const weir_plan *plan = NULL;
    weir_spec spec = weir_spec_make(WEIR_F32, 30000, 64, NULL, NULL);
    int node = WEIR_CHAIN_INPUT;
    assert_ok(weiri_chain_create(&options, &chain));
    assert_ok(weir_chain_add(
        chain, node, "ewma",
        &(weir_value){.key = "time_constant", .type = WEIR_VALUE_NUMBER, .number = 1}, 1, NULL,
        &node));
    assert_ok(weir_chain_plan(chain, &spec, &plan));
    uint64_t parts = 0, records = 0;
    for (size_t i = 0; i < plan->part_count; i++) {
        const weir_plan_part *part = weir_plan_part_at(plan, i);
        *(strcmp(part->kind, "records") == 0 ? &records : &parts) += part->bytes;
    }
    assert_true(plan->fits && plan->total_bytes == parts + records);
    assert_true(plan->host_bytes + plan->device_bytes == plan->total_bytes);
    assert_true(plan->device_bytes == device_good_size(NULL, parts));
    assert_true(weir_heap_counting_counts(heap).bytes == 0); /* nothing is there before a start */
    weir_message message = {.spec = &spec};
    assert_fails(weir_chain_push(chain, &message, NULL, NULL), WEIR_E_USAGE,
                 "no device can run a chain");
    weir_chain_destroy(chain);
    assert_true(weir_heap_counting_counts(heap).calls == 0);
    weir_heap_destroy(heap);
    /* If the host can address the heap there is one. */
    options.heap = NULL;
    assert_ok(weir_chain_create(&options, &chain));
    assert_ok(weir_chain_plan(chain, &spec, &plan));
    assert_true(plan->device_bytes == 0 && plan->host_bytes == plan->total_bytes);
    weir_chain_destroy(chain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_policy_touches_it),    cmocka_unit_test(copies_go_through_the_heap),
        cmocka_unit_test(tables_are_checked),      cmocka_unit_test(a_chain_is_refused),
        cmocka_unit_test(a_plan_counts_each_heap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

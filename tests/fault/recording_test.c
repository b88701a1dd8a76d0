/* SPDX-License-Identifier: MIT
 *
 * Opening, reading and writing while the n-th heap call fails (M3): an error each time, the heap's
 * count back to 0, no descriptor open, no file left, until the case passes without a failure.
 */
#include "caches.h"
#include "recordings.h"

#include <sys/stat.h>

typedef struct world {
    weir_heap *heap;
    weir_cache *cache;
    int descriptors;
} world;

static void begin(world *w)
{
    weir_heap *host = NULL;
    assert_ok(weir_heap_find("host", &host));
    assert_ok(weir_heap_counting_create(host, &w->heap));
    weir_cache_options options = weir_cache_options_default();
    options.heap = w->heap;
    options.cache_limit = 0;
    assert_ok(weir_cache_create(&options, &w->cache));
    w->descriptors = open_descriptors();
}

static void end(world *w)
{
    weir_cache_stats stats = stats_of(w->cache);
    assert_int_equal(stats.live_bytes, 0);
    assert_ok(weir_cache_check(w->cache));
    weir_cache_destroy(w->cache);
    assert_int_equal(weir_heap_counting_counts(w->heap).bytes, 0);
    assert_int_equal(weir_heap_counting_counts(w->heap).buffers, 0);
    assert_int_equal(open_descriptors(), w->descriptors);
    weir_heap_destroy(w->heap);
}

/* Opens and reads some rows with the n-th heap call failing; whether it succeeded. */
static bool try_source(const char *path, weir_recording_options options, uint64_t nth)
{
    world w;
    begin(&w);
    options.cache = w.cache;
    weir_source *source = NULL;
    /* The cache calls a heap that failed once more: the failure must last for that. */
    weir_heap_counting_fail(w.heap, nth, 2);
    weir_err err = weir_recording_open(path, &options, &source);
    assert_true(err == WEIR_OK || err == WEIR_E_NOMEM);
    weir_heap_counting_fail(w.heap, 0, 0);
    if (err == WEIR_OK) {
        recorded all = {0};
        assert_ok(read_source(source, 100, 0, &all));
        recorded_free(&all);
        source->ops->close(source);
    } else {
        assert_null(source);
    }
    end(&w);
    return err == WEIR_OK;
}

static void sources(void **state)
{
    (void)state;
    weir_recording_options plain = weir_recording_options_default(), picked = plain;
    picked.channels = "Fp1,0";
    weir_recording_options some = plain;
    some.channels = "1,3-5";
    some.exclude = "4";
    static const char sample[] = WEIR_SOURCE_DIR "/examples/data/test_subsecond.edf";
    static const char synthetic[] = "synthetic:channels=70,seconds=0.01";
    const struct {
        const char *path;
        weir_recording_options options;
    } cases[] = {{sample, plain},
                 {sample, picked},
                 {synthetic, plain},
                 {synthetic, some},
                 {WEIR_SHARED_DIR "/recordings/edf/edfPlusD.edf", plain},
                 {WEIR_SHARED_DIR "/recordings/made-here/nsx23_three_segments.ns5", plain}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (*cases[i].path == '/' && access(cases[i].path, R_OK) != 0) {
            printf("skipped: %s is not there\n", cases[i].path);
            continue;
        }
        uint64_t nth = 1;
        while (!try_source(cases[i].path, cases[i].options, nth)) {
            nth++;
            assert_true(nth < 1000);
        }
        assert_true(nth > 1); /* something did fail */
    }
}

/* Refusals at every step leave nothing either. */
static void refused_sources(void **state)
{
    (void)state;
    weir_recording_options options = weir_recording_options_default();
    static const char sample[] = WEIR_SOURCE_DIR "/examples/data/test_subsecond.edf";
    world w;
    begin(&w);
    options.cache = w.cache;
    weir_source *source = NULL;
    assert_int_equal(weir_recording_open("/nowhere", &options, &source), WEIR_E_IO);
    assert_int_equal(weir_recording_open("/tmp", &options, &source), WEIR_E_IO);
    options.format = "npy";
    assert_int_equal(weir_recording_open(sample, &options, &source), WEIR_E_RECORDING);
    options.format = "nope";
    assert_int_equal(weir_recording_open(sample, &options, &source), WEIR_E_USAGE);
    options.format = NULL;
    options.channels = "nobody";
    assert_int_equal(weir_recording_open(sample, &options, &source), WEIR_E_USAGE);
    options.channels = NULL;
    options.start_s = 1e6;
    assert_int_equal(weir_recording_open(sample, &options, &source), WEIR_E_USAGE);
    options.start_s = 0;
    options.rate_hz = 128;
    assert_int_equal(weir_recording_open(sample, &options, &source), WEIR_E_USAGE);
    assert_null(source);
    end(&w);
}

static void sinks(void **state)
{
    (void)state;
    weir_spec spec = weir_spec_make(WEIR_F32, 100, 3, NULL, NULL);
    float rows[30] = {0};
    weir_message block = {.spec = &spec, .data = rows, .frames = 10};
    bool through = false;
    uint64_t nth = 1;
    for (; !through; nth++) {
        world w;
        begin(&w);
        weir_output_options options = weir_output_options_default();
        options.cache = w.cache;
        options.force = true;
        weir_heap_counting_fail(w.heap, nth, 2);
        weir_sink *sink = NULL;
        weir_err err = weir_recording_create(own_path("s.npy"), &options, &sink);
        assert_true(err == WEIR_OK || err == WEIR_E_NOMEM);
        through = err == WEIR_OK;
        if (through) {
            weir_heap_counting_fail(w.heap, 0, 0);
            uint64_t calls = weir_heap_counting_counts(w.heap).calls, bytes = 0;
            assert_ok(sink->ops->plan(sink, &spec, &bytes));
            void *memory = malloc((size_t)bytes);
            assert_ok(sink->ops->start(sink, &spec, NULL, "chain: []", memory));
            for (int i = 0; i < 100; i++) {
                block.segment = (uint64_t)i;
                block.segment_start_ns = i * INT64_C(1000000000);
                assert_ok(sink->ops->write(sink, &block));
                assert_ok(sink->ops->flush(sink));
            }
            assert_ok(sink->ops->finish(sink));
            /* Running takes nothing. */
            assert_int_equal(weir_heap_counting_counts(w.heap).calls, calls);
            sink->ops->close(sink);
            free(memory);
        }
        end(&w);
        struct stat status;
        assert_int_equal(stat(own_path("s.npy"), &status) == 0, through);
    }
    assert_true(nth > 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sources),
        cmocka_unit_test(refused_sources),
        cmocka_unit_test(sinks),
    };
    return cmocka_run_group_tests_name("recording faults", tests, NULL, own_folder_remove);
}

/* SPDX-License-Identifier: MIT
 *
 * Traces: reading and replaying give what was recorded; damaged files.
 */
#include <errno.h>
#include <pthread.h>

#include "cache/cache.h"
#include "trace_files.h"

#define STEPS 20000

typedef struct expected {
    weir_trace_op op;
    uint64_t bytes, live, idle;
    int buffer; /* which of this test's buffers */
} expected;

typedef struct walk {
    const expected *steps;
    size_t at;
    uint64_t of_buffer[SLOTS]; /* slot in the file */
} walk;

static weir_err same_step(void *user, const weir_trace_step *step, const weir_cache_stats *after)
{
    walk *w = user;
    const expected *e = &w->steps[w->at++];
    assert_int_equal(step->op, e->op);
    if (step->op == WEIR_TRACE_TAKE) {
        assert_true(step->bytes == e->bytes && step->slot < SLOTS);
        w->of_buffer[e->buffer] = step->slot;
    } else if (step->op == WEIR_TRACE_GIVE) {
        assert_true(step->slot == w->of_buffer[e->buffer]);
    }
    assert_true(after->live_bytes == e->live && after->idle_bytes == e->idle);
    return WEIR_OK;
}

/* Random traffic, recorded twice: by the trace, and here. */
static size_t traffic(weir_cache *cache, uint64_t *seed, expected *steps)
{
    static const uint64_t limits[] = {0, 1 << 20, 8 << 20, WEIR_NO_LIMIT};
    weir_buffer *buffers[SLOTS] = {NULL};
    size_t count = 0;
    while (count < STEPS) {
        uint64_t r = testing_random(seed);
        expected *e = &steps[count];
        int slot = (int)(r % SLOTS);
        *e = (expected){.buffer = slot};
        if (r % 1009 == 0) {
            e->op = WEIR_TRACE_CLEAR;
            weir_cache_clear(cache);
        } else if (r % 503 == 0) {
            e->op = WEIR_TRACE_LIMIT;
            e->bytes = limits[r / 503 % 4];
            weir_cache_limit_idle(cache, e->bytes);
        } else if (buffers[slot] != NULL) {
            e->op = WEIR_TRACE_GIVE;
            weir_buffer_unref(buffers[slot]);
            buffers[slot] = NULL;
        } else {
            e->op = WEIR_TRACE_TAKE;
            e->bytes = r >> 40 & 1 ? BIN : 1 + testing_random(seed) % (1 << (r >> 20) % 24);
            buffers[slot] = lend(cache, e->bytes);
        }
        weir_cache_stats stats = stats_of(cache);
        e->live = stats.live_bytes;
        e->idle = stats.idle_bytes;
        count++;
    }
    assert_ok(weir_trace_stop(cache));
    for (size_t i = 0; i < SLOTS; i++) {
        weir_buffer_unref(buffers[i]);
    }
    return count;
}

static void what_is_recorded_is_replayed(void **state)
{
    (void)state;
    static expected steps[STEPS];
    static const char *const policies[] = {"fit", "pages", "mlx:cpu", "mlx:cuda", "mlx:metal"};
    uint64_t seed = testing_seed("trace, what is recorded is replayed");
    for (size_t i = 0; i < sizeof policies / sizeof policies[0]; i++) {
        weir_cache *cache = cache_on(i < 2 ? "nominal:host" : "nominal", policies[i], 4 * MIB);
        weir_cache_stats before = stats_of(cache);
        assert_ok(weir_trace_start(cache, file));
        assert_fails(weir_trace_start(cache, other_file), WEIR_E_USAGE, "already");
        assert_ok(weir_cache_check(cache));
        assert_true(stats_of(cache).book_bytes > before.book_bytes);
        size_t count = traffic(cache, &seed, steps);
        assert_ok(weir_cache_check(cache));
        assert_ok(weir_trace_stop(cache)); /* nothing to stop */
        weir_cache_destroy(cache);

        weir_trace *trace = NULL;
        assert_ok(weir_trace_open(file, &trace));
        const weir_trace_info *info = weir_trace_info_get(trace);
        assert_string_equal(info->policy, policies[i]);
        assert_string_equal(info->form, "weir");
        assert_true(info->cache_limit == 4 * MIB);
        for (int again = 0; again < 2; again++) {
            walk w = {.steps = steps};
            weir_replay_options options = weir_replay_options_default();
            weir_replay_report report = {.report_size = sizeof report};
            options.step = same_step;
            options.user = &w;
            assert_ok(weir_trace_replay(trace, &options, &report));
            assert_true(report.steps == count && w.at == count && report.rows == 0);
        }
        assert_false(weir_trace_info_get(trace)->cut);
        weir_trace_close(trace);
    }
    static unsigned char bytes[1 << 20];
    size_t size = read_file(file, bytes, sizeof bytes);
    printf("%zu bytes for %d events\n", size, STEPS);
    assert_true(size < 4 * STEPS);
}

/* The trace's bytes are counted, and freed when recording stops; buffers in use come first;
 * frees of older ones have their number. */
static void it_starts_in_the_middle(void **state)
{
    (void)state;
    witness w = witness_make("fit", WEIR_NO_LIMIT, WEIR_NO_LIMIT);
    for (int again = 0; again < 2; again++) {
        weir_buffer *before = take(w.cache, 5000), *gone = take(w.cache, 9000);
        weir_buffer_unref(gone);
        uint64_t book = stats_of(w.cache).book_bytes;
        assert_ok(weir_trace_start(w.cache, file));
        assert_true(stats_of(w.cache).book_bytes == book + 4096);
        witness_agrees(&w);
        weir_buffer *one = take(w.cache, 100);
        weir_buffer_unref(before);
        weir_buffer_unref(one);
        assert_ok(weir_trace_stop(w.cache));
        assert_true(stats_of(w.cache).book_bytes == book);
        witness_agrees(&w);

        static const char ops[] = "aaff";
        weir_trace *trace = NULL;
        weir_trace_step step;
        assert_ok(weir_trace_open(file, &trace));
        for (size_t i = 0; i < 4; i++) {
            assert_ok(weir_trace_next(trace, &step));
            assert_true(step.op == (weir_trace_op)ops[i] && step.step == i);
            assert_true(step.slot == (i == 1 || i == 3));
        }
        assert_ok(weir_trace_next(trace, &step));
        assert_ok(weir_trace_next(trace, &step));
        assert_true(step.op == WEIR_TRACE_END);
        weir_trace_close(trace);
    }
    witness_end(&w);

    /* M2: the trace fits the limit or is refused; a file that cannot be created; a cache
     * destroyed while it is recorded. */
    w = witness_make("fit", WEIR_NO_LIMIT, 8192);
    weir_buffer *buffer = take(w.cache, 4000);
    assert_fails(weir_trace_start(w.cache, file), WEIR_E_LIMIT, "4096 bytes asked");
    witness_agrees(&w);
    weir_buffer_unref(buffer);
    weir_cache_clear(w.cache);
    assert_fails(weir_trace_start(w.cache, "/nowhere/at/all"), WEIR_E_IO, "/nowhere/at/all");
    witness_agrees(&w);
    weir_heap_counting_fail(w.heap, 1, 1);
    assert_int_equal(weir_trace_start(w.cache, file), WEIR_E_NOMEM);
    witness_agrees(&w);
    assert_ok(weir_trace_start(w.cache, file));
    witness_end(&w);

    if (access("/dev/full", W_OK) == 0) { /* a write error is reported at the end */
        w = witness_make("fit", WEIR_NO_LIMIT, WEIR_NO_LIMIT);
        assert_ok(weir_trace_start(w.cache, "/dev/full"));
        assert_fails(weir_trace_stop(w.cache), WEIR_E_IO, strerror(ENOSPC));
        witness_agrees(&w);
        witness_end(&w);
    }
}

/* Two threads, with auto choosing at the same time: the file has one order of all they did, and
 * its replay ends with the same buffers in use. */
static void *busy(void *user)
{
    weir_cache *cache = user;
    uint64_t seed = 20260131;
    weir_buffer *slots[8] = {NULL};
    for (int i = 0; i < 20000; i++) {
        uint64_t r = testing_random(&seed);
        weir_buffer **slot = &slots[r % 8];
        if (*slot != NULL) {
            weir_buffer_unref(*slot);
            *slot = NULL;
        } else if (weir_cache_take(cache, 1 + (size_t)(r >> 20) % 3000, slot) != WEIR_OK) {
            return user;
        }
    }
    for (int i = 0; i < 8; i++) {
        weir_buffer_unref(slots[i]);
    }
    return NULL;
}

static void two_threads_in_one_trace(void **state)
{
    (void)state;
    static const char *const policies[] = {"fit", "pages", "mlx:cuda"};
    for (size_t i = 0; i < 3; i++) {
        pthread_t other;
        witness w = witness_make(policies[i], WEIR_LIMIT_AUTO, WEIR_NO_LIMIT);
        assert_ok(weir_trace_start(w.cache, file));
        assert_int_equal(pthread_create(&other, NULL, busy, w.cache), 0);
        assert_null(busy(w.cache));
        void *failed = NULL;
        assert_int_equal(pthread_join(other, &failed), 0);
        assert_null(failed);
        witness_agrees(&w);
        assert_ok(weir_trace_stop(w.cache));
        weir_cache_stats stats = stats_of(w.cache);
        weir_trace *trace = NULL;
        weir_replay_report report = {.report_size = sizeof report};
        assert_ok(weir_trace_open(file, &trace));
        assert_ok(weir_trace_replay(trace, NULL, &report));
        assert_true(report.takes == stats.hits + stats.misses);
        assert_true(report.stats.live_bytes == 0 && report.stats.live_buffers == 0);
        weir_trace_close(trace);
        witness_end(&w);
    }
}

static weir_err read_through(weir_trace *trace, uint64_t *ret_steps)
{
    weir_trace_step step;
    *ret_steps = 0;
    for (;;) {
        weir_err err = weir_trace_next(trace, &step);
        if (err != WEIR_OK || step.op == WEIR_TRACE_END) {
            return err;
        }
        ++*ret_steps;
    }
}

/* Truncated anywhere: its complete steps are read, and it is reported. Changed anywhere: read or
 * refused, nothing else. */
static void damaged_files(void **state)
{
    (void)state;
    static unsigned char bytes[8192];
    uint64_t seed = testing_seed("trace, damaged files"), steps = 0, last = 0;
    weir_cache *cache = cache_on("nominal", "mlx:cuda", MIB);
    assert_ok(weir_trace_start(cache, file));
    for (uint64_t i = 0; i < 100; i++) {
        weir_buffer *a = lend(cache, 1 + i * 7919), *b = lend(cache, BIN);
        weir_buffer_unref(a);
        weir_cache_limit_idle(cache, i * 4096);
        weir_buffer_unref(b);
    }
    assert_ok(weir_trace_stop(cache));
    weir_cache_destroy(cache);
    size_t size = read_file(file, bytes, sizeof bytes),
           head = (size_t)((unsigned char *)memchr(bytes, '\n', size) - bytes) + 1;
    weir_trace *trace = NULL;
    for (size_t cut = head; cut <= size; cut++) {
        write_file(other_file, bytes, cut);
        assert_ok(weir_trace_open(other_file, &trace));
        assert_ok(read_through(trace, &steps));
        assert_true(weir_trace_info_get(trace)->cut == (cut < size));
        assert_true(steps >= last && steps <= last + 1);
        last = steps;
        weir_trace_close(trace);
    }
    assert_true(last == 500);
    uint64_t refused = 0;
    for (int i = 0; i < 2000; i++) {
        size_t at = testing_random(&seed) % size;
        unsigned char kept = bytes[at];
        bytes[at] ^= (unsigned char)(1 + testing_random(&seed) % 255);
        write_file(other_file, bytes, size);
        bytes[at] = kept;
        trace = NULL;
        weir_err err = weir_trace_open(other_file, &trace);
        if (err == WEIR_OK) {
            err = read_through(trace, &steps);
        }
        assert_true(err == WEIR_OK || err == WEIR_E_RECORDING);
        refused += err != WEIR_OK;
        weir_trace_close(trace);
    }
    assert_true(refused > 0);

    static const struct {
        const char *text, *says;
    } wrong[] = {
        {"", "is empty"},
        {"# notes\n", "is no trace"},
        {"weir-trace 2 fit host none\n", "version 2"},
        {"weir-trace 1 fit host 12 parsecs\n", "kind"},
        {"weir-trace 1 fit host none\n\x03", "kind that this version"},
        {"weir-trace 1 fit host none\n\x01", "not live"},
        {"weir-trace 1 fit host none\n\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "64 bits"},
        {"step,op,slot,bytes,active,cached\n0,x,1,2,3,4\n", ":2: found '0,x,1,2,3,4'"},
        {"step,op,slot,bytes,active,cached\n0,a,-1,2,3,4\n", ":2: found"},
        {"step,op,slot,bytes,active,cached\n0,a,1,2,3,4,5\n", ":2: found"},
        {"step,op,slot,bytes,active,cached\n0,a,99999999999,2,3,4\n", ":2: found"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        write_file(other_file, wrong[i].text, strlen(wrong[i].text));
        weir_err err = weir_trace_open(other_file, &trace);
        bool opened = err == WEIR_OK;
        err = opened ? read_through(trace, &steps) : err;
        if (i == 3) { /* "12 parsecs" is two words: the limit is 12 */
            assert_int_equal(err, WEIR_OK);
        } else {
            assert_fails(err, WEIR_E_RECORDING, wrong[i].says);
        }
        if (opened) {
            weir_trace_close(trace);
        }
    }
    assert_int_equal(weir_trace_open("/nowhere", &trace), WEIR_E_IO);
    assert_int_equal(weir_trace_open("/tmp", &trace), WEIR_E_IO);
    weir_trace_close(NULL);
}

/* Hundreds of gigabytes in use, on any machine. */
static void large_replays(void **state)
{
    (void)state;
    FILE *out = fopen(other_file, "w");
    assert_non_null(out);
    fputs("step,op,slot,bytes,active,cached\n", out);
    for (int i = 0; i < 60; i++) {
        fprintf(out, "%d,a,%d,%llu,%llu,0\n", i, i, 8ull << 30, (i + 1) * (8ull << 30));
    }
    for (int i = 0; i < 60; i++) {
        fprintf(out, "%d,f,%d,0,%llu,%llu\n", 60 + i, i, (59 - i) * (8ull << 30),
                (i + 1) * (8ull << 30));
    }
    assert_int_equal(fclose(out), 0);
    weir_trace *trace = NULL;
    weir_replay_report report = {.report_size = sizeof report};
    weir_replay_options options = weir_replay_options_default();
    options.policy = "mlx:cuda";
    assert_ok(weir_trace_open(other_file, &trace));
    assert_ok(weir_trace_replay(trace, &options, &report));
    assert_true(report.rows == 120 && report.rows_failed == 0);
    assert_true(report.stats.idle_bytes == UINT64_C(480) << 30);
    options.memory_limit = UINT64_C(100) << 30;
    assert_ok(weir_trace_replay(trace, &options, &report));
    assert_true(report.refused == 60 - 12 && report.rows_failed > 0);
    assert_true(report.first_failed.step == 12);
    weir_trace_close(trace);
}
int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_recorded_is_replayed),
        cmocka_unit_test(it_starts_in_the_middle),
        cmocka_unit_test(two_threads_in_one_trace),
        cmocka_unit_test(damaged_files),
        cmocka_unit_test(large_replays),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

/* SPDX-License-Identifier: MIT
 *
 * Traces: what is recorded is what is read and replayed; stack distances against their definition; the
 * smallest limit against a search through all; cache_limit auto against the exact answer.
 */
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include <weir/trace.h>

#include "cache/cache.h"
#include "cache/distance.h"
#include "witness.h"

#define MIB (UINT64_C(1) << 20)
#define BIN UINT64_C(307200) /* 300 frames x 256 channels f32 */

/* ---- a file of our own ---------------------------------------------------------------------- */

static char folder[] = "/tmp/weir_trace_XXXXXX";
static char file[64], other_file[64];

static int make_folder(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    snprintf(file, sizeof file, "%s/trace", folder);
    snprintf(other_file, sizeof other_file, "%s/other", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(file);
    unlink(other_file);
    return rmdir(folder);
}

static void write_file(const char *path, const void *bytes, size_t count)
{
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(bytes, 1, count, out), count);
    assert_int_equal(fclose(out), 0);
}

static size_t read_file(const char *path, unsigned char *bytes, size_t most)
{
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    size_t count = fread(bytes, 1, most, in);
    fclose(in);
    return count;
}

static weir_cache *cache_on(const char *heap_name, const char *policy, uint64_t limit)
{
    weir_cache *cache = NULL;
    weir_cache_options options = weir_cache_options_default();
    assert_ok(weir_heap_find(heap_name, &options.heap));
    options.policy = policy;
    options.cache_limit = limit;
    assert_ok(weir_cache_create(&options, &cache));
    return cache;
}

static weir_buffer *lend(weir_cache *cache, uint64_t bytes)
{
    weir_buffer *buffer = NULL;
    assert_ok(weir_cache_take(cache, (size_t)bytes, &buffer));
    return buffer;
}

/* ---- recording and reading ------------------------------------------------------------------ */

#define STEPS 20000
#define SLOTS 64

typedef struct expected {
    weir_trace_op op;
    uint64_t bytes, live, idle;
    int buffer; /* which of ours */
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

/* Random traffic, written down twice: by the trace, and here. */
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
        weir_trace_info info = weir_trace_info_get(trace);
        assert_string_equal(info.policy, policies[i]);
        assert_string_equal(info.form, "weir");
        assert_true(info.cache_limit == 4 * MIB);
        for (int again = 0; again < 2; again++) {
            walk w = {.steps = steps};
            weir_replay_options options = weir_replay_options_default();
            weir_replay_report report;
            options.step = same_step;
            options.user = &w;
            assert_ok(weir_trace_replay(trace, &options, &report));
            assert_true(report.steps == count && w.at == count && report.rows == 0);
        }
        assert_false(weir_trace_info_get(trace).cut);
        weir_trace_close(trace);
    }
    static unsigned char bytes[1 << 20];
    size_t size = read_file(file, bytes, sizeof bytes);
    printf("%zu bytes for %d events\n", size, STEPS);
    assert_true(size < 4 * STEPS);
}

/* Bytes that are counted, gone when the recording ends; live ones come first; gives of older ones are
 * known by their number. */
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

    /* M2: it fits the limit or is refused; a file that cannot be made; a cache that goes while it records. */
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

    if (access("/dev/full", W_OK) == 0) { /* what cannot be written is said at the end */
        w = witness_make("fit", WEIR_NO_LIMIT, WEIR_NO_LIMIT);
        assert_ok(weir_trace_start(w.cache, "/dev/full"));
        assert_fails(weir_trace_stop(w.cache), WEIR_E_IO, strerror(ENOSPC));
        witness_agrees(&w);
        witness_end(&w);
    }
}

/* Two threads at once, auto choosing beside it: what is in the file is one order of all they did, and the
 * replay of it ends with what was live. */
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
        weir_replay_report report;
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

/* Cut anywhere: its whole steps are read, and it is said. Changed anywhere: read or refused, no more. */
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
        assert_true(weir_trace_info_get(trace).cut == (cut < size));
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

/* Hundreds of gigabytes live, on any machine. */
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
    weir_replay_report report;
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

/* ---- stack distances against their definition ------------------------------------------------ */

#define NAIVE 512

/* Idle buffers, the last one put at the end, each with the most that has ever lain above and with it. */
typedef struct naive {
    struct {
        uint64_t size, most;
    } idle[NAIVE];
    size_t count;
} naive;

static void naive_give(naive *n, uint64_t size)
{
    assert_true(n->count < NAIVE);
    n->idle[n->count].size = size;
    n->idle[n->count++].most = 0;
    uint64_t depth = 0;
    for (size_t i = n->count; i-- > 0;) {
        depth += n->idle[i].size;
        n->idle[i].most = depth > n->idle[i].most ? depth : n->idle[i].most;
    }
}

/* Distance of the topmost that serves; out goes the best fit of those within the limit, else the topmost. */
static uint64_t
naive_take(naive *n, uint64_t charged, uint64_t most, uint64_t limit, uint64_t *ret_size)
{
    size_t best = SIZE_MAX, topmost = SIZE_MAX;
    for (size_t i = n->count; i-- > 0;) {
        uint64_t size = n->idle[i].size;
        if (size < charged || size > most) {
            continue;
        }
        topmost = topmost == SIZE_MAX ? i : topmost;
        if (n->idle[i].most <= limit && (best == SIZE_MAX || size < n->idle[best].size)) {
            best = i;
        }
    }
    *ret_size = charged;
    if (topmost == SIZE_MAX) {
        return WEIRI_DISTANCE_NEVER;
    }
    uint64_t distance = n->idle[topmost].most;
    best = best == SIZE_MAX ? topmost : best;
    *ret_size = n->idle[best].size;
    memmove(&n->idle[best], &n->idle[best + 1], (--n->count - best) * sizeof n->idle[0]);
    return distance;
}

static void distances_are_what_they_mean(void **state)
{
    (void)state;
    static naive n;
    uint64_t seed = testing_seed("trace, distances"), forgotten = 0;
    for (int round = 0; round < 60; round++) {
        weir_cache *cache = cache_on("nominal", "mlx:cuda", WEIR_NO_LIMIT); /* for serves() */
        size_t room = round % 3 == 0 ? 8 : round % 3 == 1 ? 64 : 1024;
        uint64_t sizes = 1 + testing_random(&seed) % 12, live[SLOTS] = {0}, given = 0, exact = 0;
        void *memory = malloc(weiri_distance_bytes(room));
        assert_non_null(memory);
        assert_true(weiri_distance_runs(weiri_distance_bytes(room)) == room);
        weiri_distance d;
        weiri_distance_init(&d, round % 2 == 0 ? cache->policy : NULL, memory, room);
        n.count = 0;
        d.limit = round % 4 == 0 ? WEIR_NO_LIMIT : (testing_random(&seed) % 40) * 16384;
        for (int step = 0; step < 4000; step++) {
            uint64_t *slot = &live[testing_random(&seed) % SLOTS];
            if (*slot > 0) {
                if (n.count == NAIVE) {
                    break;
                }
                weiri_distance_give(&d, *slot);
                naive_give(&n, *slot);
                *slot = 0;
                given++;
                continue;
            }
            uint64_t asked = (1 + testing_random(&seed) % sizes) * 16384, size = 0, found = 0;
            uint64_t most =
                round % 2 == 0 ? cache->policy->ops->serves(cache->policy, asked) : asked;
            uint64_t is = naive_take(&n, asked, most, d.limit, &size);
            uint64_t distance = weiri_distance_take(&d, asked, &found);
            if (d.forgotten == 0) {
                assert_true(distance == is && found == size);
                exact += distance != WEIRI_DISTANCE_NEVER;
            } else if (round % 2 == 0) {
                break; /* another size may have been forgotten: from here on the two choose apart */
            } else {
                assert_true(distance == is || distance == WEIRI_DISTANCE_NEVER);
                forgotten += distance != is;
            }
            *slot = found;
        }
        assert_true(given > 0 && (room == 8 || exact > 0));
        free(memory);
        weir_cache_destroy(cache);
    }
    assert_true(forgotten > 0);
}

/* Idle bytes without a shape: the topmost serve. */
static void distances_without_shape(void **state)
{
    (void)state;
    weiri_policy_ops ops = {0};
    weiri_policy policy = {.ops = &ops};
    weiri_distance d;
    uint64_t size = 0;
    void *memory = malloc(weiri_distance_bytes(16));
    assert_non_null(memory);
    weiri_distance_init(&d, &policy, memory, 16);
    assert_true(weiri_distance_take(&d, 100, &size) == WEIRI_DISTANCE_NEVER);
    weiri_distance_give(&d, 1000);
    weiri_distance_give(&d, 500);
    assert_true(weiri_distance_take(&d, 100, &size) == 100 && size == 100);
    assert_true(weiri_distance_take(&d, 700, &size) == 800);
    weiri_distance_give(&d, 800);
    assert_true(weiri_distance_take(&d, 1500, &size) == 1500);
    assert_true(weiri_distance_take(&d, 1, &size) == WEIRI_DISTANCE_NEVER);
    free(memory);
}

/* ---- tune ------------------------------------------------------------------------------------ */

static uint64_t hits_at(weir_trace *trace, const char *policy, uint64_t limit)
{
    weir_replay_options options = weir_replay_options_default();
    weir_replay_report report;
    options.policy = policy;
    options.cache_limit = limit;
    options.fixed = true;
    assert_ok(weir_trace_replay(trace, &options, &report));
    return report.stats.hits;
}

/* A trace of few sizes, a factor of two apart: each serves only itself. Returns its takes. */
static uint64_t record_few_sizes(uint64_t *seed, int steps)
{
    weir_cache *cache = cache_on("nominal:host", "fit", WEIR_NO_LIMIT);
    weir_buffer *slots[12] = {NULL};
    assert_ok(weir_trace_start(cache, file));
    for (int step = 0; step < steps; step++) {
        weir_buffer **slot = &slots[testing_random(seed) % 12];
        if (*slot != NULL) {
            weir_buffer_unref(*slot);
            *slot = NULL;
        } else {
            *slot = lend(cache, UINT64_C(65536) << testing_random(seed) % 5);
        }
    }
    assert_ok(weir_trace_stop(cache));
    uint64_t takes = stats_of(cache).hits + stats_of(cache).misses;
    for (size_t i = 0; i < 12; i++) {
        weir_buffer_unref(slots[i]);
    }
    weir_cache_destroy(cache);
    return takes;
}

/* Every limit is tried: no smaller one reaches the rate than what tune names, and by distance alone already;
 * the curve is what replays find, from the largest size on. */
static void the_smallest_limit(void **state)
{
    (void)state;
    uint64_t seed = testing_seed("trace, the smallest limit");
    for (int round = 0; round < 12; round++) {
        uint64_t takes = record_few_sizes(&seed, 600);
        double wanted = (double)(1 + testing_random(&seed) % 95) / 100;
        weir_trace *trace = NULL;
        weir_tune_report report;
        assert_ok(weir_trace_open(file, &trace));
        assert_ok(weir_trace_tune(trace, NULL, wanted, &report));
        assert_true(report.takes == takes);
        double share = report.reachable ? wanted : wanted * report.best_rate;
        uint64_t limit = 0;
        while ((double)hits_at(trace, "fit", limit) < share * (double)takes - 1e-9) {
            limit += 65536;
        }
        if (report.limit != limit || report.distance_limit != limit) {
            fail_msg("rate %.2f: %llu by search, %llu by distance, %llu in all", wanted,
                     (unsigned long long)limit, (unsigned long long)report.distance_limit,
                     (unsigned long long)report.limit);
        }
        assert_true(report.limit_rate >= share - 1e-9 && (limit == 0 || report.below_rate < share));
        for (size_t i = 0; i < report.point_count; i++) {
            const weir_tune_point *p = &report.points[i];
            assert_true(p->limit < 16 * 65536 || p->distance_rate == p->replay_rate);
        }
        weir_trace_close(trace);
    }
}

static void what_tune_refuses(void **state)
{
    (void)state;
    weir_trace *trace = NULL;
    weir_tune_report report;
    write_file(other_file, "step,op,slot,bytes,active,cached\n", 33);
    assert_ok(weir_trace_open(other_file, &trace));
    assert_fails(weir_trace_tune(trace, "fit", 0.5, &report), WEIR_E_RECORDING, "no takes");
    assert_fails(weir_trace_tune(trace, "fit", 1.5, &report), WEIR_E_USAGE, "0 to 1");
    assert_fails(weir_trace_tune(trace, "fitt", 0.5, &report), WEIR_E_USAGE, "nearest is 'fit'");
    weir_trace_close(trace);
}

/* ---- auto ------------------------------------------------------------------------------------ */

/* A message: `count` buffers live together, and given back together. */
static void message(weir_cache *cache, const uint64_t *bytes, size_t count)
{
    weir_buffer *buffers[32];
    for (size_t i = 0; i < count; i++) {
        buffers[i] = lend(cache, bytes[i]);
    }
    for (size_t i = 0; i < count; i++) {
        weir_buffer_unref(buffers[i]);
    }
}

/* 20 buffers a message, every 300th message 2 to 40 times as long. */
static void stall_stream(weir_cache *cache, uint64_t *seed)
{
    for (int m = 0; m < 3000; m++) {
        uint64_t bytes[20];
        uint64_t size = m % 300 == 299 ? BIN * (2 + testing_random(seed) % 39) : BIN;
        for (size_t i = 0; i < 20; i++) {
            bytes[i] = size;
        }
        message(cache, bytes, 20);
    }
}

/* Eight lengths in turn, a factor of 1.5 apart. */
static void eight_shapes(weir_cache *cache, uint64_t *seed)
{
    (void)seed;
    for (int m = 0; m < 3000; m++) {
        uint64_t bytes[12], size = BIN;
        for (int i = 0; i < m % 8; i++) {
            size += size / 2;
        }
        for (size_t i = 0; i < 12; i++) {
            bytes[i] = size;
        }
        message(cache, bytes, 12);
    }
}

/* Ten lengths in turn, close enough to serve each other. */
static void ten_shapes(weir_cache *cache, uint64_t *seed)
{
    (void)seed;
    for (int m = 0; m < 3000; m++) {
        uint64_t bytes[12];
        for (size_t i = 0; i < 12; i++) {
            bytes[i] = BIN * (uint64_t)(1 + m % 10);
        }
        message(cache, bytes, 12);
    }
}

/* Lengths that drift around 300 frames, intermediates of three widths, and small ones. */
static void drifting_lengths(weir_cache *cache, uint64_t *seed)
{
    uint64_t frames = 300;
    for (int m = 0; m < 4000; m++) {
        uint64_t bytes[15], r = testing_random(seed);
        frames += r % 3;
        frames -= r >> 8 & 1 ? 2 : 0;
        frames = frames < 200 ? 200 : frames > 400 ? 400 : frames;
        for (size_t i = 0; i < 15; i++) {
            bytes[i] = i % 3 == 0 ? frames * 1024 : i % 3 == 1 ? frames * 256 : 640;
        }
        message(cache, bytes, 15);
    }
}

static const struct {
    const char *name;
    void (*make)(weir_cache *cache, uint64_t *seed);
    const char *policy;
    bool exact;     /* distances are: lengths do not serve each other, or hardly */
    uint64_t grain; /* idle memory is made of such pieces: auto can be one above */
} streams[] = {
    {"stall stream", stall_stream, "fit", true, 0},
    {"eight lengths in turn", eight_shapes, "fit", true, 0},
    {"drifting lengths", drifting_lengths, "fit", true, 0},
    {"ten lengths that serve each other", ten_shapes, "fit", false, 0},
    {"stall stream", stall_stream, "pages", true, 2 * MIB},
    {"eight lengths in turn", eight_shapes, "pages", true, 2 * MIB},
    {"drifting lengths", drifting_lengths, "pages", true, 2 * MIB},
};

/* Where lengths serve each other a small cache needs fewer buffers than distances say: auto is above the
 * smallest limit there, and must not be below. */
static void auto_beside_the_exact_answer(void **state)
{
    (void)state;
    uint64_t seed = testing_seed("trace, auto");
    for (size_t i = 0; i < sizeof streams / sizeof streams[0]; i++) {
        weir_cache *cache = cache_on("nominal:host", streams[i].policy, WEIR_NO_LIMIT);
        assert_ok(weir_trace_start(cache, file));
        streams[i].make(cache, &seed);
        assert_ok(weir_trace_stop(cache));
        weir_cache_destroy(cache);

        weir_trace *trace = NULL;
        weir_tune_report exact;
        weir_replay_report report;
        weir_replay_options options = weir_replay_options_default();
        options.cache_limit = WEIR_LIMIT_AUTO;
        assert_ok(weir_trace_open(file, &trace));
        assert_ok(weir_trace_tune(trace, NULL, 0.99, &exact));
        assert_ok(weir_trace_replay(trace, &options, &report));
        weir_trace_close(trace);
        uint64_t chosen = report.stats.auto_limit_bytes;
        double ratio = (double)chosen / (double)exact.limit;
        printf(
            "%s, %s: auto %llu B, exact %llu B (%+.1f %%), by distance %llu B; hits %.4f of %.4f\n",
            streams[i].policy, streams[i].name, (unsigned long long)chosen,
            (unsigned long long)exact.limit, 100 * (ratio - 1),
            (unsigned long long)exact.distance_limit,
            (double)report.stats.hits / (double)report.takes, exact.best_rate);
        assert_true(chosen == report.stats.cache_limit_bytes);
        assert_true(report.stats.idle_bytes <= chosen); /* M1 */
        bool within = (double)chosen <= 1.2 * (double)exact.limit + (double)streams[i].grain;
        assert_true(ratio >= 0.8 && (within || !streams[i].exact));
        ratio = (double)chosen / (double)exact.distance_limit;
        assert_true(streams[i].grain > 0 || (ratio >= 0.8 && ratio <= 1.2));
    }
}

/* Its bytes are stated and counted; M1 under a limit that changes by itself; a number ends it. */
static void auto_is_a_limit(void **state)
{
    (void)state;
    uint64_t seed = testing_seed("trace, auto is a limit");
    witness plain = witness_make("fit", WEIR_NO_LIMIT, WEIR_NO_LIMIT);
    witness w = witness_make("fit", WEIR_LIMIT_AUTO, WEIR_NO_LIMIT);
    assert_true(stats_of(w.cache).book_bytes ==
                stats_of(plain.cache).book_bytes + WEIRI_TUNER_BYTES);
    assert_true(stats_of(w.cache).cache_limit_bytes == WEIRI_AUTO_START);
    assert_true(stats_of(w.cache).auto_limit_bytes == WEIRI_AUTO_START);
    witness_end(&plain);
    weir_buffer *slots[SLOTS] = {NULL};
    for (int step = 0; step < 20000; step++) {
        uint64_t r = testing_random(&seed);
        weir_buffer **slot = &slots[r % SLOTS];
        if (*slot != NULL) {
            weir_buffer_unref(*slot);
            *slot = NULL;
        } else {
            assert_ok(weir_cache_take(w.cache, 1 + (r >> 16) % 4096 * (1 + step / 4000), slot));
        }
        weir_cache_stats s = stats_of(w.cache);
        assert_true(s.idle_bytes <= s.cache_limit_bytes); /* M1 */
        if (step % 64 == 0) {
            witness_agrees(&w);
        }
    }
    uint64_t chosen = stats_of(w.cache).auto_limit_bytes;
    assert_true(chosen > 0 && chosen < WEIRI_AUTO_START);
    assert_true(chosen == stats_of(w.cache).cache_limit_bytes);
    weir_cache_limit_idle(w.cache, 5);
    assert_true(stats_of(w.cache).cache_limit_bytes == 5 && stats_of(w.cache).idle_bytes == 0);
    assert_true(stats_of(w.cache).auto_limit_bytes == 0);
    weir_cache_limit_idle(w.cache, WEIR_LIMIT_AUTO);
    assert_true(stats_of(w.cache).cache_limit_bytes == chosen);
    for (size_t i = 0; i < SLOTS; i++) {
        weir_buffer_unref(slots[i]);
    }
    witness_agrees(&w);
    witness_end(&w);

    /* It fits the limit, or there is no cache; nor where the heap refuses. */
    weir_cache *cache = NULL;
    weir_cache_options options = weir_cache_options_default();
    options.heap = counting_heap();
    options.cache_limit = WEIR_LIMIT_AUTO;
    options.memory_limit = 50000;
    assert_fails(weir_cache_create(&options, &cache), WEIR_E_LIMIT, "98304 bytes");
    options.memory_limit = WEIR_NO_LIMIT;
    weir_heap_counting_fail(options.heap, 2, 1);
    assert_int_equal(weir_cache_create(&options, &cache), WEIR_E_NOMEM);
    assert_true(weir_heap_counting_counts(options.heap).bytes == 0);
    weir_heap_destroy(options.heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_recorded_is_replayed),
        cmocka_unit_test(it_starts_in_the_middle),
        cmocka_unit_test(two_threads_in_one_trace),
        cmocka_unit_test(damaged_files),
        cmocka_unit_test(large_replays),
        cmocka_unit_test(distances_are_what_they_mean),
        cmocka_unit_test(distances_without_shape),
        cmocka_unit_test(the_smallest_limit),
        cmocka_unit_test(what_tune_refuses),
        cmocka_unit_test(auto_beside_the_exact_answer),
        cmocka_unit_test(auto_is_a_limit),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

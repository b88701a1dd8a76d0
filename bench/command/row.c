/* SPDX-License-Identifier: MIT
 *
 * row.c: one row of `weir bench memory`, in a process of its own, so that the system's figures are
 * for this row only. Three kinds of work: intermediates of messages from a cache, as in array
 * libraries; weir's own chain; and the buffers of that chain if it ran without tiles. Does not
 * judge the results.
 */
#include "bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PAGE     4096
#define WARM_UP  50   /* messages, as in the published runs */
#define STEP     4096 /* per channel: more than that is a step */
#define HOT_SETS 200

bench_size bench_size_of(const bench_row *row, bool quick)
{
    bool chain = row->work == BENCH_TILED || row->work == BENCH_UNTILED;
    uint64_t rarer = !quick ? 1 : chain ? 50 : 10;
    bench_size size = {BENCH_CHANNELS / (quick && !chain ? 8 : 1), row->stream->messages / rarer,
                       300 / rarer};
    if (quick && row->stream->shapes > 1) /* each length once, and some messages after the last */
        size.messages = (row->stream->shapes + 1) * size.every;
    return size;
}

/* Frames of message number i. */
static uint64_t frames_of(const bench_row *row, const bench_size *size, uint64_t i)
{
    uint64_t frames = row->stream->frames, lengths = row->stream->shapes - 1;
    if (lengths == 0 || i % size->every != size->every - 1)
        return frames;
    /* goes through all of them: 17 is prime */
    return frames * (2 + (i / size->every) * 17 % lengths);
}

typedef struct measure {
    const bench_row *row;
    bool quick;
    bench_size size;
    weir_heap *heap; /* the counting heap: the independent check */
    weir_cache *cache;
    weir_buffer *source; /* [longest x channels] f32 */
    /* results */
    uint64_t frames, messages, idle_most, first, last, start, level, steps;
    uint64_t hot_takes, hot_hits;
    double seconds, hot_ns[2], cleared_s;
    json_t *samples;
} measure;

static double now_s(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static weir_cache_stats stats_of(const measure *m)
{
    weir_cache_stats stats = {.stats_size = sizeof stats};
    weir_cache_stats_read(m->cache, &stats);
    return stats;
}

/* Between two messages: what is allocated then is kept; a level that was never reached before is
 * a step. */
static void at_rest(measure *m, uint64_t every)
{
    uint64_t held = stats_of(m).held_bytes;
    if (m->messages == 1)
        m->first = m->level = held;
    if (held > m->level + STEP * m->size.channels) {
        m->steps++;
        m->level = held;
    }
    m->last = held;
    if ((m->messages - 1) % every == 0)
        json_array_append_new(
            m->samples, json_pack("[f, I]", (double)m->frames / BENCH_RATE_HZ, (json_int_t)held));
}

/* ---- intermediates --------------------------------------------------------------------------------- */

/* Like a library's elementwise functions: each reads one buffer and writes another. */
static void compute(float *to, const float *from, size_t values, bool scale)
{
    if (scale)
        for (size_t i = 0; i < values; i++)
            to[i] = from[i] * 1.0001f + 0.5f;
    else
        for (size_t i = 0; i < values; i++)
            to[i] = fabsf(from[i]);
}

static void fill(const measure *m, weir_buffer *const *buffers, size_t k, size_t bytes)
{
    char *memory = buffers[k]->memory;
    if (m->quick) {
        for (size_t at = 0; at < bytes; at += PAGE)
            memory[at] = 1;
        return;
    }
    const void *from = k == 0 ? m->source->memory : buffers[k - 1]->memory;
    compute(buffers[k]->memory, from, bytes / sizeof(float), k % 2 == 1);
}

static void look(measure *m)
{
    uint64_t idle = stats_of(m).idle_bytes;
    m->idle_most = idle > m->idle_most ? idle : m->idle_most;
}

/* One message: all its intermediates are in use at its end, and freed together. */
static weir_err message(measure *m, uint64_t frames)
{
    weir_buffer *buffers[BENCH_BUFFERS];
    size_t bytes = (size_t)frames * m->size.channels * sizeof(float), count = 0;
    weir_err err = WEIR_OK;
    bool hot = frames == m->row->stream->frames;
    uint64_t hits = stats_of(m).hits;
    for (; count < BENCH_BUFFERS && err == WEIR_OK; count++) {
        err = weir_cache_take(m->cache, bytes, &buffers[count]);
        if (err != WEIR_OK)
            break;
        look(m);
        fill(m, buffers, count, bytes);
    }
    if (hot && m->messages >= WARM_UP) {
        m->hot_takes += count;
        m->hot_hits += stats_of(m).hits - hits;
    }
    for (size_t i = 0; i < count; i++) {
        weir_buffer_unref(buffers[i]);
        look(m);
    }
    return err;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* ns to allocate and free a buffer of the usual size, for the buffers of a message: the median
 * set. */
static weir_err hot_pair(measure *m, double *ret_ns)
{
    double sets[HOT_SETS];
    size_t bytes = (size_t)m->row->stream->frames * m->size.channels * sizeof(float);
    weir_err err = WEIR_OK;
    for (size_t i = 0; i < HOT_SETS && err == WEIR_OK; i++) {
        weir_buffer *buffers[BENCH_BUFFERS];
        size_t count = 0;
        double start = now_s();
        while (count < BENCH_BUFFERS && err == WEIR_OK) {
            err = weir_cache_take(m->cache, bytes, &buffers[count]);
            count += err == WEIR_OK;
        }
        for (size_t k = 0; k < count; k++)
            weir_buffer_unref(buffers[k]);
        sets[i] = (now_s() - start) / BENCH_BUFFERS * 1e9;
    }
    qsort(sets, HOT_SETS, sizeof(*sets), compare);
    *ret_ns = sets[HOT_SETS / 2];
    return err;
}

static void clear_in_time(measure *m)
{
    double clear_s = m->row->clear_s / (m->quick ? 10 : 1); /* stalls come that much more often */
    double now = (double)m->frames / BENCH_RATE_HZ;
    if (clear_s > 0 && now - m->cleared_s >= clear_s) {
        weir_cache_clear(m->cache);
        m->cleared_s = now;
    }
}

static weir_err intermediates(measure *m)
{
    const bench_stream *stream = m->row->stream;
    uint64_t longest = stream->frames * (stream->shapes > 1 ? stream->shapes : 1);
    uint64_t messages = m->size.messages;
    size_t bytes = (size_t)longest * m->size.channels * sizeof(float);
    weir_cache_options options = weir_cache_options_default();
    options.heap = m->heap;
    options.policy = m->row->policy;
    options.cache_limit = m->row->limit;
    weir_err err = weir_cache_create(&options, &m->cache);
    if (err == WEIR_OK)
        err = weir_cache_take(m->cache, bytes, &m->source);
    if (err != WEIR_OK)
        return err;
    memset(m->source->memory, 0x3d, bytes);
    m->start = stats_of(m).held_bytes;
    double begun = now_s();
    for (uint64_t i = 0; i < messages && err == WEIR_OK && !cli_stop; i++) {
        uint64_t frames = frames_of(m->row, &m->size, i);
        err = message(m, frames);
        m->frames += frames;
        m->messages++;
        clear_in_time(m);
        at_rest(m, messages / BENCH_SAMPLES + 1);
        if (err == WEIR_OK && i == WARM_UP) {
            double before = now_s();
            err = hot_pair(m, &m->hot_ns[0]);
            begun += now_s() - before;
        }
    }
    m->seconds = now_s() - begun;
    return err == WEIR_OK ? hot_pair(m, &m->hot_ns[1]) : err;
}

/* ---- the chain --------------------------------------------------------------------------------------- */

static weir_err ignore(void *user, const weir_message *block)
{
    (void)user;
    (void)block;
    return WEIR_OK;
}

static weir_err chain(measure *m, uint64_t *ret_plan_bytes, weir_chain **ret_chain)
{
    weir_chain_options options = weir_chain_options_default();
    options.heap = m->heap;
    options.policy = m->row->policy;
    options.cache_limit = m->row->limit;
    weir_spec spec;
    const weir_plan *plan = NULL;
    weir_err err = bench_chain(0, BENCH_UNITS - 1, &options, &spec, ret_chain, &plan);
    if (err != WEIR_OK)
        return err;
    *ret_plan_bytes = plan->total_bytes;
    m->cache = weir_chain_cache(*ret_chain);
    m->start = stats_of(m).held_bytes;
    float *samples = cli_alloc((size_t)BENCH_LONGEST * BENCH_CHANNELS, sizeof(float));
    bench_noise(samples);
    weir_message pushed = {.spec = &spec, .data = samples, .first_index = WEIR_INDEX_NEXT};
    double begun = now_s();
    for (uint64_t i = 0; i < m->size.messages && err == WEIR_OK && !cli_stop; i++) {
        pushed.frames = (size_t)frames_of(m->row, &m->size, i);
        err = weir_chain_push(*ret_chain, &pushed, ignore, NULL);
        m->frames += pushed.frames;
        m->messages++;
        look(m);
        at_rest(m, m->size.messages / BENCH_SAMPLES + 1);
    }
    m->seconds = now_s() - begun;
    free(samples);
    return err;
}

/* The buffers alone: nothing is computed, so there is no speed. */
static weir_err untiled(measure *m, weir_chain **ret_chain)
{
    weir_chain_options options = weir_chain_options_default();
    weir_cache_options of_cache = weir_cache_options_default();
    of_cache.heap = m->heap;
    of_cache.policy = m->row->policy;
    of_cache.cache_limit = m->row->limit;
    weir_spec spec;
    const weir_plan *plan = NULL;
    weir_err err = bench_chain(0, BENCH_UNITS - 1, &options, &spec, ret_chain, &plan);
    if (err == WEIR_OK)
        err = weir_cache_create(&of_cache, &m->cache);
    if (err != WEIR_OK)
        return err;
    m->start = stats_of(m).held_bytes;
    for (uint64_t i = 0; i < m->size.messages && err == WEIR_OK && !cli_stop; i++) {
        uint64_t frames = frames_of(m->row, &m->size, i);
        err = weir_chain_untiled(*ret_chain, m->cache, m->frames, frames);
        m->frames += frames;
        m->messages++;
        look(m);
        at_rest(m, m->size.messages / BENCH_SAMPLES + 1);
    }
    return err;
}

static weir_err work(measure *m, uint64_t *ret_plan_bytes, weir_chain **ret_chain)
{
    return m->row->work == BENCH_INTERMEDIATES ? intermediates(m)
           : m->row->work == BENCH_UNTILED     ? untiled(m, ret_chain)
                                               : chain(m, ret_plan_bytes, ret_chain);
}

/* ---- figures ----------------------------------------------------------------------------------------- */

/* KiB of a line in a file of /proc/self, as bytes; 0 if it is missing. */
static uint64_t proc_bytes(const char *path, const char *name)
{
    char line[256];
    unsigned long long kib = 0;
    FILE *file = fopen(path, "r");
    size_t length = strlen(name);
    while (file && fgets(line, sizeof(line), file))
        if (strncmp(line, name, length) == 0 && sscanf(line + length, ": %llu", &kib) == 1)
            break;
    if (file)
        fclose(file);
    return (uint64_t)kib << 10;
}

static void put(json_t *json, const char *key, uint64_t bytes)
{
    json_object_set_new(json, key, cli_json_count(bytes));
}

static json_t *figures(const measure *m, uint64_t plan_bytes)
{
    weir_cache_stats stats = stats_of(m);
    weir_heap_counts counts = weir_heap_counting_counts(m->heap);
    json_t *json = json_object();
    put(json, "channels", m->size.channels);
    put(json, "messages", m->messages);
    json_object_set_new(json, "stream_s", cli_json_real((double)m->frames / BENCH_RATE_HZ));
    if (m->seconds > 0)
        json_object_set_new(json, "x_real_time",
                            cli_json_real((double)m->frames / BENCH_RATE_HZ / m->seconds));
    put(json, "idle_bytes", stats.idle_bytes);
    put(json, "idle_most_bytes", m->idle_most);
    put(json, "live_peak_bytes", stats.live_peak_bytes);
    put(json, "held_peak_bytes", stats.held_peak_bytes);
    put(json, "heap_bytes", counts.bytes);
    put(json, "heap_peak_bytes", counts.bytes_peak);
    put(json, "rss_bytes", proc_bytes("/proc/self/smaps_rollup", "Rss"));
    put(json, "pss_bytes", proc_bytes("/proc/self/smaps_rollup", "Pss"));
    put(json, "rss_peak_bytes", proc_bytes("/proc/self/status", "VmHWM"));
    put(json, "first_bytes", m->first);
    put(json, "last_bytes", m->last);
    put(json, "growth_bytes", m->last > m->start ? m->last - m->start : 0);
    put(json, "steps", m->steps);
    put(json, "hits", stats.hits);
    put(json, "misses", stats.misses);
    put(json, "evictions", stats.evictions);
    put(json, "refusals", stats.refusals);
    if (m->hot_takes > 0)
        json_object_set_new(json, "hot_hit_rate",
                            cli_json_real((double)m->hot_hits / (double)m->hot_takes));
    if (m->hot_ns[1] > 0) {
        json_object_set_new(json, "hot_ns_first", cli_json_real(m->hot_ns[0]));
        json_object_set_new(json, "hot_ns_last", cli_json_real(m->hot_ns[1]));
    }
    if (plan_bytes > 0)
        put(json, "plan_bytes", plan_bytes);
    json_object_set(json, "samples", m->samples);
    return json;
}

int bench_row_run(const bench_row *row, bool quick)
{
    measure m = {.row = row, .quick = quick, .size = bench_size_of(row, quick)};
    m.samples = json_array();
    weir_heap *host = NULL;
    weir_chain *made = NULL;
    uint64_t plan_bytes = 0;
    weir_err err = weir_heap_find("host", &host);
    if (err == WEIR_OK)
        err = weir_heap_counting_create(host, &m.heap);
    if (err == WEIR_OK)
        err = work(&m, &plan_bytes, &made);
    int status = err != WEIR_OK ? cli_fail_weir(err) : cli_stop ? 130 : 0;
    if (status == 0) {
        json_t *json = figures(&m, plan_bytes);
        json_dumpf(json, stdout, JSON_COMPACT);
        json_decref(json);
        status = cli_finish(0);
    }
    weir_buffer_unref(m.source);
    if (row->work != BENCH_TILED) /* else it is the chain's */
        weir_cache_destroy(m.cache);
    weir_chain_destroy(made);
    weir_heap_destroy(m.heap);
    json_decref(m.samples);
    return status;
}

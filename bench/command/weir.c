/* SPDX-License-Identifier: MIT
 *
 * weir.c: weir's part of `weir bench`: chains to which messages in memory are pushed. The sink
 * ignores the output.
 */
#include "bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const char *const bench_units[BENCH_UNITS] = {
    "common_reference: {}",
    "butterworth: {order: 4, cuton: 300 Hz, cutoff: 6 kHz}",
    "pow: {exponent: 2}",
    "binned_aggregate: {bin_duration: 10 ms, operation: mean}",
    "log: {}",
    "adaptive_standard_scaler: {time_constant: 10 s}",
};

void bench_noise(float *samples)
{
    uint64_t random = 1;
    for (size_t i = 0; i < (size_t)BENCH_LONGEST * BENCH_CHANNELS; i++) {
        double sum = 0; /* of twelve uniform numbers: about normal, standard deviation 1 */
        for (int k = 0; k < 12; k++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            sum += (double)(random >> 11) * 0x1p-53;
        }
        samples[i] = (float)(sum - 6);
    }
}

void bench_input_reserve(bench_input *input, size_t values, bool f64)
{
    const size_t noise = (size_t)BENCH_LONGEST * BENCH_CHANNELS;
    values = values < noise ? noise : values;
    if (input->values32 < values) {
        free(input->f32);
        input->f32 = cli_alloc(values, sizeof(float));
        input->values32 = values;
        bench_noise(input->f32);
        for (size_t at = noise; at < values; at += noise)
            memcpy(input->f32 + at, input->f32,
                   (values - at < noise ? values - at : noise) * sizeof(float));
    }
    if (f64 && input->values64 < values) {
        free(input->f64);
        input->f64 = cli_alloc(values, sizeof(double));
        input->values64 = values;
        for (size_t i = 0; i < values; i++)
            input->f64[i] = (double)input->f32[i];
    }
}

void bench_input_free(bench_input *input)
{
    free(input->f32);
    free(input->f64);
}

static weir_err ignore(void *user, const weir_message *block)
{
    *(uint64_t *)user += block->frames;
    return WEIR_OK;
}

static double now_s(bool thread_time)
{
    struct timespec time;
    clock_gettime(thread_time ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* "binned_aggregate: {bin_duration: 10 ms, ..." with another bin duration. */
static size_t put_unit(char *text, size_t size, const char *unit, const char *bin)
{
    const char *at = bin ? strstr(unit, "10 ms") : NULL;
    int put = at ? snprintf(text, size, "  - %.*s%s%s\n", (int)(at - unit), unit, bin, at + 5)
                 : snprintf(text, size, "  - %s\n", unit);
    return (size_t)put;
}

static weir_err make_chain(const bench_job *job,
                           const weir_chain_options *options,
                           const char *limit,
                           weir_spec *spec,
                           weir_chain **ret_chain,
                           const weir_plan **ret_plan)
{
    char text[1024];
    weir_chain_options flags = options ? *options : weir_chain_options_default();
    if (job->threads > 0)
        flags.threads = job->threads;
    if (job->tile > 0)
        flags.tile_frames = job->tile;
    if (job->one_by_one)
        flags.fuse = false;
    size_t used = (size_t)snprintf(text, sizeof(text), "%schain:\n", limit);
    for (size_t i = job->first; i <= job->last; i++)
        used += put_unit(text + used, sizeof(text) - used, job->units[i], job->bin);
    weir_chain *chain = NULL;
    *spec = weir_spec_make(job->dtype, BENCH_RATE_HZ, job->channels, NULL, NULL);
    weir_err err = weir_config_parse(text, used, "bench", &flags, &chain);
    if (err == WEIR_OK)
        err = weir_chain_plan(chain, spec, ret_plan);
    if (err != WEIR_OK) {
        weir_chain_destroy(chain);
        return err;
    }
    *ret_chain = chain;
    return WEIR_OK;
}

weir_err bench_chain(size_t first,
                     size_t last,
                     const weir_chain_options *options,
                     weir_spec *spec,
                     weir_chain **ret_chain,
                     const weir_plan **ret_plan)
{
    const bench_job job = {
        .units = bench_units,
        .first = first,
        .last = last,
        .dtype = WEIR_F32,
        .channels = BENCH_CHANNELS,
    };
    return make_chain(&job, options, "memory_limit: 64 MiB\n", spec, ret_chain, ret_plan);
}

/* ---- pushes in turn ------------------------------------------------------------------------------ */

enum { MOST_TIMES = 1 << 16 };
#define BATCH_S 50e-6 /* reading the clock takes 25 ns, with processor time 300: negligible */

typedef struct pushing {
    weir_chain *chain;
    weir_message message;
    const unsigned char *data;
    size_t message_bytes, ring, next;
    uint64_t out;
    float *times; /* ns per push, for each batch; at most this many */
    size_t count;
    bool thread_time;
} pushing;

static weir_err push_some(pushing *at, size_t pushes)
{
    weir_err err = WEIR_OK;
    for (size_t i = 0; i < pushes && err == WEIR_OK; i++) {
        at->message.data = at->data + at->next * at->message_bytes;
        at->next = at->next + 1 == at->ring ? 0 : at->next + 1;
        err = weir_chain_push(at->chain, &at->message, ignore, &at->out);
    }
    return err;
}

/* For that many seconds, reading the clock after each `batch` pushes. */
static weir_err push_for(pushing *at, size_t batch, double seconds, double *ret_mean)
{
    uint64_t pushes = 0;
    double start = now_s(at->thread_time), before = start;
    at->count = 0;
    do {
        weir_err err = push_some(at, batch);
        if (err != WEIR_OK)
            return err;
        double now = now_s(at->thread_time);
        at->times[at->count % MOST_TIMES] = (float)((now - before) * 1e9 / (double)batch);
        at->count++;
        pushes += batch;
        before = now;
    } while (before - start < seconds && !cli_stop);
    *ret_mean = (before - start) * 1e9 / (double)pushes;
    return WEIR_OK;
}

static int compare(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

weir_err bench_weir(
    bench_input *input, const bench_job *job, double seconds, bool each, bench_taken *ret_taken)
{
    weir_spec spec;
    const weir_plan *plan = NULL;
    size_t values = (size_t)(job->frames * job->channels);
    pushing at = {.message_bytes = values * weir_dtype_bytes(job->dtype),
                  .thread_time = job->thread_time};
    bench_input_reserve(input, job->walk > values ? job->walk : values, job->dtype == WEIR_F64);
    size_t there = (job->dtype == WEIR_F64 ? input->values64 : input->values32) / values;
    at.ring = job->walk > 0 ? job->walk / values : there < BENCH_RING ? there : BENCH_RING;
    at.data = job->dtype == WEIR_F64 ? (const unsigned char *)input->f64
                                     : (const unsigned char *)input->f32;
    weir_err err = make_chain(job, NULL, "", &spec, &at.chain, &plan);
    if (err != WEIR_OK)
        return err;
    at.message = (weir_message){
        .spec = &spec, .frames = (size_t)job->frames, .first_index = WEIR_INDEX_NEXT};
    at.times = cli_alloc(MOST_TIMES, sizeof(*at.times));
    double mean = 0;
    err = push_for(&at, 1, fmin(0.1, seconds), &mean); /* a warm-up */
    size_t batch = each || mean <= 0 ? 1 : (size_t)fmax(1, BATCH_S * 1e9 / mean);
    if (err == WEIR_OK)
        err = push_for(&at, batch, seconds, &mean);
    size_t count = at.count < MOST_TIMES ? at.count : MOST_TIMES;
    if (err == WEIR_OK) {
        qsort(at.times, count, sizeof(*at.times), compare);
        *ret_taken = (bench_taken){mean, at.times[count / 2], at.times[count * 99 / 100],
                                   at.times[count / 10]};
    }
    free(at.times);
    weir_chain_destroy(at.chain);
    return err;
}

weir_err bench_weir_memory(const float *samples,
                           uint64_t frames,
                           uint64_t every,
                           uint64_t messages,
                           bench_memory *ret_memory)
{
    weir_spec spec;
    weir_chain *chain = NULL;
    const weir_plan *plan = NULL;
    weir_err err = bench_chain(0, BENCH_UNITS - 1, NULL, &spec, &chain, &plan);
    if (err != WEIR_OK)
        return err;
    uint64_t plan_bytes = plan->total_bytes, out = 0, stalls = 0;
    weir_message message = {.spec = &spec, .data = samples, .first_index = WEIR_INDEX_NEXT};
    for (uint64_t i = 0; i < messages && err == WEIR_OK && !cli_stop; i++) {
        message.frames = (size_t)frames;
        if (every != 0 && i % every == every - 1)
            message.frames *=
                2 + (size_t)(stalls++ * 17 % 39); /* 17 and 39: goes through all of 2..40 */
        err = weir_chain_push(chain, &message, ignore, &out);
    }
    weir_cache_stats stats = {.stats_size = sizeof(stats)};
    weir_cache_stats_read(weir_chain_cache(chain), &stats);
    weir_chain_destroy(chain);
    if (err == WEIR_OK)
        *ret_memory = (bench_memory){messages, plan_bytes, stats.held_peak_bytes,
                                     stats.live_peak_bytes, stats.refusals};
    return err;
}

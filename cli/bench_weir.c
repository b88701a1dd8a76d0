/* SPDX-License-Identifier: MIT
 *
 * bench_weir.c: weir's own side of `weir bench`: chains that are pushed from memory, in one thread.
 * The output goes to a sink that looks at nothing.
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
        double sum = 0; /* of twelve uniform numbers: about normal, deviation 1 */
        for (int k = 0; k < 12; k++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            sum += (double)(random >> 11) * 0x1p-53;
        }
        samples[i] = (float)(sum - 6);
    }
}

static weir_err ignore(void *user, const weir_message *block)
{
    *(uint64_t *)user += block->frames;
    return WEIR_OK;
}

static double now_s(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

weir_err bench_chain(size_t first,
                     size_t last,
                     const weir_chain_options *options,
                     weir_spec *spec,
                     weir_chain **ret_chain,
                     const weir_plan **ret_plan)
{
    char text[1024];
    weir_chain_options flags = options ? *options : weir_chain_options_default();
    size_t used = (size_t)snprintf(text, sizeof(text), "memory_limit: 64 MiB\nchain:\n");
    for (size_t i = first; i <= last; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "  - %s\n", bench_units[i]);
    weir_chain *chain = NULL;
    *spec = weir_spec_make(WEIR_F32, BENCH_RATE_HZ, BENCH_CHANNELS, NULL, NULL);
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

weir_err
bench_weir(const float *samples, size_t first, size_t last, double seconds, double *ret_x_real_time)
{
    weir_spec spec;
    weir_chain *chain = NULL;
    const weir_plan *plan = NULL;
    weir_err err = bench_chain(first, last, NULL, &spec, &chain, &plan);
    if (err != WEIR_OK)
        return err;
    weir_message message = {.spec = &spec, .frames = BENCH_FRAMES, .first_index = WEIR_INDEX_NEXT};
    uint64_t pushes = 0, before = 0, out = 0;
    double took = 0;
    for (int measured = 0; measured < 2 && err == WEIR_OK; measured++) { /* a warm-up first */
        before = pushes;
        double start = now_s();
        do {
            size_t at = (size_t)(pushes % BENCH_RING) * BENCH_FRAMES * BENCH_CHANNELS;
            message.data = samples + at;
            err = weir_chain_push(chain, &message, ignore, &out);
            pushes++;
            took = now_s() - start;
        } while (err == WEIR_OK && took < (measured ? seconds : fmin(0.1, seconds)));
    }
    weir_chain_destroy(chain);
    if (err == WEIR_OK)
        *ret_x_real_time = (double)((pushes - before) * BENCH_FRAMES) / BENCH_RATE_HZ / took;
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
                2 + (size_t)(stalls++ * 17 % 39); /* 17 and 39: all of 2..40 in turn */
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

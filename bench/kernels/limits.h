/* SPDX-License-Identifier: MIT
 *
 * limits.h: loops of only what limits a kernel: arithmetic in registers, reading and writing bytes.
 * Compiled once per SIMD level, like kernels, so that a kernel is compared with the limit of its
 * own level.
 */
#ifndef BENCH_LIMITS_H
#define BENCH_LIMITS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct bench_limits {
    const char *level;
    size_t vector_bytes;
    bool fused; /* a multiply-add is one instruction; else two */
    /* Independent multiply-adds of f64 vectors: that many per round. */
    void (*multiply_adds)(size_t rounds);
    size_t multiply_adds_a_round;
    /* The mix of a band-pass section (an addition, two multiply-adds), again independent. On
     * processors with separate adders this is faster than three multiply-adds. */
    void (*sections)(size_t rounds);
    size_t sections_a_round;
    /* Bytes are a multiple of 1024, memory of 64. */
    void (*copy)(void *to, const void *from, size_t bytes);
    double (*read)(const void *from, size_t bytes);
} bench_limits;

/* For the level of that name, or NULL. */
const bench_limits *bench_limits_of(const char *level);

#endif

/* SPDX-License-Identifier: MIT
 *
 * cases.h: the kernels that are measured and counted, one line each: cases.c.
 */
#ifndef BENCH_CASES_H
#define BENCH_CASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a kernel is given: tiles [frames x channels], as a unit gives it. */
typedef struct bench_tile {
    size_t channels, frames;
    float *in32;      /* noise, deviation 1 */
    float *squares32; /* its squares, none 0 */
    double *in64;
    double *squares64;
    void *out; /* f64 fits */
    void *out_memory;
    double *state;
    void *scratch;
    uint8_t *started;
    uint64_t *missing;
} bench_tile;

/* The least that the arithmetic of a kernel takes for one sample. */
typedef struct bench_case {
    const char *name;
    const char *dtype; /* of the stream */
    void (*run)(bench_tile *tile);
    double multiply_adds; /* a * b + c */
    double others;        /* additions, products, comparisons by themselves */
    int value_bytes;      /* that they are done in: 4 or 8 */
    double bytes_read, bytes_written;
    double
        sections; /* band-pass ones, all there is to it but `others` that are products; 0 = it is no filter */
    const char *counted; /* how */
} bench_case;

extern const bench_case bench_cases[]; /* ended by a NULL name */

/* Makes the tile: false where there is no memory, or too much is asked. */
bool bench_tile_init(bench_tile *tile, size_t channels, size_t frames);
void bench_tile_fini(bench_tile *tile);
/* States to zero, as before a kernel's first frame. */
void bench_tile_clear(bench_tile *tile);

#endif

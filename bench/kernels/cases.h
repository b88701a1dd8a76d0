/* SPDX-License-Identifier: MIT
 *
 * cases.h: the kernels that are measured and counted; cases.c has one line for each.
 */
#ifndef BENCH_CASES_H
#define BENCH_CASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Input of a kernel: tiles [frames x channels], as a unit passes them. */
typedef struct bench_tile {
    size_t channels, frames;
    float *in32;      /* noise, standard deviation 1 */
    float *squares32; /* its squares, none 0 */
    double *in64;
    double *squares64;
    void *out; /* large enough for f64 */
    void *out_memory;
    double *state;
    void *scratch;
    uint8_t *started;
    uint64_t *missing;
} bench_tile;

/* The least arithmetic of a kernel for one sample. */
typedef struct bench_case {
    const char *name;
    const char *dtype; /* of the stream */
    void (*run)(bench_tile *tile);
    double multiply_adds; /* a * b + c */
    double others;        /* separate additions, products, comparisons */
    int value_bytes;      /* in which they are computed: 4 or 8 */
    double bytes_read, bytes_written;
    double
        /* band-pass sections, which are all of it except `others`, products; 0 = not a filter */
        sections;
    const char *counted; /* how */
} bench_case;

extern const bench_case bench_cases[]; /* ended by a NULL name */

/* Creates the tile: false if there is no memory, or too much is requested. */
bool bench_tile_init(bench_tile *tile, size_t channels, size_t frames);
void bench_tile_fini(bench_tile *tile);
/* Sets states to zero, as before a kernel's first frame. */
void bench_tile_clear(bench_tile *tile);

#endif

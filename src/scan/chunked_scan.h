/* SPDX-License-Identifier: MIT
 *
 * chunked_scan.h: drives a recurrence over time through launches of a few fixed sizes, for launchers that
 * need them (a kernel compiled a size, a graph captured a size). Each launch takes the smallest allowed size
 * that holds all that remains, else the largest; a last chunk that is short is padded with zeros and the
 * kernel is told how many of its frames are valid. Outputs lie one behind the other in one buffer, whose
 * length is on the grid of sizes whatever the message's is, and are trimmed once: by saying how many frames
 * are valid.
 *
 * Chunks come from what remains of a message, so this is no part of S1's promise and tiled chains do not use
 * it; a recurrence whose result does not depend on the cut keeps that here too.
 */
#ifndef WEIRI_CHUNKED_SCAN_H
#define WEIRI_CHUNKED_SCAN_H

#include <weir/cache.h>

#include "scan/recurrence.h"

#define WEIRI_CHUNK_SIZES_MAX 16
#define WEIRI_CHUNK_MAX       ((size_t)1 << 20) /* frames */

typedef struct weiri_chunk_sizes {
    size_t count;
    size_t sizes[WEIRI_CHUNK_SIZES_MAX]; /* rising, each once */
} weiri_chunk_sizes;

/* From a setting: any order. WEIR_E_CHAIN, the detail starts with "chunk_sizes": none, too many, one that is
 * not a whole number from 1 to WEIRI_CHUNK_MAX. */
weir_err weiri_chunk_sizes_read(const double *numbers, size_t count, weiri_chunk_sizes *ret_sizes);

/* Size of the next launch, of what remains > 0. */
size_t weiri_chunk_next(const weiri_chunk_sizes *sizes, size_t remaining);
/* Frames of all launches for a message: what its output buffer has room for. 0 for 0. */
size_t weiri_chunk_total(const weiri_chunk_sizes *sizes, size_t frames);

/* One launch: `size` rows of in to out, of which the first `valid` are frames. Rows behind them are zeros in
 * and of no account out. The state after it is the one at the last valid frame. */
typedef weir_err weiri_chunk_fn(void *user, const void *in, void *out, size_t size, size_t valid);

typedef struct weiri_chunk_kernel {
    weiri_chunk_fn *launch;
    void *user;
    size_t in_row_bytes, out_row_bytes;
} weiri_chunk_kernel;

/* A message through launches. *ret_out holds weiri_chunk_total(frames) rows, the first `frames` valid, and is
 * the caller's; NULL where frames is 0. Errors of the cache, of a launch; the state is then in between. */
weir_err weiri_chunked_scan(const weiri_chunk_sizes *sizes,
                            const weiri_chunk_kernel *kernel,
                            weir_cache *cache,
                            const void *in,
                            size_t frames,
                            weir_buffer **ret_out);

/* The same for a recurrence on the host: what a device's launcher is held to. Bit-equal to
 * weiri_recurrence_process of the whole message. */
weir_err weiri_chunked_recurrence(const weiri_chunk_sizes *sizes,
                                  weiri_recurrence *recurrence,
                                  weir_cache *cache,
                                  const void *in,
                                  size_t frames,
                                  weir_buffer **ret_out);

#endif

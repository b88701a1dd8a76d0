/* SPDX-License-Identifier: MIT
 *
 * chunked_scan.h: runs a recurrence over time in launches of a few fixed sizes, for launchers that
 * need them (a kernel compiled or a graph captured for each size). Each launch has the smallest
 * allowed size that covers all remaining frames, else the largest; a last chunk that is too short
 * is padded with zeros, and the kernel gets the number of its valid frames. The outputs are stored
 * one after the other in one buffer, whose length is on the grid of sizes whatever the message's
 * length is, and are trimmed once: by stating how many frames are valid.
 *
 * Chunks depend on the length of a message, so this is not covered by S1 and tiled chains do not
 * use it; a recurrence whose result does not depend on message boundaries keeps that property here.
 */
#ifndef WEIRI_CHUNKED_SCAN_H
#define WEIRI_CHUNKED_SCAN_H

#include <weir/cache.h>

#include "scan/recurrence.h"

#define WEIRI_CHUNK_SIZES_MAX 16
#define WEIRI_CHUNK_MAX       ((size_t)1 << 20) /* frames */

typedef struct weiri_chunk_sizes {
    size_t count;
    size_t sizes[WEIRI_CHUNK_SIZES_MAX]; /* increasing, each once */
} weiri_chunk_sizes;

/* From a setting, in any order. WEIR_E_CHAIN, with a detail that starts with "chunk_sizes":
 * none, too many, one that is not a whole number from 1 to WEIRI_CHUNK_MAX. */
weir_err weiri_chunk_sizes_read(const double *numbers, size_t count, weiri_chunk_sizes *ret_sizes);

/* Size of the next launch if that many frames remain (> 0). */
size_t weiri_chunk_next(const weiri_chunk_sizes *sizes, size_t remaining);
/* Frames of all launches for a message: the capacity of its output buffer. 0 for 0. */
size_t weiri_chunk_total(const weiri_chunk_sizes *sizes, size_t frames);

/* One launch: `size` rows of in to out, of which the first `valid` are frames. Rows after them
 * are zeros in the input and ignored in the output. The state afterwards is that after the last
 * valid frame. */
typedef weir_err weiri_chunk_fn(void *user, const void *in, void *out, size_t size, size_t valid);

typedef struct weiri_chunk_kernel {
    weiri_chunk_fn *launch;
    void *user;
    size_t in_row_bytes, out_row_bytes;
} weiri_chunk_kernel;

/* Runs a message in launches. *ret_out has weiri_chunk_total(frames) rows, the first `frames`
 * valid, and belongs to the caller; NULL if frames is 0. Errors of the cache or of a launch; the
 * state is then undefined. */
weir_err weiri_chunked_scan(const weiri_chunk_sizes *sizes,
                            const weiri_chunk_kernel *kernel,
                            weir_cache *cache,
                            const void *in,
                            size_t frames,
                            weir_buffer **ret_out);

/* The same for a recurrence on the host: the reference for a device's launcher. Bit-equal to
 * weiri_recurrence_process of the whole message. */
weir_err weiri_chunked_recurrence(const weiri_chunk_sizes *sizes,
                                  weiri_recurrence *recurrence,
                                  weir_cache *cache,
                                  const void *in,
                                  size_t frames,
                                  weir_buffer **ret_out);

#endif

/* SPDX-License-Identifier: MIT
 *
 * chunked_scan.c: see chunked_scan.h. Why it trims only once: if each chunk were trimmed, the last
 * chunk and the joined output would have the message's length, and a cache that reuses nearly equal
 * sizes would keep a set of buffers for each length. Here only the padded input of the last chunk
 * and the joined output are allocated, both with lengths on the grid.
 */
#include "scan/chunked_scan.h"

#include <math.h>
#include <string.h>

#include "base/base.h"

weir_err weiri_chunk_sizes_read(const double *numbers, size_t count, weiri_chunk_sizes *ret_sizes)
{
    weiri_chunk_sizes sizes = {0};
    if (count == 0) {
        return weiri_fail(WEIR_E_CHAIN, "chunk_sizes: there is none; one at least is needed");
    }
    if (count > WEIRI_CHUNK_SIZES_MAX) {
        return weiri_fail(WEIR_E_CHAIN, "chunk_sizes: %zu sizes; at most %d are allowed", count,
                          WEIRI_CHUNK_SIZES_MAX);
    }
    for (size_t i = 0; i < count; i++) {
        if (!(numbers[i] >= 1 && numbers[i] <= (double)WEIRI_CHUNK_MAX) ||
            numbers[i] != floor(numbers[i])) {
            return weiri_fail(WEIR_E_CHAIN,
                              "chunk_sizes: found %g; whole numbers of frames from 1 to %zu are "
                              "allowed",
                              numbers[i], WEIRI_CHUNK_MAX);
        }
        size_t size = (size_t)numbers[i], at = sizes.count;
        while (at > 0 && sizes.sizes[at - 1] > size) {
            at--;
        }
        if (at > 0 && sizes.sizes[at - 1] == size) {
            continue;
        }
        memmove(&sizes.sizes[at + 1], &sizes.sizes[at], (sizes.count - at) * sizeof size);
        sizes.sizes[at] = size;
        sizes.count++;
    }
    *ret_sizes = sizes;
    return WEIR_OK;
}

size_t weiri_chunk_next(const weiri_chunk_sizes *sizes, size_t remaining)
{
    for (size_t i = 0; i < sizes->count; i++) {
        if (sizes->sizes[i] >= remaining) {
            return sizes->sizes[i];
        }
    }
    return sizes->sizes[sizes->count - 1];
}

size_t weiri_chunk_total(const weiri_chunk_sizes *sizes, size_t frames)
{
    size_t largest = sizes->sizes[sizes->count - 1];
    size_t whole = frames == 0 ? 0 : (frames - 1) / largest * largest;
    return frames == 0 ? 0 : whole + weiri_chunk_next(sizes, frames - whole);
}

/* The last chunk: a copy of the remaining frames, followed by zeros. */
static weir_err launch_padded(const weiri_chunk_kernel *kernel,
                              weir_cache *cache,
                              const void *in,
                              void *out,
                              size_t size,
                              size_t valid)
{
    weir_buffer *padded = NULL;
    weir_err err = weir_cache_take(cache, size * kernel->in_row_bytes, &padded);
    if (err != WEIR_OK) {
        return weiri_fail_prefix(err, "a padded chunk of %zu frames: ", size);
    }
    memcpy(padded->memory, in, valid * kernel->in_row_bytes);
    memset((unsigned char *)padded->memory + valid * kernel->in_row_bytes, 0,
           (size - valid) * kernel->in_row_bytes);
    err = kernel->launch(kernel->user, padded->memory, out, size, valid);
    weir_buffer_unref(padded);
    return err;
}

weir_err weiri_chunked_scan(const weiri_chunk_sizes *sizes,
                            const weiri_chunk_kernel *kernel,
                            weir_cache *cache,
                            const void *in,
                            size_t frames,
                            weir_buffer **ret_out)
{
    weir_buffer *out = NULL;
    uint64_t bytes = 0;
    size_t total = frames > SIZE_MAX / 2 ? SIZE_MAX / 2 : weiri_chunk_total(sizes, frames);
    if (frames == 0) {
        *ret_out = NULL;
        return WEIR_OK;
    }
    if (!weiri_mul(total, kernel->out_row_bytes, &bytes) || bytes > SIZE_MAX / 2) {
        return weiri_fail(WEIR_E_NOMEM, "%zu frames are more than there are addresses", frames);
    }
    weir_err err = weir_cache_take(cache, (size_t)bytes, &out);
    if (err != WEIR_OK) {
        return weiri_fail_prefix(err, "the chunks of %zu frames: ", frames);
    }
    const unsigned char *from = in;
    unsigned char *to = out->memory;
    for (size_t done = 0; err == WEIR_OK && done < frames;) {
        size_t remaining = frames - done, size = weiri_chunk_next(sizes, remaining);
        size_t valid = size < remaining ? size : remaining;
        const unsigned char *rows = from + done * kernel->in_row_bytes;
        unsigned char *place = to + done * kernel->out_row_bytes;
        if (valid == size) {
            err = kernel->launch(kernel->user, rows, place, size, size);
        } else if (done + size != total) {
            /* Trimming once is correct only if nothing follows a padded chunk: asserted in every
             * build. */
            err = weiri_fail(WEIR_E_INTERNAL, "a chunk of %zu frames is padded before the last",
                             valid);
        } else {
            err = launch_padded(kernel, cache, rows, place, size, valid);
        }
        done += valid;
    }
    if (err != WEIR_OK) {
        weir_buffer_unref(out);
        return err;
    }
    *ret_out = out;
    return WEIR_OK;
}

/* ---- recurrences on the host ------------------------------------------------------------------ */

/* The host's kernels accept any length: the state never sees the padding, whose output is set to
 * 0. */
static weir_err launch_recurrence(void *user, const void *in, void *out, size_t size, size_t valid)
{
    weiri_recurrence *recurrence = user;
    size_t row_bytes = recurrence->columns * recurrence->value_bytes;
    weiri_recurrence_process(recurrence, in, out, valid);
    memset((unsigned char *)out + valid * row_bytes, 0, (size - valid) * row_bytes);
    return WEIR_OK;
}

weir_err weiri_chunked_recurrence(const weiri_chunk_sizes *sizes,
                                  weiri_recurrence *recurrence,
                                  weir_cache *cache,
                                  const void *in,
                                  size_t frames,
                                  weir_buffer **ret_out)
{
    size_t row_bytes = recurrence->columns * recurrence->value_bytes;
    weiri_chunk_kernel kernel = {launch_recurrence, recurrence, row_bytes, row_bytes};
    return weiri_chunked_scan(sizes, &kernel, cache, in, frames, ret_out);
}

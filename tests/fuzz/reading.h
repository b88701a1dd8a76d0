/* SPDX-License-Identifier: MIT
 *
 * reading.h: bytes as a recording of one format, opened with options chosen by the first bytes and
 * read to its end through small tiles. Memory comes from a cache with a limit, so no header can
 * make a reader allocate more.
 */
#ifndef WEIR_FUZZ_READING_H
#define WEIR_FUZZ_READING_H

#include <weir/weir.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MOST_BYTES = 1 << 20, MOST_READS = 2048, CHOICES = 4 };

static void reading_all(weir_source *source, size_t tile)
{
    const weir_source_info *info = source->ops->info(source);
    uint64_t frame = weir_spec_frame_bytes(&info->spec), own = 0;
    if (frame == 0 || weir_spec_check(&info->spec) != WEIR_OK) {
        abort(); /* a reader that opens has a valid spec */
    }
    if (frame > MOST_BYTES / tile || source->ops->plan(source, tile, &own) != WEIR_OK ||
        own > 8u * MOST_BYTES) {
        return;
    }
    /* Exactly the planned bytes, so that the sanitizer detects accesses beyond them (M6). */
    void *rows = malloc((size_t)frame * tile), *memory = NULL;
    if (rows && posix_memalign(&memory, 64, own ? (size_t)own : 1) == 0 &&
        source->ops->start(source, tile, memory) == WEIR_OK) {
        weir_message block;
        for (int i = 0; i < MOST_READS; i++) {
            if (source->ops->read(source, rows, tile, &block) != WEIR_OK || block.frames == 0) {
                break;
            }
            if (block.frames > tile) {
                abort();
            }
        }
    }
    free(rows);
    free(memory);
}

/* Opens a file with the chosen options and reads it. */
static void
reading_path(const char *path, const char *format, double rate_hz, const uint8_t *choose)
{
    static const char *const lists[] = {NULL, "0", "1,0", "0-2", "Fp1", "3", "0-63", "2,1"};
    static const double starts[] = {NAN, 0.1, 1, 100};
    weir_cache *cache = NULL;
    weir_cache_options limits = weir_cache_options_default();
    limits.memory_limit = 32u * MOST_BYTES;
    if (weir_cache_create(&limits, &cache) != WEIR_OK) {
        return;
    }
    weir_recording_options options = weir_recording_options_default();
    options.cache = cache;
    options.format = format;
    options.rate_hz = rate_hz;
    options.counts = choose[0] & 2;
    options.one_rate = choose[0] & 4;
    options.gap_tolerance_s = choose[0] & 8 ? 0.3 : options.gap_tolerance_s;
    options.channels = lists[choose[1] & 7];
    options.exclude = lists[choose[1] >> 3 & 7];
    options.start_s = starts[choose[2] & 3];
    options.duration_s = starts[choose[2] >> 2 & 3];
    weir_source *source = NULL;
    if (weir_recording_open(path, &options, &source) == WEIR_OK) {
        reading_all(source, 1 + choose[3]);
        source->ops->close(source);
    }
    weir_cache_destroy(cache);
}

/* The same for bytes, which are written to a file in memory or a pipe. */
static inline void
reading_bytes(const char *format, double rate_hz, const uint8_t *data, size_t size)
{
    if (size < CHOICES) {
        return;
    }
    const uint8_t *choose = data;
    int ends[2] = {-1, -1};
    size -= CHOICES;
    data += CHOICES;
    bool through_pipe = (choose[0] & 1) && size <= 60000; /* fits a pipe's buffer */
    int file = through_pipe && pipe(ends) == 0 ? ends[1] : memfd_create("fuzz", 0);
    char path[64];
    snprintf(path, sizeof path, "/dev/fd/%d", ends[0] >= 0 ? ends[0] : file);
    if (file >= 0 && write(file, data, size) == (ssize_t)size) {
        if (ends[1] >= 0) {
            close(ends[1]); /* the pipe ends here */
            ends[1] = file = -1;
        }
        reading_path(path, format, rate_hz, choose);
    }
    if (ends[0] >= 0) {
        close(ends[0]);
    }
    if (file >= 0) {
        close(file);
    }
}

#endif

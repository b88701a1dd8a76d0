/* SPDX-License-Identifier: MIT
 *
 * Any bytes as a recording: the first chooses the format, the rest is the file, which is opened and
 * read to its end. All memory comes from a cache with a limit, so a header cannot make a reader
 * allocate more.
 */
#include <weir/weir.h>

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TILE = 256, MOST_BYTES = 1 << 20, MOST_READS = 4096 };

static void read_all(weir_source *source, weir_cache *cache)
{
    const weir_source_info *info = weir_source_info_get(source);
    uint64_t frame = weir_spec_frame_bytes(&info->spec), own = 0;
    if (frame > MOST_BYTES / TILE || source->ops->plan(source, TILE, &own) != WEIR_OK)
        return;
    weir_buffer *rows = NULL, *memory = NULL;
    if (weir_cache_take(cache, (size_t)frame * TILE, &rows) == WEIR_OK &&
        weir_cache_take(cache, (size_t)own, &memory) == WEIR_OK &&
        source->ops->start(source, TILE, memory->memory) == WEIR_OK) {
        weir_message block;
        for (int i = 0; i < MOST_READS; i++)
            if (source->ops->read(source, rows->memory, TILE, &block) != WEIR_OK ||
                block.frames == 0)
                break;
    }
    weir_buffer_unref(rows);
    weir_buffer_unref(memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    size_t count = 0;
    while (weir_formats()[count].name)
        count++;
    const weir_format_info *format = &weir_formats()[data[0] % count];
    if (!format->reads || strcmp(format->name, "hdf5") == 0) /* starts a program for each */
        return 0;
    int file = memfd_create("fuzz", 0);
    if (file < 0 || write(file, data + 1, size - 1) != (ssize_t)(size - 1))
        return 0;
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", file);

    weir_cache *cache = NULL;
    weir_cache_options limits = weir_cache_options_default();
    limits.memory_limit = 16 << 20;
    if (weir_cache_create(&limits, &cache) == WEIR_OK) {
        weir_recording_options options = weir_recording_options_default();
        options.cache = cache;
        options.format = format->name;
        options.rate_hz = 1000;
        if (strcmp(format->name, "raw") == 0) {
            options.dtype = "i16";
            options.channels_in_file = 4;
        }
        weir_source *source = NULL;
        weir_err err = weir_recording_open(path, &options, &source);
        if (err != WEIR_OK) { /* options that this format does not accept */
            options.rate_hz = 0;
            err = weir_recording_open(path, &options, &source);
        }
        if (err == WEIR_OK)
            read_all(source, cache);
        weir_source_close(source);
        weir_cache_destroy(cache);
    }
    close(file);
    return 0;
}

/* SPDX-License-Identifier: MIT
 *
 * trace_files.h: shared by tests of traces: files of their own, and caches on heaps that provide
 * addresses only.
 */
#ifndef TRACE_FILES_H
#define TRACE_FILES_H

#include <unistd.h>

#include <weir/trace.h>

#include "witness.h"

#define MIB   (UINT64_C(1) << 20)
#define BIN   UINT64_C(307200) /* 300 frames x 256 channels f32 */
#define SLOTS 64

static char folder[] = "/tmp/weir_trace_XXXXXX";
static char file[64], other_file[64];

/* Of a group of tests. */
static inline int make_folder(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    snprintf(file, sizeof file, "%s/trace", folder);
    snprintf(other_file, sizeof other_file, "%s/other", folder);
    return 0;
}

static inline int remove_folder(void **state)
{
    (void)state;
    unlink(file);
    unlink(other_file);
    return rmdir(folder);
}

static inline void write_file(const char *path, const void *bytes, size_t count)
{
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(bytes, 1, count, out), count);
    assert_int_equal(fclose(out), 0);
}

static inline size_t read_file(const char *path, unsigned char *bytes, size_t most)
{
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    size_t count = fread(bytes, 1, most, in);
    fclose(in);
    return count;
}

static inline weir_cache *cache_on(const char *heap_name, const char *policy, uint64_t limit)
{
    weir_cache *cache = NULL;
    weir_cache_options options = weir_cache_options_default();
    assert_ok(weir_heap_find(heap_name, &options.heap));
    options.policy = policy;
    options.cache_limit = limit;
    assert_ok(weir_cache_create(&options, &cache));
    return cache;
}

static inline weir_buffer *lend(weir_cache *cache, uint64_t bytes)
{
    weir_buffer *buffer = NULL;
    assert_ok(weir_cache_take(cache, (size_t)bytes, &buffer));
    return buffer;
}
#endif

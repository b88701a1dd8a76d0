/* SPDX-License-Identifier: MIT
 *
 * make_npy.h: npy files made byte by byte, for the tests of reading (npy_test.c) and writing (npy_write_test.c).
 */
#ifndef WEIR_TEST_MAKE_NPY_H
#define WEIR_TEST_MAKE_NPY_H

#include "recordings.h"

/* A file of that version with that dict and `bytes` of body. */
static inline const char *
make(const char *name, int version, const char *dict, const void *body, size_t bytes)
{
    unsigned char *file = calloc(1, 20000 + bytes);
    assert_non_null(file);
    size_t length = strlen(dict), head = version > 1 ? 12 : 10;
    memcpy(file, "\x93NUMPY", 6);
    file[6] = (unsigned char)version;
    file[8] = (unsigned char)(length & 0xff);
    file[9] = (unsigned char)(length >> 8);
    memcpy(file + head, dict, length);
    if (bytes) {
        memcpy(file + head + length, body, bytes);
    }
    const char *path = write_file(name, file, head + length + bytes);
    free(file);
    return path;
}

static inline recorded
read_path(const char *path, const weir_recording_options *options, uint64_t seed)
{
    weir_source *source = NULL;
    recorded all = {0};
    assert_ok(weir_recording_open(path, options, &source));
    assert_ok(read_source(source, 7, seed, &all));
    source->ops->close(source);
    return all;
}

/* Value of frame t, column c; fits every dtype (except b1 and i1, for which it is made smaller). */
static inline double value(size_t t, size_t c)
{
    return (double)((t * 7 + c * 13) % 251);
}

#endif

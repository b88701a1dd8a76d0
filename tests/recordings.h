/* SPDX-License-Identifier: MIT
 *
 * recordings.h: shared by tests of readers and writers: reading a whole recording with any message
 * boundaries, writing files into the test's own folder.
 */
#ifndef WEIR_TEST_RECORDINGS_H
#define WEIR_TEST_RECORDINGS_H

#include "testing.h"

#include <dirent.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include <weir/weir.h>

/* A recording as it was read. */
typedef struct recorded {
    uint64_t frames, columns;
    weir_dtype dtype;
    double *values; /* [frames x columns]; of complex values [frames x columns x 2] */
    void *rows;     /* the same as delivered */
    uint64_t segments;
    uint64_t last_frames; /* of the last segment */
    int64_t first_index;
} recorded;

static inline double value_of(weir_dtype part, const void *rows, size_t at)
{
    switch (part) {
    case WEIR_U8:
        return ((const uint8_t *)rows)[at];
    case WEIR_U16:
        return ((const uint16_t *)rows)[at];
    case WEIR_I16:
        return ((const int16_t *)rows)[at];
    case WEIR_I32:
        return ((const int32_t *)rows)[at];
    case WEIR_F32:
        return (double)((const float *)rows)[at];
    case WEIR_F64:
        return ((const double *)rows)[at];
    default:
        return NAN;
    }
}

/* Reads to the end in pieces of 1 to tile frames (seed 0: always tile), checking what every
 * source guarantees: rows stay within their buffer, indexes are contiguous. */
static inline weir_err read_source(weir_source *source, size_t tile, uint64_t seed, recorded *ret)
{
    const weir_source_info *info = source->ops->info(source);
    recorded all = {.columns = weir_spec_columns(&info->spec), .dtype = info->spec.dtype};
    size_t frame_bytes = (size_t)weir_spec_frame_bytes(&info->spec);
    uint64_t bytes = 0;
    weir_err err = source->ops->plan(source, tile, &bytes);
    if (err != WEIR_OK) {
        return err;
    }
    void *memory = NULL;
    if (bytes > 0) {
        /* Exactly the planned bytes, so that a sanitizer detects accesses beyond the plan (M6). */
        assert_int_equal(posix_memalign(&memory, 64, (size_t)bytes), 0);
    }
    err = source->ops->start(source, tile, memory);
    uint64_t segment = UINT64_MAX;
    int64_t next = 0;
    size_t room = 0;
    while (err == WEIR_OK) {
        size_t want = seed ? 1 + (size_t)(testing_random(&seed) % tile) : tile;
        unsigned char *rows = malloc(want * frame_bytes);
        assert_non_null(rows);
        weir_message message;
        err = source->ops->read(source, rows, want, &message);
        if (err != WEIR_OK || message.frames == 0) {
            free(rows);
            break;
        }
        assert_true(message.frames <= want);
        if (message.segment != segment) {
            segment = message.segment;
            all.last_frames = 0;
            all.first_index = all.segments++ ? all.first_index : message.first_index;
        } else {
            assert_int_equal(message.first_index, next);
        }
        next = message.first_index + (int64_t)message.frames;
        while (all.frames + message.frames > room) {
            room = room ? room * 2 : 1024;
            all.rows = realloc(all.rows, room * frame_bytes);
            assert_non_null(all.rows);
        }
        memcpy((unsigned char *)all.rows + all.frames * frame_bytes, rows,
               message.frames * frame_bytes);
        all.frames += message.frames;
        all.last_frames += message.frames;
        free(rows);
    }
    free(memory);
    size_t count = (size_t)(all.frames * all.columns) * weir_dtype_parts(all.dtype);
    all.values = malloc((count + 1) * sizeof(double));
    assert_non_null(all.values);
    for (size_t i = 0; i < count; i++) {
        all.values[i] = value_of(weir_dtype_part(all.dtype), all.rows, i);
    }
    *ret = all;
    return err;
}

static inline void recorded_free(recorded *all)
{
    free(all->values);
    free(all->rows);
    *all = (recorded){0};
}

/* Whether a recording can be opened. */
static inline weir_err open_only(const char *path, const weir_recording_options *options)
{
    weir_source *source = NULL;
    weir_err err = weir_recording_open(path, options, &source);
    if (err == WEIR_OK) {
        source->ops->close(source);
    }
    return err;
}

static inline weir_recording_options at_rate(double rate_hz)
{
    weir_recording_options options = weir_recording_options_default();
    options.rate_hz = rate_hz;
    return options;
}

/* The path of a file in this process's own folder: below $TMPDIR, /tmp. */
static inline const char *own_path(const char *name)
{
    static char folder[64], path[256];
    if (*folder == 0) {
        const char *temporary = getenv("TMPDIR");
        snprintf(folder, sizeof folder, "%.40s/weir-test-XXXXXX",
                 temporary && strlen(temporary) <= 40 ? temporary : "/tmp");
        assert_non_null(mkdtemp(folder));
    }
    snprintf(path, sizeof path, "%s/%.180s", folder, name);
    return path;
}

/* Removes that folder and the files in it. */
static inline int own_folder_remove(void **state)
{
    (void)state;
    char path[256];
    snprintf(path, sizeof path, "%s", own_path(""));
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder)) != NULL;) {
        unlink(own_path(entry->d_name));
    }
    closedir(folder);
    return rmdir(path);
}

/* Files made by tests are also seeds for the fuzz targets: $WEIR_SEEDS is a folder for them (up
 * to 8 KiB), after the four bytes of options that tests/fuzz/reading.h reads. */
static inline void keep_seed(const char *name, const void *bytes, size_t count)
{
    static unsigned number;
    const char *folder = getenv("WEIR_SEEDS");
    if (folder == NULL || count > 8192) {
        return;
    }
    static const char options[4] = {0, 0, 0, 32};
    char path[512];
    snprintf(path, sizeof path, "%.300s/%u-%.100s", folder, number++, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(options, 1, sizeof options, file), sizeof options);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

static inline const char *write_file(const char *name, const void *bytes, size_t count)
{
    const char *path = own_path(name);
    keep_seed(name, bytes, count);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
    return path;
}

/* Writes a recording into the own folder, over an earlier one; an error of the plan is returned. */
static inline weir_err
write_rows(const char *name, const weir_spec *spec, const void *rows, size_t frames)
{
    weir_output_options options = weir_output_options_default();
    options.force = true;
    weir_sink *sink = NULL;
    assert_ok(weir_recording_create(own_path(name), &options, &sink));
    uint64_t bytes = 0;
    void *memory = NULL;
    weir_err err = sink->ops->plan(sink, spec, &bytes);
    if (err == WEIR_OK) {
        memory = malloc((size_t)bytes);
        assert_non_null(memory);
        assert_ok(sink->ops->start(sink, spec, NULL, "", memory));
        weir_message block = {.spec = spec, .data = rows, .frames = frames};
        assert_ok(sink->ops->write(sink, &block));
        assert_ok(sink->ops->finish(sink));
    }
    sink->ops->close(sink);
    free(memory);
    return err;
}

/* Descriptors that this process has open. */
static inline int open_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    assert_non_null(folder);
    int count = 0;
    while (readdir(folder)) {
        count++;
    }
    closedir(folder);
    return count;
}

#endif

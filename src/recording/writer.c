/* SPDX-License-Identifier: MIT
 *
 * writer.c: makes a format a sink: NAME.part, readable after every flush and renamed at the end;
 * the side file; the buffer; segments. A format only provides the head before the first row.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "chain/checkpoint.h"
#include "recording/writer.h"

weir_err weiri_write_all(int fd, const char *name, const void *from, size_t bytes)
{
    const unsigned char *at = from;
    while (bytes > 0) {
        ssize_t done = write(fd, at, bytes);
        if (done < 0 && errno == EINTR) { /* a pipe whose reader has ended */
            return weiri_fail(WEIR_E_INTERRUPTED, "%s: interrupted while writing it", name);
        }
        if (done < 0) {
            return weiri_fail(WEIR_E_IO, "%s: cannot be written: %s", name, strerror(errno));
        }
        at += done > 0 ? done : 0;
        bytes -= done > 0 ? (size_t)done : 0;
    }
    return WEIR_OK;
}

static weiri_writer *writer_of(weir_sink *sink)
{
    return (weiri_writer *)sink;
}

static const char *name_of(const weiri_writer *writer)
{
    return writer->pipe ? writer->path : writer->part;
}

static weir_err sink_plan(weir_sink *sink, const weir_spec *spec, uint64_t *ret_bytes)
{
    const weiri_writer *writer = writer_of(sink);
    if (writer->format->holds) {
        weir_err err = writer->format->holds(spec, writer->pipe);
        if (err != WEIR_OK) {
            return weiri_fail_prefix(err, "%s: ", writer->path);
        }
    }
    uint64_t own = 0;
    const weiri_encoding *encoding = writer->format->encoding;
    if (encoding && encoding->plan) {
        weir_err err = encoding->plan(writer, spec, &own);
        if (err != WEIR_OK) {
            return weiri_fail_prefix(err, "%s: ", writer->path);
        }
    }
    *ret_bytes = WEIRI_WRITER_BYTES + own;
    return WEIR_OK;
}

/* Whether an existing file may be replaced. An empty file may; any other, a link too, belongs to
 * somebody and needs force; a file locked by another run belongs to that run. */
static weir_err may_replace(const char *name, bool force)
{
    struct stat status;
    if (lstat(name, &status) != 0) {
        return WEIR_OK;
    }
    if (S_ISDIR(status.st_mode)) {
        return weiri_fail(WEIR_E_USAGE, "%s: is a folder", name);
    }
    if (S_ISREG(status.st_mode)) {
        int fd = open(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        bool busy = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
        if (fd >= 0) {
            close(fd);
        }
        if (busy) {
            return weiri_fail(WEIR_E_USAGE, "%s: another run is writing it", name);
        }
        force = force || status.st_size == 0;
    }
    return force ? WEIR_OK
                 : weiri_fail(WEIR_E_USAGE,
                              "%s: was left by an interrupted run; rename it to keep it, or use "
                              "--force to overwrite",
                              name);
}

weir_err weiri_writer_open(const char *name, bool force, int *ret_fd)
{
    weir_err err = may_replace(name, force);
    if (err != WEIR_OK) {
        return err;
    }
    unlink(name);
    /* Two runs with one name would mix their rows: the one that has the file of that name and
     * its lock continues. */
    int fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    struct stat ours, named;
    if (fd < 0 && errno != EEXIST) {
        return weiri_fail(WEIR_E_IO, "%s: cannot be created: %s", name, strerror(errno));
    }
    if (fd < 0 || (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) ||
        fstat(fd, &ours) != 0 || lstat(name, &named) != 0 || ours.st_ino != named.st_ino) {
        if (fd >= 0) {
            close(fd);
        }
        return weiri_fail(WEIR_E_USAGE, "%s: another run is writing it", name);
    }
    *ret_fd = fd;
    return WEIR_OK;
}

/* Rows are appended; the head is overwritten in place. */
weir_err weiri_write_head(weiri_writer *writer)
{
    char text[WEIRI_HEAD_BYTES];
    if (writer->head_bytes == 0) {
        return WEIR_OK;
    }
    writer->format->head(&writer->spec, writer->rows, text, writer->head_bytes);
    if (pwrite(writer->fd, text, writer->head_bytes, 0) != (ssize_t)writer->head_bytes) {
        return weiri_fail(WEIR_E_IO, "%s: its header cannot be written: %s", writer->part,
                          strerror(errno));
    }
    return WEIR_OK;
}

static weir_err begin(weiri_writer *writer, const weir_source_info *source, const char *chain)
{
    const weiri_encoding *encoding = writer->format->encoding;
    writer->begun = true;
    return encoding && encoding->begin ? encoding->begin(writer, source, chain) : WEIR_OK;
}

static weir_err start_files(weiri_writer *writer, const weir_source_info *source, const char *chain)
{
    weir_err err = weiri_writer_open(writer->part, writer->force || writer->ours, &writer->fd);
    if (err == WEIR_OK) {
        err = weiri_writer_open(writer->side_part, writer->force || writer->ours, &writer->side_fd);
    }
    if (err == WEIR_OK) {
        err = weiri_write_head(writer);
    }
    if (err == WEIR_OK && lseek(writer->fd, (off_t)writer->head_bytes, SEEK_SET) < 0) {
        err = weiri_fail(WEIR_E_IO, "%s: %s", writer->part, strerror(errno));
    }
    if (err == WEIR_OK) {
        err = begin(writer, source, chain);
    }
    if (err == WEIR_OK) {
        err = weiri_side_head(writer, source, chain);
    }
    return err == WEIR_OK ? weiri_side_tail(writer, false) : err;
}

static weir_err sink_start(weir_sink *sink,
                           const weir_spec *spec,
                           const weir_source_info *source,
                           const char *chain,
                           void *memory)
{
    weiri_writer *writer = writer_of(sink);
    writer->spec = *spec;
    writer->buffer = memory;
    writer->own = writer->buffer + WEIRI_WRITER_BYTES;
    writer->head_bytes = writer->format->head_bytes ? writer->format->head_bytes(spec) : 0;
    if (writer->finished || writer->resumed) {
        return weiri_writer_restart(writer);
    }
    if (!writer->pipe) {
        weir_err err = writer->resume ? weiri_writer_look(writer) : WEIR_OK;
        return err == WEIR_OK ? start_files(writer, source, chain) : err;
    }
    if (strcmp(writer->path, "standard output") == 0) {
        writer->fd = STDOUT_FILENO;
        return begin(writer, source, chain);
    }
    writer->fd = open(writer->path, O_WRONLY | O_CLOEXEC);
    if (writer->fd < 0 && errno == EINTR) {
        return weiri_fail(WEIR_E_INTERRUPTED, "%s: interrupted while opening it", writer->path);
    }
    return writer->fd >= 0
               ? begin(writer, source, chain)
               : weiri_fail(WEIR_E_IO, "%s: cannot be opened: %s", writer->path, strerror(errno));
}

static weir_err drain(weiri_writer *writer)
{
    size_t used = writer->used;
    writer->used = 0; /* also after an error: lost data are not written twice */
    weir_err err = weiri_write_all(writer->fd, name_of(writer), writer->buffer, used);
    if (err == WEIR_OK) {
        writer->safe_rows = writer->put_rows;
        writer->safe_end = writer->put_end;
    }
    return err;
}

void weiri_writer_mark(weiri_writer *writer, uint64_t rows)
{
    writer->put_rows = rows;
    writer->put_end = writer->put_bytes;
    if (writer->used == 0) {
        writer->safe_rows = rows;
        writer->safe_end = writer->put_end;
    }
}

static void note_span(weiri_writer *writer, const weir_message *block)
{
    bool first = writer->rows == 0;
    bool next = block->first_index == WEIR_INDEX_NEXT;
    int64_t index = next ? (first ? 0 : writer->next_index) : block->first_index;
    if (first || block->segment != writer->segment || index != writer->next_index) {
        /* S3: a time is always start + index / rate. */
        weiri_span span = {.start_s = (double)block->segment_start_ns / 1e9 +
                                      writer->spec.dims[0].start +
                                      (double)index / writer->spec.rate_hz,
                           .first_row = writer->rows};
        writer->first_start_s = first ? span.start_s : writer->first_start_s;
        writer->spans[writer->span_count++] = span;
    }
    writer->spans[writer->span_count - 1].rows += block->frames;
    writer->segment = block->segment;
    writer->next_index = index + (int64_t)block->frames;
}

#define WRITEBACK_BYTES ((uint64_t)8 << 20)

/* Lets the system start writing to the disk what it has received, while the chain computes: the
 * sync at the end then waits for the last few MiB only. */
static void begin_writeback(weiri_writer *writer)
{
#ifdef SYNC_FILE_RANGE_WRITE
    if (!writer->pipe && writer->put_bytes - writer->writeback >= WRITEBACK_BYTES) {
        (void)sync_file_range(writer->fd, (off_t)writer->writeback,
                              (off_t)(writer->put_bytes - writer->writeback),
                              SYNC_FILE_RANGE_WRITE);
        writer->writeback = writer->put_bytes;
    }
#endif
}

weir_err weiri_writer_put(weiri_writer *writer, const void *from, size_t bytes)
{
    writer->put_bytes += bytes;
    if (writer->used + bytes > WEIRI_WRITER_BYTES) {
        weir_err err = drain(writer);
        if (err != WEIR_OK) {
            return err;
        }
    }
    if (bytes >= WEIRI_WRITER_BYTES) {
        weir_err err = weiri_write_all(writer->fd, name_of(writer), from, bytes);
        begin_writeback(writer);
        return err;
    }
    memcpy(writer->buffer + writer->used, from, bytes);
    writer->used += bytes;
    return WEIR_OK;
}

weir_err weiri_writer_flush(weiri_writer *writer, bool last)
{
    const weiri_encoding *encoding = writer->format->encoding;
    weir_err err = drain(writer);
    if (err == WEIR_OK && encoding && encoding->flush) {
        err = encoding->flush(writer, last);
    }
    if (err == WEIR_OK && !writer->pipe) {
        err = weiri_write_head(writer);
        if (err == WEIR_OK) {
            err = weiri_side_tail(writer, last);
        }
    }
    writer->failed = writer->failed || err != WEIR_OK;
    return err;
}

/* Space for one more segment: all but the last one are permanently in the files after a flush. */
static weir_err make_span_room(weiri_writer *writer)
{
    if (writer->span_count < WEIRI_MAX_SPANS) {
        return WEIR_OK;
    }
    weir_err err = writer->pipe ? WEIR_OK : weiri_writer_flush(writer, false);
    if (err == WEIR_OK) {
        writer->side_head_bytes = writer->side_last_span;
        writer->spans_before += writer->span_count - 1;
        writer->spans[0] = writer->spans[writer->span_count - 1];
        writer->span_count = 1;
    }
    return err;
}

static weir_err sink_write(weir_sink *sink, const weir_message *block)
{
    weiri_writer *writer = writer_of(sink);
    if (block->frames == 0) {
        return WEIR_OK;
    }
    size_t bytes = block->frames * (size_t)weir_spec_frame_bytes(&writer->spec);
    const weiri_encoding *encoding = writer->format->encoding;
    weir_err err = make_span_room(writer);
    if (err == WEIR_OK) {
        err =
            encoding ? encoding->rows(writer, block) : weiri_writer_put(writer, block->data, bytes);
    }
    if (err == WEIR_OK) {
        note_span(writer, block);
        writer->rows += block->frames;
        weiri_writer_mark(writer, writer->rows);
    }
    writer->failed = writer->failed || err != WEIR_OK;
    return err;
}

static weir_err sink_flush(weir_sink *sink)
{
    return weiri_writer_flush(writer_of(sink), false);
}

/* Existing files of those names that may not be replaced. */
static weir_err name_taken(const weiri_writer *writer)
{
    const char *const names[] = {writer->path, writer->side};
    struct stat status;
    for (size_t i = 0; i < 2 && !writer->force; i++) {
        if (lstat(names[i], &status) == 0) {
            return weiri_fail(WEIR_E_USAGE, "%s: already exists; use --force to overwrite",
                              names[i]);
        }
    }
    return WEIR_OK;
}

weir_err weiri_writer_look(const weiri_writer *writer)
{
    /* The next state of a side file is useless without it. */
    const struct {
        const char *name;
        bool force;
    } ours[] = {{writer->part, writer->force || writer->ours},
                {writer->side_part, writer->force || writer->ours},
                {writer->side, writer->force},
                {writer->side_next, true}};
    weir_err err = name_taken(writer);
    for (size_t i = 0; err == WEIR_OK && i < sizeof ours / sizeof *ours; i++) {
        err = may_replace(ours[i].name, ours[i].force);
    }
    return err;
}

static weir_err close_file(int *fd, const char *name, bool sync)
{
    int was = *fd;
    *fd = -1;
    /* Some errors of a full or remote disk are reported only here. */
    int failed = sync ? fsync(was) : 0;
    int why = errno;
    if (close(was) != 0 && !failed) {
        failed = 1;
        why = errno;
    }
    if (failed && why != EINVAL && why != EROFS) {
        return weiri_fail(WEIR_E_IO, "%s: cannot be completed: %s", name, strerror(why));
    }
    return WEIR_OK;
}

static weir_err sink_finish(weir_sink *sink)
{
    weiri_writer *writer = writer_of(sink);
    if (writer->finished) {
        return WEIR_OK; /* before it was resumed */
    }
    weir_err err = writer->complete ? WEIR_OK : weiri_writer_flush(writer, true);
    if (err != WEIR_OK) {
        return err;
    }
    writer->finished = true;
    if (writer->pipe) {
        return WEIR_OK;
    }
    err = close_file(&writer->fd, writer->part, true);
    if (err == WEIR_OK) {
        err = close_file(&writer->side_fd, writer->side_part, true);
    }
    if (err == WEIR_OK) {
        err = name_taken(writer); /* somebody else may have created it since the start */
    }
    /* The side file first: whoever finds NAME finds its side file too. */
    if (err == WEIR_OK &&
        (rename(writer->side_part, writer->side) != 0 || rename(writer->part, writer->path) != 0)) {
        err = weiri_fail(WEIR_E_IO, "%s: cannot be renamed: %s", writer->part, strerror(errno));
    }
    return err == WEIR_OK && writer->durable ? weiri_folder_sync(writer->path) : err;
}

/* After a failure: the part ends at the last row known to be in it, and its side file says so. */
static void settle(weiri_writer *writer)
{
    uint64_t lost = writer->rows - writer->safe_rows;
    writer->rows = writer->safe_rows;
    while (lost > 0 && writer->span_count > 0) {
        weiri_span *last = &writer->spans[writer->span_count - 1];
        uint64_t off = last->rows < lost ? last->rows : lost;
        last->rows -= off;
        lost -= off;
        writer->span_count -= last->rows == 0;
    }
    if (writer->fd < 0 || writer->side_fd < 0) {
        return;
    }
    bool plain = writer->format->encoding == NULL || writer->format->encoding->flush == NULL;
    int cut = plain ? ftruncate(writer->fd, (off_t)(writer->head_bytes + writer->safe_end)) : 0;
    weir_err err = cut == 0 ? weiri_write_head(writer) : WEIR_E_IO;
    err = err == WEIR_OK ? weiri_side_tail(writer, false) : err;
    (void)err; /* an error was reported already */
}

static void sink_close(weir_sink *sink)
{
    weiri_writer *writer = writer_of(sink);
    const weiri_encoding *encoding = writer->format->encoding;
    bool keep = writer->rows > 0 || writer->positioned;
    if (!writer->finished && !writer->complete && !writer->pipe && writer->begun &&
        writer->rows > 0) {
        /* The part is made readable up to its end; with checkpoints, up to the last one. */
        if (writer->failed || writer->durable || sink_flush(sink) != WEIR_OK) {
            settle(writer);
            keep = writer->rows > 0 || writer->positioned;
        }
    }
    if (encoding && encoding->end && writer->begun) {
        encoding->end(writer);
    }
    weir_cache_uncharge(writer->arena.cache, writer->charged_bytes);
    if (!writer->finished && !writer->pipe && !keep) {
        /* There are no rows in them. A part that is not open here may belong to another run. */
        if (writer->fd >= 0) {
            unlink(writer->part);
        }
        if (writer->side_fd >= 0) {
            unlink(writer->side_part);
        }
    }
    if (writer->fd >= 0 && writer->fd != STDOUT_FILENO) {
        close(writer->fd);
    }
    if (writer->side_fd >= 0) {
        close(writer->side_fd);
    }
    weiri_arena arena = writer->arena; /* the writer is stored in it */
    weiri_arena_fini(&arena);
}

static const weir_sink_ops writer_ops = {
    .ops_size = sizeof(weir_sink_ops),
    .name = "recording",
    .plan = sink_plan,
    .start = sink_start,
    .write = sink_write,
    .flush = sink_flush,
    .finish = sink_finish,
    .close = sink_close,
    .position = weiri_writer_position,
    .commit = weiri_writer_commit,
    .resume = weiri_writer_resume,
};

/* ---- creating ------------------------------------------------------------------------------------ */

static weir_err choose(const char *path, const char *stated, const weiri_format_ops **ret_format)
{
    if (stated) {
        weir_err err = weiri_format_find(stated, ret_format);
        if (err == WEIR_OK && !(*ret_format)->info.writes && (*ret_format)->not_built) {
            return weiri_fail(WEIR_E_USAGE, "%s: format %s: this weir was built without %s", path,
                              (*ret_format)->info.name, (*ret_format)->not_built);
        }
        if (err == WEIR_OK && !(*ret_format)->info.writes) {
            return weiri_fail(WEIR_E_USAGE, "format %s: can be read, but not written", stated);
        }
        return err;
    }
    *ret_format = weiri_format_by_name(path, true);
    if (*ret_format == NULL) {
        return weiri_fail(WEIR_E_USAGE,
                          "%s: cannot infer output format from the file name; use .npy, .raw, "
                          ".csv, .wav or .h5, or --output-format",
                          path);
    }
    if (!(*ret_format)->info.writes) {
        return weiri_fail(WEIR_E_USAGE, "%s: format %s: this weir was built without %s", path,
                          (*ret_format)->info.name, (*ret_format)->not_built);
    }
    return WEIR_OK;
}

/* Standard output under other names, by which it would be opened again and written from its
 * start. */
static bool is_standard_output(const char *path)
{
    static const char *const names[] = {"-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(path, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Files are created in the folder: the run does not start unless it exists and is writable. */
static weir_err folder_check(const weiri_writer *writer)
{
    const char *slash = strrchr(writer->path, '/');
    char *folder = weiri_arena_get((weiri_arena *)&writer->arena, strlen(writer->path) + 2);
    if (folder == NULL) {
        return WEIR_E_NOMEM;
    }
    size_t length = slash ? (size_t)(slash - writer->path) + 1 : 0;
    memcpy(folder, slash ? writer->path : ".", slash ? length : 1);
    if (access(folder, W_OK | X_OK) != 0) {
        return weiri_fail(WEIR_E_IO, "%s: cannot be created: %s", writer->path, strerror(errno));
    }
    return WEIR_OK;
}

/* Whether the names are free; devices and pipes are written to as they are. */
static weir_err look(weiri_writer *writer)
{
    struct stat status;
    if (*writer->path == 0) {
        return weiri_fail(WEIR_E_USAGE, "the name of the output is empty");
    }
    if (is_standard_output(writer->path)) {
        writer->path = "standard output";
        writer->pipe = true;
        return WEIR_OK;
    }
    if (stat(writer->path, &status) == 0) {
        if (S_ISDIR(status.st_mode)) {
            return weiri_fail(WEIR_E_USAGE, "%s: is a folder", writer->path);
        }
        writer->pipe = !S_ISREG(status.st_mode);
    }
    if (writer->pipe) {
        return WEIR_OK;
    }
    /* /dev/fd/3, for which a shell has opened a file: its name would be replaced, and the file
     * stay unchanged. */
    if (strncmp(writer->path, "/dev/", 5) == 0 && lstat(writer->path, &status) == 0 &&
        S_ISLNK(status.st_mode)) {
        return weiri_fail(WEIR_E_USAGE, "%s: is a link; use the name of the file that it points to",
                          writer->path);
    }
    if (!writer->resume) {
        weir_err err = weiri_writer_look(writer);
        if (err != WEIR_OK) {
            return err;
        }
    }
    return folder_check(writer);
}

static const char *joined(weiri_arena *arena, const char *path, const char *end)
{
    size_t size = strlen(path) + strlen(end) + 1;
    char *text = weiri_arena_get(arena, size);
    if (text) {
        snprintf(text, size, "%s%s", path, end);
    }
    return text;
}

weir_err
weir_recording_create(const char *path, const weir_output_options *options, weir_sink **ret_sink)
{
    static const weiri_sized rule = {
        .field = "output options: options_size",
        .make = "weir_output_options_default() makes them",
        .least = WEIRI_THROUGH(weir_output_options, force),
        .known = offsetof(weir_output_options, reserved),
    };
    if (path == NULL || ret_sink == NULL) {
        return weiri_null(__func__);
    }
    weir_output_options known = weir_output_options_default();
    weir_err err = options ? weiri_sized_read(&rule, options, &known) : WEIR_OK;
    const weiri_format_ops *format = NULL;
    if (err == WEIR_OK) {
        err = choose(path, known.format, &format);
    }
    weir_cache *cache = known.cache;
    if (err == WEIR_OK && cache == NULL) {
        err = weir_cache_default(&cache);
    }
    if (err != WEIR_OK) {
        return err;
    }
    weiri_arena arena;
    weiri_arena_init(&arena, cache);
    weiri_writer *writer = weiri_arena_get(&arena, sizeof *writer);
    if (writer) {
        writer->path = joined(&arena, path, "");
        writer->part = joined(&arena, path, ".part");
        writer->side = joined(&arena, path, ".json");
        writer->side_part = joined(&arena, path, ".json.part");
        writer->side_next = joined(&arena, path, ".json.next");
        writer->spans = weiri_arena_get(&arena, sizeof *writer->spans * WEIRI_MAX_SPANS);
    }
    if (!writer || !writer->path || !writer->part || !writer->side || !writer->side_part ||
        !writer->side_next || !writer->spans) {
        weiri_arena_fini(&arena);
        return WEIR_E_NOMEM;
    }
    writer->sink.ops = &writer_ops;
    writer->format = format;
    writer->arena = arena;
    writer->force = known.force;
    writer->resume = known.resume;
    writer->fd = writer->side_fd = -1;
    err = look(writer);
    if (err == WEIR_OK && format->encoding && format->encoding->library_bytes) {
        err = weir_cache_charge(cache, format->encoding->library_bytes);
        writer->charged_bytes = err == WEIR_OK ? format->encoding->library_bytes : 0;
    }
    if (err != WEIR_OK) {
        sink_close(&writer->sink);
        return err;
    }
    *ret_sink = &writer->sink;
    return WEIR_OK;
}

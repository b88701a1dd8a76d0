/* SPDX-License-Identifier: MIT
 *
 * resume.c: outputs with checkpoints: writing into a checkpoint where an output ends, after
 * everything before that is durable; and continuing an output from there. Rows are appended, so for
 * most formats the part is truncated to that place, and the head is written again with the next
 * flush. The segments in memory are in the checkpoint; the first bytes of the side file, which no
 * longer change, are in its part file.
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

#define NAME_BYTES 256
#define TAIL_BYTES 4096

/* In the checkpoint, before the segments in memory. */
typedef struct position {
    char name[NAME_BYTES]; /* without its folder, which may be moved */
    uint64_t started;      /* 0: no part was created yet */
    uint64_t complete, inode, bytes,
        tail; /* of the part: where it ends, hash of the last bytes before that */
    uint64_t rows, spans_before, span_count, side_head_bytes, segment;
    int64_t next_index;
    double first_start_s;
} position;

static const char *name_of(const weiri_writer *writer)
{
    const char *slash = strrchr(writer->path, '/');
    return slash == NULL ? writer->path : slash + 1;
}

/* For the rows before a place of the part: whether it is the same file, whatever happened to it
 * since. Formats that overwrite what they have written do not use it. */
static weir_err tail_of(const weiri_writer *writer, uint64_t bytes, uint64_t *ret_hash)
{
    unsigned char last[TAIL_BYTES];
    uint64_t rows = bytes > WEIRI_HEAD_BYTES ? bytes - WEIRI_HEAD_BYTES : 0;
    size_t count = rows < sizeof last ? (size_t)rows : sizeof last, got = 0;
    while (writer->format->encoding == NULL || writer->format->encoding->position == NULL) {
        ssize_t now =
            got == count ? 0
                         : pread(writer->fd, last + got, count - got, (off_t)(bytes - count + got));
        if (now < 0) {
            return weiri_fail(WEIR_E_IO, "%s: cannot be read: %s", writer->part, strerror(errno));
        }
        got += (size_t)now;
        if (now == 0) {
            break;
        }
    }
    *ret_hash = weiri_hash(1, last, got);
    return WEIR_OK;
}

/* ---- where it ends -------------------------------------------------------------------------------- */

static weir_err describe(weiri_writer *writer, position *p)
{
    struct stat status;
    p->started = 1;
    p->complete = writer->complete;
    p->rows = writer->rows;
    p->spans_before = writer->spans_before;
    p->span_count = writer->span_count;
    p->side_head_bytes = writer->side_head_bytes;
    p->segment = writer->segment;
    p->next_index = writer->next_index;
    p->first_start_s = writer->first_start_s;
    p->bytes = writer->head_bytes + writer->put_bytes;
    if (fsync(writer->fd) != 0 || fstat(writer->fd, &status) != 0) {
        return weiri_fail(WEIR_E_IO, "%s: cannot be written: %s", writer->part, strerror(errno));
    }
    p->inode = status.st_ino;
    weir_err err = tail_of(writer, p->bytes, &p->tail);
    return err == WEIR_OK ? weiri_folder_sync(writer->path) : err;
}

weir_err weiri_writer_position(weir_sink *sink, weir_checkpoint *checkpoint, bool last)
{
    weiri_writer *writer = (weiri_writer *)sink;
    const weiri_encoding *encoding = writer->format->encoding;
    position p = {.started = 0};
    if (writer->pipe) {
        return weiri_fail(WEIR_E_USAGE,
                          "%s: a pipe or device cannot be truncated; a checkpoint needs a file",
                          writer->path);
    }
    if (strlen(name_of(writer)) >= sizeof p.name) {
        return weiri_fail(WEIR_E_USAGE, "%s: its name is too long", writer->path);
    }
    strcpy(p.name, name_of(writer));
    writer->durable = true;
    weir_err err = WEIR_OK;
    if (writer->fd < 0) {
        err = weiri_writer_look(writer); /* an existing file without a checkpoint is not ours */
    } else {
        err = weiri_writer_flush(writer, last);
        writer->complete = err == WEIR_OK && last;
        err = err == WEIR_OK ? describe(writer, &p) : err;
    }
    writer->failed = writer->failed || err != WEIR_OK;
    if (err == WEIR_OK) {
        err = weir_checkpoint_put(checkpoint, &p, sizeof p);
    }
    if (err == WEIR_OK) {
        err = weir_checkpoint_put(checkpoint, writer->spans,
                                  writer->span_count * sizeof *writer->spans);
    }
    if (err == WEIR_OK && p.started && encoding != NULL && encoding->position != NULL) {
        err = encoding->position(writer, checkpoint);
    }
    return err;
}

weir_err weiri_writer_commit(weir_sink *sink)
{
    weiri_writer *writer = (weiri_writer *)sink;
    const weiri_encoding *encoding = writer->format->encoding;
    if (writer->fd < 0) {
        return WEIR_OK;
    }
    writer->positioned = true;
    return encoding != NULL && encoding->commit != NULL ? encoding->commit(writer) : WEIR_OK;
}

/* ---- going on ------------------------------------------------------------------------------------- */

static weir_err open_part(const char *name, int *ret_fd)
{
    int fd = open(name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        return weiri_fail(errno == ENOENT ? WEIR_E_USAGE : WEIR_E_IO, "%s%s%s", name,
                          errno == ENOENT ? " is missing; the run continues it"
                                          : ": cannot be opened: ",
                          errno == ENOENT ? "" : strerror(errno));
    }
    if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        close(fd);
        return weiri_fail(WEIR_E_USAGE, "%s: another run is writing it", name);
    }
    *ret_fd = fd;
    return WEIR_OK;
}

static weir_err cut_back(weiri_writer *writer, const position *p)
{
    struct stat status;
    uint64_t tail = 0;
    if (fstat(writer->fd, &status) != 0) {
        return weiri_fail(WEIR_E_IO, "%s: %s", writer->part, strerror(errno));
    }
    if ((uint64_t)status.st_size < p->bytes) {
        return weiri_fail(
            WEIR_E_USAGE,
            "%s has %llu bytes, the checkpoint needs %llu: it was truncated or replaced",
            writer->part, (unsigned long long)status.st_size, (unsigned long long)p->bytes);
    }
    weir_err err = tail_of(writer, p->bytes, &tail);
    if (err == WEIR_OK && tail != p->tail) {
        err = weiri_fail(WEIR_E_USAGE,
                         "%s has different rows before byte %llu: it was changed or replaced",
                         writer->part, (unsigned long long)p->bytes);
    }
    if (err == WEIR_OK && (ftruncate(writer->fd, (off_t)p->bytes) != 0 ||
                           lseek(writer->fd, (off_t)p->bytes, SEEK_SET) < 0)) {
        err = weiri_fail(WEIR_E_IO, "%s: cannot be written: %s", writer->part, strerror(errno));
    }
    return err;
}

/* The files are renamed one after the other: the last run may have ended in between. */
static bool has_its_name(const weiri_writer *writer, const position *p)
{
    struct stat part, whole;
    return p->complete && lstat(writer->part, &part) != 0 && lstat(writer->path, &whole) == 0 &&
           (uint64_t)whole.st_ino == p->inode && (uint64_t)whole.st_size == p->bytes;
}

static weir_err take_back_side(const weiri_writer *writer, const position *p)
{
    struct stat status;
    bool named =
        p->complete && lstat(writer->side_part, &status) != 0 && lstat(writer->side, &status) == 0;
    return !named || rename(writer->side, writer->side_part) == 0
               ? WEIR_OK
               : weiri_fail(WEIR_E_IO, "%s: cannot be renamed: %s", writer->side, strerror(errno));
}

static weir_err open_parts(weiri_writer *writer, const position *p)
{
    struct stat status;
    weir_err err = open_part(writer->part, &writer->fd);
    if (err == WEIR_OK) {
        err = take_back_side(writer, p);
    }
    if (err == WEIR_OK) {
        err = open_part(writer->side_part, &writer->side_fd);
    }
    if (err == WEIR_OK &&
        (fstat(writer->side_fd, &status) != 0 || (uint64_t)status.st_size < p->side_head_bytes)) {
        err = weiri_fail(WEIR_E_USAGE,
                         "%s is shorter than the checkpoint needs: it was truncated or replaced",
                         writer->side_part);
    }
    return err == WEIR_OK ? cut_back(writer, p) : err;
}

weir_err weiri_writer_resume(weir_sink *sink, weir_checkpoint *checkpoint)
{
    weiri_writer *writer = (weiri_writer *)sink;
    const weiri_encoding *encoding = writer->format->encoding;
    position p;
    weir_err err = weir_checkpoint_get(checkpoint, &p, sizeof p);
    if (err != WEIR_OK) {
        return err;
    }
    p.name[sizeof p.name - 1] = '\0';
    if (writer->pipe || strcmp(p.name, name_of(writer)) != 0) {
        return weiri_fail(WEIR_E_USAGE, "it belongs to output %s, not to %s", p.name, writer->path);
    }
    if (p.span_count > WEIRI_MAX_SPANS) {
        return weiri_fail(WEIR_E_USAGE, "damaged: %llu segments", (unsigned long long)p.span_count);
    }
    err = weir_checkpoint_get(checkpoint, writer->spans,
                              (size_t)p.span_count * sizeof *writer->spans);
    writer->durable = true;
    writer->ours = !p.started;
    writer->finished = err == WEIR_OK && p.started && has_its_name(writer, &p);
    writer->positioned = p.started;
    if (err == WEIR_OK && p.started && !writer->finished) {
        err = open_parts(writer, &p);
        writer->resumed = err == WEIR_OK;
    }
    writer->complete = p.complete;
    writer->rows = writer->put_rows = writer->safe_rows = writer->resumed ? p.rows : 0;
    writer->put_bytes = p.bytes; /* removed once the head is known */
    writer->span_count = (size_t)p.span_count;
    writer->spans_before = p.spans_before;
    writer->side_head_bytes = p.side_head_bytes;
    writer->segment = p.segment;
    writer->next_index = p.next_index;
    writer->first_start_s = p.first_start_s;
    if (err == WEIR_OK && p.started && encoding != NULL && encoding->resume != NULL) {
        err = encoding->resume(writer, checkpoint);
    }
    return err;
}

weir_err weiri_writer_restart(weiri_writer *writer)
{
    const weiri_encoding *encoding = writer->format->encoding;
    if (writer->finished) {
        return WEIR_OK;
    }
    writer->put_bytes -= writer->head_bytes;
    writer->put_end = writer->safe_end = writer->writeback = writer->put_bytes;
    if (writer->complete) {
        return WEIR_OK;
    }
    writer->begun = true;
    return encoding != NULL && encoding->reopen != NULL ? encoding->reopen(writer) : WEIR_OK;
}

/* SPDX-License-Identifier: MIT
 *
 * writer.h: a file that is written, shared by writer.c and sidefile.c. Most formats do not need it:
 * they provide a head (reader.h).
 */
#ifndef WEIRI_WRITER_H
#define WEIRI_WRITER_H

#include "recording/reader.h"

#define WEIRI_WRITER_BYTES (64u * 1024u) /* size of the planned buffer */
#define WEIRI_HEAD_BYTES   512           /* maximum size of a head that is overwritten in place */
/* segments in memory; when full, they are written to the files (M6) */
#define WEIRI_MAX_SPANS 1024

/* A run of rows without a gap. */
typedef struct weiri_span {
    double start_s;
    uint64_t first_row, rows;
} weiri_span;

typedef struct weiri_writer {
    weir_sink sink;
    const weiri_format_ops *format;
    weiri_arena arena;
    const char *path;
    const char *part;      /* PATH.part */
    const char *side;      /* PATH.json */
    const char *side_part; /* PATH.json.part */
    const char *side_next; /* PATH.json.next: becomes side_part when complete */
    bool pipe;             /* standard output or a device: no part, no side file, no seeking back */
    bool force, finished;
    bool begun;  /* the encoding has its memory */
    bool resume; /* a part may exist: if its checkpoint says so, else it is refused at the start */
    bool ours; /* an existing part is from a run that wrote no checkpoint for it: may be replaced */
    bool durable;    /* there are checkpoints: rows after the last one do not count */
    bool positioned; /* a checkpoint has the position of the part: it is never removed */
    bool resumed;    /* the part is open, and truncated to the checkpoint's position */
    bool complete;   /* only the renaming follows */
    int fd, side_fd; /* -1 = not open */

    weir_spec spec;
    size_t head_bytes;
    uint64_t rows;
    unsigned char *buffer; /* WEIRI_WRITER_BYTES, planned */
    size_t used;
    void *own; /* an encoding's, planned */
    /* What is certainly in the file: after a failure it ends there. */
    uint64_t put_bytes, put_rows,
        put_end; /* so far, and the end of the last complete row among them */
    uint64_t safe_rows, safe_end;
    uint64_t writeback; /* bytes that the system was asked to write to disk */
    bool failed;
    uint64_t charged_bytes; /* of a library's own memory (M7) */

    weiri_span *spans; /* the last ones; the rows of the last one still grow */
    size_t span_count;
    uint64_t spans_before; /* those permanently in the files */
    double first_start_s;  /* of the first one of all */
    uint64_t segment;
    int64_t next_index;
    uint64_t side_head_bytes; /* bytes of the part of the side file that no longer change */
    uint64_t side_last_span;  /* place of the last segment in it */
} weiri_writer;

/* How a format is written that is not a head and rows. All functions are optional except rows.
 * Rows that it puts into the writer's buffer are written to the file; other data it writes
 * itself. */
typedef struct weiri_encoding {
    bool physical; /* integers with a scale are written as physical values */
    /* Bytes of a library's own, charged for the life of the output (M7). */
    uint64_t library_bytes;
    /* Bytes of writer->own; WEIR_E_USAGE: names what the format cannot represent. */
    weir_err (*plan)(const weiri_writer *writer, const weir_spec *spec, uint64_t *ret_bytes);
    weir_err (*begin)(weiri_writer *writer, const weir_source_info *source, const char *chain);
    weir_err (*rows)(weiri_writer *writer, const weir_message *block);
    /* Makes everything written readable, and then sets safe_rows; `last`: nothing follows. */
    weir_err (*flush)(weiri_writer *writer, bool last);
    /* Ends it, after an error too. */
    void (*end)(weiri_writer *writer);
    /* For formats that overwrite what they have written (the next four together): with
     * checkpoints, flush delays such writes. position puts them into the checkpoint, with the
     * end of the file; commit makes them; resume makes them in the part, which is open and
     * truncated; reopen continues the file, instead of begin. */
    weir_err (*position)(weiri_writer *writer, weir_checkpoint *checkpoint);
    weir_err (*commit)(weiri_writer *writer);
    weir_err (*resume)(weiri_writer *writer, weir_checkpoint *checkpoint);
    weir_err (*reopen)(weiri_writer *writer);
} weiri_encoding;

static inline bool weiri_writes_physical(const weiri_writer *writer)
{
    return writer->format->encoding != NULL && writer->format->encoding->physical;
}

/* Appends to the buffer, and from there to the file. */
weir_err weiri_writer_put(weiri_writer *writer, const void *from, size_t bytes);

/* That many complete rows have been put. */
void weiri_writer_mark(weiri_writer *writer, uint64_t rows);

/* Functions of writer.c for resume.c. */
weir_err weiri_writer_flush(weiri_writer *writer, bool last);
/* Whether the names that an output needs are free, or belong to files that may be replaced. */
weir_err weiri_writer_look(const weiri_writer *writer);
weir_err weiri_write_head(weiri_writer *writer);

/* resume.c: the sink's functions for checkpoints; and a resumed output's start. */
weir_err weiri_writer_position(weir_sink *sink, weir_checkpoint *checkpoint, bool last);
weir_err weiri_writer_commit(weir_sink *sink);
weir_err weiri_writer_resume(weir_sink *sink, weir_checkpoint *checkpoint);
weir_err weiri_writer_restart(weiri_writer *writer);

/* Creates a file of that name, which no other run writes, without following a link. An existing
 * file is replaced if it is empty or `force` is set. WEIR_E_IO, WEIR_E_USAGE. */
weir_err weiri_writer_open(const char *name, bool force, int *ret_fd);

/* Writes all bytes. WEIR_E_IO names the file. */
weir_err weiri_write_all(int fd, const char *name, const void *from, size_t bytes);

/* First what is known at the start; then, from the same place each time, what changes.
 * `complete`: nothing follows. */
weir_err weiri_side_head(weiri_writer *writer, const weir_source_info *source, const char *chain);
weir_err weiri_side_tail(weiri_writer *writer, bool complete);

#endif

/* SPDX-License-Identifier: MIT
 *
 * writer.h: a file that is being written, as writer.c and sidefile.c share it. Formats do not need it:
 * they state a head (reader.h).
 */
#ifndef WEIRI_WRITER_H
#define WEIRI_WRITER_H

#include "recording/reader.h"

#define WEIRI_WRITER_BYTES (64u * 1024u) /* of the planned buffer */
#define WEIRI_MAX_SPANS    1024 /* segments kept for the side file; the rest is counted (M6) */

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
    bool pipe;             /* standard output or a device: no part, no side file, no way back */
    bool force, finished;
    int fd, side_fd; /* -1 = not open */

    weir_spec spec;
    size_t head_bytes;
    uint64_t rows;
    unsigned char *buffer; /* WEIRI_WRITER_BYTES, planned */
    size_t used;

    weiri_span *spans;
    size_t span_count;
    uint64_t spans_left_out;
    uint64_t segment;
    int64_t next_index;
    uint64_t side_head_bytes; /* of the part of the side file that does not change */
} weiri_writer;

/* Writes all bytes. WEIR_E_IO names the file. */
weir_err weiri_write_all(int fd, const char *name, const void *from, size_t bytes);

/* What is known at start; then, from the same place again and again, what changes. */
weir_err weiri_side_head(weiri_writer *writer, const weir_source_info *source, const char *chain);
weir_err weiri_side_tail(weiri_writer *writer);

#endif

/* SPDX-License-Identifier: MIT
 *
 * reader.h: how to write a format. A format is one file that ends in its descriptor, plus one line
 * in formats.def. It finds values in its file and does nothing else: opening, selection by channel
 * and time, conversion to rows, segments, notices, part files, side files and renaming are in this
 * module's shared files (recording.c select.c reader.c rows.c input.c convert.c writer.c
 * sidefile.c).
 *
 * Nothing grows with the recording (M6): rows go into the caller's tile, buffers are planned, lists
 * are capped with a count of the rest. Inputs are read, never mapped.
 */
#ifndef WEIRI_READER_H
#define WEIRI_READER_H

#include <weir/recording.h>

#include "base/base.h"
#include "cache/arena.h"

/* That many bytes as an integer, lowest first, as in most formats. */
static inline uint64_t weiri_little(const unsigned char *from, size_t bytes)
{
    uint64_t value = 0;
    while (bytes > 0) {
        value = value << 8 | from[--bytes];
    }
    return value;
}

#define WEIRI_PROBE_BYTES   4104       /* a signature may follow a user block of up to 4 KiB */
#define WEIRI_MAX_CHANNELS  (1u << 20) /* in a file; a header that claims more is malformed */
#define WEIRI_MOST_SEGMENTS (1u << 20) /* maximum read back: 16 MiB of the recording's cache */
#define WEIRI_MAX_SEGMENTS  64         /* maximum entries of info.segments; the rest is counted */
#define WEIRI_BLOCK_BYTES   (256u * 1024u)
/* maximum entries of info.annotations; the rest is counted (M6) */
#define WEIRI_MAX_ANNOTATIONS 1024
#define WEIRI_NOTE_BYTES      400 /* maximum length of an annotation's text; a longer one is cut */

/* ---- input.c: bytes of a file or a pipe ------------------------------------------------------- */

typedef struct weiri_input {
    int fd; /* -1 = none */
    bool owned;
    bool pipe;        /* cannot move back */
    uint64_t size;    /* WEIR_FRAMES_UNKNOWN for a pipe */
    uint64_t at;      /* for a pipe: bytes read so far */
    const char *name; /* for messages */
    /* Called while waiting for a pipe; an error ends the wait. NULL = none. */
    weir_err (*idle)(void *user);
    void *idle_user;
} weiri_input;

/* WEIR_E_IO: cannot be opened; it is a folder. "-" is standard input. */
weir_err weiri_input_open(const char *path, weiri_input *ret_input);
void weiri_input_close(weiri_input *input);
/* Reads at an offset (in a pipe: not before what was read) until `bytes` are present or the
 * input ends. A pipe may return earlier, with a whole number of `unit` bytes, so that a live
 * stream is not delayed. WEIR_E_IO; WEIR_E_INTERRUPTED: a signal ended the wait. */
weir_err weiri_input_read(
    weiri_input *input, uint64_t offset, void *to, size_t bytes, size_t unit, size_t *ret_bytes);

/* ---- convert.c: from stored values to rows ----------------------------------------------------- */

/* How a value is stored in a file: X(NAME, bytes, dtype of its counts). In that dtype every
 * count stays distinct, except 64-bit integers beyond 2^53, which weiri_rows_read reports. */
#define WEIRI_CODING_LIST(X)                                                                       \
    X(U8, 1, WEIR_U8)                                                                              \
    X(U16, 2, WEIR_U16)                                                                            \
    X(I16, 2, WEIR_I16)                                                                            \
    X(I24, 3, WEIR_I32)                                                                            \
    X(I32, 4, WEIR_I32)                                                                            \
    X(F32, 4, WEIR_F32)                                                                            \
    X(F64, 8, WEIR_F64)                                                                            \
    X(I8, 1, WEIR_I16)                                                                             \
    X(U32, 4, WEIR_F64)                                                                            \
    X(I64, 8, WEIR_F64)                                                                            \
    X(U64, 8, WEIR_F64)                                                                            \
    X(F16, 2, WEIR_F32)

#define WEIRI_CODING_ENUM(name, bytes, dtype) WEIRI_CODING_##name,
typedef enum weiri_coding { WEIRI_CODING_LIST(WEIRI_CODING_ENUM) WEIRI_CODINGS } weiri_coding;

typedef struct weiri_stored {
    weiri_coding coding;
    bool big_endian;
    bool is_complex; /* two numbers of the coding, F32 or F64, the real part first */
} weiri_stored;

size_t weiri_stored_bytes(weiri_stored stored);
weir_dtype weiri_stored_dtype(weiri_stored stored);
/* Whether values can be copied byte by byte to rows of that dtype. */
bool weiri_stored_is(weiri_stored stored, weir_dtype dtype);
/* "i16", "<i2", ">int16", "i24". WEIR_E_USAGE lists the valid ones. */
weir_err weiri_stored_parse(const char *text, weiri_stored *ret_stored);

/* Physical value = (count - base) * numer / denom + offset, in double. */
typedef struct weiri_scale {
    double base, numer, denom, offset; /* denom 0: stored values are physical as they are */
} weiri_scale;

/* Whether every count within the coding's range stays distinct as f32. */
bool weiri_scale_fits_f32(const weiri_scale *scale, weiri_stored stored);

/* One run of values, from_step bytes apart, to be stored to_step values apart. dtype: that of
 * the counts (without scale), F32 or F64; for complex values their own. */
typedef struct weiri_run {
    weiri_stored stored;
    const unsigned char *from;
    size_t from_step;
    const weiri_scale *scale; /* NULL = counts */
    weir_dtype dtype;
    void *to;
    size_t to_step;
} weiri_run;
void weiri_convert(const weiri_run *run, size_t count);

/* ---- a reader ----------------------------------------------------------------------------------- */

typedef struct weiri_channel {
    const char *label; /* unique after weir_recording_open */
    const char *unit;  /* "" = none stated */
    double rate_hz;
    weiri_scale scale;
    uint64_t place; /* for the format's own use */
    /* Why its values cannot be read, "offset N: ...", or NULL. An error only if the channel is
     * selected; if only its scale is wrong, not for stored counts. */
    const char *flaw;
    bool flaw_of_scale;
} weiri_channel;

struct weiri_format_ops;

typedef struct weiri_reader {
    weir_source source;
    weir_source_info info;
    const struct weiri_format_ops *format;
    const weir_recording_options *options; /* while opening */
    const char *path;
    const char *dataset; /* for a format with datasets; NULL = not stated */
    weiri_input input;
    weiri_arena arena;
    weiri_notices notices;

    /* From open(). */
    uint64_t channel_count;
    uint64_t inner; /* values per channel in one frame: 1, except for arrays of more dimensions */
    weiri_channel *channels; /* NULL: no labels and units, counts are the values, one rate */
    double rate_hz;          /* if channels is NULL */
    weiri_scale scale;       /* for channels that have none of their own; denom 0: none */
    weiri_stored stored;
    const char *start_time; /* ISO 8601 or NULL */
    uint64_t data_offset;   /* of the first frame: for the functions of rows.c */
    /* for weiri_planes: maximum number of contiguous frames of a column; 0 = no bound */
    uint64_t run_frames;
    void *own;
    uint64_t charged_bytes; /* by weiri_reader_charge */

    /* From a side file (sideread.c). */
    weir_axis side_axes[WEIR_MAX_DIMS]; /* name NULL = not stated */
    const char *const *side_units;      /* of the channels */
    weir_segment *listed;               /* runs of rows, in order */
    size_t listed_count;                /* 0 = one run */
    uint64_t first_row;                 /* of the current segment within the file */
    weir_err side_err;                  /* not all of its segments can be stored: opening fails */
    char side_why[256];                 /* with this detail */

    /* From the selection; also in info.spec. */
    const uint32_t *picks; /* channels by number; NULL = all in order */
    uint64_t pick_count;
    double from_s, to_s; /* time window from the first frame; infinite = open */
    int64_t first_ns;    /* start of the first segment */
    bool laid_out;       /* whether it is known */
    uint64_t asked;      /* hash of the options used to open it */

    /* Position. */
    weir_segment *segments; /* number of those in info */
    weir_annotation *annotations;
    weir_segment current;
    uint64_t segment;  /* its number */
    uint64_t index;    /* next frame within it */
    uint64_t left;     /* remaining frames of it */
    uint64_t upcoming; /* segments begun so far */
    bool ended;

    /* From start(). */
    unsigned char *buffer;
    uint64_t tile_frames;
    uint64_t loaded, loaded_end; /* frames in a buffer of rows.c */
    bool rounded;                /* rounding of counts was reported */
} weiri_reader;

/* Functions of a format. Reading and writing are optional: NULL = not possible. */
typedef struct weiri_format_ops {
    size_t ops_size; /* sizeof(weiri_format_ops) */
    weir_format_info info;
    bool bare;          /* accepts --dtype, --channels-in-file and --offset */
    const char *scheme; /* path prefix that selects the format ("synthetic:"): there is no file; or NULL */
    /* a file contains several, one of which is named by PATH:/NAME or --dataset */
    bool datasets;
    const char *not_built; /* the part missing in this build: its files are refused; or NULL */
    /* extensions of accompanying files without a signal: open() says so; or NULL */
    const char *kin;

    /* Whether a file with these first bytes (WEIRI_PROBE_BYTES, or all of them) has this format.
     * NULL: only its name tells. */
    bool (*probe)(const unsigned char *first, size_t count);
    /* Reads and checks the header: channels, coding, start time. WEIR_E_RECORDING, WEIR_E_USAGE. */
    weir_err (*open)(weiri_reader *reader);
    /* Channels are selected and info.spec is set (more dimensions may be added): states the
     * segments by weiri_reader_segment, in order. */
    weir_err (*layout)(weiri_reader *reader);
    /* Moves to segment `number` (from 0, in order): fills reader->current. WEIR_E_RECORDING.
     * NULL: there is only one, that of layout(). */
    weir_err (*segment)(weiri_reader *reader, uint64_t number, bool *ret_any);
    /* Buffer bytes for tiles of that length. */
    weir_err (*plan)(const weiri_reader *reader, uint64_t tile_frames, uint64_t *ret_bytes);
    /* Reads up to `frames` frames of the current segment from `index` on, in physical values (or
     * counts) of the selected channels, into rows. May return fewer; 0 = the input ends here.
     * Calls move forward. */
    weir_err (*read)(
        weiri_reader *reader, uint64_t index, size_t frames, void *rows, size_t *ret_frames);

    /* Frees what open() allocated outside the arena, after a failed open() too; NULL: nothing. */
    void (*close)(weiri_reader *reader);

    /* Bytes before the first row of a written file; 0 = none. */
    size_t (*head_bytes)(const weir_spec *spec);
    /* Writes that head for this many rows. */
    void (*head)(const weir_spec *spec, uint64_t rows, char *text, size_t bytes);
    /* WEIR_E_USAGE: names what such a file cannot represent of the stream. NULL: it can
     * represent everything. */
    weir_err (*holds)(const weir_spec *spec, bool to_pipe);
    /* For outputs that are not a head and rows (writer.h); NULL = head and rows. */
    const struct weiri_encoding *encoding;
} weiri_format_ops;

#define X(name) extern const weiri_format_ops weiri_format_##name;
#include "recording/formats.def"
#undef X

/* By name, WEIR_E_USAGE names the nearest; by the extension of a path, or NULL. */
weir_err weiri_format_find(const char *name, const weiri_format_ops **ret_format);
const weiri_format_ops *weiri_format_by_name(const char *path, bool to_write);

/* Whether a path is NAME.part: the output of an unfinished run. */
bool weiri_is_part(const char *path);

/* "PATH: offset N: ..." as WEIR_E_RECORDING. */
weir_err weiri_malformed(const weiri_reader *reader, uint64_t offset, const char *format, ...)
    WEIRI_PRINTF(3, 4);

/* Reads bytes of the header; a file that ends before them is malformed. */
weir_err weiri_reader_header(weiri_reader *reader, uint64_t offset, void *to, size_t bytes);

/* From the arena; the cache's refusal is the error. */
weir_err weiri_reader_get(weiri_reader *reader, uint64_t count, size_t size, void *ret_pointer);

/* Declares memory used by a format's library (M7), until the reader is closed. WEIR_E_LIMIT. */
weir_err weiri_reader_charge(weiri_reader *reader, uint64_t bytes);

/* Reports bytes at the input's end that are not a complete frame and so are not read (0:
 * nothing). */
void weiri_reader_rest(weiri_reader *reader, uint64_t bytes, uint64_t frame_bytes);

/* A text of count bytes, without blanks at its ends, as UTF-8 (otherwise it is read as Latin-1). */
weir_err
weiri_reader_text(weiri_reader *reader, const char *bytes, size_t count, const char **ret_text);

/* The same, keeping tabs and line ends within it (annotations may have them). */
weir_err
weiri_reader_lines(weiri_reader *reader, const char *bytes, size_t count, const char **ret_text);

bool weiri_is_utf8(const char *bytes, size_t count);

/* Whether such a day exists, months from 1 (Gregorian). */
bool weiri_is_date(int year, int month, int day);

/* layout(): an event, after the first segment is stated: kept if it is within the selection's
 * window, while there is space; a very long text is cut. duration_ns -1 = not stated. */
weir_err weiri_reader_annotate(
    weiri_reader *reader, int64_t onset_ns, int64_t duration_ns, const char *bytes, size_t count);

/* The scale of a channel, or NULL: stored values are physical as they are. */
const weiri_scale *weiri_reader_scale(const weiri_reader *reader, uint64_t channel);

/* The scale of integers in the side file; 0 = none. weiri_side_read applies it. */
double weiri_side_scale(const weiri_reader *reader);

/* open(), for formats without metadata: what the side file states about an array of that shape;
 * then the rate, from --rate or from there. */
void weiri_side_read(weiri_reader *reader, const uint64_t *shape, uint32_t dims);
weir_err weiri_reader_need_rate(weiri_reader *reader);
/* open(), for rows without any description: dtype (NULL) and columns (0) as weir wrote them, if
 * they are not stated and the side file has them. */
void weiri_side_shape(weiri_reader *reader, const char **dtype, uint64_t *columns);

/* open(): whether --start and --duration select no more than the first whole_s seconds. A file
 * shorter than its header states is refused (the rest is unknown), except for those who select
 * such a part. */
bool weiri_reader_within(const weiri_reader *reader, double whole_s);
/* layout() and segment() for these. Frame `index` of a segment is row first_row + index of the
 * file. */
void weiri_side_layout(weiri_reader *reader, uint64_t frames);
weir_err weiri_side_segment(weiri_reader *reader, uint64_t number, bool *ret_any);

/* layout(): one segment; the selection's window is applied to it. frames may be unknown. */
void weiri_reader_segment(weiri_reader *reader, int64_t start_ns, uint64_t frames);

/* select.c: selection, unique labels, rate and dtype, info.spec; window. */
weir_err weiri_reader_select(weiri_reader *reader);
/* The part of a segment within the window: first index and frames. */
void weiri_reader_window(const weiri_reader *reader,
                         const weir_segment *segment,
                         uint64_t *ret_first,
                         uint64_t *ret_frames);

/* reader.c: the table that makes a reader a source. */
extern const weir_source_ops weiri_reader_ops;

/* rows.c, for plan() and read(): frames stored one after the other from data_offset on ... */
weir_err weiri_rows_plan(const weiri_reader *reader, uint64_t tile_frames, uint64_t *ret_bytes);
weir_err weiri_rows_read(
    weiri_reader *reader, uint64_t index, size_t frames, void *rows, size_t *ret_frames);
/* Converts stored frames that begin frame_bytes apart, channels one after the other, to rows. */
void weiri_rows_convert(const weiri_reader *reader,
                        const unsigned char *from,
                        size_t frame_bytes,
                        size_t frames,
                        void *rows);
/* ... and runs of one column each: place() returns the offset of a column's frame, and how many
 * frames follow it there. */
typedef uint64_t (*weiri_plane_place)(const weiri_reader *reader,
                                      uint64_t column,
                                      uint64_t index,
                                      uint64_t *ret_follow);
weir_err weiri_planes_plan(const weiri_reader *reader, uint64_t tile_frames, uint64_t *ret_bytes);
weir_err weiri_planes_read(weiri_reader *reader,
                           weiri_plane_place place,
                           uint64_t index,
                           size_t frames,
                           void *rows,
                           size_t *ret_frames);
/* For columns that are in the buffer already: at(column) returns where each begins there; frames
 * [first, first + count) of them are converted to rows. */
typedef size_t (*weiri_column_at)(const weiri_reader *reader, uint64_t column);
void weiri_columns_convert(
    const weiri_reader *reader, weiri_column_at at, uint64_t first, size_t count, void *rows);

#endif

/* SPDX-License-Identifier: MIT
 *
 * weir/recording.h: files, pipes and a synthetic signal as sources and sinks of a chain. Formats are listed in
 * src/recording/formats.def. Inputs are read, not memory-mapped.
 */
#ifndef WEIR_RECORDING_H
#define WEIR_RECORDING_H

#include <weir/chain.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weir_recording_options {
    size_t options_size;       /* sizeof(weir_recording_options) */
    weir_cache *cache;         /* for labels and lists; NULL = the default cache */
    const char *format;        /* NULL = inferred from the name and the first bytes */
    double rate_hz;            /* for formats without a sample rate; 0 = not stated */
    const char *dtype;         /* raw: "i16", ">i16"; NULL = not stated */
    uint64_t channels_in_file; /* raw; 0 = not stated */
    uint64_t offset_bytes;     /* raw: of the first sample */
    const char *channels;      /* "0-63,70,Fp1": by number from 0, range or label; NULL = all */
    const char *exclude;       /* channels to leave out, in the same form */
    double start_s;            /* from the recording's first frame; NAN or 0 = its start */
    double duration_s;         /* NAN = to the end */
    double gap_tolerance_s;    /* largest timestamp deviation that is not treated as a gap (S4) */
    bool counts;               /* stored counts instead of physical values */
    bool one_rate;             /* where rates differ: only channels with the first one's rate */
    const char *dataset;       /* hdf5: "/group/name"; NULL = after the path, or the only one */
    const char *unit;          /* physical unit of channels without one; NULL = not stated */
    double scale;         /* raw: physical value of one count; 0 = values are physical as stored */
    uint64_t reserved[3]; /* 0 */
} weir_recording_options;

WEIR_API weir_recording_options weir_recording_options_default(void);

/* Opens a recording: a path (of a dataset within a file: PATH:/GROUP/NAME), "-" for standard input (with
 * format), or "synthetic:channels=256,...". WEIR_E_IO: cannot be opened or read. WEIR_E_RECORDING: malformed;
 * the detail states file, offset, found and expected. WEIR_E_USAGE: an option is missing, unknown or does not
 * apply. */
WEIR_API WEIR_NODISCARD weir_err weir_recording_open(const char *path,
                                                     const weir_recording_options *options,
                                                     weir_source **ret_source);

typedef struct weir_output_options {
    size_t options_size;  /* sizeof(weir_output_options) */
    weir_cache *cache;    /* for labels and lists; NULL = the default cache */
    const char *format;   /* NULL = inferred from the name */
    bool force;           /* replace an existing file */
    bool resume;          /* PATH.part may exist: a run with a checkpoint continues it. Without a
                             checkpoint an existing one is refused at the start */
    uint64_t reserved[4]; /* 0 */
} weir_output_options;

WEIR_API weir_output_options weir_output_options_default(void);

/* Prepares an output; nothing is written before its start. Data are written to PATH.part, which finish renames.
 * WEIR_E_USAGE: unknown format, or the file exists and force is not set. */
WEIR_API WEIR_NODISCARD weir_err weir_recording_create(const char *path,
                                                       const weir_output_options *options,
                                                       weir_sink **ret_sink);

typedef struct weir_format_info {
    const char *name;
    const char *summary;
    const char *extensions; /* ".edf .bdf" */
    bool reads, writes;
} weir_format_info;

/* Formats, ended by a NULL name. Valid as long as the process. */
WEIR_API const weir_format_info *weir_formats(void);

#ifdef __cplusplus
}
#endif
#endif

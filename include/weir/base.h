/* SPDX-License-Identifier: MIT
 *
 * weir/base.h: shared by all layers: errors, quantities with physical units ("300 Hz", "64 MiB"),
 * values of settings, tables that describe settings, the log callback.
 */
#ifndef WEIR_BASE_H
#define WEIR_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEIR_VERSION_MAJOR 0
#define WEIR_VERSION_MINOR 1
#define WEIR_VERSION_PATCH 0
#define WEIR_VERSION       "0.1.0"

#if defined(__GNUC__)
#define WEIR_API       __attribute__((visibility("default")))
#define WEIR_NODISCARD __attribute__((warn_unused_result))
#else
#define WEIR_API
#define WEIR_NODISCARD
#endif

/* Version of the linked library, in the form of WEIR_VERSION, which is the version of the header.
 * Any thread. */
WEIR_API const char *weir_version(void);

/* ---- structs that grow ------------------------------------------------------------------- */

/* Options, function tables, statistics, plans, reports and events start with their size, so that later versions
 * can add fields at the end. One rule for all of them:
 *
 *   - the program that creates one sets its size: weir_..._options_default() does it for options,
 *     `= {.stats_size = sizeof stats}` for structs that a call fills in. The library sets it in structs that it
 *     returns by pointer.
 *   - 0, or less than the first version had, is WEIR_E_USAGE, and the detail says what to do: an options struct
 *     that is only zeroed is refused.
 *   - a size smaller than this version's comes from an older program: missing fields have their defaults, and
 *     only existing fields are written.
 *   - a larger size comes from a newer program: fields that this version does not know must be zero, else
 *     WEIR_E_USAGE. In structs that a call fills in they are set to zero.
 *
 * Options are returned by value: they grow into their `reserved` words, so that their size stays.
 * Plain data has no size and never changes within one soname: values, settings, axes, specs, messages,
 * buffers, segments, annotations, steps of a trace. */

/* ---- errors ------------------------------------------------------------------------------ */

/* Every error: X(name, value, exit status of the command, text). */
#define WEIR_ERR_LIST(X)                                                                           \
    X(OK, 0, 0, "success")                                                                         \
    X(E_INTERNAL, 1, 1, "internal error")                                                          \
    X(E_USAGE, 2, 2, "usage error")                                                                \
    X(E_CHAIN, 3, 3, "invalid chain")                                                              \
    X(E_RECORDING, 4, 4, "invalid recording")                                                      \
    X(E_PLAN, 5, 5, "plan exceeds the memory limit")                                               \
    X(E_LIMIT, 6, 6, "allocation refused by a limit")                                              \
    X(E_NOMEM, 7, 6, "out of memory")                                                              \
    X(E_IO, 8, 7, "input or output error")                                                         \
    X(E_INTERRUPTED, 9, 130, "interrupted")

#define WEIR_ERR_ENUM(name, value, exit_status, text) WEIR_##name = (value),
typedef enum weir_err { WEIR_ERR_LIST(WEIR_ERR_ENUM) } weir_err;

/* If NULL is passed where a pointer is required, a function that can fail returns WEIR_E_USAGE, and the detail
 * names the function; one that returns a value returns 0, NULL, -1 or NAN; one without a result does nothing. */

/* The fixed text of an error. Never NULL; valid as long as the process. Any thread. */
WEIR_API const char *weir_err_text(weir_err err);

/* The exit status of the command for an error. Any thread. */
WEIR_API int weir_err_exit_status(weir_err err);

/* One line on the last error of this thread: what, where, what was found, what is allowed. "" before
 * the first. Borrowed pointer, valid until this thread's next failing call. */
WEIR_API const char *weir_err_detail(void);

/* ---- log --------------------------------------------------------------------------------- */

/* Called with one line, without newline, in the thread that reports it. Must not call weir. */
typedef void (*weir_log_fn)(void *user, const char *line);

/* Sets the function that receives the notices of the process; NULL (the default) drops them. Any thread. */
WEIR_API void weir_log_set(weir_log_fn log, void *user);

/* ---- quantities -------------------------------------------------------------------------- */

typedef enum weir_quantity {
    WEIR_PLAIN,     /* a number without physical unit */
    WEIR_FREQUENCY, /* Hz: mHz Hz kHz MHz */
    WEIR_TIME,      /* s: ns us ms s min h */
    WEIR_BYTES,     /* B: KiB MiB GiB = 2^10.., kB MB GB = 10^3.., bare K M G = KiB MiB GiB */
    WEIR_AMPLITUDE  /* in the physical unit of the stream: a plain number */
} weir_quantity;

/* Reads "300 Hz", "10ms", "64 MiB", "1e-3" (point in any locale); a plain number is SI or bytes.
 * WEIR_E_USAGE: not a number, an unknown physical unit, or one of another kind; the detail names both. */
WEIR_API WEIR_NODISCARD weir_err weir_quantity_parse(const char *text,
                                                     weir_quantity kind,
                                                     double *ret_value);

/* As weir_quantity_parse, for a whole number of bytes >= 0 that fits 63 bits; with a unit of bytes a fraction of a
 * byte is dropped ("1.1 GiB"). */
WEIR_API WEIR_NODISCARD weir_err weir_bytes_parse(const char *text, uint64_t *ret_bytes);

/* Writes "3.1 MiB" into text[size] (24 is enough); returns text. */
WEIR_API char *weir_bytes_format(uint64_t bytes, char *text, size_t size);

/* ---- values and settings ----------------------------------------------------------------- */

typedef enum weir_value_type {
    WEIR_VALUE_NULL,
    WEIR_VALUE_BOOL,
    WEIR_VALUE_NUMBER,
    WEIR_VALUE_TEXT,
    WEIR_VALUE_LIST,
    WEIR_VALUE_MAP
} weir_value_type;

/* A value in a chain file or from a caller. Plain data; calls borrow it and do not keep it. */
typedef struct weir_value {
    const char *key; /* its name in a map; NULL in a list */
    weir_value_type type;
    double number;                  /* of a NUMBER; 0 or 1 of a BOOL */
    const char *text;               /* of a TEXT; of others as written, or NULL */
    const struct weir_value *items; /* of a LIST or MAP: count of them */
    size_t count;
    uint32_t line, column; /* place in its file, from 1; 0 = no file */
} weir_value;

/* Values made in C: weir_text("cutoff", "6 kHz"), weir_number("order", 4), weir_bool("numba", false). `key` is
 * NULL for an item of a list. Texts, items and keys are borrowed: they must exist as long as the value is used. */
WEIR_API weir_value weir_null(const char *key);
WEIR_API weir_value weir_bool(const char *key, bool flag);
WEIR_API weir_value weir_number(const char *key, double number);
WEIR_API weir_value weir_text(const char *key, const char *text);
WEIR_API weir_value weir_list_of(const char *key, const weir_value *items, size_t count);
WEIR_API weir_value weir_map_of(const char *key, const weir_value *items, size_t count);
/* A list of numbers; items[count] is the caller's memory and must exist as long as the value is used:
 *     weir_value items[2];
 *     weir_value band = weir_numbers("band", (const double[]){300, 6000}, 2, items); */
WEIR_API weir_value weir_numbers(const char *key,
                                 const double *numbers,
                                 size_t count,
                                 weir_value *items);

typedef enum weir_setting_type {
    WEIR_SETTING_NUMBER,    /* double */
    WEIR_SETTING_INTEGER,   /* int64_t */
    WEIR_SETTING_QUANTITY,  /* double in SI, of the setting's kind */
    WEIR_SETTING_STRING,    /* const char * */
    WEIR_SETTING_ENUM,      /* int: index into choices */
    WEIR_SETTING_ENUM_LIST, /* weir_list of int: one name or a list of them */
    WEIR_SETTING_BOOL,      /* bool */
    WEIR_SETTING_LIST,      /* weir_list of double: one number or a list of them */
    WEIR_SETTING_MATRIX,    /* weir_matrix: a list of rows of equal length, a file, or a choice */
    WEIR_SETTING_ANY,       /* const weir_value *: the processing unit parses it itself */
    WEIR_SETTING_IGNORED    /* accepted with a notice and ignored: a setting of ezmsg-sigproc */
} weir_setting_type;

/* null, where it is the default, is read as NAN, INT64_MIN, NULL, -1 or an empty list. */
typedef struct weir_list {
    size_t count;
    union {
        const double *numbers;
        const int *choices;
    } of;
    bool listed; /* stated as a list (possibly of one entry); false: as a single value */
} weir_list;

/* rows is 0 if there are no numbers: null (columns is 0), or choice number columns - 1. */
typedef struct weir_matrix {
    size_t rows, columns;
    const double *numbers; /* row-major */
} weir_matrix;

/* One name of an enumeration, and an alternative name (NULL = none). Case-insensitive. */
typedef struct weir_choice {
    const char *name;
    const char *also;
} weir_choice;

/* One setting. A table ends in a row whose name is NULL. */
typedef struct weir_setting {
    const char *name;
    weir_setting_type type;
    weir_quantity kind; /* of a NUMBER, QUANTITY, LIST */
    const char *preset; /* default, as in a chain file; "null" = none; NULL = required */
    double min, max;    /* allowed range, ends included; both 0 = any finite number */
    const weir_choice
        *choices;        /* of an ENUM or ENUM_LIST, or also of a MATRIX; ends in a NULL name */
    size_t offset;       /* of the field in the unit's settings struct */
    const char *help;    /* one line */
    const char *example; /* a value that works on 30 kHz data, for documentation and the
                                    conformance tests; required settings have one */
    bool live;           /* may be changed while the chain runs (weir_chain_set) */
} weir_setting;

#ifdef __cplusplus
}
#endif
#endif

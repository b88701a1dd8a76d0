/* SPDX-License-Identifier: MIT
 *
 * base.h: internals used by every module: failing with a detail line, notices, reading settings by
 * their table, small text helpers. Nothing here allocates.
 */
#ifndef WEIRI_BASE_H
#define WEIRI_BASE_H

#include <stdarg.h>
#include <stddef.h>

#include <weir/base.h>

#if defined(__GNUC__)
#define WEIRI_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define WEIRI_PRINTF(text, first)
#endif

#define WEIRI_DETAIL_BYTES 1024

/* Sets this thread's detail line and returns err: `return weiri_fail(WEIR_E_IO, "%s: ...", path);` */
weir_err weiri_fail(weir_err err, const char *format, ...) WEIRI_PRINTF(2, 3);

/* What a call says where a pointer that it requires is NULL: `return weiri_null(__func__);` */
weir_err weiri_null(const char *call);

/* Puts text before the detail line that is there ("chain.yaml:4:7: "), and returns err. */
weir_err weiri_fail_prefix(weir_err err, const char *format, ...) WEIRI_PRINTF(2, 3);

/* How often this thread has failed so far: tells whether a call has set a detail. */
uint64_t weiri_fail_count(void);

/* The rule of structs that start with their size (weir/base.h), for one kind of struct. */
typedef struct weiri_sized {
    const char *field; /* "chain options: options_size" */
    const char *make;  /* what to do: "weir_chain_options_default() makes them" */
    size_t least;      /* bytes of the first version, WEIRI_THROUGH its last field */
    size_t known;      /* bytes that this version knows */
} weiri_sized;
#define WEIRI_THROUGH(type, field) (offsetof(type, field) + sizeof(((type *)0)->field))

/* Of one that is used where it is (tables of functions): its size, and zeros after what is known. */
weir_err weiri_sized_check(const weiri_sized *rule, const void *given);
/* Checks one and copies what it has over *ret, which holds the defaults. *ret keeps its size. */
weir_err weiri_sized_read(const weiri_sized *rule, const void *given, void *ret);
/* Copies a filled struct of rule->known bytes to a caller's; that keeps its size. */
weir_err weiri_sized_write(const weiri_sized *rule, const void *filled, void *ret);

/* Whether an optional slot of a table is there: it may have been filled by a program that knew fewer. */
#define WEIRI_HAS(ops, slot)                                                                       \
    ((ops)->ops_size >= WEIRI_THROUGH(__typeof__(*(ops)), slot) && (ops)->slot != NULL)

/* As vsnprintf in the C locale, into one line: control characters become '?'. */
void weiri_format(char *text, size_t size, const char *format, va_list args) WEIRI_PRINTF(3, 0);

/* Passes one line to the log callback. */
void weiri_log(const char *format, ...) WEIRI_PRINTF(1, 2);

/* A capped list of notices (M6: nothing grows with the recording). */
#define WEIRI_NOTICES      16
#define WEIRI_NOTICE_BYTES 192
typedef struct weiri_notices {
    size_t count;      /* lines kept */
    uint64_t left_out; /* further ones */
    const char *lines[WEIRI_NOTICES];
    char text[WEIRI_NOTICES][WEIRI_NOTICE_BYTES];
} weiri_notices;
void weiri_notice(weiri_notices *notices, const char *format, ...) WEIRI_PRINTF(2, 3);

/* Reads a finite number at text (point in any locale, no leading blanks) and returns where it ended;
 * false: none there. */
bool weiri_number_read(const char *text, const char **ret_end, double *ret_number);

/* Writes the shortest decimal that reads back as the same double, with a point in any locale. */
char *weiri_number_write(double number, char *text, size_t size);

/* The name nearest to `found` among count names, or NULL where none is near. */
const char *weiri_nearest(const char *found, const char *const *names, size_t count);

/* Case-blind equality, ASCII. */
bool weiri_equal_blind(const char *a, const char *b);

/* bytes rounded up to a multiple of step (a power of two); SIZE_MAX on overflow. */
size_t weiri_round_up(size_t bytes, size_t step);
/* a * b, or false on overflow. */
bool weiri_mul(uint64_t a, uint64_t b, uint64_t *ret_product);

/* Memory that settings with lists and texts are copied into; the caller provides the function. */
typedef struct weiri_memory {
    void *(*get)(void *user, size_t bytes); /* zeroed, aligned to 16 B, or NULL */
    void *user;
} weiri_memory;

/* Fills a settings struct by its table from count values: defaults first, then the values. Copies
 * texts, lists and values of type ANY. `marks` (as many as table rows, or NULL) receives the place
 * of each setting. `also` (may be NULL) is a setting that the caller reads itself, for the list of allowed
 * ones. WEIR_E_CHAIN: unknown, repeated or missing setting, wrong type, unit or range; the
 * detail starts with the setting's name ("cutoff: ..."), and *ret_wrong (may be NULL) is the wrong
 * value, or NULL. WEIR_E_NOMEM. Settings of type IGNORED that were given are named in
 * notices (may be NULL). */
weir_err weiri_settings_read(const weir_setting *table,
                             const char *also,
                             const weir_value *values,
                             size_t count,
                             weiri_memory memory,
                             weiri_notices *notices,
                             void *settings,
                             weir_value *marks,
                             const weir_value **ret_wrong);

/* One row of a table, of a type that needs no memory (number, quantity, integer, enum, bool): reads a value into
 * the settings struct; null = none. WEIR_E_CHAIN as above. */
weir_err weiri_setting_read(const weir_setting *row, const weir_value *value, void *settings);

/* Reads a matrix of finite numbers from an npy file or a text file (rows of numbers separated by commas, semicolons
 * or blanks, # starts a comment); one dimension is one row. WEIR_E_CHAIN: the detail starts with path and place;
 * WEIR_E_IO, WEIR_E_NOMEM. */
#define WEIRI_MATRIX_MAX (1 << 24) /* numbers: 4096 x 4096 */
weir_err weiri_matrix_read(const char *path, weiri_memory memory, weir_matrix *ret_matrix);

/* A deep copy of a value. NULL: no memory, or nested deeper than this (the detail says so). */
#define WEIRI_VALUE_DEPTH 32
const weir_value *weiri_value_copy(const weir_value *value, weiri_memory memory);

#endif

/* SPDX-License-Identifier: MIT
 *
 * unit_bench.h: shared by the files of `weir bench units`: each processing unit with the settings
 * for its measurement, and the results.
 */
#ifndef WEIR_CLI_BENCH_UNIT_BENCH_H
#define WEIR_CLI_BENCH_UNIT_BENCH_H

#include <limits.h>

#include "bench.h"

enum { UNIT_PEERS = 2 };

/* One pass over BENCH_RING messages; for a measurement, the median. */
typedef struct unit_pass {
    double ns, byte_ns;     /* of the unit; to read or write a byte, when the messages are copied */
    uint64_t values, bytes; /* values: of the unit's (first) input; bytes: input and output */
} unit_pass;

typedef struct unit_peer {
    const char *name;       /* "ezmsg", "SciPy" */
    const char *program;    /* in the peers' folder */
    char *work;             /* its class, or its call */
    char *version, *reason; /* reason: why it was not measured; NULL = it was */
    double ns; /* per value of the unit's input; from the fastest round, like all figures */
} unit_peer;

typedef struct unit_row {
    const weir_unit_info *info;
    char *before,
        *own; /* entries of a chain: those that make the unit's input, "" = none; the unit */
    double multiply_adds; /* f64, per value; 0 = not stated */
    const char *note;     /* why a peer may be faster, or NULL */
    double ns, copy_ns;   /* copy: the unit's bytes, in and out, at the rate of a copy */
    unit_peer peers[UNIT_PEERS];
    size_t peer_count;
} unit_row;

typedef struct unit_bench {
    uint64_t rounds;
    double seconds;
    const char *only, *peers;
    bool json;
    char folder[PATH_MAX];
    double multiply_add_ns; /* f64; 0 = bench/kernels was not found */
    char *classes;          /* JSON: names of units -> classes of ezmsg-sigproc */
    bench_input input;
    unit_row *rows;
    size_t count;
} unit_bench;

/* The least time per value on this machine; *ret_by: "copy" or "fma". */
double unit_limit_ns(const unit_bench *b, const unit_row *row, const char **ret_by);
/* The fastest of the peers that were measured, or NULL. */
const unit_peer *unit_best_peer(const unit_row *row);

/* unit_run.c: runs the unit, and copies of its input, for that long each after a warm-up. */
weir_err unit_measure(bench_input *input, const unit_row *row, double seconds, unit_pass *ret_pass);

/* units_table.c */
void unit_bench_print(const unit_bench *b);
json_t *unit_bench_json(const unit_bench *b);

#endif

/* SPDX-License-Identifier: MIT
 *
 * trace_read.c: reads traces: weir's own format (weir/trace.h) and recorded runs of MLX as CSV.
 * Returns the steps one by one; replay.c executes them. Memory grows with the number of buffers in
 * use at once, not with the file.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/trace.h>

#include "base/base.h"

#define LINE_MOST 256
#define SLOT_MOST (UINT64_C(1) << 24) /* for CSV, with the numbers in the file */
#define SIZE_MOST (UINT64_C(1) << 60)

/* A buffer in use, in weir's own format: the number of its allocation, and its slot. */
typedef struct live {
    uint64_t number; /* 0 = free entry */
    uint64_t slot;
} live;

struct weir_trace {
    FILE *file;
    char *path;
    weir_trace_info info;
    bool csv, ended;
    long first; /* offset of the first step */
    uint64_t line;
    char policy[41];
    /* for weir's own format */
    uint64_t events, takes, last_size;
    live *table; /* open addressing; a power of two of entries */
    size_t places, used;
    uint64_t *free_slots;
    size_t free_count, free_room;
    uint64_t slots; /* ever used */
};

static weir_err no_memory(const weir_trace *trace)
{
    return weiri_fail(WEIR_E_NOMEM, "%s: no memory for its live buffers", trace->path);
}

/* ---- live buffers by number ---------------------------------------------------------------- */

static size_t place_of(const weir_trace *trace, uint64_t number)
{
    size_t at = (size_t)((number * UINT64_C(0x9e3779b97f4a7c15)) >> 20) & (trace->places - 1);
    while (trace->table[at].number != 0 && trace->table[at].number != number) {
        at = (at + 1) & (trace->places - 1);
    }
    return at;
}

static weir_err grow(weir_trace *trace)
{
    if (trace->used * 2 < trace->places) {
        return WEIR_OK;
    }
    live *old = trace->table;
    size_t count = trace->places;
    trace->places = count == 0 ? 256 : count * 2;
    trace->table = calloc(trace->places, sizeof *trace->table);
    if (trace->table == NULL) {
        trace->table = old;
        trace->places = count;
        return no_memory(trace);
    }
    for (size_t i = 0; i < count; i++) {
        if (old[i].number != 0) {
            trace->table[place_of(trace, old[i].number)] = old[i];
        }
    }
    free(old);
    return WEIR_OK;
}

static weir_err live_add(weir_trace *trace, uint64_t number, uint64_t *ret_slot)
{
    weir_err err = grow(trace);
    if (err != WEIR_OK) {
        return err;
    }
    uint64_t slot = trace->free_count > 0 ? trace->free_slots[--trace->free_count] : trace->slots++;
    trace->table[place_of(trace, number)] = (live){number, slot};
    trace->used++;
    *ret_slot = slot;
    return WEIR_OK;
}

static weir_err slot_free(weir_trace *trace, uint64_t slot)
{
    if (trace->free_count == trace->free_room) {
        size_t room = trace->free_room == 0 ? 256 : trace->free_room * 2;
        uint64_t *more = realloc(trace->free_slots, room * sizeof *more);
        if (more == NULL) {
            return no_memory(trace);
        }
        trace->free_slots = more;
        trace->free_room = room;
    }
    trace->free_slots[trace->free_count++] = slot;
    return WEIR_OK;
}

/* Removal without markers: later entries move up if they may. */
static bool live_remove(weir_trace *trace, uint64_t number, uint64_t *ret_slot)
{
    size_t at = trace->places > 0 ? place_of(trace, number) : 0;
    if (trace->places == 0 || trace->table[at].number == 0) {
        return false;
    }
    *ret_slot = trace->table[at].slot;
    trace->table[at].number = 0;
    trace->used--;
    for (size_t next = (at + 1) & (trace->places - 1); trace->table[next].number != 0;
         next = (next + 1) & (trace->places - 1)) {
        live moved = trace->table[next];
        trace->table[next].number = 0;
        trace->table[place_of(trace, moved.number)] = moved;
    }
    return true;
}

/* ---- weir's own form ----------------------------------------------------------------------- */

/* False: the file ends within the number, or it is longer than 64 bits. */
static bool get(weir_trace *trace, uint64_t *ret_value)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        int c = getc_unlocked(trace->file);
        if (c == EOF) {
            return false;
        }
        value |= (uint64_t)(c & 0x7f) << shift;
        if ((c & 0x80) == 0) {
            *ret_value = value;
            return shift < 63 || c <= 1;
        }
    }
    return false;
}

static weir_err nonsense(const weir_trace *trace, const char *what)
{
    return weiri_fail(WEIR_E_RECORDING, "%s: event %llu before byte %ld: %s", trace->path,
                      (unsigned long long)trace->events, ftell(trace->file), what);
}

static weir_err end_or_fail(weir_trace *trace)
{
    if (ferror(trace->file)) {
        return weiri_fail(WEIR_E_IO, "%s: %s", trace->path, strerror(errno));
    }
    if (!feof(trace->file)) {
        return nonsense(trace, "a number of more than 64 bits");
    }
    trace->info.cut = true;
    trace->ended = true;
    return WEIR_OK;
}

static weir_err read_take(weir_trace *trace, uint64_t value, weir_trace_step *step)
{
    uint64_t more = value >> 1;
    uint64_t size = (value & 1) != 0 ? trace->last_size + ~more : trace->last_size + more;
    if (size == 0 || size > SIZE_MOST) {
        return nonsense(trace, "a size that no heap has");
    }
    step->op = WEIR_TRACE_TAKE;
    step->bytes = trace->last_size = size;
    return live_add(trace, ++trace->takes, &step->slot);
}

static weir_err read_give(weir_trace *trace, uint64_t ago, weir_trace_step *step)
{
    if (ago >= trace->takes || !live_remove(trace, trace->takes - ago, &step->slot)) {
        return nonsense(trace, "a buffer is given that is not live");
    }
    step->op = WEIR_TRACE_GIVE;
    return slot_free(trace, step->slot);
}

static weir_err read_mark(weir_trace *trace, uint64_t mark, weir_trace_step *step)
{
    static const weir_trace_op ops[] = {WEIR_TRACE_END,   WEIR_TRACE_LIMIT,  WEIR_TRACE_MEMORY,
                                        WEIR_TRACE_CLEAR, WEIR_TRACE_CHARGE, WEIR_TRACE_UNCHARGE};
    uint64_t value = 0;
    if (mark >= sizeof ops / sizeof ops[0]) {
        return nonsense(trace, "a mark of a kind that this version does not know");
    }
    step->op = ops[mark];
    if (step->op != WEIR_TRACE_CLEAR && !get(trace, &value)) {
        step->op = WEIR_TRACE_END;
        return end_or_fail(trace);
    }
    if (step->op == WEIR_TRACE_END) {
        trace->ended = true;
        return value == trace->events ? WEIR_OK : nonsense(trace, "the end counts other events");
    }
    bool limit = step->op == WEIR_TRACE_LIMIT || step->op == WEIR_TRACE_MEMORY;
    step->bytes = limit ? value - 1 : value; /* 0 becomes WEIR_NO_LIMIT */
    return WEIR_OK;
}

static weir_err next_own(weir_trace *trace, weir_trace_step *step)
{
    uint64_t value = 0;
    step->step = trace->events;
    if (!get(trace, &value)) {
        return end_or_fail(trace);
    }
    weir_err err;
    switch (value & 3) {
    case 0:
        err = read_take(trace, value >> 2, step);
        break;
    case 1:
        err = read_give(trace, value >> 2, step);
        break;
    case 2:
        err = read_mark(trace, value >> 2, step);
        break;
    default:
        err = nonsense(trace, "a kind that this version does not know");
    }
    trace->events++;
    return err;
}

/* ---- CSV ----------------------------------------------------------------------------------- */

static weir_err bad_row(const weir_trace *trace, const char *line)
{
    return weiri_fail(WEIR_E_RECORDING,
                      "%s:%llu: found '%.60s'; wanted step,op,slot,bytes,active,cached with op "
                      "a, f, l or c",
                      trace->path, (unsigned long long)trace->line, line);
}

/* A line without its line end; false at the end of the file. */
static bool get_line(weir_trace *trace, char *line)
{
    if (fgets(line, LINE_MOST, trace->file) == NULL) {
        return false;
    }
    trace->line++;
    line[strcspn(line, "\r\n")] = '\0';
    return true;
}

static weir_err next_row(weir_trace *trace, weir_trace_step *step)
{
    char line[LINE_MOST], op = 0, rest = 0;
    int64_t slot = 0;
    do {
        if (!get_line(trace, line)) {
            trace->ended = true;
            return ferror(trace->file)
                       ? weiri_fail(WEIR_E_IO, "%s: %s", trace->path, strerror(errno))
                       : WEIR_OK;
        }
    } while (line[0] == '\0' || line[0] == '#' || strncmp(line, "step,", 5) == 0);
    int found = sscanf(line, "%" SCNu64 ",%c,%" SCNd64 ",%" SCNu64 ",%" SCNu64 ",%" SCNu64 "%c",
                       &step->step, &op, &slot, &step->bytes, &step->live, &step->idle, &rest);
    bool known = op == 'a' || op == 'f' || op == 'l' || op == 'c';
    bool buffer = op == 'a' || op == 'f';
    if ((found != 4 && found != 6) || !known ||
        (buffer && (slot < 0 || slot >= (int64_t)SLOT_MOST)) || step->bytes > SIZE_MOST) {
        return bad_row(trace, line);
    }
    step->op = (weir_trace_op)op;
    step->slot = buffer ? (uint64_t)slot : 0;
    step->recorded = found == 6;
    return WEIR_OK;
}

/* "# mlx 0.32.4 device Device(gpu, 0) limit 33554432 seed 11" */
static void read_csv_head(weir_trace *trace, const char *line)
{
    bool gpu = strstr(line, "(gpu") != NULL;
    snprintf(trace->policy, sizeof trace->policy, gpu ? "mlx:cuda" : "mlx:cpu");
    trace->info.cache_limit = WEIR_LIMIT_OWN;
    const char *limit = strstr(line, " limit ");
    uint64_t bytes = 0;
    if (limit != NULL && sscanf(limit, " limit %" SCNu64, &bytes) == 1) {
        trace->info.cache_limit = bytes;
    }
}

/* ---- calls --------------------------------------------------------------------------------- */

static weir_err read_head(weir_trace *trace)
{
    char line[LINE_MOST], limit[24];
    if (!get_line(trace, line)) {
        return weiri_fail(WEIR_E_RECORDING, "%s: is empty; a trace was expected", trace->path);
    }
    int version = 0;
    if (sscanf(line, "weir-trace %d %40s %*40s %23s", &version, trace->policy, limit) == 3) {
        uint64_t bytes = WEIR_NO_LIMIT;
        if (version != 1) {
            return weiri_fail(WEIR_E_RECORDING, "%s: is of version %d; this weir reads 1",
                              trace->path, version);
        }
        if (weir_limit_parse(limit, false, &bytes) != WEIR_OK) {
            return weiri_fail_prefix(WEIR_E_RECORDING, "%s: its limit: ", trace->path);
        }
        trace->info.cache_limit = bytes;
        trace->first = ftell(trace->file);
        return WEIR_OK;
    }
    if (strncmp(line, "# mlx ", 6) == 0 || strncmp(line, "step,op,slot,bytes", 18) == 0) {
        trace->csv = true;
        read_csv_head(trace, line);
        return WEIR_OK;
    }
    return weiri_fail(WEIR_E_RECORDING,
                      "%s: is no trace: it starts neither with 'weir-trace' nor with a row "
                      "step,op,slot,bytes,active,cached",
                      trace->path);
}

weir_err weir_trace_open(const char *path, weir_trace **ret_trace)
{
    if (path == NULL || ret_trace == NULL) {
        return weiri_null(__func__);
    }
    weir_trace *trace = calloc(1, sizeof *trace);
    if (trace == NULL || (trace->path = strdup(path)) == NULL) {
        free(trace);
        return weiri_fail(WEIR_E_NOMEM, "%s: no memory to read it", path);
    }
    weir_err err = WEIR_OK;
    trace->file = fopen(path, "re");
    if (trace->file == NULL) {
        err = weiri_fail(WEIR_E_IO, "%s: %s", path, strerror(errno));
    } else {
        err = read_head(trace);
        if (ferror(trace->file)) { /* for example a folder */
            err = weiri_fail(WEIR_E_IO, "%s: cannot be read", path);
        }
    }
    if (err != WEIR_OK) {
        weir_trace_close(trace);
        return err;
    }
    trace->info.info_size = sizeof trace->info;
    trace->info.form = trace->csv ? "csv" : "weir";
    trace->info.policy = trace->policy;
    *ret_trace = trace;
    return WEIR_OK;
}

weir_err weir_trace_next(weir_trace *trace, weir_trace_step *ret_step)
{
    if (trace == NULL || ret_step == NULL) {
        return weiri_null(__func__);
    }
    weir_trace_step step = {.op = WEIR_TRACE_END};
    weir_err err = WEIR_OK;
    if (!trace->ended) {
        err = trace->csv ? next_row(trace, &step) : next_own(trace, &step);
    }
    if (err == WEIR_OK) {
        *ret_step = step;
    }
    return err;
}

weir_err weir_trace_rewind(weir_trace *trace)
{
    if (trace == NULL) {
        return weiri_null(__func__);
    }
    if (fseek(trace->file, trace->first, SEEK_SET) != 0) {
        return weiri_fail(WEIR_E_IO, "%s: %s; a trace is read more than once", trace->path,
                          strerror(errno));
    }
    trace->info.cut = trace->ended = false;
    trace->line = 0;
    trace->events = trace->takes = trace->last_size = trace->slots = 0;
    trace->free_count = trace->used = 0;
    if (trace->table != NULL) {
        memset(trace->table, 0, trace->places * sizeof *trace->table);
    }
    return WEIR_OK;
}

const weir_trace_info *weir_trace_info_get(const weir_trace *trace)
{
    if (trace == NULL) {
        return NULL;
    }
    return &trace->info;
}

void weir_trace_close(weir_trace *trace)
{
    if (trace == NULL) {
        return;
    }
    if (trace->file != NULL) {
        fclose(trace->file);
    }
    free(trace->table);
    free(trace->free_slots);
    free(trace->path);
    free(trace);
}

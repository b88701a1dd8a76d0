/* SPDX-License-Identifier: MIT
 *
 * units.c: `weir bench units`: compares each processing unit alone with the least time that it
 * needs on this machine and with its peers, alternately. The list of units, their example settings
 * and their class of ezmsg-sigproc come from the units' descriptors; exceptions for the measurement
 * are in one table here. units_table.c prints.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unit_bench.h"
#include "units.h"

enum { OPT_ROUNDS = 0x400, OPT_SECONDS, OPT_PEERS, OPT_ONLY };

/* Exceptions from the descriptor. Each field may be left out. */
static const struct exception {
    const char *unit;
    /* Entries of a chain, one per line, used if the page's example changes nothing or is no work
     * for a peer. */
    const char *before, *entries;
    double multiply_adds; /* f64, per value of the input: if they take longer than its bytes */
    const char *scipy;    /* a peer: see bench/peers/scipy_unit.py */
    const char *note;     /* why a peer may be faster */
} exceptions[] = {
#define VIEW                                                                                       \
    "it returns a view of its input; weir looks for missing samples in what it leaves out too"
#define BUTTER "sos: signal.butter(4, [300, 6000], 'bandpass', fs=rate, output='sos')"
#define CHEBY  "sos: signal.cheby1(4, 0.5, 6000, fs=rate, output='sos')"
#define EWMA   "ba: [-np.expm1(-100 / rate)], [1, -np.exp(-100 / rate)]"
    {.unit = "butterworth", .multiply_adds = 4 * 3, .scipy = BUTTER},
    {.unit = "chebyshev", .multiply_adds = 2 * 4, .scipy = CHEBY},
    {.unit = "clip", .before = "", .entries = "- clip: {min: -1, max: 1}\n"},
    {.unit = "downsample", .note = VIEW},
    {.unit = "ewma", .multiply_adds = 1, .scipy = EWMA},
    {.unit = "linear", .before = "", .entries = "- linear: {scale: 2, offset: 1}\n"},
    {.unit = "log", .before = "- abs: {}\n", .entries = "- log: {}\n"},
    {.unit = "scale", .before = "", .entries = "- scale: {scale: 2}\n"},
    {.unit = "slicer", .note = VIEW},
};

static const struct exception *exception_of(const char *unit)
{
    static const struct exception none = {0};
    for (size_t i = 0; i < sizeof exceptions / sizeof exceptions[0]; i++)
        if (strcmp(exceptions[i].unit, unit) == 0)
            return &exceptions[i];
    return &none;
}

/* ---- what is run ----------------------------------------------------------------------------------- */

/* The example of the unit's page; the last entry is the unit. */
static void read_example(unit_row *row)
{
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    if (memory == NULL)
        exit(cli_fail(weir_err_exit_status(WEIR_E_NOMEM), "no memory left"));
    unit_put_example(row->info, memory, "");
    fclose(memory);
    size_t before = size > 0 ? size - 1 : 0;
    while (before > 0 && !(text[before - 1] == '\n' && text[before] == '-'))
        before--;
    row->before = cli_text("%.*s", (int)before, text);
    row->own = cli_text("%s", text + before);
    free(text);
}

static unit_peer *
add_peer(unit_row *row, const char *name, const char *program, const char *work, size_t length)
{
    unit_peer *peer = &row->peers[row->peer_count++];
    *peer =
        (unit_peer){.name = name, .program = program, .work = cli_text("%.*s", (int)length, work)};
    return peer;
}

static void add_row(unit_bench *b, const weir_unit_info *info, json_t *classes)
{
    unit_row *row = &b->rows[b->count];
    const struct exception *exception = exception_of(info->name);
    *row = (unit_row){
        .info = info,
        .multiply_adds = exception->multiply_adds,
        .note = exception->note,
        .ns = INFINITY,
        .copy_ns = INFINITY,
    };
    if (info->ezmsg != NULL) { /* the first of several classes is that of the unit's name */
        size_t length = strcspn(info->ezmsg, " ");
        json_object_set_new(classes, info->name, json_stringn(info->ezmsg, length));
        add_peer(row, "ezmsg", "ezmsg_unit", info->ezmsg, length);
    }
    if (exception->scipy != NULL)
        add_peer(row, "SciPy", "scipy_unit", exception->scipy, strlen(exception->scipy));
    if (b->only != NULL && strstr(info->name, b->only) == NULL) {
        for (size_t i = 0; i < row->peer_count; i++)
            free(row->peers[i].work);
        return;
    }
    if (exception->entries != NULL) {
        row->before = cli_text("%s", exception->before);
        row->own = cli_text("%s", exception->entries);
    } else {
        read_example(row);
    }
    b->count++;
}

static void list_units(unit_bench *b)
{
    json_t *classes = json_object();
    b->rows = cli_alloc(weir_unit_count(), sizeof *b->rows);
    for (size_t i = 0; i < weir_unit_count(); i++)
        add_row(b, weir_unit_at(i), classes);
    b->classes = json_dumps(classes, JSON_COMPACT);
    json_decref(classes);
}

/* ---- running --------------------------------------------------------------------------------------- */

static void take(double *least, double ns, uint64_t values)
{
    *least = fmin(*least, ns / (double)values);
}

/* One measurement of a peer, which may turn out to be unable to do it: then it is left out from
 * then on. */
static int run_peer(unit_bench *b, const unit_row *row, unit_peer *peer, const unit_pass *own)
{
    char path[PATH_MAX + 64], channels[24], frames[24], rate[24], seconds[32];
    const bench_peer program = {.program = peer->program};
    const char *missing = bench_peer_missing(b->folder, &program);
    if (missing != NULL) {
        peer->reason = cli_text("%s", missing);
        return 0;
    }
    snprintf(path, sizeof path, "%s/%s", b->folder, peer->program);
    snprintf(channels, sizeof channels, "%d", BENCH_CHANNELS);
    snprintf(frames, sizeof frames, "%d", BENCH_FRAMES);
    snprintf(rate, sizeof rate, "%d", (int)BENCH_RATE_HZ);
    snprintf(seconds, sizeof seconds, "%d.%03d", (int)b->seconds, (int)(b->seconds * 1000) % 1000);
    char *entries = cli_text("%s%s", row->before, row->own);
    bool ezmsg = strcmp(peer->program, "ezmsg_unit") == 0;
    const char *arguments[] = {
        channels, frames, rate, seconds, ezmsg ? entries : peer->work, ezmsg ? b->classes : NULL,
        NULL};
    json_t *json = NULL;
    int status = bench_program_run(path, arguments, (unsigned)b->seconds, &json);
    free(entries);
    if (status != 0)
        return status;
    const char *reason = json_string_value(json_object_get(json, "skipped"));
    double ns = json_number_value(json_object_get(json, "pass_median_us")) * 1e3;
    if (reason != NULL) {
        peer->reason = cli_text("%s", reason);
    } else if (ns > 0) {
        double least = peer->ns > 0 ? peer->ns : INFINITY;
        take(&least, ns, own->values);
        peer->ns = least;
        free(peer->version);
        peer->version = cli_text("%s", json_string_value(json_object_get(json, "version")));
    } else {
        status = cli_fail(1, "%s printed no measurement", path);
    }
    json_decref(json);
    return status;
}

static int run_row(unit_bench *b, unit_row *row)
{
    unit_pass pass;
    weir_err err = unit_measure(&b->input, row, b->seconds, &pass);
    if (err == WEIR_OK && pass.values == 0)
        return cli_fail(1, "%s: nothing to measure: the entries before it have no output",
                        row->info->name);
    if (err != WEIR_OK) {
        fprintf(stderr, "weir: bench units: %s:\n", row->info->name);
        return cli_fail_weir(err);
    }
    take(&row->ns, pass.ns, pass.values);
    take(&row->copy_ns, pass.byte_ns * (double)pass.bytes, pass.values);
    int status = 0;
    for (size_t i = 0; i < row->peer_count && status == 0; i++)
        if (row->peers[i].reason == NULL)
            status = run_peer(b, row, &row->peers[i], &pass);
    return cli_stop ? weir_err_exit_status(WEIR_E_INTERRUPTED) : status;
}

/* The time of a multiply-add of one lane, from the program that measures kernels. */
static int run_limits(unit_bench *b)
{
    json_t *kernels = NULL;
    int status = bench_kernels_run(b->folder, "ewma", fmin(0.1, b->seconds), &kernels);
    if (status == 0 && kernels != NULL) {
        const json_t *fma = json_object_get(json_object_get(kernels, "limits"), "multiply_add_ns");
        double lanes = json_number_value(json_object_get(kernels, "vector_bytes")) / sizeof(double);
        b->multiply_add_ns = json_number_value(json_object_get(fma, "median")) / lanes;
    }
    json_decref(kernels);
    return status;
}

static int run(unit_bench *b)
{
    bool shown = isatty(STDERR_FILENO) && !b->json;
    int status = run_limits(b);
    for (uint64_t round = 0; round < b->rounds && status == 0; round++) {
        for (size_t i = 0; i < b->count && status == 0; i++) {
            if (shown)
                fprintf(stderr, "\r\033[Kround %llu of %llu: %s", (unsigned long long)round + 1,
                        (unsigned long long)b->rounds, b->rows[i].info->name);
            status = run_row(b, &b->rows[i]);
        }
    }
    if (shown)
        fputs("\r\033[K", stderr);
    return status;
}

/* ---- what came out ----------------------------------------------------------------------------------- */

double unit_limit_ns(const unit_bench *b, const unit_row *row, const char **ret_by)
{
    double fma_ns = row->multiply_adds * b->multiply_add_ns;
    *ret_by = fma_ns > row->copy_ns ? "fma" : "copy";
    return fmax(fma_ns, row->copy_ns);
}

const unit_peer *unit_best_peer(const unit_row *row)
{
    const unit_peer *best = NULL;
    for (size_t i = 0; i < row->peer_count; i++)
        if (row->peers[i].ns > 0 && (best == NULL || row->peers[i].ns < best->ns))
            best = &row->peers[i];
    return best;
}

/* ---- the command --------------------------------------------------------------------------------------- */

static const struct argp_option options[] = {
    {"rounds", OPT_ROUNDS, "N", 0, "number of rounds; default 3", 0},
    {"seconds", OPT_SECONDS, "S", 0, "length of one measurement; default 0.2", 0},
    {"only", OPT_ONLY, "WORD", 0, "units with WORD in their name", 0},
    {"peers", OPT_PEERS, "DIR", 0, "folder of the peers' programs; default: bench, next to weir",
     0},
    {"json", CLI_OPT_JSON, NULL, 0, "print JSON", 0},
    {0},
};

static error_t parse(int key, char *text, struct argp_state *state)
{
    unit_bench *b = state->input;
    switch (key) {
    case OPT_ROUNDS:
        b->rounds = cli_option_count(state, "--rounds", text, 1);
        return 0;
    case OPT_SECONDS:
        b->seconds = cli_option_quantity(state, "--seconds", text, WEIR_TIME, 0.001);
        return 0;
    case OPT_ONLY:
        b->only = text;
        return 0;
    case OPT_PEERS:
        b->peers = text;
        return 0;
    case CLI_OPT_JSON:
        b->json = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static int everything(unit_bench *b)
{
    if (b->peers != NULL)
        snprintf(b->folder, sizeof b->folder, "%s", b->peers);
    else
        bench_peers_folder(b->folder, sizeof b->folder);
    cli_signals_set();
    list_units(b);
    if (b->count == 0)
        return cli_fail(2, "no unit has '%s' in its name; weir units lists them", b->only);
    int status = run(b);
    if (status != 0)
        return status;
    if (b->json)
        return cli_json_print(unit_bench_json(b), 0);
    unit_bench_print(b);
    return 0;
}

static void destroy(unit_bench *b)
{
    for (size_t i = 0; i < b->count; i++) {
        unit_row *row = &b->rows[i];
        free(row->before);
        free(row->own);
        for (size_t k = 0; k < row->peer_count; k++) {
            free(row->peers[k].work);
            free(row->peers[k].version);
            free(row->peers[k].reason);
        }
    }
    free(b->rows);
    free(b->classes);
    bench_input_free(&b->input);
    free(b);
}

int bench_units_command(int argc, char **argv)
{
    static const struct argp argp = {
        options,
        parse,
        NULL,
        "Measures each processing unit alone, on one thread, with the settings of its example in "
        "weir units: 256 channels, messages of 300 frames, f32. Compares it, alternately, with the "
        "least time that its bytes or its arithmetic need on this machine, and with its peers.\v"
        "Peers are programs that `make bench` installs; missing ones are listed.",
        NULL,
        NULL,
        NULL};
    unit_bench *b = cli_alloc(1, sizeof *b);
    b->rounds = 3;
    b->seconds = 0.2;
    int status = cli_parse(&argp, argc, argv, b);
    if (status < 0)
        status = everything(b);
    destroy(b);
    return cli_finish(status);
}

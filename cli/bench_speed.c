/* SPDX-License-Identifier: MIT
 *
 * bench_speed.c: `weir bench speed`: weir and its peers in turns, medians with their spread, as a table or JSON.
 * Measures nothing itself: bench_weir.c and bench_peer.c do. What each row is: DESIGN 11, rows 1 and 4.
 */
#include "bench.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { MOST_RUNS = 16, MOST_ROUNDS = 101, OPT_ROUNDS = 0x400, OPT_SECONDS, OPT_PEERS, OPT_KERNELS };

/* One line of the table: what is run in each round. */
typedef struct entry {
    const char *work; /* "chain", "filter", "units" */
    char title[80];
    const bench_peer *peer; /* NULL = weir */
    size_t first, last;     /* of weir: units */
    double seconds;
    double x[MOST_ROUNDS];
    char version[80];
} entry;

typedef struct bench {
    uint64_t rounds;
    double seconds;
    const char *peers; /* folder */
    bool json, only_kernels;
    const char *word; /* of the kernels wanted; NULL = all */
    json_t *kernels;  /* NULL = the program is not there */
    char folder[PATH_MAX];
    float *samples;
    size_t count;
    entry entries[MOST_RUNS];
    const bench_peer *skipped[MOST_RUNS];
    char *reasons[MOST_RUNS];
    size_t skipped_count;
    bench_memory memory[3];
} bench;

/* Row 4: how the stream is cut, and what must not depend on it. */
static const struct cut {
    const char *title;
    uint64_t frames, every, messages, least; /* fewer messages when measurements are short */
} cuts[3] = {
    {"300 frames each", 300, 0, 6000, 100},
    {"9000 frames each", 9000, 0, 200, 4},
    {"300, every 300th 2..40 times as long", 300, 300, 12000, 900},
};

typedef struct spread {
    double median, min, max;
} spread;

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static spread spread_of(const double *values, size_t count)
{
    double sorted[MOST_ROUNDS];
    memcpy(sorted, values, count * sizeof(*values));
    qsort(sorted, count, sizeof(*sorted), compare);
    return (spread){(sorted[(count - 1) / 2] + sorted[count / 2]) / 2, sorted[0],
                    sorted[count - 1]};
}

/* Round by round: a's speed over b's, so that a slower moment of the machine meets both. */
static spread ratio_of(const entry *a, const entry *b, size_t rounds)
{
    double ratios[MOST_ROUNDS];
    for (size_t i = 0; i < rounds; i++)
        ratios[i] = a->x[i] / b->x[i];
    return spread_of(ratios, rounds);
}

/* ---- what is run ----------------------------------------------------------------------------- */

static entry *add(bench *b, const char *work, const char *title, size_t first, size_t last)
{
    entry *e = &b->entries[b->count++];
    e->work = work;
    snprintf(e->title, sizeof(e->title), "%s", title);
    e->first = first;
    e->last = last;
    e->seconds = b->seconds;
    snprintf(e->version, sizeof(e->version), "%s", WEIR_VERSION);
    return e;
}

static void add_peers(bench *b, bool chain)
{
    for (const bench_peer *peer = bench_peers; peer->program; peer++) {
        if (peer->chain != chain)
            continue;
        const char *reason = bench_peer_missing(b->folder, peer);
        if (reason) {
            b->reasons[b->skipped_count] = cli_text("%s", reason);
            b->skipped[b->skipped_count++] = peer;
        } else {
            add(b, chain ? "chain" : "filter", peer->title, 0, 0)->peer = peer;
        }
    }
}

static void list(bench *b)
{
    add(b, "chain", "weir", 0, BENCH_UNITS - 1);
    add_peers(b, true);
    add(b, "filter", "weir, f32 stream, f64 arithmetic", 1, 1);
    add_peers(b, false);
    /* The chain up to each unit: the differences say where the time goes. */
    for (size_t last = 0; last < BENCH_UNITS; last++) {
        const char *colon = strchr(bench_units[last], ':');
        char name[80];
        snprintf(name, sizeof(name), "%.*s", (int)(colon - bench_units[last]), bench_units[last]);
        add(b, "units", name, 0, last);
    }
}

/* 0, or the exit status after a line was said. */
static int run(bench *b)
{
    bool shown = isatty(STDERR_FILENO) && !b->json;
    int status = 0;
    for (uint64_t round = 0; round < b->rounds && status == 0; round++) {
        for (size_t i = 0; i < b->count && status == 0; i++) {
            entry *e = &b->entries[i];
            if (shown)
                fprintf(stderr, "\r\033[Kround %llu of %llu: %s, %s", (unsigned long long)round + 1,
                        (unsigned long long)b->rounds, e->work, e->title);
            if (e->peer) {
                status = bench_peer_run(b->folder, e->peer, e->seconds, &e->x[round], e->version,
                                        sizeof(e->version));
            } else {
                weir_err err = bench_weir(b->samples, e->first, e->last, e->seconds, &e->x[round]);
                status = err == WEIR_OK ? 0 : cli_fail_weir(err);
            }
            if (cli_stop)
                status = weir_err_exit_status(WEIR_E_INTERRUPTED);
        }
    }
    for (size_t i = 0; i < 3 && status == 0; i++) {
        if (shown)
            fprintf(stderr, "\r\033[Kmemory: %s", cuts[i].title);
        uint64_t messages = (uint64_t)(fmin(1, b->seconds) * (double)cuts[i].messages);
        weir_err err =
            bench_weir_memory(b->samples, cuts[i].frames, cuts[i].every,
                              messages > cuts[i].least ? messages : cuts[i].least, &b->memory[i]);
        status = err == WEIR_OK ? 0 : cli_fail_weir(err);
        if (cli_stop)
            status = weir_err_exit_status(WEIR_E_INTERRUPTED);
    }
    if (shown)
        fputs("\r\033[K", stderr);
    return status;
}

static int run_kernels(bench *b)
{
    return bench_kernels_run(b->folder, b->word, fmin(0.3, b->seconds * (double)b->rounds / 10),
                             &b->kernels);
}

/* The first entry of a work: weir's own. */
static const entry *own(const bench *b, const char *work)
{
    for (size_t i = 0; i < b->count; i++)
        if (strcmp(b->entries[i].work, work) == 0)
            return &b->entries[i];
    return NULL;
}

/* Nanoseconds a sample (frame x channel) of the unit at entry i alone: its prefix less the one before, of
 * each the fastest run, since a difference of medians drowns in a busy machine's noise. */
static double unit_ns(const bench *b, size_t i)
{
    double ns = 1e9 / BENCH_RATE_HZ / BENCH_CHANNELS;
    double here = ns / spread_of(b->entries[i].x, b->rounds).max;
    if (b->entries[i].last == 0)
        return here;
    return here - ns / spread_of(b->entries[i - 1].x, b->rounds).max;
}

static bool same_plans(const bench *b)
{
    return b->memory[0].plan_bytes == b->memory[1].plan_bytes &&
           b->memory[1].plan_bytes == b->memory[2].plan_bytes;
}

/* ---- machine --------------------------------------------------------------------------------- */

static void processor(char *text, size_t size)
{
    char line[512];
    snprintf(text, size, "unknown processor");
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file && fgets(line, sizeof(line), file)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) == 0 && colon) {
            colon[strcspn(colon, "\n")] = 0;
            snprintf(text, size, "%s", colon + 2);
            break;
        }
    }
    if (file)
        fclose(file);
}

/* The widest vectors of the processor, of those that weir has a level for. */
static const char *vectors(void)
{
    const char *forced = getenv("WEIR_SIMD");
    if (forced && forced[0])
        return forced;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f"))
        return "avx512";
    if (__builtin_cpu_supports("avx2"))
        return "avx2";
#endif
    return "baseline";
}

/* ---- table ------------------------------------------------------------------------------------- */

static void print_speed(const bench *b, const char *work, const char *heading)
{
    cli_table *table = cli_table_create("|>x real time|>min|>max|>weir is, times as fast|version");
    const entry *weir = own(b, work);
    for (size_t i = 0; i < b->count; i++) {
        const entry *e = &b->entries[i];
        if (strcmp(e->work, work) != 0)
            continue;
        spread x = spread_of(e->x, b->rounds);
        cli_table_cell(table, "%s", e->title);
        cli_table_cell(table, "%.1f", x.median);
        cli_table_cell(table, "%.1f", x.min);
        cli_table_cell(table, "%.1f", x.max);
        if (e == weir) {
            cli_table_cell(table, "%s", "");
        } else {
            spread ratio = ratio_of(weir, e, b->rounds);
            cli_table_cell(table, "%.1f  (%.1f to %.1f)", ratio.median, ratio.min, ratio.max);
        }
        cli_table_cell(table, "%s", e->version);
    }
    printf("\n%s%s%s\n", cli_bold(stdout), heading, cli_plain(stdout));
    cli_table_print(table, stdout);
    cli_table_destroy(table);
}

static void print_units(const bench *b)
{
    cli_table *table = cli_table_create("unit|>ns a sample|>of the chain");
    double sum = 0;
    for (size_t i = 0; i < b->count; i++)
        if (strcmp(b->entries[i].work, "units") == 0)
            sum += unit_ns(b, i);
    for (size_t i = 0; i < b->count; i++) {
        if (strcmp(b->entries[i].work, "units") != 0)
            continue;
        cli_table_cell(table, "%s", b->entries[i].title);
        cli_table_cell(table, "%.4f", unit_ns(b, i));
        cli_table_cell(table, "%.0f %%", 100 * unit_ns(b, i) / sum);
    }
    printf("\n%sWhere the chain's time goes%s (the chain up to each unit, less the one before, "
           "fastest "
           "runs; a sample is a frame of a channel)\n",
           cli_bold(stdout), cli_plain(stdout));
    cli_table_print(table, stdout);
    cli_table_destroy(table);
}

static void print_memory(const bench *b)
{
    char text[CLI_FIGURE];
    cli_table *table = cli_table_create("messages of|>number|>plan|>held peak|>live peak");
    for (size_t i = 0; i < 3; i++) {
        cli_table_cell(table, "%s", cuts[i].title);
        cli_table_cell(table, "%llu", (unsigned long long)b->memory[i].messages);
        cli_table_cell(table, "%s", cli_bytes(b->memory[i].plan_bytes, text, sizeof(text)));
        cli_table_cell(table, "%s", cli_bytes(b->memory[i].held_peak_bytes, text, sizeof(text)));
        cli_table_cell(table, "%s", cli_bytes(b->memory[i].live_peak_bytes, text, sizeof(text)));
    }
    printf("\n%sMemory of that chain%s (%s)\n", cli_bold(stdout), cli_plain(stdout),
           same_plans(b) ? "one plan, whatever the lengths" : "THE PLANS DIFFER");
    cli_table_print(table, stdout);
    cli_table_destroy(table);
}

static void print(const bench *b)
{
    char text[128];
    processor(text, sizeof(text));
    printf("%s, %s, one thread; %d channels at 30 kHz, f32, messages of %d frames in memory\n",
           text, vectors(), BENCH_CHANNELS, BENCH_FRAMES);
    printf("%llu rounds in turn, %.3g s a measurement: median, least and most\n",
           (unsigned long long)b->rounds, b->seconds);
    print_speed(b, "chain", "The chain of examples/spike_band_power.yaml");
    print_speed(b, "filter", "Its filter alone (Butterworth band-pass, 4 sections)");
    print_units(b);
    if (b->kernels)
        bench_kernels_print(b->kernels);
    print_memory(b);
    for (size_t i = 0; i < b->skipped_count; i++)
        printf("%sleft out: %s: %s\n", i == 0 ? "\n" : "", b->skipped[i]->title, b->reasons[i]);
}

/* ---- JSON -------------------------------------------------------------------------------------- */

static json_t *spread_json(spread s)
{
    return json_pack("{s:f, s:f, s:f}", "median", s.median, "min", s.min, "max", s.max);
}

static json_t *rows_json(const bench *b)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < b->count; i++) {
        const entry *e = &b->entries[i];
        if (strcmp(e->work, "units") == 0)
            continue;
        json_t *row =
            json_pack("{s:s, s:s, s:s, s:o}", "work", e->work, "name", e->title, "version",
                      e->version, "x_real_time", spread_json(spread_of(e->x, b->rounds)));
        json_t *runs = json_array();
        for (uint64_t round = 0; round < b->rounds; round++)
            json_array_append_new(runs, json_real(e->x[round]));
        json_object_set_new(row, "runs", runs);
        if (e->peer)
            json_object_set_new(row, "weir_over_it",
                                spread_json(ratio_of(own(b, e->work), e, b->rounds)));
        json_array_append_new(rows, row);
    }
    return rows;
}

static void add_kernels(const bench *b, json_t *json)
{
    if (b->kernels == NULL)
        return;
    json_object_set(json, "limits", json_object_get(b->kernels, "limits"));
    json_object_set(json, "kernels", json_object_get(b->kernels, "kernels"));
}

static json_t *bench_json(const bench *b)
{
    char text[128];
    struct utsname system;
    uname(&system);
    processor(text, sizeof(text));
    json_t *versions = json_pack("{s:s}", "weir", WEIR_VERSION);
    json_t *units = json_array(), *memory = json_array(), *skipped = json_array();
    for (size_t i = 0; i < b->count; i++) {
        const entry *e = &b->entries[i];
        if (e->peer)
            json_object_set_new(versions, e->peer->program, cli_json_text(e->version));
        if (strcmp(e->work, "units") == 0)
            json_array_append_new(
                units, json_pack("{s:s, s:f}", "name", e->title, "ns_per_sample", unit_ns(b, i)));
    }
    for (size_t i = 0; i < 3; i++)
        json_array_append_new(
            memory, json_pack("{s:s, s:o, s:o, s:o, s:o, s:o}", "lengths", cuts[i].title,
                              "messages", cli_json_count(b->memory[i].messages), "plan_bytes",
                              cli_json_count(b->memory[i].plan_bytes), "held_peak_bytes",
                              cli_json_count(b->memory[i].held_peak_bytes), "live_peak_bytes",
                              cli_json_count(b->memory[i].live_peak_bytes), "refusals",
                              cli_json_count(b->memory[i].refusals)));
    for (size_t i = 0; i < b->skipped_count; i++)
        json_array_append_new(skipped, json_pack("{s:s, s:o}", "name", b->skipped[i]->title,
                                                 "reason", cli_json_text(b->reasons[i])));
    json_t *chain = json_array();
    for (size_t i = 0; i < BENCH_UNITS; i++)
        json_array_append_new(chain, json_string(bench_units[i]));
    json_t *json = json_pack(
        "{s:{s:o, s:I, s:s, s:s}, s:o, s:{s:i, s:i, s:f, s:I, s:f}, s:o, s:o, s:o, s:o, s:o}",
        "machine", "processor", cli_json_text(text), "cores",
        (json_int_t)sysconf(_SC_NPROCESSORS_ONLN), "simd", vectors(), "system", system.release,
        "versions", versions, "settings", "channels", BENCH_CHANNELS, "message_frames",
        BENCH_FRAMES, "rate_hz", BENCH_RATE_HZ, "rounds", (json_int_t)b->rounds, "seconds",
        b->seconds, "chain", chain, "rows", rows_json(b), "units", units, "memory", memory,
        "skipped", skipped);
    add_kernels(b, json);
    return json;
}

/* ---- the command ------------------------------------------------------------------------------- */

static const struct argp_option options[] = {
    {"rounds", OPT_ROUNDS, "N", 0, "turns that everything gets; default 5", 0},
    {"seconds", OPT_SECONDS, "S", 0, "length of one measurement; default 1", 0},
    {"peers", OPT_PEERS, "DIR", 0, "where the peers' programs are; default: bench beside weir", 0},
    {"kernels", OPT_KERNELS, "WORD", OPTION_ARG_OPTIONAL,
     "kernels beside the machine's limits alone; those with WORD in their name", 0},
    {"json", CLI_OPT_JSON, NULL, 0, "print JSON", 0},
    {0},
};

static error_t parse(int key, char *text, struct argp_state *state)
{
    bench *b = state->input;
    switch (key) {
    case OPT_ROUNDS:
        b->rounds = cli_option_count(state, "--rounds", text, 1);
        if (b->rounds > MOST_ROUNDS)
            argp_error(state, "--rounds: at most %d", MOST_ROUNDS);
        return 0;
    case OPT_SECONDS:
        b->seconds = cli_option_quantity(state, "--seconds", text, WEIR_TIME, 0.001);
        return 0;
    case OPT_PEERS:
        b->peers = text;
        return 0;
    case OPT_KERNELS:
        b->only_kernels = true;
        b->word = text;
        return 0;
    case CLI_OPT_JSON:
        b->json = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static int kernels_alone(bench *b)
{
    int status = run_kernels(b);
    if (status == 0 && b->kernels == NULL)
        status = cli_fail(1, "%s/kernels is not there (make bench builds it)", b->folder);
    if (status != 0)
        return status;
    if (b->json)
        return cli_json_print(json_incref(b->kernels), 0);
    bench_kernels_print(b->kernels);
    return 0;
}

static int everything(bench *b)
{
    b->samples = cli_alloc((size_t)BENCH_LONGEST * BENCH_CHANNELS, sizeof(float));
    bench_noise(b->samples);
    list(b);
    int status = run(b);
    if (status == 0)
        status = run_kernels(b);
    if (status == 0 && b->json)
        status = cli_json_print(bench_json(b), 0);
    else if (status == 0)
        print(b);
    if (status == 0 && !same_plans(b))
        status = cli_fail(1, "the plan depends on the lengths of messages");
    return status;
}

int bench_speed_command(int argc, char **argv)
{
    static const struct argp argp = {
        options,
        parse,
        NULL,
        "Measures weir beside other libraries, in turns, from memory: the chain of spike-band "
        "power and its "
        "filter alone; where the chain's time goes; what it holds however the stream is cut.\v"
        "Peers are programs that `make bench` sets up; those that are not there are named.",
        NULL,
        NULL,
        NULL};
    bench *b = cli_alloc(1, sizeof(*b));
    b->rounds = 5;
    b->seconds = 1;
    int status = cli_parse(&argp, argc, argv, b);
    if (status < 0) {
        if (b->peers)
            snprintf(b->folder, sizeof(b->folder), "%s", b->peers);
        else
            bench_peers_folder(b->folder, sizeof(b->folder));
        cli_signals_set();
        status = b->only_kernels ? kernels_alone(b) : everything(b);
    }
    for (size_t i = 0; i < b->skipped_count; i++)
        free(b->reasons[i]);
    json_decref(b->kernels);
    free(b->samples);
    free(b);
    return cli_finish(status);
}

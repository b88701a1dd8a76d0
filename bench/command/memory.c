/* SPDX-License-Identifier: MIT
 *
 * memory.c: `weir bench memory`: allocated memory for different message lengths, by policy and
 * limit: the published streams (SEEDS B2, B3) message by message, as array libraries process them;
 * weir's chain; and real MLX if installed. Each row runs in a process of its own (row.c). This file
 * has the list of rows, runs them and writes JSON; memory_table.c prints the tables, memory_svg.c
 * draws the plot.
 */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB ((uint64_t)1 << 20)
enum { MOST_ROWS = 256, OPT_QUICK = 0x400, OPT_ROW, OPT_ONLY, OPT_PEERS };

static const bench_stream streams[] = {
    {"constant 300", 300, 1, 6000}, {"constant 9000", 9000, 1, 600}, {"10 lengths", 300, 10, 24000},
    {"30 lengths", 300, 30, 24000}, {"40 lengths", 300, 40, 24000},
};
enum { STREAMS = sizeof streams / sizeof streams[0] };
static const bench_stream *const stalls = &streams[STREAMS - 1];

static const uint64_t limits[] = {512 * MIB, 256 * MIB, 128 * MIB, 32 * MIB, 16 * MIB, 0};
static const double clears[] = {60, 6, 1};

typedef struct bench {
    bool quick, json, force;
    long row; /* to be run here; -1 = all, in children */
    const char *only, *picture, *peers;
    char folder[PATH_MAX];
    char *mlx_missing; /* NULL = it can be run */
    bench_row rows[MOST_ROWS];
    size_t count;
    json_t *results[MOST_ROWS]; /* NULL = left out by --only */
} bench;

/* ---- rows -------------------------------------------------------------------------------------------- */

static void add(bench *b,
                bench_work work,
                const char *policy,
                const bench_stream *stream,
                uint64_t limit,
                double clear_s)
{
    if (b->count < MOST_ROWS)
        b->rows[b->count++] = (bench_row){work, policy, stream, limit, clear_s};
}

/* The same stream or limit under every policy, and by real MLX. */
static void add_all(bench *b, const bench_stream *stream, uint64_t limit, double clear_s)
{
    for (const char *const *policy = weir_cache_policies(); *policy; policy++)
        add(b, BENCH_INTERMEDIATES, *policy, stream, limit, clear_s);
    if (clear_s <= 0)
        add(b, BENCH_MLX, "mlx:cpu", stream, limit, 0);
}

static void list(bench *b)
{
    for (size_t i = 0; i < STREAMS; i++)
        add_all(b, &streams[i], WEIR_NO_LIMIT, 0);
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
        add_all(b, stalls, limits[i], 0);
    for (size_t i = 0; i < sizeof clears / sizeof clears[0]; i++)
        add_all(b, stalls, WEIR_NO_LIMIT, clears[i]);
    for (size_t i = 0; i < STREAMS; i++)
        add(b, BENCH_TILED, NULL, &streams[i], WEIR_UNSET, 0);
    for (const char *const *policy = weir_cache_policies(); *policy; policy++)
        add(b, BENCH_UNTILED, *policy, stalls, 512 * MIB, 0);
}

/* ---- running ------------------------------------------------------------------------------------------- */

/* In the child: never returns. */
static void become(const bench *b, size_t number, int out)
{
    const bench_row *row = &b->rows[number];
    char index[24], messages[24], every[24], frames[24], shapes[24], channels[24], limit[24];
    char path[PATH_MAX + 64];
    bench_size size = bench_size_of(row, b->quick);
    const bench_stream *s = row->stream;
    int null = open("/dev/null", O_RDONLY);
    dup2(null, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    alarm(900); /* a program that hangs is ended; the alarm survives exec */
    if (row->work == BENCH_MLX) {
        snprintf(path, sizeof(path), "%s/mlx_cache", b->folder);
        snprintf(messages, sizeof(messages), "%llu", (unsigned long long)size.messages);
        snprintf(every, sizeof(every), "%llu", (unsigned long long)size.every);
        snprintf(channels, sizeof(channels), "%llu", (unsigned long long)size.channels);
        snprintf(frames, sizeof(frames), "%llu", (unsigned long long)s->frames);
        snprintf(shapes, sizeof(shapes), "%llu", (unsigned long long)s->shapes);
        snprintf(limit, sizeof(limit), "%lld",
                 row->limit == WEIR_NO_LIMIT ? -1LL : (long long)row->limit);
        execl(path, path, limit, messages, every, frames, shapes, channels, (char *)NULL);
    } else {
        snprintf(index, sizeof(index), "%zu", number);
        execl("/proc/self/exe", "weir", "bench", "memory", "--row", index,
              b->quick ? "--quick" : NULL, (char *)NULL);
    }
    _exit(127);
}

/* Everything read from a file descriptor, ended by a zero. */
static char *read_all(int file)
{
    size_t room = 1 << 16, filled = 0;
    char *text = cli_alloc(room, 1);
    for (;;) {
        ssize_t got = read(file, text + filled, room - filled - 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        filled += (size_t)got;
        if (filled + 1 == room) {
            char *larger = cli_alloc(2 * room, 1);
            memcpy(larger, text, filled);
            free(text);
            text = larger;
            room *= 2;
        }
    }
    text[filled] = 0;
    return text;
}

/* 0, or the exit status after a line was printed. */
static int run_row(bench *b, size_t number)
{
    int ends[2], state = 0;
    char *name = bench_title(&b->rows[number]);
    if (pipe2(ends, O_CLOEXEC) != 0) {
        int status = cli_fail(1, "%s: %s", name, strerror(errno));
        free(name);
        return status;
    }
    pid_t child = fork();
    if (child == 0)
        become(b, number, ends[1]);
    close(ends[1]);
    char *text = read_all(ends[0]);
    close(ends[0]);
    while (child > 0 && waitpid(child, &state, 0) < 0 && errno == EINTR)
        continue;
    int status = 0;
    json_t *json = json_loads(text, 0, NULL);
    if (child < 0 || !WIFEXITED(state) || WEXITSTATUS(state) != 0)
        status = cli_stop ? 130 : cli_fail(1, "%s: did not finish", name);
    else if (!json_is_object(json))
        status = cli_fail(1, "%s: printed no figures: %.80s", name, text);
    if (status == 0)
        b->results[number] = json_incref(json);
    json_decref(json);
    free(text);
    free(name);
    return status;
}

static bool is_wanted(const bench *b, const bench_row *row)
{
    char *name = bench_title(row);
    bool wanted = !(row->work == BENCH_MLX && b->mlx_missing) &&
                  (b->only == NULL || strstr(name, b->only) != NULL);
    free(name);
    return wanted;
}

static int run(bench *b)
{
    bool shown = isatty(STDERR_FILENO) && !b->json;
    int status = 0;
    for (size_t i = 0; i < b->count && status == 0; i++) {
        if (!is_wanted(b, &b->rows[i]))
            continue;
        if (shown) {
            char *name = bench_title(&b->rows[i]);
            fprintf(stderr, "\r\033[K%zu of %zu: %s", i + 1, b->count, name);
            free(name);
        }
        status = run_row(b, i);
        if (status == 1 &&
            b->rows[i].work == BENCH_MLX) { /* a peer's failure does not end the bench */
            b->mlx_missing = cli_text("it did not finish");
            status = 0;
        }
        if (cli_stop)
            status = weir_err_exit_status(WEIR_E_INTERRUPTED);
    }
    if (shown)
        fputs("\r\033[K", stderr);
    return status;
}

/* ---- output ------------------------------------------------------------------------------------------ */

static void print(const bench *b)
{
    if (b->quick)
        printf("quick: %d of %d channels, each page written once (x: for allocating and touching), "
               "stalls and clearings more often\n",
               BENCH_CHANNELS / 8, BENCH_CHANNELS);
    printf("%d channels at 30 kHz, f32; %d intermediates per message, all in use at its end%s. "
           "MiB.\n"
           "Published, for 256 channels: MiB in the library's cache, of the process's footprint; x "
           "real time.\n",
           b->quick ? BENCH_CHANNELS / 8 : BENCH_CHANNELS, BENCH_BUFFERS,
           b->quick ? "" : ", each computed from the one before");
    bench_memory_tables(b->rows, b->results, b->count);
    if (b->mlx_missing)
        printf("\nleft out: real MLX: %s\n", b->mlx_missing);
}

/* ---- JSON -------------------------------------------------------------------------------------------------- */

/* Result and parameters, in one object. */
static json_t *row_json(const bench_row *row, const json_t *result)
{
    char *name = bench_title(row);
    json_t *json = json_pack("{s:o, s:s, s:o, s:s, s:i, s:i}", "title", cli_json_text(name), "work",
                             bench_works[row->work], "policy", cli_json_text(row->policy), "stream",
                             row->stream->name, "lengths", (int)row->stream->shapes,
                             "message_frames", (int)row->stream->frames);
    json_object_set_new(json, "limit_bytes",
                        row->limit == WEIR_UNSET ? json_null() : cli_json_count(row->limit));
    json_object_set_new(json, "clear_s", row->clear_s > 0 ? json_real(row->clear_s) : json_null());
    json_object_update(json, (json_t *)(uintptr_t)result);
    const bench_published *p = bench_published_of(row);
    if (p) {
        json_t *figures = json_pack("{s:f}", "cache_mib", p->cache_mib);
        if (p->footprint_mib >= 0)
            json_object_set_new(figures, "footprint_mib", json_real(p->footprint_mib));
        if (p->x_real_time >= 0)
            json_object_set_new(figures, "x_real_time", json_real(p->x_real_time));
        json_object_set_new(json, "published", figures);
    }
    free(name);
    return json;
}

static json_t *rows_json(const bench *b, bool samples)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < b->count; i++) {
        if (b->results[i] == NULL)
            continue;
        json_t *json = row_json(&b->rows[i], b->results[i]);
        if (!samples)
            json_object_del(json, "samples");
        json_array_append_new(rows, json);
    }
    return rows;
}

static json_t *bench_json(const bench *b)
{
    json_t *skipped = json_array();
    if (b->mlx_missing)
        json_array_append_new(
            skipped, json_pack("{s:s, s:s}", "name", "real MLX", "reason", b->mlx_missing));
    return json_pack("{s:o, s:b, s:{s:i, s:f, s:s}, s:o}", "rows", rows_json(b, false), "quick",
                     b->quick, "settings", "intermediates", BENCH_BUFFERS, "rate_hz", BENCH_RATE_HZ,
                     "work", b->quick ? "touch" : "compute", "skipped", skipped);
}

static int draw(const bench *b)
{
    cli_write out;
    int status = cli_write_begin(&out, b->picture, b->force);
    if (status != 0)
        return status;
    json_t *rows = rows_json(b, true);
    bench_memory_svg(rows, out.file);
    json_decref(rows);
    return cli_write_end(&out, true);
}

/* ---- the command --------------------------------------------------------------------------------------------- */

static const struct argp_option options[] = {
    {"quick", OPT_QUICK, NULL, 0, "less than a minute: fewer messages, and pages are only touched",
     0},
    {"only", OPT_ONLY, "TEXT", 0, "only rows with TEXT in their title: mlx:metal, '128 MiB', tiled",
     0},
    {"output", 'o', "FILE.svg", 0, "SVG file for a plot of memory over time", 0},
    {"force", CLI_OPT_FORCE, NULL, 0, "overwrite an existing file", 0},
    {"peers", OPT_PEERS, "DIR", 0, "folder of the peers' programs; default: bench, next to weir",
     0},
    {"json", CLI_OPT_JSON, NULL, 0, "print JSON", 0},
    {"row", OPT_ROW, "N", OPTION_HIDDEN, "run one row here", 0},
    {0},
};

static error_t parse(int key, char *text, struct argp_state *state)
{
    bench *b = state->input;
    switch (key) {
    case OPT_QUICK:
        b->quick = true;
        return 0;
    case OPT_ONLY:
        b->only = text;
        return 0;
    case 'o':
        b->picture = text;
        return 0;
    case CLI_OPT_FORCE:
        b->force = true;
        return 0;
    case OPT_PEERS:
        b->peers = text;
        return 0;
    case CLI_OPT_JSON:
        b->json = true;
        return 0;
    case OPT_ROW:
        b->row = (long)cli_option_count(state, "--row", text, 0);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    options,
    parse,
    NULL,
    "Measures allocated memory for different message lengths, by cache policy, limit and interval "
    "of clearing: for the intermediates of whole messages, as in array libraries; for weir's "
    "chain; and for real MLX if `make bench` could install it. Each row runs in a process of its "
    "own, with the counts of the cache, of its heap and of the system.\v"
    "Rows without a limit use up to 5 GiB, by design; with --quick an eighth of that.",
    NULL,
    NULL,
    NULL};

static int run_all(bench *b)
{
    int status = b->picture ? cli_write_check(b->picture, b->force) : 0;
    if (status == 0)
        status = run(b);
    if (status == 0 && b->picture)
        status = draw(b);
    if (status == 0 && b->json)
        return cli_json_print(bench_json(b), 0);
    if (status == 0)
        print(b);
    return cli_finish(status);
}

int bench_memory_command(int argc, char **argv)
{
    bench *b = cli_alloc(1, sizeof(*b));
    b->row = -1;
    int status = cli_parse(&argp, argc, argv, b);
    if (status < 0) {
        static const bench_peer mlx = {"mlx_cache", NULL, "MLX", false};
        if (b->peers)
            snprintf(b->folder, sizeof(b->folder), "%s", b->peers);
        else
            bench_peers_folder(b->folder, sizeof(b->folder));
        const char *reason = bench_peer_missing(b->folder, &mlx);
        b->mlx_missing = reason ? cli_text("%s", reason) : NULL;
        cli_signals_set();
        list(b);
        if (b->row < 0)
            status = run_all(b);
        else if ((size_t)b->row >= b->count || b->rows[b->row].work == BENCH_MLX)
            status = cli_fail(2, "--row: there is no row %ld", b->row);
        else
            status = bench_row_run(&b->rows[b->row], b->quick);
    }
    for (size_t i = 0; i < b->count; i++)
        json_decref(b->results[i]);
    free(b->mlx_missing);
    free(b);
    return status;
}

/* SPDX-License-Identifier: MIT
 *
 * speed.c: `weir bench speed`: runs weir and its peers alternately. weir.c, peer.c and
 * bench/kernels measure; speed_table.c and speed_json.c print. The work is that of DESIGN 11, all
 * its rows.
 */
#include "speed.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OPT_ROUNDS = 0x400, OPT_SECONDS, OPT_PEERS, OPT_KERNELS };

const bench_cut bench_cuts[CUTS] = {
    {"300 frames each", 300, 0, 6000, 100},
    {"9000 frames each", 9000, 0, 200, 4},
    {"300, every 300th 2..40 times as long", 300, 300, 12000, 900},
};

/* ---- what is run ----------------------------------------------------------------------------- */

static entry *add(bench *b, const char *work, const char *title, const bench_job *job)
{
    entry *e = &b->entries[b->count++];
    e->work = work;
    snprintf(e->title, sizeof(e->title), "%s", title);
    e->job = *job;
    e->seconds = b->seconds;
    e->precision = job->dtype == WEIR_F64 ? "f64" : "f32, inside f64";
    snprintf(e->version, sizeof(e->version), "%s", WEIR_VERSION);
    return e;
}

static void add_peers(bench *b, const char *work, bool chain, const bench_job *job)
{
    for (const bench_peer *peer = bench_peers; peer->program; peer++) {
        if (peer->chain != chain)
            continue;
        const char *reason = bench_peer_missing(b->folder, peer);
        if (reason == NULL) {
            entry *e = add(b, work, peer->title, job);
            e->peer = peer;
            e->job.dtype =
                peer->precision && strcmp(peer->precision, "f64") == 0 ? WEIR_F64 : WEIR_F32;
            e->precision = weir_dtype_name(e->job.dtype);
        } else if (strcmp(work, "latency") != 0) { /* already printed */
            b->reasons[b->skipped_count] = cli_text("%s", reason);
            b->skipped[b->skipped_count++] = peer;
        }
    }
}

static const bench_job whole = {
    .units = bench_units,
    .first = 0,
    .last = BENCH_UNITS - 1,
    .dtype = WEIR_F32,
    .channels = BENCH_CHANNELS,
    .frames = BENCH_FRAMES,
};

/* Rows 1 and 4: the chain, its filter, and the chain up to each unit: the differences are the
 * time of each unit. */
static void list_chain(bench *b)
{
    bench_job job = whole;
    add(b, "chain", "weir", &job);
    job.one_by_one = true;
    add(b, "chain", "weir, units not fused", &job);
    add_peers(b, "chain", true, &whole);
    job = whole;
    job.first = job.last = 1;
    add(b, "filter", "weir, f32", &job);
    job.dtype = WEIR_F64;
    add(b, "filter", "weir, f64", &job);
    add_peers(b, "filter", false, &job);
    for (size_t last = 0; last < BENCH_UNITS; last++) {
        const char *colon = strchr(bench_units[last], ':');
        char name[80];
        snprintf(name, sizeof(name), "%.*s", (int)(colon - bench_units[last]), bench_units[last]);
        job = whole;
        job.last = last;
        add(b, "units", name, &job);
    }
}

/* Row 3: threads, alone and beside two programs that compute all the time. */
static void list_threads(bench *b)
{
    bench_job job = whole;
    job.channels = 1024;
    for (int busy = 0; busy <= 2; busy += 2) {
        job.tile = busy ? 0 : BENCH_FRAMES;
        job.busy = busy;
        for (uint64_t threads = 1; threads <= b->threads; threads *= 2) {
            char title[80];
            snprintf(title, sizeof(title), "%llu thread%s", (unsigned long long)threads,
                     threads == 1 ? "" : "s");
            job.threads = threads;
            add(b, busy ? "busy" : "threads", title, &job);
        }
    }
}

/* Row 2: the time of each push. */
static void list_wide(bench *b)
{
    bench_job job = whole;
    job.channels = 1024;
    job.frames = 30;
    job.bin = "1 ms";
    add(b, "latency", "weir", &job);
    add_peers(b, "latency", true, &job);
    job.thread_time = true; /* without the time of other programs on a busy machine */
    add(b, "latency", "weir, processor's time", &job);
}

/* Row 5: the cost of a sample, for any shape: all use one buffer of 147 MB, the size of the
 * longest message. And pushes so small that the fixed cost shows. */
static void list_shapes(bench *b)
{
    static const uint64_t frames[] = {30, 300, 9000}, channels[] = {64, 256, 1024, 4096};
    static const struct small {
        uint64_t frames, channels;
    } small[] = {{30, 1024}, {30, 32}, {1, 1}};
    static const char *const scale[] = {"scale: {scale: 2}"};
    char title[80];
    bench_job job = whole;
    job.walk = (size_t)frames[2] * channels[3]; /* all read from memory at the same distance */
    job.thread_time = true;
    for (size_t f = 0; f < 3; f++) {
        for (size_t c = 0; c < 4; c++) {
            job.frames = frames[f];
            job.channels = channels[c];
            snprintf(title, sizeof(title), "%llu x %llu", (unsigned long long)frames[f],
                     (unsigned long long)channels[c]);
            add(b, "shapes", title, &job)->seconds = b->seconds * 0.3;
        }
    }
    for (size_t i = 0; i < 6; i++) {
        job = whole;
        job.frames = small[i % 3].frames;
        job.channels = small[i % 3].channels;
        if (i >= 3) {
            job.units = scale;
            job.last = 0;
        }
        add(b, "pushes", i < 3 ? "the chain" : "scale alone", &job)->seconds = b->seconds * 0.3;
    }
}

enum { BUSY_MOST = 4 };

/* Programs that do nothing but compute; they end with this one, if it does not end them. */
static void start_busy(pid_t *children, int count)
{
    fflush(NULL);
    for (int i = 0; i < count; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            for (volatile unsigned n = 0;; n++) {
            }
        }
    }
}

static void end_busy(const pid_t *children, int count)
{
    for (int i = 0; i < count; i++) {
        if (children[i] > 0) {
            kill(children[i], SIGKILL);
            waitpid(children[i], NULL, 0);
        }
    }
}

/* 0, or the exit status after a line was printed. */
static int run_entry(bench *b, entry *e, uint64_t round)
{
    int status;
    if (e->peer) {
        status = bench_peer_run(b->folder, e->peer, &e->job, e->seconds, &e->taken[round],
                                e->version, sizeof(e->version));
    } else {
        bool each = strcmp(e->work, "latency") == 0;
        pid_t busy[BUSY_MOST];
        start_busy(busy, e->job.busy);
        weir_err err = bench_weir(&b->input, &e->job, e->seconds, each, &e->taken[round]);
        end_busy(busy, e->job.busy);
        status = err == WEIR_OK ? 0 : cli_fail_weir(err);
    }
    return cli_stop ? weir_err_exit_status(WEIR_E_INTERRUPTED) : status;
}

static int run_memory(bench *b)
{
    int status = 0;
    for (size_t i = 0; i < CUTS && status == 0; i++) {
        const bench_cut *cut = &bench_cuts[i];
        uint64_t messages = (uint64_t)(fmin(1, b->seconds) * (double)cut->messages);
        weir_err err =
            bench_weir_memory(b->input.f32, cut->frames, cut->every,
                              messages > cut->least ? messages : cut->least, &b->memory[i]);
        status = err == WEIR_OK ? 0 : cli_fail_weir(err);
        if (cli_stop)
            status = weir_err_exit_status(WEIR_E_INTERRUPTED);
    }
    return status;
}

static int run_kernels(bench *b)
{
    return bench_kernels_run(b->folder, b->word, fmin(0.3, b->seconds * (double)b->rounds / 10),
                             &b->kernels);
}

static int run(bench *b)
{
    bool shown = isatty(STDERR_FILENO) && !b->json;
    int status = 0;
    for (uint64_t round = 0; round < b->rounds && status == 0; round++) {
        for (size_t i = 0; i < b->count && status == 0; i++) {
            if (shown)
                fprintf(stderr, "\r\033[Kround %llu of %llu: %s, %s", (unsigned long long)round + 1,
                        (unsigned long long)b->rounds, b->entries[i].work, b->entries[i].title);
            status = run_entry(b, &b->entries[i], round);
        }
    }
    if (shown)
        fputs("\r\033[Kmemory, kernels", stderr);
    if (status == 0)
        status = run_memory(b);
    if (status == 0)
        status = run_kernels(b);
    if (shown)
        fputs("\r\033[K", stderr);
    return status;
}

/* ---- what came out --------------------------------------------------------------------------- */

double bench_figure(const entry *e, size_t round, figure what)
{
    const bench_taken *taken = &e->taken[round];
    switch (what) {
    case X_REAL_TIME:
        return (double)e->job.frames / BENCH_RATE_HZ * 1e9 / taken->median;
    case NS_MEDIAN:
        return taken->median;
    case NS_99:
        return taken->p99;
    case NS_PER_SAMPLE:
        return taken->quiet / (double)(e->job.frames * e->job.channels);
    default:
        return taken->mean;
    }
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static spread spread_of(double *values, size_t count)
{
    qsort(values, count, sizeof(*values), compare);
    return (spread){(values[(count - 1) / 2] + values[count / 2]) / 2, values[0],
                    values[count - 1]};
}

spread bench_spread(const bench *b, const entry *e, figure what)
{
    double values[MOST_ROUNDS];
    for (size_t i = 0; i < b->rounds; i++)
        values[i] = bench_figure(e, i, what);
    return spread_of(values, b->rounds);
}

spread bench_ratio(const bench *b, const entry *a, const entry *e, figure what)
{
    double ratios[MOST_ROUNDS];
    for (size_t i = 0; i < b->rounds; i++) {
        double mine = bench_figure(a, i, what), its = bench_figure(e, i, what);
        ratios[i] = what == X_REAL_TIME ? mine / its : its / mine;
    }
    return spread_of(ratios, b->rounds);
}

const entry *bench_own(const bench *b, const entry *e)
{
    for (size_t i = 0; i < b->count; i++) {
        const entry *own = &b->entries[i];
        if (strcmp(own->work, e->work) == 0 && own->peer == NULL && own->job.dtype == e->job.dtype)
            return own;
    }
    return NULL;
}

const entry *bench_one_thread(const bench *b, const entry *e)
{
    const entry *one = &b->entries[0];
    while (strcmp(one->work, e->work) != 0)
        one++;
    return e->job.threads > 0 ? one : NULL;
}

spread bench_over_one(const bench *b, const entry *e)
{
    return bench_ratio(b, e, bench_one_thread(b, e), e->job.busy ? NS_PER_PUSH : NS_MEDIAN);
}

double bench_unit_ns(const bench *b, size_t i)
{
    const entry *e = &b->entries[i];
    double samples = (double)(e->job.frames * e->job.channels);
    double here = bench_spread(b, e, NS_MEDIAN).min;
    return (e->job.last == 0 ? here : here - bench_spread(b, e - 1, NS_MEDIAN).min) / samples;
}

bool bench_is_slower(const bench *b, const entry *e)
{
    const entry *own = e->peer ? bench_own(b, e) : NULL;
    return own != NULL && bench_ratio(b, own, e, X_REAL_TIME).median < 1;
}

double bench_filter_share(const bench *b, const entry *e, double *ret_limit_ns)
{
    if (strcmp(e->work, "filter") != 0 || e->peer != NULL || b->kernels == NULL)
        return 0;
    *ret_limit_ns =
        bench_kernels_limit(b->kernels, "sos, 4 band-pass sections", weir_dtype_name(e->job.dtype));
    return *ret_limit_ns / bench_spread(b, e, NS_PER_SAMPLE).min;
}

bool bench_is_steady(const entry *e)
{
    return strcmp(e->work, "shapes") == 0 && e->job.frames >= 300 && e->job.channels >= 64;
}

spread bench_steady(const bench *b)
{
    spread all = {0, INFINITY, 0};
    for (size_t i = 0; i < b->count; i++) {
        if (!bench_is_steady(&b->entries[i]))
            continue;
        double ns = bench_spread(b, &b->entries[i], NS_PER_SAMPLE).min;
        all.min = fmin(all.min, ns);
        all.max = fmax(all.max, ns);
    }
    return all;
}

bool bench_same_plans(const bench *b)
{
    return b->memory[0].plan_bytes == b->memory[1].plan_bytes &&
           b->memory[1].plan_bytes == b->memory[2].plan_bytes;
}

/* ---- the command ------------------------------------------------------------------------------- */

static const struct argp_option options[] = {
    {"rounds", OPT_ROUNDS, "N", 0, "number of rounds; default 5", 0},
    {"seconds", OPT_SECONDS, "S", 0, "length of one measurement; default 1", 0},
    {"threads", CLI_OPT_THREADS, "N", 0,
     "maximum number of threads; default: number of processors, at most 8", 0},
    {"peers", OPT_PEERS, "DIR", 0, "folder of the peers' programs; default: bench, next to weir",
     0},
    {"kernels", OPT_KERNELS, "WORD", OPTION_ARG_OPTIONAL,
     "compare only kernels with the machine's limits; with WORD, those with WORD in their name", 0},
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
    case CLI_OPT_THREADS:
        b->threads = cli_option_count(state, "--threads", text, 1);
        if (b->threads > WEIR_THREADS_MAX)
            argp_error(state, "--threads: at most %u", WEIR_THREADS_MAX);
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
        status = cli_fail(1, "%s/kernels not found; make bench builds it", b->folder);
    if (status != 0)
        return status;
    if (b->json)
        return cli_json_print(json_incref(b->kernels), 0);
    bench_kernels_print(b->kernels);
    return 0;
}

static int everything(bench *b)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    if (b->threads == 0)
        b->threads = processors < 1 ? 1 : processors > 8 ? 8 : (uint64_t)processors;
    list_chain(b);
    list_wide(b);
    list_threads(b);
    list_shapes(b);
    int status = run(b);
    if (status == 0 && b->json)
        status = cli_json_print(bench_speed_json(b), 0);
    else if (status == 0)
        bench_speed_print(b);
    if (status == 0 && !bench_same_plans(b))
        status = cli_fail(1, "the plan depends on the message lengths");
    return status;
}

int bench_speed_command(int argc, char **argv)
{
    static const struct argp argp = {
        options,
        parse,
        NULL,
        "Compares the speed of weir with other libraries, alternately and with input in memory: "
        "the chain of spike-band power, and its filter alone. Also measures the time of each unit "
        "of the chain, of a push and of a sample for messages of any length, threads, kernels "
        "compared with the limits of the machine, and memory for different message lengths.\v"
        "Peers are programs that `make bench` installs; missing ones are listed.",
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
    bench_input_free(&b->input);
    free(b);
    return cli_finish(status);
}

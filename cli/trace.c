/* SPDX-License-Identifier: MIT
 *
 * trace.c: weir trace record | replay | tune: records allocations and frees of a run in a file, replays them
 * under another policy or limit, finds the limit for a hit rate.
 */
#include "cli.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <weir/trace.h>

enum { OPT_POLICY = 0x300, OPT_STEPS, OPT_FIXED, OPT_HIT_RATE, OPT_UNTILED };

/* ---- record ---------------------------------------------------------------------------------------- */

static bool go_on(void *user, const weir_progress *progress)
{
    (void)user;
    (void)progress;
    return cli_stop == 0;
}

static weir_err next_message(void *user, uint64_t *ret_frames)
{
    return cli_lengths_next(user, ret_frames);
}

typedef struct record_job {
    cli_job *job;
    bool untiled;
} record_job;

/* The trace is complete, unless the run failed. */
static int
record_end(cli_job *job, weir_cache *cache, weir_err err, uint64_t frames, uint64_t messages)
{
    if (err != WEIR_OK && err != WEIR_E_INTERRUPTED)
        return job->lengths != NULL && job->lengths->failed ? weir_err_exit_status(err)
                                                            : cli_fail_weir(err);
    weir_cache_stats stats = {.stats_size = sizeof stats};
    weir_cache_stats_read(cache, &stats);
    int status = weir_err_exit_status(err);
    if (weir_trace_stop(cache) != WEIR_OK)
        return cli_fail(7, "%s: %s", job->trace_path, weir_err_detail());
    if (cli_write_end(&job->trace, true) != 0)
        return 7;
    if (job->json) {
        json_t *json = json_pack("{s:o, s:o, s:o, s:o}", "trace", cli_json_text(job->trace_path),
                                 "hits", cli_json_count(stats.hits), "misses",
                                 cli_json_count(stats.misses), "frames_in", cli_json_count(frames));
        return cli_json_print(json, status);
    }
    if (!job->quiet)
        printf("recorded %" PRIu64 " allocations (%" PRIu64 " hits) of %" PRIu64
               " messages in %s\n",
               stats.hits + stats.misses, stats.hits, messages, job->trace_path);
    return cli_finish(status);
}

static int record(cli_job *job)
{
    if (!job->plan->fits)
        return cli_plan_refuse(job);
    weir_run_options options = {.options_size = sizeof options,
                                .message_frames = job->input.message_frames,
                                .next_message = job->lengths != NULL ? next_message : NULL,
                                .progress = go_on,
                                .user = job->lengths};
    weir_run_report report = {.report_size = sizeof report};
    weir_err err = weir_chain_run(job->chain, &options, &report);
    return record_end(job, weir_chain_cache(job->chain), err, report.frames_in, report.messages);
}

/* Needs no samples, only the number of frames; gaps make no difference. */
static int record_untiled(cli_job *job)
{
    uint64_t frames = weir_source_info_get(job->source)->frames, done = 0, messages = 0;
    if (frames == WEIR_FRAMES_UNKNOWN)
        return cli_fail(2, "%s: its number of frames is unknown, but required for --untiled",
                        job->input_path);
    weir_err err = WEIR_OK;
    while (err == WEIR_OK && done < frames) {
        uint64_t next = job->input.message_frames;
        if (job->lengths != NULL)
            err = cli_lengths_next(job->lengths, &next);
        if (err != WEIR_OK)
            break;
        next = next < frames - done ? next : frames - done;
        err = weir_chain_untiled(job->chain, job->untiled_cache, done, next);
        done += next;
        messages++;
        if (err == WEIR_OK && cli_stop != 0)
            err = WEIR_E_INTERRUPTED;
    }
    return record_end(job, job->untiled_cache, err, done, messages);
}

/* A cache of its own, with the limits of the flags: the limits of a chain file are for the
 * chain's cache, which is not limited here. */
static int create_untiled(cli_job *job)
{
    weir_chain_options *flags = &job->chain_options;
    weir_cache_options options = weir_cache_options_default();
    options.policy = flags->policy;
    if (flags->cache_limit != WEIR_UNSET)
        options.cache_limit = flags->cache_limit;
    if (flags->memory_limit != WEIR_UNSET)
        options.memory_limit = flags->memory_limit;
    flags->policy = NULL;
    flags->cache_limit = flags->memory_limit = WEIR_NO_LIMIT;
    weir_err err = weir_cache_create(&options, &job->untiled_cache);
    return err == WEIR_OK ? 0 : cli_fail_weir(err);
}

static const struct argp_option record_options[] = {
    {"untiled", OPT_UNTILED, 0, 0,
     "record what an array library would allocate: one buffer for each unit's output of each whole "
     "message, from a cache with the limits stated here; no sample is read",
     1},
    {0}};

static error_t parse_record(int key, char *text, struct argp_state *state)
{
    record_job *record = state->input;
    cli_job *job = record != NULL ? record->job : NULL;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = job;
        return 0;
    case OPT_UNTILED:
        record->untiled = true;
        return 0;
    case ARGP_KEY_END:
        if (job->output_path == NULL || strcmp(job->output_path, "-") == 0)
            argp_failure(state, 2, 0, "-o FILE is required: the file for the trace");
        if (record->untiled && job->input.message_frames == 0 && job->input.lengths_path == NULL)
            argp_failure(state, 2, 0,
                         "--untiled needs --message-frames N or --message-lengths FILE");
        if (record->untiled && job->chain_options.tile_frames != WEIR_UNSET)
            argp_failure(state, 2, 0, "--untiled: there are no tiles; remove --tile");
        return 0;
    default:
        (void)text;
        return ARGP_ERR_UNKNOWN;
    }
}

static int record_command(int argc, char **argv)
{
    struct argp run = run_argp; /* the same options; -o is the trace */
    run.doc = NULL;
    struct argp_child children[] = {{&run, 0, 0, 0}, {0}};
    struct argp argp = {
        record_options,
        parse_record,
        run_argp.args_doc,
        "Runs a recording through a chain and writes every allocation and free of the chain's "
        "cache into the file that -o names; the signal is not written. With --untiled the chain "
        "is not run.\v"
        "The file's format is described in weir/trace.h.",
        children,
        NULL,
        NULL};
    cli_signals_set();
    record_job wanted = {.job = cli_job_create()};
    cli_job *job = wanted.job;
    int status = cli_parse(&argp, argc, argv, &wanted);
    if (status >= 0) {
        cli_job_destroy(job);
        return status;
    }
    job->trace_path = job->output_path;
    job->output_path = NULL;
    status = wanted.untiled ? create_untiled(job) : 0;
    if (status == 0)
        status = cli_job_open(job);
    if (status == 0)
        status = wanted.untiled ? record_untiled(job) : record(job);
    cli_job_destroy(job);
    return status;
}

/* ---- what replay and tune share ---------------------------------------------------------------------- */

typedef struct trace_job {
    const char *path;
    weir_replay_options replay;
    double hit_rate;
    bool steps, json, tunes;
    weir_trace *trace;
} trace_job;

static int open_trace(trace_job *job)
{
    weir_err err = weir_trace_open(job->path, &job->trace);
    return err == WEIR_OK ? 0 : cli_fail_weir(err);
}

static void note_cut(const trace_job *job)
{
    if (weir_trace_info_get(job->trace)->cut)
        fprintf(stderr, "weir: %s: is truncated; the complete part was read\n", job->path);
}

static const char *op_name(weir_trace_op op)
{
    switch (op) {
    case WEIR_TRACE_TAKE:
        return "take";
    case WEIR_TRACE_GIVE:
        return "give";
    case WEIR_TRACE_LIMIT:
        return "limit";
    case WEIR_TRACE_CLEAR:
        return "clear";
    case WEIR_TRACE_MEMORY:
        return "memory limit";
    case WEIR_TRACE_CHARGE:
        return "charge";
    case WEIR_TRACE_UNCHARGE:
        return "uncharge";
    case WEIR_TRACE_END:
        break;
    }
    return "end";
}

/* ---- replay -------------------------------------------------------------------------------------------- */

static weir_err print_step(void *user, const weir_trace_step *step, const weir_cache_stats *after)
{
    (void)user;
    printf("%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n", step->step, after->live_bytes,
           after->idle_bytes);
    return cli_stop != 0 ? WEIR_E_INTERRUPTED : WEIR_OK;
}

static json_t *replay_json(const trace_job *job, const weir_replay_report *report)
{
    const weir_cache_stats *stats = &report->stats;
    json_t *json = json_object();
    const char *policy =
        job->replay.policy != NULL ? job->replay.policy : weir_trace_info_get(job->trace)->policy;
    json_object_set_new(json, "trace", cli_json_text(job->path));
    json_object_set_new(json, "policy", cli_json_text(policy));
    json_object_set_new(json, "steps", cli_json_count(report->steps));
    json_object_set_new(json, "takes", cli_json_count(report->takes));
    json_object_set_new(json, "refused", cli_json_count(report->refused));
    json_object_set_new(json, "rows", cli_json_count(report->rows));
    json_object_set_new(json, "rows_failed", cli_json_count(report->rows_failed));
    json_object_set_new(json, "first_failed",
                        report->rows_failed > 0 ? cli_json_count(report->first_failed.step)
                                                : json_null());
#define FIELD(name, text) json_object_set_new(json, #name, cli_json_count(stats->name));
    WEIR_CACHE_STATS_LIST(FIELD)
#undef FIELD
    return json;
}

static void print_replay(const trace_job *job, const weir_replay_report *report)
{
    const weir_cache_stats *stats = &report->stats;
    char a[CLI_FIGURE], b[CLI_FIGURE], c[CLI_FIGURE];
    const char *policy =
        job->replay.policy != NULL ? job->replay.policy : weir_trace_info_get(job->trace)->policy;
    printf("%s%s%s: %" PRIu64 " steps under %s\n", cli_bold(stdout), job->path, cli_plain(stdout),
           report->steps, policy);
    printf("  allocations  %" PRIu64 ", %" PRIu64 " of them hits (%.4f), %" PRIu64 " refused\n",
           report->takes, stats->hits,
           report->takes > 0 ? (double)stats->hits / (double)report->takes : 0.0, report->refused);
    printf("  evictions    %" PRIu64 " (%s)\n", stats->evictions,
           cli_bytes(stats->evicted_bytes, a, sizeof a));
    printf("  at the end   %s in use, %s cached; cache_limit %s",
           cli_bytes(stats->live_bytes, a, sizeof a), cli_bytes(stats->idle_bytes, b, sizeof b),
           cli_bytes(stats->cache_limit_bytes, c, sizeof c));
    printf(stats->auto_limit_bytes != 0 ? " (auto)\n" : "\n");
    printf("  peaks        %s in use, %s allocated\n",
           cli_bytes(stats->live_peak_bytes, a, sizeof a),
           cli_bytes(stats->held_peak_bytes, b, sizeof b));
    if (report->rows > 0)
        printf("  rows         %" PRIu64 " of %" PRIu64 " as recorded\n",
               report->rows - report->rows_failed, report->rows);
}

static int replay(trace_job *job)
{
    weir_replay_report report = {.report_size = sizeof report};
    if (job->steps)
        job->replay.step = print_step;
    weir_err err = weir_trace_replay(job->trace, &job->replay, &report);
    if (err != WEIR_OK)
        return cli_fail_weir(err);
    note_cut(job);
    int status = 0;
    if (job->json)
        status = cli_json_print(replay_json(job, &report), 0);
    else if (!job->steps)
        print_replay(job, &report);
    const weir_trace_step *failed = &report.first_failed;
    if (report.rows_failed > 0)
        status = cli_fail(
            1,
            "%s: step %" PRIu64 " (%s): live %" PRIu64 ", idle %" PRIu64 " found; live %" PRIu64
            ", idle %" PRIu64 " recorded; %" PRIu64 " of %" PRIu64 " rows differ",
            job->path, failed->step, op_name(failed->op), report.found_live, report.found_idle,
            failed->live, failed->idle, report.rows_failed, report.rows);
    return cli_finish(status);
}

/* ---- tune ------------------------------------------------------------------------------------------------- */

static json_t *tune_json(const weir_tune_report *report)
{
    json_t *points = json_array();
    for (size_t i = 0; i < report->point_count; i++)
        json_array_append_new(points,
                              json_pack("{s:o, s:o, s:o}", "limit_bytes",
                                        cli_json_count(report->points[i].limit), "distance_rate",
                                        cli_json_real(report->points[i].distance_rate), "hit_rate",
                                        cli_json_real(report->points[i].replay_rate)));
    return json_pack(
        "{s:o, s:o, s:o, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "policy",
        cli_json_text(report->policy), "takes", cli_json_count(report->takes), "wanted_rate",
        cli_json_real(report->wanted_rate), "reachable", report->reachable, "best_rate",
        cli_json_real(report->best_rate), "limit_bytes", cli_json_count(report->limit), "hit_rate",
        cli_json_real(report->limit_rate), "below_rate", cli_json_real(report->below_rate),
        "distance_limit_bytes", cli_json_count(report->distance_limit), "replays",
        cli_json_count(report->replays), "points", points);
}

static void print_tune(const trace_job *job, const weir_tune_report *report)
{
    char text[CLI_FIGURE];
    cli_table *table = cli_table_create(">cache_limit|>bytes|>by distance|>replayed|");
    for (size_t i = 0; i < report->point_count; i++) {
        const weir_tune_point *point = &report->points[i];
        cli_table_cell(table, "%s", cli_bytes(point->limit, text, sizeof text));
        if (point->limit == WEIR_NO_LIMIT)
            cli_table_cell(table, "%s", "");
        else
            cli_table_cell(table, "%" PRIu64, point->limit);
        cli_table_cell(table, "%.4f", point->distance_rate);
        cli_table_cell(table, "%.4f", point->replay_rate);
        cli_table_cell(table, "%s", point->limit == report->limit ? "<" : "");
    }
    printf("%s%s%s: hit rate of %" PRIu64 " allocations under %s\n\n", cli_bold(stdout), job->path,
           cli_plain(stdout), report->takes, report->policy);
    cli_table_print(table, stdout);
    cli_table_destroy(table);
    putchar('\n');
    if (!report->reachable)
        printf("no limit reaches a hit rate of %g: without a limit it is %.4f; %g of that needs\n",
               report->wanted_rate, report->best_rate, report->wanted_rate);
    printf("cache_limit: %" PRIu64 " B (%s) gives a hit rate of %.4f", report->limit,
           cli_bytes(report->limit, text, sizeof text), report->limit_rate);
    if (report->limit > 0)
        printf("; one byte less gives %.4f", report->below_rate);
    printf("\n");
}

static int tune(trace_job *job)
{
    weir_tune_report report = {.report_size = sizeof report};
    weir_err err = weir_trace_tune(job->trace, job->replay.policy, job->hit_rate, &report);
    if (err != WEIR_OK)
        return cli_fail_weir(err);
    note_cut(job);
    int status = report.reachable ? 0 : 5;
    if (job->json)
        return cli_json_print(tune_json(&report), status);
    print_tune(job, &report);
    return cli_finish(status);
}

/* ---- options ------------------------------------------------------------------------------------------------ */

static const struct argp_option replay_options[] = {
    {"policy", OPT_POLICY, "NAME", 0, "cache policy; default: that of the trace", 0},
    {"cache-limit", CLI_OPT_CACHE, "BYTES|auto", 0,
     "limit at the start; default: that of the trace", 0},
    {"memory-limit", CLI_OPT_MEMORY, "BYTES", 0, "limit throughout; default: none", 0},
    {"fixed", OPT_FIXED, 0, 0, "ignore the changes of cache_limit in the trace", 0},
    {"steps", OPT_STEPS, 0, 0, "print step, bytes in use and bytes cached after each step", 0},
    {"json", CLI_OPT_JSON, 0, 0, "print figures as JSON", 0},
    {0}};

static const struct argp_option tune_options[] = {
    {"policy", OPT_POLICY, "NAME", 0, "cache policy; default: that of the trace", 0},
    {"hit-rate", OPT_HIT_RATE, "RATE", 0,
     "fraction of allocations to be served from cached buffers; default 0.99", 0},
    {"json", CLI_OPT_JSON, 0, 0, "print figures as JSON", 0},
    {0}};

static error_t parse(int key, char *text, struct argp_state *state)
{
    trace_job *job = state->input;
    switch (key) {
    case OPT_POLICY:
        job->replay.policy = text;
        return 0;
    case CLI_OPT_CACHE:
        job->replay.cache_limit = cli_option_limit(state, "--cache-limit", text, true);
        return 0;
    case CLI_OPT_MEMORY:
        job->replay.memory_limit = cli_option_limit(state, "--memory-limit", text, false);
        return 0;
    case OPT_FIXED:
        job->replay.fixed = true;
        return 0;
    case OPT_STEPS:
        job->steps = true;
        return 0;
    case OPT_HIT_RATE:
        job->hit_rate = cli_option_quantity(state, "--hit-rate", text, WEIR_PLAIN, 0);
        if (job->hit_rate > 1)
            argp_failure(state, 2, 0, "--hit-rate: found %s; expected 0 to 1", text);
        return 0;
    case CLI_OPT_JSON:
        job->json = true;
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 0)
            argp_error(state, "expected one FILE; '%s' is one argument too many", text);
        job->path = text;
        return 0;
    case ARGP_KEY_END:
        if (job->path == NULL)
            argp_error(state, "FILE is required");
        if (job->steps && job->json)
            argp_failure(state, 2, 0, "--steps and --json would both write to standard output");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static int
trace_job_command(int argc, char **argv, const struct argp *argp, int (*work)(trace_job *))
{
    trace_job *job = cli_alloc(1, sizeof *job);
    job->replay = weir_replay_options_default();
    job->hit_rate = 0.99;
    int status = cli_parse(argp, argc, argv, job);
    if (status < 0) {
        cli_signals_set();
        status = open_trace(job);
        if (status == 0)
            status = work(job);
    }
    weir_trace_close(job->trace);
    free(job);
    return status;
}

static int replay_command(int argc, char **argv)
{
    static const struct argp argp = {
        replay_options,
        parse,
        "FILE",
        "Replays a trace under any policy and limit, and prints the statistics of the cache. FILE "
        "is "
        "written by weir trace record, or is a recorded run of MLX "
        "(step,op,slot,bytes,active,cached), whose rows are compared.\v"
        "Exit status: 0 success, 1 a row differs (the first is named), 2 usage error, 4 not a "
        "trace, 7 "
        "cannot be read.",
        NULL,
        NULL,
        NULL};
    return trace_job_command(argc, argv, &argp, replay);
}

static int tune_command(int argc, char **argv)
{
    static const struct argp argp = {
        tune_options,
        parse,
        "FILE",
        "Prints how the hit rate of a trace depends on cache_limit, by stack distance and by "
        "replay, and "
        "the smallest limit that reaches the requested rate, replayed there and one byte below.\v"
        "Exit status: 0 success, 5 no limit reaches the rate (then that fraction of the reachable "
        "rate "
        "is used), 2 usage error, 4 not a trace, 7 cannot be read.",
        NULL,
        NULL,
        NULL};
    return trace_job_command(argc, argv, &argp, tune);
}

/* ---- the command -------------------------------------------------------------------------------------------- */

static const cli_group trace = {
    "trace",
    "[OPTION...] FILE",
    {{"record", record_command, "record the allocations and frees of a run in a file"},
     {"replay", replay_command, "replay them under another policy or limit"},
     {"tune", tune_command, "find the cache_limit for a hit rate"}}};

int trace_command(int argc, char **argv)
{
    return cli_group_command(&trace, argc, argv);
}

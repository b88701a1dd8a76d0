/* SPDX-License-Identifier: MIT
 *
 * job.c: what run and plan share: their options; a chain, a recording and outputs, opened and planned.
 */
#include "cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <weir/trace.h>

/* ---- options ------------------------------------------------------------------------------------- */

static const struct argp_option chain_options[] = {
    {0, 0, 0, 0, "The run:", 1},
    {"output", 'o', "OUTPUT", 0,
     "output file; a split chain writes OUT.NAME.npy for each branch; - is standard output", 1},
    {"output-format", CLI_OPT_OUTPUT_FORMAT, "NAME", 0,
     "output format; default: from the file name", 1},
    {"force", CLI_OPT_FORCE, 0, 0, "overwrite an existing output; an input is never overwritten",
     1},
    {"memory-limit", CLI_OPT_MEMORY, "BYTES", 0,
     "maximum memory that weir allocates: 64M, 1.5 GiB, none", 1},
    {"cache-limit", CLI_OPT_CACHE, "BYTES|auto", 0, "maximum size of unused buffers kept for reuse",
     1},
    {"policy", CLI_OPT_POLICY, "NAME", 0, "cache policy: fit, pages, mlx:cpu, ...", 1},
    {"threads", CLI_OPT_THREADS, "N", 0, "number of threads, 1 to 64", 1},
    {"tile", CLI_OPT_TILE, "FRAMES|auto", 0, "number of frames processed at once", 1},
    {"fuse", CLI_OPT_FUSE, "on|off", 0,
     "let neighbouring units share a working buffer (default on); the result is the same", 1},
    {"checkpoint", CLI_OPT_CHECKPOINT, "FILE", 0,
     "file for resuming an interrupted run; written every second, removed at the end", 1},
    {"json", CLI_OPT_JSON, 0, 0, "print figures as JSON on standard output", 1},
    {0}};

static const struct argp_option run_options[] = {
    {"report", CLI_OPT_REPORT, "FILE.html", 0,
     "write an HTML report: the plan, measured figures and a picture of the first output", 1},
    {"resume", CLI_OPT_RESUME, 0, 0,
     "continue from the --checkpoint file; start from the beginning if it does not exist", 1},
    {"records", CLI_OPT_RECORDS, "FILE.csv|FILE.npy", 0,
     "write the events that units find (threshold_crossing): time, segment, frame, channel, kind "
     "and amplitude",
     1},
    {"quiet", 'q', 0, 0, "print no plan, progress or summary", 1},
    {0}};

static uint64_t read_tile(struct argp_state *state, const char *text)
{
    if (strcasecmp(text, "auto") == 0)
        return WEIR_TILE_AUTO;
    if (*text < '0' || *text > '9')
        argp_failure(state, 2, 0, "--tile: found '%s'; expected a whole number from 1, or auto",
                     text);
    return cli_option_count(state, "--tile", text, 1);
}

static bool read_switch(struct argp_state *state, const char *name, const char *text)
{
    if (strcasecmp(text, "on") != 0 && strcasecmp(text, "off") != 0)
        argp_failure(state, 2, 0, "%s: found '%s'; expected on or off", name, text);
    return strcasecmp(text, "on") == 0;
}

static error_t parse_chain(int key, char *text, struct argp_state *state)
{
    cli_job *job = state->input;
    switch (key) {
    case 'o':
        /* Under another name it would be opened again, and written from its start. */
        job->output_path = strcmp(text, "/dev/stdout") == 0 || strcmp(text, "/dev/fd/1") == 0 ||
                                   strcmp(text, "/proc/self/fd/1") == 0
                               ? "-"
                               : text;
        return 0;
    case CLI_OPT_OUTPUT_FORMAT:
        job->output_format = text;
        return 0;
    case CLI_OPT_FORCE:
        job->force = true;
        return 0;
    case CLI_OPT_MEMORY:
        job->chain_options.memory_limit = cli_option_limit(state, "--memory-limit", text, false);
        return 0;
    case CLI_OPT_CACHE:
        job->chain_options.cache_limit = cli_option_limit(state, "--cache-limit", text, true);
        return 0;
    case CLI_OPT_POLICY:
        job->chain_options.policy = text;
        return 0;
    case CLI_OPT_THREADS:
        job->chain_options.threads = cli_option_count(state, "--threads", text, 1);
        return 0;
    case CLI_OPT_TILE:
        job->chain_options.tile_frames = read_tile(state, text);
        return 0;
    case CLI_OPT_FUSE:
        job->chain_options.fuse = read_switch(state, "--fuse", text);
        return 0;
    case CLI_OPT_CHECKPOINT:
        job->checkpoint_path = text;
        job->chain_options.checkpoints = true;
        return 0;
    case CLI_OPT_JSON:
        job->json = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp chain_argp = {chain_options, parse_chain, 0, 0, 0, 0, 0};

static void check_job(struct argp_state *state, cli_job *job)
{
    bool to_stdout = job->output_path != NULL && strcmp(job->output_path, "-") == 0;
    if (job->input_path == NULL)
        argp_error(state, "%s",
                   job->chain_path == NULL ? "CHAIN and INPUT are required" : "INPUT is required");
    if (strcmp(job->chain_path, "-") == 0 && strcmp(job->input_path, "-") == 0)
        argp_failure(state, 2, 0, "chain and recording cannot both come from standard input");
    if (to_stdout && job->json && !job->planning)
        argp_failure(state, 2, 0, "--json and -o - would both write to standard output");
    if (job->resume && job->checkpoint_path == NULL)
        argp_failure(state, 2, 0, "--resume needs --checkpoint FILE");
    if (job->checkpoint_path != NULL && job->output_path == NULL)
        argp_failure(state, 2, 0, "--checkpoint needs -o OUTPUT");
    if (job->checkpoint_path != NULL && job->records.path != NULL)
        argp_failure(
            state, 2, 0,
            "--records and --checkpoint cannot be used together: records cannot be resumed");
    if (job->checkpoint_path != NULL && *job->checkpoint_path == '\0')
        argp_failure(state, 2, 0, "--checkpoint: the file name is empty");
    if (to_stdout && job->output_format == NULL)
        argp_failure(state, 2, 0, "-o - needs --output-format");
}

static error_t parse_run(int key, char *text, struct argp_state *state)
{
    cli_job *job = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = job;
        state->child_inputs[1] = job != NULL ? &job->input : NULL;
        return 0;
    case CLI_OPT_REPORT:
        job->report_path = text;
        return 0;
    case CLI_OPT_RESUME:
        job->resume = true;
        return 0;
    case CLI_OPT_RECORDS:
        job->records.path = text;
        return 0;
    case 'q':
        job->quiet = true;
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 1)
            argp_error(state, "expected CHAIN and INPUT; '%s' is one argument too many", text);
        *(state->arg_num == 0 ? &job->chain_path : &job->input_path) = text;
        return 0;
    case ARGP_KEY_END:
        check_job(state, job);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {
    {&chain_argp, 0, 0, 0}, {&cli_input_argp, 0, 0, 0}, {0}};

const struct argp run_argp = {
    run_options,
    parse_run,
    "CHAIN INPUT",
    "Runs a recording through a chain, after printing the memory plan. CHAIN is a YAML file. "
    "INPUT is a recording (weir --version lists the formats), - for standard input, or "
    "synthetic:channels=256,rate=30000,seconds=60,seed=1.\v"
    "Exit status: 0 success, 1 internal error, 2 usage error, 3 invalid chain, 4 invalid "
    "recording, "
    "5 plan exceeds the memory limit, 6 allocation refused by a limit during the run, 7 input or "
    "output error, 130 interrupted. An output is written to NAME.part and renamed to NAME when it "
    "is "
    "complete; after Ctrl-C it remains NAME.part and can be read. With --checkpoint FILE, an "
    "interrupted run (Ctrl-C, crash, kill -9, power cut) continues with the same command and "
    "--resume; the finished output equals that of an uninterrupted run.",
    children,
    0,
    0};

const struct argp plan_argp = {
    NULL,
    parse_run,
    "CHAIN INPUT",
    "Prints the memory that a run will use, part by part, without running it.\v"
    "Exit status: 0 the plan fits, 5 it does not, 2 usage error, 3 invalid chain, 4 invalid "
    "recording, "
    "7 input error.",
    children,
    0,
    0};

/* ---- opening --------------------------------------------------------------------------------------- */

cli_job *cli_job_create(void)
{
    cli_job *job = cli_alloc(1, sizeof *job);
    job->chain_options = weir_chain_options_default();
    job->input.recording = weir_recording_options_default();
    return job;
}

void cli_job_destroy(cli_job *job)
{
    /* Source and sinks first: until they are closed they use memory of the chain. */
    weir_source_close(job->source);
    for (size_t i = 0; i < job->output_count; i++) {
        weir_sink_close(job->sinks[i]);
        free(job->output_files[i]);
    }
    free(job->sinks);
    free(job->output_files);
    cli_picture_free(job);
    weir_chain_destroy(job->chain);
    weir_cache_destroy(job->untiled_cache);
    (void)cli_write_end(&job->trace, false); /* of a run that failed */
    cli_records_free(&job->records);
    cli_lengths_close(job->lengths);
    free(job->lengths);
    free(job);
}

void cli_job_stop(cli_job *job)
{
    (void)cli_records_end(&job->records, false);
    for (size_t i = 0; i < job->output_count; i++) {
        weir_sink_close(job->sinks[i]); /* this removes a part without rows */
        job->sinks[i] = NULL;
        char *file = job->output_files[i];
        char *part = file != NULL ? cli_text("%s.part", file) : NULL;
        bool kept = part != NULL && access(part, F_OK) == 0;
        job->output_files[i] = kept ? part : NULL;
        free(kept ? NULL : part);
        free(file);
    }
}

static int open_lengths(cli_job *job)
{
    if (job->input.lengths_path == NULL)
        return 0;
    job->lengths = cli_alloc(1, sizeof *job->lengths);
    return cli_lengths_open(job->lengths, job->input.lengths_path);
}

/* OUT for one output; for a split OUT with the output's name before its extension. */
static char *output_file(const cli_job *job, size_t output)
{
    const char *path = job->output_path;
    if (job->output_count == 1)
        return cli_text("%s", path);
    const char *name = weir_chain_output_name(job->chain, output);
    const char *folder = strrchr(path, '/');
    const char *dot = strrchr(folder != NULL ? folder : path, '.');
    if (dot == NULL || dot == path || dot[-1] == '/')
        dot = path + strlen(path);
    return cli_text("%.*s.%s%s", (int)(dot - path), path, name, dot);
}

static int check_files(const cli_job *job)
{
    cli_files files = {0};
    cli_files_read(&files, job->chain_path, "the chain file");
    cli_files_recording(&files, job->input_path);
    if (job->input.lengths_path != NULL)
        cli_files_read(&files, job->input.lengths_path, "the file of --message-lengths");
    for (size_t i = 0; i < job->output_count; i++)
        if (job->output_files[i] != NULL)
            cli_files_output(&files, job->output_files[i], "-o");
    if (job->report_path != NULL)
        cli_files_write(&files, job->report_path, "--report");
    if (job->trace_path != NULL)
        cli_files_write(&files, job->trace_path, "-o");
    if (job->checkpoint_path != NULL)
        cli_files_write(&files, job->checkpoint_path, "--checkpoint");
    cli_records_list(&job->records, &files);
    int status = cli_files_check(&files);
    if (status == 0 && job->report_path != NULL)
        status = cli_write_check(job->report_path, job->force);
    return status;
}

static int open_sinks(cli_job *job)
{
    /* The number of outputs is known when the chain is planned for the recording's stream. */
    weir_err err =
        weir_chain_plan(job->chain, &weir_source_info_get(job->source)->spec, &job->plan);
    if (err != WEIR_OK)
        return cli_fail_weir(err);
    job->output_count = weir_chain_output_count(job->chain);
    job->sinks = cli_alloc(job->output_count, sizeof *job->sinks);
    job->output_files = cli_alloc(job->output_count, sizeof *job->output_files);
    if (job->output_path == NULL)
        return check_files(job);
    if (strcmp(job->output_path, "-") == 0 && job->output_count > 1)
        return cli_fail(2, "-o -: the chain has %zu outputs; standard output can only take one",
                        job->output_count);
    weir_output_options options = weir_output_options_default();
    options.cache = weir_chain_cache(job->chain);
    options.format = job->output_format;
    options.force = job->force || job->planning;
    options.resume = job->resume;
    for (size_t i = 0; i < job->output_count; i++)
        job->output_files[i] = output_file(job, i);
    int status = check_files(job);
    if (status != 0)
        return status;
    if (job->checkpoint_path != NULL && !job->resume && !job->planning &&
        access(job->checkpoint_path, F_OK) == 0)
        return cli_fail(
            2, "%s: already exists; use --resume to continue from it, or remove it to start again",
            job->checkpoint_path);
    for (size_t i = 0; i < job->output_count; i++) {
        err = weir_recording_create(job->output_files[i], &options, &job->sinks[i]);
        if (err != WEIR_OK)
            return cli_fail_weir(err);
    }
    return 0;
}

/* Labels and lists of a recording count within the limit too; if they do not fit, no plan can be
 * made. */
static int fail_open(const cli_job *job, weir_err err)
{
    weir_cache_stats stats = {.stats_size = sizeof stats};
    weir_cache_stats_read(weir_chain_cache(job->chain), &stats);
    if ((err != WEIR_E_NOMEM && err != WEIR_E_LIMIT) || stats.refusals == 0)
        return cli_fail_weir(err);
    return cli_fail(weir_err_exit_status(WEIR_E_PLAN),
                    "%s: the description of its channels does not fit the memory limit: %s",
                    job->input_path, weir_err_detail());
}

int cli_job_open(cli_job *job)
{
    int status = open_lengths(job);
    if (status != 0)
        return status;
    weir_err err = weir_config_load(job->chain_path, &job->chain_options, &job->chain);
    if (err != WEIR_OK)
        return cli_fail_weir(err);
    status = cli_records_name(&job->records, job->chain);
    if (status != 0)
        return status;
    if (job->trace_path != NULL) { /* from the first allocation on; its bytes are in the plan */
        status = check_files(job);
        if (status == 0)
            status = cli_write_begin(&job->trace, job->trace_path, job->force);
        if (status != 0)
            return status;
        err = weir_trace_start(job->untiled_cache != NULL ? job->untiled_cache
                                                          : weir_chain_cache(job->chain),
                               job->trace.target);
        if (err != WEIR_OK)
            return cli_fail_weir(err);
    }
    job->input.recording.cache = weir_chain_cache(job->chain);
    job->input.recording.gap_tolerance_s = weir_chain_gap_tolerance(job->chain);
    err = weir_recording_open(job->input_path, &job->input.recording, &job->source);
    if (err != WEIR_OK)
        return fail_open(job, err);
    status = open_sinks(job);
    if (status == 0 && job->report_path != NULL)
        status = cli_picture_open(job);
    if (status != 0)
        return status;
    err = weir_chain_plan_run(job->chain, job->source, job->sinks, job->output_count, &job->plan);
    if (err != WEIR_OK)
        return cli_fail_weir(err);
    return job->plan->fits ? cli_records_begin(&job->records, job->chain, job->force) : 0;
}

uint64_t cli_job_plan_output(cli_job *job, const char *path)
{
    weir_output_options options = weir_output_options_default();
    options.cache = weir_chain_cache(job->chain);
    options.force = true;
    weir_err err = WEIR_OK;
    for (size_t i = 0; err == WEIR_OK && i < job->output_count; i++)
        err = weir_recording_create(path, &options, &job->sinks[i]);
    if (err == WEIR_OK)
        err =
            weir_chain_plan_run(job->chain, job->source, job->sinks, job->output_count, &job->plan);
    return err == WEIR_OK ? job->plan->total_bytes : 0;
}

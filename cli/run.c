/* SPDX-License-Identifier: MIT
 *
 * run.c: weir run: prints the plan, runs the chain, prints the measured figures.
 */
#include "cli.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct run_state {
    const cli_job *job;
    bool told; /* resuming was reported */
    cli_progress progress;
    cli_lengths *lengths;
    cli_records *records;
} run_state;

static weir_err next_message(void *user, uint64_t *ret_frames)
{
    run_state *state = user;
    return cli_lengths_next(state->lengths, ret_frames);
}

static bool step(void *user, const weir_progress *progress)
{
    run_state *state = user;
    if (!state->told && !state->job->quiet && !state->job->json && progress->resumed_frames > 0) {
        char frame[CLI_FIGURE], time[CLI_FIGURE];
        fprintf(stderr, "weir: resumed after frame %s, at %s\n",
                cli_count(progress->resumed_frames, frame, sizeof frame),
                cli_duration(cli_seconds(progress->resumed_frames, progress->rate_hz), time,
                             sizeof time));
    }
    state->told = true;
    cli_records_flush(state->records);
    return cli_progress_step(&state->progress, progress);
}

/* After an error the written data stay in NAME.part, which the error names too. If a resumed run
 * could not start, nothing is new. */
static int fail_run(cli_job *job, weir_err err, const weir_run_report *report)
{
    const char *records = cli_records_failed(&job->records);
    char *failed = records != NULL ? cli_text("%s: cannot be written", records) : NULL;
    const char *detail = failed != NULL ? failed : weir_err_detail();
    detail = *detail != '\0' ? detail : weir_err_text(err);
    uint64_t frames = report->frames_in;
    bool refused = job->resume && frames == report->resumed_frames;
    char count[CLI_FIGURE];
    char *what = frames > 0 && !refused ? cli_text("%s; stopped after frame %s of the input",
                                                   detail, cli_count(frames, count, sizeof count))
                                        : cli_text("%s", detail);
    cli_job_stop(job);
    bool first = true;
    for (size_t i = 0; i < job->output_count && !refused; i++) {
        if (job->output_files[i] == NULL)
            continue;
        char *more =
            cli_text("%s%s%s", what, first ? "; kept, incomplete: " : ", ", job->output_files[i]);
        free(what);
        what = more;
        first = false;
    }
    for (size_t i = 0; i < job->records.count; i++) {
        if (job->records.files[i].count == 0)
            continue;
        char *more = cli_text("%s%s%s", what, first ? "; kept, incomplete: " : ", ",
                              job->records.files[i].path);
        free(what);
        what = more;
        first = false;
    }
    if (!first && job->checkpoint_path != NULL && access(job->checkpoint_path, F_OK) == 0) {
        char *more = cli_text("%s; continue with the same command and --resume", what);
        free(what);
        what = more;
    }
    free(failed);
    int status = weir_err_exit_status(err);
    if (job->lengths == NULL || !job->lengths->failed)
        cli_fail(status, "%s", what);
    free(what);
    return status;
}

/* Prints the measured figures in the requested form. */
static int say(const cli_job *job, const cli_result *result)
{
    int status = weir_err_exit_status(result->err);
    bool stdout_taken = job->output_path != NULL && strcmp(job->output_path, "-") == 0;
    if (job->report_path != NULL) {
        int failed = cli_report_write(job, result);
        if (failed != 0)
            return failed;
    }
    if (job->json)
        return cli_json_print(cli_summary_json(job, result), status);
    if (!job->quiet)
        cli_summary_print(job, result, stdout_taken ? stderr : stdout);
    return cli_finish(status);
}

static int run(cli_job *job)
{
    if (!job->plan->fits) {
        if (job->json)
            (void)cli_json_print(cli_plan_json(job), 0);
        else if (!job->quiet)
            cli_plan_print(job, stderr);
        return cli_plan_refuse(job);
    }
    if (job->output_path == NULL && job->records.path == NULL && !job->quiet && !job->json)
        fputs("weir: no -o OUTPUT: the result is computed, not written\n", stderr);
    if (!job->quiet && !job->json) {
        cli_plan_print(job, stderr);
        putc('\n', stderr);
    }
    if (job->resume && access(job->checkpoint_path, F_OK) != 0 && !job->quiet && !job->json)
        fprintf(stderr, "weir: %s: no checkpoint yet; starting from the beginning\n",
                job->checkpoint_path);
    run_state state = {.job = job, .lengths = job->lengths, .records = &job->records};
    weir_run_options options = {.options_size = sizeof options,
                                .message_frames = job->input.message_frames,
                                .next_message = job->lengths != NULL ? next_message : NULL,
                                .progress = step,
                                .user = &state,
                                .checkpoint = job->checkpoint_path,
                                .resume = job->resume};
    cli_result result = {.report = {.report_size = sizeof(weir_run_report)},
                         .stats = {.stats_size = sizeof(weir_cache_stats)}};
    weir_cache_stats_read(weir_chain_cache(job->chain), &result.stats);
    uint64_t cache_limit =
        result.stats.auto_limit_bytes > 0 ? WEIR_LIMIT_AUTO : result.stats.cache_limit_bytes;
    weir_err err = weir_limits_export(cache_limit, job->plan->memory_limit_bytes); /* M8 */
    if (err != WEIR_OK)
        return cli_fail_weir(err);
    cli_progress_start(&state.progress, job->quiet);
    result.err = weir_chain_run(job->chain, &options, &result.report);
    cli_progress_end(&state.progress);
    if (result.err != WEIR_OK && result.err != WEIR_E_INTERRUPTED)
        return fail_run(job, result.err, &result.report);
    weir_cache_stats_read(weir_chain_cache(job->chain), &result.stats);
    if (result.err == WEIR_E_INTERRUPTED)
        cli_job_stop(job);
    int status = result.err == WEIR_OK ? cli_records_end(&job->records, true) : 0;
    if (status != 0)
        return status;
    return say(job, &result);
}

int run_command(int argc, char **argv)
{
    cli_signals_set();
    cli_job *job = cli_job_create();
    int status = cli_parse(&run_argp, argc, argv, job);
    if (status < 0) {
        status = cli_job_open(job);
        if (status == 0)
            status = run(job);
    }
    cli_job_destroy(job);
    return status;
}

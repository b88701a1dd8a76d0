/* SPDX-License-Identifier: MIT
 *
 * summary.c: the measured figures of a run, as text and as JSON.
 */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

void cli_notices(const cli_job *job, void (*line)(void *user, const char *text), void *user)
{
    const weir_source_info *info = weir_source_info_get(job->source);
    for (size_t i = 0; i < info->notice_count; i++)
        line(user, info->notices[i]);
    if (info->notices_left_out > 0) {
        char text[64];
        snprintf(text, sizeof text, "%llu further notices",
                 (unsigned long long)info->notices_left_out);
        line(user, text);
    }
    size_t count = 0;
    const char *const *notices = weir_chain_notices(job->chain, &count);
    for (size_t i = 0; i < count; i++)
        line(user, notices[i]);
}

static void print_notice(void *user, const char *text)
{
    FILE *file = user;
    fputs("  notice       ", file);
    cli_put_wrapped(file, text, strlen("  notice       "));
    putc('\n', file);
}

static weir_unit_report unit_report(const weir_chain *chain, size_t node)
{
    weir_unit_report unit = {.report_size = sizeof unit};
    (void)weir_chain_node_report(chain, node, &unit); /* there is such a node */
    return unit;
}

static size_t missing_channels(const weir_unit_report *unit)
{
    size_t channels = 0;
    for (uint64_t i = 0; unit->missing != NULL && i < unit->channels; i++)
        channels += unit->missing[i] > 0;
    return channels;
}

static void print_units(const cli_job *job, FILE *file)
{
    char count[CLI_FIGURE];
    for (size_t i = 0; i < weir_chain_node_count(job->chain); i++) {
        weir_unit_report unit = unit_report(job->chain, i);
        if (unit.missing_total > 0)
            fprintf(file, "  missing      %s samples at %s, in %zu of %llu channels\n",
                    cli_count(unit.missing_total, count, sizeof count), unit.name,
                    missing_channels(&unit), (unsigned long long)unit.channels);
        if (unit.saturated > 0)
            fprintf(file, "  saturated    %s values in %s\n",
                    cli_count(unit.saturated, count, sizeof count), unit.name);
    }
}

static void print_memory(const cli_job *job, const cli_result *result, FILE *file)
{
    const weir_run_report *report = &result->report;
    const weir_cache_stats *stats = &result->stats;
    char a[CLI_FIGURE], b[CLI_FIGURE], c[CLI_FIGURE];
    fprintf(file, "  plan         %s", cli_bytes(report->plan_bytes, a, sizeof a));
    if (job->plan->memory_limit_bytes != WEIR_NO_LIMIT)
        fprintf(file, "  of memory_limit %s",
                cli_bytes(job->plan->memory_limit_bytes, a, sizeof a));
    fprintf(file, "\n  allocated    %s at its peak  (%s in use, %s cached at the end)\n",
            cli_bytes(stats->held_peak_bytes, a, sizeof a),
            cli_bytes(stats->live_peak_bytes, b, sizeof b),
            cli_bytes(stats->idle_bytes, c, sizeof c));
    fprintf(file, "  cache        %llu hits, %llu misses, %llu evictions, %llu refusals\n",
            (unsigned long long)stats->hits, (unsigned long long)stats->misses,
            (unsigned long long)stats->evictions, (unsigned long long)stats->refusals);
    if (stats->auto_limit_bytes > 0)
        fprintf(file, "  cache_limit  auto: %s\n", cli_bytes(stats->auto_limit_bytes, a, sizeof a));
    if (report->rss_peak_bytes > 0)
        fprintf(
            file, "  RSS          %s before, %s at its peak, growth %s\n",
            cli_bytes(report->rss_before_bytes, a, sizeof a),
            cli_bytes(report->rss_peak_bytes, b, sizeof b),
            cli_bytes(report->rss_peak_bytes - (report->rss_before_bytes < report->rss_peak_bytes
                                                    ? report->rss_before_bytes
                                                    : report->rss_peak_bytes),
                      c, sizeof c));
}

void cli_summary_print(const cli_job *job, const cli_result *result, FILE *file)
{
    const weir_run_report *report = &result->report;
    const weir_source_info *info = weir_source_info_get(job->source);
    char a[CLI_FIGURE], b[CLI_FIGURE], c[CLI_FIGURE];
    double rate = info->spec.rate_hz;
    fprintf(
        file, "%s%s%s: %s of recording in %s, %s real time\n", cli_bold(file),
        result->err == WEIR_OK ? "done" : "interrupted", cli_plain(file),
        cli_duration(cli_seconds(report->frames_in - report->resumed_frames, rate), a, sizeof a),
        cli_duration(report->seconds, b, sizeof b), cli_times(report->x_real_time, c, sizeof c));
    fprintf(file, "  frames       %s in, ", cli_count(report->frames_in, a, sizeof a));
    fprintf(file, "%s out\n", cli_count(report->frames_out, a, sizeof a));
    if (report->resumed)
        fprintf(file, "  resumed      after frame %s, at %s\n",
                cli_count(report->resumed_frames, a, sizeof a),
                cli_duration(cli_seconds(report->resumed_frames, rate), b, sizeof b));
    if (result->err != WEIR_OK)
        fprintf(file, "  stopped      after frame %s of %s\n",
                cli_count(report->frames_in, a, sizeof a), cli_count(info->frames, b, sizeof b));
    print_memory(job, result, file);
    fprintf(file, "  segments     %llu\n", (unsigned long long)report->segments);
    if (report->missing_samples > 0)
        fprintf(file, "  missing      %s samples of the input are not finite\n",
                cli_count(report->missing_samples, a, sizeof a));
    print_units(job, file);
    if (report->unfinished_frames > 0)
        fprintf(file, "  unfinished   %s frames did not fill a bin or window\n",
                cli_count(report->unfinished_frames, a, sizeof a));
    cli_notices(job, print_notice, file);
    for (size_t i = 0; i < job->output_count; i++)
        if (job->output_files[i] != NULL) {
            fputs(result->err == WEIR_OK ? "  output       " : "  kept         ", file);
            cli_put_clean(file, job->output_files[i]);
            fprintf(file, "  %s\n", cli_shape(weir_chain_output_spec(job->chain, i), a, sizeof a));
        }
    for (size_t i = 0; i < job->records.count; i++) {
        const cli_record_file *records = &job->records.files[i];
        if (result->err == WEIR_OK || records->count > 0) {
            fputs(result->err == WEIR_OK ? "  records      " : "  kept         ", file);
            cli_put_clean(file, records->path);
            fprintf(file, "  %s records\n", cli_count(records->count, a, sizeof a));
        }
    }
    if (result->err != WEIR_OK && job->checkpoint_path != NULL) {
        fputs("  checkpoint   ", file);
        cli_put_clean(file, job->checkpoint_path);
        fputs(": continue with the same command and --resume\n", file);
    }
    if (job->report_path != NULL) {
        fputs("  report       ", file);
        cli_put_clean(file, job->report_path);
        putc('\n', file);
    }
}

/* ---- JSON ------------------------------------------------------------------------------------------ */

static void append_notice(void *user, const char *text)
{
    json_array_append_new(user, cli_json_text(text));
}

static json_t *units_json(const cli_job *job)
{
    json_t *units = json_array();
    for (size_t i = 0; i < weir_chain_node_count(job->chain); i++) {
        weir_unit_report unit = unit_report(job->chain, i);
        json_t *row = json_object(), *missing = json_array();
        for (uint64_t j = 0; unit.missing_total > 0 && unit.missing != NULL && j < unit.channels;
             j++)
            json_array_append_new(missing, cli_json_count(unit.missing[j]));
        json_object_set_new(row, "name", cli_json_text(unit.name));
        json_object_set_new(row, "missing_samples", cli_json_count(unit.missing_total));
        json_object_set_new(row, "missing_by_channel", missing);
        json_object_set_new(row, "unfinished_frames", cli_json_count(unit.unfinished_frames));
        json_object_set_new(row, "saturated", cli_json_count(unit.saturated));
        json_array_append_new(units, row);
    }
    return units;
}

static json_t *outputs_json(const cli_job *job)
{
    json_t *outputs = json_array();
    for (size_t i = 0; i < job->output_count; i++) {
        const weir_spec *spec = weir_chain_output_spec(job->chain, i);
        char shape[256];
        json_t *row = json_object();
        json_object_set_new(row, "name", cli_json_text(weir_chain_output_name(job->chain, i)));
        json_object_set_new(row, "file", cli_json_text(job->output_files[i]));
        json_object_set_new(row, "dims", cli_json_text(cli_shape(spec, shape, sizeof shape)));
        json_object_set_new(row, "rate_hz", cli_json_real(spec->rate_hz));
        json_array_append_new(outputs, row);
    }
    return outputs;
}

static json_t *records_json(const cli_job *job)
{
    json_t *list = json_array();
    for (size_t i = 0; i < job->records.count; i++) {
        const cli_record_file *records = &job->records.files[i];
        json_t *row = json_object();
        json_object_set_new(row, "file", cli_json_text(records->path));
        json_object_set_new(row, "count", cli_json_count(records->count));
        json_array_append_new(list, row);
    }
    return list;
}

json_t *cli_summary_json(const cli_job *job, const cli_result *result)
{
    const weir_run_report *report = &result->report;
    const weir_cache_stats *stats = &result->stats;
    json_t *json = json_object(), *notices = json_array();
    cli_notices(job, append_notice, notices);
    json_object_set_new(json, "status",
                        cli_json_text(result->err == WEIR_OK ? "done" : "interrupted"));
    json_object_set_new(json, "frames_in", cli_json_count(report->frames_in));
    json_object_set_new(json, "frames_out", cli_json_count(report->frames_out));
    json_object_set_new(json, "resumed_frames",
                        report->resumed ? cli_json_count(report->resumed_frames) : json_null());
    json_object_set_new(json, "seconds", cli_json_real(report->seconds));
    json_object_set_new(json, "x_real_time", cli_json_real(report->x_real_time));
    json_object_set_new(json, "plan_bytes", cli_json_count(report->plan_bytes));
    json_object_set_new(json, "memory_limit_bytes", cli_json_count(job->plan->memory_limit_bytes));
    json_object_set_new(json, "held_peak_bytes", cli_json_count(stats->held_peak_bytes));
    json_object_set_new(json, "live_peak_bytes", cli_json_count(stats->live_peak_bytes));
    json_object_set_new(json, "idle_bytes", cli_json_count(stats->idle_bytes));
    json_object_set_new(json, "hits", cli_json_count(stats->hits));
    json_object_set_new(json, "misses", cli_json_count(stats->misses));
    json_object_set_new(json, "evictions", cli_json_count(stats->evictions));
    json_object_set_new(json, "refusals", cli_json_count(stats->refusals));
    json_object_set_new(json, "cache_limit_bytes", cli_json_count(stats->cache_limit_bytes));
    json_object_set_new(json, "auto_limit_bytes",
                        stats->auto_limit_bytes > 0 ? cli_json_count(stats->auto_limit_bytes)
                                                    : json_null());
    json_object_set_new(json, "rss_before_bytes", cli_json_count(report->rss_before_bytes));
    json_object_set_new(json, "rss_peak_bytes", cli_json_count(report->rss_peak_bytes));
    json_object_set_new(json, "segments", cli_json_count(report->segments));
    json_object_set_new(json, "messages", cli_json_count(report->messages));
    json_object_set_new(json, "missing_samples", cli_json_count(report->missing_samples));
    json_object_set_new(json, "unfinished_frames", cli_json_count(report->unfinished_frames));
    json_object_set_new(json, "units", units_json(job));
    json_object_set_new(json, "outputs", outputs_json(job));
    json_object_set_new(json, "records", records_json(job));
    json_object_set_new(json, "plan", cli_plan_json(job));
    json_object_set_new(json, "notices", notices);
    return json;
}

/* SPDX-License-Identifier: MIT
 *
 * report.c: --report FILE.html: plan, measured figures and a picture of the signal (picture.c) as one page that needs
 * nothing else: no script, no font, no file from elsewhere.
 */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

static const char style[] =
    "<style>\n"
    ":root{--ink:#1d2733;--soft:#5d6b7a;--line:#dfe5eb;--paper:#fff;--plan:#c9dcea;--used:#2f7fb5;-"
    "-limit:#c4483d}\n"
    "@media(prefers-color-scheme:dark){:root{--ink:#e3e9ef;--soft:#94a3b3;--line:#2c3743;--paper:#"
    "141a21;"
    "--plan:#29465c;--used:#58a9dd;--limit:#e57a6f}}\n"
    "body{font:15px/1.5 "
    "system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:60rem;"
    "margin:2rem auto;padding:0 1rem}\n"
    "h1{font-size:1.5rem;margin:0}h2{font-size:1.05rem;margin:2.2rem 0 "
    ".6rem}p{color:var(--soft);margin:.2rem 0}\n"
    ".figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(9.5rem,1fr));gap:.8rem;"
    "margin-top:1.4rem}\n"
    ".figures div{border:1px solid var(--line);border-radius:8px;padding:.6rem .9rem}\n"
    ".figures b{display:block;font-size:1.3rem;font-variant-numeric:tabular-nums}\n"
    ".figures span{color:var(--soft);font-size:.85rem}\n"
    "table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}\n"
    "th{text-align:left;color:var(--soft);font-weight:500}th,td{padding:.28rem "
    ".6rem;border-bottom:1px solid "
    "var(--line)}\n.n{text-align:right}tr.total td{font-weight:600}\n"
    "svg{max-width:100%;height:auto}\n"
    ".bars text{fill:var(--ink);font:12px system-ui,sans-serif}.bars .soft{fill:var(--soft)}\n"
    "</style>\n";

static void write_figure(FILE *file, const char *value, const char *name)
{
    fputs("<div><b>", file);
    cli_put_escaped(file, value);
    fputs("</b><span>", file);
    cli_put_escaped(file, name);
    fputs("</span></div>\n", file);
}

static void write_figures(FILE *file, const cli_job *job, const cli_result *result)
{
    const weir_run_report *report = &result->report;
    char text[CLI_FIGURE];
    double rate = weir_source_info_get(job->source)->spec.rate_hz;
    fputs("<div class=\"figures\">\n", file);
    write_figure(file, cli_times(report->x_real_time, text, sizeof text), "real time");
    write_figure(file, cli_duration(cli_seconds(report->frames_in, rate), text, sizeof text),
                 "of recording");
    write_figure(file, cli_duration(report->seconds, text, sizeof text), "run time");
    write_figure(file, cli_bytes(report->plan_bytes, text, sizeof text), "planned");
    write_figure(file, cli_bytes(result->stats.held_peak_bytes, text, sizeof text),
                 "peak allocated");
    write_figure(file, cli_bytes(job->plan->memory_limit_bytes, text, sizeof text), "memory limit");
    if (report->rss_peak_bytes >= report->rss_before_bytes)
        write_figure(
            file, cli_bytes(report->rss_peak_bytes - report->rss_before_bytes, text, sizeof text),
            "RSS growth");
    write_figure(file, cli_count(report->missing_samples, text, sizeof text), "missing samples");
    fputs("</div>\n", file);
}

#define BAR_X     250.0
#define BAR_WIDTH 480.0

static void
write_bar(FILE *file, double y, const char *name, uint64_t planned, uint64_t used, double most)
{
    char a[CLI_FIGURE], b[CLI_FIGURE];
    double scale = most > 0 ? BAR_WIDTH / most : 0;
    fprintf(file, "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">", BAR_X - 10, y + 13);
    cli_put_escaped(file, name);
    fprintf(
        file,
        "</text><rect x=\"%.0f\" y=\"%.0f\" width=\"%.1f\" height=\"16\" rx=\"3\" "
        "fill=\"var(--plan)\"/>"
        "<rect x=\"%.0f\" y=\"%.0f\" width=\"%.1f\" height=\"8\" rx=\"2\" fill=\"var(--used)\"/>",
        BAR_X, y, (double)planned * scale, BAR_X, y + 4, (double)used * scale);
    fprintf(file, "<text class=\"soft\" x=\"%.1f\" y=\"%.0f\">%s of %s</text>\n",
            BAR_X + (double)(planned > used ? planned : used) * scale + 8, y + 13,
            cli_bytes(used, a, sizeof a), cli_bytes(planned, b, sizeof b));
}

/* Each part: planned (wide bar) and used (narrow bar), on one scale. */
static void write_parts(FILE *file, const cli_job *job)
{
    const weir_plan *plan = job->plan;
    double most = 0, y = 4;
    size_t count = 0;
    for (size_t i = 0; i < plan->part_count; i++) {
        most = (double)plan->parts[i].bytes > most ? (double)plan->parts[i].bytes : most;
        count += plan->parts[i].bytes > 0;
    }
    fprintf(file,
            "<h2>Parts: planned and used</h2>\n<svg class=\"bars\" viewBox=\"0 0 900 %zu\" "
            "width=\"100%%\" "
            "role=\"img\" "
            "aria-label=\"planned and used bytes of each part\">\n",
            count * 24 + 8);
    for (size_t i = 0; i < plan->part_count; i++) {
        const weir_plan_part *part = &plan->parts[i];
        if (part->bytes == 0) /* in place: nothing to show */
            continue;
        char *name =
            cli_text("%s, %s", part->name, strcmp(part->kind, "unit") == 0 ? "state" : part->kind);
        write_bar(file, y, name, part->bytes, weir_chain_used_bytes(job->chain, i), most);
        free(name);
        y += 24;
    }
    fputs("</svg>\n", file);
}

/* Peak allocated compared with plan and limit. */
static void write_held(FILE *file, const cli_job *job, const cli_result *result)
{
    const weir_plan *plan = job->plan;
    bool limited = plan->memory_limit_bytes != WEIR_NO_LIMIT;
    double most = (double)plan->total_bytes;
    char text[CLI_FIGURE];
    if (limited && (double)plan->memory_limit_bytes > most)
        most = (double)plan->memory_limit_bytes;
    if ((double)result->stats.held_peak_bytes > most)
        most = (double)result->stats.held_peak_bytes;
    fputs("<h2>Allocated, compared with plan and limit</h2>\n<svg class=\"bars\" viewBox=\"0 0 900 "
          "52\" "
          "width=\"100%\" "
          "role=\"img\" "
          "aria-label=\"peak allocated, compared with plan and limit\">\n",
          file);
    write_bar(file, 4, "peak allocated, of plan", plan->total_bytes, result->stats.held_peak_bytes,
              most);
    if (limited) {
        double x = BAR_X + BAR_WIDTH * (double)plan->memory_limit_bytes / most;
        fprintf(file,
                "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"0\" y2=\"30\" stroke=\"var(--limit)\" "
                "stroke-width=\"2\"/>"
                "<text x=\"%.1f\" y=\"45\" text-anchor=\"middle\">limit %s</text>\n",
                x, x, x, cli_bytes(plan->memory_limit_bytes, text, sizeof text));
    }
    fputs("</svg>\n", file);
}

static void write_cell(FILE *file, const char *text)
{
    fprintf(file, "<td class=\"n\">%s</td>", text);
}

/* Lag, delay and settling time; parts other than units have none. */
static void write_times(FILE *file, const weir_plan_part *part)
{
    char text[CLI_FIGURE] = "";
    bool unit = strcmp(part->kind, "unit") == 0;
    double rate = part->input_rate_hz;
    write_cell(file, unit ? cli_frames_time(part->lag_frames, rate, text, sizeof text) : "");
    write_cell(file, unit ? cli_delay_time(part->delay_frames, rate, text, sizeof text) : "");
    write_cell(file, unit ? cli_frames_time(part->settle_frames, rate, text, sizeof text) : "");
}

static void write_table(FILE *file, const cli_job *job)
{
    static const char *const numbers[] = {"rate",     "lag",     "delay", "settling",
                                          "capacity", "planned", "used"};
    const weir_plan *plan = job->plan;
    double rate = weir_source_info_get(job->source)->spec.rate_hz;
    char shape[256], a[CLI_FIGURE];
    fputs("<h2>Plan</h2>\n<table><tr><th>part</th><th>kind</th><th>shape</th>", file);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        fprintf(file, "<th class=\"n\">%s</th>", numbers[i]);
    fputs("</tr>\n", file);
    for (size_t i = 0; i < plan->part_count; i++) {
        const weir_plan_part *part = &plan->parts[i];
        bool frames = part->capacity_frames > 0;
        fputs("<tr><td>", file);
        cli_put_escaped(file, part->name);
        fputs("</td><td>", file);
        cli_put_escaped(file, part->kind);
        fputs("</td><td>", file);
        cli_put_escaped(file, cli_shape(part->spec, shape, sizeof shape));
        fputs("</td>", file);
        write_cell(file, part->spec != NULL ? cli_rate(part->spec->rate_hz, a, sizeof a) : "");
        write_times(file, part);
        write_cell(file, frames ? cli_count(part->capacity_frames, a, sizeof a) : "");
        write_cell(file, cli_count(part->bytes, a, sizeof a));
        write_cell(file, cli_count(weir_chain_used_bytes(job->chain, i), a, sizeof a));
        fputs("</tr>\n", file);
    }
    fputs("<tr class=\"total\"><td colspan=\"4\">whole chain</td>", file);
    write_cell(file, cli_frames_time(plan->lag_frames, rate, a, sizeof a));
    write_cell(file, cli_delay_time(plan->delay_frames, rate, a, sizeof a));
    write_cell(file, cli_frames_time(plan->settle_frames, rate, a, sizeof a));
    write_cell(file, "");
    write_cell(file, cli_count(plan->total_bytes, a, sizeof a));
    fputs(
        "<td></td></tr></table>\n<p>lag: input needed after the first frame for the first output; "
        "delay: group delay (differs: depends on frequency); settling: time until the effect of "
        "the initial state has fallen to 1e-6 of its largest value; capacity in frames, planned "
        "and used in bytes</p>\n",
        file);
}

static void write_row(FILE *file, const char *name, uint64_t count)
{
    char text[CLI_FIGURE];
    fprintf(file, "<tr><td>%s</td><td class=\"n\">%s</td></tr>\n", name,
            cli_count(count, text, sizeof text));
}

static void write_measured(FILE *file, const cli_result *result)
{
    const weir_run_report *report = &result->report;
    const weir_cache_stats *stats = &result->stats;
    fputs("<h2>Measured</h2>\n<table>\n", file);
    write_row(file, "frames in", report->frames_in);
    write_row(file, "frames out", report->frames_out);
    write_row(file, "segments", report->segments);
    write_row(file, "unfinished frames (in an incomplete bin or window)",
              report->unfinished_frames);
    write_row(file, "RSS before, bytes", report->rss_before_bytes);
    write_row(file, "RSS peak, bytes", report->rss_peak_bytes);
#define ROW(name, text)                                                                            \
    if (stats->name != WEIR_NO_LIMIT)                                                              \
        write_row(file, #name " (" text ")", stats->name);
    WEIR_CACHE_STATS_LIST(ROW)
#undef ROW
    fputs("</table>\n", file);
}

static void write_notice(void *user, const char *text)
{
    FILE *file = user;
    fputs("<li>", file);
    cli_put_escaped(file, text);
    fputs("</li>\n", file);
}

int cli_report_write(const cli_job *job, const cli_result *result)
{
    cli_write out;
    int status = cli_write_begin(&out, job->report_path, job->force);
    if (status != 0)
        return status;
    FILE *file = out.file;
    fputs("<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\">\n<meta name=\"viewport\" "
          "content=\"width=device-width\">\n<title>weir: ",
          file);
    cli_put_escaped(file, job->input_path);
    fprintf(file, "</title>\n%s<h1>weir run: %s</h1>\n<p>", style,
            result->err == WEIR_OK ? "done" : "interrupted");
    cli_put_escaped(file, job->input_path);
    fputs(" through ", file);
    cli_put_escaped(file, job->chain_path);
    for (size_t i = 0; i < job->output_count; i++) {
        fputs(job->output_files[i] != NULL ? i == 0 ? " to " : ", " : "", file);
        cli_put_escaped(file, job->output_files[i]);
    }
    fprintf(file, "; weir %s</p>\n", WEIR_VERSION);
    write_figures(file, job, result);
    cli_picture_write(job, result, file);
    write_held(file, job, result);
    write_parts(file, job);
    write_table(file, job);
    write_measured(file, result);
    fputs("<h2>Notices</h2>\n<ul>\n", file);
    cli_notices(job, write_notice, file);
    fputs("</ul>\n</html>\n", file);
    return cli_write_end(&out, true);
}

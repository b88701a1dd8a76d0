/* SPDX-License-Identifier: MIT
 *
 * plan.c: weir plan: the memory that a run will use, part by part.
 */
#include "cli.h"

#include <math.h>
#include <string.h>

/* Whether a unit has no output buffer: it shares a working buffer with the next one. */
static bool part_is_fused(const weir_plan *plan, size_t index)
{
    const weir_plan_part *part = &plan->parts[index];
    return strcmp(part->kind, "unit") == 0 &&
           (index + 1 == plan->part_count || strcmp(part[1].kind, "edge") != 0 ||
            strcmp(part[1].name, part->name) != 0);
}

static bool is_fused(const weir_plan *plan)
{
    for (size_t i = 0; i < plan->part_count; i++)
        if (part_is_fused(plan, i))
            return true;
    return false;
}

/* ---- as tables --------------------------------------------------------------------------------------- */

/* A unit and the buffer after it make one row. Returns the number of parts in it. */
static size_t add_memory(cli_table *table, const weir_plan *plan, size_t index)
{
    const weir_plan_part *part = &plan->parts[index], *edge = NULL;
    char text[CLI_FIGURE];
    bool unit = strcmp(part->kind, "unit") == 0;
    if (unit && !part_is_fused(plan, index))
        edge = &part[1];
    uint64_t frames = edge != NULL ? edge->capacity_frames : part->capacity_frames;
    cli_table_cell(table, "%s", part->name);
    cli_table_cell(table, "%s", part->kind);
    cli_table_cell(table, "%s", frames > 0 ? cli_count(frames, text, sizeof text) : "");
    cli_table_cell(table, "%s", unit ? cli_count(part->bytes, text, sizeof text) : "");
    cli_table_cell(table, "%s",
                   edge == NULL      ? (unit ? "fused" : "")
                   : edge->bytes > 0 ? cli_count(edge->bytes, text, sizeof text)
                                     : "in place");
    cli_table_cell(table, "%s",
                   cli_count(part->bytes + (edge != NULL ? edge->bytes : 0), text, sizeof text));
    return edge != NULL ? 2 : 1;
}

static void print_memory(const weir_plan *plan, FILE *file)
{
    char text[CLI_FIGURE];
    cli_table *table = cli_table_create("part|kind|>frames|>state|>buffer|>bytes");
    cli_table_fit(table, CLI_COLUMNS);
    for (size_t i = 0; i < plan->part_count;)
        i += add_memory(table, plan, i);
    cli_table_rule(table);
    for (size_t i = 0; i < 5; i++)
        cli_table_cell(table, "%s", i == 0 ? "total" : "");
    cli_table_cell(table, "%s", cli_count(plan->total_bytes, text, sizeof text));
    cli_table_print(table, file);
    cli_table_destroy(table);
    if (is_fused(plan))
        fprintf(file, "fused: the unit shares a working buffer with the next one\n");
}

static void add_times(cli_table *table, uint64_t lag, double delay, uint64_t settle, double rate_hz)
{
    char text[CLI_FIGURE];
    cli_table_cell(table, "%s", cli_frames_time(lag, rate_hz, text, sizeof text));
    cli_table_cell(table, "%s", cli_delay_time(delay, rate_hz, text, sizeof text));
    cli_table_cell(table, "%s", cli_frames_time(settle, rate_hz, text, sizeof text));
}

/* Dimensions of one frame: "256 ch". */
static const char *frame_shape(const weir_spec *spec, char *text, size_t size)
{
    const char *first = strstr(cli_shape(spec, text, size), " x ");
    return first != NULL ? first + strlen(" x ") : "1";
}

/* What each unit outputs, and when. */
static void print_streams(const weir_plan *plan, const weir_spec *input, FILE *file)
{
    char text[256];
    bool differs = false;
    cli_table *table = cli_table_create("unit|output frame|>rate|>lag|>delay|>settling");
    cli_table_fit(table, CLI_COLUMNS);
    for (size_t i = 0; i < plan->part_count; i++) {
        const weir_plan_part *part = &plan->parts[i];
        if (strcmp(part->kind, "unit") != 0)
            continue;
        differs = differs || isnan(part->delay_frames);
        cli_table_cell(table, "%s", part->name);
        cli_table_cell(table, "%s", frame_shape(part->spec, text, sizeof text));
        cli_table_cell(table, "%s", cli_rate(part->spec->rate_hz, text, sizeof text));
        add_times(table, part->lag_frames, part->delay_frames, part->settle_frames,
                  part->input_rate_hz);
    }
    cli_table_rule(table);
    for (size_t i = 0; i < 3; i++)
        cli_table_cell(table, "%s", i == 0 ? "whole chain" : "");
    add_times(table, plan->lag_frames, plan->delay_frames, plan->settle_frames, input->rate_hz);
    cli_table_print(table, file);
    cli_table_destroy(table);
    fprintf(file,
            "lag: input needed after the first frame for the first output; delay: group\n"
            "delay%s; settling: time until the effect of the\n"
            "initial state has fallen to 1e-6 of its largest value\n",
            differs ? " (differs: depends on frequency)" : "");
}

void cli_plan_print(const cli_job *job, FILE *file)
{
    const weir_plan *plan = job->plan;
    char total[CLI_FIGURE], limit[CLI_FIGURE];
    print_streams(plan, &weir_source_info_get(job->source)->spec, file);
    putc('\n', file);
    print_memory(plan, file);
    cli_bytes(plan->total_bytes, total, sizeof total);
    if (plan->memory_limit_bytes == WEIR_NO_LIMIT)
        fprintf(file, "%s; no memory_limit is set: the plan is the limit\n", total);
    else
        fprintf(file, "%s: %s memory_limit, %s\n", total, plan->fits ? "fits" : "does not fit",
                cli_bytes(plan->memory_limit_bytes, limit, sizeof limit));
}

/* ---- as JSON ----------------------------------------------------------------------------------------- */

/* null: never, or not known. */
static json_t *settle_json(uint64_t frames)
{
    return frames == WEIR_SETTLES_NEVER ? json_null() : cli_json_count(frames);
}

static json_t *shape_json(const weir_plan_part *part)
{
    json_t *shape = json_array();
    for (uint32_t i = 0; part->spec != NULL && i < part->spec->dim_count; i++) {
        uint64_t size = i == 0 ? part->capacity_frames : part->spec->dims[i].size;
        json_array_append_new(shape, i == 0 && size == 0 ? json_null() : cli_json_count(size));
    }
    return shape;
}

json_t *cli_plan_json(const cli_job *job)
{
    const weir_plan *plan = job->plan;
    json_t *json = json_object(), *parts = json_array();
    for (size_t i = 0; i < plan->part_count; i++) {
        const weir_plan_part *part = &plan->parts[i];
        char shape[256];
        json_t *row = json_object();
        json_object_set_new(row, "name", cli_json_text(part->name));
        json_object_set_new(row, "kind", cli_json_text(part->kind));
        json_object_set_new(row, "bytes", cli_json_count(part->bytes));
        json_object_set_new(row, "used_bytes",
                            cli_json_count(weir_chain_used_bytes(job->chain, i)));
        json_object_set_new(row, "shape", shape_json(part));
        json_object_set_new(row, "dims", cli_json_text(cli_shape(part->spec, shape, sizeof shape)));
        json_object_set_new(
            row, "dtype",
            cli_json_text(part->spec != NULL ? weir_dtype_name(part->spec->dtype) : NULL));
        json_object_set_new(row, "rate_hz",
                            cli_json_real(part->spec != NULL ? part->spec->rate_hz : NAN));
        json_object_set_new(row, "capacity_frames", cli_json_count(part->capacity_frames));
        json_object_set_new(row, "fused", json_boolean(part_is_fused(plan, i)));
        bool unit = strcmp(part->kind, "unit") == 0;
        json_object_set_new(row, "input_rate_hz", cli_json_real(unit ? part->input_rate_hz : NAN));
        json_object_set_new(row, "lag_frames",
                            unit ? cli_json_count(part->lag_frames) : json_null());
        json_object_set_new(row, "delay_frames", cli_json_real(unit ? part->delay_frames : NAN));
        json_object_set_new(row, "settle_frames",
                            unit ? settle_json(part->settle_frames) : json_null());
        json_array_append_new(parts, row);
    }
    json_object_set_new(json, "total_bytes", cli_json_count(plan->total_bytes));
    json_object_set_new(json, "fits", json_boolean(plan->fits));
    json_object_set_new(json, "memory_limit_bytes", cli_json_count(plan->memory_limit_bytes));
    json_object_set_new(json, "tile_frames", cli_json_count(plan->tile_frames));
    json_object_set_new(json, "threads", cli_json_count(plan->threads));
    json_object_set_new(json, "lag_frames", cli_json_count(plan->lag_frames));
    json_object_set_new(json, "delay_frames", cli_json_real(plan->delay_frames));
    json_object_set_new(json, "settle_frames", settle_json(plan->settle_frames));
    json_object_set_new(json, "parts", parts);
    return json;
}

int cli_plan_refuse(const cli_job *job)
{
    char total[CLI_FIGURE], limit[CLI_FIGURE];
    return cli_fail(
        weir_err_exit_status(WEIR_E_PLAN),
        "the plan does not fit: its parts sum to %s (%llu bytes), memory_limit is %s (%llu bytes)",
        cli_bytes(job->plan->total_bytes, total, sizeof total),
        (unsigned long long)job->plan->total_bytes,
        cli_bytes(job->plan->memory_limit_bytes, limit, sizeof limit),
        (unsigned long long)job->plan->memory_limit_bytes);
}

/* Without -o there is no writer in the plan; a run with an output needs one. */
static int print_all(cli_job *job)
{
    const bool alone = job->output_path == NULL && job->plan->fits;
    const uint64_t without = job->plan->total_bytes;
    json_t *json = job->json ? cli_plan_json(job) : NULL;
    if (!job->json)
        cli_plan_print(job, stdout);
    const uint64_t with = alone ? cli_job_plan_output(job, "FILE.npy") : 0;
    if (job->json) {
        json_object_set_new(json, "total_bytes_with_output",
                            with > 0 ? cli_json_count(with) : json_null());
        return cli_json_print(json, 0);
    }
    if (with > 0) {
        char total[CLI_FIGURE], more[CLI_FIGURE];
        printf("with -o FILE.npy: %s more for the writer, %s in total%s\n",
               cli_bytes(with - without, more, sizeof more), cli_bytes(with, total, sizeof total),
               job->plan->fits ? "" : ": does not fit");
    }
    return 0;
}

int plan_command(int argc, char **argv)
{
    cli_job *job = cli_job_create();
    job->planning = true;
    int status = cli_parse(&plan_argp, argc, argv, job);
    if (status < 0)
        status = cli_job_open(job);
    else
        goto done;
    if (status != 0)
        goto done;
    const bool fits = job->plan->fits;
    status = print_all(job);
    if (status == 0)
        status = cli_finish(0);
    if (status == 0 && !fits)
        status = cli_plan_refuse(job);
done:
    cli_job_destroy(job);
    return status;
}

/* SPDX-License-Identifier: MIT
 *
 * plan.c: weir plan: what a run will hold, part by part.
 */
#include "cli.h"

#include <math.h>
#include <string.h>

/* Whether a unit has no edge behind it: the next one goes through the tile with it. */
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

/* A unit and the edge behind it make one row; what is no unit has its bytes in the last columns only. */
static size_t add_row(cli_table *table, const weir_plan *plan, size_t index)
{
    const weir_plan_part *part = &plan->parts[index], *edge = NULL;
    char shape[256], text[CLI_FIGURE];
    bool unit = strcmp(part->kind, "unit") == 0;
    if (unit && !part_is_fused(plan, index))
        edge = &part[1];
    const weir_plan_part *sized = edge != NULL ? edge : part;
    uint64_t bytes = part->bytes + (edge != NULL ? edge->bytes : 0);
    cli_table_cell(table, "%s", part->name);
    cli_table_cell(table, "%s", part->kind);
    cli_table_cell(table, "%s", cli_shape(sized->spec, shape, sizeof shape));
    cli_table_cell(table, "%s",
                   sized->spec != NULL ? cli_rate(sized->spec->rate_hz, text, sizeof text) : "");
    cli_table_cell(table, "%s",
                   sized->capacity_frames > 0 ? cli_count(sized->capacity_frames, text, sizeof text)
                                              : "");
    cli_table_cell(table, "%s", unit ? cli_count(part->bytes, text, sizeof text) : "");
    cli_table_cell(table, "%s",
                   edge == NULL           ? (unit ? "fused" : "")
                   : edge->bytes > 0      ? cli_count(edge->bytes, text, sizeof text)
                   : plan->whole_messages ? "of cache"
                                          : "in place");
    cli_table_cell(table, "%s", cli_count(bytes, text, sizeof text));
    cli_table_cell(table, "%s", cli_bytes(bytes, text, sizeof text));
    return edge != NULL ? 2 : 1;
}

void cli_plan_print(const cli_job *job, FILE *file)
{
    const weir_plan *plan = job->plan;
    char text[CLI_FIGURE];
    cli_table *table = cli_table_create("part|kind|puts out|>rate|>capacity|>state|>edge|>bytes|>");
    for (size_t i = 0; i < plan->part_count;)
        i += add_row(table, plan, i);
    cli_table_rule(table);
    for (size_t i = 0; i < 7; i++)
        cli_table_cell(table, "%s", i == 0 ? "total" : "");
    cli_table_cell(table, "%s", cli_count(plan->total_bytes, text, sizeof text));
    cli_table_cell(table, "%s", cli_bytes(plan->total_bytes, text, sizeof text));
    cli_table_print(table, file);
    cli_table_destroy(table);
    if (is_fused(plan))
        fprintf(file,
                "a fused unit hands on to the next piece by piece, without an edge between\n");
    if (plan->whole_messages)
        fprintf(file,
                "message by message, at the fullest moment of the longest; what is given back is "
                "kept for reuse %s\n",
                plan->memory_limit_bytes == WEIR_NO_LIMIT
                    ? "where shorter ones leave room"
                    : "within memory_limit, up to cache_limit");
    if (plan->memory_limit_bytes == WEIR_NO_LIMIT)
        fprintf(file, "no memory_limit is stated: the plan itself is the limit\n");
    else
        fprintf(file, "%s memory_limit, %s\n", plan->fits ? "fits" : "does not fit",
                cli_bytes(plan->memory_limit_bytes, text, sizeof text));
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
        json_object_set_new(row, "used_bytes", cli_json_count(part->used_bytes));
        json_object_set_new(row, "shape", shape_json(part));
        json_object_set_new(row, "dims", cli_json_text(cli_shape(part->spec, shape, sizeof shape)));
        json_object_set_new(
            row, "dtype",
            cli_json_text(part->spec != NULL ? weir_dtype_name(part->spec->dtype) : NULL));
        json_object_set_new(row, "rate_hz",
                            cli_json_real(part->spec != NULL ? part->spec->rate_hz : NAN));
        json_object_set_new(row, "capacity_frames", cli_json_count(part->capacity_frames));
        json_object_set_new(row, "fused", json_boolean(part_is_fused(plan, i)));
        json_array_append_new(parts, row);
    }
    json_object_set_new(json, "total_bytes", cli_json_count(plan->total_bytes));
    json_object_set_new(json, "fits", json_boolean(plan->fits));
    json_object_set_new(json, "memory_limit_bytes", cli_json_count(plan->memory_limit_bytes));
    json_object_set_new(json, "tile_frames", cli_json_count(plan->tile_frames));
    json_object_set_new(json, "threads", cli_json_count(plan->threads));
    json_object_set_new(json, "whole_messages", json_boolean(plan->whole_messages));
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
    if (job->json)
        status = cli_json_print(cli_plan_json(job), 0);
    else
        cli_plan_print(job, stdout);
    if (status == 0)
        status = cli_finish(0);
    if (status == 0 && !job->plan->fits)
        status = cli_plan_refuse(job);
done:
    cli_job_destroy(job);
    return status;
}

/* SPDX-License-Identifier: MIT
 *
 * speed_json.c: all results of `weir bench speed` as JSON.
 */
#include "speed.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

static json_t *spread_json(spread s)
{
    return json_pack("{s:f, s:f, s:f}", "median", s.median, "min", s.min, "max", s.max);
}

static json_t *row_json(const bench *b, const entry *e)
{
    const entry *own = e->peer || e->job.one_by_one ? bench_own(b, e) : NULL;
    json_t *row =
        json_pack("{s:s, s:s, s:s, s:s, s:I, s:I, s:o, s:o}", "work", e->work, "name", e->title,
                  "version", e->version, "precision", e->precision, "channels",
                  (json_int_t)e->job.channels, "message_frames", (json_int_t)e->job.frames,
                  "x_real_time", spread_json(bench_spread(b, e, X_REAL_TIME)), "ns_per_push",
                  spread_json(bench_spread(b, e, NS_PER_PUSH)));
    json_t *runs = json_array();
    for (uint64_t round = 0; round < b->rounds; round++)
        json_array_append_new(runs, json_real(bench_figure(e, round, X_REAL_TIME)));
    json_object_set_new(row, "runs", runs);
    if (bench_figure(e, 0, NS_MEDIAN) > 0) {
        json_object_set_new(row, "push_median_ns", spread_json(bench_spread(b, e, NS_MEDIAN)));
        json_object_set_new(row, "push_p99_ns", spread_json(bench_spread(b, e, NS_99)));
        json_object_set_new(row, "ns_per_sample", spread_json(bench_spread(b, e, NS_PER_SAMPLE)));
    }
    double limit_ns = 0, share = bench_filter_share(b, e, &limit_ns);
    if (share > 0) {
        json_object_set_new(row, "limit_ns_per_sample", json_real(limit_ns));
        json_object_set_new(row, "share_of_limit", json_real(share));
    }
    if (e->job.threads > 0) {
        json_object_set_new(row, "threads", json_integer((json_int_t)e->job.threads));
        json_object_set_new(row, "busy_programs", json_integer(e->job.busy));
        json_object_set_new(row, "over_one", spread_json(bench_over_one(b, e)));
    }
    if (own != NULL) {
        json_object_set_new(row, "weir_over_it", spread_json(bench_ratio(b, own, e, X_REAL_TIME)));
        if (bench_figure(e, 0, NS_99) > 0)
            json_object_set_new(row, "weir_over_it_p99",
                                spread_json(bench_ratio(b, own, e, NS_99)));
        json_object_set_new(row, "weir_is_slower", json_boolean(bench_is_slower(b, e)));
    }
    return row;
}

static json_t *rows_json(const bench *b)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < b->count; i++) {
        const entry *e = &b->entries[i];
        if (strcmp(e->work, "units") == 0)
            continue;
        json_array_append_new(rows, row_json(b, e));
    }
    return rows;
}

static json_t *memory_json(const bench *b)
{
    json_t *memory = json_array();
    for (size_t i = 0; i < CUTS; i++)
        json_array_append_new(
            memory, json_pack("{s:s, s:o, s:o, s:o, s:o, s:o}", "lengths", bench_cuts[i].title,
                              "messages", cli_json_count(b->memory[i].messages), "plan_bytes",
                              cli_json_count(b->memory[i].plan_bytes), "held_peak_bytes",
                              cli_json_count(b->memory[i].held_peak_bytes), "live_peak_bytes",
                              cli_json_count(b->memory[i].live_peak_bytes), "refusals",
                              cli_json_count(b->memory[i].refusals)));
    return memory;
}

json_t *bench_machine_json(void)
{
    char text[128];
    struct utsname system;
    uname(&system);
    bench_processor(text, sizeof(text));
    return json_pack("{s:o, s:I, s:s, s:s}", "processor", cli_json_text(text), "cores",
                     (json_int_t)sysconf(_SC_NPROCESSORS_ONLN), "simd", bench_vectors(), "system",
                     system.release);
}

json_t *bench_speed_json(const bench *b)
{
    spread steady = bench_steady(b);
    json_t *versions = json_pack("{s:s}", "weir", WEIR_VERSION);
    json_t *units = json_array(), *skipped = json_array(), *chain = json_array();
    for (size_t i = 0; i < b->count; i++) {
        const entry *e = &b->entries[i];
        if (e->peer)
            json_object_set_new(versions, e->peer->program, cli_json_text(e->version));
        if (strcmp(e->work, "units") == 0)
            json_array_append_new(units, json_pack("{s:s, s:f}", "name", e->title, "ns_per_sample",
                                                   bench_unit_ns(b, i)));
    }
    for (size_t i = 0; i < b->skipped_count; i++)
        json_array_append_new(skipped, json_pack("{s:s, s:o}", "name", b->skipped[i]->title,
                                                 "reason", cli_json_text(b->reasons[i])));
    for (size_t i = 0; i < BENCH_UNITS; i++)
        json_array_append_new(chain, json_string(bench_units[i]));
    json_t *json =
        json_pack("{s:o, s:o, s:{s:i, s:i, s:f, s:I, s:f}, s:o, s:o, s:o, s:o, s:o, s:{s:f, s:f}}",
                  "machine", bench_machine_json(), "versions", versions, "settings", "channels",
                  BENCH_CHANNELS, "message_frames", BENCH_FRAMES, "rate_hz", BENCH_RATE_HZ,
                  "rounds", (json_int_t)b->rounds, "seconds", b->seconds, "chain", chain, "rows",
                  rows_json(b), "units", units, "memory", memory_json(b), "skipped", skipped,
                  "ns_per_sample_from_300_x_64", "min", steady.min, "max", steady.max);
    if (b->kernels != NULL) {
        json_object_set(json, "limits", json_object_get(b->kernels, "limits"));
        json_object_set(json, "kernels", json_object_get(b->kernels, "kernels"));
    }
    return json;
}

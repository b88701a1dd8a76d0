/* SPDX-License-Identifier: MIT
 *
 * memory_table.c: the tables of `weir bench memory`, with the published figures for each row. Runs
 * and measures nothing.
 */
#include "bench.h"

#include <string.h>

#define MIB ((uint64_t)1 << 20)

const char *const bench_works[] = {"intermediates", "chain, tiled", "chain, untiled", "real MLX"};

/* Published figures: MiB of the library's cache and of the process, times real time; -1 = not
 * published. On Metal by ezmsg-sigproc's author (256 channels, an M-series host), on the CPU and
 * CUDA with MLX 0.32.4. */
static const bench_published published[] = {
    {"mlx:metal", "constant 300", -1, 0, 32, 300, -1},
    {"mlx:metal", "constant 9000", -1, 0, 366, 836, -1},
    {"mlx:metal", "10 lengths", -1, 0, 493, 901, -1},
    {"mlx:metal", "30 lengths", -1, 0, 3980, 4432, -1},
    {"mlx:metal", "40 lengths", -1, 0, 5743, 6206, 9.8},
    {"mlx:metal", "40 lengths", 512, 0, 519, 966, 11.1},
    {"mlx:metal", "40 lengths", 256, 0, 257, 681, 11.1},
    {"mlx:metal", "40 lengths", 128, 0, 135, 570, 11.0},
    {"mlx:metal", "40 lengths", 0, 0, 0, 396, 5.9},
    {"mlx:metal", "40 lengths", -1, 60, 1747, 2206, 10.0},
    {"mlx:metal", "40 lengths", -1, 6, 298, 638, 10.8},
    {"mlx:metal", "40 lengths", -1, 1, 0, 544, 10.2},
    {"mlx:cpu", "40 lengths", -1, 0, 4007, -1, 15.3},
    {"mlx:cpu", "40 lengths", 512, 0, 510, -1, 26.2},
    {"mlx:cpu", "40 lengths", 256, 0, 255, -1, 26.1},
    {"mlx:cpu", "40 lengths", 128, 0, 127, -1, 27.9},
    {"mlx:cpu", "40 lengths", 32, 0, 31, -1, 24.8},
    {"mlx:cpu", "40 lengths", 0, 0, 0, -1, 23.4},
    {"mlx:cuda", "40 lengths", -1, 0, 4023, -1, 29.9},
    {"mlx:cuda", "40 lengths", 512, 0, 508, -1, 30.5},
    {"mlx:cuda", "40 lengths", 128, 0, 117, -1, 30.1},
    {"mlx:cuda", "40 lengths", 0, 0, 0, -1, 25.1},
};

/* ---- names -------------------------------------------------------------------------------------- */

char *bench_limit(const bench_row *row, char *text, size_t size)
{
    if (row->clear_s > 0)
        snprintf(text, size, "cleared each %g s", row->clear_s);
    else if (row->limit == WEIR_NO_LIMIT)
        snprintf(text, size, "no limit");
    else if (row->limit == WEIR_UNSET)
        snprintf(text, size, "its plan");
    else
        cli_bytes(row->limit, text, size);
    return text;
}

static const char *subject(const bench_row *row)
{
    return row->work == BENCH_MLX || row->policy == NULL ? bench_works[row->work] : row->policy;
}

/* "mlx:metal, 128 MiB, 40 lengths", which --only searches. */
char *bench_title(const bench_row *row)
{
    char limit[CLI_FIGURE];
    bench_limit(row, limit, sizeof(limit));
    if (row->work == BENCH_UNTILED)
        return cli_text("%s, %s, %s, %s", bench_works[row->work], row->policy, limit,
                        row->stream->name);
    return cli_text("%s, %s, %s", subject(row), limit, row->stream->name);
}

const bench_published *bench_published_of(const bench_row *row)
{
    double limit = row->limit > INT64_MAX ? -1 : (double)row->limit / (double)MIB;
    bool compared = row->work == BENCH_INTERMEDIATES || row->work == BENCH_MLX;
    for (size_t i = 0; compared && i < sizeof published / sizeof published[0]; i++) {
        const bench_published *p = &published[i];
        if (strcmp(p->policy, row->policy) == 0 && strcmp(p->stream, row->stream->name) == 0 &&
            p->limit_mib == limit && p->clear_s == row->clear_s)
            return p;
    }
    return NULL;
}

/* ---- table ----------------------------------------------------------------------------------------------- */

static double number(const json_t *json, const char *key)
{
    return json_number_value(json_object_get(json, key));
}

static void put_mib(cli_table *table, const json_t *json, const char *key)
{
    const json_t *value = json_object_get(json, key);
    if (json_is_number(value))
        cli_table_cell(table, "%.1f", json_number_value(value) / (double)MIB);
    else
        cli_table_cell(table, "%s", "");
}

static void put_published(cli_table *table, const bench_published *p)
{
    char footprint[48] = "", x[32] = "";
    if (p && p->footprint_mib >= 0)
        snprintf(footprint, sizeof(footprint), " of %.0f", p->footprint_mib);
    if (p && p->x_real_time >= 0)
        snprintf(x, sizeof(x), ", %.1f x", p->x_real_time);
    if (p)
        cli_table_cell(table, "%.0f%s%s", p->cache_mib, footprint, x);
    else
        cli_table_cell(table, "%s", "");
}

static void put_row(cli_table *table, const bench_row *row, const json_t *json)
{
    char limit[CLI_FIGURE];
    cli_table_cell(table, "%s", row->work == BENCH_TILED ? row->stream->name : subject(row));
    cli_table_cell(table, "%s", bench_limit(row, limit, sizeof(limit)));
    static const char *const keys[] = {"idle_bytes",      "live_peak_bytes", "held_peak_bytes",
                                       "heap_peak_bytes", "rss_bytes",       "pss_bytes"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        put_mib(table, json, keys[i]);
    if (json_object_get(json, "x_real_time"))
        cli_table_cell(table, "%.3g", number(json, "x_real_time"));
    else
        cli_table_cell(table, "%s", "");
    if (json_object_get(json, "first_bytes"))
        cli_table_cell(table, "%.1f to %.1f", number(json, "first_bytes") / (double)MIB,
                       number(json, "last_bytes") / (double)MIB);
    else
        cli_table_cell(table, "%s", "");
    if (json_object_get(json, "steps"))
        cli_table_cell(table, "%.0f", number(json, "steps"));
    else
        cli_table_cell(table, "%s", "");
    put_published(table, bench_published_of(row));
}

/* Rows with the same stream and kind form a table. */
static bool same_table(const bench_row *a, const bench_row *b)
{
    if (a->work == BENCH_TILED || b->work == BENCH_TILED)
        return a->work == b->work;
    bool chains = a->work == BENCH_UNTILED || b->work == BENCH_UNTILED;
    return a->stream == b->stream && (chains ? a->work == b->work : true);
}

static void print_tables(const bench_row *rows, json_t *const *results, size_t count)
{
    for (size_t i = 0; i < count;) {
        const bench_row *first = &rows[i];
        size_t shown = 0;
        cli_table *table =
            cli_table_create("|limit|>idle|>live peak|>held peak|>heap's count|>Rss|>"
                             "Pss|>x real time|>at rest|>steps|>published");
        for (; i < count && same_table(first, &rows[i]); i++) {
            if (results[i] == NULL)
                continue;
            if (shown > 0 && rows[i].limit != rows[i - 1].limit)
                cli_table_rule(table);
            put_row(table, &rows[i], results[i]);
            shown++;
        }
        if (shown > 0) {
            const char *of = first->work == BENCH_INTERMEDIATES ? "Messages of" : "weir's";
            const char *what =
                first->work == BENCH_INTERMEDIATES ? first->stream->name : bench_works[first->work];
            printf("\n%s%s %s%s%s\n", cli_bold(stdout), of, what,
                   first->work == BENCH_UNTILED ? ", 40 lengths" : "", cli_plain(stdout));
            cli_table_print(table, stdout);
        }
        cli_table_destroy(table);
    }
}

/* B3: the effect of the number of stall lengths. */
static void print_hot(const bench_row *rows, json_t *const *results, size_t count)
{
    cli_table *table =
        cli_table_create("|>ns before|>ns after|>x former time|>hit rate|>published");
    size_t shown = 0;
    for (size_t i = 0; i < count; i++) {
        const bench_row *row = &rows[i];
        if (results[i] == NULL || row->work != BENCH_INTERMEDIATES || row->stream->shapes < 40 ||
            row->limit != 128 * MIB)
            continue;
        double before = number(results[i], "hot_ns_first");
        double after = number(results[i], "hot_ns_last");
        cli_table_cell(table, "%s", row->policy);
        cli_table_cell(table, "%.0f", before);
        cli_table_cell(table, "%.0f", after);
        cli_table_cell(table, "%.2f", after / before);
        cli_table_cell(table, "%.4f", number(results[i], "hot_hit_rate"));
        cli_table_cell(table, "%s", strcmp(row->policy, "mlx:metal") == 0 ? "0.97" : "");
        shown++;
    }
    if (shown > 0) {
        printf("\n%sThe usual allocation, before and after 39 rare lengths, at 128 MiB%s\n",
               cli_bold(stdout), cli_plain(stdout));
        cli_table_print(table, stdout);
    }
    cli_table_destroy(table);
}

void bench_memory_tables(const bench_row *rows, json_t *const *results, size_t count)
{
    print_tables(rows, results, count);
    print_hot(rows, results, count);
}

/* SPDX-License-Identifier: MIT
 *
 * units_table.c: the results of `weir bench units` as a table and as JSON.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "unit_bench.h"

/* ---- the table ----------------------------------------------------------------------------------- */

static void put_row(cli_table *table, const unit_bench *b, const unit_row *row)
{
    const char *by;
    double limit_ns = unit_limit_ns(b, row, &by);
    const unit_peer *best = unit_best_peer(row);
    cli_table_cell(table, "%s", row->info->name);
    cli_table_cell(table, "%.3f", row->ns);
    cli_table_cell(table, "%.3f", limit_ns);
    cli_table_cell(table, "%s", by);
    cli_table_cell(table, "%.0f %%", fmin(100 * limit_ns / row->ns, 999));
    cli_table_cell(table, "%s", best == NULL ? "" : best->name);
    if (best == NULL) {
        cli_table_cell(table, "%s", "");
        cli_table_cell(table, "%s", "");
        return;
    }
    double times = fmin(best->ns / row->ns, 99999);
    cli_table_cell(table, "%.3f", best->ns);
    cli_table_cell(table, "%.*f", times < 10 ? 2 : 0, times);
}

static bool same(const unit_peer *a, const unit_peer *b)
{
    return b->reason != NULL && strcmp(a->name, b->name) == 0 && strcmp(a->reason, b->reason) == 0;
}

/* Names of the units from row `first` on whose peer was left out for the same reason; the caller
 * frees them. NULL: an earlier row is among them. */
static char *units_without(const unit_bench *b, size_t first, const unit_peer *peer)
{
    char *names = cli_text("%s", b->rows[first].info->name);
    for (size_t i = 0; i < b->count; i++) {
        for (size_t k = 0; k < b->rows[i].peer_count; k++) {
            if (i == first || !same(peer, &b->rows[i].peers[k]))
                continue;
            char *more = i < first ? NULL : cli_text("%s, %s", names, b->rows[i].info->name);
            free(names);
            if (more == NULL)
                return NULL;
            names = more;
        }
    }
    return names;
}

static void print_left_out(const unit_bench *b)
{
    for (size_t i = 0; i < b->count; i++) {
        for (size_t k = 0; k < b->rows[i].peer_count; k++) {
            const unit_peer *peer = &b->rows[i].peers[k];
            char *names = peer->reason == NULL ? NULL : units_without(b, i, peer);
            if (names == NULL)
                continue;
            char *text = cli_text("left out: %s: %s (%s)", peer->name, peer->reason, names);
            cli_put_wrapped(stdout, text, 2);
            putchar('\n');
            free(text);
            free(names);
        }
    }
}

static void print_slower(const unit_bench *b)
{
    size_t peers = 0, slower = 0;
    for (size_t i = 0; i < b->count; i++) {
        const unit_peer *best = unit_best_peer(&b->rows[i]);
        peers += best != NULL;
        if (best != NULL && best->ns < b->rows[i].ns) {
            const char *note = b->rows[i].note;
            char *more = note == NULL ? cli_text("%s", "") : cli_text(" (%s)", note);
            char *text = cli_text("%sSLOWER%s than %s: %s%s", cli_bold(stdout), cli_plain(stdout),
                                  best->name, b->rows[i].info->name, more);
            cli_put_wrapped(stdout, text, 2);
            putchar('\n');
            free(text);
            free(more);
            slower++;
        }
    }
    if (peers > 0 && slower == 0)
        printf("No unit is slower than its best peer (%zu have one).\n", peers);
}

void unit_bench_print(const unit_bench *b)
{
    cli_table *table = cli_table_create("unit|>ns|>limit|by|>of it|best peer|>ns|>times");
    for (size_t i = 0; i < b->count; i++)
        put_row(table, b, &b->rows[i]);
    cli_table_print(table, stdout);
    cli_table_destroy(table);
    char *text = cli_text(
        "\nns: per value of the unit's input, of the fastest of %llu rounds. limit: its bytes in "
        "and out at the rate of a copy of its input (copy), or its multiply-adds at the machine's "
        "rate (fma)%s. times: how many times as fast weir is.\n",
        (unsigned long long)b->rounds,
        b->multiply_add_ns > 0 ? "" : "; not measured: make bench builds the program that does");
    cli_put_wrapped(stdout, text, 0);
    free(text);
    print_left_out(b);
    print_slower(b);
}

/* ---- JSON ----------------------------------------------------------------------------------------- */

static json_t *peers_json(const unit_row *row)
{
    json_t *peers = json_array();
    for (size_t i = 0; i < row->peer_count; i++) {
        const unit_peer *peer = &row->peers[i];
        json_t *json = json_pack("{s:s, s:s}", "name", peer->name, "work", peer->work);
        if (peer->reason != NULL) {
            json_object_set_new(json, "reason", cli_json_text(peer->reason));
        } else {
            json_object_set_new(json, "version", cli_json_text(peer->version));
            json_object_set_new(json, "ns_per_value", cli_json_real(peer->ns));
            json_object_set_new(json, "weir_over_it", cli_json_real(peer->ns / row->ns));
            json_object_set_new(json, "weir_is_slower", json_boolean(peer->ns < row->ns));
        }
        json_array_append_new(peers, json);
    }
    return peers;
}

json_t *unit_bench_json(const unit_bench *b)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < b->count; i++) {
        const unit_row *row = &b->rows[i];
        const char *by;
        double limit_ns = unit_limit_ns(b, row, &by);
        json_array_append_new(
            rows, json_pack("{s:s, s:s, s:s, s:f, s:f, s:s, s:f, s:o}", "unit", row->info->name,
                            "before", row->before, "entries", row->own, "ns_per_value", row->ns,
                            "limit_ns_per_value", limit_ns, "limit_by", by, "share_of_limit",
                            limit_ns / row->ns, "peers", peers_json(row)));
    }
    json_t *json = json_pack("{s:o, s:{s:i, s:i, s:f, s:I, s:f}, s:o}", "machine",
                             bench_machine_json(), "settings", "channels", BENCH_CHANNELS,
                             "message_frames", BENCH_FRAMES, "rate_hz", BENCH_RATE_HZ, "rounds",
                             (json_int_t)b->rounds, "seconds", b->seconds, "rows", rows);
    if (b->multiply_add_ns > 0)
        json_object_set_new(json, "multiply_add_ns", cli_json_real(b->multiply_add_ns));
    return json;
}

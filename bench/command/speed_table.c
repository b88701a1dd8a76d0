/* SPDX-License-Identifier: MIT
 *
 * speed_table.c: the results of `weir bench speed` as tables.
 */
#include "speed.h"

#include <stdlib.h>
#include <string.h>

/* ---- machine --------------------------------------------------------------------------------- */

void bench_processor(char *text, size_t size)
{
    char line[512];
    snprintf(text, size, "unknown processor");
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file && fgets(line, sizeof(line), file)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) == 0 && colon) {
            colon[strcspn(colon, "\n")] = 0;
            snprintf(text, size, "%s", colon + 2);
            break;
        }
    }
    if (file)
        fclose(file);
}

/* The widest vectors of the processor for which weir has a level. */
const char *bench_vectors(void)
{
    const char *forced = getenv("WEIR_SIMD");
    if (forced && forced[0])
        return forced;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f"))
        return "avx512";
    if (__builtin_cpu_supports("avx2"))
        return "avx2";
#endif
    return "baseline";
}

/* ---- tables ------------------------------------------------------------------------------------- */

static void heading(const char *text, const char *more)
{
    printf("\n%s%s%s%s\n", cli_bold(stdout), text, cli_plain(stdout), more);
}

static void finish(cli_table *table)
{
    cli_table_print(table, stdout);
    cli_table_destroy(table);
}

static void ratio_cells(cli_table *table, const bench *b, const entry *e, figure what)
{
    const entry *own = e->peer || e->job.one_by_one ? bench_own(b, e) : NULL;
    if (own == NULL || bench_figure(e, 0, what) <= 0) {
        cli_table_cell(table, "%s", "");
        return;
    }
    spread ratio = bench_ratio(b, own, e, what);
    cli_table_cell(table, "%.1f  (%.1f to %.1f)%s", ratio.median, ratio.min, ratio.max,
                   bench_is_slower(b, e) ? "  SLOWER" : "");
}

static void print_speed(const bench *b, const char *work, const char *title)
{
    cli_table *table =
        cli_table_create("|stream|>x real time|>min|>max|>speed of weir / of this|version");
    for (size_t i = 0; i < b->count; i++) {
        const entry *e = &b->entries[i];
        if (strcmp(e->work, work) != 0)
            continue;
        spread x = bench_spread(b, e, X_REAL_TIME);
        cli_table_cell(table, "%s", e->title);
        cli_table_cell(table, "%s", e->precision);
        cli_table_cell(table, "%.1f", x.median);
        cli_table_cell(table, "%.1f", x.min);
        cli_table_cell(table, "%.1f", x.max);
        ratio_cells(table, b, e, X_REAL_TIME);
        cli_table_cell(table, "%s", e->version);
    }
    heading(title, "");
    finish(table);
}

/* Whether a peer does the same work at the same precision in less time. */
static void print_slower(const bench *b)
{
    size_t peers = 0, slower = 0;
    for (size_t i = 0; i < b->count; i++) {
        const entry *e = &b->entries[i];
        peers += e->peer != NULL && strcmp(e->work, "latency") != 0;
        if (bench_is_slower(b, e)) {
            printf("%sSLOWER%s than %s: %s\n", cli_bold(stdout), cli_plain(stdout), e->title,
                   e->work);
            slower++;
        }
    }
    if (peers > 0 && slower == 0)
        printf("weir is not slower than any of the %zu others with the same work and precision.\n",
               peers);
}

/* The filter as used in a chain, compared with the machine. */
static void print_filter_share(const bench *b)
{
    for (size_t i = 0; i < b->count; i++) {
        double limit_ns = 0, share = bench_filter_share(b, &b->entries[i], &limit_ns);
        if (share > 0)
            printf("%s: %.3f ns per sample in its fastest run, pushes included; its arithmetic "
                   "alone would take %.3f: %.0f %%.\n",
                   b->entries[i].title, bench_spread(b, &b->entries[i], NS_PER_SAMPLE).min,
                   limit_ns, 100 * share);
    }
}

static void print_units(const bench *b)
{
    cli_table *table = cli_table_create("unit|>ns per sample|>of the chain");
    double sum = 0;
    for (size_t i = 0; i < b->count; i++)
        if (strcmp(b->entries[i].work, "units") == 0)
            sum += bench_unit_ns(b, i);
    for (size_t i = 0; i < b->count; i++) {
        if (strcmp(b->entries[i].work, "units") != 0)
            continue;
        cli_table_cell(table, "%s", b->entries[i].title);
        cli_table_cell(table, "%.4f", bench_unit_ns(b, i));
        cli_table_cell(table, "%.0f %%", 100 * bench_unit_ns(b, i) / sum);
    }
    heading(
        "Time of each unit of the chain",
        " (the chain up to each unit, minus the one before, fastest runs; a sample is one frame of "
        "one channel)");
    finish(table);
}

static void print_latency(const bench *b)
{
    cli_table *table =
        cli_table_create("|>median, us|>min|>max|>99 %, us|>min|>max|>99 % of this / of "
                         "weir|version");
    for (size_t i = 0; i < b->count; i++) {
        const entry *e = &b->entries[i];
        if (strcmp(e->work, "latency") != 0)
            continue;
        spread median = bench_spread(b, e, NS_MEDIAN), most = bench_spread(b, e, NS_99);
        cli_table_cell(table, "%s", e->title);
        cli_table_cell(table, "%.1f", median.median / 1e3);
        cli_table_cell(table, "%.1f", median.min / 1e3);
        cli_table_cell(table, "%.1f", median.max / 1e3);
        cli_table_cell(table, "%.1f", most.median / 1e3);
        cli_table_cell(table, "%.1f", most.min / 1e3);
        cli_table_cell(table, "%.1f", most.max / 1e3);
        ratio_cells(table, b, e, NS_99);
        cli_table_cell(table, "%s", e->version);
    }
    heading("One push", " (the chain with bins of 1 ms, 1024 channels, messages of 1 ms)");
    finish(table);
}

static void print_threads(const bench *b, const char *work, const char *title, const char *more)
{
    figure what = strcmp(work, "busy") == 0 ? NS_PER_PUSH : NS_MEDIAN;
    cli_table *table = cli_table_create("|>us a push|>min|>max|>over one|>min|>max");
    for (size_t i = 0; i < b->count; i++) {
        const entry *e = &b->entries[i];
        if (strcmp(e->work, work) != 0)
            continue;
        spread ns = bench_spread(b, e, what), over = bench_over_one(b, e);
        cli_table_cell(table, "%s", e->title);
        cli_table_cell(table, "%.1f", ns.median / 1e3);
        cli_table_cell(table, "%.1f", ns.min / 1e3);
        cli_table_cell(table, "%.1f", ns.max / 1e3);
        cli_table_cell(table, "%.2f", over.median);
        cli_table_cell(table, "%.2f", over.min);
        cli_table_cell(table, "%.2f", over.max);
    }
    heading(title, more);
    finish(table);
}

static void print_shapes(const bench *b)
{
    spread steady = bench_steady(b);
    uint64_t frames = 0;
    char columns[160];
    size_t used = (size_t)snprintf(columns, sizeof(columns), ">frames");
    for (size_t i = 0; i < b->count; i++) /* the first row's channels are the columns */
        if (strcmp(b->entries[i].work, "shapes") == 0) {
            frames = frames == 0 ? b->entries[i].job.frames : frames;
            if (b->entries[i].job.frames == frames)
                used += (size_t)snprintf(columns + used, sizeof(columns) - used, "|>%llu channels",
                                         (unsigned long long)b->entries[i].job.channels);
        }
    cli_table *table = cli_table_create(columns);
    frames = 0;
    for (size_t i = 0; i < b->count; i++) {
        const entry *e = &b->entries[i];
        if (strcmp(e->work, "shapes") != 0)
            continue;
        if (e->job.frames != frames)
            cli_table_cell(table, "%llu", (unsigned long long)e->job.frames);
        frames = e->job.frames;
        cli_table_cell(table, "%.3f", bench_spread(b, e, NS_PER_SAMPLE).min);
    }
    heading("Time per sample",
            ", ns, by message length and channels (the chain, processor time, fastest "
            "tenth of pushes, fastest runs)");
    finish(table);
    printf("For at least 300 frames x 64 channels: %.3f to %.3f ns, within %.0f %%.\n", steady.min,
           steady.max, 100 * (steady.max / steady.min - 1));
}

static void print_pushes(const bench *b)
{
    cli_table *table = cli_table_create("|>frames|>channels|>ns per push|>min|>max|>ns per sample");
    for (size_t i = 0; i < b->count; i++) {
        const entry *e = &b->entries[i];
        if (strcmp(e->work, "pushes") != 0)
            continue;
        spread ns = bench_spread(b, e, NS_MEDIAN);
        cli_table_cell(table, "%s", e->title);
        cli_table_cell(table, "%llu", (unsigned long long)e->job.frames);
        cli_table_cell(table, "%llu", (unsigned long long)e->job.channels);
        cli_table_cell(table, "%.0f", ns.median);
        cli_table_cell(table, "%.0f", ns.min);
        cli_table_cell(table, "%.0f", ns.max);
        cli_table_cell(table, "%.3f", bench_spread(b, e, NS_PER_SAMPLE).median);
    }
    heading("Small pushes", " (medians; 1 x 1 shows the fixed cost)");
    finish(table);
}

static void print_memory(const bench *b)
{
    char text[CLI_FIGURE];
    cli_table *table = cli_table_create("messages of|>number|>plan|>peak allocated|>peak in use");
    for (size_t i = 0; i < CUTS; i++) {
        cli_table_cell(table, "%s", bench_cuts[i].title);
        cli_table_cell(table, "%llu", (unsigned long long)b->memory[i].messages);
        cli_table_cell(table, "%s", cli_bytes(b->memory[i].plan_bytes, text, sizeof(text)));
        cli_table_cell(table, "%s", cli_bytes(b->memory[i].held_peak_bytes, text, sizeof(text)));
        cli_table_cell(table, "%s", cli_bytes(b->memory[i].live_peak_bytes, text, sizeof(text)));
    }
    heading("Memory of that chain",
            bench_same_plans(b) ? " (the same plan for all lengths)" : " (THE PLANS DIFFER)");
    finish(table);
}

void bench_speed_print(const bench *b)
{
    char text[128];
    bench_processor(text, sizeof(text));
    printf("%s, %s, one thread; %d channels at 30 kHz, f32, messages of %d frames in memory\n",
           text, bench_vectors(), BENCH_CHANNELS, BENCH_FRAMES);
    printf("%llu rounds in turn, %.3g s a measurement: median, least and most\n",
           (unsigned long long)b->rounds, b->seconds);
    print_speed(b, "chain", "The chain of examples/spike_band_power.yaml");
    print_speed(b, "filter", "Its filter alone (Butterworth band-pass, 4 sections)");
    print_slower(b);
    print_filter_share(b);
    print_units(b);
    print_latency(b);
    print_threads(b, "threads", "Threads",
                  " (the chain, 1024 channels, messages and tiles of 300 frames; median pushes)");
    print_threads(b, "busy", "Threads beside two busy programs",
                  " (the same, tiles of weir's choice; mean of all pushes)");
    print_shapes(b);
    print_pushes(b);
    if (b->kernels)
        bench_kernels_print(b->kernels);
    print_memory(b);
    for (size_t i = 0; i < b->skipped_count; i++)
        printf("%sleft out: %s: %s\n", i == 0 ? "\n" : "", b->skipped[i]->title, b->reasons[i]);
    if (b->kernels == NULL)
        printf("left out: kernels compared with the machine's limits: %s/kernels not found (make "
               "bench "
               "builds it)\n",
               b->folder);
}

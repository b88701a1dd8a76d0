/* SPDX-License-Identifier: MIT
 *
 * kernels.c: a table of each kernel compared with the limits of the machine. The measurement is in
 * bench/kernels, a separate program like the peers, since the command includes include/weir only.
 */
#include "bench.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BAR = 20 };

static double number(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

/* Of a spread {"median", "low", ...}. */
static double of(const json_t *object, const char *key, const char *which)
{
    return number(json_object_get(object, key), which);
}

int bench_kernels_run(const char *folder, const char *word, double seconds, json_t **ret_kernels)
{
    char path[PATH_MAX + 64], time[32];
    snprintf(path, sizeof(path), "%s/kernels", folder);
    *ret_kernels = NULL;
    if (access(path, X_OK) != 0)
        return 0;
    snprintf(time, sizeof(time), "%d.%03d", (int)seconds, (int)(seconds * 1000) % 1000);
    const char *arguments[] = {"--seconds", time, "--only", word != NULL ? word : "", NULL};
    return bench_program_run(path, arguments, (unsigned)(seconds * 100), ret_kernels);
}

/* A bar of BAR characters, full at 1. */
static char *bar(double share, char *text, size_t size)
{
    size_t used = 0;
    int full = (int)lround(fmin(fmax(share, 0), 1) * BAR);
    for (int i = 0; i < BAR; i++)
        used += (size_t)snprintf(text + used, size - used, "%s", i < full ? "█" : "·");
    return text;
}

static void print_limits(const json_t *kernels)
{
    const json_t *limits = json_object_get(kernels, "limits");
    double lanes = number(kernels, "vector_bytes") / sizeof(double);
    double fma = of(limits, "multiply_add_ns", "median"), mix = of(limits, "section_ns", "median");
    printf("\n%sKernels, compared with the limits of this machine%s (%s, one core, measured "
           "alternately; tiles of "
           "%.0f frames x %.0f channels, in L2)\n",
           cli_bold(stdout), cli_plain(stdout),
           json_string_value(json_object_get(kernels, "level")), number(kernels, "frames"),
           number(kernels, "channels"));
    printf("multiply-adds  %.1f per ns in f64, twice as many in f32 (%.4f ns per vector)\n",
           lanes / fma, fma);
    printf("a section      %.4f ns per vector: an addition and two multiply-adds, in registers: "
           "%.2f\n               times the time of three multiply-adds\n",
           mix, mix / (3 * fma));
    printf("L2             %.0f GB/s copied (read and written), %.0f read\n",
           of(limits, "l2_copy_gb_s", "median"), of(limits, "l2_read_gb_s", "median"));
    printf("memory         %.1f GB/s copied, %.1f read\n\n", of(limits, "ram_copy_gb_s", "median"),
           of(limits, "ram_read_gb_s", "median"));
}

double bench_kernels_limit(const json_t *kernels, const char *name, const char *dtype)
{
    size_t i;
    const json_t *k;
    json_array_foreach(json_object_get(kernels, "kernels"), i, k)
    {
        const char *its = json_string_value(json_object_get(k, "name"));
        const char *stream = json_string_value(json_object_get(k, "dtype"));
        if (its && stream && strcmp(its, name) == 0 && strcmp(stream, dtype) == 0)
            return fmax(of(k, "fma_floor_ns", "low"), of(k, "memory_floor_ns", "low"));
    }
    return 0;
}

void bench_kernels_print(const json_t *kernels)
{
    char text[BAR * 4];
    size_t i;
    const json_t *k;
    print_limits(kernels);
    cli_table *table =
        cli_table_create("kernel|stream|>ns per sample|>10 %|>90 %|>limit, ns|by|>reached|"
                         "|>at best|>of its mix|least operations per sample");
    json_array_foreach(json_object_get(kernels, "kernels"), i, k)
    {
        double fma = of(k, "fma_floor_ns", "median"), bytes = of(k, "memory_floor_ns", "median");
        double share = of(k, "share_of_limit", "median");
        cli_table_cell(table, "%s", json_string_value(json_object_get(k, "name")));
        cli_table_cell(table, "%s", json_string_value(json_object_get(k, "dtype")));
        cli_table_cell(table, "%.4f", of(k, "ns_per_sample", "median"));
        cli_table_cell(table, "%.4f", of(k, "ns_per_sample", "low"));
        cli_table_cell(table, "%.4f", of(k, "ns_per_sample", "high"));
        cli_table_cell(table, "%.4f", fmax(fma, bytes));
        cli_table_cell(table, "%s", fma > bytes ? "arithmetic" : "L2");
        cli_table_cell(table, "%.0f %%", 100 * share);
        cli_table_cell(table, "%s", bar(share, text, sizeof(text)));
        cli_table_cell(table, "%.0f %%", 100 * number(k, "share_quiet"));
        if (json_object_get(k, "share_of_mix"))
            cli_table_cell(table, "%.0f %%", 100 * of(k, "share_of_mix", "median"));
        else
            cli_table_cell(table, "%s", "");
        cli_table_cell(table, "%g multiply-adds, %g others, %s; %g B: %s",
                       number(k, "multiply_adds"), number(k, "other_operations"),
                       json_string_value(json_object_get(k, "arithmetic")), number(k, "bytes"),
                       json_string_value(json_object_get(k, "counted")));
    }
    cli_table_print(table, stdout);
    cli_table_destroy(table);
    puts("limit: the least time, by arithmetic (each operation a multiply-add) or by bytes at L2's "
         "bandwidth,\nwhichever is longer. reached: medians; at best: the fastest tenth of each. "
         "of its mix: compared with\nthe filter's own mix of additions and multiply-adds, which "
         "some processors execute at the same time.");
}

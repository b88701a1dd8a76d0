/* SPDX-License-Identifier: MIT
 *
 * docs.c: weir docs FOLDER: writes weir.1, units/NAME.md and coming-from-ezmsg.md from the descriptors and the tables of
 * options, so that they cannot differ from what the command does. Part of the build (target docs).
 */
#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "units.h"

static void write_formats(FILE *file)
{
    fputs(".SH FORMATS\n", file);
    for (const weir_format_info *format = weir_formats(); format->name != NULL; format++)
        fprintf(file, ".TP\n\\fB%s\\fR (%s%s%s)\n%s%s%s\n", format->name,
                format->reads ? "read" : "", format->reads && format->writes ? ", " : "",
                format->writes ? "write" : "", format->summary,
                format->extensions != NULL && *format->extensions != '\0' ? "; files " : "",
                format->extensions != NULL ? format->extensions : "");
}

static void write_units(FILE *file)
{
    fputs(".SH UNITS\nweir units NAME describes a processing unit and its settings.\n", file);
    for (size_t i = 0; i < weir_unit_count(); i++)
        fprintf(file, ".TP\n\\fB%s\\fR\n%s\n", weir_unit_at(i)->name, weir_unit_at(i)->summary);
}

/* What a chain file may contain besides settings of units. */
static void write_chain_file(FILE *file)
{
    static const struct {
        const char *key, *text;
    } keys[] = {
        {"chain",
         "list of units, first to last: a name (abs), or a name with settings (butterworth: "
         "{order: 4, "
         "cutoff: 30 Hz}). Required. The file may also consist of this list only."},
        {"memory_limit", "maximum memory of a run: bytes, 64 MiB, none. Default: none, the plan "
                         "itself is the limit."},
        {"cache_limit",
         "maximum unused memory kept for reuse: bytes, 64 MiB, none, auto. Default: 512 MiB."},
        {"tile", "number of frames processed at once, or auto (the default)."},
        {"threads", "number of threads, 1 to 64. Default: 1."},
        {"gap_tolerance",
         "largest timestamp deviation that is not treated as a gap. Default: 1 ms."},
        {"split",
         "in the list, a map of names to lists: each branch gets the stream and becomes an "
         "output unless a later unit joins it (add: {inputs: [a, b]})."},
        {"on_gap", "setting of every unit with state: at a gap, reset the state as before the "
                   "first frame, or "
                   "hold it."}};
    fputs(".SH CHAIN FILE\nA YAML file. Options of the command take precedence over its keys, its "
          "keys over the "
          "environment. Frequencies, times and bytes are numbers in Hz, s and bytes, or have a "
          "physical unit.\n",
          file);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        fprintf(file, ".TP\n\\fB%s\\fR\n%s\n", keys[i].key, keys[i].text);
    fputs(".PP\nExample:\n.PP\n.nf\nmemory_limit: 64 MiB\nchain:\n  \\- butterworth: {order: 4, "
          "cuton: 8 Hz, "
          "cutoff: 13 Hz}\n  \\- abs\n.fi\n",
          file);
}

static void write_errors(FILE *file)
{
    static const struct {
        int status;
        const char *text;
    } rows[] = {
#define ROW(name, value, exit_status, text) {exit_status, text},
        WEIR_ERR_LIST(ROW)
#undef ROW
    };
    fputs(".SH EXIT STATUS", file);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (i > 0 && rows[i].status == rows[i - 1].status)
            fprintf(file, ", or %s", rows[i].text);
        else
            fprintf(file, "\n.TP\n%d\n%s", rows[i].status, rows[i].text);
    putc('\n', file);
}

static int write_man(const char *folder)
{
    char *path = cli_text("%s/weir.1", folder);
    cli_write out;
    int status = cli_write_begin(&out, path, true);
    FILE *file = out.file;
    if (status != 0) {
        free(path);
        return status;
    }
    fprintf(file,
            ".TH WEIR 1 \"\" \"weir %s\"\n.SH NAME\n"
            "weir \\- streaming signal chains within a fixed memory limit\n.SH SYNOPSIS\n"
            "\\fBweir\\fR COMMAND [OPTION...]\n.SH DESCRIPTION\n"
            "weir runs chains of processing units over recordings, within a memory limit that the "
            "user states. "
            "Before a run it prints the memory that the run will use; the run never allocates "
            "more.\n.SH "
            "COMMANDS\n",
            WEIR_VERSION);
    cli_docs = file;
    for (const cli_command *command = cli_commands; command->name != NULL; command++) {
        if (command->summary == NULL)
            continue;
        char *shown = cli_text("weir %s", command->name);
        char *arguments[] = {shown, NULL};
        (void)command->function(1, arguments);
        free(shown);
    }
    cli_docs = NULL;
    write_chain_file(file);
    write_units(file);
    write_formats(file);
    write_errors(file);
    fputs(
        ".SH ENVIRONMENT\n.TP\nWEIR_MEMORY_LIMIT, WEIR_CACHE_LIMIT\n"
        "limits, used if neither an option nor the chain file states them; weir run sets them for "
        "its child processes\n"
        ".TP\nWEIR_SIMD\nkernels to use: baseline, avx2 or avx512\n"
        ".TP\nNO_COLOR\nturns off colours on a terminal\n",
        file);
    status = cli_write_end(&out, true);
    free(path);
    return status;
}

static int write_pages(const char *folder)
{
    char *units = cli_text("%s/units", folder);
    int status = 0;
    if (mkdir(units, 0777) != 0 && errno != EEXIST)
        status = cli_fail(7, "%s: %s", units, strerror(errno));
    for (size_t i = 0; i < weir_unit_count() && status == 0; i++) {
        char *path = cli_text("%s/%s.md", units, weir_unit_at(i)->name);
        cli_write out;
        status = cli_write_begin(&out, path, true);
        if (status == 0) {
            cli_unit_markdown(weir_unit_at(i), out.file);
            status = cli_write_end(&out, true);
        }
        free(path);
    }
    free(units);
    return status;
}

static int write_ezmsg(const char *folder)
{
    char *path = cli_text("%s/coming-from-ezmsg.md", folder);
    cli_write out;
    int status = cli_write_begin(&out, path, true);
    if (status == 0) {
        cli_ezmsg_markdown(out.file);
        status = cli_write_end(&out, true);
    }
    free(path);
    return status;
}

int docs_command(int argc, char **argv)
{
    const char *usage =
        "usage: weir docs FOLDER: writes weir.1, units/NAME.md and coming-from-ezmsg.md there";
    if (argc == 2 && (strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0)) {
        puts(usage);
        return cli_finish(0);
    }
    if (argc != 2 || argv[1][0] == '-')
        return cli_fail(2, "%s", usage);
    int status = write_man(argv[1]);
    status = status == 0 ? write_pages(argv[1]) : status;
    return status == 0 ? write_ezmsg(argv[1]) : status;
}

/* SPDX-License-Identifier: MIT
 *
 * bench.c: `weir bench`: which benches there are. Each is a file of its own.
 */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    int (*function)(int argc, char **argv);
    const char *summary;
} benches[] = {
    {"speed", bench_speed_command, "weir beside other libraries: times as fast as real time"},
    {"memory", bench_memory_command, "what is held, by policy, limit and lengths of messages"},
};
#define BENCHES (sizeof benches / sizeof benches[0])

static int print_help(FILE *file, int status)
{
    fprintf(file, "%sUsage:%s weir bench NAME [OPTION...]\n\n%sBenches:%s\n", cli_bold(file),
            cli_plain(file), cli_bold(file), cli_plain(file));
    for (size_t i = 0; i < BENCHES; i++)
        fprintf(file, "  %s%-7s%s %s\n", cli_bold(file), benches[i].name, cli_plain(file),
                benches[i].summary);
    fputs("\nweir bench NAME --help lists the options of one.\n", file);
    return file == stdout ? cli_finish(status) : status;
}

int bench_command(int argc, char **argv)
{
    const char *names[BENCHES];
    const char *name = argc > 1 ? argv[1] : NULL;
    for (size_t i = 0; i < BENCHES; i++) {
        names[i] = benches[i].name;
        if (cli_docs == NULL && (name == NULL || strcmp(name, names[i]) != 0))
            continue;
        char *shown = cli_text("weir bench %s", names[i]);
        char **arguments = cli_alloc((size_t)argc + 1, sizeof *arguments);
        arguments[0] = shown;
        for (int j = 2; j < argc; j++)
            arguments[j - 1] = argv[j];
        int status = benches[i].function(argc > 1 ? argc - 1 : 1, arguments);
        free(arguments);
        free(shown);
        if (cli_docs == NULL)
            return status;
    }
    if (cli_docs != NULL)
        return 0;
    if (name == NULL)
        return print_help(stderr, 2);
    if (strcmp(name, "--help") == 0 || strcmp(name, "-?") == 0)
        return print_help(stdout, 0);
    const char *nearest = cli_nearest(name, names, BENCHES);
    return cli_fail(2, "no bench '%s'; %s%s", name,
                    nearest != NULL ? "did you mean " : "there are speed and memory",
                    nearest != NULL ? nearest : "");
}

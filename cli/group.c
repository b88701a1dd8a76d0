/* SPDX-License-Identifier: MIT
 *
 * group.c: subcommands, as in `weir bench speed`: lists them and finds the requested one.
 */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

static int print_help(const cli_group *group, FILE *file, int status)
{
    fprintf(file, "%sUsage:%s weir %s COMMAND %s\n\n%sCommands:%s\n", cli_bold(file),
            cli_plain(file), group->name, group->usage, cli_bold(file), cli_plain(file));
    for (const cli_member *member = group->members; member->name != NULL; member++)
        fprintf(file, "  %s%-7s%s %s\n", cli_bold(file), member->name, cli_plain(file),
                member->summary);
    fprintf(file, "\nweir %s COMMAND --help lists the options of a command.\n", group->name);
    return file == stdout ? cli_finish(status) : status;
}

static int run(const cli_group *group, const cli_member *member, int argc, char **argv)
{
    char *shown = cli_text("weir %s %s", group->name, member->name);
    char **arguments = cli_alloc((size_t)argc + 1, sizeof *arguments);
    arguments[0] = shown;
    for (int i = 2; i < argc; i++)
        arguments[i - 1] = argv[i];
    int status = member->function(argc > 1 ? argc - 1 : 1, arguments);
    free(arguments);
    free(shown);
    return status;
}

static int refuse(const cli_group *group, const char *found)
{
    const char *names[CLI_MEMBERS_MAX];
    size_t count = 0;
    for (; group->members[count].name != NULL; count++)
        names[count] = group->members[count].name;
    const char *nearest = cli_nearest(found, names, count);
    if (nearest == NULL)
        return cli_fail(2, "unknown command '%s %s'; weir %s --help lists the commands",
                        group->name, found, group->name);
    return cli_fail(2, "unknown command '%s %s'; did you mean %s?", group->name, found, nearest);
}

int cli_group_command(const cli_group *group, int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : NULL;
    for (const cli_member *member = group->members; member->name != NULL; member++) {
        if (cli_docs != NULL)
            (void)run(group, member, argc, argv); /* each prints its part of the man page */
        else if (name != NULL && strcmp(name, member->name) == 0)
            return run(group, member, argc, argv);
    }
    if (cli_docs != NULL)
        return 0;
    if (name == NULL)
        return print_help(group, stderr, 2);
    if (strcmp(name, "--help") == 0 || strcmp(name, "-?") == 0 || strcmp(name, "-h") == 0)
        return print_help(group, stdout, 0);
    return refuse(group, name);
}

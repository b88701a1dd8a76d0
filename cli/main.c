/* SPDX-License-Identifier: MIT
 *
 * main.c: the command weir: finds the requested subcommand. They are listed in commands.def.
 */
#include "cli.h"

#include <string.h>

const cli_command cli_commands[] = {
#define X(name, function, summary) {#name, function, summary},
#include "commands.def"
#undef X
    {NULL, NULL, NULL}};

static void print_help(FILE *file)
{
    const char *bold = cli_bold(file), *plain = cli_plain(file);
    fprintf(file,
            "%sweir%s runs streaming signal chains within a fixed memory limit.\n\n"
            "%sUsage:%s weir COMMAND [OPTION...]\n\n%sCommands:%s\n",
            bold, plain, bold, plain, bold, plain);
    for (const cli_command *command = cli_commands; command->name != NULL; command++)
        if (command->summary != NULL)
            fprintf(file, "  %s%-8s%s %s\n", bold, command->name, plain, command->summary);
    fprintf(
        file,
        "\n%sExamples:%s\n"
        "  weir info recording.edf\n"
        "  weir plan chain.yaml recording.npy --rate 30kHz\n"
        "  weir run chain.yaml recording.npy --rate 30kHz -o out.npy --memory-limit 64M\n"
        "  weir run chain.yaml synthetic:channels=256,rate=30000,seconds=10,seed=1\n"
        "  weir units butterworth\n\n"
        "weir COMMAND --help lists the options of a command; weir --version names the formats.\n",
        bold, plain);
}

static void print_version(void)
{
    printf("weir %s\n\nformats:\n", WEIR_VERSION);
    for (const weir_format_info *format = weir_formats(); format->name != NULL; format++)
        printf("  %-10s %-11s %s\n", format->name,
               format->reads && format->writes ? "read, write"
               : format->reads                 ? "read"
               : format->writes                ? "write"
                                               : "not built",
               format->summary);
    printf("\nunits: %zu (weir units)\nlicence: MIT\n", weir_unit_count());
}

static int unknown_command(const char *found)
{
    const char *names[64];
    size_t count = 0;
    for (const cli_command *command = cli_commands; command->name != NULL && count < 64; command++)
        if (command->summary != NULL)
            names[count++] = command->name;
    const char *nearest = cli_nearest(found, names, count);
    if (nearest != NULL)
        return cli_fail(2, "unknown command '%s'; did you mean %s?", found, nearest);
    return cli_fail(2, "unknown command '%s'; weir --help lists the commands", found);
}

static const cli_command *find_command(const char *name)
{
    for (const cli_command *command = cli_commands; command->name != NULL; command++)
        if (strcmp(command->name, name) == 0)
            return command;
    return NULL;
}

static void say_notice(void *user, const char *line)
{
    (void)user;
    fputs("weir: ", stderr);
    cli_put_clean(stderr, line);
    putc('\n', stderr);
}

int main(int argc, char **argv)
{
    /* Writing to a closed pipe, or to a file that may not grow, is an error of that write: exit
     * status 7. */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    weir_log_set(say_notice, NULL);
    if (argc < 2) {
        print_help(stderr);
        return 2;
    }
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "-?") == 0 ||
        (strcmp(name, "help") == 0 && argc == 2)) {
        print_help(stdout);
        return cli_finish(0);
    }
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
        print_version();
        return cli_finish(0);
    }
    if (*name == '-')
        return cli_fail(2, "unknown option '%s'; usage: weir COMMAND [OPTION...], see weir --help",
                        name);
    char help[] = "--help";
    char *arguments_of_help[] = {NULL, help, NULL};
    bool for_help = strcmp(name, "help") == 0;
    const cli_command *command = find_command(for_help ? argv[2] : name);
    if (command == NULL)
        return unknown_command(for_help ? argv[2] : name);
    char shown[64]; /* what argp calls the program */
    snprintf(shown, sizeof shown, "weir %s", command->name);
    arguments_of_help[0] = argv[1] = shown;
    if (for_help)
        return command->function(2, arguments_of_help);
    return command->function(argc - 1, argv + 1);
}

/* SPDX-License-Identifier: MIT
 *
 * units.c: weir units: what units there are and what can be set on them, from their descriptors. The
 * same pages as Markdown for doc/units.
 */
#include "cli.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "units.h"

typedef struct units_options {
    const char *name;
    bool markdown;
} units_options;

static const struct argp_option options[] = {
    {"markdown", CLI_OPT_MARKDOWN, 0, 0, "print as Markdown", 1}, {0}};

static error_t parse(int key, char *text, struct argp_state *state)
{
    units_options *units = state->input;
    switch (key) {
    case CLI_OPT_MARKDOWN:
        units->markdown = true;
        return 0;
    case ARGP_KEY_ARG:
        if (units->name != NULL)
            argp_error(state, "expected one NAME; '%s' is one argument too many", text);
        units->name = text;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp units_argp = {
    options,
    parse,
    "[NAME]",
    "Lists the units; with NAME, describes the settings of that unit.\v"
    "Exit status: 0 success, 2 usage error, 3 no such unit.",
    0,
    0,
    0};

/* ---- one setting in words -------------------------------------------------------------------------------- */

static const char *type_text(const weir_setting *setting)
{
    static const char *const kinds[] = {"number", "frequency", "time", "bytes", "amplitude"};
    switch (setting->type) {
    case WEIR_SETTING_NUMBER:
    case WEIR_SETTING_QUANTITY:
        return kinds[setting->kind];
    case WEIR_SETTING_INTEGER:
        return "whole number";
    case WEIR_SETTING_STRING:
        return "text";
    case WEIR_SETTING_ENUM:
        return "choice";
    case WEIR_SETTING_ENUM_LIST:
        return "choices";
    case WEIR_SETTING_BOOL:
        return "true or false";
    case WEIR_SETTING_LIST:
        return "list of numbers";
    case WEIR_SETTING_MATRIX:
        return "matrix";
    case WEIR_SETTING_ANY:
        return "see help";
    case WEIR_SETTING_IGNORED:
        return "no effect";
    }
    return "";
}

static const char *unit_text(const weir_setting *setting)
{
    static const char *const units[] = {"", "Hz", "s", "B", "the stream's"};
    bool numeric = setting->type == WEIR_SETTING_NUMBER || setting->type == WEIR_SETTING_QUANTITY ||
                   setting->type == WEIR_SETTING_LIST;
    return numeric ? units[setting->kind] : "";
}

/* Appends within size; text stays ended. */
static void append(char *text, size_t size, const char *more)
{
    size_t length = strlen(text);
    snprintf(text + length, size - length, "%s", more);
}

static char *range_text(const weir_setting *setting, char *text, size_t size)
{
    text[0] = '\0';
    if (setting->choices != NULL) {
        for (const weir_choice *choice = setting->choices; choice->name != NULL; choice++) {
            append(text, size, choice == setting->choices ? "" : " ");
            append(text, size, choice->name);
        }
    } else if (setting->min != 0 || setting->max != 0) {
        if (isinf(setting->max) || setting->max >= 1e15)
            snprintf(text, size, "from %.6g", setting->min);
        else if (isinf(setting->min) || setting->min <= -1e15)
            snprintf(text, size, "to %.6g", setting->max);
        else
            snprintf(text, size, "%.6g to %.6g", setting->min, setting->max);
    }
    return text;
}

static const char *unit_flags(const weir_unit_info *unit, char *text, size_t size)
{
    static const struct {
        uint32_t flag;
        const char *text;
    } flags[] = {{WEIR_UNIT_JOINS, "has several inputs"},
                 {WEIR_UNIT_COUPLES_CHANNELS, "combines channels"},
                 {WEIR_UNIT_CHANGES_RATE, "changes the rate"},
                 {WEIR_UNIT_STATEFUL, "is stateful"},
                 {WEIR_UNIT_HOLDS_OVER_GAP, "keeps state at gaps"},
                 {WEIR_UNIT_RECORDS, "writes records"},
                 {WEIR_UNIT_COMPLEX, "accepts complex values"}};
    text[0] = '\0';
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        if ((unit->flags & flags[i].flag) != 0) {
            append(text, size, *text != '\0' ? ", " : "");
            append(text, size, flags[i].text);
        }
    return text;
}

/* ---- an example that a chain file takes --------------------------------------------------------------------- */

/* An entry that a chain file takes, after a split where the unit joins branches, with the examples of its table. */
static void put_example(const weir_unit_info *unit, FILE *file, const char *indent)
{
    bool joins = (unit->flags & WEIR_UNIT_JOINS) != 0, more = joins;
    if (joins)
        fprintf(file, "%s- split: {a: [], b: [abs]}\n", indent);
    fprintf(file, "%s- %s: {%s", indent, unit->name, joins ? "inputs: [a, b]" : "");
    for (const weir_setting *setting = unit->settings; setting->name != NULL; setting++) {
        if (setting->example == NULL)
            continue;
        const char *quote = strchr(setting->example, ':') != NULL ? "\"" : "";
        fprintf(file, "%s%s: %s%s%s", more ? ", " : "", setting->name, quote, setting->example,
                quote);
        more = true;
    }
    fputs("}\n", file);
}

/* ---- pages ----------------------------------------------------------------------------------------------------- */

static void print_list(void)
{
    char flags[128];
    cli_table *table = cli_table_create("unit|what it does|");
    for (size_t i = 0; i < weir_unit_count(); i++) {
        const weir_unit_info *unit = weir_unit_at(i);
        cli_table_cell(table, "%s", unit->name);
        cli_table_cell(table, "%s", unit->summary);
        cli_table_cell(table, "%s", unit_flags(unit, flags, sizeof flags));
    }
    cli_table_print(table, stdout);
    cli_table_destroy(table);
    printf("\nweir units NAME describes the settings of a unit.\n");
}

/* A setting of every unit that has a memory, which the chain reads and not the unit's own table; name NULL: none. */
static weir_setting gap_setting(const weir_unit_info *unit)
{
    static const weir_choice both[] = {{"reset", NULL}, {"hold", NULL}, {NULL, NULL}};
    static const weir_choice one[] = {{"reset", NULL}, {NULL, NULL}};
    if ((unit->flags & WEIR_UNIT_STATEFUL) == 0)
        return (weir_setting){.name = NULL};
    return (weir_setting){
        .name = "on_gap",
        .type = WEIR_SETTING_ENUM,
        .preset = (unit->flags & WEIR_UNIT_HOLDS_OVER_GAP) != 0 ? "hold" : "reset",
        .choices = (unit->flags & WEIR_UNIT_CHANGES_RATE) != 0 ? one : both,
        .help = "behaviour at a recording gap: reset the state, or carry it across"};
}

static const char *preset_text(const weir_setting *setting)
{
    return setting->preset == NULL                ? "required"
           : strcmp(setting->preset, "null") == 0 ? "none"
                                                  : setting->preset;
}

static bool is_ignored(const weir_setting *setting)
{
    return setting->type == WEIR_SETTING_IGNORED;
}

static bool is_live(const weir_setting *setting)
{
    return setting->live;
}

/* One line of names of settings; nothing where there are none. */
static void put_names(const weir_unit_info *unit,
                      FILE *file,
                      bool (*belongs)(const weir_setting *setting),
                      const char *before,
                      const char *quote,
                      const char *after)
{
    bool any = false;
    for (const weir_setting *setting = unit->settings; setting->name != NULL; setting++)
        if (belongs(setting)) {
            fprintf(file, "%s%s%s%s", any ? ", " : before, quote, setting->name, quote);
            any = true;
        }
    fprintf(file, "%s", any ? after : "");
}

static void put_lines(const weir_unit_info *unit, FILE *file, const char *quote)
{
    bool stateful = (unit->flags & WEIR_UNIT_STATEFUL) != 0;
    put_names(unit, file, is_live, "Can be changed while the chain runs: ", quote,
              stateful ? "; the state is kept.\n\n" : ".\n\n");
    put_names(unit, file, is_ignored,
              "Accepted for ezmsg-sigproc compatibility and ignored: ", quote, ".\n\n");
}

static void print_row(cli_table *table, const weir_setting *setting)
{
    char range[512];
    if (setting->name == NULL || setting->type == WEIR_SETTING_IGNORED)
        return;
    const char *physical = unit_text(setting);
    range_text(setting, range, sizeof range);
    cli_table_cell(table, "%s", setting->name);
    cli_table_cell(table, "%s", preset_text(setting));
    cli_table_cell(table, "%s%s%s%s%s%s%s", type_text(setting), *physical != '\0' ? ", " : "",
                   physical, *range != '\0' ? ": " : "", range, setting->help != NULL ? "; " : "",
                   setting->help != NULL ? setting->help : "");
}

static void print_settings(const weir_unit_info *unit)
{
    weir_setting gap = gap_setting(unit);
    cli_table *table = cli_table_create("setting|default|what it is");
    cli_table_fit(table, CLI_COLUMNS);
    for (const weir_setting *setting = unit->settings; setting->name != NULL; setting++)
        print_row(table, setting);
    print_row(table, &gap);
    cli_table_print(table, stdout);
    cli_table_destroy(table);
    putchar('\n');
    char *lines = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&lines, &size);
    if (memory != NULL) {
        put_lines(unit, memory, "");
        fclose(memory);
        cli_put_wrapped(stdout, lines, 0);
        free(lines);
    }
}

static void print_unit(const weir_unit_info *unit)
{
    char flags[128];
    char *title = cli_text("%s: %s\n", unit->name, unit->summary);
    fputs(cli_bold(stdout), stdout);
    cli_put_wrapped(stdout, title, 0);
    fputs(cli_plain(stdout), stdout);
    free(title);
    if (*unit_flags(unit, flags, sizeof flags) != '\0')
        printf("(%s)\n", flags);
    putchar('\n');
    if (unit->settings != NULL && unit->settings->name != NULL)
        print_settings(unit);
    printf("in a chain file:\n\n    chain:\n");
    put_example(unit, stdout, "      ");
}

static void put_markdown(FILE *file, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '|' || *text == '*' || *text == '<')
            putc('\\', file);
        putc(*text, file);
    }
}

static void put_markdown_row(FILE *file, const weir_setting *setting)
{
    char text[512];
    if (setting->name == NULL || setting->type == WEIR_SETTING_IGNORED)
        return;
    fprintf(file, "| `%s` | %s | %s | %s | ", setting->name, type_text(setting), unit_text(setting),
            preset_text(setting));
    put_markdown(file, range_text(setting, text, sizeof text));
    fputs(" | ", file);
    put_markdown(file, setting->help != NULL ? setting->help : "");
    fputs(" |\n", file);
}

void cli_unit_markdown(const weir_unit_info *unit, FILE *file)
{
    char text[512];
    fprintf(file, "# %s\n\n", unit->name);
    if (*unit->summary != '\0') {
        putc(toupper((unsigned char)*unit->summary), file);
        put_markdown(file, unit->summary + 1);
        fputs(".\n\n", file);
    }
    if (*unit_flags(unit, text, sizeof text) != '\0')
        fprintf(file, "This unit %s.\n\n", text);
    if (unit->settings != NULL && unit->settings->name != NULL) {
        fputs("| setting | type | unit | default | allowed | |\n|---|---|---|---|---|---|\n", file);
        weir_setting gap = gap_setting(unit);
        for (const weir_setting *setting = unit->settings; setting->name != NULL; setting++)
            put_markdown_row(file, setting);
        put_markdown_row(file, &gap);
        putc('\n', file);
        put_lines(unit, file, "`");
    }
    fputs("```yaml\nchain:\n", file);
    put_example(unit, file, "  ");
    fputs("```\n", file);
}

int units_command(int argc, char **argv)
{
    units_options wanted = {0};
    int status = cli_parse(&units_argp, argc, argv, &wanted);
    if (status >= 0)
        return status;
    if (wanted.name == NULL) {
        if (wanted.markdown)
            for (size_t i = 0; i < weir_unit_count(); i++)
                cli_unit_markdown(weir_unit_at(i), stdout);
        else
            print_list();
        return cli_finish(0);
    }
    const weir_unit_info *unit = NULL;
    weir_err err = weir_unit_find(wanted.name, &unit);
    if (err != WEIR_OK)
        return cli_fail_weir(err);
    if (wanted.markdown)
        cli_unit_markdown(unit, stdout);
    else
        print_unit(unit);
    return cli_finish(0);
}

/* SPDX-License-Identifier: MIT
 *
 * units.c: weir units: lists the processing units and their settings, from their descriptors.
 * unit_page.c writes the same as Markdown.
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
    "Lists the processing units; with NAME, describes that unit and its settings.\v"
    "Exit status: 0 success, 2 usage error, 3 no such unit.",
    0,
    0,
    0};

/* ---- one setting in words -------------------------------------------------------------------------------- */

const char *unit_type_text(const weir_setting *setting)
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

const char *unit_physical_text(const weir_setting *setting)
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

char *unit_range_text(const weir_setting *setting, char *text, size_t size)
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

const char *unit_flags_text(const weir_unit_info *unit, char *text, size_t size)
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

#define EXAMPLE_COLUMNS 79 /* with the bracket at the end */

void unit_put_example(const weir_unit_info *unit, FILE *file, const char *indent)
{
    bool joins = (unit->flags & WEIR_UNIT_JOINS) != 0, more = joins;
    for (const char *line = unit->before; line != NULL && *line != '\0';) {
        size_t length = strcspn(line, "\n");
        fprintf(file, "%s%.*s\n", indent, (int)length, line);
        line += length + (line[length] == '\n');
    }
    if (joins)
        fprintf(file, "%s- split: {a: [], b: [abs]}\n", indent);
    int column = fprintf(file, "%s- %s: {%s", indent, unit->name, joins ? "inputs: [a, b]" : "");
    for (const weir_setting *setting = unit->settings; setting->name != NULL; setting++) {
        if (setting->example == NULL)
            continue;
        bool map = setting->example[0] == '{';
        const char *quote = !map && strchr(setting->example, ':') != NULL ? "\"" : "";
        int length =
            (int)(strlen(setting->name) + strlen(setting->example) + 2 * strlen(quote) + 4);
        if (column + length > EXAMPLE_COLUMNS) /* a map goes on in the next line */
            column = fprintf(file, "%s\n%s    ", more ? "," : "", indent);
        else
            column += fprintf(file, "%s", more ? ", " : "");
        column += fprintf(file, "%s: %s%s%s", setting->name, quote, setting->example, quote);
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
        cli_table_cell(table, "%s", unit_flags_text(unit, flags, sizeof flags));
    }
    cli_table_print(table, stdout);
    cli_table_destroy(table);
    printf("\nweir units NAME describes a unit and its settings.\n");
}

/* A setting of every stateful unit, which the chain reads and not the unit's own table; name
 * NULL: none. */
weir_setting unit_gap_setting(const weir_unit_info *unit)
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

const char *unit_preset_text(const weir_setting *setting)
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

/* One line of names of settings; nothing if there are none. */
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

void unit_put_lines(const weir_unit_info *unit, FILE *file, const char *quote)
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
    const char *physical = unit_physical_text(setting);
    unit_range_text(setting, range, sizeof range);
    cli_table_cell(table, "%s", setting->name);
    cli_table_cell(table, "%s", unit_preset_text(setting));
    cli_table_cell(table, "%s%s%s%s%s%s%s", unit_type_text(setting), *physical != '\0' ? ", " : "",
                   physical, *range != '\0' ? ": " : "", range, setting->help != NULL ? "; " : "",
                   setting->help != NULL ? setting->help : "");
}

static void print_settings(const weir_unit_info *unit)
{
    weir_setting gap = unit_gap_setting(unit);
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
        unit_put_lines(unit, memory, "");
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
    if (*unit_flags_text(unit, flags, sizeof flags) != '\0')
        printf("(%s)\n", flags);
    putchar('\n');
    if (unit->settings != NULL && unit->settings->name != NULL)
        print_settings(unit);
    if (unit->formula != NULL) {
        char *formula = cli_text("%s\n", unit->formula);
        cli_put_wrapped(stdout, formula, 0);
        putchar('\n');
        free(formula);
    }
    printf("in a chain file:\n\n    chain:\n");
    unit_put_example(unit, stdout, "    ");
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

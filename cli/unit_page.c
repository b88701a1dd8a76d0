/* SPDX-License-Identifier: MIT
 *
 * unit_page.c: the pages of doc/units and doc/coming-from-ezmsg.md, from the units' descriptors.
 */
#include "cli.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "units.h"

#define PAGE_CHANNELS 256
#define PAGE_RATE     30000.0

static void put_markdown(FILE *file, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '|' || *text == '*' || *text == '<')
            putc('\\', file);
        putc(*text, file);
    }
}

static void put_row(FILE *file, const weir_setting *setting)
{
    char text[512];
    if (setting->name == NULL || setting->type == WEIR_SETTING_IGNORED)
        return;
    fprintf(file, "| `%s` | %s | %s | %s | ", setting->name, unit_type_text(setting),
            unit_physical_text(setting), unit_preset_text(setting));
    put_markdown(file, unit_range_text(setting, text, sizeof text));
    fputs(" | ", file);
    put_markdown(file, setting->help != NULL ? setting->help : "");
    fputs(" |\n", file);
}

static void put_settings(const weir_unit_info *unit, FILE *file)
{
    if (unit->settings == NULL || unit->settings->name == NULL)
        return;
    weir_setting gap = unit_gap_setting(unit);
    fputs("| setting | type | unit | default | allowed | |\n|---|---|---|---|---|---|\n", file);
    for (const weir_setting *setting = unit->settings; setting->name != NULL; setting++)
        put_row(file, setting);
    put_row(file, &gap);
    putc('\n', file);
    unit_put_lines(unit, file, "`");
}

static void put_paragraph(FILE *file, const char *title, const char *text)
{
    if (text == NULL)
        return;
    fprintf(file, "**%s.** ", title);
    put_markdown(file, text);
    fputs("\n\n", file);
}

static void put_frames(FILE *file, const char *name, uint64_t frames, double rate_hz)
{
    char text[CLI_FIGURE];
    fprintf(file, "%s %s", name,
            frames == WEIR_SETTLES_NEVER
                ? "never"
                : cli_duration((double)frames / rate_hz, text, sizeof text));
}

/* Lag, delay, settling and bytes of the unit's parts of a plan. */
static void put_plan(const weir_unit_info *unit, const weir_plan *plan, FILE *file)
{
    char text[CLI_FIGURE];
    for (size_t i = 0; i < plan->part_count; i++) {
        const weir_plan_part *part = weir_plan_part_at(plan, i);
        const char *name = strchr(part->name, ' ');
        if (strcmp(part->kind, "unit") != 0 || name == NULL || strcmp(name + 1, unit->name) != 0)
            continue;
        fprintf(file,
                "**Time and memory.** The example at %d channels and 30 kHz: ", PAGE_CHANNELS);
        put_frames(file, "lag", part->lag_frames, part->input_rate_hz);
        if (isnan(part->delay_frames))
            fputs(", delay depends on the frequency", file);
        else
            fprintf(file, ", delay %s",
                    cli_duration(part->delay_frames / part->input_rate_hz, text, sizeof text));
        put_frames(file, ", settling", part->settle_frames, part->input_rate_hz);
        fprintf(file, " (to 1e-6), state and constants %s.\n\n",
                cli_bytes(part->bytes, text, sizeof text));
        return;
    }
}

/* Plans the unit's example. Each unit decides which streams it accepts: if it refuses this one,
 * nothing is written. */
static void put_example_plan(const weir_unit_info *unit, FILE *file)
{
    static char names[PAGE_CHANNELS][12];
    static const char *labels[PAGE_CHANNELS];
    for (int i = 0; i < PAGE_CHANNELS; i++) {
        snprintf(names[i], sizeof names[i], "%d", i);
        labels[i] = names[i];
    }
    char *example = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&example, &size);
    if (memory == NULL)
        return;
    fputs("chain:\n", memory);
    unit_put_example(unit, memory, "  ");
    fclose(memory);
    weir_spec spec = weir_spec_make(WEIR_F32, PAGE_RATE, PAGE_CHANNELS, labels, NULL);
    weir_chain *chain = NULL;
    const weir_plan *plan = NULL;
    if (weir_config_parse(example, size, unit->name, NULL, &chain) == WEIR_OK &&
        weir_chain_plan(chain, &spec, &plan) == WEIR_OK)
        put_plan(unit, plan, file);
    weir_chain_destroy(chain);
    free(example);
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
    if (*unit_flags_text(unit, text, sizeof text) != '\0')
        fprintf(file, "This unit %s.\n\n", text);
    put_paragraph(file, "Formula", unit->formula);
    put_paragraph(file, "Source", unit->source);
    put_settings(unit, file);
    put_paragraph(file, "Start", unit->start);
    put_example_plan(unit, file);
    put_paragraph(file, "ezmsg-sigproc", unit->ezmsg);
    put_paragraph(file, "Differences", unit->differs);
    fputs("```yaml\nchain:\n", file);
    unit_put_example(unit, file, "  ");
    fprintf(file,
            "```\n\nThe first channel of a synthetic neural recording, before and "
            "after:\n\n![input and "
            "output](%s.svg)\n",
            unit->name);
}

/* ---- ezmsg-sigproc's classes ---------------------------------------------------------------------------------- */

/* Classes without a corresponding unit, and why. */
static const struct {
    const char *name, *why;
} left_out[] = {
    {"materialize.MaterializeTransformer", "evaluates lazy arrays; there are none in a chain"},
    {"sampler.SamplerTransformer", "cuts out epochs at triggers, which come from a live stream"},
    {"sampler.TriggerProducer", "produces triggers of a live stream"},
    {"align.AlignAlongAxisProcessor",
     "aligns streams by the time of arrival; inputs of a chain have one clock"},
    {"resampleconcat.ResampleConcatProcessor",
     "joins streams of different clocks; inputs of a chain have one clock"},
};

/* Writes one row for each name of a list separated by spaces. */
static void put_classes(const weir_unit_info *unit, FILE *file)
{
    for (const char *at = unit->ezmsg; at != NULL && *at != '\0';) {
        size_t length = strcspn(at, " ");
        fprintf(file, "| `%.*s` | [%s](units/%s.md) | ", (int)length, at, unit->name, unit->name);
        put_markdown(file, unit->differs != NULL ? unit->differs : "");
        fputs(" |\n", file);
        at += length + strspn(at + length, " ");
    }
}

void cli_ezmsg_markdown(FILE *file)
{
    fputs("# Coming from ezmsg-sigproc\n\nClasses of ezmsg-sigproc 3.11.1 and the units that stand "
          "for them. Settings have the same names; those that only choose an implementation are "
          "accepted and ignored. Where a duration is not a whole number of frames, weir computes "
          "from the decimal text (9 ms at 25 kHz are 225 frames; binary floating point gives "
          "224).\n\n| class | unit | what differs, and why |\n|---|---|---|\n",
          file);
    for (size_t i = 0; i < weir_unit_count(); i++)
        put_classes(weir_unit_at(i), file);
    fputs("\n## Classes without a unit\n\n| class | why |\n|---|---|\n", file);
    for (size_t i = 0; i < sizeof left_out / sizeof left_out[0]; i++)
        fprintf(file, "| `%s` | %s |\n", left_out[i].name, left_out[i].why);
}

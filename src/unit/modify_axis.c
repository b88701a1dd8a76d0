/* SPDX-License-Identifier: MIT
 *
 * modify_axis.c: other names for dimensions. Values pass through.
 */
#include <string.h>

#include "unit/unit.h"

typedef struct modify_settings {
    const weir_value *name_map;
} modify_settings;

static const weir_setting table[] = {
    {.name = "name_map",
     .type = WEIR_SETTING_ANY,
     .preset = NULL,
     .offset = offsetof(modify_settings, name_map),
     .help = "a map of dimensions to their new names, as in {win: time}",
     .example = "{time: sample}"},
    {.name = NULL},
};

static weir_err check_entry(const weir_spec *in, const weir_value *entry)
{
    if (weir_spec_dim(in, entry->key) < 0) {
        return weiri_fail(WEIR_E_CHAIN, "name_map: there is no dimension '%.60s'", entry->key);
    }
    if (strcmp(entry->key, "ch") == 0) {
        return weiri_fail(WEIR_E_CHAIN,
                          "name_map: 'ch' cannot be renamed: units know the channels by it");
    }
    if (entry->type != WEIR_VALUE_TEXT || entry->text[0] == '\0') {
        return weiri_fail(WEIR_E_CHAIN,
                          "name_map: %.60s: expected a name; no dimension can be removed",
                          entry->key);
    }
    return WEIR_OK;
}

static const char *copy_text(weiri_unit_plan *plan, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = plan->memory.get(plan->memory.user, size);
    return copy == NULL ? NULL : memcpy(copy, text, size);
}

/* All at once, so that names can be exchanged. */
static weir_err plan(const void *settings, weiri_unit_plan *plan)
{
    const weir_value *map = ((const modify_settings *)settings)->name_map;
    const weir_spec *in = plan->in;
    weir_spec *out = &plan->out;
    if (map->type != WEIR_VALUE_MAP) {
        return weiri_fail(WEIR_E_CHAIN, "name_map: expected a map, as in {win: time}");
    }
    for (size_t i = 0; i < map->count; i++) {
        weir_err err = check_entry(in, &map->items[i]);
        if (err != WEIR_OK) {
            return err;
        }
        weir_axis *axis = &out->dims[weir_spec_dim(in, map->items[i].key)];
        axis->name = copy_text(plan, map->items[i].text);
        if (axis->name == NULL) {
            return WEIR_E_NOMEM;
        }
    }
    for (uint32_t i = 1; i < out->dim_count; i++) {
        int first = weir_spec_dim(out, out->dims[i].name);
        if (first != (int)i) {
            return weiri_fail(WEIR_E_CHAIN, "name_map: two dimensions would be called '%s'",
                              out->dims[i].name);
        }
    }
    return WEIR_OK;
}

static void run(weiri_block *block, const weiri_work *work)
{
    if (work->out != work->in[0]) {
        memcpy(work->out, work->in[0], work->consume * (size_t)weir_spec_frame_bytes(block->in));
    }
    weiri_look_for_missing(block, work->out, work->consume);
}

const weiri_unit_ops weiri_unit_modify_axis = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "modify_axis",
             .summary = "renames dimensions",
             .before = NULL,
             .formula = "y = x",
             .start = "No state.",
             .differs = "Stands for ezmsg.util.messages.modify.ModifyAxisTransformer. A dimension "
                        "can be renamed, "
                        "not removed.",
             .flags = WEIR_UNIT_IN_PLACE | WEIR_UNIT_COLUMNWISE | WEIR_UNIT_COMPLEX |
                      WEIR_UNIT_ANY_DTYPE,
             .settings = table},
    .settings_bytes = sizeof(modify_settings),
    .plan = plan,
    .run = run,
};

/* SPDX-License-Identifier: MIT
 *
 * state.c: the chain's state as bytes, and back (S10). State is saved as the whole width has it, field by field in
 * channel order, whatever blocks, threads and tiles it was computed in. A state belongs to a chain: what was planned
 * (units, specs, counts, fields) and the settings that cannot change meanwhile must be equal, in the same version and
 * at the same SIMD level, else the bits could differ.
 */
#include <string.h>

#include "chain/chain.h"
#include "kernel/kernel.h"

#define MAGIC  UINT64_C(0x3174617473726977) /* "wirstat1" */
#define SCHEME 1u                           /* of the bytes after the head */

typedef struct state_head {
    uint64_t magic;
    uint32_t scheme, head_bytes;
    uint64_t bytes, checksum; /* of all; of what follows the head */
    char version[24], level[16];
    uint64_t input, chain; /* what was planned: hashes */
} state_head;

/* ---- hashes -------------------------------------------------------------------------------------- */

/* FNV-1a over 64-bit words: finds damage and mistakes, not malice. */
uint64_t weiri_hash(uint64_t so_far, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    for (; bytes >= 8; bytes -= 8, at += 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        so_far = (so_far ^ word) * UINT64_C(0x100000001b3);
        so_far ^= so_far >> 29;
    }
    for (; bytes > 0; bytes--, at++) {
        so_far = (so_far ^ *at) * UINT64_C(0x100000001b3);
    }
    return so_far;
}

uint64_t weiri_hash_text(uint64_t so_far, const char *text)
{
    return text == NULL ? weiri_hash(so_far, "\1", 1) : weiri_hash(so_far, text, strlen(text) + 1);
}

static uint64_t hash_spec(uint64_t h, const weir_spec *spec)
{
    h = weiri_hash(h, &spec->dtype, sizeof spec->dtype);
    h = weiri_hash(h, &spec->rate_hz, sizeof spec->rate_hz);
    h = weiri_hash(h, &spec->scale, sizeof spec->scale);
    for (uint32_t i = 0; i < spec->dim_count; i++) {
        const weir_axis *axis = &spec->dims[i];
        h = weiri_hash_text(h, axis->name);
        h = weiri_hash(h, &axis->size, sizeof axis->size);
        h = weiri_hash(h, &axis->start, sizeof axis->start);
        h = weiri_hash(h, &axis->step, sizeof axis->step);
        h = weiri_hash(h, axis->values,
                       axis->values == NULL ? 0 : axis->size * sizeof *axis->values);
        for (uint64_t k = 0; axis->labels != NULL && k < axis->size; k++) {
            h = weiri_hash_text(h, axis->labels[k]);
        }
    }
    return h;
}

static uint64_t hash_value(uint64_t h, const weir_value *value)
{
    if (value == NULL) {
        return weiri_hash_text(h, NULL);
    }
    h = weiri_hash(h, &value->type, sizeof value->type);
    h = weiri_hash(weiri_hash_text(h, value->key), &value->number, sizeof value->number);
    h = weiri_hash(weiri_hash_text(h, value->text), &value->count, sizeof value->count);
    for (size_t i = 0; i < value->count; i++) {
        h = hash_value(h, &value->items[i]);
    }
    return h;
}

/* Of a setting that is a number, a choice or a truth. */
static size_t plain_bytes(const weir_setting *row)
{
    return row->type == WEIR_SETTING_BOOL   ? sizeof(bool)
           : row->type == WEIR_SETTING_ENUM ? sizeof(int)
                                            : sizeof(double);
}

/* What a setting was read as, by value: another chain has other pointers. */
static uint64_t hash_setting(uint64_t h, const weir_setting *row, const void *settings)
{
    const void *field = (const unsigned char *)settings + row->offset;
    const weir_list *list = field;
    const weir_matrix *matrix = field;
    switch (row->type) {
    case WEIR_SETTING_IGNORED:
        return h;
    case WEIR_SETTING_STRING:
        return weiri_hash_text(h, *(const char *const *)field);
    case WEIR_SETTING_ANY:
        return hash_value(h, *(const weir_value *const *)field);
    case WEIR_SETTING_ENUM_LIST:
        h = weiri_hash(h, &list->listed, sizeof list->listed);
        return weiri_hash(h, list->of.choices, list->count * sizeof *list->of.choices);
    case WEIR_SETTING_LIST:
        h = weiri_hash(h, &list->listed, sizeof list->listed);
        return weiri_hash(h, list->of.numbers, list->count * sizeof *list->of.numbers);
    case WEIR_SETTING_MATRIX:
        h = weiri_hash(h, &matrix->columns, sizeof matrix->columns);
        return weiri_hash(h, matrix->numbers,
                          matrix->rows * matrix->columns * sizeof *matrix->numbers);
    default:
        return weiri_hash(h, field, plain_bytes(row));
    }
}

static uint64_t hash_fixed_settings(uint64_t h, const weiri_node *node)
{
    const weir_setting *row = node == NULL ? NULL : node->ops->info.settings;
    for (; row != NULL && row->name != NULL; row++) {
        h = row->live ? h : hash_setting(weiri_hash_text(h, row->name), row, node->settings);
    }
    return h;
}

/* All that outputs follow from but input, state and live settings. */
static uint64_t hash_chain(const weir_chain *chain)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (int i = 0; i < chain->plan->step_count; i++) {
        const weiri_step *step = &chain->plan->steps[i];
        const weiri_unit_plan *unit = &step->unit;
        h = weiri_hash_text(h, step->ops->info.name);
        h = weiri_hash(h, step->parents, sizeof step->parents);
        h = weiri_hash(h, step->skip, sizeof step->skip);
        h = weiri_hash(h, &unit->due, sizeof unit->due);
        h = weiri_hash(h, &unit->record_frames, sizeof unit->record_frames);
        h = weiri_hash(h, &unit->record_delay, sizeof unit->record_delay);
        h = hash_spec(h, &step->out);
        for (size_t k = 0; k < unit->field_count; k++) {
            h = weiri_hash_text(h, unit->fields[k].name);
            h = weiri_hash(h, &unit->fields[k].rows, sizeof unit->fields[k].rows);
            h = weiri_hash(h, &unit->fields[k].lanes, sizeof unit->fields[k].lanes);
        }
        h = hash_fixed_settings(h, step->node);
        bool holds = step->node != NULL && step->node->holds;
        h = weiri_hash(h, &holds, sizeof holds);
    }
    return h;
}

static state_head head_of(const weir_chain *chain)
{
    state_head head = {.magic = MAGIC, .scheme = SCHEME, .head_bytes = sizeof head};
    strncpy(head.version, WEIR_VERSION, sizeof head.version - 1);
    strncpy(head.level, weiri_kernels_get()->level, sizeof head.level - 1);
    head.input = hash_spec(UINT64_C(0xcbf29ce484222325), &chain->plan->input);
    head.chain = hash_chain(chain);
    return head;
}

/* ---- going through it ---------------------------------------------------------------------------- */

/* One walk over all that is saved, in one order, for each of three ends: to count bytes, to write, to read. */
typedef enum walk_mode { COUNT, WRITE, READ } walk_mode;

typedef struct walk {
    const weir_chain *chain;
    walk_mode mode;
    unsigned char *at;
    uint64_t bytes, size; /* so far; of the blob */
    bool short_of;        /* the blob ended too early */
} walk;

static void pass(walk *w, void *value, size_t bytes)
{
    w->bytes += bytes;
    if (w->mode == COUNT || w->short_of) {
        return;
    }
    if (w->bytes > w->size) {
        w->short_of = true;
        return;
    }
    if (w->mode == WRITE) {
        memcpy(w->at, value, bytes);
    } else {
        memcpy(value, w->at, bytes);
    }
    w->at += bytes;
}

/* One column's entries of a field. */
static void pass_column(
    walk *w, const weiri_field *field, uint64_t columns, uint64_t column, unsigned char *data)
{
    if (field->lanes == 1) {
        pass(w, data + column * field->rows * field->bytes, (size_t)(field->rows * field->bytes));
        return;
    }
    for (uint64_t row = 0; row < field->rows; row++) {
        pass(w, data + weiri_field_at(field, columns, row, column) * field->bytes, field->bytes);
    }
}

static const weiri_block *
block_at(const weiri_step *step, const weiri_step_run *run, uint64_t channel)
{
    for (int b = step->blocks - 1; b > 0; b--) {
        if (channel >= run->blocks[b].first_channel) {
            return &run->blocks[b];
        }
    }
    return &run->blocks[0];
}

/* Rows of all columns: a piece of each block at a time. */
static void pass_rows(walk *w, const weiri_step *step, const weiri_step_run *run, size_t number)
{
    const weiri_field *field = &step->unit.fields[number];
    weiri_split split = weiri_spec_channels(step->in);
    for (uint64_t row = 0; row < field->rows; row++) {
        for (uint64_t outer = 0; outer < split.outer; outer++) {
            for (int b = 0; b < step->blocks; b++) {
                const weiri_block *block = &run->blocks[b];
                uint64_t piece = block->channels * split.inner;
                uint64_t from = (row * split.outer + outer) * piece;
                pass(w, (unsigned char *)block->state[number] + from * field->bytes,
                     (size_t)(piece * field->bytes));
            }
        }
    }
}

static void pass_field(walk *w, const weiri_step *step, const weiri_step_run *run, size_t number)
{
    const weiri_field *field = &step->unit.fields[number];
    if (field->by_block) {
        for (int b = 0; b < (w->mode == READ ? step->blocks : 1); b++) {
            walk again = *w;
            walk *to = b == 0 ? w : &again; /* the same bytes for every block */
            if (b > 0) {
                again.at -= field->rows * field->bytes;
                again.bytes -= field->rows * field->bytes;
            }
            pass(to, run->blocks[b].state[number], (size_t)(field->rows * field->bytes));
        }
        return;
    }
    if (field->lanes == 0) {
        pass_rows(w, step, run, number);
        return;
    }
    weiri_split split = weiri_spec_channels(step->in);
    for (uint64_t column = 0; column < split.outer * split.size * split.inner; column++) {
        uint64_t outer = column / (split.size * split.inner);
        uint64_t channel = column / split.inner % split.size;
        const weiri_block *block = block_at(step, run, channel);
        uint64_t own = (outer * block->channels + channel - block->first_channel) * split.inner +
                       column % split.inner;
        pass_column(w, field, weir_spec_columns(block->in), own, block->state[number]);
    }
}

static void pass_step(walk *w, int number)
{
    const weiri_step *step = &w->chain->plan->steps[number];
    weiri_step_run *run = &w->chain->running->steps[number];
    pass(w, &run->consumed, sizeof run->consumed);
    pass(w, &run->produced, sizeof run->produced);
    pass(w, &run->unfinished, sizeof run->unfinished);
    weiri_step_gather_counts(w->chain, number);
    uint64_t saturated = 0;
    for (int b = 0; b < step->blocks; b++) {
        saturated += run->blocks[b].saturated;
    }
    pass(w, &saturated, sizeof saturated);
    for (int b = 0; w->mode == READ && b < step->blocks; b++) {
        run->blocks[b].saturated = b == 0 ? saturated : 0;
    }
    pass(w, run->blocks[0].missing,
         step->channels * sizeof *run->blocks[0].missing); /* side by side */
    for (size_t i = 0; i < step->unit.field_count; i++) {
        pass_field(w, step, run, i);
    }
}

/* What a join has taken, and what waits before one. All other edges are empty between two calls. By step: which
 * steps make a group is another matter in another chain. */
static void pass_waiting(walk *w, const weiri_step *step)
{
    const weiri_group *group = &w->chain->plan->groups[step->group];
    weiri_group_run *run = &w->chain->running->groups[step->group];
    for (int k = 0; step->inputs > 1 && k < step->inputs; k++) {
        pass(w, &run->taken[k], sizeof run->taken[k]);
    }
    if (!group->feeds_join || group->last != step) {
        return;
    }
    uint64_t frames = run->edge.frames;
    pass(w, &run->edge.first, sizeof run->edge.first);
    pass(w, &frames, sizeof frames);
    if (frames > group->capacity) {
        w->short_of = true;
        return;
    }
    if (w->mode == READ) {
        run->edge.frames = (size_t)frames;
        run->edge.data = run->edge.base;
    }
    if (frames > 0) {
        pass(w, run->edge.data, (size_t)frames * step->frame_bytes);
    }
}

/* The live settings of a node, as they are in its settings struct. */
static void pass_settings(walk *w, const weiri_node *node, void *settings)
{
    for (const weir_setting *row = node->ops->info.settings; row != NULL && row->name != NULL;
         row++) {
        unsigned char *field = (unsigned char *)settings + row->offset;
        if (row->live) {
            pass(w, field, plain_bytes(row));
        }
    }
}

static void pass_stream(walk *w, weiri_running *running)
{
    pass(w, &running->in_segment, sizeof running->in_segment);
    pass(w, &running->segment_in, sizeof running->segment_in);
    pass(w, &running->index_in, sizeof running->index_in);
    pass(w, &running->segment, sizeof running->segment);
    pass(w, &running->segment_start_ns, sizeof running->segment_start_ns);
    pass(w, &running->segments, sizeof running->segments);
    pass(w, &running->frames_in, sizeof running->frames_in);
    pass(w, &running->frames_out, sizeof running->frames_out);
    pass(w, &running->input.first, sizeof running->input.first);
}

static void pass_state(walk *w)
{
    pass_stream(w, w->chain->running);
    for (int i = 0; i < w->chain->plan->step_count; i++) {
        pass_step(w, i);
    }
    for (int i = 0; i < w->chain->plan->step_count; i++) {
        pass_waiting(w, &w->chain->plan->steps[i]);
    }
}

static void pass_all_settings(walk *w, bool spare)
{
    for (weiri_node *node = w->chain->nodes; node != NULL; node = node->next) {
        pass_settings(w, node, spare ? node->spare_settings : node->settings);
    }
}

/* ---- save ---------------------------------------------------------------------------------------- */

static bool is_started(const weir_chain *chain)
{
    return chain != NULL && chain->plan != NULL && chain->running->buffer != NULL;
}

uint64_t weir_chain_state_bytes(const weir_chain *chain)
{
    if (!is_started(chain)) {
        return 0;
    }
    walk w = {.chain = chain, .mode = COUNT};
    pass_all_settings(&w, false);
    pass_state(&w);
    return sizeof(state_head) + w.bytes;
}

/* Between two tiles a branch is ahead by its lead at most; everything else is always as long. */
uint64_t weiri_state_most(const weir_chain *chain, const weiri_plan *plan)
{
    walk settings = {.chain = chain, .mode = COUNT};
    pass_all_settings(&settings, false);
    walk stream = {.chain = chain, .mode = COUNT};
    weiri_running none = {.buffer = NULL}; /* a plan does not run yet */
    pass_stream(&stream, &none);
    uint64_t bytes = sizeof(state_head) + settings.bytes + stream.bytes;
    for (int i = 0; i < plan->step_count; i++) {
        const weiri_step *step = &plan->steps[i];
        const weiri_group *group = &plan->groups[step->group];
        uint64_t columns = weir_spec_columns(step->in);
        bytes += (4 + step->channels + (step->inputs > 1 ? (uint64_t)step->inputs : 0)) *
                 sizeof(uint64_t);
        for (size_t k = 0; k < step->unit.field_count; k++) {
            const weiri_field *field = &step->unit.fields[k];
            bytes += (field->by_block ? 1 : columns) * field->rows * field->bytes;
        }
        if (group->feeds_join && group->last == step) {
            bytes += 2 * sizeof(uint64_t) + group->lead * step->frame_bytes;
        }
    }
    return bytes;
}

weir_err weir_chain_save(const weir_chain *chain, void *blob, size_t size)
{
    if (!is_started(chain) || blob == NULL) {
        return weiri_fail(WEIR_E_USAGE, "weir_chain_save: %s",
                          blob == NULL ? "NULL is not allowed" : "the chain has not started");
    }
    if (chain->running->pending || chain->running->input.frames > 0) {
        return weiri_fail(WEIR_E_USAGE,
                          "weir_chain_save: frames are waiting to be output; take them first");
    }
    uint64_t bytes = weir_chain_state_bytes(chain);
    if (size < bytes) {
        return weiri_fail(WEIR_E_USAGE,
                          "weir_chain_save: the state is %llu bytes, there is room for %zu",
                          (unsigned long long)bytes, size);
    }
    state_head head = head_of(chain);
    unsigned char *rest = (unsigned char *)blob + sizeof head;
    walk w = {.chain = chain, .mode = WRITE, .at = rest, .size = bytes - sizeof head};
    pass_all_settings(&w, false);
    pass_state(&w);
    head.bytes = bytes;
    head.checksum = weiri_hash(MAGIC, rest, (size_t)(bytes - sizeof head));
    memcpy(blob, &head, sizeof head);
    return WEIR_OK;
}

/* ---- restore ------------------------------------------------------------------------------------- */

static weir_err check_head(const weir_chain *chain, const void *blob, size_t size)
{
    state_head head, ours = head_of(chain);
    if (size < sizeof head) {
        return weiri_fail(WEIR_E_USAGE,
                          "the saved state is damaged: %zu bytes are less than its head", size);
    }
    memcpy(&head, blob, sizeof head);
    head.version[sizeof head.version - 1] = head.level[sizeof head.level - 1] = '\0';
    if (head.magic != MAGIC) {
        return weiri_fail(WEIR_E_USAGE, "this is no saved state of weir");
    }
    if (head.scheme != SCHEME || head.head_bytes != sizeof head ||
        strcmp(head.version, ours.version) != 0) {
        return weiri_fail(WEIR_E_USAGE, "the state was saved by weir %s; this is %s", head.version,
                          ours.version);
    }
    if (head.bytes != size ||
        head.checksum !=
            weiri_hash(MAGIC, (const unsigned char *)blob + sizeof head, size - sizeof head)) {
        return weiri_fail(WEIR_E_USAGE, "the saved state is damaged: %s",
                          head.bytes != size ? "its length is not the stated one"
                                             : "its checksum differs");
    }
    if (strcmp(head.level, ours.level) != 0) {
        return weiri_fail(WEIR_E_USAGE,
                          "the state was saved at SIMD level %s; this process runs at %s "
                          "(WEIR_SIMD sets it)",
                          head.level, ours.level);
    }
    if (head.input != ours.input) {
        return weiri_fail(WEIR_E_USAGE,
                          "the state was saved for an input of another shape, rate or labels");
    }
    if (head.chain != ours.chain) {
        return weiri_fail(WEIR_E_USAGE,
                          "the state was saved by another chain: its units or settings differ");
    }
    return WEIR_OK;
}

/* The saved live settings, all of them or none. */
static weir_err restore_settings(weir_chain *chain, walk *w)
{
    for (weiri_node *node = chain->nodes; node != NULL; node = node->next) {
        memcpy(node->spare_settings, node->settings, node->ops->settings_bytes);
    }
    pass_all_settings(w, true);
    if (w->short_of) {
        return weiri_fail(WEIR_E_USAGE, "the saved state is damaged: it is too short");
    }
    for (weiri_node *node = chain->nodes; node != NULL; node = node->next) {
        if (weiri_step_is_live(&chain->plan->steps[chain->plan->node_steps[node->number]])) {
            weir_err err = weiri_live_try(chain, node, "a saved setting");
            if (err != WEIR_OK) {
                return err;
            }
        }
    }
    for (weiri_node *node = chain->nodes; node != NULL; node = node->next) {
        if (weiri_step_is_live(&chain->plan->steps[chain->plan->node_steps[node->number]])) {
            weiri_live_exchange(chain, node);
        }
    }
    return WEIR_OK;
}

/* Edges that are empty, and what groups have taken of them, follow from the steps' places. */
static void place_groups(weir_chain *chain)
{
    for (int i = 0; i < chain->plan->group_count; i++) {
        const weiri_group *group = &chain->plan->groups[i];
        weiri_group_run *run = &chain->running->groups[i];
        if (!group->joins) {
            run->taken[0] = chain->running->steps[group->first->number].consumed;
        }
        if (!group->feeds_join) {
            run->edge.first = chain->running->steps[group->last->number].produced;
        }
    }
}

weir_err weir_chain_restore(weir_chain *chain, const void *blob, size_t size)
{
    if (chain == NULL || blob == NULL || chain->plan == NULL || chain->running->busy) {
        return weiri_fail(WEIR_E_USAGE, "weir_chain_restore: %s",
                          chain == NULL || blob == NULL ? "NULL is not allowed"
                          : chain->plan == NULL         ? "the chain has no plan yet"
                                                        : "called while the chain runs");
    }
    weir_err err = chain->running->buffer == NULL ? weiri_chain_start(chain) : WEIR_OK;
    if (err != WEIR_OK) {
        return err;
    }
    weir_chain_reset(chain);
    err = check_head(chain, blob, size);
    if (err != WEIR_OK) {
        return err;
    }
    walk w = {.chain = chain,
              .mode = READ,
              .at = (unsigned char *)(uintptr_t)blob + sizeof(state_head),
              .size = size - sizeof(state_head)};
    err = restore_settings(chain, &w);
    if (err != WEIR_OK) {
        return err;
    }
    pass_state(&w);
    if (w.short_of || w.bytes != w.size) {
        weir_chain_reset(chain);
        return weiri_fail(
            WEIR_E_USAGE,
            "the saved state is damaged: it does not have the length of this chain's");
    }
    place_groups(chain);
    return WEIR_OK;
}

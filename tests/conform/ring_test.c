/* SPDX-License-Identifier: MIT
 *
 * ring_test.c: S7 for every unit, with recycled buffers (SEEDS B7): a ring of one slot, in which
 * the next message, its spec included, overwrites exactly the bytes to which a kept view would
 * point; labels, units and settings are overwritten once the chain is planned. The output must
 * equal that of messages with memory of their own, names and axes included.
 */
#include "base/base.h"
#include "conform/kinds.h"

#define FRAMES  2600
#define LONGEST 300
#define TEXT    8192

static const double freqs[3] = {1.5, 20.25, 300.125};
static const char *units[TEST_CHANNELS];

/* The kinds of stream for all tests, here with units and a name, and one with an axis of
 * numbers. */
static size_t make_kinds(weir_spec *kinds)
{
    size_t count = test_kinds(kinds);
    for (size_t i = 0; i < TEST_CHANNELS; i++) {
        units[i] = "uV";
    }
    kinds[count] = weir_spec_make(WEIR_F32, 30000.0, TEST_CHANNELS, test_labels, units);
    kinds[count].dim_count = 3;
    kinds[count].dims[2] = (weir_axis){.name = "freq", .unit = "Hz", .size = 3, .values = freqs};
    count++;
    for (size_t i = 0; i < count; i++) {
        kinds[i].units = units;
        kinds[i].name = "array of the left side";
    }
    return count;
}

/* ---- memory that is taken back --------------------------------------------------------------------- */

/* Copies of everything to which a spec points. */
typedef struct lent {
    char *texts[256];
    size_t text_count;
    const char **lists[8];
    size_t list_sizes[8], list_count;
    double *values[8];
    size_t value_sizes[8], value_count;
} lent;

static const char *lend_text(lent *l, const char *text)
{
    if (text == NULL) {
        return NULL;
    }
    assert_true(l->text_count < 256);
    char *copy = malloc(strlen(text) + 1);
    assert_non_null(copy);
    strcpy(copy, text);
    l->texts[l->text_count++] = copy;
    return copy;
}

static const char *const *lend_list(lent *l, const char *const *list, size_t size)
{
    if (list == NULL) {
        return NULL;
    }
    const char **copy = malloc(size * sizeof *copy);
    assert_true(copy != NULL && l->list_count < 8);
    for (size_t i = 0; i < size; i++) {
        copy[i] = lend_text(l, list[i]);
    }
    l->list_sizes[l->list_count] = size;
    l->lists[l->list_count++] = copy;
    return copy;
}

static weir_spec lend(lent *l, const weir_spec *from)
{
    weir_spec spec = *from;
    spec.name = lend_text(l, from->name);
    spec.units = lend_list(l, from->units, TEST_CHANNELS);
    for (uint32_t i = 0; i < spec.dim_count; i++) {
        weir_axis *axis = &spec.dims[i];
        axis->name = lend_text(l, axis->name);
        axis->unit = lend_text(l, axis->unit);
        axis->labels = lend_list(l, axis->labels, (size_t)axis->size);
        if (axis->values != NULL) {
            double *copy = malloc((size_t)axis->size * sizeof *copy);
            assert_true(copy != NULL && l->value_count < 8);
            memcpy(copy, axis->values, (size_t)axis->size * sizeof *copy);
            l->value_sizes[l->value_count] = (size_t)axis->size;
            l->values[l->value_count++] = copy;
            axis->values = copy;
        }
    }
    return spec;
}

/* A kept view reads something of the right shape, without any error. */
static void recycle(lent *l)
{
    static const char other[] = "RECYCLED";
    for (size_t i = 0; i < l->text_count; i++) {
        memset(l->texts[i], '#', strlen(l->texts[i]));
    }
    for (size_t i = 0; i < l->list_count; i++) {
        for (size_t k = 0; k < l->list_sizes[i]; k++) {
            l->lists[i][k] = other;
        }
    }
    for (size_t i = 0; i < l->value_count; i++) {
        for (size_t k = 0; k < l->value_sizes[i]; k++) {
            l->values[i][k] = -777.0;
        }
    }
}

static void let_go(lent *l)
{
    for (size_t i = 0; i < l->text_count; i++) {
        free(l->texts[i]);
    }
    for (size_t i = 0; i < l->list_count; i++) {
        free(l->lists[i]);
    }
    for (size_t i = 0; i < l->value_count; i++) {
        free(l->values[i]);
    }
    *l = (lent){0};
}

/* ---- what is compared -------------------------------------------------------------------------------- */

/* A spec in words, so that what differs can be read. */
static void describe(const weir_spec *spec, char *text)
{
    size_t at = 0;
#define SAY(...) at += (size_t)snprintf(text + at, at < TEXT ? TEXT - at : 0, __VA_ARGS__)
    SAY("%s '%s' %.17g Hz", weir_dtype_name(spec->dtype), spec->name == NULL ? "" : spec->name,
        spec->rate_hz);
    int channels = weir_spec_dim(spec, "ch");
    for (uint64_t i = 0; spec->units != NULL && channels > 0 && i < spec->dims[channels].size;
         i++) {
        SAY(" %s", spec->units[i]);
    }
    for (uint32_t i = 0; i < spec->dim_count; i++) {
        const weir_axis *axis = &spec->dims[i];
        SAY("\n%s [%s] %llu %.17g %.17g:", axis->name, axis->unit, (unsigned long long)axis->size,
            axis->start, axis->step);
        for (uint64_t k = 0; axis->labels != NULL && k < axis->size; k++) {
            SAY(" %s", axis->labels[k]);
        }
        for (uint64_t k = 0; axis->values != NULL && k < axis->size; k++) {
            SAY(" %.17g", axis->values[k]);
        }
    }
#undef SAY
    assert_true(at < TEXT);
}

typedef struct result {
    test_output output;
    char spec[TEXT]; /* of the first block; expected of all others */
} result;

static weir_err take_block(void *user, const weir_message *block)
{
    result *r = user;
    static char text[TEXT];
    describe(block->spec, r->spec[0] == '\0' ? r->spec : text);
    if (text[0] != '\0') {
        assert_string_equal(text, r->spec);
        text[0] = '\0';
    }
    return test_collect(&r->output, block);
}

/* ---- the two ways ---------------------------------------------------------------------------------------- */

typedef struct fixture {
    const weir_unit_info *info;
    const weir_spec *kind;
    uint64_t seed, tile;
} fixture;

/* Memory of settings. */
typedef struct room {
    _Alignas(16) unsigned char bytes[16384];
    size_t used;
} room;

static void *room_get(void *user, size_t bytes)
{
    room *r = user;
    size_t rounded = (bytes + 15) / 16 * 16;
    assert_true(rounded <= sizeof r->bytes - r->used);
    void *at = memset(r->bytes + r->used, 0, bytes);
    r->used += rounded;
    return at;
}

/* NULL: the unit does not take such a stream. Settings are overwritten once they were given. */
static weir_chain *make_chain(const fixture *at, const weir_spec *spec)
{
    weir_value settings[TEST_SETTINGS];
    static room texts;
    texts.used = 0;
    size_t count = test_examples(at->info, settings);
    for (size_t i = 0; i < count; i++) {
        const weir_value *copy = weiri_value_copy(&settings[i], (weiri_memory){room_get, &texts});
        assert_non_null(copy);
        settings[i] = *copy;
    }
    weir_chain_options options = weir_chain_options_default();
    options.tile_frames = at->tile;
    weir_chain *chain = NULL;
    const weir_plan *plan = NULL;
    int node = 0;
    test_ok(weir_chain_create(&options, &chain));
    if (at->info->flags & WEIR_UNIT_JOINS) {
        int parents[2] = {WEIR_CHAIN_INPUT, 0};
        test_ok(test_add_second(chain, spec, &parents[1]));
        test_ok(weir_chain_join(chain, parents, 2, at->info->name, settings, count, NULL, &node));
    } else {
        test_ok(
            weir_chain_add(chain, WEIR_CHAIN_INPUT, at->info->name, settings, count, NULL, &node));
    }
    memset(texts.bytes, '#', texts.used);
    memset(settings, 0, sizeof settings);
    memset(&options, 0xA5, sizeof options);
    if (weir_chain_plan(chain, spec, &plan) != WEIR_OK) {
        weir_chain_destroy(chain);
        return NULL;
    }
    return chain;
}

/* A slot of the ring: frames and their description, next to each other. */
typedef struct slot {
    weir_spec spec;
    weir_message message;
    unsigned char frames[];
} slot;

static void
push_all(weir_chain *chain, const test_signal *signal, bool one_slot, uint64_t seed, result *r)
{
    test_random random = {seed};
    size_t frame_bytes = (size_t)weir_spec_frame_bytes(&signal->spec), count = 0;
    slot *slots[FRAMES];
    for (size_t at = 0; at < signal->frames;) {
        size_t frames = (size_t)test_random_below(&random, LONGEST + 1);
        frames = frames < signal->frames - at ? frames : signal->frames - at;
        if (count == 0 || !one_slot) {
            slots[count] = malloc(sizeof **slots + LONGEST * frame_bytes);
            assert_non_null(slots[count]);
            count++;
        }
        slot *here = slots[count - 1];
        here->spec = signal->spec;
        memset(here->frames, 0xA5, LONGEST * frame_bytes);
        memcpy(here->frames, signal->data + at * frame_bytes, frames * frame_bytes);
        here->message = (weir_message){
            .spec = &here->spec,
            .data = here->frames,
            .frames = frames,
            .first_index = (int64_t)at,
        };
        r->output.lent = here->frames;
        r->output.lent_end = here->frames + LONGEST * frame_bytes;
        test_ok(weir_chain_push(chain, &here->message, take_block, r));
        if (one_slot) {
            memset(&here->spec, 0xA5, sizeof here->spec);
            memset(&here->message, 0xA5, sizeof here->message);
        }
        at += frames;
    }
    for (size_t i = 0; i < count; i++) {
        free(slots[i]);
    }
}

static bool check_kind(const fixture *at)
{
    lent l = {0};
    weir_chain *chain = make_chain(at, at->kind);
    if (chain == NULL) {
        return false;
    }
    test_signal signal = test_signal_make(*at->kind, FRAMES, at->seed);
    static result owned, ring;
    static char spec[TEXT];
    owned = ring = (result){0};
    push_all(chain, &signal, false, at->seed, &owned);
    weir_chain_destroy(chain);

    weir_spec borrowed = lend(&l, at->kind);
    chain = make_chain(at, &borrowed);
    assert_non_null(chain);
    recycle(&l);
    memset(&borrowed, 0xA5, sizeof borrowed);
    push_all(chain, &signal, true, at->seed, &ring);
    describe(weir_chain_output_spec(chain, 0), spec);
    weir_unit_report report = {.report_size = sizeof report};
    test_ok(weir_chain_node_report(chain, weir_chain_node_count(chain) - 1, &report));
    size_t length =
        strlen(at->info->name); /* of a unit that consists of several: and its last part */
    assert_true(strncmp(report.name, at->info->name, length) == 0 &&
                (report.name[length] == '\0' || report.name[length] == '.'));
    test_same(&owned.output, &ring.output, at->info->name);
    assert_string_equal(owned.spec, ring.spec);
    assert_string_equal(owned.spec, spec);
    assert_true(owned.output.frames > 0);
    weir_chain_destroy(chain);
    test_output_free(&owned.output);
    test_output_free(&ring.output);
    free(signal.data);
    let_go(&l);
    return true;
}

static void unit_keeps_no_view(void **state)
{
    weir_spec kinds[TEST_KINDS + 1];
    size_t count = make_kinds(kinds), accepted = 0;
    fixture at = {.info = *state, .seed = test_seed()};
    static const uint64_t tiles[] = {WEIR_TILE_AUTO, 7};
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < sizeof tiles / sizeof tiles[0]; k++) {
            at.kind = &kinds[i];
            at.tile = tiles[k];
            accepted += check_kind(&at);
        }
    }
    assert_true(accepted > 0);
}

/* The test detects it: a view into the slot, kept, reads another message. */
static const void *kept;
static weir_err keep_view(void *user, const weir_message *block)
{
    (void)user;
    kept = block->data;
    return WEIR_OK;
}

static void a_kept_view_would_show(void **state)
{
    (void)state;
    weir_spec spec = weir_spec_make(WEIR_F32, 1000, 1, NULL, NULL);
    const weir_unit_info *info = NULL;
    test_ok(weir_unit_find("abs", &info));
    fixture at = {.info = info, .tile = WEIR_TILE_AUTO};
    weir_chain *chain = make_chain(&at, &spec);
    float slot_of_ring[4] = {-1, -2, -3, -4};
    weir_message message = {.spec = &spec, .data = slot_of_ring, .frames = 4};
    message.first_index = WEIR_INDEX_NEXT;
    test_ok(weir_chain_push(chain, &message, keep_view, NULL));
    assert_true(((const float *)kept)[0] == 1);
    slot_of_ring[0] = -9;
    test_ok(weir_chain_push(chain, &message, keep_view, NULL));
    assert_true(((const float *)kept)[0] == 9); /* valid during the call only, and recycled since */
    weir_chain_destroy(chain);
}

int main(void)
{
    size_t count = weir_unit_count();
    struct CMUnitTest *tests = calloc(count + 1, sizeof *tests);
    for (size_t i = 0; tests != NULL && i < count; i++) {
        const weir_unit_info *info = weir_unit_at(i);
        tests[i] = (struct CMUnitTest){
            .name = info->name,
            .test_func = unit_keeps_no_view,
            .initial_state = (void *)(uintptr_t)info,
        };
    }
    if (tests != NULL) {
        tests[count] = (struct CMUnitTest)cmocka_unit_test(a_kept_view_would_show);
    }
    int failed = tests == NULL ? 1 : _cmocka_run_group_tests("ring", tests, count + 1, NULL, NULL);
    free(tests);
    return failed;
}

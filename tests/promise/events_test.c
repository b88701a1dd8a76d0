/* SPDX-License-Identifier: MIT
 *
 * Events: each segment is reported once, between the outputs of the one before and its own, with
 * the time between them; notices that a source finds while it is read are reported once each; in
 * the program's floating-point mode.
 */
#include <fenv.h>

#include "conform/stream.h"

typedef struct told {
    weir_event events[16];
    size_t count, blocks, blocks_before[16];
    int round;
} told;

static void tell(void *user, const weir_event *event)
{
    told *t = user;
    assert_true(t->count < 16 && event->event_size == sizeof *event);
    t->blocks_before[t->count] = t->blocks;
    t->events[t->count++] = *event;
    t->round = fegetround();
}

static weir_err count_blocks(void *user, const weir_message *block)
{
    (void)block;
    ((told *)user)->blocks++;
    return WEIR_OK;
}

static weir_chain *make(told *t, const weir_spec *spec)
{
    weir_chain *chain = NULL;
    const weir_plan *plan = NULL;
    int node;
    test_ok(weir_chain_create(NULL, &chain));
    test_ok(weir_chain_add(chain, WEIR_CHAIN_INPUT, "abs", NULL, 0, NULL, &node));
    weir_chain_on_event(chain, tell, t);
    if (spec != NULL) {
        test_ok(weir_chain_plan(chain, spec, &plan));
    }
    return chain;
}

static void push(weir_chain *chain, told *t, weir_message message)
{
    test_ok(weir_chain_push(chain, &message, count_blocks, t));
}

static void segments(void **state)
{
    (void)state;
    weir_spec spec = weir_spec_make(WEIR_F32, 1000, 2, NULL, NULL);
    float data[100 * 2] = {0};
    told t = {.count = 0};
    weir_chain *chain = make(&t, &spec);
    weir_message next = {.data = data, .frames = 100, .first_index = WEIR_INDEX_NEXT};
    push(chain, &t, (weir_message){.data = data, .frames = 0}); /* starts nothing */
    assert_int_equal(t.count, 0);
    int round = fegetround();
    fesetround(FE_UPWARD);
    push(chain, &t, next);
    fesetround(round);
    assert_int_equal(t.round, FE_UPWARD); /* S6 */
    push(chain, &t, next);
    assert_int_equal(t.count, 1);
    assert_true(t.events[0].kind == WEIR_EVENT_SEGMENT && t.events[0].segment == 0);
    assert_true(t.events[0].gap_ns == 0 && t.events[0].text == NULL && t.blocks_before[0] == 0);
    /* 200 frames of 1 ms; then a jump to frame 250. */
    next.first_index = 250;
    push(chain, &t, next);
    assert_int_equal(t.count, 2);
    assert_true(t.events[1].segment == 1 && t.events[1].start_ns == 250000000);
    assert_true(t.events[1].gap_ns == 50000000 && t.blocks_before[1] == 2);
    /* Another number: its time is its own, and went back. */
    push(chain, &t,
         (weir_message){.data = data, .frames = 10, .segment = 7, .segment_start_ns = 300000000});
    assert_true(t.count == 3 && t.events[2].segment == 2 && t.events[2].start_ns == 300000000);
    assert_true(t.events[2].gap_ns == -50000000);
    /* A finish ends a segment; the next push starts another. After a reset there is none before. */
    test_ok(weir_chain_finish(chain, count_blocks, &t));
    assert_int_equal(t.count, 3);
    push(chain, &t, (weir_message){.data = data, .frames = 10, .segment_start_ns = 310000000});
    assert_true(t.count == 4 && t.events[3].gap_ns == 0 && t.events[3].start_ns == 310000000);
    weir_chain_reset(chain);
    push(chain, &t, (weir_message){.data = data, .frames = 10, .segment_start_ns = 900000000});
    assert_true(t.count == 5 && t.events[4].gap_ns == 0);
    weir_chain_on_event(chain, NULL, NULL);
    next.first_index = 5000;
    push(chain, &t, next);
    assert_int_equal(t.count, 5);
    weir_chain_destroy(chain);
}

/* A source that finds something in its second read. */
typedef struct finder {
    test_source source;
    const char *lines[2];
} finder;

static weir_err find(weir_source *source, void *rows, size_t capacity, weir_message *ret)
{
    finder *self = (finder *)(void *)source;
    if (self->source.at > 0) {
        self->source.info.notice_count = 2;
    }
    return test_source_read(source, rows, capacity, ret);
}

static void notices(void **state)
{
    (void)state;
    test_signal signal = test_signal_make(weir_spec_make(WEIR_F32, 1000, 2, NULL, NULL), 5000, 1);
    finder f = {.source = test_source_make(&signal, 0, 1),
                .lines = {"known before", "found later"}};
    weir_source_ops ops = *f.source.base.ops;
    ops.read = find;
    f.source.base.ops = &ops;
    f.source.info.notices = f.lines;
    f.source.info.notice_count = 1;
    told t = {.count = 0};
    weir_chain *chain = make(&t, NULL);
    const weir_plan *plan = NULL;
    weir_run_report report = {.report_size = sizeof report};
    test_ok(weir_chain_plan_run(chain, &f.source.base, NULL, 0, &plan));
    test_ok(weir_chain_run(chain, NULL, &report));
    assert_int_equal(t.count, 2);
    assert_true(t.events[0].kind == WEIR_EVENT_SEGMENT);
    assert_true(t.events[1].kind == WEIR_EVENT_NOTICE);
    assert_string_equal(t.events[1].text, "found later");
    weir_chain_destroy(chain);
    free(signal.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(segments),
        cmocka_unit_test(notices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

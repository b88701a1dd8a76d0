/* SPDX-License-Identifier: MIT
 *
 * stated.h: compares what every unit states in the plan with its behaviour: settling with two
 * different starts, delay with an impulse, times over a day (S3), settings that can be changed
 * while running.
 */
#ifndef WEIR_TEST_STATED_H
#define WEIR_TEST_STATED_H

#include "conform/fixture.h"

#define SETTLE_MOST 30000 /* frames; longer settling is left to the unit's own test */
#define TOLERANCE   1e-6  /* at which a plan states the settling */

/* What a plan of this unit alone states; without its parts. */
typedef struct stated {
    weir_plan plan;
    weir_dtype dtype; /* of the output */
    double rate_hz, start_s;
} stated;

static stated stated_of(const fixture *at)
{
    const weir_plan *plan = NULL;
    weir_chain *chain = make_chain(at, 64, NULL);
    assert_non_null(chain);
    test_ok(weir_chain_plan(chain, &at->spec, &plan));
    stated s = {.plan = *plan};
    for (size_t i = 0; i < plan->part_count; i++) {
        const weir_plan_part *part = weir_plan_part_at(plan, i);
        if (strcmp(part->kind, "unit") == 0) {
            s.dtype = part->spec->dtype;
            s.rate_hz = part->spec->rate_hz;
            s.start_s = part->spec->dims[0].start - at->spec.dims[0].start;
        }
    }
    s.plan.parts = NULL;
    weir_chain_destroy(chain);
    return s;
}

static uint64_t due_of(const fixture *at, uint64_t frames)
{
    weir_chain *chain = make_chain(at, 64, NULL);
    uint64_t due = weir_chain_due(chain, 0, frames);
    weir_chain_destroy(chain);
    return due;
}

static size_t values_of(const test_output *output, weir_dtype dtype)
{
    return output->frames * output->frame_bytes / weir_dtype_bytes(weir_dtype_part(dtype));
}

/* The outputs of two runs whose inputs differ by at most 1 before a frame differ by at most the
 * tolerance from `settle` frames later on. */
static void check_settle(const fixture *at)
{
    enum { BEFORE = 700 };
    stated s = stated_of(at);
    if (s.plan.settle_frames > SETTLE_MOST) {
        return;
    }
    size_t frames = BEFORE + (size_t)s.plan.settle_frames + 300;
    test_signal one = test_signal_make(at->spec, frames, at->seed), two = test_signal_copy(&one);
    test_random random = {at->seed + 1};
    for (size_t i = 0; i < BEFORE * one.columns; i++) {
        double more = i % 3 == 0 ? 1.0 : (double)test_random_below(&random, 1000) * 0.001;
        test_signal_set(&two, i, test_signal_get(&one, i) + more);
    }
    test_output a = run_whole(at, &one, 64), b = run_whole(at, &two, 64);
    assert_int_equal(a.frames, b.frames);
    double worst = 0.0;
    size_t values = values_of(&a, s.dtype),
           from = (size_t)due_of(at, BEFORE + s.plan.settle_frames);
    for (size_t i = from * (a.frames > 0 ? values / a.frames : 0); i < values; i++) {
        double difference = fabs(output_get(&a, s.dtype, i) - output_get(&b, s.dtype, i));
        worst = difference > worst ? difference : worst;
    }
    if (worst > TOLERANCE + 1e-9) {
        print_error("settling: %llu frames later the outputs differ by %g\n",
                    (unsigned long long)s.plan.settle_frames, worst);
        fail();
    }
    test_output_free(&a);
    test_output_free(&b);
    free(one.data);
    free(two.data);
}

/* The centre of the response to an impulse is the stated delay after it. For units with ratio 1
 * that state a delay and settle. The centre of the response, or of its square if its sum is
 * about zero. */
static void check_delay(const fixture *at)
{
    enum { AT = 1500, HEIGHT = 1000 };
    stated s = stated_of(at);
    if (s.rate_hz != at->spec.rate_hz || isnan(s.plan.delay_frames) ||
        s.plan.settle_frames > FRAMES - AT - 100 || s.plan.delay_frames > FRAMES - AT - 100) {
        return;
    }
    test_signal one = test_signal_make(at->spec, FRAMES, at->seed), two = test_signal_copy(&one);
    for (size_t c = 0; c < one.columns; c++) {
        test_signal_set(&two, AT * one.columns + c,
                        test_signal_get(&one, AT * one.columns + c) + HEIGHT);
    }
    test_output a = run_whole(at, &one, 64), b = run_whole(at, &two, 64);
    assert_true(a.frames > 0 && a.frames == b.frames);
    size_t values = values_of(&a, s.dtype), width = values / a.frames;
    double sum = 0, magnitude = 0, moment = 0, square = 0, square_moment = 0;
    for (size_t i = 0; i < values; i++) {
        double h = output_get(&b, s.dtype, i) - output_get(&a, s.dtype, i);
        double frame = (double)(i / width) + s.start_s * s.rate_hz - AT;
        if (isfinite(h)) {
            sum += h, magnitude += fabs(h), moment += h * frame;
            square += h * h, square_moment += h * h * frame;
        }
    }
    double centre = fabs(sum) > 0.1 * magnitude ? moment / sum : square_moment / square;
    if (magnitude > 0 && fabs(centre - s.plan.delay_frames) > 0.02 + 0.001 * s.plan.delay_frames) {
        print_error("delay: %g frames are stated, an impulse's response is centred at %g\n",
                    s.plan.delay_frames, centre);
        fail();
    }
    test_output_free(&a);
    test_output_free(&b);
    free(one.data);
    free(two.data);
}

/* S3: after more than a day the time of the newest output frame is as far behind the input as in
 * the first minute. */
static void check_day(const fixture *at)
{
    stated s = stated_of(at);
    weir_chain *chain = make_chain(at, 64, NULL);
    long double least = 1e30L, most = -1e30L;
    for (uint64_t base = 0; base <= UINT64_C(4000000000); base += UINT64_C(1000000000)) {
        for (uint64_t i = 0; i < 60 * 1000; i++) {
            uint64_t n = base + i * 31 + s.plan.lag_frames + 1;
            long double behind = (long double)n / (long double)at->spec.rate_hz -
                                 (long double)weir_chain_due(chain, 0, n) / (long double)s.rate_hz;
            if (base == 0) {
                least = behind < least ? behind : least;
                most = behind > most ? behind : most;
            } else if (behind < least - 1e-6L || behind > most + 1e-6L) {
                print_error("S3: after %llu frames the output is %Lg s behind; in the first minute "
                            "%Lg to %Lg s\n",
                            (unsigned long long)n, behind, least, most);
                fail();
            }
        }
    }
    weir_chain_destroy(chain);
}

/* Another value of a setting: a number a tenth smaller, the other truth; false: there is none here. */
static bool other_value(const weir_setting *setting, char *text, size_t size)
{
    const char *now = setting->example != NULL ? setting->example : setting->preset;
    char *unit = NULL;
    double number = now != NULL ? strtod(now, &unit) : 0.0;
    if (setting->type == WEIR_SETTING_BOOL) {
        snprintf(text, size, "%s", now != NULL && strcmp(now, "true") == 0 ? "false" : "true");
        return true;
    }
    snprintf(text, size, "%.6g%s", 0.9 * number, unit != NULL ? unit : "");
    return now != NULL && unit != now &&
           (setting->type == WEIR_SETTING_NUMBER || setting->type == WEIR_SETTING_QUANTITY);
}

/* Frames [from, to) of one segment in pieces of up to `most` (0 = one piece). */
static void push_on(weir_chain *chain,
                    const test_signal *signal,
                    size_t from,
                    size_t to,
                    size_t most,
                    test_random *random,
                    test_output *output)
{
    size_t frame_bytes = (size_t)weir_spec_frame_bytes(&signal->spec);
    while (from < to) {
        size_t frames = most > 0 ? (size_t)test_random_below(random, most + 1) : to - from;
        frames = frames < to - from ? frames : to - from;
        weir_message message = {.spec = &signal->spec,
                                .data = signal->data + from * frame_bytes,
                                .frames = frames,
                                .first_index = (int64_t)from};
        test_ok(weir_chain_push(chain, &message, test_collect, output));
        from += frames;
    }
}

/* A setting changed between two frames: the same bits for any tile, threads and message
 * boundaries (S1); setting the same value again changes nothing. */
static void check_live(const fixture *at, const test_signal *signal, const test_output *whole)
{
    static const struct {
        uint64_t tile, threads;
        size_t cut;
        bool other;
    } ways[] = {{64, 1, 0, true}, {7, 2, 40, true}, {4096, 1, 900, true}, {64, 1, 40, false}};
    int node = (at->info->flags & WEIR_UNIT_JOINS) != 0 ? 1 : 0;
    size_t change = signal->frames / 2;
    test_random random = {at->seed + 3};
    char text[64];
    for (const weir_setting *row = at->info->settings; row != NULL && row->name != NULL; row++) {
        if (!row->live || !other_value(row, text, sizeof text)) {
            continue;
        }
        test_output first = {0};
        for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
            test_output output = {0};
            weir_chain *chain = make_chain_of(at, ways[i].tile, ways[i].threads, NULL);
            push_on(chain, signal, 0, change, ways[i].cut, &random, &output);
            const char *now = row->example != NULL ? row->example : row->preset;
            weir_value value = weir_text(row->name, ways[i].other ? text : now);
            weir_err err = weir_chain_set(chain, node, &value);
            /* out of range, with the other settings valid */
            if (ways[i].other && err == WEIR_E_CHAIN) {
                weir_chain_destroy(chain);
                test_output_free(&output);
                break;
            }
            test_ok(err);
            push_on(chain, signal, change, signal->frames, ways[i].cut, &random, &output);
            test_ok(weir_chain_finish(chain, test_collect, &output));
            if (i == 0) {
                first = output;
            } else {
                test_same(ways[i].other ? &first : whole, &output, "S1, live");
                test_output_free(&output);
            }
            weir_chain_destroy(chain);
        }
        test_output_free(&first);
    }
}

/* A setting changed before the start, or just after it: the same bits. */
static void check_live_early(const fixture *at, const test_signal *signal)
{
    int node = (at->info->flags & WEIR_UNIT_JOINS) != 0 ? 1 : 0;
    char text[64];
    for (const weir_setting *row = at->info->settings; row != NULL && row->name != NULL; row++) {
        test_output outputs[2] = {{0}, {0}};
        weir_err err = WEIR_OK;
        if (!row->live || !other_value(row, text, sizeof text)) {
            continue;
        }
        for (size_t started = 0; started < 2 && err == WEIR_OK; started++) {
            weir_chain *chain = make_chain(at, 64, NULL);
            weir_message none = {.spec = &signal->spec, .data = signal->data};
            weir_value value = weir_text(row->name, text);
            test_random random = {at->seed + 5};
            if (started == 1) {
                test_ok(weir_chain_push(chain, &none, NULL, NULL));
            }
            err = weir_chain_set(chain, node, &value);
            if (err == WEIR_OK) {
                push_on(chain, signal, 0, signal->frames, 300, &random, &outputs[started]);
                test_ok(weir_chain_finish(chain, test_collect, &outputs[started]));
            }
            weir_chain_destroy(chain);
        }
        if (err == WEIR_OK) {
            test_same(&outputs[0], &outputs[1], "live, before the start");
        }
        test_output_free(&outputs[0]);
        test_output_free(&outputs[1]);
    }
}

static void check_stated(const fixture *at, const test_signal *signal, const test_output *whole)
{
    if (at->spec.dtype == WEIR_F64) {
        check_settle(at);
        check_delay(at);
    }
    check_day(at);
    check_live(at, signal, whole);
    check_live_early(at, signal);
}

#endif

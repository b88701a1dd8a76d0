/* SPDX-License-Identifier: MIT
 *
 * The synthetic source: a frame has the same values however it is read; the signal is as described
 * in synthetic.c; pauses begin segments.
 */
#include "recordings.h"

static recorded
read_path(const char *path, const weir_recording_options *options, size_t tile, uint64_t seed)
{
    weir_source *source = NULL;
    recorded all = {0};
    assert_ok(weir_recording_open(path, options, &source));
    assert_ok(read_source(source, tile, seed, &all));
    source->ops->close(source);
    return all;
}

static void same_however_read(void **state)
{
    (void)state;
    uint64_t seed = testing_seed("synthetic");
    static const char *const dtypes[] = {"f32", "f64", "i16"};
    for (int which = 0; which < 3; which++) {
        char path[128];
        snprintf(path, sizeof path, "synthetic:channels=21,rate=10 kHz,seconds=0.5,dtype=%s",
                 dtypes[which]);
        recorded whole = read_path(path, NULL, 5000, 0);
        assert_int_equal(whole.frames, 5000);
        recorded cut = read_path(path, NULL, 90, seed);
        assert_int_equal(cut.frames, 5000);
        assert_memory_equal(whole.values, cut.values, 5000 * 21 * sizeof(double));
        recorded_free(&cut);
        /* From the middle, other channels first. */
        weir_recording_options options = weir_recording_options_default();
        options.channels = "20,ch4,0";
        options.start_s = 0.1234;
        cut = read_path(path, &options, 90, seed);
        assert_int_equal(cut.frames, 5000 - 1234);
        assert_int_equal(cut.first_index, 1234);
        static const size_t picks[] = {20, 4, 0};
        for (size_t i = 0; i < cut.frames * 3; i++) {
            assert_true(cut.values[i] == whole.values[(1234 + i / 3) * 21 + picks[i % 3]]);
        }
        recorded_free(&cut);
        recorded_free(&whole);
    }
    recorded one = read_path("synthetic:channels=3,seconds=0.1,seed=1", NULL, 300, 0);
    recorded two = read_path("synthetic:channels=3,seconds=0.1,seed=2", NULL, 300, 0);
    assert_memory_not_equal(one.values, two.values, 3000 * 3 * sizeof(double));
    recorded_free(&one);
    recorded_free(&two);
}

/* Noise, a 10 Hz oscillation, spikes on every fourth channel. */
static void what_it_says(void **state)
{
    (void)state;
    enum { C = 8, T = 300000 };
    recorded all = read_path("synthetic:channels=8,seconds=10,offset=1000,noise=10", NULL, 4096, 0);
    assert_int_equal(all.frames, T);
    for (int c = 0; c < C; c++) {
        double mean = 0, cosine = 0, sine = 0, steps = 0, least = 0;
        for (int t = 0; t < T; t++) {
            double value = all.values[t * C + c];
            mean += value / T;
            cosine += 2 * value * cos(2 * M_PI * 10 * t / 30000) / T;
            sine += 2 * value * sin(2 * M_PI * 10 * t / 30000) / T;
            if (t > 0) {
                double step = value - all.values[(t - 1) * C + c];
                steps += step * step / T;
            }
            least = value < least || t == 0 ? value : least;
        }
        assert_true(fabs(mean - 1000) < 0.5);
        assert_true(fabs(hypot(cosine, sine) - 20) < 0.5);
        /* White noise of SD 10: differences have a variance of 200; spikes add a little. */
        assert_true(steps > 190 && steps < (c % 4 ? 212 : 320));
        assert_true(c % 4 ? least > 1000 - 100 : least < 1000 - 100);
    }
    recorded_free(&all);
}

static void pauses(void **state)
{
    (void)state;
    const char *path = "synthetic:channels=2,rate=1 kHz,seconds=1,pause_every=200 ms,pause=100 ms";
    weir_source *source = NULL;
    assert_ok(weir_recording_open(path, NULL, &source));
    const weir_source_info *info = source->ops->info(source);
    assert_int_equal(info->segment_count, 4);
    assert_int_equal(info->segments[1].start_ns, 300000000);
    assert_int_equal(info->segments[3].frames, 100);
    assert_int_equal(info->frames, 700);
    source->ops->close(source);
    recorded all = read_path(path, NULL, 77, 3);
    assert_int_equal(all.segments, 4);
    assert_int_equal(all.frames, 700);
    recorded_free(&all);
    /* A time window in the middle: from within the second segment into the third. */
    weir_recording_options options = weir_recording_options_default();
    options.start_s = 0.45;
    options.duration_s = 0.3;
    assert_ok(weir_recording_open(path, &options, &source));
    info = source->ops->info(source);
    assert_int_equal(info->segment_count, 2);
    assert_int_equal(info->segments[0].start_ns, 450000000);
    assert_int_equal(info->segments[0].frames, 50);
    assert_int_equal(info->segments[1].start_ns, 600000000);
    assert_int_equal(info->segments[1].frames, 150);
    recorded part = {0};
    assert_ok(read_source(source, 64, 0, &part));
    assert_int_equal(part.frames, 200);
    assert_int_equal(part.segments, 2);
    assert_int_equal(part.first_index, 150);
    recorded_free(&part);
    source->ops->close(source);
    /* M6: the list is capped, the rest is counted. */
    assert_ok(weir_recording_open(
        "synthetic:channels=1,rate=1 kHz,seconds=1,pause_every=2 ms,pause=3ms", NULL, &source));
    info = source->ops->info(source);
    assert_int_equal(info->segment_count + info->segments_left_out, 200);
    assert_true(info->segments_left_out > 0);
    assert_int_equal(info->frames, 400);
    source->ops->close(source);
}

static void wrong_settings(void **state)
{
    (void)state;
    static const struct {
        const char *path, *said;
    } cases[] = {
        {"synthetic:chanels=3", "did you mean"},
        {"synthetic:channels=0", "channels"},
        {"synthetic:channels=1e9", "channels"},
        {"synthetic:channels=4,channels=5", "channels"},
        {"synthetic:rate=10 ms", "a time"},
        {"synthetic:rate", "name=value"},
        {"synthetic:seconds=-1", "seconds"},
        {"synthetic:seconds=1e8,pause_every=1ms", "pauses"},
        {"synthetic:dtype=u8", "dtype"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        weir_source *source = NULL;
        assert_fails(weir_recording_open(cases[i].path, NULL, &source), WEIR_E_USAGE,
                     cases[i].said);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_however_read),
        cmocka_unit_test(what_it_says),
        cmocka_unit_test(pauses),
        cmocka_unit_test(wrong_settings),
    };
    return cmocka_run_group_tests_name("synthetic", tests, NULL, NULL);
}

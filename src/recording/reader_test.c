/* SPDX-License-Identifier: MIT
 *
 * reader_test.c: common to all formats: the list of channels when one is not found, times out of
 * range, annotations beyond the maximum.
 */
#include "recordings.h"

/* A raw file of that many frames of one channel of zeros, with that side file or none. */
static const char *raw_file(size_t frames, const char *side)
{
    static char path[256];
    float *zeros = calloc(frames, sizeof *zeros);
    snprintf(path, sizeof path, "%s", write_file("t.raw", zeros, frames * sizeof *zeros));
    free(zeros);
    unlink(own_path("t.raw.json"));
    if (side) {
        write_file("t.raw.json", side, strlen(side));
    }
    return path;
}

static weir_recording_options one_channel(double rate_hz)
{
    weir_recording_options options = weir_recording_options_default();
    options.dtype = "f32";
    options.channels_in_file = 1;
    options.rate_hz = rate_hz;
    return options;
}

static void names_the_channels(void **state)
{
    (void)state;
    weir_recording_options options = one_channel(10);
    weir_source *source = NULL;
    options.channels = "Fp1";
    assert_fails(weir_recording_open(raw_file(4, NULL), &options, &source), WEIR_E_USAGE,
                 "no channel Fp1; there are channels 0 to 0");
    options.rate_hz = 0;
    options.channels_in_file = 2;
    options.channels = "Fp3";
    static const char side[] =
        "{\"weir\": \"1\", \"rate_hz\": 10, \"dims\": [\"time\", \"ch\"], \"axes\": {\"time\": "
        "{\"unit\": \"s\"}, \"ch\": {\"unit\": \"\", \"labels\": [\"Fp1\", \"Cz\"]}}, "
        "\"segments\": [{\"start_s\": 0, \"first_row\": 0, \"rows\": 2}]}";
    assert_fails(weir_recording_open(raw_file(4, side), &options, &source), WEIR_E_USAGE,
                 "no channel Fp3, did you mean Fp1?; there are channels 0 to 1: Fp1, Cz");
}

/* More labels than fit a line. */
static void names_some_of_many(void **state)
{
    (void)state;
    char side[8192], *at = side;
    at += sprintf(at, "{\"weir\": \"1\", \"rate_hz\": 10, \"dims\": [\"time\", \"ch\"], \"axes\": "
                      "{\"time\": {\"unit\": \"s\"}, \"ch\": {\"unit\": \"\", \"labels\": [");
    for (int i = 0; i < 300; i++) {
        at += sprintf(at, "%s\"electrode%d\"", i ? ", " : "", i);
    }
    sprintf(at, "]}}, \"segments\": [{\"start_s\": 0, \"first_row\": 0, \"rows\": 1}]}");
    weir_recording_options options = one_channel(0);
    weir_source *source = NULL;
    options.channels_in_file = 300;
    options.exclude = "Oz";
    assert_fails(weir_recording_open(raw_file(300, side), &options, &source), WEIR_E_USAGE,
                 ", ...");
    assert_non_null(
        strstr(weir_err_detail(), "there are channels 0 to 299: electrode0, electrode1, "));
}

/* A time beyond 292 years is reported, not wrapped around. */
static void times_that_do_not_fit(void **state)
{
    (void)state;
    weir_recording_options options = one_channel(1e-9);
    for (int beyond = 0; beyond < 2; beyond++) {
        weir_source *source = NULL;
        recorded all = {0};
        assert_ok(weir_recording_open(raw_file(9 + (size_t)beyond, NULL), &options, &source));
        if (beyond) {
            assert_fails(read_source(source, 64, 0, &all), WEIR_E_RECORDING,
                         "at most 292 years are allowed");
        } else {
            assert_ok(read_source(source, 64, 0, &all));
            assert_int_equal(all.frames, 9);
        }
        recorded_free(&all);
        source->ops->close(source);
    }
}

/* 1024 are kept; a notice counts the others, including those left out by the run before. */
static void annotations_left_out(void **state)
{
    (void)state;
    char *side = malloc(100000), *at = side;
    at += sprintf(at, "{\"weir\": \"1\", \"rate_hz\": 10, \"annotations\": [");
    for (int i = 0; i < 1500; i++) {
        at += sprintf(at, "%s[%d.5, null, \"e%d\"]", i ? ", " : "", i, i);
    }
    sprintf(at, "], \"annotations_left_out\": 3, \"segments\": [{\"start_s\": 0, \"first_row\": 0, "
                "\"rows\": 20000}]}");
    weir_recording_options options = one_channel(0);
    weir_source *source = NULL;
    assert_ok(weir_recording_open(raw_file(20000, side), &options, &source));
    const weir_source_info *info = source->ops->info(source);
    assert_int_equal(info->annotation_count, 1024);
    assert_int_equal(info->annotations_left_out, 479);
    assert_int_equal(info->notice_count, 1);
    assert_string_equal(info->notices[0],
                        "annotations: the first 1024 are stored, 479 are left out");
    assert_int_equal(info->annotations[1023].onset_ns, INT64_C(1023500000000));
    source->ops->close(source);
    free(side);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_the_channels),
        cmocka_unit_test(names_some_of_many),
        cmocka_unit_test(times_that_do_not_fit),
        cmocka_unit_test(annotations_left_out),
    };
    return cmocka_run_group_tests_name("reader", tests, NULL, own_folder_remove);
}

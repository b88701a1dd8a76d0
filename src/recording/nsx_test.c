/* SPDX-License-Identifier: MIT
 *
 * Headers of Blackrock NSx files: the four specs, channels and scales, what is rejected. nsx_packets_test.c has
 * the data packets; tests/promise/recordings_test.c reads files of other writers.
 */
#include "make_nsx.h"

static void specs(void **state)
{
    (void)state;
    static const unsigned all[] = {21, 22, 23, 30};
    for (size_t i = 0; i < 4; i++) {
        begin(&m, all[i], 15, 30000);
        if (all[i] == 21) {
            rows(&m, 500);
        } else {
            packet(&m, 3000, 500);
        }
        const wanted one = {all[i] == 21 ? 0 : 100000000, 500, 0};
        check_plain(&m, &one, 1);
        weir_source *source = NULL;
        assert_ok(weir_recording_open(own_path("x.ns5"), NULL, &source));
        const weir_source_info *info = source->ops->info(source);
        assert_string_equal(info->format, "nsx");
        assert_true(info->spec.rate_hz == 2000);
        const char *const *labels = info->spec.dims[1].labels;
        recorded read = {0};
        if (all[i] == 21) {
            assert_string_equal(labels[0], "chan1");
            assert_string_equal(labels[1], "ainp2");
            assert_string_equal(labels[2], "chan145");
            assert_string_equal(info->start_time, "");
            assert_null(info->scales);
            check_said(own_path("x.ns5"), "states no scale");
            assert_ok(read_source(source, 100, 0, &read));
            assert_true(read.values[3] == count_of(1, 0));
        } else {
            assert_string_equal(labels[1], "sixteen letters.");
            assert_string_equal(info->spec.units[0], "uV");
            assert_string_equal(info->spec.units[2], "mV");
            assert_string_equal(info->start_time, "2024-02-29T23:59:58.007Z");
            assert_int_equal(info->notice_count, 0);
            assert_ok(read_source(source, 100, 0, &read));
            for (int t = 0; t < 500; t++) {
                assert_true(read.values[3 * t] == count_of(t, 0) * 0.25);
                double third = (count_of(t, 2) + 1000) * 5.0 / 4000;
                assert_true(fabs(read.values[3 * t + 2] - third) <= fabs(third) * 0x1p-24);
            }
        }
        recorded_free(&read);
        source->ops->close(source);
    }
}

/* Channels selected from rows, and from packets of one frame. */
static void picks(void **state)
{
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        begin(&m, 30, 1, 30000);
        for (int i = 0; i < 300; i += kind ? 300 : 1) {
            packet(&m, (uint64_t)i, kind ? 300 : 1);
        }
        weir_recording_options options = weir_recording_options_default();
        options.channels = "2,0";
        options.counts = true;
        weir_source *source = NULL;
        assert_ok(weir_recording_open(save(&m), &options, &source));
        recorded all = {0};
        assert_ok(read_source(source, 64, 9, &all));
        assert_int_equal(all.frames, 300);
        assert_int_equal(all.segments, 1);
        for (int t = 0; t < 300; t++) {
            assert_true(all.values[2 * t] == count_of(t, 2));
            assert_true(all.values[2 * t + 1] == count_of(t, 0));
        }
        recorded_free(&all);
        source->ops->close(source);
    }
}

static void refused(const char *said)
{
    int before = open_descriptors();
    assert_fails(open_only(save(&m), NULL), WEIR_E_RECORDING, said);
    assert_non_null(strstr(weir_err_detail(), "x.ns5: offset "));
    assert_int_equal(open_descriptors(), before);
}

static void wrong_and_refused(void **state)
{
    (void)state;
    static const struct {
        unsigned spec;
        size_t at;
        uint64_t value;
        size_t bytes;
        const char *said;
    } cases[] = {
        {21, 24, 0, 4, "found a period of 0"},
        {21, 28, 0, 4, "found 0 channels"},
        {21, 28, 0xffffffff, 4, "found 4294967295 channels, expected 1 to 16384"},
        {21, 28, 5000, 4, "the file ends within its header"},
        {23, 8, 3, 1, "found file spec 3.3, expected 2.2 or 2.3"},
        {30, 8, 2, 1, "found file spec 2.0, expected 3.0"},
        {23, 10, 10, 4, "found a header of 10 bytes, expected at least 512"},
        {23, 10, 1u << 30, 4, "found a header of 1073741824 bytes"},
        {23, 286, 0, 4, "found a period of 0"},
        {23, 290, 0, 4, "found a time resolution of 0"},
        {23, 310, 0, 4, "found 0 channels"},
        {23, 310, 16384, 4, "the file ends within its header"},
        {23, 380, 'X', 1, "offset 380: found bytes 88 67, expected CC of channel 1"},
        {23, 512, 7, 1, "offset 512: found byte 7, expected 1 (data packet)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin(&m, cases[i].spec, 1, 30000);
        packet(&m, 0, 20);
        poke(cases[i].at, cases[i].value, cases[i].bytes);
        refused(cases[i].said);
    }
}

/* For files that accompany a recording the error says what they are; options that do not apply
 * are refused. */
static void kin(void **state)
{
    (void)state;
    const char *path = write_file("y.dat", "NEURALEV\x02\x01 and so on", 20);
    assert_fails(open_only(path, NULL), WEIR_E_RECORDING, "NEV file: spikes and events");
    path = write_file("y.nev", "BREVENTS\x03", 9);
    assert_fails(open_only(path, NULL), WEIR_E_RECORDING, "NEV file: spikes and events");
    path = write_file("y.ccf", "<?xml version=\"1.0\"?><CCF Version=\"1\">", 37);
    assert_fails(open_only(path, NULL), WEIR_E_RECORDING, "CCF file: settings of the system");
    path = write_file("y.ns2", "something", 9);
    assert_fails(open_only(path, NULL), WEIR_E_RECORDING, "not an NSx file");
    begin(&m, 23, 1, 30000);
    packet(&m, 0, 20);
    weir_recording_options options = weir_recording_options_default();
    options.rate_hz = 1000;
    assert_fails(open_only(save(&m), &options), WEIR_E_USAGE, "state their rate");
    int ends[2];
    char name[32];
    assert_int_equal(pipe(ends), 0);
    close(ends[1]);
    snprintf(name, sizeof name, "/dev/fd/%d", ends[0]);
    options = weir_recording_options_default();
    options.format = "nsx";
    assert_fails(open_only(name, &options), WEIR_E_USAGE, "cannot be read from a pipe");
    close(ends[0]);
}

static void odd_and_read(void **state)
{
    (void)state;
    begin(&m, 23, 1, 30000);
    packet(&m, 0, 20);
    poke(300, 77, 2); /* a day */
    poke(314 + 22, 0, 4);
    poke(314 + 30, 0xb5, 1);
    poke(314 + 66 + 30, 0xb5, 1);
    check_said(save(&m), "is not a valid time; the start is unknown");
    check_said(own_path("x.ns5"), "counts are delivered");
    poke(296, 2, 2); /* 31 February */
    poke(300, 31, 2);
    check_said(save(&m), "2024-2-31 23:59:58.7 is not a valid time; the start is unknown");
    weir_source *source = NULL;
    assert_ok(weir_recording_open(own_path("x.ns5"), NULL, &source));
    const weir_source_info *info = source->ops->info(source);
    assert_string_equal(info->start_time, "");
    assert_string_equal(info->spec.units[0], "");
    assert_string_equal(info->spec.units[1], "\xc2\xb5V");
    source->ops->close(source);
    /* Headers of an unknown kind follow those of the channels. */
    begin(&m, 23, 1, 30000);
    put(&m, 0, 99);
    poke(10, m.bytes, 4);
    packet(&m, 0, 20);
    const wanted all = {0, 20, 0};
    check_plain(&m, &all, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(specs),
        cmocka_unit_test(picks),
        cmocka_unit_test(wrong_and_refused),
        cmocka_unit_test(kin),
        cmocka_unit_test(odd_and_read),
    };
    return cmocka_run_group_tests_name("nsx", tests, NULL, own_folder_remove);
}

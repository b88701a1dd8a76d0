/* SPDX-License-Identifier: MIT
 *
 * Metadata in files of other programs: NWB's factors, starting time and timestamps, CF's scale,
 * MATLAB's files and variables, rates as texts; and where the dataset's name begins in a path.
 */
#include <sys/stat.h>

#include "recordings_hdf5.h"

#ifdef HAVE_HDF5
static hid_t file, group;

static void begin(const char *name)
{
    file = H5Fcreate(own_path(name), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    group = H5Gcreate2(file, "es", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(file >= 0 && group >= 0);
}

static void end(void)
{
    H5Gclose(group);
    assert_true(H5Fclose(file) >= 0);
}

/* A dataset of doubles, rank 0: one value. */
static hid_t numbers(const char *name, int rank, const hsize_t *shape, const double *values)
{
    hid_t space = rank ? H5Screate_simple(rank, shape, NULL) : H5Screate(H5S_SCALAR);
    hid_t data =
        H5Dcreate2(group, name, H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Dwrite(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    H5Sclose(space);
    return data;
}

static void number(hid_t at, const char *name, double value)
{
    hid_t one = H5Screate(H5S_SCALAR);
    hid_t made = H5Acreate2(at, name, H5T_IEEE_F64LE, one, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Awrite(made, H5T_NATIVE_DOUBLE, &value) >= 0);
    H5Aclose(made);
    H5Sclose(one);
}

static void text(hid_t at, const char *name, const char *value)
{
    hid_t one = H5Screate(H5S_SCALAR), type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, H5T_VARIABLE);
    hid_t made = H5Acreate2(at, name, type, one, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Awrite(made, type, &value) >= 0);
    H5Aclose(made);
    H5Tclose(type);
    H5Sclose(one);
}

/* /es/data of that many frames x 2 channels (x inner): value 100 frame + 10 channel + inner. */
static hid_t signal(hsize_t frames, hsize_t inner)
{
    static double values[4000];
    const hsize_t shape[3] = {frames, 2, inner};
    assert_true(frames * 2 * inner <= 4000);
    for (hsize_t i = 0; i < frames * 2 * inner; i++) {
        values[i] = (double)(i / (2 * inner) * 100 + i / inner % 2 * 10 + i % inner);
    }
    return numbers("data", inner == 1 ? 2 : 3, shape, values);
}

static weir_source *opened(const char *name, double rate_hz)
{
    weir_recording_options options = weir_recording_options_default();
    weir_source *source = NULL;
    options.rate_hz = rate_hz;
    options.dataset = "/es/data";
    assert_ok(weir_recording_open(own_path(name), &options, &source));
    return source;
}

static bool noticed(weir_source *source, const char *part)
{
    const weir_source_info *info = source->ops->info(source);
    for (size_t i = 0; i < info->notice_count; i++) {
        if (strstr(info->notices[i], part)) {
            return true;
        }
    }
    return false;
}

/* ---- scale ------------------------------------------------------------------------------------------------------- */

/* NWB: value * conversion * the channel's own + offset, for arrays of three dimensions too. */
static void conversions(void **state)
{
    (void)state;
    const hsize_t two[1] = {2};
    const double own[2] = {2, 8};
    for (hsize_t inner = 1; inner <= 3; inner += 2) {
        begin("n.nwb");
        hid_t data = signal(10, inner);
        number(data, "conversion", 0.5);
        number(data, "offset", 3);
        text(data, "unit", "volts");
        H5Dclose(data);
        H5Dclose(numbers("channel_conversion", 1, two, own));
        end();
        weir_source *source = opened("n.nwb", 100);
        recorded all = {0};
        const weir_spec *spec = &source->ops->info(source)->spec;
        assert_int_equal(spec->dim_count, inner == 1 ? 2 : 3);
        assert_string_equal(spec->units[1], "volts");
        assert_ok(read_source(source, 4, 0, &all));
        assert_int_equal(all.frames, 10);
        for (uint64_t i = 0; i < 10 * 2 * inner; i++) {
            uint64_t channel = i / inner % 2;
            double value = (double)(i / (2 * inner) * 100 + channel * 10 + i % inner);
            assert_true(all.values[i] == value * 0.5 * own[channel] + 3);
        }
        recorded_free(&all);
        source->ops->close(source);
    }
}

static void scale_factors(void **state)
{
    (void)state;
    const hsize_t three[1] = {3};
    const double own[3] = {2, 8, 1};
    begin("c.h5");
    hid_t data = signal(10, 1);
    number(data, "scale_factor", 0.25);
    text(data, "add_offset", "-1");
    H5Dclose(data);
    H5Dclose(numbers("channel_conversion", 1, three, own));
    end();
    weir_source *source = opened("c.h5", 100);
    recorded all = {0};
    assert_true(noticed(source, "channel_conversion: not used: 3 values, 2 channels"));
    assert_ok(read_source(source, 4, 0, &all));
    assert_true(all.values[3] == 110 * 0.25 - 1);
    recorded_free(&all);
    source->ops->close(source);
}

/* ---- time -------------------------------------------------------------------------------------------------------- */

static void starting_time(void **state)
{
    (void)state;
    const double start = 12.5;
    begin("s.nwb");
    H5Dclose(signal(10, 1));
    hid_t time = numbers("starting_time", 0, NULL, &start);
    number(time, "rate", 250);
    H5Dclose(time);
    end();
    weir_source *source = opened("s.nwb", 0);
    const weir_source_info *info = source->ops->info(source);
    assert_true(info->spec.rate_hz == 250);
    assert_int_equal(info->segment_count, 1);
    assert_int_equal(info->segments[0].start_ns, INT64_C(12500000000));
    assert_int_equal(info->segments[0].frames, 10);
    source->ops->close(source);
}

/* A value that cannot be a time or a factor is ignored and reported: not silently 0 s or counts. */
static void no_numbers(void **state)
{
    (void)state;
    static const double starts[] = {1e12, -1e12, NAN};
    for (int i = 0; i < 3; i++) {
        begin("n.h5");
        hid_t data = signal(10, 1);
        number(data, "conversion", i == 2 ? NAN : 2);
        number(data, "rate", 250);
        H5Dclose(data);
        H5Dclose(numbers("starting_time", 0, NULL, &starts[i]));
        end();
        weir_source *source = opened("n.h5", 0);
        assert_int_equal(source->ops->info(source)->segments[0].start_ns, 0);
        assert_true(noticed(source, i == 2 ? "not used: /es/starting_time: found nan"
                                           : "starting_time: not used"));
        assert_true(noticed(source, "not used: conversion of /es/data: found nan") == (i == 2));
        source->ops->close(source);
    }
}

/* Times that are not seconds (ns of a clock) are not used; single invalid ones are counted. */
static void odd_timestamps(void **state)
{
    (void)state;
    const hsize_t many[1] = {10};
    for (int all = 0; all < 2; all++) {
        double times[10];
        for (int i = 0; i < 10; i++) {
            times[i] = all ? 1.6e18 + 4e6 * i : i == 4 ? NAN : i == 5 ? 1e12 : i / 250.0;
        }
        begin("o.h5");
        H5Dclose(signal(10, 1));
        H5Dclose(numbers("timestamps", 1, many, times));
        end();
        weir_source *source = opened("o.h5", 250);
        assert_int_equal(source->ops->info(source)->segment_count, 1);
        assert_true(noticed(source, all ? "timestamps: not used: they are not seconds within"
                                        : "timestamps: 2 of 10 are not seconds within"));
        source->ops->close(source);
    }
}

/* NWB names its signals "data": other datasets of numbers are not considered. In other files any
 * may be the signal. */
static void nwb_has_one_signal(void **state)
{
    (void)state;
    const hsize_t ten[1] = {10}, two[1] = {2};
    const double times[10] = {0}, own[2] = {2, 8};
    for (int nwb = 0; nwb < 2; nwb++) {
        begin("w.nwb");
        if (nwb) {
            text(file, "nwb_version", "2.5.0");
        }
        H5Dclose(signal(10, 1));
        H5Dclose(numbers("timestamps", 1, ten, times));
        H5Dclose(numbers("channel_conversion", 1, two, own));
        end();
        weir_recording_options options = weir_recording_options_default();
        weir_source *source = NULL;
        options.rate_hz = 250;
        if (nwb) {
            assert_ok(weir_recording_open(own_path("w.nwb"), &options, &source));
            assert_string_equal(source->ops->info(source)->variant, "/es/data");
            source->ops->close(source);
        } else {
            assert_fails(weir_recording_open(own_path("w.nwb"), &options, &source), WEIR_E_USAGE,
                         "contains 3 numeric datasets");
        }
    }
}

/* S4: a timestamp further than gap_tolerance from start + index / rate is a gap, nothing else
 * is: neither one that is late within the tolerance, nor times that go back within it. --rate
 * only states the rate. */
static void timestamps(void **state)
{
    (void)state;
    enum { N = 1000 };
    static double times[N];
    const hsize_t many[1] = {N};
    for (int i = 0; i < N; i++) {
        times[i] = 7 + i / 500.0 + (i >= 600 ? 5 : 0) + (i % 5 == 0 ? 0.9e-3 : 0);
    }
    times[300] = NAN;
    times[0] = 7;
    times[600] = 7 + 600 / 500.0 + 5;
    begin("t.nwb");
    H5Dclose(signal(N, 1));
    H5Dclose(numbers("timestamps", 1, many, times));
    end();
    weir_source *source = opened("t.nwb", 500);
    const weir_source_info *info = source->ops->info(source);
    assert_int_equal(info->segment_count, 2);
    assert_int_equal(info->segments[0].start_ns, INT64_C(7000000000));
    assert_int_equal(info->segments[0].frames, 600);
    assert_int_equal(info->segments[1].start_ns, INT64_C(13200000000));
    assert_int_equal(info->segments[1].frames, 400);
    assert_true(
        noticed(source, "timestamps leave 500 Hz by more than gap_tolerance (1 ms) at 1 frame"));
    recorded all = {0};
    assert_ok(read_source(source, 64, 7, &all));
    assert_int_equal(all.segments, 2);
    assert_true(all.frames == N && all.values[2 * 999] == 99900);
    recorded_free(&all);
    source->ops->close(source);

    /* Without a rate, the suggested one is stated; with another rate each row is a gap. */
    weir_recording_options options = weir_recording_options_default();
    options.dataset = "/es/data";
    assert_fails(weir_recording_open(own_path("t.nwb"), &options, &source), WEIR_E_USAGE,
                 "timestamps are 0.002 s apart: 500 Hz?");
    source = opened("t.nwb", 100);
    assert_int_equal(source->ops->info(source)->segment_count +
                         source->ops->info(source)->segments_left_out,
                     N - 1); /* one is NAN */
    source->ops->close(source);
}

static void timestamps_that_do_not_fit(void **state)
{
    (void)state;
    const hsize_t few[1] = {9};
    static const double times[9] = {0};
    begin("t.nwb");
    H5Dclose(signal(10, 1));
    H5Dclose(numbers("timestamps", 1, few, times));
    end();
    weir_source *source = opened("t.nwb", 500);
    assert_true(noticed(source, "timestamps: not used: 9 values, 10 frames"));
    assert_int_equal(source->ops->info(source)->segment_count, 1);
    source->ops->close(source);
}

/* ---- rate -------------------------------------------------------------------------------------------------------- */

static void rates(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double rate;
    } cases[] = {{"250", 250}, {"2.5 kHz", 2500}, {" 500 Hz", 500}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin("r.h5");
        hid_t data = signal(10, 1);
        text(data, "sampling_rate", cases[i].text);
        H5Dclose(data);
        end();
        weir_source *source = opened("r.h5", 0);
        assert_true(source->ops->info(source)->spec.rate_hz == cases[i].rate);
        source->ops->close(source);
    }
    begin("r.h5");
    hid_t data = signal(10, 1);
    text(data, "sampling_rate", "fast");
    H5Dclose(data);
    end();
    weir_source *source = opened("r.h5", 100);
    assert_true(noticed(source, "sampling_rate of /es/data: 'fast' is not a number"));
    source->ops->close(source);
}

/* ---- which file, which dataset ----------------------------------------------------------------------------------- */

/* MATLAB 7.3: a block of 512 bytes first; variables of one value are not signals. */
static void matlab(void **state)
{
    (void)state;
    static unsigned char bytes[1 << 16];
    const hsize_t shape[2] = {20, 2}, one[2] = {1, 1};
    static const double values[40] = {5, 6};
    const double rate = 1000;
    hid_t how = H5Pcreate(H5P_FILE_CREATE);
    H5Pset_userblock(how, 512);
    file = H5Fcreate(own_path("m.mat"), H5F_ACC_TRUNC, how, H5P_DEFAULT);
    H5Pclose(how);
    group = H5Gopen2(file, "/", H5P_DEFAULT);
    H5Dclose(numbers("eeg", 2, shape, values));
    H5Dclose(numbers("fs", 2, one, &rate));
    end();
    FILE *to = fopen(own_path("m.mat"), "r+b");
    fputs("MATLAB 7.3 MAT-file, Platform: GLNXA64", to);
    fclose(to);
    weir_source *source = NULL;
    recorded all = {0};
    assert_ok(weir_recording_open(own_path("m.mat"), NULL, &source));
    const weir_source_info *info = source->ops->info(source);
    assert_string_equal(info->format, "hdf5");
    assert_string_equal(info->variant, "/eeg");
    assert_true(info->spec.rate_hz == 1000);
    assert_ok(read_source(source, 7, 0, &all));
    assert_true(all.frames == 20 && all.values[1] == 6);
    recorded_free(&all);
    source->ops->close(source);

    snprintf((char *)bytes, sizeof bytes, "MATLAB 5.0 MAT-file, Platform: GLNXA64");
    assert_fails(weir_recording_open(write_file("old.mat", bytes, 1000), NULL, &source),
                 WEIR_E_USAGE,
                 "a MATLAB file of version 5 to 7.2 cannot be read; save it with -v7.3");
}

/* PATH:/NAME is split after PATH if that is a file, whatever the names contain. */
static void paths(void **state)
{
    (void)state;
    char folder[300], path[600];
    weir_source *source = NULL;
    begin("p.h5");
    hid_t data = signal(10, 1);
    number(data, "rate", 100);
    H5Dclose(data);
    assert_true(H5Lcreate_hard(file, "es", file, "a:", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    H5Gclose(group);
    H5Fclose(file);
    snprintf(folder, sizeof folder, "%s", own_path("C:"));
    assert_int_equal(mkdir(folder, 0700), 0);
    snprintf(path, sizeof path, "%s/host:", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/host:/f.h5", folder);
    assert_int_equal(rename(own_path("p.h5"), path), 0);
    static const char *const names[] = {"/es/data", "/a:/data"};
    for (size_t i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/host:/f.h5:%s", folder, names[i]);
        assert_ok(weir_recording_open(path, NULL, &source));
        assert_string_equal(source->ops->info(source)->variant, names[i]);
        source->ops->close(source);
    }
    snprintf(path, sizeof path, "%s/host:/f.h5", folder);
    unlink(path);
    snprintf(path, sizeof path, "%s/host:", folder);
    rmdir(path);
    rmdir(folder);
}

/* Files of a newer libhdf5: in the superblock, and in the datasets only. */
static void newer_files(void **state)
{
    (void)state;
    static unsigned char bytes[1 << 16];
    static const unsigned char layout[] = {3, 1}; /* contiguous, of version 3 */
    begin("v.h5");
    H5Dclose(signal(10, 1));
    end();
    FILE *from = fopen(own_path("v.h5"), "rb");
    size_t count = fread(bytes, 1, sizeof bytes, from), at = 0;
    fclose(from);
    /* Header message 8, of 24 bytes: the layout. */
    for (size_t i = 0; i + 10 < count; i++) {
        if (memcmp(bytes + i, "\x08\0\x18\0", 4) == 0 && memcmp(bytes + i + 8, layout, 2) == 0) {
            at = i + 8;
        }
    }
    assert_true(at > 0);
    weir_source *source = NULL;
    bytes[at] = 9;
    assert_fails(weir_recording_open(write_file("w.h5", bytes, count), NULL, &source),
                 WEIR_E_RECORDING, "none of its 1 datasets can be read: /es/data cannot be opened");
    assert_non_null(strstr(weir_err_detail(), "version"));
    assert_non_null(strstr(weir_err_detail(), "(a newer libhdf5 wrote it, or it is damaged)"));
    bytes[8] = 9;
    assert_fails(weir_recording_open(write_file("w.h5", bytes, count), NULL, &source),
                 WEIR_E_RECORDING, "(a newer libhdf5 wrote it, or it is damaged)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conversions),    cmocka_unit_test(scale_factors),
        cmocka_unit_test(starting_time),  cmocka_unit_test(no_numbers),
        cmocka_unit_test(odd_timestamps), cmocka_unit_test(nwb_has_one_signal),
        cmocka_unit_test(timestamps),     cmocka_unit_test(timestamps_that_do_not_fit),
        cmocka_unit_test(rates),          cmocka_unit_test(matlab),
        cmocka_unit_test(paths),          cmocka_unit_test(newer_files),
    };
    return run_hdf5_tests("hdf5_about", tests);
}
#endif

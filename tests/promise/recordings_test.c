/* SPDX-License-Identifier: MIT
 *
 * The recordings of ../shared, compared with the results of independent readers: formats, rates,
 * labels, start, selected samples and sums must agree; malformed files and formats not read yet
 * must be refused by one line. Every file of the folders below is in the table, so that a new one
 * fails until it is added.
 */
#include "recordings.h"

#include <jansson.h>

#define RECORDINGS WEIR_SHARED_DIR "/recordings"

typedef struct row {
    const char *path;
    const char *refused; /* the expected line; NULL = is read */
    const char *start;   /* if the other reader is wrong; NULL = as expected.json */
} row;

static const row table[] = {
    {"edf/S001R01_utf8_mangled_64KiB.edf", NULL, NULL},
    {"edf/bdfPlusC.bdf", NULL, NULL},
    {"edf/biosemi_MK2_speedmode4_2048Hz_40ch.bdf", NULL, NULL},
    {"edf/biosemi_MK2_speedmode9_16384Hz.bdf", NULL, NULL},
    {"edf/biosemi_Newtest17-256.bdf", NULL, NULL},
    /* The first annotation's onset is +0.7 s; the other reader divides 100 ns by 100 to get us. */
    {"edf/edfAnnonC_30kHz.edf", NULL, "2000-01-01T14:15:16.7"},
    {"edf/edfPlusC.edf", NULL, NULL},
    {"edf/edfPlusD.edf", NULL, NULL},
    {"edf/mne_duplicate_channel_labels.edf", NULL, NULL},
    {"edf/mne_test.edf", NULL, NULL},
    {"edf/mne_test_bdf_stim_channel.bdf", NULL, NULL},
    {"edf/mne_test_edf_stim_channel.edf", NULL, NULL},
    {"edf/mne_test_oddheader.bdf", NULL, NULL},
    {"edf/mne_test_uneven_samp.edf", NULL, NULL},
    {"edf/sleepedf_short_psg.edf", NULL, NULL},
    {"blackrock/bnsx.dat", NULL, NULL}, /* a header and no frame */
    {"blackrock/l101210-001-02.nev", "NEV file: spikes and events", NULL},
    {"blackrock/l101210-001.ns2", NULL, NULL},
    {"npy/ca1.npy", NULL, NULL},
    {"raw/17o05027_ic_ramp.abf", NULL, NULL},
    {"openephys/hippocampus_40kHz_1ch_int16.dat", NULL, NULL},
    {"text/ecg.txt", NULL, NULL},
    {"text/eeg_ec.txt", NULL, NULL},
    {"text/emg.txt", NULL, NULL},
};
#define ROWS (sizeof table / sizeof *table)

static const char *const folders[] = {"edf", "blackrock", "npy", "raw", "openephys", "text"};
/* Formats of later issues. */
static const char *const later[] = {"wfdb", "xdf", "brainvision", "spikeglx", "neuralynx"};

static json_t *expected;

static bool there(void)
{
    static bool said;
    if (expected == NULL) {
        json_error_t error;
        expected = json_load_file(RECORDINGS "/expected.json", 0, &error);
    }
    if (expected == NULL && !said) {
        said = true;
        printf("skipped: all of it, because " RECORDINGS " is not there\n");
    }
    return expected != NULL;
}

static bool in(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(name, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

static void every_file_is_listed(void **state)
{
    (void)state;
    if (!there()) {
        skip();
    }
    size_t found = 0;
    DIR *all = opendir(RECORDINGS);
    assert_non_null(all);
    for (struct dirent *entry; (entry = readdir(all)) != NULL;) {
        if (entry->d_name[0] != '.' && strchr(entry->d_name, '.') == NULL &&
            !in(entry->d_name, folders, sizeof folders / sizeof *folders) &&
            !in(entry->d_name, later, sizeof later / sizeof *later) &&
            strcmp(entry->d_name, "made-here") != 0) { /* has a table of its own */
            fail_msg("folder %s stands in no table", entry->d_name);
        }
    }
    closedir(all);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", RECORDINGS, folders[i]);
        DIR *folder = opendir(path);
        assert_non_null(folder);
        for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
            if (entry->d_name[0] == '.') {
                continue;
            }
            snprintf(path, sizeof path, "%s/%.200s", folders[i], entry->d_name);
            bool listed = false;
            for (size_t k = 0; k < ROWS; k++) {
                listed = listed || strcmp(table[k].path, path) == 0;
            }
            if (!listed) {
                fail_msg("%s stands in no table", path);
            }
            found++;
        }
        closedir(folder);
    }
    assert_int_equal(found, ROWS);
}

/* Options for formats without a description. */
static weir_recording_options options_for(const char *path, json_t *entry)
{
    weir_recording_options options = weir_recording_options_default();
    json_t *rates = json_object_get(entry, "rates");
    if (strncmp(path, "edf", 3) != 0 && strncmp(path, "blackrock", 9) != 0 &&
        strncmp(path, "text", 4) != 0) {
        options.rate_hz = json_number_value(json_array_get(rates, 0));
    }
    if (strncmp(path, "raw", 3) == 0 || strncmp(path, "openephys", 9) == 0) {
        options.format = "raw";
        options.dtype = "i16";
        options.channels_in_file = 1;
        options.offset_bytes = (uint64_t)json_integer_value(json_object_get(entry, "data_offset"));
    }
    return options;
}

static void check_refused(const row *at, json_t *entry)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", RECORDINGS, at->path);
    weir_recording_options options = options_for(at->path, entry);
    int before = open_descriptors();
    weir_source *source = NULL;
    assert_fails(weir_recording_open(path, &options, &source), WEIR_E_RECORDING, at->refused);
    assert_null(strchr(weir_err_detail(), '\n'));
    assert_int_equal(open_descriptors(), before);
}

/* One sample: within 1e-9 of the range, plus the rounding of f32 if that is delivered. */
static void
check_value(const char *path, weir_dtype dtype, double found, double wanted, double range)
{
    double allowed = 1e-9 * range;
    if (dtype == WEIR_F32) {
        allowed += fabs(wanted) * 0x1p-24;
    }
    if (!(fabs(found - wanted) <= allowed)) {
        fail_msg("%s: found %.17g, expected %.17g", path, found, wanted);
    }
}

/* Compares one signal's entry with column `column` of what was read, in physical values or
 * counts. */
static void
check_signal(const char *path, json_t *signal, const recorded *all, uint64_t column, bool counts)
{
    double range = fabs(json_number_value(json_object_get(signal, "phys_max")) -
                        json_number_value(json_object_get(signal, "phys_min")));
    uint64_t frames = (uint64_t)json_integer_value(json_object_get(signal, "n"));
    bool longer = strncmp(path, "raw", 3) == 0; /* there are more samples after them */
    assert_true(longer ? all->frames >= frames : all->frames == frames);
    const char *index;
    json_t *sample;
    size_t checked = 0;
    json_object_foreach(json_object_get(signal, "at"), index, sample)
    {
        double found = all->values[strtoull(index, NULL, 10) * all->columns + column];
        json_t *digital = json_object_get(sample, "digital");
        if (counts || strncmp(path, "edf", 3) != 0) {
            json_t *wanted = digital ? digital : json_object_get(sample, "physical");
            assert_true(found == json_number_value(wanted));
        } else {
            check_value(path, all->dtype, found,
                        json_number_value(json_object_get(sample, "physical")), range);
        }
        checked++;
    }
    assert_true(checked > 0);
    json_t *sum = json_object_get(signal, "digital_sum");
    if (sum && counts) {
        double total = 0;
        for (uint64_t t = 0; t < frames; t++) {
            total += all->values[t * all->columns + column];
        }
        assert_true(total == json_number_value(sum));
    }
    sum = json_object_get(signal, "sum");
    if (sum) {
        double total = 0;
        for (uint64_t t = 0; t < frames; t++) {
            total += all->values[t * all->columns + column];
        }
        assert_true(fabs(total - json_number_value(sum)) < 1e-6);
    }
}

static void check_start(const row *at, json_t *entry, const char *found)
{
    const char *stated = json_string_value(json_object_get(entry, "start"));
    if (at->start) {
        assert_string_equal(found, at->start);
    } else if (stated && strncmp(at->path, "edf", 3) == 0) {
        char wanted[64];
        snprintf(wanted, sizeof wanted, "%s", stated);
        wanted[10] = 'T';
        assert_string_equal(found, wanted);
    }
}

/* Events, and segments where records state onsets (EDF+D). */
static void check_times(json_t *entry, const weir_source_info *info)
{
    json_t *stated = json_object_get(entry, "annotations");
    if (stated) {
        assert_int_equal(info->annotation_count, json_integer_value(stated));
    }
    size_t i;
    json_t *event;
    json_array_foreach(json_object_get(entry, "annotations_first"), i, event)
    {
        const weir_annotation *found = &info->annotations[i];
        double lasts_s = json_number_value(json_array_get(event, 1));
        assert_true(i < info->annotation_count);
        assert_int_equal(found->onset_ns,
                         llround(json_number_value(json_array_get(event, 0)) * 1e9));
        assert_int_equal(found->duration_ns, lasts_s < 0 ? -1 : llround(lasts_s * 1e9));
        assert_string_equal(found->text, json_string_value(json_array_get(event, 2)));
    }
    json_t *onsets = json_object_get(entry, "record_onsets_s"), *onset;
    size_t segment = 0;
    double next_s = -1;
    json_array_foreach(onsets, i, onset)
    {
        double at_s = json_number_value(onset);
        if (at_s != next_s) {
            assert_true(segment < info->segment_count);
            assert_int_equal(info->segments[segment++].start_ns, llround(at_s * 1e9));
        }
        next_s = at_s + 1; /* records of 1 s */
    }
    assert_true(onsets == NULL || segment == info->segment_count);
}

/* All signals at once where they have one rate, and each by itself. */
static void check_file(const row *at, json_t *entry)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", RECORDINGS, at->path);
    size_t rates = json_array_size(json_object_get(entry, "rates"));
    weir_source *source = NULL;
    weir_recording_options options = options_for(at->path, entry);
    if (rates > 1) {
        assert_fails(weir_recording_open(path, &options, &source), WEIR_E_USAGE, "--channels");
    }
    for (int counts = 0; counts < 2; counts++) {
        size_t i;
        json_t *signal;
        recorded all = {0};
        options = options_for(at->path, entry);
        options.counts = counts;
        if (rates == 1) {
            assert_ok(weir_recording_open(path, &options, &source));
            const weir_source_info *info = source->ops->info(source);
            assert_int_equal(info->spec.dims[1].size,
                             json_integer_value(json_object_get(entry, "n_signals")));
            check_start(at, entry, info->start_time);
            assert_ok(read_source(source, 1000, 5, &all));
            source->ops->close(source);
        }
        json_array_foreach(json_object_get(entry, "values"), i, signal)
        {
            uint64_t number = (uint64_t)json_integer_value(json_object_get(signal, "signal"));
            if (rates == 1) {
                check_signal(at->path, signal, &all, number, counts);
            }
            char list[24];
            snprintf(list, sizeof list, "%llu", (unsigned long long)number);
            options.channels = list;
            assert_ok(weir_recording_open(path, &options, &source));
            const weir_source_info *info = source->ops->info(source);
            assert_true(fabs(info->spec.rate_hz -
                             json_number_value(json_object_get(signal, "rate_hz"))) < 1e-9);
            json_t *label = json_object_get(signal, "label");
            if (label && info->spec.units) {
                const char *wanted = json_string_value(label);
                assert_memory_equal(info->spec.dims[1].labels[0], wanted, strlen(wanted));
                if (!counts) {
                    assert_string_equal(info->spec.units[0],
                                        json_string_value(json_object_get(signal, "dim")));
                }
            }
            check_start(at, entry, info->start_time);
            check_times(entry, info);
            recorded one = {0};
            assert_ok(read_source(source, 300, 0, &one));
            source->ops->close(source);
            check_signal(at->path, signal, &one, 0, counts);
            recorded_free(&one);
        }
        recorded_free(&all);
    }
}

/* The header is complete, but none of the 30,300 frames is present. */
static void check_header_only(const char *name, json_t *entry)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", RECORDINGS, name);
    weir_source *source = NULL;
    assert_ok(weir_recording_open(path, NULL, &source));
    const weir_source_info *info = source->ops->info(source);
    assert_true(info->spec.rate_hz ==
                json_number_value(json_array_get(json_object_get(entry, "rates"), 0)));
    assert_int_equal(info->spec.dims[1].size,
                     json_integer_value(json_object_get(entry, "n_signals")));
    assert_string_equal(info->start_time, "2016-02-27T16:51:23.421Z");
    assert_int_equal(info->frames, 0);
    assert_int_equal(info->segment_count, 0);
    assert_non_null(strstr(info->notices[0], "offset 8762: the data are truncated: 0 of 30300"));
    size_t i;
    json_t *signal;
    json_array_foreach(json_object_get(entry, "values"), i, signal)
    {
        size_t number = (size_t)json_integer_value(json_object_get(signal, "signal"));
        assert_string_equal(info->spec.dims[1].labels[number],
                            json_string_value(json_object_get(signal, "label")));
        assert_string_equal(info->spec.units[number],
                            json_string_value(json_object_get(signal, "units")));
        double range = json_number_value(json_object_get(signal, "ana_max"));
        assert_true(info->scales[number] ==
                    range / json_number_value(json_object_get(signal, "dig_max")));
    }
    recorded none = {0};
    assert_ok(read_source(source, 100, 0, &none));
    assert_int_equal(none.frames, 0);
    recorded_free(&none);
    source->ops->close(source);
}

static void files(void **state)
{
    (void)state;
    if (!there()) {
        skip();
    }
    for (size_t i = 0; i < ROWS; i++) {
        json_t *entry = json_object_get(expected, table[i].path);
        if (entry == NULL) {
            fail_msg("%s is not in expected.json", table[i].path);
        }
        if (table[i].refused) {
            check_refused(&table[i], entry);
        } else if (strcmp(table[i].path, "blackrock/bnsx.dat") == 0) {
            check_header_only(table[i].path, entry);
        } else {
            check_file(&table[i], entry);
        }
    }
}

/* Files written later, as two other readers see them: their rule determines every value. Where
 * one of those readers is wrong (a PTP file's last frame) the format's definition decides. */
static void check_made(const char *name, json_t *entry)
{
    char path[512];
    snprintf(path, sizeof path, "%s/made-here/%.100s", RECORDINGS, name);
    bool ptp = json_object_get(entry, "first_timestamp") != NULL;
    json_t *readers = json_object_get(entry, "readers");
    json_t *lengths = json_object_get(readers, "neo_segments");
    json_t *starts = json_object_get(readers, "neo_t_start_s");
    json_t *stamps = json_object_get(readers, "brpylib_timestamps");
    for (uint64_t seed = 0; seed < 3; seed++) {
        weir_recording_options options = weir_recording_options_default();
        options.counts = seed == 1;
        weir_source *source = NULL;
        assert_ok(weir_recording_open(path, &options, &source));
        const weir_source_info *info = source->ops->info(source);
        assert_true(info->spec.rate_hz == (strstr(name, "2kHz") ? 2000 : 30000));
        assert_int_equal(info->segment_count, json_array_size(lengths));
        recorded all = {0};
        assert_ok(read_source(source, 37, seed, &all));
        uint64_t at = 0;
        for (size_t s = 0; s < info->segment_count; s++) {
            int64_t start_ns = info->segments[s].start_ns;
            assert_int_equal(info->segments[s].frames,
                             json_integer_value(json_array_get(lengths, s)));
            if (ptp) { /* from the first stamp, to the ns */
                assert_int_equal(start_ns, json_integer_value(json_array_get(stamps, s)) -
                                               json_integer_value(json_array_get(stamps, 0)));
            } else {
                assert_int_equal(start_ns,
                                 llround(json_number_value(json_array_get(starts, s)) * 1e9));
            }
            for (uint64_t i = 0; i < info->segments[s].frames; i++, at++) {
                for (uint64_t c = 0; c < all.columns; c++) {
                    /* For the PTP file, i runs through. */
                    uint64_t rule = (7 * (ptp ? at : i) + 13 * c + 101 * (ptp ? 0 : s)) % 2001;
                    double count = (double)rule - 1000;
                    assert_true(all.values[at * all.columns + c] ==
                                (seed == 1 ? count : count * 0.25));
                }
            }
        }
        assert_int_equal(at, all.frames);
        assert_int_equal(all.segments, info->segment_count);
        recorded_free(&all);
        source->ops->close(source);
    }
}

static void made_here(void **state)
{
    (void)state;
    if (!there()) {
        skip();
    }
    json_error_t error;
    json_t *all = json_load_file(RECORDINGS "/made-here/expected.json", 0, &error);
    assert_non_null(all);
    DIR *folder = opendir(RECORDINGS "/made-here");
    assert_non_null(folder);
    size_t checked = 0;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (entry->d_name[0] == '.' || strcmp(entry->d_name, "expected.json") == 0) {
            continue;
        }
        json_t *wanted = json_object_get(all, entry->d_name);
        if (wanted == NULL) {
            fail_msg("made-here/%s is not in its expected.json", entry->d_name);
        }
        check_made(entry->d_name, wanted);
        checked++;
    }
    closedir(folder);
    assert_int_equal(checked, json_object_size(all));
    json_decref(all);
}

/* The project's own sample: inverted gain, a start within a second. */
static void sample(void **state)
{
    (void)state;
    weir_source *source = NULL;
    assert_ok(
        weir_recording_open(WEIR_SOURCE_DIR "/examples/data/test_subsecond.edf", NULL, &source));
    const weir_source_info *info = source->ops->info(source);
    assert_int_equal(info->frames, 89344);
    assert_true(info->spec.rate_hz == 128);
    assert_string_equal(info->spec.dims[1].labels[0], "Fp1");
    assert_string_equal(info->spec.units[0], "uV");
    assert_string_equal(info->start_time, "2020-01-24T04:05:56.3945312");
    assert_true(info->scales[0] < 0);
    recorded all = {0};
    assert_ok(read_source(source, 777, 0, &all));
    source->ops->close(source);
    weir_recording_options options = weir_recording_options_default();
    options.counts = true;
    assert_ok(weir_recording_open(WEIR_SOURCE_DIR "/examples/data/test_subsecond.edf", &options,
                                  &source));
    recorded counts = {0};
    assert_ok(read_source(source, 777, 0, &counts));
    source->ops->close(source);
    for (uint64_t t = 0; t < 89344; t++) {
        double wanted = (counts.values[t] + 32768) * (-8711.0 - 8711.0) / 65535 + 8711;
        assert_true(all.values[t] == (double)(float)wanted);
    }
    recorded_free(&all);
    recorded_free(&counts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_file_is_listed),
        cmocka_unit_test(files),
        cmocka_unit_test(made_here),
        cmocka_unit_test(sample),
    };
    int failed = cmocka_run_group_tests_name("recordings", tests, NULL, NULL);
    json_decref(expected);
    return failed;
}

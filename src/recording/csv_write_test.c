/* SPDX-License-Identifier: MIT
 *
 * Writing CSV: what is written is read back with the same values and labels.
 */
#include "recordings.h"

#include "recording/csv.h"

static void round_trip(void **state)
{
    (void)state;
    uint64_t seed = testing_seed("csv");
    static const char *const labels[] = {"Fp1", "12", "a,\"b\""};
    for (int dtype = WEIR_U8; dtype <= WEIR_F64; dtype++) {
        weir_spec spec = weir_spec_make((weir_dtype)dtype, 250, 3, labels, NULL);
        _Alignas(8) unsigned char rows[64 * 3 * 8];
        for (size_t i = 0; i < sizeof rows; i += 8) {
            uint64_t bits = testing_random(&seed);
            memcpy(rows + i, &bits, 8);
        }
        assert_ok(write_rows("r.csv", &spec, rows, 64));
        unlink(own_path("r.csv.json")); /* the text alone */
        weir_recording_options reading = weir_recording_options_default();
        reading.rate_hz = 250;
        weir_source *source = NULL;
        assert_ok(weir_recording_open(own_path("r.csv"), &reading, &source));
        for (int i = 0; i < 3; i++) {
            assert_string_equal(source->ops->info(source)->spec.dims[1].labels[i], labels[i]);
        }
        recorded all = {0};
        assert_ok(read_source(source, 10, 3, &all));
        source->ops->close(source);
        assert_int_equal(all.frames, 64);
        for (size_t i = 0; i < 64 * 3; i++) {
            double wanted = value_of((weir_dtype)dtype, rows, i);
            /* Shortest text of a float: equal as a float. */
            double found = dtype == WEIR_F32 ? (double)(float)all.values[i] : all.values[i];
            assert_true(isnan(wanted) ? isnan(found) : found == wanted);
        }
        recorded_free(&all);
    }
}

/* Any labels that are written are read back, from the text alone. */
static void labels_come_back(void **state)
{
    (void)state;
    static const char *const sets[][3] = {
        {"time", "x", "y"},     {"x", "Time", "timestamps (ms)"},
        {"%a", "#b", "c"},      {"1", "2", "3"},
        {"nan", "NA", "null"},  {"inf", "-Infinity", "n/a"},
        {"-1.5", "2e3", "a;b"}, {"a\tb", "c\"d", "\xc3\xa9"},
        {"Time", NULL, NULL},   {"NaN", NULL, NULL},
        {"inf", NULL, NULL},    {"7", NULL, NULL},
    };
    static const char *const names[] = {"l.csv", "l.tsv"};
    for (size_t i = 0; i < 2 * sizeof sets / sizeof *sets; i++) {
        const char *const *labels = sets[i / 2], *name = names[i % 2];
        uint64_t count = labels[1] ? 3 : 1;
        weir_spec spec = weir_spec_make(WEIR_F32, 250, count, labels, NULL);
        float rows[2 * 3] = {1, 2, 3, 4, 5, 6};
        assert_ok(write_rows(name, &spec, rows, 2));
        char side[64];
        snprintf(side, sizeof side, "%s.json", name);
        unlink(own_path(side));
        weir_recording_options reading = weir_recording_options_default();
        reading.rate_hz = 250;
        weir_source *source = NULL;
        recorded all = {0};
        assert_ok(weir_recording_open(own_path(name), &reading, &source));
        const weir_source_info *info = source->ops->info(source);
        assert_int_equal(info->spec.dims[1].size, count);
        for (uint64_t k = 0; k < count; k++) {
            const char *found = info->spec.dims[1].labels[k];
            if (strchr(labels[k], '\t') == NULL) {
                assert_string_equal(found, labels[k]);
            }
        }
        assert_int_equal(info->notice_count, 0);
        assert_ok(read_source(source, 10, 3, &all));
        source->ops->close(source);
        assert_int_equal(all.frames, 2);
        for (uint64_t k = 0; k < 2 * count; k++) {
            assert_true(all.values[k] == (double)rows[k]);
        }
        recorded_free(&all);
    }
    char name[300];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = 0;
    const char *const one[] = {name};
    weir_spec spec = weir_spec_make(WEIR_F32, 250, 1, one, NULL);
    weir_output_options options = weir_output_options_default();
    options.force = true;
    weir_sink *sink = NULL;
    uint64_t bytes = 0;
    assert_ok(weir_recording_create(own_path("l.csv"), &options, &sink));
    assert_fails(sink->ops->plan(sink, &spec, &bytes), WEIR_E_USAGE, "that of channel 0 has 299");
    spec = weir_spec_make(WEIR_F32, 250, WEIRI_CSV_COLUMNS + 1, NULL, NULL);
    assert_fails(sink->ops->plan(sink, &spec, &bytes), WEIR_E_USAGE, "up to 65536 columns");
    sink->ops->close(sink);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trip),
        cmocka_unit_test(labels_come_back),
    };
    return cmocka_run_group_tests_name("csv_write", tests, NULL, own_folder_remove);
}

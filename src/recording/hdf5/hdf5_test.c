/* SPDX-License-Identifier: MIT
 *
 * HDF5, compared with libhdf5's own driver: files that it wrote are read in every layout, it reads
 * files that we wrote; truncated anywhere, a file gives its complete rows or an error of one line.
 */
#include "recordings_hdf5.h"

#ifdef HAVE_HDF5
/* It allocates what a damaged length states before it reads that far; none of that memory is
 * touched, or present. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

static double value_at(uint64_t frame, uint64_t channel)
{
    return (double)((frame * 7 + channel * 131) % 20001) - 10000;
}

typedef struct kind {
    hid_t type;       /* in the file */
    hsize_t chunk[2]; /* 0: contiguous */
    bool packed;
} kind;

static void make(const kind *of)
{
    static double rows[FRAMES][CHANNELS];
    for (uint64_t t = 0; t < FRAMES; t++) {
        for (uint64_t c = 0; c < CHANNELS; c++) {
            rows[t][c] = value_at(t, c);
        }
    }
    const hsize_t shape[2] = {FRAMES, CHANNELS};
    const double rate = 250;
    hid_t file = H5Fcreate(own_path("t.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t group = H5Gcreate2(file, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate_simple(2, shape, NULL), create = H5Pcreate(H5P_DATASET_CREATE);
    if (of->chunk[0]) {
        H5Pset_chunk(create, 2, of->chunk);
    }
    if (of->packed) {
        H5Pset_shuffle(create);
        H5Pset_deflate(create, 4);
    }
    hid_t data = H5Dcreate2(group, "x", of->type, space, H5P_DEFAULT, create, H5P_DEFAULT);
    assert_true(H5Dwrite(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows) >= 0);
    hid_t one = H5Screate(H5S_SCALAR), text = H5Tcopy(H5T_C_S1);
    H5Tset_size(text, H5T_VARIABLE);
    const char *unit = "mV";
    hid_t attribute =
        H5Acreate2(group, "sampling_rate", H5T_IEEE_F32BE, one, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(attribute, H5T_NATIVE_DOUBLE, &rate);
    H5Aclose(attribute);
    attribute = H5Acreate2(data, "unit", text, one, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(attribute, text, &unit);
    H5Aclose(attribute);
    H5Tclose(text);
    H5Sclose(one);
    H5Dclose(data);
    H5Pclose(create);
    H5Sclose(space);
    H5Gclose(group);
    assert_true(H5Fclose(file) >= 0);
}

static void read_and_check(const char *path, const char *dataset, const char *channels, int factor)
{
    weir_recording_options options = weir_recording_options_default();
    weir_source *source = NULL;
    recorded all = {0};
    options.dataset = dataset;
    options.channels = channels;
    assert_ok(weir_recording_open(path, &options, &source));
    const weir_spec *spec = &source->ops->info(source)->spec;
    assert_true(spec->rate_hz == 250);
    assert_string_equal(spec->units[0], "mV");
    assert_ok(read_source(source, 77, 3, &all));
    source->ops->close(source);
    assert_int_equal(all.frames, FRAMES);
    for (uint64_t t = 0; t < FRAMES; t++) {
        for (uint64_t c = 0; c < all.columns; c++) {
            uint64_t channel = channels ? 2 - 2 * c : c;
            assert_true(all.values[t * all.columns + c] == value_at(t, channel) * factor);
        }
    }
    recorded_free(&all);
}

static void layouts(void **state)
{
    (void)state;
    const kind kinds[] = {
        {H5T_STD_I16LE, {0, 0}, false},  {H5T_STD_I16BE, {100, 3}, false},
        {H5T_STD_I32BE, {333, 2}, true}, {H5T_IEEE_F32LE, {FRAMES, 1}, false},
        {H5T_IEEE_F64BE, {17, 3}, true}, {H5T_STD_I64LE, {0, 0}, false},
        {H5T_IEEE_F32BE, {0, 0}, false},
    };
    char path[300];
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        make(&kinds[i]);
        snprintf(path, sizeof path, "%s", own_path("t.h5"));
        read_and_check(path, NULL, NULL, 1); /* the only one */
        read_and_check(path, "/g/x", "2,0", 1);
        snprintf(path, sizeof path, "%s:/g/x", own_path("t.h5"));
        read_and_check(path, NULL, NULL, 1);
    }
    weir_recording_options options = weir_recording_options_default();
    weir_source *source = NULL;
    options.dataset = "/g/y";
    assert_fails(weir_recording_open(own_path("t.h5"), &options, &source), WEIR_E_RECORDING,
                 "/g/y cannot be opened: libhdf5 ");
    /* The helper's memory is declared (M7): a lower limit is refused. */
    weir_cache *cache = NULL;
    weir_cache_options limits = weir_cache_options_default();
    limits.memory_limit = 1 << 20;
    assert_ok(weir_cache_create(&limits, &cache));
    options.dataset = NULL;
    options.cache = cache;
    assert_fails(weir_recording_open(own_path("t.h5"), &options, &source), WEIR_E_LIMIT,
                 "memory for its library");
    weir_cache_destroy(cache);
}

/* Two segments, 256-byte frames, with a flush in between and after it, as in a run. */
static void write_out(bool finish)
{
    static float rows[FRAMES][64];
    static const char *labels[64], *units[64];
    static char names[64][16];
    for (int i = 0; i < 64; i++) {
        snprintf(names[i], sizeof names[i], "E%d", i);
        labels[i] = names[i];
        units[i] = "uV";
    }
    for (uint64_t t = 0; t < FRAMES; t++) {
        for (uint64_t c = 0; c < 64; c++) {
            rows[t][c] = (float)value_at(t, c);
        }
    }
    weir_spec spec = weir_spec_make(WEIR_F32, 500, 64, labels, units);
    weir_source_info info = {.start_time = "2020-01-02T03:04:05"};
    weir_output_options options = weir_output_options_default();
    options.force = true;
    weir_sink *sink = NULL;
    assert_ok(weir_recording_create(own_path("o.h5"), &options, &sink));
    uint64_t bytes = 0;
    assert_ok(sink->ops->plan(sink, &spec, &bytes));
    void *memory = malloc((size_t)bytes);
    assert_ok(sink->ops->start(sink, &spec, &info, "- abs\n", memory));
    for (size_t t = 0; t < FRAMES; t += 50) {
        weir_message block = {.spec = &spec, .data = rows[t], .frames = 50};
        block.segment = t >= 600;
        block.segment_start_ns = t >= 600 ? INT64_C(5000000000) : 0;
        block.first_index = (int64_t)(t >= 600 ? t - 600 : t);
        assert_ok(sink->ops->write(sink, &block));
        if (t % 150 == 0) {
            assert_ok(sink->ops->flush(sink));
        }
    }
    if (finish) {
        assert_ok(sink->ops->finish(sink));
    }
    sink->ops->close(sink);
    free(memory);
}

static void what_is_written(void **state)
{
    (void)state;
    static float rows[FRAMES][64];
    for (int finish = 0; finish < 2; finish++) {
        write_out(finish);
        hid_t file = H5Fopen(own_path(finish ? "o.h5" : "o.h5.part"), H5F_ACC_RDONLY, H5P_DEFAULT);
        assert_true(file >= 0);
        hid_t data = H5Dopen2(file, "data", H5P_DEFAULT), space = H5Dget_space(data);
        assert_int_equal(H5Sget_simple_extent_npoints(space), FRAMES * 64);
        assert_true(H5Dread(data, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows) >= 0);
        for (uint64_t i = 0; i < FRAMES * 64; i++) {
            assert_true(rows[i / 64][i % 64] == (float)value_at(i / 64, i % 64));
        }
        H5Sclose(space);
        H5Dclose(data);
        H5Fclose(file);
    }
    unlink(own_path("o.h5.json")); /* the file states it by itself */
    weir_source *source = NULL;
    assert_ok(weir_recording_open(own_path("o.h5"), NULL, &source));
    const weir_source_info *info = source->ops->info(source);
    assert_true(info->spec.rate_hz == 500);
    assert_string_equal(info->spec.dims[1].labels[63], "E63");
    assert_string_equal(info->spec.units[0], "uV");
    assert_string_equal(info->start_time, "2020-01-02T03:04:05");
    assert_int_equal(info->segment_count, 2);
    assert_int_equal(info->segments[0].frames, 600);
    assert_int_equal(info->segments[1].start_ns, INT64_C(5000000000));
    source->ops->close(source);
}

static void cuts(void **state)
{
    (void)state;
    static unsigned char bytes[1 << 20];
    write_out(true);
    FILE *file = fopen(own_path("o.h5"), "rb");
    size_t count = fread(bytes, 1, sizeof bytes, file), read = 0, told = 0;
    fclose(file);
    unlink(own_path("o.h5.json"));
    assert_true(count < sizeof bytes);
    for (size_t cut = count - 1; cut > 100; cut -= cut / 10 + 1) {
        file = fopen(own_path("c.h5"), "wb");
        fwrite(bytes, 1, cut, file);
        fclose(file);
        weir_recording_options options = weir_recording_options_default();
        options.rate_hz = 500;
        weir_source *source = NULL;
        recorded all = {0};
        weir_err err = weir_recording_open(own_path("c.h5"), &options, &source);
        if (err == WEIR_OK) {
            read++;
            assert_ok(read_source(source, 64, 0, &all));
            assert_true(all.frames <= FRAMES && source->ops->info(source)->notice_count > 0);
            for (uint64_t i = 0; i < all.frames * all.columns; i++) {
                assert_true(all.values[i] == value_at(i / 64, i % 64));
            }
            source->ops->close(source);
            recorded_free(&all);
        } else {
            assert_null(strchr(weir_err_detail(), '\n'));
            assert_non_null(strstr(weir_err_detail(), ": offset "));
            told += strstr(weir_err_detail(), ": the file ends here, expected ") != NULL;
        }
    }
    assert_true(read > 3 && told > 3);
}

static size_t as_it_is(
    unsigned flags, size_t count, const unsigned *values, size_t bytes, size_t *room, void **data)
{
    (void)flags;
    (void)count;
    (void)values;
    (void)room;
    (void)data;
    return bytes;
}

/* Its writer had a filter that is missing here: the error names it. */
static void filter_that_is_not_there(void **state)
{
    (void)state;
    const H5Z_class2_t filter = {.version = H5Z_CLASS_T_VERS,
                                 .id = 300,
                                 .encoder_present = 1,
                                 .decoder_present = 1,
                                 .name = "as it is",
                                 .filter = as_it_is};
    static const float rows[100][2];
    const hsize_t shape[2] = {100, 2}, chunk[2] = {50, 2};
    assert_true(H5Zregister(&filter) >= 0);
    hid_t file = H5Fcreate(own_path("f.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate_simple(2, shape, NULL), create = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(create, 2, chunk);
    H5Pset_filter(create, 300, H5Z_FLAG_OPTIONAL, 0, NULL);
    hid_t data = H5Dcreate2(file, "x", H5T_IEEE_F32LE, space, H5P_DEFAULT, create, H5P_DEFAULT);
    assert_true(H5Dwrite(data, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows) >= 0);
    H5Dclose(data);
    H5Pclose(create);
    H5Sclose(space);
    assert_true(H5Fclose(file) >= 0);
    H5Zunregister(300);
    weir_recording_options options = weir_recording_options_default();
    options.rate_hz = 500;
    weir_source *source = NULL;
    recorded all = {0};
    assert_ok(weir_recording_open(own_path("f.h5"), &options, &source));
    assert_fails(
        read_source(source, 64, 0, &all), WEIR_E_RECORDING,
        "frames 0 to 49 cannot be read: compressed with filter 300, which libhdf5 does not find");
    source->ops->close(source);
    recorded_free(&all);
}

/* ---- damage ----------------------------------------------------------------------------------------------- */

static unsigned char whole[1 << 20];
static size_t whole_bytes;

static void load(const char *path)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    whole_bytes = fread(whole, 1, sizeof whole, file);
    fclose(file);
    assert_true(whole_bytes > 100 && whole_bytes < sizeof whole);
}

/* Where these bytes are. */
static size_t find(const char *wanted, size_t bytes)
{
    const unsigned char *at = memmem(whole, whole_bytes, wanted, bytes);
    assert_non_null(at);
    return (size_t)(at - whole);
}

static void refused(const char *dataset, weir_err err, const char *why)
{
    FILE *file = fopen(own_path("b.h5"), "wb");
    assert_int_equal(fwrite(whole, 1, whole_bytes, file), whole_bytes);
    fclose(file);
    weir_recording_options options = weir_recording_options_default();
    options.rate_hz = 500;
    options.dataset = dataset;
    weir_source *source = NULL;
    assert_fails(weir_recording_open(own_path("b.h5"), &options, &source), err, why);
}

/* The root group contains itself: libhdf5 recurses until its stack ends, or for hours. A path
 * through it leads to existing objects. */
static void group_in_itself(void **state)
{
    (void)state;
    const kind of = {.type = H5T_STD_I16LE};
    make(&of);
    load(own_path("t.h5"));
    memcpy(whole + find("SNOD", 4) + 16, whole + 64, 8);
    refused(NULL, WEIR_E_RECORDING, "groups nested more than 32 deep");
    refused("/g/g/x", WEIR_E_RECORDING, "cannot be opened");
}

/* Types of attributes that are objects of their own, links out of the file, addresses of 4 and 8
 * bytes. */
static void what_lies_elsewhere(void **state)
{
    (void)state;
    const hsize_t shape[2] = {10, 2};
    weir_recording_options options = weir_recording_options_default();
    weir_source *source = NULL;
    for (hsize_t width = 4; width <= 8; width += 4) {
        hid_t create = H5Pcreate(H5P_FILE_CREATE), type = H5Tcopy(H5T_STD_I32LE);
        H5Pset_sizes(create, (size_t)width, (size_t)width);
        hid_t file = H5Fcreate(own_path("e.h5"), H5F_ACC_TRUNC, create, H5P_DEFAULT);
        hid_t space = H5Screate_simple(2, shape, NULL), one = H5Screate(H5S_SCALAR);
        hid_t data =
            H5Dcreate2(file, "x", H5T_STD_I16LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        assert_true(H5Tcommit2(file, "t", type, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT) >= 0);
        hid_t attribute = H5Acreate2(data, "fs", type, one, H5P_DEFAULT, H5P_DEFAULT);
        const int32_t rate = 250;
        assert_true(H5Awrite(attribute, H5T_NATIVE_INT32, &rate) >= 0);
        assert_true(H5Lcreate_external("t.h5", "/g/x", file, "far", H5P_DEFAULT, H5P_DEFAULT) >= 0);
        H5Lcreate_soft("far", file, "soft", H5P_DEFAULT, H5P_DEFAULT);
        H5Lcreate_soft("round", file, "round", H5P_DEFAULT, H5P_DEFAULT);
        H5Lcreate_soft("/x", file, "good", H5P_DEFAULT, H5P_DEFAULT);
        H5Aclose(attribute);
        H5Dclose(data);
        H5Sclose(one);
        H5Sclose(space);
        H5Tclose(type);
        H5Pclose(create);
        assert_true(H5Fclose(file) >= 0);
        load(own_path("e.h5"));
        for (int i = 0; i < 2; i++) {
            options.dataset = i ? "/good" : "/x";
            assert_ok(weir_recording_open(own_path("e.h5"), &options, &source));
            assert_true(source->ops->info(source)->spec.rate_hz == 250);
            source->ops->close(source);
        }
        refused("/round", WEIR_E_RECORDING, "/round cannot be opened");
        refused("/far", WEIR_E_USAGE, "is a link into another file");
        refused("/soft", WEIR_E_USAGE, "is a link into another file");
    }
}

/* Damage anywhere gives one line or the values that are present: no crash, no loop, no more
 * memory than the cache grants. The first bytes contain the superblock, headers, indexes and the
 * heap of texts. */
static void flips(void **state)
{
    (void)state;
    enum { TRIES = 150, METADATA = 6144 };
    const kind kinds[] = {{.type = H5T_STD_I16LE},
                          {.type = H5T_STD_I16LE, .chunk = {64, 2}},
                          {.type = H5T_IEEE_F32LE, .chunk = {100, 3}, .packed = true}};
    static unsigned char bytes[1 << 17], damaged[1 << 17];
    uint64_t seed = testing_seed("flips");
    size_t opened = 0;
    weir_cache_options limits = weir_cache_options_default();
    limits.memory_limit = 32u << 20;
    for (size_t i = 0; i < 3 * TRIES; i++) {
        static size_t count;
        if (i % TRIES == 0) {
            make(&kinds[i / TRIES]);
            FILE *file = fopen(own_path("t.h5"), "rb");
            count = fread(bytes, 1, sizeof bytes, file);
            fclose(file);
            assert_true(count > METADATA && count < sizeof bytes);
        }
        memcpy(damaged, bytes, count);
        for (uint64_t k = 1 + testing_random(&seed) % 3; k > 0; k--) {
            uint64_t chance = testing_random(&seed);
            damaged[chance % METADATA] = (unsigned char)(chance >> 40 & 1 ? chance >> 48 : 255);
        }
        FILE *file = fopen(own_path("f.h5"), "wb");
        assert_int_equal(fwrite(damaged, 1, count, file), count);
        fclose(file);
        weir_cache *cache = NULL;
        assert_ok(weir_cache_create(&limits, &cache));
        weir_recording_options options = weir_recording_options_default();
        options.cache = cache;
        options.rate_hz = 250;
        weir_source *source = NULL;
        if (weir_recording_open(own_path("f.h5"), &options, &source) == WEIR_OK) {
            assert_true(source->ops->info(source)->frames <= 1000000);
            recorded all = {0};
            weir_err err = read_source(source, 64, 0, &all);
            assert_true(err == WEIR_OK || err == WEIR_E_RECORDING || err == WEIR_E_LIMIT);
            opened++;
            recorded_free(&all);
            source->ops->close(source);
        } else {
            assert_null(strchr(weir_err_detail(), '\n'));
        }
        weir_cache_destroy(cache);
    }
    assert_true(opened > TRIES / 2); /* most of it is harmless */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layouts),
        cmocka_unit_test(what_is_written),
        cmocka_unit_test(cuts),
        cmocka_unit_test(filter_that_is_not_there),
        cmocka_unit_test(group_in_itself),
        cmocka_unit_test(what_lies_elsewhere),
        cmocka_unit_test(flips),
    };
    return run_hdf5_tests("hdf5", tests);
}
#endif

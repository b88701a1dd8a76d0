/* SPDX-License-Identifier: MIT
 *
 * WAV files made here byte by byte: every plain coding, either byte order, RF64, wrong sizes of all
 * kinds, truncation and changed bytes anywhere; and written files, checked byte by byte.
 */
#include "recordings.h"

#include "recording/wav.h"

enum { FRAMES = 20, CHANNELS = 2 };

typedef struct made {
    unsigned char bytes[2048];
    size_t count, data; /* data: where the first value is */
    bool big;
} made;

static void put(made *to, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) {
        to->bytes[to->count++] = (unsigned char)(value >> (8 * (to->big ? bytes - 1 - i : i)));
    }
}

static void put_id(made *to, const char *id, uint64_t bytes)
{
    memcpy(to->bytes + to->count, id, 4);
    to->count += 4;
    put(to, bytes, 4);
}

/* The stored count of a frame and channel, over the whole range. */
static int64_t count_of(int bits, int frame, int channel)
{
    int64_t full = INT64_C(1) << (bits - 1);
    return full / FRAMES * (frame - FRAMES / 2) + channel;
}

static void put_value(made *to, int bits, bool is_float, int frame, int channel)
{
    double value = frame / 7.0 - channel;
    float narrow = (float)value;
    uint64_t pattern = 0;
    if (is_float && bits == 64) {
        memcpy(&pattern, &value, 8);
    } else if (is_float) {
        uint32_t word;
        memcpy(&word, &narrow, 4);
        pattern = word;
    } else {
        int64_t count = count_of(bits, frame, channel);
        pattern = (uint64_t)(bits == 8 ? count + 128 : count);
    }
    put(to, pattern, bits / 8);
}

static made make(const char *riff, int bits, bool is_float, uint64_t stated, bool tail)
{
    made to = {.big = strcmp(riff, "RIFX") == 0};
    uint64_t bytes = FRAMES * CHANNELS * (uint64_t)bits / 8;
    bool is_long = strcmp(riff, "RF64") == 0;
    put_id(&to, riff, is_long ? 0xffffffff : bytes + 36);
    memcpy(to.bytes + to.count, "WAVE", 4);
    to.count += 4;
    if (is_long) {
        put_id(&to, "ds64", 28);
        put(&to, bytes + 72, 8);
        put(&to, bytes, 8);
        put(&to, FRAMES, 8);
        put(&to, 0, 4);
    }
    put_id(&to, "fmt ", 16);
    put(&to, is_float ? 3 : 1, 2);
    put(&to, CHANNELS, 2);
    put(&to, 1000, 4);
    put(&to, 1000 * CHANNELS * (uint64_t)bits / 8, 4);
    put(&to, CHANNELS * (uint64_t)bits / 8, 2);
    put(&to, (uint64_t)bits, 2);
    put_id(&to, "data", stated);
    to.data = to.count;
    for (int i = 0; i < FRAMES * CHANNELS; i++) {
        put_value(&to, bits, is_float, i / CHANNELS, i % CHANNELS);
    }
    if (tail) {
        put_id(&to, "LIST", 4);
        put(&to, 0, 4);
    }
    return to;
}

static weir_err open_made(const unsigned char *bytes, size_t count, bool counts, weir_source **ret)
{
    FILE *file = fopen(own_path("t.wav"), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    fclose(file);
    weir_recording_options options = weir_recording_options_default();
    options.counts = counts;
    options.format = "wav";
    return weir_recording_open(own_path("t.wav"), &options, ret);
}

/* Opens it, and checks values and the only notice (NULL: none). */
static void check(const made *file, int bits, bool is_float, uint64_t frames, const char *notice)
{
    for (int counts = 0; counts < 2; counts++) {
        weir_source *source = NULL;
        recorded all = {0};
        assert_ok(open_made(file->bytes, file->count, counts, &source));
        assert_ok(read_source(source, 6, 5, &all));
        const weir_source_info *info = source->ops->info(source);
        assert_int_equal(info->frames, frames);
        assert_int_equal(all.frames, frames);
        assert_true(info->spec.rate_hz == 1000);
        assert_string_equal(info->spec.dims[1].labels[1], "ch1");
        assert_int_equal(info->notice_count > 0, notice != NULL);
        if (notice && strstr(info->notices[0], notice) == NULL) {
            fail_msg("no '%s' in '%s'", notice, info->notices[0]);
        }
        for (size_t i = 0; i < frames * CHANNELS; i++) {
            int frame = (int)i / CHANNELS, channel = (int)i % CHANNELS;
            double wanted = frame / 7.0 - channel;
            if (is_float && bits == 32) {
                wanted = (double)(float)wanted;
            } else if (!is_float) {
                wanted = (double)count_of(bits, frame, channel);
                wanted = !counts ? wanted / ldexp(1, bits - 1) : bits == 8 ? wanted + 128 : wanted;
            }
            assert_true(all.values[i] == wanted);
        }
        source->ops->close(source);
        recorded_free(&all);
    }
}

static bool built(void)
{
    for (const weir_format_info *format = weir_formats(); format->name; format++) {
        if (strcmp(format->name, "wav") == 0 && format->reads) {
            return true;
        }
    }
    printf("skipped: this build does not read WAV\n");
    return false;
}

static void codings(void **state)
{
    (void)state;
    static const struct {
        int bits;
        bool is_float;
    } cases[] = {{8, false}, {16, false}, {24, false}, {32, false}, {32, true}, {64, true}};
    static const char *const heads[] = {"RIFF", "RIFX", "RF64"};
    for (size_t i = 0; built() && i < sizeof cases / sizeof *cases; i++) {
        for (size_t k = 0; k < 3; k++) {
            uint64_t bytes = FRAMES * CHANNELS * (uint64_t)cases[i].bits / 8;
            made file = make(heads[k], cases[i].bits, cases[i].is_float,
                             k == 2 ? 0xffffffff : bytes, k == 1);
            check(&file, cases[i].bits, cases[i].is_float, FRAMES, NULL);
        }
    }
}

static void sizes(void **state)
{
    (void)state;
    if (!built()) {
        return;
    }
    made file = make("RIFF", 16, false, 0, false);
    check(&file, 16, false, FRAMES, "not filled in (0)");
    file = make("RIFF", 16, false, 0xffffffff, false);
    check(&file, 16, false, FRAMES, "not filled in (FFFFFFFF)");
    file = make("RIFF", 16, false, 4000, false);
    check(&file, 16, false, FRAMES,
          "truncated: the header states 4000 bytes of data, 80 are present");
    file = make("RIFF", 16, false, 40, false); /* no chunks after it, and less than 4 GiB */
    check(&file, 16, false, FRAMES / 2, "40 bytes after the data are not chunks");
    file = make("RIFF", 16, false, 80, true);
    check(&file, 16, false, FRAMES, NULL);
    file = make("RIFF", 16, false, 80, false);
    file.count -= 3; /* within a frame */
    check(&file, 16, false, FRAMES - 1, "truncated");
}

/* Samples in wider containers: where in them the bits are is not stated, so the error states
 * what was found. */
static void wide_containers(void **state)
{
    (void)state;
    static const struct {
        int bits, container;
        const char *said; /* NULL: read */
    } cases[] = {
        {16, 3,
         "a block align of 6 for 2 channels of 16 bits, expected 4; the position of the bits in "
         "these wider"},
        {16, 3, "--format raw --dtype '<i24' --channels-in-file 2 --rate 1000 --offset 44"},
        {24, 4, "--format raw --dtype '<i32' --channels-in-file 2 --rate 1000 --offset 44"},
        {8, 2, "--dtype '<i16'"},
        {16, 7, "convert it to uncompressed samples"},
        {20, 3, NULL},
        {12, 2, NULL},
        {16, 2, NULL},
        {16, 0, NULL}, /* left blank: rows are dense */
    };
    for (size_t i = 0; built() && i < sizeof cases / sizeof *cases; i++) {
        made file = make("RIFF", 16, false, 80, false);
        file.bytes[32] = (unsigned char)(CHANNELS * cases[i].container);
        file.bytes[34] = (unsigned char)cases[i].bits;
        weir_source *source = NULL;
        if (cases[i].said) {
            assert_fails(open_made(file.bytes, file.count, false, &source), WEIR_E_RECORDING,
                         cases[i].said);
        } else {
            assert_ok(open_made(file.bytes, file.count, false, &source));
            source->ops->close(source);
        }
    }
}

/* A pipe that ends within a frame, before the frames that the header states. */
static void pipe_that_ends_early(void **state)
{
    (void)state;
    for (int open = 0; built() && open < 2; open++) {
        made file = make("RIFF", 16, false, open ? 0xffffffff : 80, false);
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        size_t count = file.count - 3;
        assert_int_equal(write(ends[1], file.bytes, count), (ssize_t)count);
        close(ends[1]);
        char name[32];
        snprintf(name, sizeof name, "/dev/fd/%d", ends[0]);
        weir_recording_options options = weir_recording_options_default();
        options.format = "wav";
        weir_source *source = NULL;
        recorded all = {0};
        assert_ok(weir_recording_open(name, &options, &source));
        assert_ok(read_source(source, 6, 0, &all));
        const weir_source_info *info = source->ops->info(source);
        assert_int_equal(all.frames, FRAMES - 1);
        assert_int_equal(info->notice_count, open ? 1 : 2);
        assert_non_null(strstr(info->notices[0], "the last 1 bytes are ignored (a frame has 4)"));
        source->ops->close(source);
        recorded_free(&all);
        close(ends[0]);
    }
}

/* Files that libsndfile would refuse without a reason, or decode with a library that prints. */
static void fields_of_the_format(void **state)
{
    (void)state;
    static const struct {
        size_t at, bytes;
        uint64_t value;
        const char *why;
    } cases[] = {
        {20, 2, 0x55, "offset 20: fmt chunk: found encoding 0x55, expected 1 (PCM), 3 (float)"},
        {20, 2, 0x31, "offset 20: fmt chunk: found encoding 0x31"},
        {22, 2, 0, "offset 22: fmt chunk: found 0 channels, expected 1 to 1024"},
        {22, 2, 0xffff, "offset 22: fmt chunk: found 65535 channels"},
        {24, 4, 0, "offset 24: fmt chunk: found a rate of 0 Hz, expected 1 to"},
        {24, 4, 0xffffffff, "offset 24: fmt chunk: found a rate of 4294967295 Hz"},
    };
    for (size_t i = 0; built() && i < sizeof cases / sizeof *cases; i++) {
        made file = make("RIFF", 16, false, 80, true);
        memcpy(file.bytes + cases[i].at, &cases[i].value, cases[i].bytes);
        weir_source *source = NULL;
        assert_fails(open_made(file.bytes, file.count, false, &source), WEIR_E_RECORDING,
                     cases[i].why);
    }
}

/* A WAV file damaged anywhere is read as far as possible or refused by one line. */
static void damage(void **state)
{
    (void)state;
    uint64_t seed = testing_seed("wav");
    made file = make("RF64", 16, false, 0xffffffff, true);
    for (int i = 0; built() && i < 4000; i++) {
        made bad = file;
        if (i < (int)file.count) {
            bad.count = (size_t)i + 1;
        }
        for (int k = i % 4; k > 0; k--) {
            bad.bytes[testing_random(&seed) % file.data] = (unsigned char)testing_random(&seed);
        }
        weir_source *source = NULL;
        recorded all = {0};
        weir_err err = open_made(bad.bytes, bad.count, i & 1, &source);
        if (err == WEIR_OK) {
            assert_ok(read_source(source, 16, 0, &all));
            assert_true(all.frames * all.columns <= bad.count * 8);
            source->ops->close(source);
            recorded_free(&all);
        } else {
            assert_true(err == WEIR_E_RECORDING || err == WEIR_E_USAGE);
            assert_null(strchr(weir_err_detail(), '\n'));
        }
    }
}

static uint64_t number_at(const unsigned char *bytes, size_t at, int count)
{
    uint64_t value = 0;
    for (int i = 0; i < count; i++) {
        value |= (uint64_t)bytes[at + (size_t)i] << (8 * i);
    }
    return value;
}

static void what_is_written(void **state)
{
    (void)state;
    weir_spec spec = weir_spec_make(WEIR_F32, 8000, 3, NULL, NULL);
    float rows[30] = {0.5f, -1.0f};
    assert_ok(write_rows("o.wav", &spec, rows, 10));
    unsigned char bytes[512];
    FILE *file = fopen(own_path("o.wav"), "rb");
    size_t count = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    assert_int_equal(count, 116 + 120);
    assert_memory_equal(bytes, "RIFF", 4);
    assert_int_equal(number_at(bytes, 4, 4), count - 8);
    assert_memory_equal(bytes + 8, "WAVEJUNK", 8);
    assert_memory_equal(bytes + 48, "fmt ", 4);
    assert_int_equal(number_at(bytes, 58, 2), 3);
    assert_int_equal(number_at(bytes, 60, 4), 8000);
    assert_memory_equal(bytes + 108, "data", 4);
    assert_int_equal(number_at(bytes, 112, 4), 120);
    assert_memory_equal(bytes + 116, rows, 120);
    static const char *const why[] = {"whole Hz", "2^31", "1024 channels", "u16"};
    weir_spec wrong[4] = {spec, spec, weir_spec_make(WEIR_F32, 8000, 1025, NULL, NULL), spec};
    wrong[0].rate_hz = 0.5;
    wrong[1].rate_hz = 1e10;
    wrong[3].dtype = WEIR_U16;
    for (int i = 0; i < 4; i++) {
        assert_fails(write_rows("w.wav", &wrong[i], rows, 10), WEIR_E_USAGE,
                     i == 2 ? "up to 1024" : why[i]);
    }
}

/* Above 4 GiB the same head says RF64, with 64-bit sizes in place of the JUNK chunk. */
static void long_files(void **state)
{
    (void)state;
    const weir_spec spec = weir_spec_make(WEIR_F32, 8000, 2, NULL, NULL);
    const uint64_t frames = UINT64_C(1) << 30;
    unsigned char bytes[WEIRI_HEAD_BYTES];
    size_t count = weiri_wav_head_bytes(&spec);
    weiri_wav_head(&spec, frames, (char *)bytes, count);
    assert_memory_equal(bytes, "RF64\xff\xff\xff\xffWAVEds64", 16);
    assert_int_equal(number_at(bytes, 20, 8), frames * 8 + count - 8);
    assert_int_equal(number_at(bytes, 28, 8), frames * 8);
    assert_int_equal(number_at(bytes, 36, 8), frames);
    assert_int_equal(number_at(bytes, 112, 4), 0xffffffff);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codings),
        cmocka_unit_test(sizes),
        cmocka_unit_test(wide_containers),
        cmocka_unit_test(pipe_that_ends_early),
        cmocka_unit_test(fields_of_the_format),
        cmocka_unit_test(damage),
        cmocka_unit_test(what_is_written),
        cmocka_unit_test(long_files),
    };
    return cmocka_run_group_tests_name("wav", tests, NULL, own_folder_remove);
}

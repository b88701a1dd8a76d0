/* SPDX-License-Identifier: MIT
 *
 * Reading npy: orders, byte orders, dtypes, headers that are valid and that are not, files cut anywhere.
 */
#include "make_npy.h"

#include <fcntl.h>

static double value_as(const char *code, size_t t, size_t c)
{
    double number = value(t, c);
    return strcmp(code, "b1") == 0   ? (double)((int)number % 2)
           : strcmp(code, "i1") == 0 ? number - 125
                                     : number;
}

static size_t put_value(unsigned char *to, const char *code, bool big, double number)
{
    unsigned char bytes[8];
    size_t width = (size_t)(code[1] - '0');
    if (code[0] == 'f' && width == 2) {
        /* Half precision, converted here: the 10 fraction bits of a normal number can hold 0 to
         * 250. */
        int exponent = 0;
        double fraction = frexp(number, &exponent); /* in [0.5, 1) */
        int bits = (exponent + 14) << 10 | (int)((fraction * 2 - 1) * 1024);
        uint16_t half = (uint16_t)(number == 0 ? 0 : bits);
        memcpy(bytes, &half, 2);
    } else if (code[0] == 'f' && width == 4) {
        float narrow = (float)number;
        memcpy(bytes, &narrow, 4);
    } else if (code[0] == 'f') {
        memcpy(bytes, &number, 8);
    } else {
        int64_t whole = (int64_t)number;
        memcpy(bytes, &whole, 8);
    }
    for (size_t i = 0; i < width; i++) {
        to[i] = bytes[big ? width - 1 - i : i];
    }
    return width;
}

static void every_order_and_dtype(void **state)
{
    (void)state;
    static const struct {
        const char *code;
        weir_dtype physical, counts;
    } types[] = {
        {"u1", WEIR_F32, WEIR_U8},  {"u2", WEIR_F32, WEIR_U16}, {"i2", WEIR_F32, WEIR_I16},
        {"i4", WEIR_F64, WEIR_I32}, {"f4", WEIR_F32, WEIR_F32}, {"f8", WEIR_F64, WEIR_F64},
        {"b1", WEIR_F32, WEIR_U8},  {"i1", WEIR_F32, WEIR_I16}, {"u4", WEIR_F64, WEIR_F64},
        {"i8", WEIR_F64, WEIR_F64}, {"u8", WEIR_F64, WEIR_F64}, {"f2", WEIR_F32, WEIR_F32}};
    uint64_t seed = testing_seed("npy");
    enum { T = 50, C = 5 };
    const int count = sizeof types / sizeof *types;
    for (int which = 0; which < count * 2 * 2 * 3 * 2; which++) {
        const char *code = types[which % count].code;
        int rest = which / count;
        int big = rest % 2, fortran = rest / 2 % 2, version = rest / 4 % 3 + 1, stored = rest / 12;
        unsigned char body[T * C * 8];
        size_t used = 0;
        for (size_t i = 0; i < T * C; i++) {
            size_t t = fortran ? i % T : i / C, c = fortran ? i / T : i % C;
            used += put_value(body + used, code, big, value_as(code, t, c));
        }
        char dict[128];
        snprintf(dict, sizeof dict, "{'descr': '%c%s', 'fortran_order': %s, 'shape': (%d, %d), }\n",
                 big ? '>' : '<', code, fortran ? "True" : "False", T, C);
        weir_recording_options options = at_rate(100);
        options.counts = stored;
        recorded all = read_path(make("a.npy", version, dict, body, used), &options, seed);
        assert_int_equal(all.frames, T);
        assert_int_equal(all.columns, C);
        assert_int_equal(all.dtype,
                         stored ? types[which % count].counts : types[which % count].physical);
        for (size_t i = 0; i < T * C; i++) {
            assert_true(all.values[i] == value_as(code, i / C, i % C));
        }
        recorded_free(&all);
        /* The same with channels selected in another order, and a time window. */
        options.channels = "3,0-1";
        options.start_s = 0.1;
        options.duration_s = 0.2;
        all = read_path(own_path("a.npy"), &options, seed + 1);
        assert_int_equal(all.frames, 20);
        assert_int_equal(all.first_index, 10);
        static const size_t picks[] = {3, 0, 1};
        for (size_t i = 0; i < 60; i++) {
            assert_true(all.values[i] == value_as(code, 10 + i / 3, picks[i % 3]));
        }
        recorded_free(&all);
    }
}

/* Complex values, in either order of bytes and of dimensions, and with selected channels. */
static void complex_values(void **state)
{
    (void)state;
    enum { T = 20, C = 3 };
    static const char *const codes[] = {"c8", "c16"}, *const parts[] = {"f4", "f8"};
    uint64_t seed = testing_seed("npy");
    for (int which = 0; which < 8; which++) {
        bool big = which & 1, fortran = which & 2, wide = which & 4;
        unsigned char body[T * C * 16];
        size_t used = 0;
        for (size_t i = 0; i < T * C; i++) {
            size_t t = fortran ? i % T : i / C, c = fortran ? i / T : i % C;
            used += put_value(body + used, parts[wide], big, value(t, c));
            used += put_value(body + used, parts[wide], big, -value(c, t));
        }
        char dict[128];
        snprintf(dict, sizeof dict, "{'descr': '%c%s', 'fortran_order': %s, 'shape': (%d, %d), }\n",
                 big ? '>' : '<', codes[wide], fortran ? "True" : "False", T, C);
        weir_recording_options options = at_rate(100);
        for (int picked = 0; picked < 2; picked++) {
            static const size_t picks[][3] = {{0, 1, 2}, {2, 0}};
            size_t columns = picked ? 2 : 3;
            options.channels = picked ? "2,0" : NULL;
            recorded all = read_path(make("c.npy", 1, dict, body, used), &options, seed);
            assert_int_equal(all.frames, T);
            assert_int_equal(all.columns, columns);
            assert_int_equal(all.dtype, wide ? WEIR_C128 : WEIR_C64);
            for (size_t i = 0; i < T * columns; i++) {
                size_t t = i / columns, c = picks[picked][i % columns];
                assert_true(all.values[2 * i] == value(t, c) &&
                            all.values[2 * i + 1] == -value(c, t));
            }
            recorded_free(&all);
        }
    }
}

static void more_dimensions(void **state)
{
    (void)state;
    enum { T = 9, A = 2, B = 3, D = 4 };
    int16_t body[T * A * B * D];
    for (int fortran = 0; fortran < 2; fortran++) {
        for (size_t i = 0; i < T * A * B * D; i++) {
            size_t t, column;
            if (fortran) {
                size_t a = i / T % A, b = i / T / A % B, d = i / T / A / B;
                t = i % T;
                column = (a * B + b) * D + d;
            } else {
                t = i / (A * B * D);
                column = i % (A * B * D);
            }
            body[i] = (int16_t)value(t, column);
        }
        char dict[128];
        snprintf(dict, sizeof dict, "{'descr': '<i2', 'fortran_order': %s, 'shape': (9, 2, 3, 4)}",
                 fortran ? "True" : "False");
        const char *path = make("d.npy", 1, dict, body, sizeof body);
        weir_recording_options options = at_rate(1);
        weir_source *source = NULL;
        assert_ok(weir_recording_open(path, &options, &source));
        const weir_spec *spec = &source->ops->info(source)->spec;
        assert_int_equal(spec->dim_count, 4);
        assert_int_equal(spec->dims[3].size, 4);
        assert_int_equal(weir_spec_check(spec), WEIR_OK);
        recorded all = {0};
        assert_ok(read_source(source, 4, 0, &all));
        for (size_t i = 0; i < T * A * B * D; i++) {
            assert_true(all.values[i] == value(i / (A * B * D), i % (A * B * D)));
        }
        recorded_free(&all);
        source->ops->close(source);
        options.channels = "0";
        assert_fails(open_only(path, &options), WEIR_E_USAGE, "more dimensions");
    }
}

/* One row per case: a header and the expected message. NULL: it is read. */
static void headers(void **state)
{
    (void)state;
    static const struct {
        const char *dict, *said;
    } cases[] = {
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }", NULL},
        {" { \"shape\" :( 3 , 1 ) ,'fortran_order':False , 'descr':\"<f8\" } \n", NULL},
        {"{'shape': (3L, 1L), 'descr': '=f8', 'fortran_order': True}", NULL},
        {"{'descr': '|f8', 'fortran_order': False, 'shape': (3)}", NULL},
        /* more bytes than needed */
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }", NULL},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (0, 4)}", NULL},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': ()}", "single value"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (4,)}", NULL}, /* 3 are present */
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (300000000000, 4)}",
         "within the first of the 300000000000 frames"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296)}",
         "1 to 1048576"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (9223372036854775807, 3)}",
         "are larger than any file"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999,)}",
         "below 2^64"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (3, 0)}", "expected 1 to"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (3, 1, 1, 1, 1)}", "4 dimensions"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (-3,)}", "a whole number"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': 3}", "expected ("},
        {"{'descr': '<f8', 'fortran_order': False}", "once each"},
        {"{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (3,)}", "once each"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (3,), 'x': 1}", "once each"},
        {"{'descr': '<c4', 'fortran_order': False, 'shape': (3,)}",
         "b1 i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16"},
        {"{'descr': '<i3', 'fortran_order': False, 'shape': (3,)}",
         "b1 i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16"},
        {"{'descr': '|b2', 'fortran_order': False, 'shape': (3,)}",
         "b1 i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16"},
        {"{'descr': '<<f8', 'fortran_order': False, 'shape': (3,)}",
         "b1 i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16"},
        {"{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (3,)}", "structures"},
        {"{'descr': '<f8', 'fortran_order': 0, 'shape': (3,)}", "True or False"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (3,)} x", "nothing more"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (3,", "a whole number"},
        {"{'descr': '<f8, 'fortran_order': False, 'shape': (3,)}", "u1 u2 u4"},
        {"{{{{{{{{{{{{{{{{{{{{{{{{{{{{{", "quoted"},
        {"               ", "expected {"},
    };
    static const double body[3] = {1, 2, 3};
    weir_recording_options options = at_rate(10);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int before = open_descriptors();
        const char *path = make("h.npy", 1, cases[i].dict, body, sizeof body);
        if (cases[i].said) {
            assert_fails(open_only(path, &options), WEIR_E_RECORDING, cases[i].said);
            assert_non_null(strstr(weir_err_detail(), "h.npy: offset "));
            assert_null(strchr(weir_err_detail(), '\n'));
        } else {
            assert_ok(open_only(path, &options));
        }
        assert_int_equal(open_descriptors(), before);
    }
}

static void cut_anywhere(void **state)
{
    (void)state;
    static const double body[6] = {1, 2, 3, 4, 5, 6};
    const char *path = make("c.npy", 2, "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2)}",
                            body, sizeof body);
    unsigned char bytes[256];
    FILE *file = fopen(path, "rb");
    size_t count = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    weir_recording_options options = at_rate(10);
    assert_ok(open_only(path, &options));
    for (size_t cut = 0; cut < count; cut++) {
        path = write_file("c.npy", bytes, cut);
        size_t frames = cut > count - sizeof body ? (cut - (count - sizeof body)) / 16 : 0;
        if (frames > 0) { /* complete frames are read */
            recorded all = {0};
            weir_source *source = NULL;
            assert_ok(weir_recording_open(path, &options, &source));
            assert_ok(read_source(source, 7, 0, &all));
            const weir_source_info *info = source->ops->info(source);
            assert_int_equal(info->frames, frames);
            assert_int_equal(info->notice_count, 1);
            char said[128];
            snprintf(said, sizeof said,
                     "%zu of the 3 frames that the header states are complete; the last %zu bytes",
                     frames, (cut - (count - sizeof body)) % 16);
            assert_non_null(strstr(info->notices[0], said));
            assert_int_equal(all.frames, frames);
            assert_memory_equal(all.values, body, frames * 16);
            recorded_free(&all);
            source->ops->close(source);
            continue;
        }
        assert_int_equal(open_only(path, &options), WEIR_E_RECORDING);
        assert_non_null(strstr(weir_err_detail(), "c.npy: offset "));
    }
}

/* In Fortran order a truncated file lacks its last channels. */
static void cut_by_columns(void **state)
{
    (void)state;
    static const double body[6] = {1, 2, 3, 4, 5, 6};
    const char *path =
        make("f.npy", 1, "{'descr': '<f8', 'fortran_order': True, 'shape': (3, 2)}", body, 40);
    weir_recording_options options = at_rate(10);
    weir_source *source = NULL;
    recorded all = {0};
    assert_ok(weir_recording_open(path, &options, &source));
    assert_ok(read_source(source, 2, 0, &all));
    const weir_source_info *info = source->ops->info(source);
    assert_non_null(strstr(
        info->notices[0],
        "1 of the 2 channels that the header states are complete; the last 16 bytes are ignored"));
    assert_int_equal(all.frames, 3);
    assert_int_equal(all.columns, 1);
    assert_memory_equal(all.values, body, 24);
    recorded_free(&all);
    source->ops->close(source);
    path = make("f.npy", 1, "{'descr': '<f8', 'fortran_order': True, 'shape': (3, 2)}", body, 20);
    assert_fails(open_only(path, &options), WEIR_E_RECORDING, "within the first of the 2 channels");
}

/* A pipe that ends before the frames stated in the header, and within one. */
static void pipe_that_ends_early(void **state)
{
    (void)state;
    static const double body[6] = {1, 2, 3, 4, 5, 6};
    const char *path =
        make("p.npy", 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (9, 2)}", body, 43);
    unsigned char bytes[256];
    FILE *file = fopen(path, "rb");
    size_t count = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], bytes, count), (ssize_t)count);
    close(ends[1]);
    char name[32];
    snprintf(name, sizeof name, "/dev/fd/%d", ends[0]);
    weir_recording_options options = at_rate(10);
    options.format = "npy";
    weir_source *source = NULL;
    recorded all = {0};
    assert_ok(weir_recording_open(name, &options, &source));
    assert_ok(read_source(source, 7, 0, &all));
    const weir_source_info *info = source->ops->info(source);
    assert_int_equal(info->notice_count, 2);
    assert_non_null(strstr(info->notices[0], "within a frame: the last 11 bytes are ignored"));
    assert_non_null(strstr(info->notices[1], "2 of the 9 stated frames"));
    assert_int_equal(all.frames, 2);
    recorded_free(&all);
    source->ops->close(source);
    close(ends[0]);
}

/* f64 can hold whole numbers up to 2^53: that larger ones are rounded is reported once. */
static void counts_of_64_bits(void **state)
{
    (void)state;
    static const int64_t body[4] = {-9007199254740991, 9007199254740991, 7, 9007199254740993};
    for (int frames = 2; frames <= 4; frames++) {
        for (int fortran = 0; fortran < 2; fortran++) {
            char dict[96];
            snprintf(dict, sizeof dict, "{'descr': '<i8', 'fortran_order': %s, 'shape': (%d, 1)}",
                     fortran ? "True" : "False", frames);
            weir_recording_options options = at_rate(10);
            weir_source *source = NULL;
            recorded all = {0};
            const char *path = make("w.npy", 1, dict, body, (size_t)frames * 8);
            assert_ok(weir_recording_open(path, &options, &source));
            assert_ok(read_source(source, 2, 0, &all));
            const weir_source_info *info = source->ops->info(source);
            assert_int_equal(info->notice_count, frames == 4);
            if (frames == 4) {
                assert_non_null(strstr(info->notices[0], "row 3: an integer beyond 2^53"));
            }
            assert_true((int64_t)all.values[0] == body[0] && (int64_t)all.values[1] == body[1]);
            recorded_free(&all);
            source->ops->close(source);
        }
    }
}

static void what_is_no_recording(void **state)
{
    (void)state;
    weir_recording_options options = at_rate(10);
    assert_fails(open_only("/nowhere/at/all.npy", &options), WEIR_E_IO, "/nowhere/at/all.npy");
    assert_fails(open_only("/tmp", &options), WEIR_E_IO, "folder");
    assert_fails(open_only(write_file("e.npy", "", 0), &options), WEIR_E_RECORDING, "empty");
    assert_fails(open_only(write_file("e.xyz", "what?", 5), &options), WEIR_E_RECORDING,
                 "--format");
    assert_fails(open_only(write_file("e.npy", "what?", 5), &options), WEIR_E_RECORDING, "header");
    assert_fails(open_only(write_file("e.npy", "what? no npy", 12), &options), WEIR_E_RECORDING,
                 "NUMPY");
    options.format = "npz";
    assert_fails(open_only(own_path("e.npy"), &options), WEIR_E_USAGE, "did you mean npy");
}

static void options_that_do_not_suit(void **state)
{
    (void)state;
    static const double body[6] = {1, 2, 3, 4, 5, 6};
    char path[256];
    snprintf(path, sizeof path, "%s",
             make("o.npy", 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2)}", body,
                  sizeof body));
    weir_recording_options options = at_rate(0);
    assert_fails(open_only(path, &options), WEIR_E_USAGE, "--rate");
    options.rate_hz = -3;
    assert_fails(open_only(path, &options), WEIR_E_USAGE, "above 0");
    options.rate_hz = NAN;
    assert_fails(open_only(path, &options), WEIR_E_USAGE, "above 0");
    options = at_rate(10);
    options.dtype = "i16";
    assert_fails(open_only(path, &options), WEIR_E_USAGE, "raw files");
    options = at_rate(10);
    assert_fails(open_only("synthetic:", &options), WEIR_E_USAGE, "synthetic:rate=10");
    static const struct {
        const char *list, *said;
    } lists[] = {{"2", "channels 0 to 1"},
                 {"0-2", "channels 0 to 1"},
                 {"1-0", "reversed"},
                 {"", "empty"},
                 {"0,,1", "empty"},
                 {"Fp1", "no channel Fp1"},
                 {"99999999999999999999", "no channel"}};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        options = at_rate(10);
        options.channels = lists[i].list;
        assert_fails(open_only(path, &options), WEIR_E_USAGE, lists[i].said);
        options.channels = NULL;
        options.exclude = lists[i].list;
        assert_fails(open_only(path, &options), WEIR_E_USAGE, lists[i].said);
    }
    options.exclude = "0-1";
    assert_fails(open_only(path, &options), WEIR_E_USAGE, "leaves no channel");
    options = at_rate(10);
    options.start_s = -1;
    assert_fails(open_only(path, &options), WEIR_E_USAGE, "start");
    options.start_s = 5;
    assert_fails(open_only(path, &options), WEIR_E_USAGE, "there are no frames from there on");
    options.start_s = NAN;
    options.duration_s = 0;
    assert_fails(open_only(path, &options), WEIR_E_USAGE, "duration");
}

/* A file of many channels in Fortran order is read in blocks of bounded size (M6). */
static void fortran_is_bounded(void **state)
{
    (void)state;
    enum { T = 700, C = 4096 };
    uint8_t *body = malloc(T * C);
    assert_non_null(body);
    for (size_t i = 0; i < T * C; i++) {
        body[i] = (uint8_t)value(i % T, i / T);
    }
    const char *path = make(
        "f.npy", 1, "{'descr': '|u1', 'fortran_order': True, 'shape': (700, 4096)}", body, T * C);
    free(body);
    weir_recording_options options = at_rate(10);
    weir_source *source = NULL;
    assert_ok(weir_recording_open(path, &options, &source));
    uint64_t bytes = 0;
    assert_ok(source->ops->plan(source, 300, &bytes));
    assert_true(bytes <= 1024 * 1024);
    recorded all = {0};
    assert_ok(read_source(source, 300, 0, &all));
    for (size_t i = 0; i < T * C; i++) {
        assert_true(all.values[i] == value(i / C, i % C));
    }
    recorded_free(&all);
    source->ops->close(source);
}

/* A stated unit applies to channels that have none; those of a side file are kept. */
static void unit_that_is_stated(void **state)
{
    (void)state;
    static const char head[] =
        "\x93NUMPY\1\0\x46\0{'descr': '<f4', 'fortran_order': False, 'shape': "
        "(2, 3), }           \n";
    char bytes[sizeof head - 1 + 24] = {0};
    memcpy(bytes, head, sizeof head - 1);
    char path[256];
    snprintf(path, sizeof path, "%s", write_file("stated.npy", bytes, sizeof bytes));
    weir_recording_options options = weir_recording_options_default();
    options.rate_hz = 100;
    options.unit = "uV";
    for (int sided = 0; sided < 2; sided++) {
        if (sided) {
            static const char side[] =
                "{\"weir\": \"1\", \"rate_hz\": 100, \"dims\": [\"time\", \"ch\"], \"axes\": "
                "{\"time\": {\"unit\": \"s\", \"start\": 0, \"step\": 0.01}, \"ch\": {\"unit\": "
                "\"\", \"labels\": [\"a\", \"b\", \"c\"]}}, \"units\": [\"mV\", \"\", \"V\"]}";
            write_file("stated.npy.json", side, sizeof side - 1);
        }
        weir_source *source = NULL;
        assert_ok(weir_recording_open(path, &options, &source));
        const weir_spec *spec = &source->ops->info(source)->spec;
        assert_string_equal(spec->units[0], sided ? "mV" : "uV");
        assert_string_equal(spec->units[1], "uV");
        assert_string_equal(spec->units[2], sided ? "V" : "uV");
        source->ops->close(source);
        options.channels = "1-2";
        assert_ok(weir_recording_open(path, &options, &source));
        spec = &source->ops->info(source)->spec;
        assert_string_equal(spec->units[0], "uV");
        assert_string_equal(spec->units[1], sided ? "V" : "uV");
        source->ops->close(source);
        options.channels = NULL;
        options.counts = true;
        assert_fails(weir_recording_open(path, &options, &source), WEIR_E_USAGE,
                     "unit uV: stored counts have none");
        options.counts = false;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unit_that_is_stated),
        cmocka_unit_test(every_order_and_dtype),
        cmocka_unit_test(complex_values),
        cmocka_unit_test(more_dimensions),
        cmocka_unit_test(headers),
        cmocka_unit_test(cut_anywhere),
        cmocka_unit_test(cut_by_columns),
        cmocka_unit_test(pipe_that_ends_early),
        cmocka_unit_test(counts_of_64_bits),
        cmocka_unit_test(what_is_no_recording),
        cmocka_unit_test(options_that_do_not_suit),
        cmocka_unit_test(fortran_is_bounded),
    };
    return cmocka_run_group_tests_name("npy", tests, NULL, own_folder_remove);
}

/* SPDX-License-Identifier: MIT
 *
 * complex_test.c: complex values written and read again, in every output format: formats that can
 * hold them return the same bits, and the others refuse them by name.
 */
#include "have_hdf5.h"
#include "recordings.h"

enum { T = 300, C = 3 };

static const weir_dtype dtypes[] = {WEIR_C64, WEIR_C128};

/* Now and then one part is not finite: missing values are written as they are. */
static void fill(weir_dtype dtype, void *rows, uint64_t *seed)
{
    for (size_t i = 0; i < 2 * T * C; i++) {
        uint64_t bits = testing_random(seed);
        double value = bits % 50 == 0 ? INFINITY : (double)(int64_t)bits * 0x1p-50;
        if (dtype == WEIR_C64) {
            ((float *)rows)[i] = (float)value;
        } else {
            ((double *)rows)[i] = value;
        }
    }
}

static weir_err write_complex(const char *name, weir_dtype dtype, const void *rows)
{
    weir_spec spec = weir_spec_make(dtype, 500, C, NULL, NULL);
    return write_rows(name, &spec, rows, T);
}

static void comes_back(void **state)
{
    const char *name = *state;
    uint64_t seed = testing_seed("complex");
    for (size_t i = 0; i < 2; i++) {
        static double rows[2 * T * C];
        fill(dtypes[i], rows, &seed);
        assert_ok(write_complex(name, dtypes[i], rows));
        weir_source *source = NULL;
        recorded all = {0};
        assert_ok(weir_recording_open(own_path(name), NULL, &source)); /* with its side file */
        assert_ok(read_source(source, 40, seed, &all));
        assert_true(source->ops->info(source)->spec.rate_hz == 500);
        source->ops->close(source);
        assert_int_equal(all.frames, T);
        assert_int_equal(all.columns, C);
        assert_int_equal(all.dtype, dtypes[i]);
        assert_memory_equal(all.rows, rows, T * C * weir_dtype_bytes(dtypes[i]));
        recorded_free(&all);
    }
}

static void npy_says_it_as_numpy(void **state)
{
    (void)state;
    static const double rows[2 * T * C] = {0};
    const uint16_t order = 1;
    for (size_t i = 0; i < 2; i++) {
        char head[128] = "", said[32];
        assert_ok(write_complex("a.npy", dtypes[i], rows));
        FILE *file = fopen(own_path("a.npy"), "rb");
        assert_non_null(file);
        assert_int_equal(fread(head, 1, sizeof head - 1, file), sizeof head - 1);
        fclose(file);
        snprintf(said, sizeof said, "'descr': '%cc%d',", *(const char *)&order ? '<' : '>',
                 i == 0 ? 8 : 16);
        assert_non_null(strstr(head + 10, said));
    }
}

static void refused_by_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        char said[64];
        snprintf(said, sizeof said, "the stream is complex (%s); use npy", i == 0 ? "c64" : "c128");
        assert_fails(write_complex("a.csv", dtypes[i], NULL), WEIR_E_USAGE, said);
        assert_fails(write_complex("a.wav", dtypes[i], NULL), WEIR_E_USAGE, said);
    }
}

#ifdef HAVE_HDF5
static void need_hdf5(void)
{
    const weir_format_info *format = weir_formats();
    use_hdf5_helper();
    while (format->name && strcmp(format->name, "hdf5") != 0) {
        format++;
    }
    if (format->name == NULL || !format->writes) {
        printf("skipped: this build is without HDF5\n");
        skip();
    }
}

static void comes_back_of_hdf5(void **state)
{
    need_hdf5();
    comes_back(state);
}

/* Files of other programs: packed, in either byte order, with swapped parts, with space in
 * between. Refused: a scale; other names; integer parts. */
static void hdf5_of_others(void **state)
{
    (void)state;
    const hsize_t shape[2] = {T, C}, chunk[2] = {70, 2};
    need_hdf5();
    for (int which = 0; which < 8; which++) {
        bool big = which & 1, other_way = which & 2, scaled = which == 4, alien = which == 5;
        hid_t part = which >= 6 ? H5T_STD_I16LE : big ? H5T_IEEE_F64BE : H5T_IEEE_F32LE;
        hid_t type = H5Tcreate(H5T_COMPOUND, 40), native = H5Tcreate(H5T_COMPOUND, 16);
        H5Tinsert(type, alien ? "x" : "r", other_way ? 20 : 3, part);
        H5Tinsert(type, "i", other_way ? 4 : 30, part);
        H5Tinsert(native, alien ? "x" : "r", 0, H5T_NATIVE_DOUBLE);
        H5Tinsert(native, "i", 8, H5T_NATIVE_DOUBLE);
        static double rows[2 * T * C];
        for (size_t i = 0; i < 2 * T * C; i++) {
            rows[i] = (double)(i * 7 % 20001) - 10000;
        }
        hid_t file = H5Fcreate(own_path("z.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
        hid_t space = H5Screate_simple(2, shape, NULL), create = H5Pcreate(H5P_DATASET_CREATE);
        H5Pset_chunk(create, 2, chunk);
        H5Pset_deflate(create, 1);
        hid_t data = H5Dcreate2(file, "z", type, space, H5P_DEFAULT, create, H5P_DEFAULT);
        assert_true(H5Dwrite(data, native, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows) >= 0);
        if (scaled) {
            const double factor = 2;
            hid_t one = H5Screate(H5S_SCALAR);
            hid_t attribute =
                H5Acreate2(data, "conversion", H5T_NATIVE_DOUBLE, one, H5P_DEFAULT, H5P_DEFAULT);
            H5Awrite(attribute, H5T_NATIVE_DOUBLE, &factor);
            H5Aclose(attribute);
            H5Sclose(one);
        }
        H5Dclose(data);
        H5Pclose(create);
        H5Sclose(space);
        H5Tclose(type);
        H5Tclose(native);
        assert_true(H5Fclose(file) >= 0);
        weir_recording_options options = weir_recording_options_default();
        weir_source *source = NULL;
        options.rate_hz = 100;
        if (scaled) {
            assert_fails(weir_recording_open(own_path("z.h5"), &options, &source), WEIR_E_USAGE,
                         "complex values with a scale are not read; --raw");
            options.counts = true;
        }
        if (alien || which >= 6) {
            assert_fails(weir_recording_open(own_path("z.h5"), &options, &source), WEIR_E_USAGE,
                         "numeric datasets");
            continue;
        }
        recorded all = {0};
        assert_ok(weir_recording_open(own_path("z.h5"), &options, &source));
        assert_ok(read_source(source, 40, 1, &all));
        source->ops->close(source);
        assert_int_equal(all.dtype, big ? WEIR_C128 : WEIR_C64);
        assert_true(all.frames == T && all.columns == C);
        assert_memory_equal(all.values, rows, sizeof rows);
        recorded_free(&all);
    }
}

/* As h5py reads and writes them: a compound of two floats, r and i. */
static void hdf5_has_a_compound(void **state)
{
    (void)state;
    uint64_t seed = testing_seed("complex");
    need_hdf5();
    for (size_t i = 0; i < 2; i++) {
        static double rows[2 * T * C], found[2 * T * C];
        size_t bytes = weir_dtype_bytes(dtypes[i]);
        fill(dtypes[i], rows, &seed);
        assert_ok(write_complex("a.h5", dtypes[i], rows));
        hid_t file = H5Fopen(own_path("a.h5"), H5F_ACC_RDONLY, H5P_DEFAULT);
        hid_t data = H5Dopen2(file, "data", H5P_DEFAULT), type = H5Dget_type(data);
        hid_t part = i == 0 ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE;
        assert_int_equal(H5Tget_class(type), H5T_COMPOUND);
        assert_int_equal(H5Tget_nmembers(type), 2);
        assert_int_equal(H5Tget_size(type), bytes);
        for (unsigned k = 0; k < 2; k++) {
            char *name = H5Tget_member_name(type, k);
            hid_t member = H5Tget_member_type(type, k);
            assert_string_equal(name, k == 0 ? "r" : "i");
            assert_int_equal(H5Tget_member_offset(type, k), k * bytes / 2);
            assert_true(H5Tequal(member, part) > 0);
            H5Tclose(member);
            H5free_memory(name);
        }
        assert_true(H5Dread(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, found) >= 0);
        assert_memory_equal(found, rows, T * C * bytes);
        H5Tclose(type);
        H5Dclose(data);
        H5Fclose(file);
    }
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(comes_back, (void *)(uintptr_t) "a.npy"),
        cmocka_unit_test_prestate(comes_back, (void *)(uintptr_t) "a.raw"),
        cmocka_unit_test(npy_says_it_as_numpy),
        cmocka_unit_test(refused_by_name),
#ifdef HAVE_HDF5
        cmocka_unit_test_prestate(comes_back_of_hdf5, (void *)(uintptr_t) "b.h5"),
        cmocka_unit_test(hdf5_has_a_compound),
        cmocka_unit_test(hdf5_of_others),
#endif
    };
    return cmocka_run_group_tests_name("complex", tests, NULL, own_folder_remove);
}

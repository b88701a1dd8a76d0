/* SPDX-License-Identifier: MIT
 *
 * Damage in parts of an HDF5 file without a checksum, in files written by libhdf5's own driver:
 * cycles in lists and trees, blocks of another kind, lengths of messages. libhdf5 1.10.8 crashes on
 * most of them, or does not terminate; in its own process each gives an answer: an error of one
 * line, or values. hdf5_test.c tests undamaged files, child_test.c a helper that misbehaves.
 */
#include "recordings_hdf5.h"

#ifdef HAVE_HDF5
/* Places in a file in libhdf5's older format. */
enum { SUPER_END = 40, SUPER_TREE = 80, SUPER_HEAP = 88 };

static unsigned char whole[1 << 18];
static size_t whole_bytes;

static uint64_t get64(size_t at)
{
    uint64_t value = 0;
    assert_true(at + 8 <= whole_bytes);
    memcpy(&value, whole + at, sizeof value);
    return value;
}

static void put64(size_t at, uint64_t value)
{
    assert_true(at + 8 <= whole_bytes);
    memcpy(whole + at, &value, sizeof value);
}

static void load(void)
{
    FILE *file = fopen(own_path("t.h5"), "rb");
    assert_non_null(file);
    whole_bytes = fread(whole, 1, sizeof whole, file);
    fclose(file);
    assert_true(whole_bytes > 100 && whole_bytes < sizeof whole);
    assert_memory_equal(whole, "\x89HDF\r\n\x1a\n\0", 9);
}

static size_t find(const char *wanted, size_t bytes)
{
    const unsigned char *at = memmem(whole, whole_bytes, wanted, bytes);
    assert_non_null(at);
    return (size_t)(at - whole);
}

/* The layout of chunks with that many dimensions (one of them for the value's bytes): the
 * address of its index is 3 bytes further. */
static size_t find_chunks(unsigned dims)
{
    size_t at = find((const char[]){3, 2, (char)dims}, 3);
    assert_memory_equal(whole + get64(at + 3), "TREE\1", 5);
    return at;
}

static void save(void)
{
    FILE *file = fopen(own_path("b.h5"), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(whole, 1, whole_bytes, file), whole_bytes);
    fclose(file);
}

/* What is loaded is read, or refused with one line. Then it is loaded again. */
static void survived(const char *dataset)
{
    save();
    weir_recording_options options = weir_recording_options_default();
    options.rate_hz = 500;
    options.dataset = dataset;
    weir_source *source = NULL;
    recorded all = {0};
    weir_err err = weir_recording_open(own_path("b.h5"), &options, &source);
    if (err == WEIR_OK) {
        err = read_source(source, 64, 0, &all);
        source->ops->close(source);
        recorded_free(&all);
    }
    if (err != WEIR_OK) {
        assert_int_equal(err, WEIR_E_RECORDING);
        assert_null(strchr(weir_err_detail(), '\n'));
        assert_non_null(strstr(weir_err_detail(), "b.h5: "));
        if (getenv("WEIR_TEST_SHOW")) {
            printf("%s\n", weir_err_detail());
        }
    }
    load();
}

/* ---- files to be damaged -------------------------------------------------------------------------------------- */

static hid_t create(void)
{
    hid_t file = H5Fcreate(own_path("t.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(file >= 0);
    return file;
}

/* A dataset of zeros; chunk[0] = 0: contiguous. */
static hid_t dataset(hid_t at, const char *name, hid_t type, int dims, const hsize_t *chunk)
{
    static const char zeros[FRAMES * CHANNELS * 4];
    const hsize_t shape[2] = {dims == 1 ? CHANNELS : FRAMES, CHANNELS};
    hid_t space = H5Screate_simple(dims, shape, NULL), how = H5Pcreate(H5P_DATASET_CREATE);
    if (chunk[0]) {
        H5Pset_chunk(how, dims, chunk);
    }
    hid_t data = H5Dcreate2(at, name, type, space, H5P_DEFAULT, how, H5P_DEFAULT);
    assert_true(H5Dwrite(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, zeros) >= 0);
    H5Pclose(how);
    H5Sclose(space);
    return data;
}

/* /g/x, with more attributes than fit the first part of its header. */
static void make(hsize_t rows)
{
    const hsize_t chunk[2] = {rows, CHANNELS};
    hid_t file = create(), one = H5Screate(H5S_SCALAR);
    hid_t group = H5Gcreate2(file, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t data = dataset(group, "x", H5T_STD_I16LE, 2, chunk);
    for (int i = 0; i < 6; i++) {
        char name[32];
        snprintf(name, sizeof name, "note %d", i);
        H5Aclose(H5Acreate2(data, name, H5T_IEEE_F64LE, one, H5P_DEFAULT, H5P_DEFAULT));
    }
    assert_true(H5Oset_comment(group, "remarks") >= 0);
    H5Dclose(data);
    H5Gclose(group);
    H5Sclose(one);
    assert_true(H5Fclose(file) >= 0);
    load();
}

/* ---- heaps of names --------------------------------------------------------------------------------------------- */

static void names_without_an_end(void **state)
{
    (void)state;
    make(0);
    size_t heap = get64(SUPER_HEAP), size = get64(heap + 8), place = get64(heap + 16);
    size_t names = get64(heap + 24);
    assert_memory_equal(whole + heap, "HEAP", 4);
    assert_true(place > 1 && place + 16 <= size);
    put64(names + place, place);
    survived(NULL);
    put64(names + place + 8, 0);
    survived(NULL);
    put64(names + place + 8, size - place + 8);
    survived(NULL);
    put64(heap + 16, size - 8);
    survived(NULL);
    whole[names + size - 1] = 'x';
    survived(NULL);
    put64(heap + 8, 0);
    survived(NULL);
    put64(heap + 8, UINT64_MAX);
    survived(NULL);
    put64(names + place, names + place);
    survived(NULL);
}

/* Of two heaps that share their names libhdf5 fills in one, and does not follow the other. */
static void names_of_two_heaps(void **state)
{
    (void)state;
    make(0);
    size_t heap = get64(SUPER_HEAP), bytes = get64(heap + 8), names = whole_bytes;
    size_t other = get64(find("SNOD", 4) + 8 + 32);
    assert_memory_equal(whole + other, "HEAP", 4);
    assert_true(whole_bytes + bytes < sizeof whole);
    memcpy(whole + names, whole + get64(heap + 24), bytes);
    whole_bytes += bytes;
    put64(SUPER_END, whole_bytes);
    put64(heap + 24, names);
    put64(other + 24, names);
    survived("/g/x");
}

/* ---- trees -------------------------------------------------------------------------------------------------------- */

static void nodes_of_other_kinds(void **state)
{
    (void)state;
    make(1);
    size_t chunks = find_chunks(3), node = get64(chunks + 3), child = node + 24 + 32;
    size_t groups = get64(SUPER_TREE);
    assert_int_equal(whole[node + 5], 1);
    put64(chunks + 3, groups); /* kept as a group's when it is read as chunks' */
    survived("/g/x");
    put64(child, groups);
    survived("/g/x");
    put64(child, node); /* from which libhdf5 does not return */
    survived("/g/x");
    put64(child, UINT64_MAX - 1);
    survived("/g/x");
    whole[groups + 5] = 1;
    put64(groups + 24 + 8, groups);
    survived("/g/x");
    memset(whole + chunks + 11, 0, 4); /* a chunk without rows */
    survived("/g/x");
}

/* The index of another table, read with this table's sizes. */
static void index_of_another(void **state)
{
    (void)state;
    const hsize_t all[2] = {FRAMES, CHANNELS}, three[1] = {CHANNELS};
    hid_t file = create(), text = H5Tcopy(H5T_C_S1);
    H5Tset_size(text, 4);
    H5Dclose(dataset(file, "labels", text, 1, three));
    H5Dclose(dataset(file, "x", H5T_STD_I16LE, 2, all));
    H5Tclose(text);
    assert_true(H5Fclose(file) >= 0);
    load();
    size_t own = find_chunks(3), other = get64(find_chunks(2) + 3);
    put64(own + 3, other);
    survived("/x");
    for (unsigned char level = 0; level < 2; level++) {
        whole[other + 5] = level; /* a table of one chunk has no levels */
        survived("/x");
        put64(own + 3, other);
        survived("/x");
    }
}

/* ---- messages ------------------------------------------------------------------------------------------------------ */

static void lengths_of_messages(void **state)
{
    (void)state;
    make(0);
    size_t piece = find("\x10\0\x10\0", 4) + 8;
    for (uint64_t bytes = 1; bytes < 8; bytes += 3) { /* shorter than a message's head */
        put64(piece + 8, bytes);
        survived("/g/x");
        put64(piece + 8, bytes); /* libhdf5 opens it to list it */
        survived(NULL);
    }
    size_t root = get64(64); /* which libhdf5 opens with the file */
    assert_memory_equal(whole + root + 16, "\x11\0\x10\0", 4);
    whole[root + 16] = 0x10;
    put64(root + 16 + 8 + 8, 4);
    survived(NULL);
    whole[find("remarks", 8) + 7] = 'x';
    survived("/g/x");

    /* Counted links: their heap and index; values in other files: their number. */
    hid_t file = create(), how = H5Pcreate(H5P_GROUP_CREATE), out = H5Pcreate(H5P_DATASET_CREATE);
    const hsize_t shape[1] = {10}, none[2] = {0, 0};
    hid_t space = H5Screate_simple(1, shape, NULL);
    H5Pset_link_creation_order(how, H5P_CRT_ORDER_TRACKED);
    hid_t group = H5Gcreate2(file, "g", H5P_DEFAULT, how, H5P_DEFAULT);
    H5Pset_external(out, "raw.bin", 0, 20);
    H5Dclose(H5Dcreate2(file, "far", H5T_STD_I16LE, space, H5P_DEFAULT, out, H5P_DEFAULT));
    H5Dclose(dataset(group, "x", H5T_STD_I16LE, 2, none));
    H5Gclose(group);
    H5Sclose(space);
    H5Pclose(out);
    H5Pclose(how);
    assert_true(H5Fclose(file) >= 0);
    load();
    size_t links = find("\2\0\x20\0", 4) + 8, files = find("\7\0\x28\0", 4) + 8;
    assert_memory_equal(whole + links, "\0\1", 2);
    whole[links + 1] = 3; /* one index more */
    survived("/g/x");
    put64(links + 10, get64(SUPER_TREE));
    survived("/g/x");
    put64(links + 18, get64(SUPER_TREE));
    survived("/g/x");
    put64(links + 18, UINT64_MAX - 1);
    survived("/g/x");
    assert_int_equal(whole[files + 4], 1);
    whole[files + 6] = 2; /* more files than fit */
    survived("/far");
    put64(files + 8, get64(SUPER_TREE));
    survived("/far");
    weir_recording_options options = weir_recording_options_default();
    weir_source *source = NULL;
    options.dataset = "/far";
    assert_fails(weir_recording_open(own_path("t.h5"), &options, &source), WEIR_E_USAGE,
                 "/far: its samples are in other files (external)");
}

/* Values that are missing have the same length as those present: with a type of its own, and
 * with a shared one. */
static void fill_values_too_short(void **state)
{
    (void)state;
    const hsize_t shape[2] = {100, 2}, chunk[2] = {10, 2};
    const double fill = 2.5;
    for (int i = 0; i < 2; i++) {
        hid_t file = create(), type = H5Tcopy(H5T_IEEE_F64LE), how = H5Pcreate(H5P_DATASET_CREATE);
        hid_t space = H5Screate_simple(2, shape, NULL);
        if (i) {
            assert_true(H5Tcommit2(file, "t", type, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT) >= 0);
        }
        H5Pset_chunk(how, 2, chunk);
        H5Pset_fill_value(how, H5T_NATIVE_DOUBLE, &fill);
        H5Dclose(H5Dcreate2(file, "x", type, space, H5P_DEFAULT, how, H5P_DEFAULT));
        H5Sclose(space);
        H5Pclose(how);
        H5Tclose(type);
        assert_true(H5Fclose(file) >= 0);
        load();
        size_t at = 0;
        for (size_t from = find("\0\0\0\0\0\0\4\x40", 8); at == 0; from++) {
            at = whole[from - 4] == 8 ? from : 0; /* its length before it */
        }
        whole[at - 4] = 4;
        survived("/x");
    }
}

/* A type stored elsewhere states how many bytes of an attribute's values libhdf5 copies. */
static void shared_types_too_long(void **state)
{
    (void)state;
    const hsize_t none[2] = {0, 0};
    hid_t file = create(), one = H5Screate(H5S_SCALAR);
    hid_t data = dataset(file, "x", H5T_STD_I16LE, 2, none);
    hid_t types[2] = {H5Tcopy(H5T_STD_I32LE), H5Tcopy(H5T_C_S1)};
    haddr_t at[2];
    H5Tset_size(types[1], 64);
    for (int i = 0; i < 2; i++) {
        H5O_info_t info;
        char name[32];
        snprintf(name, sizeof name, "t%d", i);
        assert_true(H5Tcommit2(file, name, types[i], H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT) >= 0);
        assert_true(H5Oget_info2(types[i], &info, H5O_INFO_BASIC) >= 0);
        at[i] = info.addr;
    }
    H5Aclose(H5Acreate2(data, "typed", types[0], one, H5P_DEFAULT, H5P_DEFAULT));
    H5Tclose(types[0]);
    H5Tclose(types[1]);
    H5Dclose(data);
    H5Sclose(one);
    assert_true(H5Fclose(file) >= 0);
    load();
    size_t attribute = find("typed", 6) - 8;
    assert_int_equal(whole[attribute + 1], 1); /* its type is stored elsewhere */
    size_t type = attribute + 8 + 6;
    for (size_t skip = 0; get64(type) != at[0]; type++) {
        assert_true(++skip < 16);
    }
    put64(type, at[1]);
    survived("/x");
    whole[attribute + 1] |= 2; /* its space too, in no header */
    survived("/x");
}

/* A dataset with samples in other files, and one with a damaged list of them. */
static void virtual_is_refused(void **state)
{
    (void)state;
    const hsize_t shape[2] = {10, 2};
    weir_recording_options options = weir_recording_options_default();
    weir_source *source = NULL;
    hid_t file = create(), space = H5Screate_simple(2, shape, NULL);
    hid_t how = H5Pcreate(H5P_DATASET_CREATE);
    assert_true(H5Pset_virtual(how, space, "other.h5", "/x", space) >= 0);
    hid_t data = H5Dcreate2(file, "v", H5T_STD_I16LE, space, H5P_DEFAULT, how, H5P_DEFAULT);
    assert_true(data >= 0);
    H5Dclose(data);
    H5Pclose(how);
    H5Sclose(space);
    assert_true(H5Fclose(file) >= 0);
    load();
    for (int i = 0; i < 2; i++) {
        options.dataset = i ? "/v" : NULL;
        assert_fails(weir_recording_open(own_path("t.h5"), &options, &source), WEIR_E_USAGE,
                     "/v: its samples are in other files (virtual)");
        memset(whole + find("GCOL", 4), 0, 4);
        survived(options.dataset);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_without_an_end),  cmocka_unit_test(names_of_two_heaps),
        cmocka_unit_test(nodes_of_other_kinds),  cmocka_unit_test(index_of_another),
        cmocka_unit_test(lengths_of_messages),   cmocka_unit_test(fill_values_too_short),
        cmocka_unit_test(shared_types_too_long), cmocka_unit_test(virtual_is_refused),
    };
    return run_hdf5_tests("hdf5_damage", tests);
}
#endif

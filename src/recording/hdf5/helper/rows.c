/* SPDX-License-Identifier: MIT
 *
 * rows.c of weir-hdf5: a dataset's shape and type, how much of it is in the file, and its rows in
 * blocks. For a chunked dataset libhdf5's cache has the size of one row of chunks, so that each is
 * read and uncompressed once.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "recording/hdf5/helper/helper.h"

#define MOST_CACHE    (UINT64_C(1) << 30)
#define CHUNKS        64u   /* read by one call, which allocates this much for each of them: */
#define CHUNK_BYTES   8192u /* measured: 5.3 KiB */
#define CACHED_BYTES  1024u /* for a chunk in the cache, in addition to it */
#define CONVERT_BYTES (64u * 1024u)

static weir_err elsewhere(const weiri_hdf5 *h, const char *name, const char *how)
{
    return weiri_fail(WEIR_E_USAGE,
                      "%s: %s: its samples are in other files (%s), which is not supported",
                      h->name, name, how);
}

/* ---- layout ---------------------------------------------------------------------------------------------------- */

static size_t slots_of(const opened *in)
{
    size_t slots = 64;
    while (slots < in->across * 8 && slots < 1u << 20) {
        slots *= 2;
    }
    return slots;
}

/* For one call: rows of chunks, and columns of the second dimension; *ret_chunks: chunks. */
static uint64_t call_rows(const opened *in, uint64_t *ret_columns, uint64_t *ret_chunks)
{
    uint64_t wide = in->dims > 1 ? (in->shape[1] + in->chunk[1] - 1) / in->chunk[1] : 1;
    uint64_t deep = in->across / wide; /* in further dimensions: all of them */
    uint64_t rows = in->across < CHUNKS ? CHUNKS / in->across : 1;
    wide = in->across <= CHUNKS ? wide : deep < CHUNKS ? CHUNKS / deep : 1;
    *ret_columns = in->dims > 1 ? wide * in->chunk[1] : 1;
    *ret_chunks = rows * wide * deep;
    return rows;
}

/* What libhdf5 allocates for a cache of one row of chunks: uncompressing leaves a buffer of up
 * to twice a chunk in the cache, from one of the compressed bytes; an eighth for what malloc
 * cannot use. */
static uint64_t chunk_memory(const opened *in)
{
    uint64_t columns = 0, chunks = 0;
    call_rows(in, &columns, &chunks);
    uint64_t bytes = (in->filtered ? 2 : 1) * in->cache_bytes +
                     (in->filtered ? 3 : 1) * in->chunk_bytes + slots_of(in) * sizeof(void *) +
                     in->across * CACHED_BYTES + chunks * CHUNK_BYTES;
    return bytes + bytes / 8;
}

static weir_err take_chunks(weiri_hdf5 *h, opened *in, hid_t create, size_t value_bytes)
{
    uint64_t bytes = value_bytes, across = 1;
    bool fits = H5Pget_chunk(create, WEIR_MAX_DIMS, in->chunk) == (int)in->dims;
    for (uint32_t i = 0; fits && i < in->dims; i++) {
        fits = in->chunk[i] > 0 && weiri_mul(bytes, in->chunk[i], &bytes) &&
               (i == 0 ||
                weiri_mul(across, in->shape[i] / in->chunk[i] + (in->shape[i] % in->chunk[i] != 0),
                          &across));
    }
    if (!fits || !weiri_mul(bytes, across, &in->cache_bytes) || in->cache_bytes > MOST_CACHE) {
        return weiri_fail(WEIR_E_RECORDING,
                          "%s: %.80s: its chunks do not fit its shape, or a row of them takes more "
                          "than 1 GiB",
                          h->name, in->name);
    }
    in->chunk_bytes = bytes;
    in->across = across;
    in->filtered = H5Pget_nfilters(create) > 0;
    return WEIR_OK;
}

/* ---- what is there of what is stated --------------------------------------------------------------------------- */

/* Whether the chunks of that row are within the file. libhdf5 1.10 searches the whole index for
 * each. */
static bool row_is_there(const weiri_hdf5 *h, const opened *in, uint64_t number)
{
    hsize_t at[WEIR_MAX_DIMS] = {number * in->chunk[0]}, bytes = 0;
    for (;;) {
        unsigned mask = 0;
        haddr_t address = 0;
        if (H5Dget_chunk_info_by_coord(in->data, at, &mask, &address, &bytes) < 0 ||
            address == HADDR_UNDEF || bytes > h->size || address > h->size - bytes) {
            return false;
        }
        uint32_t i = in->dims - 1;
        for (; i > 0; i--) {
            at[i] += in->chunk[i];
            if (at[i] < in->shape[i]) {
                break;
            }
            at[i] = 0;
        }
        if (i == 0) {
            return true;
        }
    }
}

/* Rows of chunks up to the first missing one. They are assumed to be stored in the order in
 * which they were written; if they are not, reading finds the gap. */
static uint64_t whole_rows(const weiri_hdf5 *h, const opened *in)
{
    uint64_t low = 0, high = in->shape[0] / in->chunk[0] + (in->shape[0] % in->chunk[0] != 0);
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (row_is_there(h, in, middle)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Rows whose chunks are present: for a truncated file, and for a dataset whose shape states more
 * than the file can contain (compressed to a thousandth at most), because it is longer than what
 * was written. A dataset with some chunks missing keeps its length and fill values. */
static uint64_t rows_in_chunks(const weiri_hdf5 *h, const opened *in, bool cut)
{
    uint64_t most = h->size, bytes = in->row_bytes, rows = 0;
    hsize_t chunks = 0;
    if (in->filtered && !weiri_mul(most, 1100, &most)) {
        most = UINT64_MAX;
    }
    if (!cut && (!weiri_mul(bytes, in->shape[0], &bytes) || bytes <= most)) {
        return in->shape[0];
    }
    uint64_t whole = whole_rows(h, in);
    if (!cut && H5Dget_num_chunks(in->data, in->space, &chunks) >= 0 &&
        chunks / in->across > whole) {
        return in->shape[0];
    }
    return weiri_mul(whole, in->chunk[0], &rows) && rows < in->shape[0] ? rows : in->shape[0];
}

static uint64_t rows_in_a_piece(const weiri_hdf5 *h, const opened *in)
{
    haddr_t offset = H5Dget_offset(in->data);
    uint64_t there = 0;
    if (offset != HADDR_UNDEF && offset < h->size && in->row_bytes > 0) {
        there = (h->size - offset) / in->row_bytes;
    }
    return there < in->shape[0] ? there : in->shape[0];
}

/* ---- the dataset ------------------------------------------------------------------------------------------------ */

static void close_dataset(opened *in)
{
    if (in->space >= 0) {
        H5Sclose(in->space);
    }
    if (in->data >= 0) {
        H5Dclose(in->data);
    }
    *in = (opened){.data = H5I_INVALID_HID, .space = H5I_INVALID_HID};
}

static weir_err open_dataset(weiri_hdf5 *h, const char *place, opened *in)
{
    weir_err err = open_object(h, place, &in->data);
    if (err == WEIR_OK && H5Iget_type(in->data) != H5I_DATASET) {
        H5Oclose(in->data);
        in->data = H5I_INVALID_HID;
        err =
            weiri_fail(WEIR_E_USAGE, "%s: %s: is a group or a type, not a dataset", h->name, place);
    }
    return err;
}

static weir_err take_layout(weiri_hdf5 *h, opened *in, weiri_hdf5_described *ret)
{
    hid_t create = H5Dget_create_plist(in->data);
    H5D_layout_t layout = H5Pget_layout(create);
    weir_err err = WEIR_OK;
    if (layout == H5D_VIRTUAL) {
        err = elsewhere(h, in->name, "virtual");
    } else if (H5Pget_external_count(create) > 0) {
        err = elsewhere(h, in->name, "external");
    }
    in->space = err == WEIR_OK ? H5Dget_space(in->data) : H5I_INVALID_HID;
    int dims = err == WEIR_OK ? H5Sget_simple_extent_ndims(in->space) : 0;
    ret->dims = dims > 0 ? (uint32_t)dims : 0;
    if (err != WEIR_OK || dims < 1 || dims > WEIR_MAX_DIMS || !ret->is_number) {
        H5Pclose(create);
        return err; /* the reader refuses such a shape */
    }
    in->dims = ret->dims;
    H5Sget_simple_extent_dims(in->space, in->shape, NULL);
    in->row_bytes = ret->value_bytes;
    bool fits = true;
    for (uint32_t i = 0; i < in->dims; i++) {
        ret->shape[i] = in->shape[i];
        fits = fits && (i == 0 || weiri_mul(in->row_bytes, in->shape[i], &in->row_bytes));
    }
    ret->rows = in->shape[0];
    ret->memory_bytes = CONVERT_BYTES;
    if (fits && layout == H5D_CHUNKED) {
        err = take_chunks(h, in, create, ret->value_bytes);
        ret->memory_bytes += err == WEIR_OK ? chunk_memory(in) : 0;
        ret->rows = err == WEIR_OK ? rows_in_chunks(h, in, ret->file_bytes > h->size) : 0;
    } else if (fits && layout == H5D_CONTIGUOUS) {
        ret->rows = rows_in_a_piece(h, in);
    }
    H5Pclose(create);
    return err;
}

weir_err answer_dataset(weiri_hdf5 *h, const char *place, opened *in)
{
    close_dataset(in);
    weir_err err = open_dataset(h, place, in);
    if (err != WEIR_OK) {
        return err;
    }
    snprintf(in->name, sizeof in->name, "%s", place);
    weiri_hdf5_described all = {.file_bytes = h->end};
    hid_t type = H5Dget_type(in->data), half = weiri_hdf5_part(type);
    in->is_complex = all.is_complex = half >= 0;
    hid_t part = all.is_complex ? half : H5Tcopy(type);
    H5T_class_t class = H5Tget_class(part);
    size_t bytes = H5Tget_size(part), value_bytes = H5Tget_size(type);
    all.is_float = class == H5T_FLOAT;
    all.is_number = (all.is_float || class == H5T_INTEGER) && bytes >= 1 && bytes <= 16 &&
                    value_bytes < UINT32_MAX;
    all.is_signed = class == H5T_INTEGER && H5Tget_sign(part) == H5T_SGN_2;
    all.value_bytes = all.is_number ? (uint32_t)value_bytes : 0;
    all.part_bytes = all.is_number ? (uint32_t)bytes : 0;
    H5Tclose(part);
    H5Tclose(type);
    err = take_layout(h, in, &all);
    if (err == WEIR_OK) {
        answer(&(weiri_hdf5_answer){.kind = WEIRI_HDF5_DESCRIBED, .bytes = sizeof all}, &all);
    }
    return err;
}

/* ---- rows ------------------------------------------------------------------------------------------------------- */

static uint64_t columns_of(const opened *in)
{
    uint64_t columns = 1;
    for (uint32_t i = 1; i < in->dims; i++) {
        columns *= in->shape[i];
    }
    return columns;
}

/* Opens it again with a cache of one row of chunks, whose memory has been granted. */
static weir_err open_with_cache(weiri_hdf5 *h, opened *in)
{
    if (in->chunk[0] == 0) {
        return WEIR_OK;
    }
    hid_t access = H5Pcreate(H5P_DATASET_ACCESS);
    H5Pset_chunk_cache(access, slots_of(in) + 1, (size_t)in->cache_bytes, 1.0);
    H5Dclose(in->data);
    in->data = H5Dopen2(h->file, in->name, access);
    weir_err err =
        in->data < 0 ? weiri_hdf5_fail(h, WEIR_E_RECORDING, "dataset cannot be opened") : WEIR_OK;
    H5Pclose(access);
    return err;
}

/* How rows are read. */
typedef struct rows_to {
    hid_t type, transfer;
    uint64_t piece;   /* rows of one call; for chunks complete ones */
    uint64_t columns; /* of the second dimension, in one call */
    size_t row_bytes;
} rows_to;

static bool read_call(weiri_hdf5 *h,
                      opened *in,
                      const hsize_t *from,
                      const hsize_t *count,
                      const rows_to *to,
                      void *rows)
{
    hsize_t all[WEIR_MAX_DIMS], place[WEIR_MAX_DIMS] = {0, from[1]};
    memcpy(all, in->shape, sizeof all);
    all[0] = count[0];
    hid_t memory = H5Screate_simple((int)in->dims, all, NULL);
    h->past_end = false;
    bool good = H5Sselect_hyperslab(in->space, H5S_SELECT_SET, from, NULL, count, NULL) >= 0 &&
                H5Sselect_hyperslab(memory, H5S_SELECT_SET, place, NULL, count, NULL) >= 0 &&
                H5Dread(in->data, to->type, memory, in->space, to->transfer, rows) >= 0 &&
                !h->past_end;
    if (good) {
        H5Sclose(memory); /* otherwise not: any further call of libhdf5 would overwrite the cause */
    }
    return good;
}

static bool
read_piece(weiri_hdf5 *h, opened *in, uint64_t first, uint64_t count, const rows_to *to, void *rows)
{
    hsize_t from[WEIR_MAX_DIMS] = {first}, many[WEIR_MAX_DIMS];
    memcpy(many, in->shape, sizeof many);
    many[0] = count;
    bool good = true;
    do {
        many[1] = in->shape[1] - from[1] < to->columns ? in->shape[1] - from[1] : to->columns;
        good = read_call(h, in, from, many, to, rows);
        from[1] += to->columns;
    } while (good && from[1] < in->shape[1]);
    return good;
}

/* The number of a filter that the file needs and this libhdf5 does not have; 0: none. */
static int missing_filter(const opened *in)
{
    hid_t create = H5Dget_create_plist(in->data);
    int found = 0;
    for (int i = 0; found == 0 && i < H5Pget_nfilters(create); i++) {
        unsigned flags = 0;
        size_t values = 0;
        H5Z_filter_t filter =
            H5Pget_filter2(create, (unsigned)i, &flags, &values, NULL, 0, NULL, NULL);
        found = filter > 0 && H5Zfilter_avail(filter) <= 0 ? filter : 0;
    }
    H5Pclose(create);
    return found;
}

static weir_err not_read(weiri_hdf5 *h, const opened *in, uint64_t first, uint64_t count)
{
    char what[160];
    snprintf(what, sizeof what, "%.60s: frames %llu to %llu cannot be read", in->name,
             (unsigned long long)first, (unsigned long long)(first + count - 1));
    weir_err err = weiri_hdf5_fail(h, WEIR_E_RECORDING, what);
    int filter = h->past_end ? 0 : missing_filter(in);
    if (filter) {
        err = weiri_fail(WEIR_E_RECORDING,
                         "%s: %s: compressed with filter %d, which libhdf5 does not find "
                         "(HDF5_PLUGIN_PATH lists folders of filters)",
                         h->name, what, filter);
    }
    return err;
}

/* Rows [first, first + most), in calls of whole chunks, up to what cannot be read. */
static uint64_t
read_block(weiri_hdf5 *h, opened *in, uint64_t first, uint64_t most, rows_to *to, char *block)
{
    uint64_t done = 0;
    while (done < most) {
        uint64_t count = to->piece - (first + done) % to->piece;
        count = count < most - done ? count : most - done;
        if (read_piece(h, in, first + done, count, to, block + done * to->row_bytes)) {
            done += count;
        } else if (in->chunk[0] && to->piece > in->chunk[0]) {
            to->piece = in->chunk[0]; /* again, as far as possible */
        } else {
            break;
        }
    }
    return done;
}

static weir_err
send_rows(weiri_hdf5 *h, const weiri_hdf5_question *ask, opened *in, rows_to *to, char *blocks)
{
    uint64_t end = ask->first + ask->count, sent = 0;
    for (uint64_t first = ask->first; first < end; sent++) {
        uint64_t most = end - first < ask->block_rows ? end - first : ask->block_rows;
        char place[WEIRI_HDF5_PATH], name[WEIRI_HDF5_PATH];
        if (sent >= 2) {
            next_question(place, name);
        }
        watch();
        uint64_t done =
            read_block(h, in, first, most, to, blocks + sent % 2 * ask->block_rows * to->row_bytes);
        if (done == 0) {
            uint64_t rest = to->piece - first % to->piece;
            return not_read(h, in, first, rest < most ? rest : most);
        }
        answer(&(weiri_hdf5_answer){.kind = WEIRI_HDF5_BLOCK, .count = done}, NULL);
        first += done;
    }
    return WEIR_OK;
}

weir_err answer_rows(weiri_hdf5 *h, const weiri_hdf5_question *ask, opened *in)
{
    const hid_t types[WEIRI_CODINGS] = {H5T_NATIVE_UINT8, H5T_NATIVE_UINT16, H5T_NATIVE_INT16,
                                        H5T_NATIVE_INT32, H5T_NATIVE_INT32,  H5T_NATIVE_FLOAT,
                                        H5T_NATIVE_DOUBLE};
    static unsigned char convert[CONVERT_BYTES], behind[CONVERT_BYTES]; /* of compounds, both */
    if (in->data < 0 || ask->coding >= WEIRI_CODINGS || ask->block_rows == 0) {
        return weiri_fail(WEIR_E_INTERNAL, "%s: rows without a dataset or an encoding", h->name);
    }
    grant(WEIRI_HDF5_DATA + ask->memory_bytes);
    weir_err err = open_with_cache(h, in);
    hid_t part = types[ask->coding];
    rows_to to = {.type = in->is_complex ? weiri_hdf5_complex(part) : H5Tcopy(part),
                  .transfer = H5Pcreate(H5P_DATASET_XFER),
                  .piece = ask->block_rows,
                  .columns = in->dims > 1 ? in->shape[1] : 1};
    to.row_bytes = columns_of(in) * H5Tget_size(to.type);
    if (in->chunk[0]) {
        uint64_t chunks = 0;
        to.piece = in->chunk[0] * call_rows(in, &to.columns, &chunks);
    }
    size_t bytes = 2 * ask->block_rows * to.row_bytes;
    char *blocks = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, WEIRI_HDF5_BLOCKS, 0);
    if (blocks == MAP_FAILED || H5Pset_buffer(to.transfer, CONVERT_BYTES, convert, behind) < 0) {
        err = weiri_fail(WEIR_E_NOMEM, "%s: no memory for %llu rows", h->name,
                         (unsigned long long)ask->block_rows);
    }
    if (err == WEIR_OK) {
        err = send_rows(h, ask, in, &to, blocks);
    }
    if (blocks != MAP_FAILED) {
        munmap(blocks, bytes);
    }
    H5Tclose(to.type);
    H5Pclose(to.transfer);
    return err;
}

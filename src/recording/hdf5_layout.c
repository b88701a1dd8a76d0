/* SPDX-License-Identifier: MIT
 *
 * hdf5_layout.c: how a dataset lies in its file: in one piece or in chunks, whose cache is as large as one row
 * of chunks needs, and declared (M7); how much of it is there; and whether what its indexes state can be
 * given to libhdf5, which takes it unseen.
 */
#include "recording/hdf5_read.h"

#ifdef WEIRI_HDF5
#include <string.h>

#define MOST_CACHE  (UINT64_C(1) << 30)
#define MOST_BESIDE (16u * 1024u * 1024u) /* of a table beside the signal */

bool weiri_hdf5_plain(hid_t data)
{
    hid_t create = H5Dget_create_plist(data), space = H5Dget_space(data), type = H5Dget_type(data);
    H5D_layout_t layout = create >= 0 ? H5Pget_layout(create) : H5D_LAYOUT_ERROR;
    hssize_t points = H5Sget_simple_extent_npoints(space);
    uint64_t bytes = 0;
    bool good = points >= 0 && weiri_mul((uint64_t)points, H5Tget_size(type), &bytes) &&
                bytes <= MOST_BESIDE;
    if (layout == H5D_COMPACT) {
        good = good && H5Dget_storage_size(data) >= bytes;
    } else if (layout == H5D_CHUNKED) {
        hsize_t chunk[H5S_MAX_RANK] = {0}, size = 0;
        hsize_t at[H5S_MAX_RANK] = {0}, extent[H5S_MAX_RANK] = {0};
        unsigned mask = 0;
        haddr_t address = 0;
        uint64_t all = H5Tget_size(type);
        /* Chunks without a filter, one after another along the first dimension, as weir writes them. */
        int dims = H5Pget_chunk(create, H5S_MAX_RANK, chunk);
        good = good && dims == H5Sget_simple_extent_ndims(space) && H5Pget_nfilters(create) == 0;
        good = good && H5Sget_simple_extent_dims(space, extent, NULL) == dims && points > 0;
        for (int i = 0; good && i < dims; i++) {
            good =
                chunk[i] > 0 && weiri_mul(all, chunk[i], &all) && (i == 0 || chunk[i] >= extent[i]);
        }
        for (; good && at[0] < extent[0]; at[0] += chunk[0]) {
            good = H5Dget_chunk_info_by_coord(data, at, &mask, &address, &size) >= 0 && size == all;
        }
    } else {
        good = good && layout == H5D_CONTIGUOUS && H5Pget_external_count(create) == 0;
    }
    if (create >= 0) {
        H5Pclose(create);
    }
    H5Tclose(type);
    H5Sclose(space);
    return good;
}

/* Whether chunks go through more than what leaves their size as it is: shuffling, checksums. */
static bool changes_size(hid_t create)
{
    bool changes = false;
    for (int i = 0; i < H5Pget_nfilters(create); i++) {
        unsigned flags = 0;
        size_t values = 0;
        H5Z_filter_t filter =
            H5Pget_filter2(create, (unsigned)i, &flags, &values, NULL, 0, NULL, NULL);
        changes = changes || (filter != H5Z_FILTER_SHUFFLE && filter != H5Z_FILTER_FLETCHER32);
    }
    return changes;
}

/* One row of chunks stays in libhdf5's cache, so that each is read and unpacked once. */
weir_err weiri_hdf5_layout(weiri_reader *reader, hdf5_in *in)
{
    hid_t create = H5Dget_create_plist(in->data);
    H5D_layout_t layout = H5Pget_layout(create);
    weir_err err = WEIR_OK;
    if (layout == H5D_CHUNKED) {
        hsize_t chunk[H5S_MAX_RANK] = {0};
        uint64_t bytes = in->stored_bytes, across = 1;
        hsize_t most[H5S_MAX_RANK] = {0};
        bool fits = H5Pget_chunk(create, H5S_MAX_RANK, chunk) == (int)in->dims &&
                    H5Sget_simple_extent_dims(in->space, NULL, most) == (int)in->dims;
        for (uint32_t i = 0; fits && i < in->dims; i++) {
            /* Of a shape that cannot grow chunks are no larger than it. */
            fits = chunk[i] > 0 && (most[i] == H5S_UNLIMITED || chunk[i] <= most[i]) &&
                   weiri_mul(bytes, chunk[i], &bytes);
            in->chunk[i] = chunk[i];
            across *= i && fits ? (in->shape[i] + chunk[i] - 1) / chunk[i] : 1;
        }
        fits = fits && weiri_mul(bytes, across, &in->cache_bytes);
        if (!fits || in->cache_bytes > MOST_CACHE) {
            err = weiri_malformed(reader, 0,
                                  "%.80s: its chunks do not suit its shape, or a row of them is "
                                  "more than 1 GiB",
                                  reader->dataset);
        }
        in->filtered = H5Pget_nfilters(create) > 0;
        in->chunk_bytes = bytes;
        in->across = across;
        in->h.chunk_dims = in->dims;
        in->h.chunk_bytes = bytes;
        in->h.chunk_packed = changes_size(create);
        memcpy(in->h.chunk, in->chunk, sizeof in->chunk);
    } else if (layout == H5D_COMPACT) {
        uint64_t all = 0;
        if (!weiri_mul(in->columns * in->stored_bytes, in->frames, &all) ||
            H5Dget_storage_size(in->data) < all) {
            err = weiri_malformed(reader, 0,
                                  "%.80s: its header holds fewer bytes than its shape says",
                                  reader->dataset);
        }
    } else if (layout != H5D_CONTIGUOUS) {
        err = weiri_fail(WEIR_E_USAGE, "%s: %s: lies in other files (virtual), which is not read",
                         reader->path, reader->dataset);
    }
    if (err == WEIR_OK && H5Pget_external_count(create) > 0) {
        err = weiri_fail(WEIR_E_USAGE, "%s: %s: lies in other files (external), which is not read",
                         reader->path, reader->dataset);
    }
    H5Pclose(create);
    return err;
}

/* Opened again with a cache of that size, which is charged first, with what a filter takes beside it. The file
 * too: a damaged index may lead to that of a table beside it, which libhdf5 has taken in by another measure. */
weir_err weiri_hdf5_cache(weiri_reader *reader, hdf5_in *in)
{
    if (in->chunk_bytes == 0) {
        return WEIR_OK;
    }
    size_t slots = 64;
    while (slots < in->across * 8 && slots < 1u << 20) {
        slots *= 2;
    }
    weir_err err = weiri_reader_charge(reader, in->cache_bytes + slots * sizeof(void *) +
                                                   (in->filtered ? 2 : 1) * in->chunk_bytes);
    if (err != WEIR_OK) {
        return err;
    }
    hid_t access = H5Pcreate(H5P_DATASET_ACCESS);
    H5Pset_chunk_cache(access, slots + 1, (size_t)in->cache_bytes, 1.0);
    H5Dclose(in->data);
    H5Fclose(in->h.file);
    in->data = H5I_INVALID_HID;
    err = weiri_hdf5_open(&in->h);
    if (err == WEIR_OK) {
        in->data = H5Dopen2(in->h.file, reader->dataset, access);
    }
    H5Pclose(access);
    if (err != WEIR_OK) {
        return err;
    }
    return in->data < 0 ? weiri_hdf5_fail(&in->h, WEIR_E_RECORDING, "dataset cannot be opened")
                        : WEIR_OK;
}

/* ---- what is there of what is stated --------------------------------------------------------------------- */

/* Whether the chunks of that row are within the file. libhdf5 1.10 goes through the whole index for each. */
static bool row_is_there(const weiri_reader *reader, const hdf5_in *in, uint64_t number)
{
    hsize_t at[WEIR_MAX_DIMS] = {number * in->chunk[0]}, bytes = 0;
    for (;;) {
        unsigned mask = 0;
        haddr_t address = 0;
        if (H5Dget_chunk_info_by_coord(in->data, at, &mask, &address, &bytes) < 0 ||
            address == HADDR_UNDEF || bytes > reader->input.size ||
            address > reader->input.size - bytes) {
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

/* Rows of chunks up to the first that is not there. They are taken to lie in the order in which they were
 * written; where they do not, reading meets the gap. */
static uint64_t whole_rows(const weiri_reader *reader, const hdf5_in *in)
{
    uint64_t low = 0, high = (in->frames + in->chunk[0] - 1) / in->chunk[0];
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (row_is_there(reader, in, middle)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Frames of chunks that are there: of a file that was cut, and of a dataset whose shape says more than the file
 * can hold (packed to a thousandth at most), as it is longer than what was written into it. One with chunks
 * here and there keeps its length and fill values. */
static uint64_t frames_in_chunks(const weiri_reader *reader, const hdf5_in *in, bool cut)
{
    uint64_t most = reader->input.size, bytes = in->columns * in->stored_bytes;
    hsize_t chunks = 0;
    if (in->filtered && !weiri_mul(most, 1100, &most)) {
        most = UINT64_MAX;
    }
    if (!cut && (!weiri_mul(bytes, in->frames, &bytes) || bytes <= most)) {
        return in->frames;
    }
    uint64_t rows = whole_rows(reader, in), frames = 0;
    if (!cut && H5Dget_num_chunks(in->data, in->space, &chunks) >= 0 &&
        chunks / in->across > rows) {
        return in->frames;
    }
    return weiri_mul(rows, in->chunk[0], &frames) && frames < in->frames ? frames : in->frames;
}

static uint64_t frames_in_a_piece(const weiri_reader *reader, const hdf5_in *in)
{
    haddr_t offset = H5Dget_offset(in->data);
    hid_t create = H5Dget_create_plist(in->data);
    bool compact = create >= 0 && H5Pget_layout(create) == H5D_COMPACT;
    uint64_t size = reader->input.size, there = 0;
    if (create >= 0) {
        H5Pclose(create);
    }
    if (compact) {
        return in->frames; /* seen to by weiri_hdf5_layout */
    }
    if (offset != HADDR_UNDEF && offset < size) {
        there = (size - offset) / (in->columns * in->stored_bytes);
    }
    return there < in->frames ? there : in->frames;
}

void weiri_hdf5_end(weiri_reader *reader, hdf5_in *in)
{
    uint64_t size = reader->input.size, stated = in->h.end; /* what libhdf5 took from the header */
    bool cut = stated > size;
    uint64_t frames =
        in->chunk_bytes ? frames_in_chunks(reader, in, cut) : frames_in_a_piece(reader, in);
    if (cut) {
        weiri_notice(&reader->notices,
                     "cut short: the file states %llu bytes, %llu are there; %llu of %llu frames "
                     "are whole",
                     (unsigned long long)stated, (unsigned long long)size,
                     (unsigned long long)frames, (unsigned long long)in->frames);
    } else if (frames < in->frames) {
        weiri_notice(&reader->notices, "%llu of %llu frames were written; the rest is not there",
                     (unsigned long long)frames, (unsigned long long)in->frames);
    }
    in->frames = frames;
}
#endif

/* SPDX-License-Identifier: MIT
 *
 * hdf5.c: a dataset of an HDF5 file: frames first, then channels, then up to two further dimensions. Rate,
 * labels, units, scale and start time come from what weir's own files hold and from attributes of common
 * names (hdf5_about.c); how it lies in the file is looked at in hdf5_layout.c.
 */
#include <string.h>

#include "recording/hdf5_read.h"

#ifdef WEIRI_HDF5
#include <stdio.h>

#define CONVERT_BYTES  (64u * 1024u)
#define MOST_OBJECTS   10000
#define MOST_NESTED    32
#define SHOWN_DATASETS 8

/* ---- which dataset -------------------------------------------------------------------------------------- */

typedef struct search {
    weiri_reader *reader;
    const hdf5_in *in;
    uint64_t objects, found;
    weir_err err;
    char names[SHOWN_DATASETS][80];
} search;

static bool is_signal(hid_t file, const char *name)
{
    hid_t data = H5Dopen2(file, name, H5P_DEFAULT);
    if (data < 0) {
        return false;
    }
    hid_t type = H5Dget_type(data), space = H5Dget_space(data);
    H5T_class_t class = H5Tget_class(type);
    int dims = H5Sget_simple_extent_ndims(space);
    bool is = (class == H5T_INTEGER || class == H5T_FLOAT) && dims >= 1 && dims <= WEIR_MAX_DIMS;
    H5Sclose(space);
    H5Tclose(type);
    H5Dclose(data);
    return is;
}

/* What lies in other files counts, so that it is refused by its name. */
static bool may_be_signal(const search *all, hid_t file, const char *name)
{
    return weiri_hdf5_object(all->reader, all->in, file, name) == WEIR_E_USAGE ||
           (weiri_hdf5_sound(all->reader, all->in, file, name) && is_signal(file, name));
}

static herr_t visit(hid_t file, const char *name, const H5O_info_t *info, void *user)
{
    search *all = user;
    size_t depth = 0;
    if (++all->objects > MOST_OBJECTS) {
        return 1;
    }
    for (const char *next = name; *next; next++) {
        depth += *next == '/';
    }
    /* A group that damage has put into itself, where libhdf5 goes down until its stack ends: what states to
     * be linked once it does not remember. */
    if (depth > MOST_NESTED) {
        all->err =
            weiri_malformed(all->reader, info->addr,
                            "%.80s...: groups lie %zu deep, %d at most: one lies within itself",
                            name, depth, MOST_NESTED);
        return -1;
    }
    if (info->type == H5O_TYPE_GROUP && strcmp(name, ".") != 0) {
        all->err = weiri_hdf5_object(all->reader, all->in, file, name);
        return all->err == WEIR_OK ? 0 : -1;
    }
    if (info->type == H5O_TYPE_DATASET && may_be_signal(all, file, name)) {
        if (all->found < SHOWN_DATASETS) {
            snprintf(all->names[all->found], sizeof all->names[0], "/%.78s", name);
        }
        all->found++;
    }
    return 0;
}

/* weir's own, or the only one of numbers. In the order of the file: to sort them libhdf5 1.10 makes a table,
 * which it gives back before it is filled where a group is damaged. */
static weir_err choose(weiri_reader *reader, hdf5_in *in)
{
    search all = {.reader = reader, .in = in};
    if (reader->dataset) {
        return WEIR_OK;
    }
    if (H5Aexists(in->h.file, "weir") > 0) {
        reader->dataset = "/data";
        return WEIR_OK;
    }
    herr_t done = H5Ovisit2(in->h.file, H5_INDEX_NAME, H5_ITER_NATIVE, visit, &all, H5O_INFO_BASIC);
    if (all.err != WEIR_OK) {
        return all.err;
    }
    if (done < 0 && all.found == 0) {
        return weiri_hdf5_fail(&in->h, WEIR_E_RECORDING, "its objects cannot be listed");
    }
    if (all.found == 1) {
        return weiri_reader_text(reader, all.names[0], strlen(all.names[0]), &reader->dataset);
    }
    char list[SHOWN_DATASETS * 82] = "";
    for (uint64_t i = 0; i < all.found && i < SHOWN_DATASETS; i++) {
        strcat(list, i ? ", " : "");
        strcat(list, all.names[i]);
    }
    return weiri_fail(WEIR_E_USAGE,
                      "%s: holds %llu datasets of numbers%s%.400s%s; state one by "
                      "--dataset /NAME, or PATH:/NAME",
                      reader->path, (unsigned long long)all.found, all.found ? ": " : "", list,
                      all.found > SHOWN_DATASETS ? ", ..." : "");
}

/* ---- how its values lie ------------------------------------------------------------------------------------ */

/* The coding that holds every value, and libhdf5's type of it. */
static weir_err take_type(weiri_reader *reader, hdf5_in *in)
{
    static const weir_dtype dtypes[WEIRI_CODINGS] = {WEIR_U8,  WEIR_U16, WEIR_I16, WEIR_I32,
                                                     WEIR_I32, WEIR_F32, WEIR_F64};
    hid_t type = H5Dget_type(in->data);
    H5T_class_t class = H5Tget_class(type);
    size_t bytes = H5Tget_size(type);
    bool is_signed = class == H5T_INTEGER && H5Tget_sign(type) == H5T_SGN_2;
    weiri_coding coding = WEIRI_CODING_F64;
    H5Tclose(type);
    if (class != H5T_INTEGER && class != H5T_FLOAT) {
        return weiri_fail(WEIR_E_USAGE, "%s: %s: holds no plain numbers", reader->path,
                          reader->dataset);
    }
    if (class == H5T_FLOAT) {
        coding = bytes <= 4 ? WEIRI_CODING_F32 : WEIRI_CODING_F64;
    } else if (bytes == 1) {
        coding = is_signed ? WEIRI_CODING_I16 : WEIRI_CODING_U8;
    } else if (bytes == 2) {
        coding = is_signed ? WEIRI_CODING_I16 : WEIRI_CODING_U16;
    } else if (bytes <= 4 && is_signed) {
        coding = WEIRI_CODING_I32;
    } else if (bytes > 4) {
        weiri_notice(&reader->notices, "integers of %zu bytes are read as f64: exact up to 2^53",
                     bytes);
    }
    if (bytes < 1 || bytes > 16) {
        return weiri_fail(WEIR_E_USAGE, "%s: %s: numbers of %zu bytes", reader->path,
                          reader->dataset, bytes);
    }
    const hid_t types[] = {H5T_NATIVE_UINT8, H5T_NATIVE_UINT16, H5T_NATIVE_INT16, H5T_NATIVE_INT32,
                           H5T_NATIVE_INT32, H5T_NATIVE_FLOAT,  H5T_NATIVE_DOUBLE};
    in->type = types[coding];
    in->stored_bytes = bytes;
    reader->stored = (weiri_stored){.coding = coding};
    reader->stored.big_endian = !weiri_stored_is(reader->stored, dtypes[coding]);
    return WEIR_OK;
}

static weir_err take_shape(weiri_reader *reader, hdf5_in *in)
{
    in->space = H5Dget_space(in->data);
    int dims = H5Sget_simple_extent_ndims(in->space);
    hsize_t shape[H5S_MAX_RANK] = {0};
    if (dims < 1 || dims > WEIR_MAX_DIMS ||
        H5Sget_simple_extent_dims(in->space, shape, NULL) != dims) {
        return weiri_fail(WEIR_E_USAGE, "%s: %s: has %d dimensions; 1 to %d are read", reader->path,
                          reader->dataset, dims, WEIR_MAX_DIMS);
    }
    uint64_t columns = 1, all = 0;
    bool fits = true;
    for (int i = 0; i < dims; i++) {
        in->shape[i] = shape[i];
        fits = fits && (i == 0 || weiri_mul(columns, shape[i], &columns));
    }
    in->dims = (uint32_t)dims;
    if (!fits || columns == 0 || columns > WEIRI_MAX_CHANNELS ||
        !weiri_mul(columns * 16, shape[0], &all) || all > INT64_MAX) {
        return weiri_malformed(reader, 0, "%.80s: %llu x %llu values: a frame holds 1 to %u%s",
                               reader->dataset, (unsigned long long)shape[0],
                               (unsigned long long)columns, WEIRI_MAX_CHANNELS,
                               columns > shape[0] ? " (frames are the first dimension)" : "");
    }
    reader->channel_count = dims > 1 ? shape[1] : 1;
    reader->inner = columns / reader->channel_count;
    in->columns = columns;
    in->frames = shape[0];
    if (columns > shape[0] && shape[0] > 0) {
        weiri_notice(&reader->notices,
                     "%llu frames of %llu values: frames are the first dimension here",
                     (unsigned long long)shape[0], (unsigned long long)columns);
    }
    return WEIR_OK;
}

/* ---- opening --------------------------------------------------------------------------------------------- */

static weir_err open_dataset(weiri_reader *reader, hdf5_in *in)
{
    weir_err err = weiri_hdf5_object(reader, in, in->h.file, NULL);
    if (err == WEIR_OK) {
        err = choose(reader, in);
    }
    if (err == WEIR_OK) {
        err = weiri_hdf5_path(reader, in, reader->dataset);
    }
    if (err != WEIR_OK) {
        return err;
    }
    in->data = H5Dopen2(in->h.file, reader->dataset, H5P_DEFAULT);
    if (in->data < 0) {
        char what[120];
        snprintf(what, sizeof what, "dataset %.90s cannot be opened", reader->dataset);
        return weiri_hdf5_fail(&in->h, WEIR_E_RECORDING, what);
    }
    err = take_type(reader, in);
    if (err == WEIR_OK) {
        err = take_shape(reader, in);
    }
    if (err == WEIR_OK) {
        err = weiri_hdf5_layout(reader, in);
    }
    if (err == WEIR_OK) {
        weiri_hdf5_end(reader, in);
    }
    if (err != WEIR_OK) {
        return err;
    }
    reader->info.variant = reader->dataset;
    const uint64_t shape[WEIR_MAX_DIMS] = {in->frames, reader->channel_count, in->shape[2],
                                           in->shape[3]};
    weiri_side_read(reader, shape, in->dims > 1 ? in->dims : 2);
    uint64_t chunk_bytes = in->h.chunk_bytes;
    in->h.chunk_bytes = 0; /* tables beside it have chunks of their own */
    err = weiri_hdf5_about(reader, in);
    in->h.chunk_bytes = chunk_bytes;
    err = err == WEIR_OK ? weiri_hdf5_cache(reader, in) : err;
    if (err != WEIR_OK) {
        return err;
    }
    in->transfer = H5Pcreate(H5P_DATASET_XFER);
    if (in->transfer < 0 || H5Pset_buffer(in->transfer, CONVERT_BYTES, in->convert, NULL) < 0) {
        return weiri_hdf5_fail(&in->h, WEIR_E_INTERNAL, "transfer");
    }
    return err;
}

static weir_err hdf5_open(weiri_reader *reader)
{
    if (reader->input.pipe) {
        return weiri_fail(WEIR_E_USAGE,
                          "%s: an HDF5 file is read here and there, which a pipe cannot",
                          reader->input.name);
    }
    hdf5_in *in;
    weir_err err = weiri_reader_charge(reader, WEIRI_HDF5_BYTES);
    if (err == WEIR_OK) {
        err = weiri_reader_get(reader, 1, sizeof *in, &in);
    }
    if (err != WEIR_OK) {
        return err;
    }
    in->data = in->space = in->transfer = in->h.file = H5I_INVALID_HID;
    in->h.fd = -1;
    in->h.input = &reader->input;
    in->h.name = reader->path;
    err = weiri_reader_get(reader, 1, CONVERT_BYTES, &in->convert);
    if (err == WEIR_OK) {
        err = weiri_reader_get(reader, 1, sizeof *in->h.heaps, &in->h.heaps);
    }
    if (err != WEIR_OK) {
        return err;
    }
    reader->own = in;
    weiri_hdf5_enter(&in->h);
    err = weiri_hdf5_root(reader, in);
    if (err == WEIR_OK) {
        err = weiri_hdf5_open(&in->h);
    }
    if (err == WEIR_OK) {
        err = open_dataset(reader, in);
    }
    weiri_hdf5_leave(&in->h);
    return err == WEIR_OK ? weiri_reader_need_rate(reader) : err;
}

static void hdf5_close(weiri_reader *reader)
{
    hdf5_in *in = reader->own;
    if (in == NULL) {
        return;
    }
    weiri_hdf5_enter(&in->h);
    if (in->transfer >= 0) {
        H5Pclose(in->transfer);
    }
    if (in->space >= 0) {
        H5Sclose(in->space);
    }
    if (in->data >= 0) {
        H5Dclose(in->data);
    }
    if (in->h.file >= 0) {
        H5Fclose(in->h.file);
    }
    weiri_hdf5_leave(&in->h);
}

static weir_err hdf5_layout(weiri_reader *reader)
{
    static const char *const names[] = {"time", "ch", "dim2", "dim3"};
    const hdf5_in *in = reader->own;
    weir_spec *spec = &reader->info.spec;
    for (uint32_t i = 2; i < in->dims; i++) {
        spec->dims[i] = (weir_axis){.name = names[i], .unit = "", .size = in->shape[i], .step = 1};
        spec->dim_count = i + 1;
    }
    weiri_side_layout(reader, in->frames);
    return WEIR_OK;
}

/* ---- reading --------------------------------------------------------------------------------------------- */

static uint64_t frame_bytes(const weiri_reader *reader)
{
    return reader->channel_count * reader->inner * weiri_stored_bytes(reader->stored);
}

static uint64_t block_frames(const weiri_reader *reader, uint64_t tile_frames)
{
    uint64_t frames = WEIRI_BLOCK_BYTES / frame_bytes(reader);
    frames = frames < tile_frames ? frames : tile_frames;
    return frames ? frames : 1;
}

static weir_err hdf5_plan(const weiri_reader *reader, uint64_t tile_frames, uint64_t *ret_bytes)
{
    *ret_bytes = block_frames(reader, tile_frames) * frame_bytes(reader);
    return WEIR_OK;
}

/* The number of a filter that whoever wrote it had and this libhdf5 has not; 0: there is none. */
static int missing_filter(const hdf5_in *in)
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

static weir_err read_rows(weiri_reader *reader, hdf5_in *in, uint64_t first, hsize_t count)
{
    hsize_t from[WEIR_MAX_DIMS] = {first}, many[WEIR_MAX_DIMS];
    memcpy(many, in->shape, sizeof many);
    many[0] = count;
    hid_t memory = H5Screate_simple((int)in->dims, many, NULL);
    in->h.past_end = false;
    bool good = H5Sselect_hyperslab(in->space, H5S_SELECT_SET, from, NULL, many, NULL) >= 0 &&
                H5Dread(in->data, in->type, memory, in->space, in->transfer, reader->buffer) >= 0;
    weir_err err = WEIR_OK;
    if (!good || in->h.past_end) {
        char what[120];
        snprintf(what, sizeof what, "%.60s: frames %llu to %llu cannot be read", reader->dataset,
                 (unsigned long long)first, (unsigned long long)(first + count - 1));
        err = weiri_hdf5_fail(&in->h, WEIR_E_RECORDING, what);
        int filter = good ? 0 : missing_filter(in);
        if (filter) {
            err = weiri_fail(WEIR_E_RECORDING,
                             "%s: %s: packed by filter %d, which libhdf5 does not find here "
                             "(HDF5_PLUGIN_PATH names folders of filters)",
                             reader->path, what, filter);
        }
    }
    H5Sclose(memory); /* not before: any further call of libhdf5 forgets the cause */
    return err;
}

static weir_err
hdf5_read(weiri_reader *reader, uint64_t index, size_t frames, void *rows, size_t *ret_frames)
{
    hdf5_in *in = reader->own;
    uint64_t most = block_frames(reader, reader->tile_frames), first = reader->first_row + index;
    hsize_t count = frames < most ? frames : most;
    count = first >= in->frames ? 0 : count < in->frames - first ? count : in->frames - first;
    *ret_frames = 0;
    if (count == 0) {
        return WEIR_OK;
    }
    weiri_hdf5_enter(&in->h);
    weir_err err = read_rows(reader, in, first, count);
    weiri_hdf5_leave(&in->h);
    if (err == WEIR_OK) {
        weiri_rows_convert(reader, reader->buffer, (size_t)frame_bytes(reader), (size_t)count,
                           rows);
        *ret_frames = (size_t)count;
    }
    return err;
}
#endif

static bool probe(const unsigned char *first, size_t count)
{
    return count >= 8 && memcmp(first, "\x89HDF\r\n\x1a\n", 8) == 0;
}

const weiri_format_ops weiri_format_hdf5 = {
    .ops_size = sizeof(weiri_format_ops),
    .info = {.name = "hdf5",
#ifdef WEIRI_HDF5
             .summary = "a dataset, frames x channels: PATH:/NAME; rate and units from attributes",
             .reads = true,
             .writes = true,
#else
             .summary = "HDF5; not in this build (WEIR_HDF5)",
#endif
             .extensions = ".h5 .hdf5 .nwb"},
    .datasets = true,
    .probe = probe,
#ifdef WEIRI_HDF5
    .open = hdf5_open,
    .layout = hdf5_layout,
    .segment = weiri_side_segment,
    .plan = hdf5_plan,
    .read = hdf5_read,
    .close = hdf5_close,
    .holds = weiri_hdf5_holds,
    .encoding = &weiri_hdf5_encoding,
#else
    .not_built = "HDF5 (libhdf5, WEIR_HDF5)",
#endif
};

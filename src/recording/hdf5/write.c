/* SPDX-License-Identifier: MIT
 *
 * write.c: an output as an HDF5 file: /data (frames first, in chunks, growing), its rate, dims and
 * start time as attributes, /labels, /units, /segments, /axes/NAME, /chain. Rows are collected into
 * whole chunks in the planned buffer, so libhdf5 needs no cache for them. Between two flushes only
 * new bytes are written; a flush allocates disk space first, so that a full disk leaves the last
 * flush intact.
 */
#include "recording/hdf5/driver.h"

#ifdef WEIRI_HDF5
#include <errno.h>
#include <string.h>
#include <unistd.h>

#define CHUNK_BYTES   (256u * 1024u)
#define CHUNK_SECONDS 10
#define TEXT_BYTES    96 /* of a label, as labels are made unique */
#define BATCH         64
/* the most that a flush adds: the metadata cache and its blocks */
#define FLUSH_BYTES (1024u * 1024u)

typedef struct hdf5_out {
    weiri_hdf5 h;
    hid_t type, data, segments, span, left_out;
    hsize_t chunk[WEIR_MAX_DIMS];
    uint64_t written; /* rows in the file */
    uint64_t flushed; /* of them, at the last flush */
    size_t held;      /* rows in the buffer */
    bool open;
    weiri_hdf5_order order;
    unsigned char rows[]; /* chunk[0] of them */
} hdf5_out;

static void choose_chunk(const weir_spec *spec, hsize_t chunk[WEIR_MAX_DIMS])
{
    uint64_t frame = weir_spec_frame_bytes(spec), rows = CHUNK_BYTES / frame;
    double wanted = spec->rate_hz * CHUNK_SECONDS;
    double most = wanted < 16 ? 16 : wanted;
    rows = (double)rows > most ? (uint64_t)most : rows;
    chunk[0] = rows ? rows : 1;
    uint64_t bytes = frame;
    for (uint32_t i = 1; i < spec->dim_count; i++) {
        chunk[i] = spec->dims[i].size;
        while (bytes > CHUNK_BYTES && chunk[i] > 1) {
            bytes = bytes / chunk[i] * ((chunk[i] + 1) / 2);
            chunk[i] = (chunk[i] + 1) / 2;
        }
    }
}

weir_err weiri_hdf5_holds(const weir_spec *spec, bool to_pipe)
{
    (void)spec;
    return to_pipe ? weiri_fail(WEIR_E_USAGE, "hdf5 cannot be written to a pipe, as writing needs "
                                              "random access; use --format raw")
                   : WEIR_OK;
}

static weir_err plan(const weiri_writer *writer, const weir_spec *spec, uint64_t *ret_bytes)
{
    (void)writer;
    hsize_t chunk[WEIR_MAX_DIMS];
    choose_chunk(spec, chunk);
    *ret_bytes = sizeof(hdf5_out) + chunk[0] * weir_spec_frame_bytes(spec);
    return WEIR_OK;
}

/* ---- small things ------------------------------------------------------------------------------------- */

/* Texts have a fixed length: those of variable length are stored in a separate heap, which
 * libhdf5 does not read safely from a damaged file. */
static hid_t text_type(size_t bytes)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, bytes ? bytes : 1);
    H5Tset_cset(type, H5T_CSET_UTF8);
    H5Tset_strpad(type, H5T_STR_NULLPAD);
    return type;
}

/* One text, as an attribute or, of any length, as a dataset. */
static bool put_text(hid_t at, const char *name, const char *text, bool set)
{
    hid_t type = text_type(strlen(text)), space = H5Screate(H5S_SCALAR);
    hid_t made = set ? H5Dcreate2(at, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)
                     : H5Acreate2(at, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    bool good = made >= 0 && (set ? H5Dwrite(made, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text)
                                  : H5Awrite(made, type, text)) >= 0;
    if (made >= 0) {
        set ? H5Dclose(made) : H5Aclose(made);
    }
    H5Sclose(space);
    H5Tclose(type);
    return good;
}

static bool put_dims(hid_t at, const weir_spec *spec)
{
    char names[WEIR_MAX_DIMS][TEXT_BYTES] = {{0}};
    hsize_t count = spec->dim_count;
    for (uint32_t i = 0; i < spec->dim_count; i++) {
        memcpy(names[i], spec->dims[i].name, strnlen(spec->dims[i].name, TEXT_BYTES));
    }
    hid_t type = text_type(TEXT_BYTES), space = H5Screate_simple(1, &count, NULL);
    hid_t made = H5Acreate2(at, "dims", type, space, H5P_DEFAULT, H5P_DEFAULT);
    bool good = made >= 0 && H5Awrite(made, type, names) >= 0;
    if (made >= 0) {
        H5Aclose(made);
    }
    H5Sclose(space);
    H5Tclose(type);
    return good;
}

/* Many texts as a dataset, in parts through a small buffer. */
static bool put_texts(hid_t at, const char *name, const char *const *texts, hsize_t count)
{
    char some[BATCH][TEXT_BYTES];
    hid_t type = text_type(TEXT_BYTES), space = H5Screate_simple(1, &count, NULL);
    hid_t made = H5Dcreate2(at, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    bool good = made >= 0;
    for (hsize_t first = 0; good && first < count; first += BATCH) {
        hsize_t now = count - first < BATCH ? count - first : BATCH;
        memset(some, 0, sizeof some);
        for (hsize_t i = 0; i < now; i++) {
            memcpy(some[i], texts[first + i], strnlen(texts[first + i], TEXT_BYTES));
        }
        hid_t memory = H5Screate_simple(1, &now, NULL);
        good = H5Sselect_hyperslab(space, H5S_SELECT_SET, &first, NULL, &now, NULL) >= 0 &&
               H5Dwrite(made, type, memory, space, H5P_DEFAULT, some) >= 0;
        H5Sclose(memory);
    }
    if (made >= 0) {
        H5Dclose(made);
    }
    H5Sclose(space);
    H5Tclose(type);
    return good;
}

static bool put_number(hid_t at, const char *name, hid_t type, const void *value, hid_t *ret_open)
{
    hid_t space = H5Screate(H5S_SCALAR);
    hid_t made = H5Acreate2(at, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    bool good = made >= 0 && H5Awrite(made, type, value) >= 0;
    if (ret_open) {
        *ret_open = made;
    } else if (made >= 0) {
        H5Aclose(made);
    }
    H5Sclose(space);
    return good;
}

static bool put_numbers(hid_t at, const char *name, const double *numbers, hsize_t count)
{
    hid_t space = H5Screate_simple(1, &count, NULL);
    hid_t made =
        H5Dcreate2(at, name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    bool good =
        made >= 0 && H5Dwrite(made, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers) >= 0;
    if (made >= 0) {
        H5Dclose(made);
    }
    H5Sclose(space);
    return good;
}

static bool put_axis(hid_t axes, const weir_axis *axis)
{
    hid_t group = H5Gcreate2(axes, axis->name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    bool good = group >= 0 && put_text(group, "unit", axis->unit ? axis->unit : "", false);
    if (axis->labels) {
        good = good && put_texts(group, "labels", axis->labels, axis->size);
    } else if (axis->values) {
        good = good && put_numbers(group, "values", axis->values, axis->size);
    } else {
        good = good && put_number(group, "start", H5T_NATIVE_DOUBLE, &axis->start, NULL) &&
               put_number(group, "step", H5T_NATIVE_DOUBLE, &axis->step, NULL);
    }
    if (group >= 0) {
        H5Gclose(group);
    }
    return good;
}

/* ---- start ---------------------------------------------------------------------------------------------- */

static bool put_what_is_known(hdf5_out *out,
                              const weir_spec *spec,
                              const weir_source_info *source,
                              const char *chain)
{
    hid_t file = out->h.file;
    const char *start = source && source->start_time ? source->start_time : "";
    bool good = put_text(file, "weir", WEIR_VERSION, false) &&
                put_text(file, "start_time", start, false) &&
                put_text(file, "chain", chain, true) &&
                put_number(out->data, "rate_hz", H5T_NATIVE_DOUBLE, &spec->rate_hz, NULL) &&
                (spec->scale == 0 ||
                 put_number(out->data, "scale_factor", H5T_NATIVE_DOUBLE, &spec->scale, NULL)) &&
                put_dims(out->data, spec);
    hid_t axes = good ? H5Gcreate2(file, "axes", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT) : -1;
    good = good && axes >= 0;
    for (uint32_t i = 0; good && i < spec->dim_count; i++) {
        good = put_axis(axes, &spec->dims[i]);
    }
    if (axes >= 0) {
        H5Gclose(axes);
    }
    int channels = weir_spec_dim(spec, "ch");
    const weir_axis *axis = channels > 0 ? &spec->dims[channels] : NULL;
    if (good && axis && axis->labels) {
        good = put_texts(file, "labels", axis->labels, axis->size);
    }
    if (good && axis && spec->units) {
        good = put_texts(file, "units", spec->units, axis->size);
    }
    return good;
}

/* A dataset that grows along its first dimension, without a chunk cache. */
static hid_t make_growing(hid_t file,
                          const char *name,
                          hid_t type,
                          uint32_t dims,
                          const hsize_t *chunk,
                          const hsize_t *size)
{
    hsize_t now[WEIR_MAX_DIMS] = {0}, most[WEIR_MAX_DIMS] = {H5S_UNLIMITED};
    for (uint32_t i = 1; i < dims; i++) {
        now[i] = most[i] = size[i];
    }
    hid_t space = H5Screate_simple((int)dims, now, most);
    hid_t create = H5Pcreate(H5P_DATASET_CREATE), access = H5Pcreate(H5P_DATASET_ACCESS);
    H5Pset_chunk(create, (int)dims, chunk);
    H5Pset_fill_time(create, H5D_FILL_TIME_NEVER);
    H5Pset_chunk_cache(access, 1, 0, 0);
    hid_t made = H5Dcreate2(file, name, type, space, H5P_DEFAULT, create, access);
    H5Pclose(access);
    H5Pclose(create);
    H5Sclose(space);
    return made;
}

/* Rows [first, first + count) of a dataset of that length. */
static bool put_rows(
    hid_t data, hid_t type, const hsize_t *size, uint32_t dims, uint64_t first, const void *rows)
{
    hsize_t from[WEIR_MAX_DIMS] = {first}, count[WEIR_MAX_DIMS];
    memcpy(count, size, sizeof count);
    count[0] = size[0] - first;
    bool good = H5Dset_extent(data, size) >= 0;
    if (!good || count[0] == 0) {
        return good;
    }
    hid_t space = H5Dget_space(data), memory = H5Screate_simple((int)dims, count, NULL);
    good = H5Sselect_hyperslab(space, H5S_SELECT_SET, from, NULL, count, NULL) >= 0 &&
           H5Dwrite(data, type, memory, space, H5P_DEFAULT, rows) >= 0;
    H5Sclose(memory);
    H5Sclose(space);
    return good;
}

static hid_t native(weir_dtype part)
{
    switch (part) {
    case WEIR_U8:
        return H5T_NATIVE_UINT8;
    case WEIR_U16:
        return H5T_NATIVE_UINT16;
    case WEIR_I16:
        return H5T_NATIVE_INT16;
    case WEIR_I32:
        return H5T_NATIVE_INT32;
    case WEIR_F32:
        return H5T_NATIVE_FLOAT;
    default:
        return H5T_NATIVE_DOUBLE;
    }
}

static void make_types(hdf5_out *out, const weir_spec *spec)
{
    hid_t part = native(weir_dtype_part(spec->dtype));
    out->type = weir_dtype_parts(spec->dtype) > 1 ? weiri_hdf5_complex(part) : H5Tcopy(part);
    out->span = H5Tcreate(H5T_COMPOUND, sizeof(weiri_span));
    H5Tinsert(out->span, "start_s", offsetof(weiri_span, start_s), H5T_NATIVE_DOUBLE);
    H5Tinsert(out->span, "first_row", offsetof(weiri_span, first_row), H5T_NATIVE_UINT64);
    H5Tinsert(out->span, "rows", offsetof(weiri_span, rows), H5T_NATIVE_UINT64);
}

static bool make_datasets(hdf5_out *out, const weir_spec *spec)
{
    static const hsize_t span_chunk[1] = {WEIRI_MAX_SPANS};
    static const uint64_t none = 0;
    hsize_t size[WEIR_MAX_DIMS] = {0};
    for (uint32_t i = 1; i < spec->dim_count; i++) {
        size[i] = spec->dims[i].size;
    }
    make_types(out, spec);
    out->data = make_growing(out->h.file, "data", out->type, spec->dim_count, out->chunk, size);
    out->segments = make_growing(out->h.file, "segments", out->span, 1, span_chunk, NULL);
    /* Its only chunk is created now, so that it is before the rows: a truncated file keeps it. */
    static const weiri_span empty = {0};
    static const hsize_t one[WEIR_MAX_DIMS] = {1};
    return out->data >= 0 && out->segments >= 0 &&
           put_rows(out->segments, out->span, one, 1, 0, &empty) &&
           put_number(out->segments, "left_out", H5T_NATIVE_UINT64, &none, &out->left_out);
}

static hdf5_out *prepare(weiri_writer *writer)
{
    hdf5_out *out = writer->own;
    memset(out, 0, sizeof *out);
    out->h.fd = writer->fd;
    out->h.name = writer->part;
    out->h.order = &out->order;
    out->type = out->data = out->segments = out->span = out->left_out = H5I_INVALID_HID;
    choose_chunk(&writer->spec, out->chunk);
    return out;
}

static weir_err begin(weiri_writer *writer, const weir_source_info *source, const char *chain)
{
    hdf5_out *out = prepare(writer);
    weiri_hdf5_enter(&out->h);
    weir_err err = weiri_hdf5_open(&out->h);
    out->open = err == WEIR_OK;
    if (err == WEIR_OK && !(make_datasets(out, &writer->spec) &&
                            put_what_is_known(out, &writer->spec, source, chain))) {
        err = weiri_hdf5_fail(&out->h, WEIR_E_IO, "its datasets cannot be created");
    }
    if (err == WEIR_OK) {
        err = weiri_hdf5_reserve(&out->h, FLUSH_BYTES);
    }
    if (err == WEIR_OK && H5Fflush(out->h.file, H5F_SCOPE_LOCAL) < 0) {
        err = weiri_hdf5_fail(&out->h, WEIR_E_IO, "cannot be flushed");
    }
    out->order.durable = out->order.holding = writer->durable;
    weiri_hdf5_leave(&out->h);
    return err;
}

/* ---- rows ------------------------------------------------------------------------------------------------- */

static weir_err put_held(weiri_writer *writer, hdf5_out *out)
{
    hsize_t size[WEIR_MAX_DIMS] = {out->written + out->held};
    for (uint32_t i = 1; i < writer->spec.dim_count; i++) {
        size[i] = writer->spec.dims[i].size;
    }
    if (out->held == 0) {
        return WEIR_OK;
    }
    weiri_hdf5_enter(&out->h);
    bool good = !out->h.dead && put_rows(out->data, out->type, size, writer->spec.dim_count,
                                         out->written, out->rows);
    weir_err err = good ? WEIR_OK : weiri_hdf5_fail(&out->h, WEIR_E_IO, "rows cannot be written");
    weiri_hdf5_leave(&out->h);
    if (err == WEIR_OK) {
        out->written += out->held;
    }
    out->held = 0;
    return err;
}

static weir_err rows(weiri_writer *writer, const weir_message *block)
{
    hdf5_out *out = writer->own;
    size_t frame = (size_t)weir_spec_frame_bytes(&writer->spec);
    const unsigned char *at = block->data;
    for (size_t left = block->frames; left > 0;) {
        /* Up to the end of a chunk of the file, wherever a flush ended. */
        size_t room = (size_t)(out->chunk[0] - out->written % out->chunk[0]) - out->held;
        size_t count = left < room ? left : room;
        memcpy(out->rows + out->held * frame, at, count * frame);
        out->held += count;
        at += count * frame;
        left -= count;
        if (count == room) {
            weir_err err = put_held(writer, out);
            if (err != WEIR_OK) {
                return err;
            }
        }
    }
    return WEIR_OK;
}

static weir_err close_file(hdf5_out *out)
{
    bool good = true;
    const hid_t ids[] = {out->left_out, out->segments, out->data};
    if (out->left_out >= 0) {
        good = H5Aclose(ids[0]) >= 0;
    }
    for (size_t i = 1; i < 3; i++) {
        good = (ids[i] < 0 || H5Dclose(ids[i]) >= 0) && good;
    }
    const hid_t types[] = {out->span, out->type};
    for (size_t i = 0; i < 2; i++) {
        if (types[i] >= 0) {
            H5Tclose(types[i]);
        }
    }
    good = (out->h.file < 0 || H5Fclose(out->h.file) >= 0) && good;
    out->open = false;
    return good && out->h.err == WEIR_OK
               ? WEIR_OK
               : weiri_hdf5_fail(&out->h, WEIR_E_IO, "cannot be completed");
}

static weir_err flush_in_order(hdf5_out *out)
{
    out->order.holding = true;
    bool good = H5Fflush(out->h.file, H5F_SCOPE_LOCAL) >= 0;
    if (!good) {
        out->order.count = 0; /* the file stays as the last flush left it */
    }
    /* With checkpoints delayed writes go into the next checkpoint, and then to the file. */
    weir_err err = good && out->order.durable ? WEIR_OK : weiri_hdf5_release(&out->h);
    return good && err == WEIR_OK ? WEIR_OK
                                  : weiri_hdf5_fail(&out->h, WEIR_E_IO, "cannot be flushed");
}

static weir_err flush(weiri_writer *writer, bool last)
{
    hdf5_out *out = writer->own;
    if (!out->open) {
        return WEIR_OK;
    }
    weir_err err = put_held(writer, out);
    weiri_hdf5_enter(&out->h);
    hsize_t spans[WEIR_MAX_DIMS] = {writer->spans_before + writer->span_count};
    if (err == WEIR_OK && writer->span_count > 0 &&
        !put_rows(out->segments, out->span, spans, 1, writer->spans_before, writer->spans)) {
        err = weiri_hdf5_fail(&out->h, WEIR_E_IO, "segments cannot be written");
    }
    if (err == WEIR_OK) {
        err = weiri_hdf5_reserve(&out->h, FLUSH_BYTES);
    }
    if (err == WEIR_OK) {
        err = flush_in_order(out);
    }
    if (err == WEIR_OK && last) {
        err = close_file(out);
    }
    weiri_hdf5_leave(&out->h);
    if (err == WEIR_OK) {
        out->flushed = out->written;
        writer->safe_rows = out->order.durable ? writer->safe_rows : out->flushed;
        writer->put_bytes = out->h.end;
    }
    return err;
}

static void end(weiri_writer *writer)
{
    hdf5_out *out = writer->own;
    if (!out->open) {
        return;
    }
    weiri_hdf5_enter(&out->h);
    out->h.dead = true; /* flushed data stay unchanged */
    weir_err err = close_file(out);
    (void)err;
    weiri_hdf5_leave(&out->h);
}

/* ---- checkpoints ------------------------------------------------------------------------------------- */

/* The delayed writes: each block after its place. */
static weir_err position(weiri_writer *writer, weir_checkpoint *checkpoint)
{
    const hdf5_out *out = writer->own;
    const weiri_hdf5_order *order = &out->order;
    uint64_t count = order->count;
    weir_err err = weir_checkpoint_put(checkpoint, &count, sizeof count);
    for (size_t i = 0; err == WEIR_OK && i < order->count; i++) {
        const weiri_hdf5_held *held = &order->list[i];
        err = weir_checkpoint_put(checkpoint, held, sizeof *held);
        if (err == WEIR_OK) {
            err = weir_checkpoint_put(checkpoint, order->bytes + held->from, held->bytes);
        }
    }
    return err;
}

static weir_err commit(weiri_writer *writer)
{
    hdf5_out *out = writer->own;
    weir_err err = weiri_hdf5_release(&out->h);
    if (err == WEIR_OK && ftruncate(writer->fd, (off_t)writer->put_bytes) != 0) {
        err = weiri_fail(WEIR_E_IO, "%s: cannot be written: %s", writer->part, strerror(errno));
    }
    if (err == WEIR_OK) {
        writer->safe_rows = out->flushed;
    }
    return err;
}

static weir_err resume(weiri_writer *writer, weir_checkpoint *checkpoint)
{
    unsigned char some[4096];
    uint64_t count = 0;
    weir_err err = weir_checkpoint_get(checkpoint, &count, sizeof count);
    for (uint64_t i = 0; err == WEIR_OK && i < count; i++) {
        weiri_hdf5_held held;
        err = weir_checkpoint_get(checkpoint, &held, sizeof held);
        for (size_t left = err == WEIR_OK ? held.bytes : 0; err == WEIR_OK && left > 0;) {
            size_t now = left < sizeof some ? left : sizeof some;
            err = weir_checkpoint_get(checkpoint, some, now);
            off_t at = (off_t)(held.at + (held.bytes - left));
            if (err == WEIR_OK && writer->fd >= 0 &&
                pwrite(writer->fd, some, now, at) != (ssize_t)now) {
                err = weiri_fail(WEIR_E_IO, "%s: cannot be written: %s", writer->part,
                                 strerror(errno));
            }
            left -= now;
        }
    }
    return err;
}

static bool open_datasets(hdf5_out *out, const weir_spec *spec, uint64_t rows)
{
    hsize_t size[WEIR_MAX_DIMS] = {0};
    hid_t access = H5Pcreate(H5P_DATASET_ACCESS);
    make_types(out, spec);
    H5Pset_chunk_cache(access, 1, 0, 0);
    out->data = H5Dopen2(out->h.file, "data", access);
    out->segments = H5Dopen2(out->h.file, "segments", access);
    out->left_out = out->segments < 0 ? -1 : H5Aopen(out->segments, "left_out", H5P_DEFAULT);
    H5Pclose(access);
    hid_t space = out->data < 0 ? -1 : H5Dget_space(out->data);
    bool good = space >= 0 && out->left_out >= 0 &&
                H5Sget_simple_extent_ndims(space) == (int)spec->dim_count &&
                H5Sget_simple_extent_dims(space, size, NULL) >= 0 && size[0] == rows;
    if (space >= 0) {
        H5Sclose(space);
    }
    return good;
}

static weir_err reopen(weiri_writer *writer)
{
    hdf5_out *out = prepare(writer);
    out->order.durable = out->order.holding = true;
    out->h.goes_on = true;
    out->written = out->flushed = writer->rows;
    weiri_hdf5_enter(&out->h);
    weir_err err = weiri_hdf5_open(&out->h);
    out->h.goes_on = false;
    out->open = err == WEIR_OK;
    if (err == WEIR_OK &&
        (out->h.end != writer->put_bytes || !open_datasets(out, &writer->spec, writer->rows))) {
        err = weiri_hdf5_fail(&out->h, WEIR_E_IO, "has changed");
    }
    weiri_hdf5_leave(&out->h);
    return err;
}

const weiri_encoding weiri_hdf5_encoding = {.library_bytes = WEIRI_HDF5_BYTES,
                                            .plan = plan,
                                            .begin = begin,
                                            .rows = rows,
                                            .flush = flush,
                                            .end = end,
                                            .position = position,
                                            .commit = commit,
                                            .resume = resume,
                                            .reopen = reopen};
#endif

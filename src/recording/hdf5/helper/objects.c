/* SPDX-License-Identifier: MIT
 *
 * objects.c of weir-hdf5: the datasets of numbers in a file, and the values of attributes and small
 * datasets, in parts. The reader interprets them (../about.c).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recording/hdf5/helper/helper.h"

#define MOST_OBJECTS 10000
#define MOST_NESTED  32
#define MOST_BYTES   (1024u * 1024u) /* of an attribute, which libhdf5 reads as a whole */

/* ---- objects ------------------------------------------------------------------------------------------------- */

static bool left_the_file;

/* Another file would be read without our driver. */
static herr_t refuse_link(const char *file,
                          const char *group,
                          const char *other_file,
                          const char *object,
                          unsigned *flags,
                          hid_t access,
                          void *user)
{
    (void)file, (void)group, (void)other_file, (void)object, (void)flags, (void)access, (void)user;
    left_the_file = true;
    return -1;
}

weir_err open_object(weiri_hdf5 *h, const char *place, hid_t *ret_object)
{
    hid_t access = H5Pcreate(H5P_LINK_ACCESS);
    left_the_file = false;
    H5Pset_elink_cb(access, refuse_link, NULL);
    hid_t object = H5Oopen(h->file, place, access);
    weir_err err = WEIR_OK;
    if (object < 0 && left_the_file) {
        err =
            weiri_fail(WEIR_E_USAGE, "%s: %s: is a link into another file; open that file instead",
                       h->name, place);
    } else if (object < 0) {
        char what[160];
        snprintf(what, sizeof what, "%.120s cannot be opened", place);
        err = weiri_hdf5_fail(h, WEIR_E_RECORDING, what);
    } else {
        *ret_object = object;
    }
    H5Pclose(access);
    return err;
}

/* ---- list ------------------------------------------------------------------------------------------------------ */

typedef struct search {
    weiri_hdf5 *h;
    weiri_hdf5_listed listed;
    bool is_nwb;
    uint64_t objects;
    weir_err err;
} search;

/* Numbers, more than one. The shape of those stored in other files (virtual) is not requested,
 * since that would open them. */
static bool is_signal(hid_t data)
{
    hid_t type = H5Dget_type(data), create = H5Dget_create_plist(data), space = H5I_INVALID_HID;
    H5T_class_t class = H5Tget_class(type);
    hid_t part = weiri_hdf5_part(type);
    bool is = class == H5T_INTEGER || class == H5T_FLOAT || part >= 0;
    if (part >= 0) {
        H5Tclose(part);
    }
    if (is && H5Pget_layout(create) != H5D_VIRTUAL) {
        space = H5Dget_space(data);
        int dims = H5Sget_simple_extent_ndims(space);
        is = dims >= 1 && dims <= WEIR_MAX_DIMS && H5Sget_simple_extent_npoints(space) != 1;
        H5Sclose(space);
    }
    H5Pclose(create);
    H5Tclose(type);
    return is;
}

/* In NWB files the signals are named "data"; other datasets of numbers (timestamps,
 * channel_conversion, columns of the table of electrodes) describe them. */
static bool may_be_signal(const search *all, const char *name)
{
    const char *slash = strrchr(name, '/');
    return !all->is_nwb || strcmp(slash != NULL ? slash + 1 : name, "data") == 0;
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
    if (depth > MOST_NESTED) {
        all->err =
            weiri_fail(WEIR_E_RECORDING,
                       "%s: offset %llu: %.80s...: groups nested more than %d deep; probably a "
                       "damaged link to a group that contains it",
                       all->h->name, (unsigned long long)info->addr, name, MOST_NESTED);
        return -1;
    }
    if (info->type != H5O_TYPE_DATASET || !may_be_signal(all, name)) {
        return 0;
    }
    hid_t data = H5Dopen2(file, name, H5P_DEFAULT);
    if (data < 0) {
        char what[120];
        snprintf(what, sizeof what, "/%.90s cannot be opened", name);
        if (all->listed.not_open++ == 0) {
            weir_err err = weiri_hdf5_fail(all->h, WEIR_E_RECORDING, what);
            snprintf(all->listed.why, sizeof all->listed.why, "%s",
                     weir_err_detail() + (err ? strlen(all->h->name) + 2 : 0));
        }
        return 0;
    }
    if (is_signal(data)) {
        if (all->listed.found < WEIRI_HDF5_SHOWN) {
            snprintf(all->listed.names[all->listed.found], sizeof all->listed.names[0], "/%.78s",
                     name);
        }
        all->listed.found++;
    }
    H5Dclose(data);
    return 0;
}

weir_err answer_list(weiri_hdf5 *h)
{
    search all = {.h = h};
    all.listed.is_weirs = H5Aexists(h->file, "weir") > 0;
    all.is_nwb = H5Aexists(h->file, "nwb_version") > 0;
    if (!all.listed.is_weirs &&
        H5Ovisit2(h->file, H5_INDEX_NAME, H5_ITER_NATIVE, visit, &all, H5O_INFO_BASIC) < 0 &&
        all.listed.found == 0) {
        return all.err != WEIR_OK
                   ? all.err
                   : weiri_hdf5_fail(h, WEIR_E_RECORDING, "its objects cannot be listed");
    }
    answer(&(weiri_hdf5_answer){.kind = WEIRI_HDF5_LISTED, .bytes = sizeof all.listed},
           &all.listed);
    return WEIR_OK;
}

/* ---- values --------------------------------------------------------------------------------------------------- */

typedef struct source {
    hid_t id; /* an attribute, or a dataset: */
    bool data;
    hid_t type, space;
    int rank;
    uint64_t total;
} source;

/* Values [first, first + count) as that memory type, within *ret_memory; NULL: libhdf5 cannot,
 * or they are too long. */
static void *
fetch(const source *from, hid_t type, uint64_t first, uint64_t count, void **ret_memory)
{
    bool whole = !from->data || from->rank != 1;
    size_t width = H5Tget_size(type);
    uint64_t bytes = 0;
    if (whole) {
        count = from->total;
    }
    if (!weiri_mul(count, width, &bytes) || bytes > MOST_BYTES ||
        (*ret_memory = calloc(1, bytes + 1)) == NULL) {
        return NULL;
    }
    herr_t err = 0;
    if (count == 0) {
        whole = false; /* the question was their number */
    } else if (!from->data) {
        err = H5Aread(from->id, type, *ret_memory);
    } else if (whole) {
        err = H5Dread(from->id, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, *ret_memory);
    } else {
        hsize_t at = first, many = count;
        hid_t memory = H5Screate_simple(1, &many, NULL);
        err = H5Sselect_hyperslab(from->space, H5S_SELECT_SET, &at, NULL, &many, NULL) < 0 ||
                      H5Dread(from->id, type, memory, from->space, H5P_DEFAULT, *ret_memory) < 0
                  ? -1
                  : 0;
        if (err >= 0) {
            /* otherwise not: any further call of libhdf5 would overwrite the cause */
            H5Sclose(memory);
        }
    }
    return err < 0 ? NULL : (char *)*ret_memory + (whole ? first * width : 0);
}

static weir_err not_read(weiri_hdf5 *h, const char *place, const char *name)
{
    char what[200];
    snprintf(what, sizeof what, "%.80s%s%.80s: its values cannot be read", place,
             *name && *name != '.' ? ", attribute " : "", name);
    return weiri_hdf5_fail(h, WEIR_E_RECORDING, what);
}

static weir_err answer_numbers(weiri_hdf5 *h,
                               const source *from,
                               const weiri_hdf5_question *ask,
                               const char *place,
                               const char *name)
{
    uint64_t most = WEIRI_HDF5_ANSWER / sizeof(double);
    uint64_t left = ask->first < from->total ? from->total - ask->first : 0;
    uint64_t count = ask->count < left ? ask->count : left;
    count = count < most ? count : most;
    bool member = *name == '.';
    hid_t type = member ? H5Tcreate(H5T_COMPOUND, sizeof(double)) : H5T_NATIVE_DOUBLE;
    if (member) {
        H5Tinsert(type, name + 1, 0, H5T_NATIVE_DOUBLE);
    }
    void *memory = NULL;
    const double *numbers = fetch(from, type, ask->first, count, &memory);
    if (numbers == NULL) {
        free(memory);
        return not_read(h, place, name);
    }
    answer(&(weiri_hdf5_answer){.kind = WEIRI_HDF5_NUMBERS,
                                .count = count,
                                .bytes = count * sizeof(double),
                                .total = from->total},
           numbers);
    free(memory);
    if (member) {
        H5Tclose(type);
    }
    return WEIR_OK;
}

static weir_err answer_texts(weiri_hdf5 *h,
                             const source *from,
                             const weiri_hdf5_question *ask,
                             const char *place,
                             const char *name)
{
    static char packed[WEIRI_HDF5_ANSWER];
    bool varying = H5Tis_variable_str(from->type) > 0;
    size_t width = H5Tget_size(from->type), used = 0;
    uint64_t most = sizeof packed / (varying                 ? 256
                                     : width < sizeof packed ? width + 1
                                                             : sizeof packed);
    uint64_t left = ask->first < from->total ? from->total - ask->first : 0;
    uint64_t count = ask->count < left ? ask->count : left, done = 0;
    count = count < most ? count : most;
    void *memory = NULL;
    const char *texts = fetch(from, from->type, ask->first, count, &memory);
    if (texts == NULL) {
        free(memory);
        return not_read(h, place, name);
    }
    for (; done < count; done++) {
        const char *text =
            varying ? ((const char *const *)(const void *)texts)[done] : texts + done * width;
        size_t bytes = text ? strnlen(text, varying ? WEIRI_HDF5_TEXT_BYTES : width) : 0;
        bytes = bytes < WEIRI_HDF5_TEXT_BYTES ? bytes : WEIRI_HDF5_TEXT_BYTES;
        if (used + bytes + 1 > sizeof packed) {
            break; /* the reader asks for the rest */
        }
        memcpy(packed + used, text ? text : "", bytes);
        packed[used + bytes] = 0;
        used += bytes + 1;
    }
    answer(
        &(weiri_hdf5_answer){
            .kind = WEIRI_HDF5_TEXTS, .count = done, .bytes = used, .total = from->total},
        packed);
    if (varying) {
        hsize_t all = from->data && from->rank == 1 ? count : from->total;
        hid_t space = H5Screate_simple(1, &all, NULL);
        H5Dvlen_reclaim(from->type, space, H5P_DEFAULT, memory);
        H5Sclose(space);
    }
    free(memory);
    return WEIR_OK;
}

static bool holds_numbers(const source *from, const char *name)
{
    H5T_class_t class = H5Tget_class(from->type);
    if (*name == '.') {
        int member = class == H5T_COMPOUND ? H5Tget_member_index(from->type, name + 1) : -1;
        class = member < 0 ? H5T_NO_CLASS : H5Tget_member_class(from->type, (unsigned)member);
    }
    return class == H5T_INTEGER || class == H5T_FLOAT;
}

weir_err
answer_values(weiri_hdf5 *h, const weiri_hdf5_question *ask, const char *place, const char *name)
{
    static const weiri_hdf5_answer none = {.kind = WEIRI_HDF5_NONE};
    hid_t object = H5I_INVALID_HID;
    source from = {.id = H5I_INVALID_HID, .data = *name == 0 || *name == '.'};
    weir_err err = WEIR_OK;
    if (strcmp(place, "/") != 0 && H5Lexists(h->file, place, H5P_DEFAULT) <= 0) {
        answer(&none, NULL);
        return WEIR_OK;
    }
    err = open_object(h, place, &object);
    if (err != WEIR_OK) {
        return err;
    }
    if (from.data) {
        from.id = H5Iget_type(object) == H5I_DATASET ? object : H5I_INVALID_HID;
    } else if (H5Aexists(object, name) > 0) {
        from.id = H5Aopen(object, name, H5P_DEFAULT);
        err = from.id < 0 ? not_read(h, place, name) : WEIR_OK;
    }
    if (from.id < 0) {
        if (err == WEIR_OK) {
            answer(&none, NULL);
        }
        H5Oclose(object);
        return err;
    }
    from.type = from.data ? H5Dget_type(from.id) : H5Aget_type(from.id);
    from.space = from.data ? H5Dget_space(from.id) : H5Aget_space(from.id);
    hssize_t total = H5Sget_simple_extent_npoints(from.space);
    from.rank = H5Sget_simple_extent_ndims(from.space);
    from.total = total > 0 ? (uint64_t)total : 0;
    if (holds_numbers(&from, name)) {
        err = answer_numbers(h, &from, ask, place, name);
    } else if (H5Tget_class(from.type) == H5T_STRING) {
        err = answer_texts(h, &from, ask, place, name);
    } else {
        answer(&none, NULL);
    }
    H5Sclose(from.space);
    H5Tclose(from.type);
    if (!from.data) {
        H5Aclose(from.id);
    }
    H5Oclose(object);
    return err;
}

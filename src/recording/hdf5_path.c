/* SPDX-License-Identifier: MIT
 *
 * hdf5_path.c: the way to an HDF5 object: each link on it, and the header of each object that it passes, before
 * libhdf5 goes along. A link into another file would go past our driver and our checks, so it is refused; soft
 * links are followed by name, as far as libhdf5 does. Groups' tables of names are not its affair.
 */
#include "recording/hdf5_read.h"

#ifdef WEIRI_HDF5
#include <stdio.h>
#include <string.h>

#define MOST_PATH  1024
#define MOST_LINKS 16

static weir_err
path_fits(weiri_reader *reader, const hdf5_in *file, const char *name, unsigned *links);

/* Where a soft link leads, from its group on. */
static weir_err
follow(weiri_reader *reader, const hdf5_in *file, const char *link, size_t bytes, unsigned *links)
{
    char target[MOST_PATH] = "", path[2 * MOST_PATH];
    const char *slash = strrchr(link, '/');
    size_t group = slash ? (size_t)(slash - link) + 1 : 0;
    if (++*links > MOST_LINKS || bytes > sizeof target ||
        H5Lget_val(file->h.file, link, target, sizeof target, H5P_DEFAULT) < 0) {
        return weiri_fail(WEIR_E_RECORDING,
                          "%s: %.80s: a soft link to a name of %zu bytes behind %u others; %d "
                          "bytes and %d links at most: one leads to itself",
                          reader->path, link, bytes, *links - 1, MOST_PATH, MOST_LINKS);
    }
    target[sizeof target - 1] = 0;
    snprintf(path, sizeof path, "%.*s%s", target[0] == '/' ? 0 : (int)group, link, target);
    return path_fits(reader, file, path, links);
}

static weir_err
path_fits(weiri_reader *reader, const hdf5_in *file, const char *name, unsigned *links)
{
    char path[MOST_PATH];
    size_t bytes = strlen(name);
    H5L_info_t link;
    if (bytes >= sizeof path) {
        return weiri_fail(WEIR_E_USAGE, "%s: %.80s...: a name of %zu bytes, %d at most",
                          reader->path, name, bytes, MOST_PATH - 1);
    }
    weir_err err = WEIR_OK;
    for (size_t i = 1; err == WEIR_OK && i <= bytes; i++) {
        if ((name[i] != '/' && name[i] != 0) || name[i - 1] == '/') {
            continue;
        }
        memcpy(path, name, i);
        path[i] = 0;
        bool known = H5Lget_info(file->h.file, path, &link, H5P_DEFAULT) >= 0;
        if (known && link.type == H5L_TYPE_SOFT) {
            err = follow(reader, file, path, link.u.val_size, links);
        } else if (known && link.type != H5L_TYPE_HARD) {
            /* Another file would go past our driver and these checks. */
            err = weiri_fail(WEIR_E_USAGE, "%s: %s: is a link into another file, which is not read",
                             reader->path, path);
        }
        err = err == WEIR_OK ? weiri_hdf5_object(reader, file, file->h.file, path) : err;
    }
    return err;
}

weir_err weiri_hdf5_path(weiri_reader *reader, const hdf5_in *file, const char *name)
{
    unsigned links = 0; /* of all on the way, as libhdf5 counts */
    return path_fits(reader, file, name, &links);
}

bool weiri_hdf5_sound(weiri_reader *reader, const hdf5_in *file, hid_t from, const char *name)
{
    char path[MOST_PATH + 1] = "";
    size_t bytes = strlen(name);
    ssize_t before = name[0] == '/' ? 0 : H5Iget_name(from, path, sizeof path);
    weir_err err = WEIR_E_RECORDING;
    if (before >= 0 && (size_t)before + bytes + 1 < sizeof path) {
        snprintf(path + before, sizeof path - (size_t)before, "%s%s", before > 1 ? "/" : "", name);
        err = weiri_hdf5_path(reader, file, path);
    } else {
        weiri_fail(err, "%s: %.80s...: its name is too long", reader->path, name);
    }
    if (err == WEIR_OK) {
        return true;
    }
    weiri_notice(&reader->notices, "passed over: %.200s", weir_err_detail());
    return false;
}
#endif

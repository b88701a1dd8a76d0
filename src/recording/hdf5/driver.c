/* SPDX-License-Identifier: MIT
 *
 * driver.c: a file driver for libhdf5 on our own descriptor: no file is opened twice, mapped or
 * locked; a truncated file can be opened; after an error nothing more is written, so that flushed
 * data stay unchanged.
 */
#include "recording/hdf5/driver.h"

#ifdef WEIRI_HDF5
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_AHEAD 4096 /* libhdf5 may read that much more metadata than it needs */

/* Debian's libhdf5 has no locks of its own. */
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
static hid_t driver_id = H5I_INVALID_HID;

void weiri_hdf5_enter(weiri_hdf5 *h)
{
    static bool said;
    pthread_mutex_lock(&one_at_a_time);
    if (!said) {
        /* At exit libhdf5 would process what a damaged file left half open, and print. We close
         * all our files. Without effect if somebody else has already used libhdf5. */
        said = true;
        H5dont_atexit();
    }
    H5Eget_auto2(H5E_DEFAULT, &h->printer, &h->printer_data);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

void weiri_hdf5_leave(weiri_hdf5 *h)
{
    H5Eset_auto2(H5E_DEFAULT, h->printer, h->printer_data);
    pthread_mutex_unlock(&one_at_a_time);
}

static weiri_hdf5 *of(const H5FD_t *driver)
{
    return (weiri_hdf5 *)(uintptr_t)driver;
}

static void keep_error(weiri_hdf5 *h, weir_err err)
{
    if (h->err == WEIR_OK) {
        h->err = err;
        snprintf(h->why, sizeof h->why, "%s", weir_err_detail());
    }
    h->dead = true;
}

static H5FD_t *driver_open(const char *name, unsigned flags, hid_t fapl, haddr_t most)
{
    (void)name;
    (void)flags;
    (void)most;
    weiri_hdf5 *const *info = H5Pget_driver_info(fapl);
    return info ? &(*info)->driver : NULL;
}

static herr_t driver_close(H5FD_t *driver)
{
    (void)driver; /* the descriptor belongs to its owner */
    return 0;
}

static int driver_compare(const H5FD_t *a, const H5FD_t *b)
{
    return a < b ? -1 : a > b;
}

static herr_t driver_query(const H5FD_t *driver, unsigned long *flags)
{
    (void)driver;
    *flags = H5FD_FEAT_AGGREGATE_METADATA;
    return 0;
}

static haddr_t driver_get_eoa(const H5FD_t *driver, H5FD_mem_t type)
{
    (void)type;
    return of(driver)->end;
}

static herr_t driver_set_eoa(H5FD_t *driver, H5FD_mem_t type, haddr_t end)
{
    (void)type;
    of(driver)->end = end;
    return 0;
}

/* libhdf5 refuses a file that is shorter than stated; helper/rows.c finds out which rows are
 * present. */
static haddr_t driver_get_eof(const H5FD_t *driver, H5FD_mem_t type)
{
    (void)type;
    const weiri_hdf5 *h = of(driver);
    return h->reading || h->goes_on ? (haddr_t)INT64_MAX : h->end;
}

/* Length of the file in bytes. */
static weir_err
get(const weiri_hdf5 *h, haddr_t at, unsigned char *to, size_t bytes, size_t *ret_got)
{
    size_t got = 0;
    while (got < bytes && at + got <= INT64_MAX) {
        ssize_t done = pread(h->fd, to + got, bytes - got, (off_t)(at + got));
        if (done < 0 && errno != EINTR) {
            return weiri_fail(WEIR_E_IO, "%s: offset %llu: cannot be read: %s", h->name,
                              (unsigned long long)(at + got), strerror(errno));
        }
        if (done == 0) {
            break;
        }
        got += done > 0 ? (size_t)done : 0;
    }
    *ret_got = got;
    return WEIR_OK;
}

static herr_t
driver_read(H5FD_t *driver, H5FD_mem_t type, hid_t dxpl, haddr_t at, size_t bytes, void *to)
{
    (void)dxpl;
    weiri_hdf5 *h = of(driver);
    size_t got = 0;
    weir_err err = get(h, at, to, bytes, &got);
    if (err != WEIR_OK) {
        keep_error(h, err);
        return -1;
    }
    weiri_hdf5_overlay(h, at, got, to);
    h->short_at = at;
    h->short_bytes = bytes;
    h->short_found = got;
    /* Metadata that begin after the end, or need far more than is present, are damaged or
     * truncated. */
    if (type != H5FD_MEM_DRAW && (got == 0 || bytes - got > READ_AHEAD)) {
        return -1;
    }
    /* As libhdf5's own drivers do; readers of samples check past_end. */
    memset((unsigned char *)to + got, 0, bytes - got);
    h->past_end = h->past_end || got < bytes;
    if (type != H5FD_MEM_DRAW || got == bytes) {
        h->short_bytes = 0;
    }
    return 0;
}

weir_err weiri_hdf5_put(weiri_hdf5 *h, haddr_t at, const void *from, size_t bytes)
{
    const unsigned char *next = from;
    while (bytes > 0 && !h->dead) {
        ssize_t done = pwrite(h->fd, next, bytes, (off_t)at);
        if (done < 0 && errno != EINTR) {
            weir_err err =
                weiri_fail(WEIR_E_IO, "%s: cannot be written: %s", h->name, strerror(errno));
            keep_error(h, err);
            return err;
        }
        next += done > 0 ? done : 0;
        at += done > 0 ? (haddr_t)done : 0;
        bytes -= done > 0 ? (size_t)done : 0;
    }
    return WEIR_OK;
}

static herr_t driver_write(
    H5FD_t *driver, H5FD_mem_t type, hid_t dxpl, haddr_t at, size_t bytes, const void *from)
{
    (void)dxpl;
    weiri_hdf5 *h = of(driver);
    if (weiri_hdf5_hold(h, type, at, bytes, from)) {
        return 0;
    }
    return weiri_hdf5_put(h, at, from, bytes) == WEIR_OK ? 0 : -1;
}

static herr_t driver_truncate(H5FD_t *driver, hid_t dxpl, hbool_t closing)
{
    (void)dxpl;
    (void)closing;
    weiri_hdf5 *h = of(driver);
    struct stat status;
    if (h->reading || h->dead) {
        return 0;
    }
    /* Data needed by a checkpoint are not removed before the next checkpoint is written. */
    if (h->order && h->order->durable && fstat(h->fd, &status) == 0 &&
        (haddr_t)status.st_size >= h->end) {
        return 0;
    }
    if (ftruncate(h->fd, (off_t)h->end) == 0) {
        return 0;
    }
    keep_error(h, weiri_fail(WEIR_E_IO, "%s: cannot be written: %s", h->name, strerror(errno)));
    return -1;
}

static hid_t driver(void)
{
    static const H5FD_class_t driver_class = {
#if H5_VERSION_GE(1, 14, 0)
        .version = H5FD_CLASS_VERSION,
        .value = (H5FD_class_value_t)600, /* of those not registered with anybody */
#endif
        .name = "weir",
        .maxaddr = INT64_MAX,
        .fc_degree = H5F_CLOSE_STRONG,
        .fapl_size = sizeof(weiri_hdf5 *),
        .open = driver_open,
        .close = driver_close,
        .cmp = driver_compare,
        .query = driver_query,
        .get_eoa = driver_get_eoa,
        .set_eoa = driver_set_eoa,
        .get_eof = driver_get_eof,
        .read = driver_read,
        .write = driver_write,
        .truncate = driver_truncate,
        .fl_map = H5FD_FLMAP_DICHOTOMY,
    };
    /* Other code in the process may have closed the library in between. */
    if (driver_id < 0 || H5Iis_valid(driver_id) <= 0) {
        driver_id = H5FDregister(&driver_class);
        /* libhdf5 keeps freed memory in lists of its own; our cache does that. */
        H5set_free_list_limits(256 * 1024, 64 * 1024, 256 * 1024, 64 * 1024, 128 * 1024, 64 * 1024);
    }
    return driver_id;
}

static hid_t access_of(weiri_hdf5 *h)
{
    H5AC_cache_config_t metadata = {.version = H5AC__CURR_CACHE_CONFIG_VERSION};
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    if (access < 0) {
        return access;
    }
    bool good =
        H5Pset_driver(access, driver(), &h) >= 0 && H5Pget_mdc_config(access, &metadata) >= 0;
    /* In bytes of the file; in memory the index of chunks is seven times as large. */
    size_t bytes = h->reading ? WEIRI_HDF5_METADATA / 4 : WEIRI_HDF5_METADATA;
    metadata.set_initial_size = true;
    metadata.initial_size = metadata.max_size = metadata.min_size = bytes;
    metadata.incr_mode = H5C_incr__off;
    metadata.flash_incr_mode = H5C_flash_incr__off;
    metadata.decr_mode = H5C_decr__off;
    metadata.dirty_bytes_threshold = bytes / 8;
    good = good && H5Pset_mdc_config(access, &metadata) >= 0 &&
           H5Pset_fclose_degree(access, H5F_CLOSE_STRONG) >= 0 &&
           H5Pset_cache(access, 0, 1, 0, 0) >= 0 && H5Pset_sieve_buf_size(access, 0) >= 0;
    if (!good) {
        H5Pclose(access);
        return H5I_INVALID_HID;
    }
    return access;
}

weir_err weiri_hdf5_open(weiri_hdf5 *h)
{
    h->file = H5I_INVALID_HID;
    hid_t access = access_of(h);
    if (access >= 0) {
        h->file = h->reading   ? H5Fopen("weir", H5F_ACC_RDONLY, access)
                  : h->goes_on ? H5Fopen("weir", H5F_ACC_RDWR, access)
                               : H5Fcreate("weir", H5F_ACC_TRUNC, H5P_DEFAULT, access);
    }
    weir_err err = WEIR_OK;
    if (h->file < 0) {
        err = weiri_hdf5_fail(h, h->reading ? WEIR_E_RECORDING : WEIR_E_IO, "cannot be opened");
    }
    if (access >= 0) {
        H5Pclose(access);
    }
    return err;
}

static herr_t first_cause(unsigned number, const H5E_error2_t *error, void *user)
{
    if (number == 0 && error->desc) {
        snprintf(user, 160, "%s", error->desc);
    }
    return 0;
}

weir_err weiri_hdf5_fail(weiri_hdf5 *h, weir_err err, const char *what)
{
    char cause[160] = "no cause given";
    if (h->err != WEIR_OK) {
        return weiri_fail(h->err, "%s", h->why);
    }
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, first_cause, cause);
    h->dead = !h->reading;
    if (h->reading && h->short_bytes > h->short_found) {
        return weiri_fail(
            err, "%s: offset %llu: %s: the file ends here, expected %zu bytes from %llu", h->name,
            (unsigned long long)h->size, what, h->short_bytes, (unsigned long long)h->short_at);
    }
    if (h->reading && h->past_end) {
        return weiri_fail(err, "%s: offset %llu: %s: the file ends here; libhdf5: %s", h->name,
                          (unsigned long long)h->size, what, cause);
    }
    unsigned major = 0, minor = 0, patch = 0;
    H5get_libversion(&major, &minor, &patch);
    return weiri_fail(
        err, "%s: %s: libhdf5 %u.%u.%u: %s%s", h->name, what, major, minor, patch, cause,
        h->reading && strstr(cause, "version") ? " (a newer libhdf5 wrote it, or it is damaged)"
                                               : "");
}

weir_err weiri_hdf5_reserve(weiri_hdf5 *h, uint64_t bytes)
{
    int failed = h->dead ? 0 : posix_fallocate(h->fd, (off_t)h->end, (off_t)bytes);
    if (failed == ENOSPC || failed == EFBIG || failed == EDQUOT) {
        weir_err err =
            weiri_fail(WEIR_E_IO, "%s: cannot be written: %s", h->name, strerror(failed));
        keep_error(h, err);
        return err;
    }
    return h->dead && h->err != WEIR_OK ? weiri_fail(h->err, "%s", h->why) : WEIR_OK;
}

/* ---- complex values -------------------------------------------------------------------------------------- */

hid_t weiri_hdf5_complex(hid_t part)
{
    size_t bytes = H5Tget_size(part);
    hid_t type = H5Tcreate(H5T_COMPOUND, 2 * bytes);
    H5Tinsert(type, "r", 0, part);
    H5Tinsert(type, "i", bytes, part);
    return type;
}

hid_t weiri_hdf5_part(hid_t type)
{
    if (H5Tget_class(type) != H5T_COMPOUND || H5Tget_nmembers(type) != 2) {
        return H5I_INVALID_HID;
    }
    int r = H5Tget_member_index(type, "r"), i = H5Tget_member_index(type, "i");
    if (r < 0 || i < 0) {
        return H5I_INVALID_HID;
    }
    hid_t part = H5Tget_member_type(type, (unsigned)r);
    hid_t other = H5Tget_member_type(type, (unsigned)i);
    bool is = H5Tget_class(part) == H5T_FLOAT && H5Tequal(part, other) > 0;
    H5Tclose(other);
    if (!is) {
        H5Tclose(part);
    }
    return is ? part : H5I_INVALID_HID;
}
#endif

/* SPDX-License-Identifier: MIT
 *
 * helper.h: the program weir-hdf5: reads one HDF5 file for the process that started it. libhdf5
 * 1.10 crashes on some damaged files, and the file determines how much it allocates; in a process
 * of its own a crash is an error, memory has a limit enforced by the kernel, and endless loops are
 * stopped.
 */
#ifndef WEIRI_HDF5_HELPER_H
#define WEIRI_HDF5_HELPER_H

#include "recording/hdf5/driver.h"
#include "recording/hdf5/protocol.h"

/* The dataset whose rows are read. */
typedef struct opened {
    char name[WEIRI_HDF5_PATH];
    hid_t data, space;
    uint32_t dims;
    hsize_t shape[WEIR_MAX_DIMS], chunk[WEIR_MAX_DIMS]; /* chunk[0] 0: not chunked */
    uint64_t row_bytes;                                 /* in the file, uncompressed */
    uint64_t chunk_bytes, across, cache_bytes;
    bool filtered, is_complex;
} opened;

/* main.c: answers. The process ends if nobody reads them. */
void answer(const weiri_hdf5_answer *head, const void *bytes);
void answer_failed(weir_err err);
/* The next question, or the end of the process; texts of WEIRI_HDF5_PATH bytes. */
weiri_hdf5_question next_question(char *place, char *name);
/* Starts the time limit of the next step. */
void watch(void);
/* Sets how much private memory may be allocated. */
void grant(uint64_t bytes);

/* objects.c. WEIR_E_USAGE: a link into another file. */
weir_err open_object(weiri_hdf5 *h, const char *place, hid_t *ret_object);
weir_err answer_list(weiri_hdf5 *h);
weir_err
answer_values(weiri_hdf5 *h, const weiri_hdf5_question *ask, const char *place, const char *name);

/* rows.c */
weir_err answer_dataset(weiri_hdf5 *h, const char *place, opened *in);
weir_err answer_rows(weiri_hdf5 *h, const weiri_hdf5_question *ask, opened *in);

#endif

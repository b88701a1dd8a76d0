/* SPDX-License-Identifier: MIT
 *
 * child.h: the helper program weir-hdf5 as seen by its parent: start, ask, receive the answer, end.
 */
#ifndef WEIRI_HDF5_CHILD_H
#define WEIRI_HDF5_CHILD_H

#include <sys/types.h>

#include "recording/hdf5/protocol.h"

typedef struct weiri_hdf5_child {
    int socket; /* -1: not running */
    pid_t pid;
    int memory; /* -1, or shared memory for blocks: */
    const unsigned char *blocks;
    size_t blocks_bytes;
    const char *path; /* of the recording, for messages */
    weir_err err;     /* after it ended by itself: status and cause */
    char why[300];
} weiri_hdf5_child;

/* Starts the helper on an open file. WEIR_E_IO: it is not found, or cannot be started. */
weir_err weiri_hdf5_child_start(int file, const char *path, weiri_hdf5_child *ret_child);
/* Maps that many bytes for blocks, shared by helper and reader, once. WEIR_E_IO. */
weir_err weiri_hdf5_child_map(weiri_hdf5_child *child, uint64_t bytes);
void weiri_hdf5_child_end(weiri_hdf5_child *child);

/* Sends a question. Errors are returned with the answer. */
void weiri_hdf5_child_ask(weiri_hdf5_child *child,
                          weiri_hdf5_question question,
                          const char *place,
                          const char *name);
/* The head of the next answer, whose content must be received before the next question. An
 * answer FAILED is the error that it states. WEIR_E_RECORDING: the helper crashed on the file,
 * now or earlier; WEIR_E_INTERRUPTED: a signal came, and no answer within a second after it. */
weir_err weiri_hdf5_child_answer(weiri_hdf5_child *child, weiri_hdf5_answer *ret_answer);
weir_err weiri_hdf5_child_take(weiri_hdf5_child *child, void *to, size_t bytes);
/* An answer that is a struct. */
weir_err weiri_hdf5_child_struct(weiri_hdf5_child *child,
                                 weiri_hdf5_verb verb,
                                 const char *place,
                                 weiri_hdf5_kind kind,
                                 void *ret_struct,
                                 size_t bytes);
/* The detail of the last error without the path at its beginning. */
const char *weiri_hdf5_child_why(const weiri_hdf5_child *child);
/* Ends the helper after an error that it returned, and every further call returns that error. */
void weiri_hdf5_child_stop(weiri_hdf5_child *child, weir_err err);
/* The error for an invalid answer; the helper is ended. */
weir_err weiri_hdf5_child_nonsense(weiri_hdf5_child *child);

#endif

/* SPDX-License-Identifier: MIT
 *
 * checkpoint.h: the file from which a run is resumed (S10, M6): written next to the previous one, synced, and
 * renamed, after the outputs are durable as far as it says. Nothing of it is in memory as a whole but the chain's
 * state, whose bytes are planned.
 */
#ifndef WEIRI_CHECKPOINT_H
#define WEIRI_CHECKPOINT_H

#include "chain/chain.h"

/* What a checkpoint says of the run that wrote it. */
typedef struct weiri_checkpoint_about {
    bool ended; /* the outputs are complete: only their names are missing */
} weiri_checkpoint_about;

/* Before the files of a run are started: continues from the file if `resume` is set and it exists, that is:
 * checks it, restores the chain, and tells the sinks where they end; *ret_resumed false: there is none, and the
 * first one was written. WEIR_E_USAGE names what does not fit. */
weir_err weiri_checkpoint_begin(weir_chain *chain,
                                const char *path,
                                bool resume,
                                bool *ret_resumed,
                                weiri_checkpoint_about *ret_about);

/* Between two tiles. `ended`: the source and the chain have ended: the outputs are completed. After an error the
 * former checkpoint is still there. */
weir_err weiri_checkpoint_write(weir_chain *chain, const char *path, bool ended);

/* The run has finished. */
void weiri_checkpoint_remove(const char *path);

/* Makes the names in a file's folder durable. WEIR_E_IO. */
weir_err weiri_folder_sync(const char *path);

#endif

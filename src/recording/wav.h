/* SPDX-License-Identifier: MIT
 *
 * wav.h: functions of wav_write.c for wav.c's descriptor, and libsndfile's memory.
 */
#ifndef WEIRI_WAV_H
#define WEIRI_WAV_H

#include "recording/writer.h"

/* For an open file (M7): its state is about 30 KiB; ADPCM adds blocks of 64 KiB at most each.
 * With it the resident set grows by less than the plan (tests/cli/wav_5gib.sh). */
#define WEIRI_WAV_BYTES (512u * 1024u)

size_t weiri_wav_head_bytes(const weir_spec *spec);
void weiri_wav_head(const weir_spec *spec, uint64_t rows, char *text, size_t bytes);
weir_err weiri_wav_holds(const weir_spec *spec, bool to_pipe);

#define WEIRI_WAV_CHANNELS 1024 /* libsndfile's own bound */

#endif

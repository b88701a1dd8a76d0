/* SPDX-License-Identifier: MIT
 *
 * wav.h: what wav.c's descriptor takes from wav_write.c, and what libsndfile holds.
 */
#ifndef WEIRI_WAV_H
#define WEIRI_WAV_H

#include "recording/writer.h"

/* Of an open file: measured 30 KiB for plain codings, and up to some blocks of 64 KiB for ADPCM (M7). */
#define WEIRI_WAV_BYTES (512u * 1024u)

size_t weiri_wav_head_bytes(const weir_spec *spec);
void weiri_wav_head(const weir_spec *spec, uint64_t rows, char *text, size_t bytes);
weir_err weiri_wav_holds(const weir_spec *spec, bool to_pipe);

#endif

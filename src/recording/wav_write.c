/* SPDX-License-Identifier: MIT
 *
 * wav_write.c: the head of a WAV file, before plain rows. It has space for 64-bit sizes from the
 * start (a JUNK chunk, as in EBU Tech 3306), so that a file becomes RF64 above 4 GiB, and the head
 * of flushed data is always right. Labels, units and gaps are in the side file.
 */
#include <math.h>
#include <string.h>

#include "recording/wav.h"

#define HEAD_BYTES (12 + 36 + 8 + 40 + 12 + 8)

static char *put(char *at, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) {
        *at++ = (char)(value >> (8 * i));
    }
    return at;
}

static char *put_id(char *at, const char *id, uint64_t bytes)
{
    memcpy(at, id, 4);
    return put(at + 4, bytes, 4);
}

size_t weiri_wav_head_bytes(const weir_spec *spec)
{
    (void)spec;
    return HEAD_BYTES;
}

void weiri_wav_head(const weir_spec *spec, uint64_t rows, char *text, size_t bytes)
{
    static const unsigned char guid[14] = {0x00, 0x00, 0x00, 0x00, 0x10, 0x00, 0x80,
                                           0x00, 0x00, 0xaa, 0x00, 0x38, 0x9b, 0x71};
    uint64_t channels = weir_spec_columns(spec), width = weir_dtype_bytes(spec->dtype);
    uint64_t frame = channels * width, rate = (uint64_t)spec->rate_hz, data = rows * frame;
    uint64_t all = data + (data & 1) + bytes - 8;
    bool is_long = all > 0xfffffff0, is_float = spec->dtype == WEIR_F32 || spec->dtype == WEIR_F64;
    memset(text, 0, bytes);
    char *at = put_id(text, is_long ? "RF64" : "RIFF", is_long ? 0xffffffff : all);
    memcpy(at, "WAVE", 4);
    at = put_id(at + 4, is_long ? "ds64" : "JUNK", 28);
    if (is_long) {
        put(put(put(at, all, 8), data, 8), rows, 8);
    }
    at = put_id(at + 28, "fmt ", 40);
    at = put(put(put(at, 0xfffe, 2), channels, 2), rate, 4);
    at = put(put(put(at, rate * frame, 4), frame, 2), width * 8, 2);
    at = put(put(put(at, 22, 2), width * 8, 2), 0, 4); /* the channels are not loudspeakers */
    at = put(at, is_float ? 3 : 1, 2);
    memcpy(at, guid, sizeof guid);
    at = put_id(at + sizeof guid, "fact", 4);
    at = put(at, is_long ? 0xffffffff : rows, 4);
    put_id(at, "data", is_long ? 0xffffffff : data);
}

weir_err weiri_wav_holds(const weir_spec *spec, bool to_pipe)
{
    uint64_t channels = weir_spec_columns(spec);
    if (to_pipe) {
        return weiri_fail(
            WEIR_E_USAGE,
            "wav cannot be written to a pipe, as its header states the length; use --format raw");
    }
    if (weir_dtype_parts(spec->dtype) > 1) {
        return weiri_fail(
            WEIR_E_USAGE,
            "wav stores real numbers only; the stream is complex (%s); use npy, raw or hdf5",
            weir_dtype_name(spec->dtype));
    }
    if (spec->dim_count > 2) {
        return weiri_fail(WEIR_E_USAGE,
                          "wav stores frames x channels; the stream has %u dimensions",
                          spec->dim_count);
    }
    if (spec->rate_hz != floor(spec->rate_hz) || spec->rate_hz > 0x7fffffff) {
        return weiri_fail(WEIR_E_USAGE,
                          "wav stores rates of whole Hz up to 2^31; the stream has %g Hz",
                          spec->rate_hz);
    }
    if (channels > WEIRI_WAV_CHANNELS) {
        return weiri_fail(WEIR_E_USAGE, "wav can have up to %d channels; the stream has %llu",
                          WEIRI_WAV_CHANNELS, (unsigned long long)channels);
    }
    const uint16_t order = 1;
    if (spec->dtype == WEIR_U16 || *(const unsigned char *)&order == 0) {
        return weiri_fail(WEIR_E_USAGE,
                          "wav stores u8 i16 i32 f32 f64 as little endian; the stream has %s",
                          weir_dtype_name(spec->dtype));
    }
    return WEIR_OK;
}

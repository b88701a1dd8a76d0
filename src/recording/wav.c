/* SPDX-License-Identifier: MIT
 *
 * wav.c: reads WAV, RF64 and BW64. This file finds the data, since sizes in a header wrap around
 * above 4 GiB, or were never completed; libsndfile, given a header with the right size before the
 * same data, checks the coding and decodes, reading through our descriptor. A value is a fraction
 * of full scale; floats are unchanged. Writing, which needs no library, is in wav_write.c.
 */
#include <stdio.h>
#include <string.h>

#include "recording/wav.h"

#ifdef WEIRI_WAV
#include <sndfile.h>

#define FMT_BYTES  256 /* of a fmt chunk that is passed on; they are at most 52 in practice */
#define HEAD_BYTES (12 + 36 + 8 + FMT_BYTES + 8)
#define UNKNOWN    UINT64_MAX
#define MAX_CHUNKS 65536 /* examined before the data, and after them */

typedef struct wav {
    SNDFILE *file;
    bool big;             /* RIFX */
    bool plain;           /* rows are read as they are stored */
    uint64_t data, bytes; /* of the data: place, length */
    uint64_t seen;        /* decoded by libsndfile; not from a pipe, since it seeks */
    unsigned char head[HEAD_BYTES];
    size_t head_bytes;
    uint64_t position; /* of libsndfile in the file presented to it */
    weir_err err;      /* of our own reads, which libsndfile does not report */
    uint64_t frames;
    unsigned char fmt[FMT_BYTES];
    uint32_t fmt_bytes;
    uint64_t fmt_at;
    bool long_sizes;
    uint64_t long_data; /* as ds64 states it */
} wav;

/* ---- chunks ----------------------------------------------------------------------------------------- */

static uint64_t get(const wav *in, const unsigned char *at, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++) {
        value |= (uint64_t)at[in->big ? bytes - 1 - i : i] << (8 * i);
    }
    return value;
}

static bool is_id(const unsigned char *at)
{
    for (int i = 0; i < 4; i++) {
        if (at[i] < ' ' || at[i] > '~') {
            return false;
        }
    }
    return true;
}

/* Whether the chunks from here on are contiguous up to the file's end. */
static weir_err are_chunks(weiri_reader *reader, const wav *in, uint64_t at, bool *ret)
{
    uint64_t size = reader->input.size;
    *ret = false;
    for (int i = 0; i < MAX_CHUNKS; i++) {
        if (at >= size) {
            *ret = at == size || at == size + 1; /* the pad byte of the last one may be missing */
            return WEIR_OK;
        }
        unsigned char head[8];
        size_t got = 0;
        weir_err err = weiri_input_read(&reader->input, at, head, sizeof head, 1, &got);
        if (err != WEIR_OK || got < sizeof head || !is_id(head)) {
            return err;
        }
        uint64_t bytes = get(in, head + 4, 4);
        at += 8 + bytes + (bytes & 1);
    }
    return WEIR_OK;
}

/* The length of the data, for which the header states `stated` (32 bits of it). */
static weir_err settle(weiri_reader *reader, wav *in, uint64_t stated)
{
    uint64_t there = reader->input.size - in->data;
    bool open = stated == 0 || stated == 0xffffffff, chunks = false;
    weir_err err = WEIR_OK;
    if (stated != 0xffffffff) {
        /* A size above 4 GiB was truncated to 32 bits: the right one is that with chunks after
         * it. */
        for (uint64_t bytes = stated; err == WEIR_OK && bytes <= there;
             bytes += UINT64_C(1) << 32) {
            if (bytes == there && stated != 0) {
                in->bytes = bytes;
                chunks = true;
            } else if (bytes < there) {
                err = are_chunks(reader, in, in->data + bytes + (bytes & 1), &chunks);
                in->bytes = bytes;
            }
            if (err != WEIR_OK || chunks) {
                break;
            }
        }
    }
    if (err != WEIR_OK) {
        return err;
    }
    if (chunks) {
        if (in->bytes != stated) {
            weiri_notice(&reader->notices,
                         "the data size wrapped around: stated %llu bytes, read %llu",
                         (unsigned long long)stated, (unsigned long long)in->bytes);
        }
        return WEIR_OK;
    }
    in->bytes = there;
    if (open) {
        weiri_notice(
            &reader->notices,
            "the data size was not filled in (%s): read up to the end of the file, %llu bytes",
            stated ? "FFFFFFFF" : "0", (unsigned long long)there);
    } else if (stated > there) {
        weiri_notice(&reader->notices,
                     "truncated: the header states %llu bytes of data, %llu are present",
                     (unsigned long long)stated, (unsigned long long)there);
    } else if (there >> 32) {
        weiri_notice(
            &reader->notices,
            "the data size wrapped around: stated %llu bytes, read %llu, up to the end of the file",
            (unsigned long long)stated, (unsigned long long)there);
    } else {
        in->bytes = stated;
        weiri_notice(&reader->notices, "%llu bytes after the data are not chunks; ignored",
                     (unsigned long long)(there - stated));
    }
    return WEIR_OK;
}

static weir_err at_data(weiri_reader *reader, wav *in, uint64_t stated)
{
    if (in->long_sizes && stated == 0xffffffff && in->long_data != 0 && in->long_data != UNKNOWN) {
        uint64_t there = reader->input.pipe ? UNKNOWN : reader->input.size - in->data;
        in->bytes = in->long_data < there ? in->long_data : there;
        if (in->long_data > there) {
            weiri_notice(&reader->notices,
                         "truncated: the header states %llu bytes of data, %llu are present",
                         (unsigned long long)in->long_data, (unsigned long long)there);
        }
        return WEIR_OK;
    }
    if (reader->input.pipe) {
        in->bytes = stated == 0 || stated == 0xffffffff ? UNKNOWN : stated;
        return WEIR_OK;
    }
    return settle(reader, in, stated);
}

/* "2021-07-18" and "23:58:26" of a broadcast file. */
static weir_err take_bext(weiri_reader *reader, uint64_t at)
{
    char text[20];
    size_t got = 0;
    weir_err err = weiri_input_read(&reader->input, at + 320, text, 18, 1, &got);
    if (err != WEIR_OK || got < 18) {
        return err;
    }
    memmove(text + 11, text + 10, 8);
    text[10] = 'T';
    static const char form[] = "0000-00-00T00:00:00";
    for (int i = 0; i < 19; i++) {
        bool digit = text[i] >= '0' && text[i] <= '9';
        if (form[i] == '0' ? !digit : i != 10 && digit) {
            return WEIR_OK; /* left blank */
        }
        text[i] = digit ? text[i] : form[i];
    }
    return weiri_reader_text(reader, text, 19, &reader->start_time);
}

static weir_err take_chunk(weiri_reader *reader, wav *in, const unsigned char *head, uint64_t at)
{
    uint64_t bytes = get(in, head + 4, 4);
    unsigned char more[24];
    size_t got = 0;
    weir_err err = WEIR_OK;
    if (memcmp(head, "ds64", 4) == 0 && bytes >= 24) {
        err = weiri_input_read(&reader->input, at, more, 24, 1, &got);
        in->long_sizes = got == 24;
        in->long_data = got == 24 ? get(in, more + 8, 8) : 0;
    } else if (memcmp(head, "fmt ", 4) == 0) {
        if (bytes < 14 || bytes > FMT_BYTES) {
            return weiri_malformed(reader, at - 4, "fmt chunk of %llu bytes: expected 14 to %d",
                                   (unsigned long long)bytes, FMT_BYTES);
        }
        err = weiri_input_read(&reader->input, at, in->fmt, (size_t)bytes, 1, &got);
        in->fmt_bytes = (uint32_t)got;
        in->fmt_at = at;
    } else if (memcmp(head, "bext", 4) == 0 && bytes >= 338) {
        err = take_bext(reader, at);
    }
    return err;
}

static weir_err walk(weiri_reader *reader, wav *in)
{
    unsigned char head[12];
    size_t got = 0;
    weir_err err = weiri_input_read(&reader->input, 0, head, 12, 12, &got);
    if (err != WEIR_OK) {
        return err;
    }
    in->big = memcmp(head, "RIFX", 4) == 0;
    bool known = in->big || memcmp(head, "RIFF", 4) == 0 || memcmp(head, "RF64", 4) == 0 ||
                 memcmp(head, "BW64", 4) == 0;
    if (got < 12 || !known || memcmp(head + 8, "WAVE", 4) != 0) {
        return weiri_malformed(reader, 0, "not a WAV file: does not begin with RIFF....WAVE");
    }
    uint64_t at = 12;
    for (int i = 0; i < MAX_CHUNKS; i++) {
        err = weiri_input_read(&reader->input, at, head, 8, 8, &got);
        if (err != WEIR_OK) {
            return err;
        }
        if (got < 8) {
            return weiri_malformed(reader, at + got, "the file ends here, without a data chunk");
        }
        at += 8;
        uint64_t bytes = get(in, head + 4, 4);
        if (memcmp(head, "data", 4) == 0) {
            in->data = at;
            return in->fmt_bytes ? at_data(reader, in, bytes)
                                 : weiri_malformed(reader, at - 8, "data before a fmt chunk");
        }
        err = take_chunk(reader, in, head, at);
        if (err != WEIR_OK) {
            return err;
        }
        at += bytes + (bytes & 1);
    }
    return weiri_malformed(reader, at, "%d chunks, but no data chunk among them", MAX_CHUNKS);
}

/* ---- libsndfile --------------------------------------------------------------------------------------- */

static void set(const wav *in, unsigned char *at, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) {
        at[in->big ? bytes - 1 - i : i] = (unsigned char)(value >> (8 * i));
    }
}

/* What libsndfile sees before the data: with the real sizes. */
static void make_head(wav *in)
{
    unsigned char *at = in->head;
    bool is_long = in->seen > 0xf0000000 && !in->big;
    uint64_t bytes = in->seen;
    uint64_t all = 4 + (is_long ? 36 : 0) + 8 + in->fmt_bytes + (in->fmt_bytes & 1) + 8 + bytes;
    memcpy(at, is_long ? "RF64" : in->big ? "RIFX" : "RIFF", 4);
    set(in, at + 4, is_long || all > 0xffffffff ? 0xffffffff : all, 4);
    memcpy(at + 8, "WAVE", 4);
    at += 12;
    if (is_long) {
        memcpy(at, "ds64", 4);
        set(in, at + 4, 28, 4);
        set(in, at + 8, all, 8);
        set(in, at + 16, bytes, 8);
        set(in, at + 24, 0, 8);
        set(in, at + 32, 0, 4);
        at += 36;
    }
    memcpy(at, "fmt ", 4);
    set(in, at + 4, in->fmt_bytes, 4);
    memcpy(at + 8, in->fmt, in->fmt_bytes);
    at[8 + in->fmt_bytes] = 0;
    at += 8 + in->fmt_bytes + (in->fmt_bytes & 1);
    memcpy(at, "data", 4);
    set(in, at + 4, is_long || bytes > 0xffffffff ? 0xffffffff : bytes, 4);
    in->head_bytes = (size_t)(at + 8 - in->head);
}

static sf_count_t seen_length(void *user)
{
    const weiri_reader *reader = user;
    const wav *in = reader->own;
    return (sf_count_t)(in->head_bytes + in->seen);
}

static sf_count_t seen_seek(sf_count_t offset, int whence, void *user)
{
    weiri_reader *reader = user;
    wav *in = reader->own;
    sf_count_t from = whence == SEEK_SET   ? 0
                      : whence == SEEK_CUR ? (sf_count_t)in->position
                                           : seen_length(user);
    if (offset < -from || offset > INT64_MAX / 4) {
        return -1;
    }
    in->position = (uint64_t)(from + offset);
    return (sf_count_t)in->position;
}

static sf_count_t seen_read(void *to, sf_count_t count, void *user)
{
    weiri_reader *reader = user;
    wav *in = reader->own;
    unsigned char *out = to;
    uint64_t left = count > 0 ? (uint64_t)count : 0, end = (uint64_t)seen_length(user);
    left = in->position >= end ? 0 : left < end - in->position ? left : end - in->position;
    uint64_t done = 0;
    while (left > 0 && in->position < in->head_bytes) {
        *out++ = in->head[in->position++];
        left--;
        done++;
    }
    if (left > 0 && in->err == WEIR_OK) {
        size_t got = 0;
        uint64_t offset = in->data + (in->position - in->head_bytes);
        in->err = weiri_input_read(&reader->input, offset, out, (size_t)left, (size_t)left, &got);
        in->position += got;
        done += got;
    }
    return (sf_count_t)done;
}

static sf_count_t seen_write(const void *from, sf_count_t count, void *user)
{
    (void)from;
    (void)count;
    (void)user;
    return 0;
}

static sf_count_t seen_tell(void *user)
{
    const weiri_reader *reader = user;
    return (sf_count_t)((const wav *)reader->own)->position;
}

/* How values are stored; other than plain codings are decoded to 16 bits. */
static weir_err coding_of(weiri_reader *reader, wav *in, int format)
{
    static const struct {
        int subtype;
        weiri_coding coding;
        double base, full;
        const char *name;
    } plain[] = {
        {SF_FORMAT_PCM_U8, WEIRI_CODING_U8, 128, 128, "8 bit"},
        {SF_FORMAT_PCM_16, WEIRI_CODING_I16, 0, 32768, "16 bit"},
        {SF_FORMAT_PCM_24, WEIRI_CODING_I24, 0, 8388608, "24 bit"},
        {SF_FORMAT_PCM_32, WEIRI_CODING_I32, 0, 2147483648.0, "32 bit"},
        {SF_FORMAT_FLOAT, WEIRI_CODING_F32, 0, 0, "float"},
        {SF_FORMAT_DOUBLE, WEIRI_CODING_F64, 0, 0, "double"},
    };
    static const struct {
        int subtype;
        const char *name;
    } decoded[] = {{SF_FORMAT_ULAW, "u-law"},
                   {SF_FORMAT_ALAW, "A-law"},
                   {SF_FORMAT_IMA_ADPCM, "IMA ADPCM"},
                   {SF_FORMAT_MS_ADPCM, "MS ADPCM"}};
    weiri_scale scale = {.numer = 1};
    bool known = false;
    in->plain = true;
    reader->stored.big_endian = in->big;
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        if ((format & SF_FORMAT_SUBMASK) == plain[i].subtype) {
            known = true;
            reader->stored.coding = plain[i].coding;
            reader->info.variant = plain[i].name;
            scale.base = plain[i].base;
            scale.denom = plain[i].full;
        }
    }
    for (size_t i = 0; i < sizeof decoded / sizeof *decoded; i++) {
        if ((format & SF_FORMAT_SUBMASK) == decoded[i].subtype) {
            known = true;
            reader->info.variant = decoded[i].name;
            in->plain = false;
            scale.denom = 32768;
            reader->stored.coding = WEIRI_CODING_I16;
            reader->stored.big_endian =
                !weiri_stored_is((weiri_stored){.coding = WEIRI_CODING_I16}, WEIR_I16);
        }
    }
    if (!known) {
        return weiri_malformed(reader, 12, "fmt chunk: encoding %#llx cannot be read",
                               (unsigned long long)get(in, in->fmt, 2));
    }
    for (uint64_t i = 0; i < reader->channel_count; i++) {
        reader->channels[i] =
            (weiri_channel){.label = "", .unit = "", .rate_hz = reader->rate_hz, .scale = scale};
    }
    return WEIR_OK;
}

/* Checked before libsndfile: it would pass MPEG audio to a library that prints, and for wrong
 * fields only say that something is missing. */
static weir_err judge_format(weiri_reader *reader, const wav *in)
{
    static const unsigned codings[] = {1, 2, 3, 6, 7, 0x11, 0xfffe};
    unsigned coding = (unsigned)get(in, in->fmt, 2), channels = (unsigned)get(in, in->fmt + 2, 2);
    uint64_t rate_hz = get(in, in->fmt + 4, 4);
    bool known = false;
    for (size_t i = 0; i < sizeof codings / sizeof *codings; i++) {
        known = known || codings[i] == coding;
    }
    if (!known) {
        return weiri_malformed(
            reader, in->fmt_at,
            "fmt chunk: found encoding %#x, expected 1 (PCM), 3 (float), 2 or 0x11 "
            "(ADPCM), 6, 7 (A-law, u-law) or 0xfffe (extensible)",
            coding);
    }
    if (channels < 1 || channels > WEIRI_WAV_CHANNELS) {
        return weiri_malformed(reader, in->fmt_at + 2,
                               "fmt chunk: found %u channels, expected 1 to %d", channels,
                               WEIRI_WAV_CHANNELS);
    }
    if (rate_hz < 1 || rate_hz > INT32_MAX) {
        return weiri_malformed(reader, in->fmt_at + 4,
                               "fmt chunk: found a rate of %llu Hz, expected 1 to %d",
                               (unsigned long long)rate_hz, INT32_MAX);
    }
    return WEIR_OK;
}

/* The block align states how far frames are apart, which libsndfile ignores: it would read
 * noise. Where in a wider container the bits are is not stated: RIFF has them at the top, ALSA's
 * arecord (24 bits in 4 bytes) writes them at the bottom. */
static weir_err judge_container(weiri_reader *reader, const wav *in)
{
    static const char *const dtypes[] = {NULL, NULL, "i16", "i24", "i32"};
    unsigned coding = (unsigned)get(in, in->fmt, 2), channels = (unsigned)get(in, in->fmt + 2, 2);
    unsigned align = (unsigned)get(in, in->fmt + 12, 2);
    unsigned bits = in->fmt_bytes >= 16 ? (unsigned)get(in, in->fmt + 14, 2) : 0;
    if ((coding != 1 && coding != 3 && coding != 0xfffe) || bits == 0 ||
        align <= (bits + 7) / 8 * channels) {
        return WEIR_OK;
    }
    unsigned bytes = align / channels;
    char advice[128] = "convert it to uncompressed samples first";
    if (align % channels == 0 && bytes < sizeof dtypes / sizeof *dtypes) {
        snprintf(advice, sizeof advice,
                 "read it with --format raw --dtype '%s%s' --channels-in-file %u --rate %llu "
                 "--offset %llu",
                 in->big ? ">" : "<", dtypes[bytes], channels,
                 (unsigned long long)get(in, in->fmt + 4, 4), (unsigned long long)in->data);
    }
    return weiri_malformed(
        reader, in->fmt_at + 12,
        "fmt chunk: found a block align of %u for %u channels of %u bits, "
        "expected %u; the position of the bits in these wider containers is not stated: %s",
        align, channels, bits, (bits + 7) / 8 * channels, advice);
}

static weir_err open_library(weiri_reader *reader, wav *in)
{
    static SF_VIRTUAL_IO seen = {seen_length, seen_seek, seen_read, seen_write, seen_tell};
    SF_INFO info = {0};
    in->file = sf_open_virtual(&seen, SFM_READ, &info, reader);
    if (in->file == NULL && in->err == WEIR_OK) {
        return weiri_malformed(reader, 12, "libsndfile rejects it: %.200s", sf_strerror(NULL));
    }
    if (in->err != WEIR_OK) {
        return in->err;
    }
    if (info.channels < 1 || info.samplerate < 1) {
        return weiri_malformed(reader, 12, "fmt chunk: %d channels at %d Hz", info.channels,
                               info.samplerate);
    }
    reader->channel_count = (uint64_t)info.channels;
    reader->rate_hz = info.samplerate;
    weir_err err = weiri_reader_get(reader, reader->channel_count, sizeof *reader->channels,
                                    &reader->channels);
    if (err == WEIR_OK) {
        err = coding_of(reader, in, info.format);
    }
    if (err != WEIR_OK) {
        return err;
    }
    if (!in->plain && reader->input.pipe) {
        return weiri_fail(WEIR_E_USAGE, "%s: a compressed WAV file cannot be read from a pipe",
                          reader->input.name);
    }
    uint64_t frame = reader->channel_count * weiri_stored_bytes(reader->stored);
    in->frames = in->plain ? in->bytes / frame : (uint64_t)info.frames;
    if (in->bytes == UNKNOWN) {
        in->frames = WEIR_FRAMES_UNKNOWN;
    } else if (in->plain && in->bytes % frame) {
        weiri_notice(&reader->notices,
                     "the last %llu bytes of the data are an incomplete frame; ignored",
                     (unsigned long long)(in->bytes % frame));
    }
    return WEIR_OK;
}

static void wav_close(weiri_reader *reader)
{
    wav *in = reader->own;
    if (in && in->file) {
        sf_close(in->file);
        in->file = NULL;
    }
}

static weir_err wav_open(weiri_reader *reader)
{
    if (reader->options->rate_hz != 0) {
        return weiri_fail(WEIR_E_USAGE, "%s: WAV files contain their sample rate; remove --rate",
                          reader->path);
    }
    wav *in;
    weir_err err = weiri_reader_get(reader, 1, sizeof *in, &in);
    if (err == WEIR_OK) {
        err = weiri_reader_charge(reader, WEIRI_WAV_BYTES);
    }
    if (err != WEIR_OK) {
        return err;
    }
    reader->own = in;
    err = walk(reader, in);
    if (err != WEIR_OK) {
        return err;
    }
    err = judge_format(reader, in);
    if (err == WEIR_OK) {
        err = judge_container(reader, in);
    }
    if (err != WEIR_OK) {
        return err;
    }
    in->seen = reader->input.pipe ? 0 : in->bytes;
    make_head(in);
    err = open_library(reader, in);
    if (err == WEIR_OK && !reader->input.pipe && weiri_side_scale(reader) != 0) {
        for (uint64_t i = 0; i < reader->channel_count; i++) {
            reader->channels[i].scale = (weiri_scale){.denom = 0}; /* not fractions of full scale */
        }
    }
    if (err == WEIR_OK && in->frames != WEIR_FRAMES_UNKNOWN && !reader->input.pipe &&
        reader->channels[0].scale.denom == 0) {
        /* For floats, and integers with a scale, written by weir: labels, units, segments. */
        const uint64_t shape[2] = {in->frames, reader->channel_count};
        weiri_side_read(reader, shape, 2);
    }
    return err;
}

static weir_err wav_layout(weiri_reader *reader)
{
    weiri_side_layout(reader, ((const wav *)reader->own)->frames);
    return WEIR_OK;
}

static uint64_t block_frames(const weiri_reader *reader, uint64_t tile_frames)
{
    uint64_t frames =
        WEIRI_BLOCK_BYTES / (reader->channel_count * weiri_stored_bytes(reader->stored));
    frames = frames < tile_frames ? frames : tile_frames;
    return frames ? frames : 1;
}

static weir_err wav_plan(const weiri_reader *reader, uint64_t tile_frames, uint64_t *ret_bytes)
{
    *ret_bytes = block_frames(reader, tile_frames) * reader->channel_count *
                 weiri_stored_bytes(reader->stored);
    return WEIR_OK;
}

static weir_err
wav_read(weiri_reader *reader, uint64_t index, size_t frames, void *rows, size_t *ret_frames)
{
    wav *in = reader->own;
    size_t frame = (size_t)reader->channel_count * weiri_stored_bytes(reader->stored);
    uint64_t most = block_frames(reader, reader->tile_frames);
    size_t want = frames < most ? frames : (size_t)most, got = 0;
    uint64_t at = reader->first_row + index;
    *ret_frames = 0;
    if (in->frames == WEIR_FRAMES_UNKNOWN || reader->input.pipe) {
        /* A pipe: libsndfile has checked the header; rows are read as they arrive. */
        if (in->frames != WEIR_FRAMES_UNKNOWN && want > in->frames - at) {
            want = (size_t)(in->frames - at);
        }
        weir_err err = weiri_input_read(&reader->input, in->data + at * frame, reader->buffer,
                                        want * frame, frame, &got);
        if (err != WEIR_OK) {
            return err;
        }
        weiri_reader_rest(reader, got % frame, frame);
        got /= frame;
    } else {
        if ((uint64_t)sf_seek(in->file, 0, SEEK_CUR) != at &&
            (uint64_t)sf_seek(in->file, (sf_count_t)at, SEEK_SET) != at) {
            return weiri_malformed(reader, in->data, "cannot seek to frame %llu: %.100s",
                                   (unsigned long long)at, sf_strerror(in->file));
        }
        sf_count_t done =
            in->plain ? sf_read_raw(in->file, reader->buffer, (sf_count_t)(want * frame)) /
                            (sf_count_t)frame
                      : sf_readf_short(in->file, (short *)(void *)reader->buffer, (sf_count_t)want);
        if (in->err != WEIR_OK) {
            return in->err;
        }
        got = done > 0 ? (size_t)done : 0;
    }
    weiri_rows_convert(reader, reader->buffer, frame, got, rows);
    *ret_frames = got;
    return WEIR_OK;
}
#endif

static bool probe(const unsigned char *first, size_t count)
{
    return count >= 12 && memcmp(first + 8, "WAVE", 4) == 0 &&
           (memcmp(first, "RIFF", 4) == 0 || memcmp(first, "RF64", 4) == 0 ||
            memcmp(first, "RIFX", 4) == 0 || memcmp(first, "BW64", 4) == 0);
}

const weiri_format_ops weiri_format_wav = {
    .ops_size = sizeof(weiri_format_ops),
    .info = {.name = "wav",
#ifdef WEIRI_WAV
             .summary =
                 "WAV, RF64; values are fractions of full scale; with a side file when written",
             .reads = true,
#else
             .summary = "WAV, RF64; this build cannot read them (WEIR_WAV)",
#endif
             .extensions = ".wav .wave .rf64",
             .writes = true},
    .probe = probe,
#ifdef WEIRI_WAV
    .open = wav_open,
    .layout = wav_layout,
    .segment = weiri_side_segment,
    .plan = wav_plan,
    .read = wav_read,
    .close = wav_close,
#else
    .not_built = "reading of WAV (libsndfile, WEIR_WAV)",
#endif
    .head_bytes = weiri_wav_head_bytes,
    .head = weiri_wav_head,
    .holds = weiri_wav_holds,
};

/* SPDX-License-Identifier: MIT
 *
 * nsx_packets.c: from one data packet of an NSx file to the next: empty, extra, truncated and
 * open-ended ones, and whether there is a gap between two of them. One window of the file is in
 * memory, and no list.
 */
#include <math.h>

#include "recording/nsx.h"

#define HOP_BYTES 64u /* enough for the header of a skipped packet */

/* Bytes at an offset, as many as the window and the file have; at least `need` if the file has
 * them. */
weir_err weiri_nsx_look(weiri_reader *reader,
                        uint64_t offset,
                        size_t need,
                        const unsigned char **ret_bytes,
                        size_t *ret_count)
{
    nsx_window *win = &((nsx *)reader->own)->look;
    bool near = offset >= win->at && offset <= win->at + win->have;
    if (!near || win->at + win->have - offset < need) {
        bool soon = offset >= win->at && offset - win->at < win->room;
        size_t piece = win->hops && !soon ? HOP_BYTES : win->room;
        win->have = 0;
        win->at = offset;
        weir_err err =
            weiri_input_read(&reader->input, offset, win->bytes, piece, piece, &win->have);
        if (err != WEIR_OK) {
            return err;
        }
    }
    *ret_bytes = win->bytes + (size_t)(offset - win->at);
    *ret_count = win->have - (size_t)(offset - win->at);
    return WEIR_OK;
}

/* ---- time ----------------------------------------------------------------------------------------- */

/* In integers: as doubles, timestamps of 1.7e18 ns cannot resolve a frame. Beyond 285 years the
 * result is the limit. */
int64_t weiri_nsx_ns(const nsx *e, uint64_t stamp)
{
    bool back = stamp < e->origin;
    uint64_t ticks = back ? e->origin - stamp : stamp - e->origin;
    uint64_t whole = ticks / e->resolution_hz, rest = ticks % e->resolution_hz;
    int64_t ns = whole > 9000000000
                     ? INT64_MAX
                     : (int64_t)(whole * 1000000000 + rest * 1000000000 / e->resolution_hz);
    return back ? -ns : ns;
}

/* The number of ticks in n units of the header's 1/30000 s, and the remainder in 1/30000 of a
 * tick. */
static uint64_t ticks_of(const nsx *e, uint64_t n, uint64_t *ret_rest)
{
    uint64_t part = n % NSX_CLOCK_HZ * e->resolution_hz;
    *ret_rest = part % NSX_CLOCK_HZ;
    return n / NSX_CLOCK_HZ * e->resolution_hz + part / NSX_CLOCK_HZ;
}

/* The difference of integers, since the numbers themselves are too large for a double; 32-bit
 * timestamps wrap around to 0, after 40 hours at 30 kHz. */
double weiri_nsx_lateness(const nsx *e, uint64_t from, uint64_t frames, uint64_t stamp)
{
    uint64_t rest = 0;
    uint64_t late = stamp - (from + ticks_of(e, frames * e->period, &rest));
    double ticks = e->spec < 30 ? (double)(int32_t)(uint32_t)late : (double)(int64_t)late;
    return (ticks - (double)rest / NSX_CLOCK_HZ) * (1e9 / e->resolution_hz);
}

bool weiri_nsx_follows(const nsx *e, uint64_t from, uint64_t frames, uint64_t stamp)
{
    double late_ns = weiri_nsx_lateness(e, from, frames, stamp);
    return e->counts ? late_ns == 0 : fabs(late_ns) <= e->tolerance_ns;
}

/* ---- packets -------------------------------------------------------------------------------------- */

static uint64_t frames_from(const weiri_reader *reader, uint64_t offset)
{
    const nsx *e = reader->own;
    return offset < reader->input.size ? (reader->input.size - offset) / e->frame_bytes : 0;
}

/* Reads the header of a packet; *ret_byte is its first byte, -1 at the file's end, -2 if the
 * header itself is truncated. */
static weir_err
peek(weiri_reader *reader, uint64_t at, int *ret_byte, nsx_packet *ret, uint64_t *ret_claimed)
{
    nsx *e = reader->own;
    const unsigned char *bytes;
    size_t there = 0;
    weir_err err = weiri_nsx_look(reader, at, e->head_bytes, &bytes, &there);
    if (err != WEIR_OK) {
        return err;
    }
    *ret_byte = there == 0 ? -1 : there < e->head_bytes ? -2 : bytes[0];
    if (*ret_byte >= 0) {
        *ret = (nsx_packet){.at = at,
                            .data_at = at + e->head_bytes,
                            .stamp = weiri_little(bytes + 1, e->head_bytes - 5)};
        *ret_claimed = weiri_little(bytes + e->head_bytes - 4, 4);
        uint64_t most = frames_from(reader, ret->data_at);
        ret->frames = *ret_claimed < most ? *ret_claimed : most;
    }
    return WEIR_OK;
}

/* A writer that was killed has left 0 as the number of frames: then no packet follows. */
static weir_err open_ended(weiri_reader *reader, nsx_packet *it, bool *ret)
{
    nsx_packet behind;
    uint64_t claimed = 0;
    int byte = 0, end = 1;
    *ret = false;
    weir_err err = peek(reader, it->data_at, &byte, &behind, &claimed);
    if (err != WEIR_OK || byte == -1) {
        return err;
    }
    const nsx *e = reader->own;
    if (byte == 1 && claimed == behind.frames) {
        nsx_packet last;
        err = peek(reader, behind.data_at + claimed * e->frame_bytes, &end, &last, &claimed);
    }
    *ret = !(byte == 1 && (end == 1 || end == -1) &&
             weiri_nsx_lateness(e, it->stamp, 0, behind.stamp) >= -e->tolerance_ns);
    return err;
}

static void tell_damage(weiri_reader *reader, int byte, uint64_t at)
{
    unsigned long long rest = reader->input.size - at;
    if (byte == -2) {
        weiri_notice(&reader->notices,
                     "offset %llu: the file ends within a packet header: %llu bytes are ignored",
                     (unsigned long long)at, rest);
    } else {
        weiri_notice(&reader->notices,
                     "offset %llu: found byte %d, expected 1 (data packet); the %llu bytes from "
                     "there on are ignored",
                     (unsigned long long)at, byte, rest);
    }
}

static void tell_cut(weiri_reader *reader, const nsx_packet *it, uint64_t claimed)
{
    const nsx *e = reader->own;
    unsigned long long rest =
        reader->input.size - it->data_at - it->frames * (uint64_t)e->frame_bytes;
    weiri_notice(
        &reader->notices,
        "offset %llu: the data are truncated: %llu of %llu frames are present, %llu are lost%s",
        (unsigned long long)it->at, (unsigned long long)it->frames, (unsigned long long)claimed,
        (unsigned long long)(claimed - it->frames), rest ? " (one in part)" : "");
}

/* The only packet of a file of spec 2.1. */
static bool rows_to_end(weiri_reader *reader, nsx_packet *ret)
{
    nsx *e = reader->own;
    e->over = true;
    *ret = (nsx_packet){.at = reader->data_offset,
                        .data_at = reader->data_offset,
                        .frames = frames_from(reader, reader->data_offset)};
    return ret->frames > 0;
}

/* Whether there is a header of a packet of one frame that continues the last one. */
static bool sound(const nsx *e, const unsigned char *head)
{
    uint64_t stamp = weiri_little(head + 1, e->head_bytes - 5);
    double late_ns = weiri_nsx_lateness(e, e->last.stamp, 1, stamp);
    return head[0] == 1 && weiri_little(head + e->head_bytes - 4, 4) == 1 &&
           late_ns >= -e->tolerance_ns && late_ns <= 10e9;
}

/* Among packets of one frame a damaged header loses only itself: reading continues at two valid
 * ones after it, one packet apart. */
static weir_err resume(weiri_reader *reader, nsx_tally *told, bool *ret)
{
    nsx *e = reader->own;
    const unsigned char *bytes;
    size_t there = 0, stride = e->head_bytes + e->frame_bytes;
    *ret = false;
    if (e->last.frames != 1) {
        return WEIR_OK;
    }
    weir_err err = weiri_nsx_look(reader, e->next_at, 3 * stride + e->head_bytes, &bytes, &there);
    for (size_t skip = 1; err == WEIR_OK && skip <= 2 * stride; skip++) {
        if (skip + stride + e->head_bytes > there) {
            break;
        }
        if (sound(e, bytes + skip) && sound(e, bytes + skip + stride)) {
            if (told) {
                told->damaged_at = told->damaged ? told->damaged_at : e->next_at;
                told->damaged++;
                told->damaged_bytes += skip;
            }
            e->next_at += skip;
            *ret = true;
            break;
        }
    }
    return err;
}

/* The packet whose header begins at e->next_at, of any kind; moves past it. *ret_byte other than
 * 1: there is none. */
static weir_err take(weiri_reader *reader, nsx_tally *told, int *ret_byte, nsx_packet *ret)
{
    nsx *e = reader->own;
    uint64_t claimed = 0;
    bool to_end = false;
    weir_err err = peek(reader, e->next_at, ret_byte, ret, &claimed);
    if (err != WEIR_OK || *ret_byte != 1) {
        return err;
    }
    if (claimed == 0) {
        err = open_ended(reader, ret, &to_end);
        ret->frames = to_end ? frames_from(reader, ret->data_at) : 0;
    }
    if (told && to_end) {
        weiri_notice(&reader->notices,
                     "offset %llu: a packet states 0 frames, but data follow: %llu frames are "
                     "read, up to the end of the file",
                     (unsigned long long)ret->at, (unsigned long long)ret->frames);
    } else if (told && ret->frames < claimed) {
        tell_cut(reader, ret, claimed);
    }
    e->next_at = ret->data_at + ret->frames * e->frame_bytes;
    e->over = to_end || ret->frames < claimed;
    return err;
}

/* Whether a packet of one frame has the timestamp of a longer one after it. */
static weir_err is_extra(weiri_reader *reader, const nsx_packet *it, bool *ret)
{
    const nsx *e = reader->own;
    nsx_packet behind;
    uint64_t claimed = 0;
    int byte = 0;
    *ret = false;
    if (it->frames != 1 || e->over) {
        return WEIR_OK;
    }
    weir_err err = peek(reader, e->next_at, &byte, &behind, &claimed);
    *ret = err == WEIR_OK && byte == 1 && claimed > 1 && behind.stamp == it->stamp;
    return err;
}

/* Not even the first packet is valid. */
static weir_err no_packet(const weiri_reader *reader, int byte)
{
    const nsx *e = reader->own;
    if (byte == -2) {
        return weiri_malformed(reader, e->next_at,
                               "the file ends within its first packet's header: found %llu bytes, "
                               "expected %zu",
                               (unsigned long long)(reader->input.size - e->next_at),
                               e->head_bytes);
    }
    return weiri_malformed(reader, e->next_at, "found byte %d, expected 1 (data packet)", byte);
}

weir_err weiri_nsx_next(weiri_reader *reader, nsx_tally *told, nsx_packet *ret, bool *ret_any)
{
    nsx *e = reader->own;
    *ret_any = false;
    if (e->spec == 21) {
        *ret_any = !e->over && rows_to_end(reader, ret);
        return WEIR_OK;
    }
    while (!e->over) {
        nsx_packet it;
        int byte = 0;
        bool extra = false, goes_on = false;
        weir_err err = take(reader, told, &byte, &it);
        if (err == WEIR_OK && byte >= 0 && byte != 1) {
            err = resume(reader, told, &goes_on);
        }
        if (err == WEIR_OK && byte == 1) {
            err = is_extra(reader, &it, &extra);
        }
        if (err != WEIR_OK) {
            return err;
        }
        if (goes_on) {
            continue;
        }
        if (byte != 1) {
            e->over = true;
            if (byte != -1 && e->next_at == reader->data_offset) {
                return no_packet(reader, byte);
            }
            if (told && byte != -1) {
                tell_damage(reader, byte, e->next_at);
            }
            return WEIR_OK;
        }
        if (it.frames > 0 && !extra) {
            *ret = e->last = it;
            *ret_any = true;
            return WEIR_OK;
        }
        if (told) {
            told->extra += extra;
            told->empty += it.frames == 0;
        }
    }
    return WEIR_OK;
}

void weiri_nsx_rewind(weiri_reader *reader)
{
    nsx *e = reader->own;
    e->next_at = reader->data_offset;
    e->over = false;
    e->waiting = false;
    e->look.have = 0;
    e->last = (nsx_packet){0};
}

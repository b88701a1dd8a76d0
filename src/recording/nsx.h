/* SPDX-License-Identifier: MIT
 *
 * nsx.h: the data packets of an NSx file, for nsx.c (headers, segments, rows).
 */
#ifndef WEIRI_NSX_H
#define WEIRI_NSX_H

#include "recording/reader.h"

#define NSX_LOOK     4u     /* minimum number of packets of one frame in a window */
#define NSX_CLOCK_HZ 30000u /* of periods, and of timestamps except PTP */

/* A part of the file. */
typedef struct nsx_window {
    unsigned char *bytes;
    size_t room, have;
    uint64_t at;
    bool hops; /* only headers are read */
} nsx_window;

typedef struct nsx_packet {
    uint64_t at, data_at, stamp;
    uint64_t frames; /* that are present */
} nsx_packet;

typedef struct nsx {
    uint32_t spec; /* 21, 22, 23, 30 */
    uint32_t period, resolution_hz;
    size_t head_bytes; /* of a packet */
    size_t frame_bytes;
    bool counts; /* timestamps count the clock's ticks: any jump is a gap */
    double tolerance_ns;
    uint64_t origin; /* timestamp of the recording's origin */

    nsx_window look;
    uint64_t next_at; /* of the next packet */
    bool over;        /* no further one */
    nsx_packet last;  /* number of packets read */
    nsx_packet now;
    uint64_t first;         /* index of its first frame within the segment */
    uint64_t segment_stamp; /* of the segment's first frame */
    bool waiting;           /* it begins the next segment */
} nsx;

/* What a pass through the packets finds; reported once, at opening. */
typedef struct nsx_tally {
    uint64_t empty, extra, late, packets, damaged, damaged_bytes, damaged_at;
    uint64_t drifts; /* gaps before which the preceding packet is on time */
    double late_ns;
} nsx_tally;

/* Bytes at an offset, as many as the window and the file have; at least `need` if the file has
 * them. */
weir_err weiri_nsx_look(weiri_reader *reader,
                        uint64_t offset,
                        size_t need,
                        const unsigned char **ret_bytes,
                        size_t *ret_count);

/* A timestamp relative to the recording's origin. */
int64_t weiri_nsx_ns(const nsx *e, uint64_t stamp);
/* How much later `stamp` is than `frames` frames after `from`, ns. */
double weiri_nsx_lateness(const nsx *e, uint64_t from, uint64_t frames, uint64_t stamp);
/* Whether a packet with that timestamp continues a segment that begins at `from` and has
 * `frames` frames (S4). */
bool weiri_nsx_follows(const nsx *e, uint64_t from, uint64_t frames, uint64_t stamp);

/* Back to the first packet; the next packet with a frame. If `told` is not NULL, it is filled
 * and notices are made. WEIR_E_RECORDING if not even the first packet is valid. */
void weiri_nsx_rewind(weiri_reader *reader);
weir_err weiri_nsx_next(weiri_reader *reader, nsx_tally *told, nsx_packet *ret, bool *ret_any);

#endif

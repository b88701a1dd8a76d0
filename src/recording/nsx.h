/* SPDX-License-Identifier: MIT
 *
 * nsx.h: the data packets of an NSx file, as nsx.c (headers, segments, rows) walks through them.
 */
#ifndef WEIRI_NSX_H
#define WEIRI_NSX_H

#include "recording/reader.h"

#define NSX_LOOK     4u     /* packets of one frame that a window holds at least */
#define NSX_CLOCK_HZ 30000u /* of periods, and of stamps but for PTP */

/* A stretch of the file. */
typedef struct nsx_window {
    unsigned char *bytes;
    size_t room, have;
    uint64_t at;
    bool hops; /* only headers are looked at */
} nsx_window;

typedef struct nsx_packet {
    uint64_t at, data_at, stamp;
    uint64_t frames; /* that are there */
} nsx_packet;

typedef struct nsx {
    uint32_t spec; /* 21, 22, 23, 30 */
    uint32_t period, resolution_hz;
    size_t head_bytes; /* of a packet */
    size_t frame_bytes;
    bool counts; /* stamps count the clock's ticks: any jump is a gap */
    double tolerance_ns;
    uint64_t origin; /* stamp of the recording's origin */

    nsx_window look;
    uint64_t next_at; /* of the next packet */
    bool over;        /* no further one */
    nsx_packet last;  /* that was met */
    nsx_packet now;
    uint64_t first;         /* index of its first frame within the segment */
    uint64_t segment_stamp; /* of the segment's first frame */
    bool waiting;           /* it begins the next segment */
} nsx;

/* What a walk through the packets meets; told once, at opening. */
typedef struct nsx_tally {
    uint64_t empty, extra, late, packets, damaged, damaged_bytes, damaged_at;
    uint64_t drifts; /* gaps where the packet before is as near as it should be */
    double late_ns;
} nsx_tally;

/* Bytes at an offset, as many as the window and the file hold; at least `need` where the file does. */
weir_err weiri_nsx_look(weiri_reader *reader,
                        uint64_t offset,
                        size_t need,
                        const unsigned char **ret_bytes,
                        size_t *ret_count);

/* A stamp from the recording's origin. */
int64_t weiri_nsx_ns(const nsx *e, uint64_t stamp);
/* By how much `stamp` is later than `frames` frames after `from`, ns. */
double weiri_nsx_lateness(const nsx *e, uint64_t from, uint64_t frames, uint64_t stamp);
/* Whether a packet of that stamp goes on with a segment that begins at `from` and has `frames` frames (S4). */
bool weiri_nsx_follows(const nsx *e, uint64_t from, uint64_t frames, uint64_t stamp);

/* Back to the first packet; the next one that holds a frame. `told` is filled, and notices are made,
 * where it is not NULL. WEIR_E_RECORDING where not even the first one is sound. */
void weiri_nsx_rewind(weiri_reader *reader);
weir_err weiri_nsx_next(weiri_reader *reader, nsx_tally *told, nsx_packet *ret, bool *ret_any);

#endif

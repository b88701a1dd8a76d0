/* SPDX-License-Identifier: MIT
 *
 * hdf5_message.h: what the messages of an HDF5 object's header say, between hdf5_message.c and hdf5_type.c, which
 * measure one, and hdf5_header.c, which goes through all of them. All before libhdf5 opens the object.
 */
#ifndef WEIRI_HDF5_MESSAGE_H
#define WEIRI_HDF5_MESSAGE_H

#include "recording/hdf5_read.h"

#ifdef WEIRI_HDF5
enum {
    MESSAGE_SPACE = 0x01,
    MESSAGE_LINKS = 0x02, /* where they lie */
    MESSAGE_TYPE = 0x03,
    MESSAGE_OLD_FILL = 0x04,
    MESSAGE_FILL = 0x05,
    MESSAGE_LINK = 0x06,
    MESSAGE_FILES = 0x07,
    MESSAGE_LAYOUT = 0x08,
    MESSAGE_GROUP = 0x0a,
    MESSAGE_FILTERS = 0x0b,
    MESSAGE_ATTRIBUTE = 0x0c,
    MESSAGE_COMMENT = 0x0d,
    MESSAGE_CONTINUES = 0x10,
    MESSAGE_TABLE = 0x11, /* of a group's names */
    MESSAGE_DRIVER = 0x14,
    MESSAGE_ATTRIBUTES = 0x15, /* where they lie */
};

#define WEIRI_HDF5_DIMS 33 /* most of a dataset, with the one for bytes of a value */

/* What is left of a message. */
typedef struct weiri_hdf5_rest {
    const unsigned char *at;
    size_t left;
} weiri_hdf5_rest;

/* The next bytes, or NULL where there are not so many. */
const unsigned char *weiri_hdf5_take(weiri_hdf5_rest *in, uint64_t bytes);
/* A name and the byte that ends it, filled up to a multiple of `pad`. */
bool weiri_hdf5_take_name(weiri_hdf5_rest *in, size_t pad);

/* ---- hdf5_type.c -------------------------------------------------------------------------------------------- */

/* A type (depth 0: not within another), and bytes of a value; a space, and values in it. */
bool weiri_hdf5_type_fits(weiri_hdf5_rest *in, int depth, uint64_t *ret_bytes);
bool weiri_hdf5_space_fits(weiri_hdf5_rest *in, uint64_t *ret_points);

/* An attribute's parts, one behind the other, and whether its values are there. */
typedef struct weiri_hdf5_attribute {
    size_t name, name_bytes, values; /* from the message's begin */
    weiri_hdf5_rest type;            /* where it is shared: what says where it lies; else nothing */
    uint64_t most;                   /* bytes of a value of it, for all to be there */
} weiri_hdf5_attribute;

bool weiri_hdf5_attribute_fits(weiri_hdf5_rest in, weiri_hdf5_attribute *ret);

/* ---- hdf5_message.c ----------------------------------------------------------------------------------------- */

/* How a block begins that a header leads to: a mark, and behind it a byte of `least` to `most`. */
typedef struct weiri_hdf5_lead {
    uint64_t at; /* as stated */
    char mark[5];
    unsigned char place, least, most;
} weiri_hdf5_lead;

#define WEIRI_HDF5_LEADS 16

/* What the messages of one header say together. */
typedef struct weiri_hdf5_said {
    /* Bytes of a value by its type, as chunks have it, and of the one that stands for those that are not
     * there; 0 = not said. */
    uint64_t type, element, fill;
    bool elsewhere; /* values in other files, put together */
    size_t lead_count;
    weiri_hdf5_lead leads[WEIRI_HDF5_LEADS];
} weiri_hdf5_said;

/* Whether the lengths within a message fit together, and into it. */
bool weiri_hdf5_message_fits(unsigned kind, bool shared, weiri_hdf5_rest in, weiri_hdf5_said *all);
#endif

#endif

/* SPDX-License-Identifier: MIT
 *
 * npy.h: the header of NumPy's .npy files, a Python literal.
 */
#ifndef WEIRI_NPY_H
#define WEIRI_NPY_H

#include <weir/base.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WEIRI_NPY_MAGIC      "\x93NUMPY"
#define WEIRI_NPY_HEADER_MAX 10000 /* bytes: NumPy's own limit */
#define WEIRI_NPY_DIMS       4

typedef struct weiri_npy {
    char dtype[34]; /* "<f4"; "=f4" where the file states no byte order */
    bool fortran;
    uint32_t dims;
    uint64_t shape[WEIRI_NPY_DIMS];
} weiri_npy;

/* Parses the literal, which is NUL-terminated. Strict: exactly what NumPy writes, in any order and spacing.
 * WEIR_E_CHAIN: the detail states what was found and expected, *ret_at the place in the text. */
weir_err weiri_npy_parse(const char *text, weiri_npy *ret_npy, size_t *ret_at);

#endif

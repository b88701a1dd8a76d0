/* SPDX-License-Identifier: MIT
 *
 * matrix_test.c: matrices from text and npy files; damaged ones are refused with their place.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/base.h"

static double memory[4096];
static size_t used;

static void *get(void *user, size_t bytes)
{
    (void)user;
    size_t at = used;
    used += (bytes + 15) / 16 * 2;
    return used <= 4096 ? memset(memory + at, 0, bytes) : NULL;
}

static weir_err read_bytes(const void *bytes, size_t size, weir_matrix *ret)
{
    char path[] = "/tmp/weir_matrix_XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), (ssize_t)size);
    close(fd);
    used = 0;
    weir_err err = weiri_matrix_read(path, (weiri_memory){get, NULL}, ret);
    unlink(path);
    return err;
}

static weir_err read_text(const char *text, weir_matrix *ret)
{
    return read_bytes(text, strlen(text), ret);
}

static void check(const weir_matrix *m, size_t rows, size_t columns, const double *numbers)
{
    assert_int_equal(m->rows, rows);
    assert_int_equal(m->columns, columns);
    for (size_t i = 0; i < rows * columns; i++) {
        if (m->numbers[i] != numbers[i]) {
            fail_msg("number %zu is %g, not %g", i, m->numbers[i], numbers[i]);
        }
    }
}

static void text_is_read(void **state)
{
    (void)state;
    static const double six[] = {1, -2.5, 3e-3, 4, 5, 6};
    static const char *const texts[] = {
        "1,-2.5,3e-3\n4,5,6\n",
        "1 -2.5  3e-3\r\n4\t5 6",
        "# weights\n1;-2.5;0.003 # a\n\n4;5;6\n\n",
        "  1 , -2.5 , .003\n 4 , 5., 6  ",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        weir_matrix m;
        assert_int_equal(read_text(texts[i], &m), WEIR_OK);
        check(&m, 2, 3, six);
    }
    /* a row across the end of the reading buffer */
    static char text[9000];
    size_t size = 0;
    for (int i = 0; i < 900; i++) {
        size +=
            (size_t)snprintf(text + size, sizeof text - size, "%d%c", i, i % 9 == 8 ? '\n' : ',');
    }
    weir_matrix m;
    assert_int_equal(read_text(text, &m), WEIR_OK);
    assert_int_equal(m.rows, 100);
    assert_int_equal(m.columns, 9);
    assert_true(m.numbers[899] == 899.0 && m.numbers[500] == 500.0);
}

/* An npy file, version 1. */
static weir_err read_npy(const char *header, const void *data, size_t bytes, weir_matrix *ret)
{
    unsigned char file[4096] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
    size_t length = strlen(header);
    file[8] = (unsigned char)length;
    memcpy(file + 10, header, length);
    memcpy(file + 10 + length, data, bytes);
    return read_bytes(file, 10 + length + bytes, ret);
}

static void npy_is_read(void **state)
{
    (void)state;
    static const double six[] = {1, -2, 3, 4, 5, 6}, by_columns[] = {1, 4, -2, 5, 3, 6};
    static const float floats[] = {1, -2, 3, 4, 5, 6};
    static const unsigned char shorts[] = {0, 1, 0xff, 0xfe, 0, 3, 0, 4, 0, 5, 0, 6};
    weir_matrix m;
    assert_int_equal(
        read_npy("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }\n", six, 48, &m),
        WEIR_OK);
    check(&m, 2, 3, six);
    assert_int_equal(read_npy("{'descr': '<f8', 'fortran_order': True, 'shape': (2, 3), }\n",
                              by_columns, 48, &m),
                     WEIR_OK);
    check(&m, 2, 3, six);
    assert_int_equal(
        read_npy("{'descr': '<f4', 'fortran_order': False, 'shape': (6,), }\n", floats, 24, &m),
        WEIR_OK);
    check(&m, 1, 6, six);
    assert_int_equal(
        read_npy("{'descr': '>i2', 'fortran_order': False, 'shape': (2, 3), }\n", shorts, 12, &m),
        WEIR_OK);
    check(&m, 2, 3, six);
}

static void damage_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *text, *detail;
    } texts[] = {
        {"1,2\n3,x\n", ":2: 'x' is not a finite number"},
        {"1,2\n3\n", "row 2 has 1 numbers, expected 2"},
        {"1,inf\n", "'inf' is not"},
        {"# nothing\n", "0 x 0 numbers"},
        {"\x93NUMPY\x01", "the header is cut off"},
    };
    weir_matrix m;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_int_equal(read_text(texts[i].text, &m), WEIR_E_CHAIN);
        if (strstr(weir_err_detail(), texts[i].detail) == NULL) {
            fail_msg("%s", weir_err_detail());
        }
    }
    static const struct {
        const char *header, *detail;
    } headers[] = {
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }\n",
         "ends before its last number"},
        {"{'descr': '<c8', 'fortran_order': False, 'shape': (2, 3), }\n", "not f4, f8"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3, 4), }\n",
         "one or two dimensions"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (2, 99999999999), }\n",
         "1 to 16777216"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (), }\n", "one or two dimensions"},
        {"{'descr': '<f8', 'fortran_order': False}\n", "damaged"},
    };
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        assert_int_equal(read_npy(headers[i].header, memory, 8, &m), WEIR_E_CHAIN);
        if (strstr(weir_err_detail(), headers[i].detail) == NULL) {
            fail_msg("%s", weir_err_detail());
        }
    }
    assert_int_equal(weiri_matrix_read("/tmp", (weiri_memory){get, NULL}, &m), WEIR_E_CHAIN);
    assert_non_null(strstr(weir_err_detail(), "not a regular file"));
    assert_int_equal(weiri_matrix_read("/no/such", (weiri_memory){get, NULL}, &m), WEIR_E_CHAIN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_read),
        cmocka_unit_test(npy_is_read),
        cmocka_unit_test(damage_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

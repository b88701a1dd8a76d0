/* SPDX-License-Identifier: MIT
 *
 * make_csv.h: opens a text as a CSV file, for the tests of values (csv_test.c) and of time (csv_time_test.c).
 */
#ifndef WEIR_TEST_MAKE_CSV_H
#define WEIR_TEST_MAKE_CSV_H

#include "recordings.h"

static inline weir_err
open_bytes(const char *text, size_t bytes, double rate, bool piped, weir_source **ret)
{
    write_file("t.csv", text, bytes);
    weir_recording_options options = weir_recording_options_default();
    options.rate_hz = rate;
    if (!piped) {
        return weir_recording_open(own_path("t.csv"), &options, ret);
    }
    int ends[2];
    char path[32];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], text, bytes), (ssize_t)bytes);
    close(ends[1]);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    options.format = "csv";
    weir_err err = weir_recording_open(path, &options, ret);
    close(ends[0]); /* /dev/fd has its own */
    return err;
}

static inline weir_err open_text(const char *text, double rate, weir_source **ret)
{
    return open_bytes(text, strlen(text), rate, false, ret);
}

#endif

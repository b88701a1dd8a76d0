/* SPDX-License-Identifier: MIT
 *
 * recordings_hdf5.h: shared by tests of HDF5: libhdf5's own driver to compare with, and a test
 * program that reports if this build, or the machine, has no HDF5.
 */
#ifndef WEIR_TEST_RECORDINGS_HDF5_H
#define WEIR_TEST_RECORDINGS_HDF5_H

#include "have_hdf5.h"
#include "recordings.h"

#ifndef HAVE_HDF5
int main(void)
{
    printf("skipped: this build is without HDF5\n");
    return 0;
}
#else
/* What libhdf5 itself does not free for a file that it refused. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libhdf5\n";
}

enum { FRAMES = 1000, CHANNELS = 3 };

/* Runs the group, or prints why not. */
#define run_hdf5_tests(name, tests)                                                                \
    (H5dont_atexit(), /* after a truncated file it would not terminate */                          \
     reads_hdf5() ? cmocka_run_group_tests_name(name, tests, NULL, own_folder_remove) : 0)

static inline bool reads_hdf5(void)
{
    const weir_format_info *format = weir_formats();
    use_hdf5_helper();
    while (format->name && strcmp(format->name, "hdf5") != 0) {
        format++;
    }
    if (format->name == NULL || !format->reads) {
        printf("skipped: this build is without HDF5\n");
        return false;
    }
    return true;
}
#endif

#endif

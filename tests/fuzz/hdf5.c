/* SPDX-License-Identifier: MIT
 *
 * Four bytes of options, then a file: see reading.h. What is ours to find is what gets past the checks before
 * libhdf5; that libhdf5 keeps some bytes of files that it refused, and asks for more memory than there is, is
 * known (doc/recordings.md).
 */
#include "reading.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
const char *__asan_default_options(void);
const char *__lsan_default_suppressions(void);

const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1:max_allocation_size_mb=512";
}

const char *__lsan_default_suppressions(void)
{
    return "leak:libhdf5\n";
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    reading_bytes("hdf5", 0, data, size);
    return 0;
}

/* SPDX-License-Identifier: MIT
 *
 * Four bytes of options, then a file: see reading.h.
 */
#include "reading.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    reading_bytes("csv", 1000, data, size);
    return 0;
}

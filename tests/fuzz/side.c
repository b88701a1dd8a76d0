/* SPDX-License-Identifier: MIT
 *
 * Any bytes as the side file of a valid npy file: four bytes of options, the first of which also
 * chooses among files of 2 and 3 dimensions, then the side file.
 */
#include "reading.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[256];

/* In a folder of its own, in memory if there is such a folder: a file on a disk would take most
 * of the time. */
static void make_folder(void)
{
    const char *stated = getenv("TMPDIR");
    bool memory = stated == NULL && access("/dev/shm", W_OK) == 0;
    snprintf(folder, sizeof folder, "%.200s/weir-fuzz-XXXXXX",
             stated   ? stated
             : memory ? "/dev/shm"
                      : "/tmp");
    if (mkdtemp(folder) == NULL) {
        abort();
    }
}

static void put(const char *name, const void *bytes, size_t count)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(bytes, 1, count, file) != count || fclose(file) != 0) {
        abort();
    }
}

static void make(const char *name, const char *dict)
{
    unsigned char file[512] = "\x93NUMPY\x01";
    file[8] = (unsigned char)strlen(dict);
    memcpy(file + 10, dict, strlen(dict));
    put(name, file, 10 + strlen(dict) + 144);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool ready;
    if (!ready) {
        ready = true;
        make_folder();
        make("2.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (12, 3)}");
        make("3.npy", "{'descr': '<i2', 'fortran_order': True, 'shape': (12, 2, 3)}");
    }
    if (size < CHOICES) {
        return 0;
    }
    bool three = data[0] & 4;
    put(three ? "3.npy.json" : "2.npy.json", data + CHOICES, size - CHOICES);
    char path[300];
    snprintf(path, sizeof path, "%s/%c.npy", folder, three ? '3' : '2');
    reading_path(path, "npy", data[0] & 8 ? 1000 : 0, data);
    return 0;
}

/* SPDX-License-Identifier: MIT
 *
 * rss.c: memory of this process according to the operating system: an independent check for M7.
 */
#include "chain/chain.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint64_t field(const char *status, const char *name)
{
    const char *at = strstr(status, name);
    return at == NULL ? 0 : strtoull(at + strlen(name), NULL, 10) * 1024;
}

void weir_rss_read(uint64_t *ret_now, uint64_t *ret_peak)
{
    char status[4096];
    size_t length = 0;
    int file = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    while (file >= 0 && length < sizeof status - 1) {
        ssize_t got = read(file, status + length, sizeof status - 1 - length);
        if (got <= 0) {
            break;
        }
        length += (size_t)got;
    }
    if (file >= 0) {
        close(file);
    }
    status[length] = '\0';
    if (ret_now != NULL) {
        *ret_now = field(status, "\nVmRSS:");
    }
    if (ret_peak != NULL) {
        *ret_peak = field(status, "\nVmHWM:");
    }
}

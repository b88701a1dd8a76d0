/* SPDX-License-Identifier: MIT
 *
 * make_edf.h: an EDF or BDF file made field by field, for the tests of values and headers (edf_test.c) and of
 * annotations and gaps (edf_notes_test.c).
 */
#ifndef WEIR_TEST_MAKE_EDF_H
#define WEIR_TEST_MAKE_EDF_H

#include "recordings.h"

/* A file being made: 2 signals of one rate, 1 slower one, annotations; each can be changed. */
enum { SIGNALS = 4, RECORDS = 6 };
typedef struct maker {
    bool bdf;
    const char *kind, *records, *duration, *signals, *head_bytes, *recording, *date, *time;
    const char *label[SIGNALS], *unit[SIGNALS], *samples[SIGNALS];
    const char *range[SIGNALS][4]; /* physical min, max, digital min, max */
    int counts[SIGNALS];
    const char *lists[RECORDS]; /* annotations of a record; NULL = its onset only */
    size_t list_bytes[RECORDS]; /* samples written per record */
    size_t bytes;
    unsigned char file[1 << 16];
} maker;

static inline void preset(maker *m)
{
    *m = (maker){
        .kind = "EDF+C",
        .records = "6",
        .duration = "0.5",
        .signals = "4",
        .head_bytes = "1280",
        .recording = "Startdate 03-FEB-2093 X X X",
        .date = "03.02.93",
        .time = "04.05.06",
        .label = {"Fp1", "Fp2", "Temp", "EDF Annotations"},
        .unit = {"uV", "\xb5V", "degC", ""},
        .samples = {"10", "10", "2", "8"},
        .range = {{"-100", "100", "-2048", "2047"},
                  {"100", "-100", "-2048", "2047"}, /* inverted */
                  {"30", "40", "-2048", "2047"},
                  {"-1", "1", "-32768", "32767"}},
        .counts = {10, 10, 2, 8},
    };
}

/* Count of sample t of signal s. */
static inline int count_of(int s, int t)
{
    return (t * 37 + s * 101) % 4096 - 2048;
}

static inline void put(maker *m, const char *text, size_t width)
{
    memset(m->file + m->bytes, ' ', width);
    memcpy(m->file + m->bytes, text, strlen(text));
    m->bytes += width;
}

static inline void put_all(maker *m, const char *const *texts, size_t stride, size_t width)
{
    for (int i = 0; i < SIGNALS; i++) {
        put(m, texts[i * stride], width);
    }
}

static inline const char *make(maker *m, const char *name)
{
    static const char *const blank[SIGNALS] = {"", "", "", ""};
    m->bytes = 0;
    memset(m->file, 0, sizeof m->file);
    put(m,
        m->bdf ? "\xff"
                 "BIOSEMI"
               : "0",
        8);
    put(m, "X X X X", 80);
    put(m, m->recording, 80);
    put(m, m->date, 8);
    put(m, m->time, 8);
    put(m, m->head_bytes, 8);
    put(m, m->kind, 44);
    put(m, m->records, 8);
    put(m, m->duration, 8);
    put(m, m->signals, 4);
    put_all(m, m->label, 1, 16);
    put_all(m, blank, 1, 80);
    put_all(m, m->unit, 1, 8);
    for (int k = 0; k < 4; k++) {
        put_all(m, &m->range[0][k], 4, 8);
    }
    put_all(m, blank, 1, 80);
    put_all(m, m->samples, 1, 8);
    put_all(m, blank, 1, 32);
    size_t width = m->bdf ? 3 : 2;
    for (int r = 0; r < RECORDS; r++) {
        for (int s = 0; s < SIGNALS; s++) {
            if (s == 3) {
                if (m->lists[r]) {
                    memcpy(m->file + m->bytes, m->lists[r], m->list_bytes[r]);
                } else {
                    snprintf((char *)m->file + m->bytes, 16, "+%g\x14\x14", 0.25 + r * 0.5);
                }
                m->bytes += (size_t)m->counts[3] * width;
                continue;
            }
            for (int i = 0; i < m->counts[s]; i++) {
                int count = count_of(s, r * m->counts[s] + i);
                for (size_t b = 0; b < width; b++) {
                    m->file[m->bytes++] = (unsigned char)((unsigned)count >> (8 * b));
                }
            }
        }
    }
    return write_file(name, m->file, m->bytes);
}

#endif

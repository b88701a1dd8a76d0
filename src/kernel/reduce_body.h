/* SPDX-License-Identifier: MIT
 *
 * reduce_body.h: the body of reduce.c for one type of sample: included once with T = float, once with
 * T = double. T_BITS is its width, T_MAX its largest finite value, T_INDEX and T_KEY integers as wide.
 * NAME(x) is the kernel's name. No include guard on purpose.
 */

/* D samples of T, which become one vector of D doubles. */
typedef T WEIRI_JOIN(narrow, T_BITS)
    __attribute__((vector_size(D * sizeof(T)), aligned(sizeof(T)), may_alias));
#define NARROW WEIRI_JOIN(narrow, T_BITS)

/* Sums of the next `count` vectors' columns, held in registers over all frames. A sum that is not finite
 * says that a sample was missing (or that finite doubles overflowed): then the block is done again with
 * the mask, from the sums as they were. The check costs one operation a column, not one a sample. */
static inline __attribute__((always_inline)) bool NAME(sum_block)(
    const T *restrict rows, size_t frames, size_t columns, double *restrict sums, size_t count)
{
    wide s[8];
    for (size_t j = 0; j < count; j++) {
        s[j] = *(const wide_any *)(sums + j * D);
    }
    const T *row = rows;
    for (size_t f = 0; f < frames; f++, row += columns) {
        for (size_t j = 0; j < count; j++) {
            s[j] += __builtin_convertvector(*(const NARROW *)(row + j * D), wide);
        }
    }
    wide check = 0.0 * s[0];
    for (size_t j = 1; j < count; j++) {
        check += 0.0 * s[j];
    }
    double finite = 0.0;
    for (size_t i = 0; i < D; i++) {
        finite += check[i];
    }
    if (finite == 0.0) {
        for (size_t j = 0; j < count; j++) {
            *(wide_any *)(sums + j * D) = s[j];
        }
        return true;
    }
    bool all = true;
    row = rows;
    for (size_t f = 0; f < frames; f++, row += columns) {
        for (size_t c = 0; c < count * D; c++) {
            double v = (double)row[c];
            bool present = fabs(v) <= (double)T_MAX;
            double sum = sums[c] + v;
            sums[c] = present ? sum : sums[c];
            all &= present;
        }
    }
    return all;
}

bool NAME(reduce_sum)(const T *rows, size_t frames, size_t columns, double *sums)
{
    bool all = true;
    size_t c = 0;
    for (; c + 8 * D <= columns; c += 8 * D) {
        all &= NAME(sum_block)(rows + c, frames, columns, sums + c, 8);
    }
    for (; c + 2 * D <= columns; c += 2 * D) {
        all &= NAME(sum_block)(rows + c, frames, columns, sums + c, 2);
    }
    for (; c < columns; c++) {
        double sum = sums[c];
        for (size_t f = 0; f < frames; f++) {
            double v = (double)rows[f * columns + c];
            bool present = fabs(v) <= (double)T_MAX;
            sum = present ? sum + v : sum;
            all &= present;
        }
        sums[c] = sum;
    }
    return all;
}

/* Columns of a block whose state stays in cache while its frames pass: long rows would push it out. */
#define BLOCK 512

void NAME(reduce_least)(
    const T *restrict rows, size_t frames, size_t columns, T sign, T *restrict best)
{
    for (size_t first = 0; first < columns; first += BLOCK) {
        size_t end = columns - first < BLOCK ? columns : first + BLOCK;
        for (size_t f = 0; f < frames; f++) {
            const T *restrict row = rows + f * columns;
            for (size_t c = first; c < end; c++) {
                T v = sign * row[c];
                T least = v < best[c] ? v : best[c];
                best[c] = v >= -T_MAX ? least : best[c];
            }
        }
    }
}

void NAME(reduce_where)(const T *restrict rows,
                        size_t frames,
                        size_t columns,
                        T sign,
                        uint64_t before,
                        T *restrict best,
                        T_INDEX *restrict at)
{
    for (size_t first = 0; first < columns; first += BLOCK) {
        size_t end = columns - first < BLOCK ? columns : first + BLOCK;
        for (size_t f = 0; f < frames; f++) {
            const T *restrict row = rows + f * columns;
            T_INDEX index = (T_INDEX)(before + f);
            for (size_t c = first; c < end; c++) {
                T v = sign * row[c];
                T w = v >= -T_MAX ? v : (T)INFINITY; /* never less than what is there */
                at[c] = w < best[c] ? index : at[c];
                best[c] = w < best[c] ? w : best[c];
            }
        }
    }
}

/* Welford's recurrence: the only form in one pass that keeps its digits on a large offset. Every column
 * has the same count here, so the division is one a frame. */
static inline __attribute__((always_inline)) void NAME(spread_block)(const T *restrict rows,
                                                                     size_t frames,
                                                                     size_t columns,
                                                                     uint64_t before,
                                                                     double *restrict mean,
                                                                     double *restrict square,
                                                                     size_t count)
{
    wide m[4], q[4];
    for (size_t j = 0; j < count; j++) {
        m[j] = *(const wide_any *)(mean + j * D);
        q[j] = *(const wide_any *)(square + j * D);
    }
    for (size_t f = 0; f < frames; f++) {
        double share = 1.0 / (double)(before + f + 1);
        const T *row = rows + f * columns;
        for (size_t j = 0; j < count; j++) {
            wide v = __builtin_convertvector(*(const NARROW *)(row + j * D), wide);
            wide off = v - m[j];
            m[j] += off * share;
            q[j] += off * (v - m[j]);
        }
    }
    for (size_t j = 0; j < count; j++) {
        *(wide_any *)(mean + j * D) = m[j];
        *(wide_any *)(square + j * D) = q[j];
    }
}

void NAME(reduce_spread)(
    const T *rows, size_t frames, size_t columns, uint64_t before, double *mean, double *square)
{
    size_t c = 0;
    for (; c + 4 * D <= columns; c += 4 * D) {
        NAME(spread_block)(rows + c, frames, columns, before, mean + c, square + c, 4);
    }
    for (; c < columns; c++) {
        double m = mean[c], q = square[c];
        for (size_t f = 0; f < frames; f++) {
            double share = 1.0 / (double)(before + f + 1);
            double v = (double)rows[f * columns + c];
            double off = v - m;
            m += off * share;
            q += off * (v - m);
        }
        mean[c] = m;
        square[c] = q;
    }
}

void NAME(reduce_spread_some)(const T *restrict rows,
                              size_t frames,
                              size_t columns,
                              uint64_t before,
                              const uint32_t *restrict absent,
                              double *restrict mean,
                              double *restrict square)
{
    for (size_t c = 0; c < columns; c++) {
        double m = mean[c], q = square[c];
        uint64_t count = before - absent[c];
        for (size_t f = 0; f < frames; f++) {
            double v = (double)rows[f * columns + c];
            if (fabs(v) <= (double)T_MAX) {
                double share = 1.0 / (double)++count;
                double off = v - m;
                m += off * share;
                q += off * (v - m);
            }
        }
        mean[c] = m;
        square[c] = q;
    }
}

void NAME(reduce_area)(const T *restrict rows,
                       size_t frames,
                       size_t columns,
                       uint64_t before,
                       const double *restrict x,
                       double *restrict last_x,
                       double *restrict last,
                       double *restrict area)
{
    for (size_t first = 0; first < columns; first += BLOCK) {
        size_t end = columns - first < BLOCK ? columns : first + BLOCK;
        for (size_t f = 0; f < frames; f++) {
            const T *restrict row = rows + f * columns;
            double here = x != NULL ? x[before + f] : (double)(before + f);
            for (size_t c = first; c < end; c++) {
                double v = (double)row[c];
                /* NaN before the first sample: then the piece is NaN and is not taken. */
                double piece = 0.5 * (v + last[c]) * (here - last_x[c]);
                double sum = area[c] + piece;
                double taken = last_x[c] == last_x[c] ? sum : area[c];
                bool present = fabs(v) <= (double)T_MAX;
                area[c] = present ? taken : area[c];
                last[c] = present ? v : last[c];
                last_x[c] = present ? here : last_x[c];
            }
        }
    }
}

void NAME(reduce_absent)(const T *restrict rows,
                         size_t frames,
                         size_t columns,
                         uint32_t *restrict absent)
{
    for (size_t f = 0; f < frames; f++) {
        const T *restrict row = rows + f * columns;
        for (size_t c = 0; c < columns; c++) {
            absent[c] += fabs((double)row[c]) <= (double)T_MAX ? 0 : 1;
        }
    }
}

/* ---- median -------------------------------------------------------------------------------- */

#define LANES (64 / sizeof(T))
#define SIGN  ((T_KEY)((T_KEY)1 << (T_BITS - 1)))

/* Floats as unsigned integers in the same order; what is missing comes last. */
static inline T_KEY NAME(to_key)(T value)
{
    T_KEY bits;
    memcpy(&bits, &value, sizeof bits);
    T_KEY flip = (T_KEY)(0 - (bits >> (T_BITS - 1))) | SIGN;
    return fabs((double)value) <= (double)T_MAX ? bits ^ flip : (T_KEY)-1;
}

static inline double NAME(from_key)(T_KEY key)
{
    T_KEY bits = key & SIGN ? key ^ SIGN : (T_KEY)~key;
    T value;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

/* The key of the given rank in each lane, by deciding its bits from the highest: T_BITS passes of
 * compare and add without a branch, where a partition would miss a branch every other sample. */
static void NAME(rank_keys)(const T_KEY *restrict keys,
                            size_t frames,
                            const T_KEY *restrict rank,
                            T_KEY *restrict found,
                            T_KEY *restrict not_above)
{
    T_KEY low[LANES] = {0}, below[LANES];
    for (int bit = T_BITS - 1; bit >= 0; bit--) {
        T_KEY step = (T_KEY)((T_KEY)1 << bit);
        T_KEY limit[LANES], count[LANES] = {0};
        for (size_t i = 0; i < LANES; i++) {
            limit[i] = low[i] | (T_KEY)(step - 1);
        }
        for (size_t f = 0; f < frames; f++) {
            for (size_t i = 0; i < LANES; i++) {
                count[i] += keys[f * LANES + i] <= limit[i] ? 1 : 0;
            }
        }
        for (size_t i = 0; i < LANES; i++) {
            low[i] = count[i] <= rank[i] ? (T_KEY)(low[i] | step) : low[i];
        }
    }
    memset(below, 0, sizeof below);
    for (size_t f = 0; f < frames; f++) {
        for (size_t i = 0; i < LANES; i++) {
            below[i] += keys[f * LANES + i] <= low[i] ? 1 : 0;
        }
    }
    memcpy(found, low, sizeof low);
    memcpy(not_above, below, sizeof below);
}

void NAME(reduce_median)(const T *rows, size_t frames, size_t columns, void *scratch, double *ret)
{
    T_KEY *keys = scratch;
    for (size_t first = 0; first < columns; first += LANES) {
        size_t lanes = columns - first < LANES ? columns - first : LANES;
        T_KEY count[LANES] = {0}, rank[LANES], found[LANES], not_above[LANES], next[LANES];
        for (size_t f = 0; f < frames; f++) {
            for (size_t i = 0; i < lanes; i++) {
                T_KEY key = NAME(to_key)(rows[f * columns + first + i]);
                keys[f * LANES + i] = key;
                count[i] += key != (T_KEY)-1 ? 1 : 0;
            }
            for (size_t i = lanes; i < LANES; i++) {
                keys[f * LANES + i] = 0;
            }
        }
        for (size_t i = 0; i < LANES; i++) {
            rank[i] = count[i] > 0 ? (T_KEY)((count[i] - 1) / 2) : 0;
            next[i] = (T_KEY)-1;
        }
        NAME(rank_keys)(keys, frames, rank, found, not_above);
        for (size_t f = 0; f < frames; f++) {
            for (size_t i = 0; i < LANES; i++) {
                T_KEY key = keys[f * LANES + i];
                T_KEY least = key < next[i] ? key : next[i];
                next[i] = key > found[i] ? least : next[i];
            }
        }
        for (size_t i = 0; i < lanes; i++) {
            double low = NAME(from_key)(found[i]);
            /* Of an even count the two in the middle: the second may equal the first. */
            bool apart = count[i] % 2 == 0 && not_above[i] == rank[i] + 1;
            double high = apart ? NAME(from_key)(next[i]) : low;
            ret[first + i] = count[i] == 0 ? (double)NAN : 0.5 * low + 0.5 * high;
        }
    }
}

#undef NARROW
#undef BLOCK
#undef LANES
#undef SIGN

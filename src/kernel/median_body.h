/* SPDX-License-Identifier: MIT
 *
 * median_body.h: the body of median.c for one type of sample: included once with T = float, once
 * with T = double. T_BITS is its width, T_MAX its largest finite value, T_KEY an unsigned integer
 * of the same width, NAME(x) the kernel's name. Intentionally without include guard.
 */

#define LANES (64 / sizeof(T))
#define SIGN  ((T_KEY)((T_KEY)1 << (T_BITS - 1)))

/* Floats as unsigned integers in the same order; missing values are last. */
static inline T_KEY NAME(to_key)(T value)
{
    T_KEY raw;
    memcpy(&raw, &value, sizeof raw);
    T_KEY flip = (T_KEY)(0 - (raw >> (T_BITS - 1))) | SIGN;
    return fabs((double)value) <= (double)T_MAX ? raw ^ flip : (T_KEY)-1;
}

static inline double NAME(from_key)(T_KEY key)
{
    T_KEY raw = key & SIGN ? key ^ SIGN : (T_KEY)~key;
    T value;
    memcpy(&value, &raw, sizeof value);
    return (double)value;
}

/* The key of the given rank in each lane, determined from its highest bit down: T_BITS passes of
 * compare and add without a branch, where partitioning would mispredict a branch for every other
 * sample. */
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
            /* For an even count the two in the middle: the second may equal the first. */
            bool apart = count[i] % 2 == 0 && not_above[i] == rank[i] + 1;
            double high = apart ? NAME(from_key)(next[i]) : low;
            ret[first + i] = count[i] == 0 ? (double)NAN : 0.5 * low + 0.5 * high;
        }
    }
}

#undef LANES
#undef SIGN

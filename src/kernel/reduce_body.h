/* SPDX-License-Identifier: MIT
 *
 * reduce_body.h: the body of reduce.c for one type of sample: included once with T = float, once
 * with T = double. T_BITS is its width, T_MAX its largest finite value, T_INDEX a signed integer of
 * the same width, LOAD reads a vector of doubles, NAME(x) is the kernel's name. Intentionally
 * without include guard.
 */

/* A vector of T, the same in memory, and an integer of the same width for each. */
typedef T NAME(native) __attribute__((vector_size(WEIRI_VECTOR)));
typedef T NAME(loose) __attribute__((vector_size(WEIRI_VECTOR), aligned(sizeof(T)), may_alias));
typedef T_INDEX NAME(index) __attribute__((vector_size(WEIRI_VECTOR)));
typedef T_INDEX NAME(index_loose)
    __attribute__((vector_size(WEIRI_VECTOR), aligned(sizeof(T)), may_alias));
#define NATIVE      NAME(native)
#define LOOSE       NAME(loose)
#define INDEX       NAME(index)
#define INDEX_LOOSE NAME(index_loose)
#define N           (WEIRI_VECTOR / sizeof(T))

WEIRI_INLINE bool NAME(is_finite)(T value)
{
    return value <= T_MAX && value >= -T_MAX;
}

WEIRI_INLINE bits NAME(present)(NATIVE value)
{
    return (bits)(value <= T_MAX) & (bits)(value >= -T_MAX);
}

/* ---- sum ----------------------------------------------------------------------------------- */

/* `count` vectors of columns. A sum that is not finite means that a sample was missing, or that
 * finite doubles overflowed: the check costs one operation per column, not one per sample. */
WEIRI_INLINE bool NAME(sum_block)(
    const T *restrict rows, size_t frames, size_t columns, double *restrict sums, size_t count)
{
    weiri_vd s[8];
    for (size_t j = 0; j < count; j++) {
        s[j] = weiri_vd_load_f64(sums + j * D);
    }
    const T *row = rows;
    for (size_t f = 0; f < frames; f++, row += columns) {
        for (size_t j = 0; j < count; j++) {
            s[j] = weiri_vd_add_beside(LOAD(row + j * D), s[j]);
        }
    }
    bits finite = at_most(s[0], DBL_MAX);
    for (size_t j = 1; j < count; j++) {
        finite &= at_most(s[j], DBL_MAX);
    }
    if (weiri_all_ones(finite)) {
        for (size_t j = 0; j < count; j++) {
            weiri_vd_store_f64(sums + j * D, s[j]);
        }
        return true;
    }
    bits all = ~(bits){0};
    for (size_t j = 0; j < count; j++) {
        weiri_vd sum = weiri_vd_load_f64(sums + j * D);
        row = rows + j * D;
        for (size_t f = 0; f < frames; f++, row += columns) {
            weiri_vd v = LOAD(row);
            bits present = at_most(v, (double)T_MAX);
            sum = CHOOSE(weiri_vd, present, sum + v, sum);
            all &= present;
        }
        weiri_vd_store_f64(sums + j * D, sum);
    }
    return weiri_all_ones(all);
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
            T v = rows[f * columns + c];
            bool present = NAME(is_finite)(v);
            sum = present ? sum + (double)v : sum;
            all &= present;
        }
        sums[c] = sum;
    }
    return all;
}

/* ---- extremes ------------------------------------------------------------------------------ */

/* 0 * x is 0 for finite x, else NaN: one operation per sample, where comparing takes three. */
WEIRI_INLINE NATIVE NAME(check)(NATIVE value, NATIVE sum)
{
#if defined(__AVX512F__) && T_BITS == 32
    return (NATIVE)_mm512_fmadd_ps((__m512)value, _mm512_setzero_ps(), (__m512)sum);
#elif defined(__AVX512F__)
    return (NATIVE)_mm512_fmadd_pd((__m512d)value, _mm512_setzero_pd(), (__m512d)sum);
#elif defined(__FMA__) && T_BITS == 32
    return (NATIVE)_mm256_fmadd_ps((__m256)value, _mm256_setzero_ps(), (__m256)sum);
#elif defined(__FMA__)
    return (NATIVE)_mm256_fmadd_pd((__m256d)value, _mm256_setzero_pd(), (__m256d)sum);
#else
    return value * (T)0 + sum;
#endif
}

WEIRI_INLINE bool NAME(extreme_block)(const T *restrict rows,
                                      size_t frames,
                                      size_t columns,
                                      bool most,
                                      T *restrict best,
                                      size_t count)
{
    NATIVE b[8], sum[2] = {{0}, {0}};
    for (size_t j = 0; j < count; j++) {
        b[j] = *(const LOOSE *)(best + j * N);
    }
    const T *row = rows;
    for (size_t f = 0; f < frames; f++, row += columns) {
        for (size_t j = 0; j < count; j++) {
            NATIVE v = *(const LOOSE *)(row + j * N);
            sum[j % 2] = NAME(check)(v, sum[j % 2]);
            b[j] = CHOOSE(NATIVE, most ? v > b[j] : v < b[j], v, b[j]);
        }
    }
    if (weiri_all_ones((bits)(sum[0] + sum[1] == (T)0))) {
        for (size_t j = 0; j < count; j++) {
            *(LOOSE *)(best + j * N) = b[j];
        }
        return true;
    }
    for (size_t j = 0; j < count; j++) {
        NATIVE last = *(const LOOSE *)(best + j * N);
        row = rows + j * N;
        for (size_t f = 0; f < frames; f++, row += columns) {
            NATIVE v = *(const LOOSE *)row;
            bits better = (bits)(most ? v > last : v < last);
            last = CHOOSE(NATIVE, better & NAME(present)(v), v, last);
        }
        *(LOOSE *)(best + j * N) = last;
    }
    return false;
}

WEIRI_INLINE bool NAME(extreme)(const T *rows, size_t frames, size_t columns, bool most, T *best)
{
    bool all = true;
    size_t c = 0;
    for (; c + 8 * N <= columns; c += 8 * N) {
        all &= NAME(extreme_block)(rows + c, frames, columns, most, best + c, 8);
    }
    for (; c + N <= columns; c += N) {
        all &= NAME(extreme_block)(rows + c, frames, columns, most, best + c, 1);
    }
    for (; c < columns; c++) {
        for (size_t f = 0; f < frames; f++) {
            T v = rows[f * columns + c];
            bool present = NAME(is_finite)(v);
            best[c] = present && (most ? v > best[c] : v < best[c]) ? v : best[c];
            all &= present;
        }
    }
    return all;
}

bool NAME(reduce_extreme)(const T *rows, size_t frames, size_t columns, bool most, T *best)
{
    return most ? NAME(extreme)(rows, frames, columns, true, best)
                : NAME(extreme)(rows, frames, columns, false, best);
}

WEIRI_INLINE bool NAME(where_block)(const T *restrict rows,
                                    size_t frames,
                                    size_t columns,
                                    bool most,
                                    uint64_t before,
                                    T *restrict best,
                                    T_INDEX *restrict at,
                                    size_t count)
{
    NATIVE b[4];
    INDEX a[4];
    bits all = ~(bits){0};
    for (size_t j = 0; j < count; j++) {
        b[j] = *(const LOOSE *)(best + j * N);
        a[j] = *(const INDEX_LOOSE *)(at + j * N);
    }
    for (size_t f = 0; f < frames; f++) {
        const T *row = rows + f * columns;
        INDEX here = (INDEX){0} + (T_INDEX)(before + f);
        for (size_t j = 0; j < count; j++) {
            NATIVE v = *(const LOOSE *)(row + j * N);
            bits present = NAME(present)(v);
            bits better = (bits)(most ? v > b[j] : v < b[j]) & present;
            b[j] = CHOOSE(NATIVE, better, v, b[j]);
            a[j] = CHOOSE(INDEX, better, here, a[j]);
            all &= present;
        }
    }
    for (size_t j = 0; j < count; j++) {
        *(LOOSE *)(best + j * N) = b[j];
        *(INDEX_LOOSE *)(at + j * N) = a[j];
    }
    return weiri_all_ones(all);
}

WEIRI_INLINE bool NAME(where)(
    const T *rows, size_t frames, size_t columns, bool most, uint64_t before, T *best, T_INDEX *at)
{
    bool all = true;
    size_t c = 0;
    for (; c + 4 * N <= columns; c += 4 * N) {
        all &= NAME(where_block)(rows + c, frames, columns, most, before, best + c, at + c, 4);
    }
    for (; c + N <= columns; c += N) {
        all &= NAME(where_block)(rows + c, frames, columns, most, before, best + c, at + c, 1);
    }
    for (; c < columns; c++) {
        for (size_t f = 0; f < frames; f++) {
            T v = rows[f * columns + c];
            bool present = NAME(is_finite)(v);
            bool better = present && (most ? v > best[c] : v < best[c]);
            best[c] = better ? v : best[c];
            at[c] = better ? (T_INDEX)(before + f) : at[c];
            all &= present;
        }
    }
    return all;
}

bool NAME(reduce_where)(
    const T *rows, size_t frames, size_t columns, bool most, uint64_t before, T *best, T_INDEX *at)
{
    return most ? NAME(where)(rows, frames, columns, true, before, best, at)
                : NAME(where)(rows, frames, columns, false, before, best, at);
}

/* ---- spread -------------------------------------------------------------------------------- */

/* Welford's recurrence: the only one-pass form that keeps its accuracy with a large offset. Here
 * no sample is missing, so there is one division per frame. A missing one shows in the mean:
 * false, and nothing is stored. */
WEIRI_INLINE bool NAME(spread_block)(const T *restrict rows,
                                     size_t frames,
                                     size_t columns,
                                     uint64_t before,
                                     double *restrict mean,
                                     double *restrict square,
                                     size_t count)
{
    weiri_vd m[4], q[4];
    for (size_t j = 0; j < count; j++) {
        m[j] = weiri_vd_load_f64(mean + j * D);
        q[j] = weiri_vd_load_f64(square + j * D);
    }
    for (size_t f = 0; f < frames; f++) {
        weiri_vd share = weiri_vd_all(1.0 / (double)(before + f + 1));
        const T *row = rows + f * columns;
        for (size_t j = 0; j < count; j++) {
            weiri_vd v = LOAD(row + j * D);
            weiri_vd off = v - m[j];
            m[j] = weiri_vd_fma(off, share, m[j]);
            q[j] = weiri_vd_fma(off, v - m[j], q[j]);
        }
    }
    bits finite = at_most(m[0], DBL_MAX);
    for (size_t j = 1; j < count; j++) {
        finite &= at_most(m[j], DBL_MAX);
    }
    if (!weiri_all_ones(finite)) {
        return false;
    }
    for (size_t j = 0; j < count; j++) {
        weiri_vd_store_f64(mean + j * D, m[j]);
        weiri_vd_store_f64(square + j * D, q[j]);
    }
    return true;
}

/* The same for a vector of columns, each with a count of its own. */
WEIRI_INLINE bool NAME(spread_some)(const T *restrict rows,
                                    size_t frames,
                                    size_t columns,
                                    uint64_t before,
                                    const uint32_t *restrict absent,
                                    double *restrict mean,
                                    double *restrict square)
{
    weiri_vd m = weiri_vd_load_f64(mean), q = weiri_vd_load_f64(square), count;
    weiri_vd one = weiri_vd_all(1.0);
    bits all = ~(bits){0};
    for (size_t i = 0; i < D; i++) {
        count[i] = (double)(before - absent[i]);
    }
    for (size_t f = 0; f < frames; f++) {
        weiri_vd v = LOAD(rows + f * columns);
        bits present = at_most(v, (double)T_MAX);
        count = CHOOSE(weiri_vd, present, count + one, count);
        weiri_vd share = one / count, off = v - m; /* 1 / 0 before the first sample is not used */
        weiri_vd next = weiri_vd_fma(off, share, m);
        q = CHOOSE(weiri_vd, present, weiri_vd_fma(off, v - next, q), q);
        m = CHOOSE(weiri_vd, present, next, m);
        all &= present;
    }
    weiri_vd_store_f64(mean, m);
    weiri_vd_store_f64(square, q);
    return weiri_all_ones(all);
}

WEIRI_INLINE bool NAME(spread_column)(const T *restrict rows,
                                      size_t frames,
                                      size_t columns,
                                      uint64_t count,
                                      double *restrict mean,
                                      double *restrict square)
{
    double m = *mean, q = *square;
    bool all = true;
    for (size_t f = 0; f < frames; f++) {
        double v = (double)rows[f * columns];
        if (NAME(is_finite)(rows[f * columns])) {
            double share = 1.0 / (double)++count;
            double off = v - m;
            m = WEIRI_FMA(off, share, m);
            q = WEIRI_FMA(off, v - m, q);
        } else {
            all = false;
        }
    }
    *mean = m;
    *square = q;
    return all;
}

bool NAME(reduce_spread)(const T *rows,
                         size_t frames,
                         size_t columns,
                         uint64_t before,
                         const uint32_t *absent,
                         double *mean,
                         double *square)
{
    bool all = true;
    size_t c = 0;
    while (c + D <= columns) {
        size_t count = c + 4 * D <= columns ? 4 : 1;
        uint32_t some = 0;
        for (size_t i = 0; i < count * D; i++) {
            some |= absent[c + i];
        }
        bool done = false;
        if (some == 0) {
            done = count == 4 ? NAME(spread_block)(rows + c, frames, columns, before, mean + c,
                                                   square + c, 4)
                              : NAME(spread_block)(rows + c, frames, columns, before, mean + c,
                                                   square + c, 1);
        }
        for (size_t j = 0; !done && j < count; j++) {
            size_t i = c + j * D;
            all &= NAME(spread_some)(rows + i, frames, columns, before, absent + i, mean + i,
                                     square + i);
        }
        c += count * D;
    }
    for (; c < columns; c++) {
        all &= NAME(spread_column)(rows + c, frames, columns, before - absent[c], mean + c,
                                   square + c);
    }
    return all;
}

/* ---- area ---------------------------------------------------------------------------------- */

/* Before its first sample a column's last_x is NaN, so the piece is NaN too and is not used. */
WEIRI_INLINE bool NAME(area_block)(const T *restrict rows,
                                   size_t frames,
                                   size_t columns,
                                   uint64_t before,
                                   const double *restrict x,
                                   double *restrict last_x,
                                   double *restrict last,
                                   double *restrict area,
                                   size_t count)
{
    weiri_vd lx[4], l[4], a[4];
    bits all = ~(bits){0};
    for (size_t j = 0; j < count; j++) {
        lx[j] = weiri_vd_load_f64(last_x + j * D);
        l[j] = weiri_vd_load_f64(last + j * D);
        a[j] = weiri_vd_load_f64(area + j * D);
    }
    for (size_t f = 0; f < frames; f++) {
        const T *row = rows + f * columns;
        weiri_vd here = weiri_vd_all(x != NULL ? x[before + f] : (double)(before + f));
        for (size_t j = 0; j < count; j++) {
            weiri_vd v = LOAD(row + j * D);
            weiri_vd piece = 0.5 * (v + l[j]) * (here - lx[j]);
            bits present = at_most(v, (double)T_MAX);
            a[j] = CHOOSE(weiri_vd, present & (bits)(lx[j] == lx[j]), a[j] + piece, a[j]);
            l[j] = CHOOSE(weiri_vd, present, v, l[j]);
            lx[j] = CHOOSE(weiri_vd, present, here, lx[j]);
            all &= present;
        }
    }
    for (size_t j = 0; j < count; j++) {
        weiri_vd_store_f64(last_x + j * D, lx[j]);
        weiri_vd_store_f64(last + j * D, l[j]);
        weiri_vd_store_f64(area + j * D, a[j]);
    }
    return weiri_all_ones(all);
}

bool NAME(reduce_area)(const T *rows,
                       size_t frames,
                       size_t columns,
                       uint64_t before,
                       const double *x,
                       double *last_x,
                       double *last,
                       double *area)
{
    bool all = true;
    size_t c = 0;
    for (; c + 4 * D <= columns; c += 4 * D) {
        all &= NAME(area_block)(rows + c, frames, columns, before, x, last_x + c, last + c,
                                area + c, 4);
    }
    for (; c < columns; c++) {
        for (size_t f = 0; f < frames; f++) {
            double v = (double)rows[f * columns + c];
            double here = x != NULL ? x[before + f] : (double)(before + f);
            if (NAME(is_finite)(rows[f * columns + c])) {
                double piece = 0.5 * (v + last[c]) * (here - last_x[c]);
                area[c] = last_x[c] == last_x[c] ? area[c] + piece : area[c];
                last[c] = v;
                last_x[c] = here;
            } else {
                all = false;
            }
        }
    }
    return all;
}

/* ---- what is missing ----------------------------------------------------------------------- */

void NAME(reduce_absent)(
    const T *restrict rows, size_t frames, size_t stride, size_t columns, uint32_t *restrict absent)
{
    for (size_t f = 0; f < frames; f++) {
        const T *restrict row = rows + f * stride;
        for (size_t c = 0; c < columns; c++) {
            T size = row[c] < 0 ? -row[c] : row[c];
            absent[c] += size <= T_MAX ? 0 : 1;
        }
    }
}

#undef NATIVE
#undef LOOSE
#undef INDEX
#undef INDEX_LOOSE
#undef N

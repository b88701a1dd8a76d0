/* SPDX-License-Identifier: MIT
 *
 * cca.c: canonical correlations. Bases by Gram-Schmidt, each row twice, which keeps them orthonormal to the last bits;
 * the largest singular value of the products as the root of the largest eigenvalue of their Gram matrix, brought to
 * three diagonals by reflections and found by bisection. Golub and Van Loan, Matrix Computations, 4th ed., 5.2, 8.3, 8.4.
 */
#include "dsp/cca.h"

#include <math.h>
#include <string.h>

/* What is left of a row without those before it is rounding below this part of the row. */
static const double DEPENDS = 1e-10;

static double norm_of(const weiri_kernels *k, const double *row, size_t length)
{
    double square = 0.0;
    k->dots(row, 1, row, 1, length, &square);
    return sqrt(square);
}

/* Scaled by the largest value first: squares of the least and the largest numbers are none. */
static bool centre(double *row, size_t count)
{
    double most = 0.0, sum = 0.0, mean;
    for (size_t i = 0; i < count; i++) {
        most = fabs(row[i]) > most ? fabs(row[i]) : most;
    }
    if (most == 0.0) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        row[i] /= most;
        sum += row[i];
    }
    mean = sum / (double)count;
    double spread = 0.0;
    for (size_t i = 0; i < count; i++) {
        row[i] -= mean;
        spread = fabs(row[i]) > spread ? fabs(row[i]) : spread;
    }
    return spread > 1e-13; /* else constant but for rounding */
}

size_t weiri_cca_basis(double *rows, size_t number, size_t count, double *products)
{
    const weiri_kernels *k = weiri_kernels_get();
    size_t length = weiri_cca_row(count), size = 0;
    for (size_t i = 0; i < number; i++) {
        double *row = rows + size * length;
        memmove(row, rows + i * length, length * sizeof *row);
        if (!centre(row, count)) {
            continue;
        }
        double before = norm_of(k, row, length);
        for (int pass = 0; pass < 2; pass++) {
            k->dots(rows, size, row, 1, length, products);
            for (size_t j = 0; j < size; j++) {
                k->subtract(row, rows + j * length, products[j], length);
            }
        }
        double after = norm_of(k, row, length);
        if (after > DEPENDS * before) {
            for (size_t j = 0; j < count; j++) {
                row[j] /= after;
            }
            size++;
        }
    }
    return size;
}

/* The Gram matrix of the shorter side. */
static void gram(const double *m, size_t a, size_t b, double *ret)
{
    size_t n = a < b ? a : b, other = a < b ? b : a;
    size_t along = a < b ? b : 1, across = a < b ? 1 : b;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++) {
            double sum = 0.0;
            for (size_t l = 0; l < other; l++) {
                sum += m[i * along + l * across] * m[j * along + l * across];
            }
            ret[i * n + j] = ret[j * n + i] = sum;
        }
    }
}

/* A symmetric matrix to one with three diagonals: the main one, and the squares of the other. */
static void tridiagonal(double *m, size_t n, double *diagonal, double *squares, double *v)
{
    for (size_t k = 0; k + 1 < n; k++) {
        double sigma = 0.0, head = m[(k + 1) * n + k];
        for (size_t i = k + 2; i < n; i++) {
            sigma += m[i * n + k] * m[i * n + k];
        }
        squares[k] = head * head + sigma;
        if (sigma == 0.0) {
            continue;
        }
        double *p = diagonal; /* written only up to k so far; here from k + 1 on */
        double norm = sqrt(squares[k]), scale = 0.0, half = 0.0;
        for (size_t i = k + 1; i < n; i++) {
            v[i] = m[i * n + k];
        }
        v[k + 1] += head < 0.0 ? -norm : norm;
        scale = 2.0 / (sigma + v[k + 1] * v[k + 1]);
        for (size_t i = k + 1; i < n; i++) {
            p[i] = 0.0;
            for (size_t j = k + 1; j < n; j++) {
                p[i] += m[i * n + j] * v[j];
            }
            p[i] *= scale;
            half += p[i] * v[i];
        }
        half *= scale / 2.0;
        for (size_t i = k + 1; i < n; i++) {
            p[i] -= half * v[i];
        }
        for (size_t i = k + 1; i < n; i++) {
            for (size_t j = k + 1; j < n; j++) {
                m[i * n + j] -= v[i] * p[j] + p[i] * v[j];
            }
        }
    }
    for (size_t k = 0; k < n; k++) {
        diagonal[k] = m[k * n + k];
    }
}

/* Whether all eigenvalues are below x (Sturm). */
static bool all_below(const double *diagonal, const double *squares, size_t n, double x)
{
    double d = diagonal[0] - x;
    for (size_t k = 1; k < n && d < 0.0; k++) {
        d = diagonal[k] - x - squares[k - 1] / d;
    }
    return d < 0.0;
}

double weiri_cca_largest(const double *products, size_t a, size_t b, double *scratch)
{
    size_t n = a < b ? a : b;
    if (n == 0) {
        return 0.0;
    }
    double *m = scratch, *diagonal = m + n * n, *squares = diagonal + n, *v = squares + n;
    gram(products, a, b, m);
    tridiagonal(m, n, diagonal, squares, v);
    double low = 0.0, high = 1.0 + 1e-12; /* no correlation is above 1 */
    while (high - low > 1e-16 * high) {
        double middle = low + (high - low) / 2;
        if (middle <= low || middle >= high) {
            break;
        }
        if (all_below(diagonal, squares, n, middle)) {
            high = middle;
        } else {
            low = middle;
        }
    }
    double rho = sqrt(low);
    return rho < 1.0 ? rho : 1.0;
}

/* SPDX-License-Identifier: MIT
 *
 * random.h: the numbers of NumPy's default_rng(seed): the generator PCG-64 seeded through SeedSequence, uniform and
 * normal draws. So that a simulation with a seed is the same one in both.
 */
#ifndef WEIRI_RANDOM_H
#define WEIRI_RANDOM_H

#include <stdint.h>

typedef struct weiri_random {
    __extension__ unsigned __int128 state, step;
} weiri_random;

void weiri_random_seed(weiri_random *random, uint64_t seed);
uint64_t weiri_random_next(weiri_random *random);

/* 0 <= number < 1, in steps of 2^-53. */
double weiri_random_uniform(weiri_random *random);

/* Mean 0, standard deviation 1. By the ziggurat method; its tables are made anew in each call. */
void weiri_random_normals(weiri_random *random, double *ret_numbers, uint64_t count);

#endif

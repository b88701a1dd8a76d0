/* SPDX-License-Identifier: MIT
 *
 * weir/weir.h: all of weir. The tour, which is compiled as a test (tests/tour_test.c):
 */
#ifndef WEIR_H
#define WEIR_H

#include <weir/array.h>
#include <weir/base.h>
#include <weir/cache.h>
#include <weir/chain.h>
#include <weir/config.h>
#include <weir/heap.h>
#include <weir/recording.h>
#include <weir/unit.h>

#endif

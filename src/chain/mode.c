/* SPDX-License-Identifier: MIT
 *
 * mode.c: the processor's floating-point mode (S6). Flush-to-zero and denormals-are-zero: state that decays towards
 * nothing must not stay in subnormal numbers, which cost a hundred cycles each on many processors. And no traps:
 * a logarithm of 0 is -inf, also for a caller that enabled SIGFPE; and rounding is to
 * nearest (S1), whatever the caller's mode. Set on entry, restored around callbacks and on return. Writing the
 * register costs some 10 ns, so an unchanged value is not written again.
 */
#include "chain/chain.h"

#if defined(__x86_64__) || defined(__i386__)
#include <xmmintrin.h>

enum { FTZ_AND_DAZ = 0x8040, NO_TRAPS = 0x1f80, ROUNDING = 0x6000 };
enum { MODE = FTZ_AND_DAZ | NO_TRAPS | ROUNDING, OURS = FTZ_AND_DAZ | NO_TRAPS };

weiri_mode weiri_mode_enter(void)
{
    unsigned before = _mm_getcsr();
    if ((before & MODE) != OURS) {
        _mm_setcsr((before & ~(unsigned)MODE) | OURS);
    }
    return before;
}

void weiri_mode_leave(weiri_mode mode)
{
    if ((mode & MODE) != OURS) {
        _mm_setcsr((unsigned)mode);
    }
}

#elif defined(__aarch64__)

/* Bits 8 to 12 and 15 enable traps, where the processor has them at all; 22 and 23 are the rounding. */
enum { FZ = 1 << 24, TRAPS_AND_ROUNDING = 0xc09f00 };

weiri_mode weiri_mode_enter(void)
{
    uint64_t before;
    __asm__ volatile("mrs %0, fpcr" : "=r"(before));
    uint64_t ours = (before | FZ) & ~(uint64_t)TRAPS_AND_ROUNDING;
    __asm__ volatile("msr fpcr, %0" : : "r"(ours));
    return before;
}

void weiri_mode_leave(weiri_mode mode)
{
    __asm__ volatile("msr fpcr, %0" : : "r"(mode));
}

#else

weiri_mode weiri_mode_enter(void)
{
    return 0;
}

void weiri_mode_leave(weiri_mode mode)
{
    (void)mode;
}

#endif

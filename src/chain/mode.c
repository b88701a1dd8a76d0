/* SPDX-License-Identifier: MIT
 *
 * mode.c: flush-to-zero and denormals-are-zero (S6): state that decays towards nothing must not rest
 * in subnormal numbers, which cost a hundred cycles each on many processors. Set on entry, restored
 * around callbacks and on return: the caller's arithmetic is its own. Once a push and once a block: writing
 * the register costs some 10 ns, so what stands there already is not written again.
 */
#include "chain/chain.h"

#if defined(__x86_64__) || defined(__i386__)
#include <xmmintrin.h>

enum { FTZ_AND_DAZ = 0x8040 };

weiri_mode weiri_mode_enter(void)
{
    unsigned before = _mm_getcsr();
    if ((before & FTZ_AND_DAZ) != FTZ_AND_DAZ) {
        _mm_setcsr(before | FTZ_AND_DAZ);
    }
    return before;
}

void weiri_mode_leave(weiri_mode mode)
{
    if ((mode & FTZ_AND_DAZ) != FTZ_AND_DAZ) {
        _mm_setcsr((unsigned)mode);
    }
}

#elif defined(__aarch64__)

weiri_mode weiri_mode_enter(void)
{
    uint64_t before;
    __asm__ volatile("mrs %0, fpcr" : "=r"(before));
    uint64_t with_fz = before | (UINT64_C(1) << 24);
    __asm__ volatile("msr fpcr, %0" : : "r"(with_fz));
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

/* SPDX-License-Identifier: MIT
 *
 * locale.h: the C locale, so that what weir reads and writes has a point whatever the program has set.
 * For this module only.
 */
#ifndef WEIRI_LOCALE_H
#define WEIRI_LOCALE_H

#include <locale.h>

/* Made once, never freed (glibc's costs nothing: it is static). (locale_t)0 if it cannot be made. */
locale_t weiri_locale_c(void);

#endif

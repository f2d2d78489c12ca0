/* SPDX-License-Identifier: MIT */
/* AddressSanitizer as a shared library (gcc's libasan.so, clang's with -shared-libsan) looks at the loader's list when it
 * starts, and ends the program where another library stands before it. silt must stand there: malloc of the first is what
 * the program calls, and it hands every call on to the sanitizer's. */
#pragma once

#pragma GCC visibility push(hidden)

/* From the constructor, which runs before the sanitizer starts by itself: starts it. */
void sanitizer_start(void);

#pragma GCC visibility pop

const char *__asan_default_options(void);

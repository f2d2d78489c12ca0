/* SPDX-License-Identifier: MIT */
#include "hook/sanitizer.h"

#include "hook/real.h"

/* The sanitizer passes over objects of the kernel's, which it knows by the begin of their name. It is only asked for while
 * the sanitizer starts: nobody else runs yet. */
void sanitizer_start(void) {
        struct real_fn start = {0};
        const char *name;

        if (runtime.is_attached || !real_find_behind("__asan_init", &start))
                return;
        name = real_rename_self("linux-silt.so");
        ((void (*)(void))start.fn)(); /* does nothing the second time */
        real_rename_self(name);
}

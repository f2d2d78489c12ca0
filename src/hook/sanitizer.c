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

/* ---- where its constructor is not the first --------------------------------------------------- */

enum { SANITIZER_OPTIONS_BYTES = 1024 };

static size_t sanitizer_append(char *to, size_t n, const char *text) {
        while (*text && n + 1 < SANITIZER_OPTIONS_BYTES)
                to[n++] = *text++;
        to[n] = '\0';
        return n;
}

/* Of two libraries that want to be initialised first the loader obeys one, and before glibc 2.34 every program with threads had
 * another. The sanitizer asks for what was compiled in as its options by this name, of the first that has it, and may be told
 * not to look at the list. Would it be content without silt it is told so. */
HOOK_EXPORT const char *__asan_default_options(void) {
        static char options[SANITIZER_OPTIONS_BYTES];
        struct real_fn next = {0};
        const char *theirs = "";
        size_t n;

        if (real_find_behind("__asan_default_options", &next))
                theirs = ((const char *(*)(void))next.fn)();
        if (!theirs ||
            atomic_load_explicit(&runtime.life, memory_order_relaxed) != RUNTIME_LIFE_EARLY ||
            !real_is_next_to("__asan_init"))
                return theirs;
        n = sanitizer_append(options, 0, theirs);
        n = sanitizer_append(options, n, n ? ":" : "");
        sanitizer_append(options, n, "verify_asan_link_order=0");
        return options;
}

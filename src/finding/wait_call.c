/* SPDX-License-Identifier: MIT */
#include "finding/wait_call.h"

#include <string.h>

#include "base/macros.h"

static bool starts_in(const char *text, const char *const *with, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (strncmp(text, with[i], strlen(with[i])) == 0)
                        return true;
        return false;
}
#define STARTS_IN(text, list) starts_in(text, list, ARRAY_SIZE(list))

bool wait_is_system(const char *module) {
        static const char *const begins[] = {"libc.so",    "libc-",    "libc.musl",
                                             "libpthread", "ld-linux", "ld-musl",
                                             "ld-",        "[vdso]",   "[kernel]"};
        const char *slash = strrchr(module, '/');

        return STARTS_IN(slash ? slash + 1 : module, begins);
}

bool wait_is_passed_on(const char *function) {
        static const char *const begins[] = {"std::",
                                             "core::",
                                             "alloc::",
                                             "parking_lot::",
                                             "lock_api::",
                                             "parking_lot_core::",
                                             "crossbeam_utils::",
                                             "crossbeam_channel::",
                                             "rustix::",
                                             "linux_raw_sys::",
                                             "polling::",
                                             "mio::",
                                             "flume::",
                                             "parking::",
                                             "futures_executor::"};
        static const char *const traits[] = {" as core::", " as std::", " as alloc::"};

        for (size_t i = 0; i < ARRAY_SIZE(traits); i++)
                if (strstr(function, traits[i]))
                        return true;
        function += strspn(function, "<&_");
        return STARTS_IN(function, begins);
}

/* Below it is what the thread was made for. */
static bool is_begin(struct names *names, const struct query_frame *f) {
        return name_kind(names, f->function, f->module) == NAME_START ||
               strstr(f->function, "ops::function::Fn") != NULL;
}

/* Nobody calls these by name: they say as little as the number of the call. */
static bool is_plain_call(const struct query_frame *f) {
        return f->guess || !f->function[0] || strcmp(f->function, "syscall") == 0;
}

size_t wait_call_find(struct names *names, const struct query_frame *frames, size_t n) {
        size_t i = 0, found;

        while (i < n && wait_is_system(frames[i].module))
                i++;
        if (i == n) /* down to where it begins */
                return 0;
        if (i && !is_plain_call(&frames[i - 1]))
                return i - 1;
        found = i ? i - 1 : 0;
        while (i < n && wait_is_passed_on(frames[i].function) && !is_begin(names, &frames[i]))
                found = i++;
        return found;
}

/* SPDX-License-Identifier: MIT */
/* Small words used everywhere on the host side: cleanup attributes, taking ownership, rounding. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#define _cleanup_(f) __attribute__((cleanup(f)))
#define _cleanup_free_ _cleanup_(macro_freep)
#define _cleanup_close_ _cleanup_(macro_closep)

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define ALIGN_UP(n, to) (((n) + (to)-1) & ~((__typeof__(n))(to)-1))

/* Each looks at its arguments once: they may be in memory that others write. */
#define MIN(a, b) MACRO_PICK(<, a, b, MACRO_NAME(_a, __COUNTER__), MACRO_NAME(_b, __COUNTER__))
#define MAX(a, b) MACRO_PICK(>, a, b, MACRO_NAME(_a, __COUNTER__), MACRO_NAME(_b, __COUNTER__))
#define MACRO_PICK(op, a, b, first, second)                                                        \
        ({                                                                                         \
                __typeof__(1 ? (a) : (b)) first = (a), second = (b);                               \
                first op second ? first : second;                                                  \
        })
#define MACRO_NAME(name, n) MACRO_PASTE(name, n)
#define MACRO_PASTE(name, n) name##n

/* Hands a pointer or descriptor on and leaves nothing behind for the cleanup to free. */
#define TAKE_PTR(p)                                                                                \
        ({                                                                                         \
                __typeof__(p) _taken = (p);                                                        \
                (p) = NULL;                                                                        \
                _taken;                                                                            \
        })
#define TAKE_FD(fd)                                                                                \
        ({                                                                                         \
                int _taken = (fd);                                                                 \
                (fd) = -1;                                                                         \
                _taken;                                                                            \
        })

/* Makes `namep(T **)` for the cleanup attribute out of `T *name(T *)`. */
#define DEFINE_CLEANUP(T, name)                                                                    \
        static inline void name##p(T **p) {                                                        \
                if (*p)                                                                            \
                        name(*p);                                                                  \
        }

static inline void macro_freep(void *p) {
        free(*(void **)p);
}

static inline void macro_closep(int *fd) {
        if (*fd >= 0)
                close(*fd);
}

/* SPDX-License-Identifier: MIT */
/* For programs that manage memory themselves: tells silt about blocks inside pools and arenas, about moments
 * ("warm-up done") and about threads' names. docs/pools.md has the whole story.
 *
 * Include it; there is nothing to link. Each call is one test when the program does not run under `silt run`.
 * Every function may be called from any thread and from signal handlers, never fails, and keeps errno.
 * -DSILT_OFF leaves nothing of it. C99 or C++, gcc or clang; elsewhere it is empty. */
#ifndef SILT_SILT_H
#define SILT_SILT_H

#include <stddef.h>

#if !defined(SILT_OFF) && defined(__linux__) && defined(__GNUC__)
#define SILT_WEAK __attribute__((weak))
#if defined(__x86_64__) && defined(__LP64__)
/* The address as the loader finds it: of programs that are no PIE, linkers settle it to NULL for good if asked otherwise. */
#define SILT_FIND(name, found)                                                                     \
        __asm__(".weak " #name "\n\tmov{q}\t{" #name "@GOTPCREL(%%rip), %0|%0, QWORD PTR " #name   \
                "@GOTPCREL[rip]}"                                                                  \
                : "=r"(found))
#else
#define SILT_FIND(name, found) ((void)((found) = name))
#endif
#define SILT_CALL(name, args)                                                                      \
        do {                                                                                       \
                __typeof__(&name) silt_found_;                                                     \
                SILT_FIND(name, silt_found_);                                                      \
                if (silt_found_)                                                                   \
                        silt_found_ args;                                                          \
        } while (0)
#else
#define SILT_CALL(name, args) ((void)0)
#define SILT_FIND(name, found)
#define SILT_WEAK
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* In libsilt.so; not there when silt is not. */
extern void silt_api_alloc(const void *address, size_t size_bytes) SILT_WEAK;
extern void silt_api_free(const void *address) SILT_WEAK;
extern void silt_api_free_range(const void *begin, const void *end) SILT_WEAK;
extern void silt_api_mark(const char *text) SILT_WEAK;
extern void silt_api_thread_name(const char *name) SILT_WEAK;

/* The pool hands out a block: after it has taken it. It counts as an allocation of the caller. */
static inline void silt_alloc(const void *address, size_t size_bytes) {
        (void)address, (void)size_bytes;
        SILT_CALL(silt_api_alloc, (address, size_bytes));
}

/* The pool takes one back: before anybody else can be given it. */
static inline void silt_free(const void *address) {
        (void)address;
        SILT_CALL(silt_api_free, (address));
}

/* The pool lets go of every block that begins in [begin, end): a reset, or its end. Before anybody else can be
 * given one of them. What was released already stays released; blocks of malloc are not meant. */
static inline void silt_free_range(const void *begin, const void *end) {
        (void)begin, (void)end;
        SILT_CALL(silt_api_free_range, (begin, end));
}

/* A moment of the program's: shown in the timeline. At most 200 bytes of text. */
static inline void silt_mark(const char *text) {
        (void)text;
        SILT_CALL(silt_api_mark, (text));
}

/* The calling thread's name in reports: at most 15 bytes. The kernel's name for it stays. */
static inline void silt_thread_name(const char *name) {
        (void)name;
        SILT_CALL(silt_api_thread_name, (name));
}

#ifdef __cplusplus
}
#endif

#undef SILT_CALL
#undef SILT_FIND
#undef SILT_WEAK
#endif

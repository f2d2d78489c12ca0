/* SPDX-License-Identifier: MIT */
/* For programs that manage memory themselves: describes blocks inside pools and arenas to silt, marks moments
 * ("warm-up done") and names threads. See docs/pools.md.
 *
 * Include it; there is nothing to link. Each call costs one test if the program does not run under silt.
 * Every function may be called from any thread and from signal handlers, never fails, and keeps errno.
 * -DSILT_OFF removes it. C99 or C++, gcc or clang; elsewhere the functions are empty. */
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

/* A block was allocated. Call it after the pool has taken the block. Counts as an allocation by the caller. */
static inline void silt_alloc(const void *address, size_t size_bytes) {
        (void)address, (void)size_bytes;
        SILT_CALL(silt_api_alloc, (address, size_bytes));
}

/* A block was freed. Call it before the block can be allocated again. */
static inline void silt_free(const void *address) {
        (void)address;
        SILT_CALL(silt_api_free, (address));
}

/* Every block that begins in [begin, end) was freed: a reset, or the pool's end. Call it before one of them can be
 * allocated again. Blocks that were freed earlier stay freed; blocks of malloc are not affected. */
static inline void silt_free_range(const void *begin, const void *end) {
        (void)begin, (void)end;
        SILT_CALL(silt_api_free_range, (begin, end));
}

/* Marks a moment, which is shown in the timeline. At most 200 bytes of text. */
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

/* SPDX-License-Identifier: MIT */
/* What a drill does with an allocator: every function of it, by what it is given and what it must count as. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct block {
        void *p;
        size_t n;     /* bytes as they count */
        size_t align; /* asked for; 0: none */
        size_t had;   /* bytes it has, where that is more than n has; else 0 */
        unsigned heap;
        unsigned char seal; /* first and last byte */
};

enum drill_kind {
        DRILL_TAKE,     /* makes a block of n bytes, or a few less: says so */
        DRILL_RESIZE,   /* gives it n bytes or so; p may change */
        DRILL_IN_PLACE, /* tries to; n changes when it could */
        DRILL_GIVE,
        DRILL_FAIL, /* asks for more than there is, in vain: leaves p NULL */
};

/* One function of an allocator. */
struct drill {
        const char *name;
        enum drill_kind kind;
        void (*run)(struct block *b, size_t n);
        bool is_failure_counted; /* of DRILL_IN_PLACE: it returns a block, or none */
};

/* Blocks of one heap may be given back by any function that was added for it. */
void drill_add(const char *heap, const struct drill *drills, size_t n);

/* Says what the handler of a signal may call: nothing that the interrupted code may be in the middle of. */
void drill_add_for_signals(const char *heap, const struct drill *drills, size_t n);

extern volatile size_t drill_too_much;

/* Exceptions take memory of the program's malloc. */
void drill_count_throw(void);

#define DRILLS(heap, drills)                                                                       \
        __attribute__((constructor)) static void add_##drills(void) {                              \
                drill_add(heap, drills, sizeof(drills) / sizeof(drills[0]));                       \
        }

/* clang-format off */
#define TAKE(fn, expr, counted, alignment) \
        static void fn(struct block *b, size_t n) { b->n = (counted); b->align = (alignment); b->had = 0; b->p = (expr); }
#define RESIZE(fn, expr, counted, alignment) \
        static void fn(struct block *b, size_t n) { b->p = (expr); b->n = (counted); b->align = (alignment); b->had = 0; }
/* May have stayed in a larger one: functions that are told a size must not be told this. */
#define RESIZE_LOOSELY(fn, expr, counted) \
        static void fn(struct block *b, size_t n) { b->p = (expr); b->n = b->had = (counted); b->align = 0; }
#define GIVE(fn, call) \
        static void fn(struct block *b, size_t n) { (void)n; call; }
#define FAIL(fn, expr) \
        static void fn(struct block *b, size_t n) { n = drill_too_much; (void)n; b->p = (expr); }
/* clang-format on */

#ifdef __cplusplus
}
#endif

/* SPDX-License-Identifier: MIT */
/* A growing array of any type. `VEC(int) v = {0};` then vec_push(&v, 3), v.items[i], v.n, vec_free(&v).
 * Running out of memory ends the process: every host-side caller would only do the same. */
#pragma once

#include <stddef.h>
#include <string.h>

#include "base/macros.h"

#define VEC(T)                                                                                     \
        struct {                                                                                   \
                T *items;                                                                          \
                size_t n, cap;                                                                     \
        }

/* Makes room for `more` further items; the new items are not counted yet. */
#define vec_reserve(v, more)                                                                       \
        ((v)->items = vec_grow((v)->items, &(v)->cap, (v)->n + (more), sizeof((v)->items[0])))

/* The value may look at the vector itself: it is made before n is counted up. */
#define vec_push(v, ...) (vec_reserve(v, 1), (v)->items[(v)->n] = (__VA_ARGS__), (void)(v)->n++)

/* Adds one zeroed item and gives its address (valid until the next growth). */
#define vec_add(v)                                                                                 \
        (vec_reserve(v, 1), memset(&(v)->items[(v)->n], 0, sizeof((v)->items[0])),                 \
         &(v)->items[(v)->n++])

#define vec_clear(v) ((v)->n = 0)
#define vec_free(v) (free((v)->items), (v)->items = NULL, (v)->n = (v)->cap = 0)

void *vec_grow(void *items, size_t *cap, size_t want, size_t item_size_bytes);

/* SPDX-License-Identifier: MIT */
/* Texts numbered in the order in which they turn up, each once: formats of protobuf name them by number. What is no UTF-8 becomes '?',
 * as its readers refuse it. Inside export/ only. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"

struct text_table {
        struct arena *arena;
        VEC(char *) texts;
        VEC(uint32_t) next; /* of the same hash: number + 1 */
        struct map by_hash; /* → number + 1 */
};

void text_table_init(struct text_table *t); /* number 0 is "" */
void text_table_done(struct text_table *t);
uint32_t text_table_number(struct text_table *t, const char *text); /* NULL: "" */

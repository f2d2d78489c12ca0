/* SPDX-License-Identifier: MIT */
/* Texts with numbers: each is kept once. */
#pragma once

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"

struct text_pool {
        VEC(const char *) items; /* number → text; 0 is "" */
        struct arena *arena;
        struct map by_hash;
};

void text_pool_init(struct text_pool *t);
void text_pool_done(struct text_pool *t);
uint32_t text_pool_add(struct text_pool *t, const char *text); /* its number */

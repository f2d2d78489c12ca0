/* SPDX-License-Identifier: MIT */
/* Texts with numbers: each is kept once. Inside flame/ only. */
#pragma once

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"

struct texts {
        VEC(const char *) items; /* number → text; 0 is "" */
        struct arena *arena;
        struct map by_hash;
};

void texts_init(struct texts *t);
void texts_done(struct texts *t);
uint32_t texts_add(struct texts *t, const char *text); /* its number */

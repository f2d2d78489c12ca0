/* SPDX-License-Identifier: MIT */
/* What a process that is attached to had already: memory of blocks that nobody saw allocated. Looked at from outside, while it runs. */
#pragma once

#include "attach/arenas.h"
#include "attach/jemalloc.h"
#include "attach/mimalloc.h"
#include "attach/target.h"

struct prior {
        struct arenas_found arenas;
        struct jemalloc_found jemalloc; /* of all that were recognised, together */
        bool has_arenas;                /* the C library's were recognised */
        struct mimalloc_found mimalloc;
        bool has_jemalloc, has_mimalloc;
        uint64_t took_ns; /* to look */
};

/* For a quarter of a second of a processor at most. Its mappings are read again first. */
void prior_look(struct target *t, struct prior *ret);

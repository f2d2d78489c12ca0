/* SPDX-License-Identifier: MIT */
/* Frames of call paths, as a query has them: what is known of each by names, files and places. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct query;

struct query_frame {
        const char *function; /* "" unknown */
        const char *file;     /* "" unknown */
        const char *module;   /* path; "" unknown */
        uint64_t offset;      /* in the module, or the address when it has none */
        uint32_t line, location;
        bool inlined, guess;
};

/* Calls fn for each frame from the allocator's caller outwards, inlined functions included,
 * until it returns false. */
typedef bool (*query_frame_fn)(void *ctx, const struct query_frame *f);
void query_each_frame(const struct query *q, uint32_t stack, query_frame_fn fn, void *ctx);
/* Which of them requested the memory: the innermost that is no machinery; SIZE_MAX: there is none. */
size_t query_requester(struct query *q, uint32_t stack);
const char *query_component(struct query *q, uint32_t stack); /* "": it has no frames */
/* The frames of one location; returns how many there are and fills up to cap of them. */
size_t query_location_frames(const struct query *q, uint32_t location, struct query_frame *ret,
                             size_t cap);
/* The same for whoever cannot say that a name is a guess, which is mostly another function's: it has no name. */
size_t query_known_frames(const struct query *q, uint32_t location, struct query_frame *ret,
                          size_t cap);

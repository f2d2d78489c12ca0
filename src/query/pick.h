/* SPDX-License-Identifier: MIT */
/* A filter held against one trace: each name was matched once, each stack decided once. Inside
 * query/ only.
 *
 *   r = pick_get(q, scope->filter, &pick, reterr);          // NULL: everything is picked
 *   if (pick_has_stack(pick, stack)) … */
#pragma once

#include "query/block_life.h"

struct query_filter;

struct pick {
        const struct query_filter *filter;
        uint64_t serial;  /* of the filter it was made of */
        uint64_t *stacks; /* a bit each; NULL: all */
        size_t n_stacks;
        bool *threads;        /* NULL: all */
        bool *processes;      /* NULL: all */
        bool needs_events;    /* conditions on single blocks */
        uint64_t needs_to_ns; /* events up to here decide; UINT64_MAX: to the recording's end */
};

/* Belongs to the query and is valid until it is asked with another filter. */
int pick_get(struct query *q, const struct query_filter *f, const struct pick **ret,
             struct err *reterr);
struct pick *pick_free(struct pick *p); /* NULL ok; returns NULL */

static inline bool pick_has_stack(const struct pick *p, uint32_t stack) {
        return !p || !p->stacks ||
               (stack < p->n_stacks && (p->stacks[stack / 64] >> stack % 64 & 1));
}

static inline bool pick_has_process(const struct pick *p, uint32_t process) {
        return !p || !p->processes || p->processes[process];
}

/* What is known of a block when it is allocated rules it out. thread is valid. */
bool pick_rules_out(const struct pick *p, uint32_t stack, uint32_t thread, uint64_t size_bytes,
                    uint64_t begin_ns);

/* What a release says of its block rules it out: spares looking for it. */
bool pick_rules_out_released(const struct pick *p, uint32_t stack, uint64_t size_bytes);

/* All conditions; end_ns and last_ns as in struct query_life. */
bool pick_has_block(const struct pick *p, const struct query_life *l);

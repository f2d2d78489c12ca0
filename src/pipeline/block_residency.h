/* SPDX-License-Identifier: MIT */
/* Which pages of a process's large blocks were ever touched, looked at from outside: /proc/PID/pagemap says of each page
 * whether it is in memory or in swap. The process is not stopped, not written to, and not asked.
 *
 * A look comes too late for a block that was released meanwhile: its pages are gone and look untouched. So
 * what a look found counts only once all events up to that moment are through and the block is still
 * there (residency_settle). And programs touch memory after they get it: a block counts from the look on that found
 * nothing new in it since the look before.
 *
 * Bounds: RESIDENCY_MAX_BLOCKS blocks of a process are kept in mind; struct residency_budget bounds a look. */
#pragma once

#include "base/map.h"
#include "ledger/live.h"
#include "trace/model.h"

struct trace_writer;

enum {
        RESIDENCY_MAX_BLOCKS = 8192,
        RESIDENCY_MAX_BLOCK_PAGES = 1 << 20, /* larger blocks are left alone: 4 GiB */
        RESIDENCY_MAX_PAGES = 1 << 24,       /* of all blocks in mind, a bit each */
        RESIDENCY_N_RECENT = 256,
};

/* What one look may still do, in all processes together. */
struct residency_budget {
        uint32_t n_blocks, n_pages;
};

struct residency_block {
        uint64_t address, seq, size_bytes;
        uint64_t touched_bytes; /* as of its last look that counts */
        uint64_t *touched;      /* a bit each page; NULL: never looked at */
        uint32_t stack, n_pages;
        bool is_looked_at; /* at the look that is not settled yet, */
        bool is_steady;    /* which found nothing that the look before had not */
        bool is_seen;      /* some look counts */
};

struct residency_row {
        struct trace_residency state, before; /* before: the look that is being settled */
        bool is_changed;                      /* since it was written */
};

struct residency {
        uint32_t process; /* of the trace */
        uint64_t page_bytes;
        VEC(struct residency_block) blocks;
        uint16_t recent[RESIDENCY_N_RECENT]; /* address → place, a guess */
        VEC(struct residency_row) rows;
        struct map row_by_stack;
        uint64_t n_pages; /* of all blocks in mind */
        size_t cursor;    /* where the next look begins */
        uint64_t look_ns; /* of the look that is not settled yet; 0: none */
        uint64_t last_look_ns, next_write_ns;
        bool is_full; /* until the next look */
        bool wants_more; /* the last look left blocks that another one would count, though nothing happens */
};

/* A large block that was just allocated. */
struct residency_birth {
        uint64_t address, seq, size_bytes;
        uint32_t process, stack;
};
/* *place: the process's, made when it is NULL. */
void residency_note(struct residency **place, const struct live *live,
                    const struct residency_birth *birth);
struct residency *residency_free(struct residency *r); /* NULL ok; returns NULL */

/* Looks at what the budget allows, through an open pagemap. The look before must be settled. */
void residency_look(struct residency *r, const struct live *live, int pagemap_fd, uint64_t now_ns,
                    struct residency_budget *budget);

/* All events up to the last look are through (is_valid), or it is to be forgotten. */
void residency_settle(struct residency *r, const struct live *live, bool is_valid);

/* Puts rows that have changed into the trace, when it is time, or at the end. */
void residency_write(struct residency *r, struct trace_writer *w, bool is_end);

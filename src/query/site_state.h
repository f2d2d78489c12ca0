/* SPDX-License-Identifier: MIT */
/* Every site's and process's figures since the start of the recording, at one moment of it.
 * Damaged parts of the trace are left out, noted, and make the state inexact; nothing here fails.
 * Inside query/ only. */
#pragma once

#include "base/map.h"
#include "base/vec.h"
#include "query/query.h"

/* live = n_inherited + n_allocs - n_frees; own blocks alive = n_allocs - (n_frees -
 * n_inherited_frees) */
struct state_site {
        uint32_t process, stack;
        uint64_t n_allocs, alloc_bytes, n_frees, free_bytes;
        uint64_t n_temporary, n_reallocs;
        uint64_t n_inherited, inherited_bytes;
        uint64_t n_inherited_frees, inherited_free_bytes;
};

struct state {
        struct map index; /* (process << 32 | stack) → index into sites */
        VEC(struct state_site) sites;
        struct trace_counts *counts; /* one a process */
        size_t n_processes;
        uint32_t focus;           /* whose sites there are; QUERY_ALL: everybody's */
        struct state_site beside; /* takes what is another's */
        bool folds;               /* processes that are over may be one, STATE_ENDED */
        size_t n_folded;          /* sites there were when it was folded last */
        /* of others: sites that allocated. NULL: not counted */
        uint32_t *n_others;
        struct map others; /* (process << 32 | stack) of those that may come again */
        bool is_exact;     /* false when events were missing where they were needed */
};

#define STATE_COUNTS_ONLY (UINT32_MAX - 1) /* a focus on no process: its sites are nobody's */

#define STATE_ENDED                                                                                \
        (UINT32_MAX - 2) /* no process of the trace: those that are over, added up by stack */

void state_init(struct state *s, size_t n_processes, uint32_t focus);
/* Where it makes no difference which of the processes that are over a site was of. Before it is loaded. */
static inline void state_fold(struct state *s) {
        s->folds = true;
}
void state_count_others(struct state *s); /* before it is loaded */
void state_done(struct state *s);
/* Added when missing. Of another process than the one in focus: a place that nobody looks at. */
struct state_site *state_at(struct state *s, uint32_t process, uint32_t stack);
/* It has allocated. */
void state_note_alloc(struct state *s, const struct state_site *site, uint32_t process,
                      uint32_t stack);
const struct state_site *state_find(const struct state *s, uint32_t process,
                                    uint32_t stack); /* NULL: none */

/* The figures when slice slice_idx begins (n_slices: at the end). */
void state_load(struct query *q, struct state *s, size_t slice_idx);

/* The figures at the newest checkpoint before slice_idx; returns the slice that begins there. Reads no rows of slices. */
size_t state_load_checkpoint(struct query *q, struct state *s, size_t slice_idx);

/* Takes a state from the slice's begin to its end. */
void state_add_slice(struct query *q, struct state *s, size_t slice_idx);

/* After the events before time_ns: joins those that are over by now, where it was said to fold. */
void state_join_ended(const struct query *q, struct state *s, uint64_t time_ns);

/* The figures of all events before time_ns. */
void state_load_time(struct query *q, struct state *s, uint64_t time_ns);

static inline int64_t state_site_live_blocks(const struct state_site *s) {
        return (int64_t)(s->n_inherited + s->n_allocs - s->n_frees);
}

static inline int64_t state_site_live_bytes(const struct state_site *s) {
        return (int64_t)(s->inherited_bytes + s->alloc_bytes - s->free_bytes);
}

static inline int64_t state_site_own_blocks(const struct state_site *s) {
        return (int64_t)(s->n_allocs - (s->n_frees - s->n_inherited_frees));
}

static inline int64_t state_site_own_bytes(const struct state_site *s) {
        return (int64_t)(s->alloc_bytes - (s->free_bytes - s->inherited_free_bytes));
}

/* SPDX-License-Identifier: MIT */
/* What every site and every process did: in the open slice and since the start, with exact peaks.
 *
 * Live at the peak, by site, in O(1) an event: each new peak of a process has a number. A site that changes for the
 * first time after the peak with that number notes its figures from before the change; a site that did not change
 * since has them still. The same again for the recording as a whole, where an inherited block counts in
 * the process that allocated it and a process's blocks go when it ends.
 *
 *   slice figures + total figures = since the start         live = inherited + allocated - released */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"
#include "ledger/ended.h"
#include "ledger/site_moves.h"
#include "trace/model.h"

struct trace_writer;

/* Blocks and bytes together, as deltas or states. */
struct amount {
        int64_t blocks, bytes;
};

/* Two cache lines: an allocation needs the first. */
struct site {
        uint32_t process, stack; /* of the trace */
        uint32_t slice;          /* the figures below belong to this slice; 0 to begin with */
        uint32_t peak_no;        /* the peak that peak_* belong to */
        uint32_t n_allocs, n_frees, n_temporary, n_reallocs;
        uint64_t alloc_bytes, free_bytes;
        int64_t peak_bytes; /* live at the peak, since the slice began */
        int32_t peak_blocks;
        uint32_t all_peak_no;   /* the same for the recording as a whole: of rare's all_peak */
        uint64_t foreign_bytes; /* of free_bytes, n_frees: released by another thread */
        uint32_t n_foreign_frees;
        uint32_t
                n_inherited_frees; /* of n_frees: blocks of an ancestor; and those that passed on to it */
        uint32_t n_life[TRACE_N_LIFE_BUCKETS];
};
_Static_assert(sizeof(struct site) == 128, "two cache lines");

/* What only recordings of several processes need. */
struct site_rare {
        uint64_t inherited_free_bytes;
        struct amount inherited; /* in the slice the process began in; else 0 */
        struct amount gone;      /* own blocks that left with their process */
        struct amount all_peak;  /* own blocks at the recording's peak, since the slice began */
};

struct site_total {
        uint64_t n_allocs, alloc_bytes, n_frees, free_bytes, n_temporary, n_reallocs;
        uint64_t n_inherited, inherited_bytes;
        uint64_t n_inherited_frees, inherited_free_bytes;
        struct amount
                adopted; /* now: inherited, and counts here since its allocator is over (heritage.h) */
        bool is_handed_down; /* it had blocks when its process forked: they may be a child's still */
};

/* What a child started with, by stack. A line becomes a site when the child touches it. */
struct inherited {
        uint32_t stack;
        uint32_t site; /* UINT32_MAX: none yet */
        uint64_t n, bytes;
};
typedef VEC(struct inherited) inherited_vec;

struct peak {
        uint64_t blocks, bytes, ns;
};

/* A process, by trace id. */
struct figures {
        uint32_t process;
        uint32_t slice, first_slice;
        uint32_t peak_no;
        uint32_t n_sites;
        uint32_t first_thread; /* the first that recorded something; TRACE_NO_THREAD: none did */
        bool is_over;
        bool has_adopted; /* blocks that it inherited counted in it some time */
        bool is_filed;    /* over, and what is left of it is in `ended` */
        /* Whose blocks it may have inherited, NULL: nobody's; children, and snapshots for them, that may have its own. */
        struct figures *ancestor;
        uint32_t n_heirs;
        /* Counts that no site has; the sites' are added when the slice ends, live and peak stand below.
         * n_complete_stacks counts the others until then. */
        struct trace_counts in_slice;
        struct trace_counts total; /* up to the slice's begin */
        struct amount live, own;   /* own: without inherited blocks */
        struct peak peak_in_slice, peak;
        inherited_vec inherited;
        bool inherited_is_sorted;
        VEC(uint32_t) sites; /* its sites */
        struct map index;    /* stack → site */
};

/* Which site a stack had last: spares the look-up as long as one process uses it. */
struct site_hint {
        uint32_t process, site; /* process + 1; 0: none */
};

enum { SITES_PER_PAGE = 512 };

struct sites {
        struct trace_writer *writer;
        VEC(struct site *) pages;   /* of SITES_PER_PAGE: a site never moves */
        uint32_t n_sites;           /* places in use and free ones */
        VEC(uint32_t) free_sites;   /* of processes that are gone */
        VEC(struct site_rare) rare; /* the same index, as in the next */
        VEC(struct site_total) totals;
        VEC(struct site_hint) hints;     /* by stack */
        VEC(struct figures *) processes; /* by trace id; NULL unknown, or gone */
        VEC(struct figures *) over;      /* that are over and not gone yet */
        struct ended ended;              /* what checkpoints need of the others */
        VEC(struct figures *) heirs;     /* alive, of a parent that is over; the eldest first */
        uint32_t main_process;           /* never goes: it answers for events that are nobody's */
        VEC(uint32_t) touched_sites, touched_processes;
        uint32_t slice;  /* counts from 1 */
        bool is_sampled; /* pairs of blocks are not seen: nothing is known of moves */
        bool is_multi;   /* more than one process so far: the recording's own peak is kept apart */
        struct amount all_live;
        struct peak all_peak_in_slice, all_peak;
        uint32_t all_peak_no;
        size_t n_inherited_lines;        /* that are no sites yet */
        size_t n_lines_in_slice;         /* of processes that began in it */
        struct moves moves;              /* of the open slice */
        VEC(struct trace_site) rows;     /* scratch */
        VEC(struct trace_counts) counts; /* scratch */
};

static inline struct site *sites_at(const struct sites *s, uint32_t idx) {
        return &s->pages.items[idx / SITES_PER_PAGE][idx % SITES_PER_PAGE];
}

static inline void sites_prefetch(const struct sites *s, uint32_t idx, bool both_lines) {
        const struct site *x = sites_at(s, idx);

        __builtin_prefetch(x, 1);
        if (both_lines)
                __builtin_prefetch((const char *)x + 64, 1);
}

void sites_init(struct sites *s, struct trace_writer *w);
void sites_done(struct sites *s);
size_t sites_size_bytes(const struct sites *s);

/* A process begins, with what it inherited (taken; NULL: nothing) from ancestor (NULL: nobody). The second process of a
 * recording ends the open slice first. */
struct figures *sites_add_process(struct sites *s, uint32_t process, struct figures *ancestor,
                                  inherited_vec *inherited, uint64_t now_ns);

/* It ends: its blocks leave the sum of the recording. */
void sites_end_process(struct sites *s, struct figures *f, uint64_t now_ns);

/* What a child forked now inherits. */
void sites_snapshot(struct sites *s, struct figures *f, inherited_vec *ret);

/* Its sites stay as long as somebody may release blocks of them. */
static inline struct figures *figures_add_heir(struct figures *f) {
        f->n_heirs++;
        return f;
}

static inline void figures_remove_heir(struct figures *f) {
        if (f)
                f->n_heirs--;
}

void figures_free(struct figures *f);

/* What it inherited of a call path; NULL: nothing. */
struct inherited *figures_find_inherited(struct figures *f, uint32_t stack);

/* After a slice: what nobody needs of processes that are over goes. */
void sites_release_over(struct sites *s);

static inline size_t sites_n_used(const struct sites *s) {
        return s->n_sites - s->free_sites.n;
}

uint32_t sites_find_slow(struct sites *s, struct figures *f, uint32_t stack);

/* The site of (process, stack), made when missing. */
static inline uint32_t sites_find(struct sites *s, struct figures *f, uint32_t stack) {
        if (likely(stack < s->hints.n && s->hints.items[stack].process == f->process + 1))
                return s->hints.items[stack].site;
        return sites_find_slow(s, f, stack);
}

void sites_touch_process(struct sites *s, struct figures *f,
                         uint64_t now_ns); /* begins its figures of this slice */

static inline struct trace_counts *sites_counts(struct sites *s, struct figures *f,
                                                uint64_t now_ns) {
        if (unlikely(f->slice != s->slice))
                sites_touch_process(s, f, now_ns);
        return &f->in_slice;
}

void sites_begin_site(struct sites *s, struct site *x, uint32_t idx);
void sites_note_site_peak(struct sites *s, const struct figures *f, struct site *x, uint32_t idx);

/* Before any change of the site. */
static inline struct site *sites_touch(struct sites *s, const struct figures *f, uint32_t idx) {
        struct site *x = sites_at(s, idx);

        if (unlikely(x->slice != s->slice))
                sites_begin_site(s, x, idx);
        if (unlikely(s->is_multi)) {
                sites_note_site_peak(s, f, x, idx);
        } else if (x->peak_no != f->peak_no) {
                x->peak_no = f->peak_no;
                x->peak_blocks = (int32_t)(x->n_allocs - x->n_frees);
                x->peak_bytes = (int64_t)(x->alloc_bytes - x->free_bytes);
        }
        return x;
}

/* n_blocks: that the block stands for (weights.h), bytes: all of them together; as in all below. */
static inline void sites_alloc(struct sites *s, struct figures *f, uint32_t site, uint32_t n_blocks,
                               uint64_t bytes, uint64_t now_ns, bool is_complete, bool is_realloc) {
        struct trace_counts *c = sites_counts(s, f, now_ns);
        struct site *x = sites_touch(s, f, site);

        x->n_allocs += n_blocks;
        x->alloc_bytes += bytes;
        x->n_reallocs += is_realloc ? n_blocks : 0;
        c->n_complete_stacks += is_complete ? 0 : n_blocks;
        f->live.blocks += n_blocks;
        f->live.bytes += (int64_t)bytes;
        if (unlikely(s->is_multi)) {
                f->own.blocks += n_blocks;
                f->own.bytes += (int64_t)bytes;
                s->all_live.blocks += n_blocks;
                s->all_live.bytes += (int64_t)bytes;
        }
}

static inline unsigned sites_life_bucket(uint64_t age_us) {
        unsigned b = (63 - (unsigned)__builtin_clzll(age_us | 1)) / 2;

        return MIN(b, (unsigned)TRACE_N_LIFE_BUCKETS - 1);
}

/* A release of an ancestor's block: the site of this process for it. */
uint32_t sites_release_inherited(struct sites *s, struct figures *f, uint32_t site,
                                 uint32_t n_blocks, uint64_t bytes, uint64_t now_ns);
void sites_release_own(struct sites *s, struct figures *f, uint32_t n_blocks, uint64_t bytes);

/* site: that allocated the block, perhaps an ancestor's. Temporary, foreign: as far as the caller knows. */
static inline void sites_release(struct sites *s, struct figures *f, uint32_t site,
                                 uint32_t n_blocks, uint64_t bytes, uint64_t now_ns,
                                 uint64_t age_us, bool is_temporary, bool is_foreign) {
        struct site *x;

        sites_counts(s, f, now_ns);
        if (unlikely(s->is_multi)) {
                if (sites_at(s, site)->process != f->process) {
                        site = sites_release_inherited(s, f, site, n_blocks, bytes, now_ns);
                        is_foreign = false; /* no thread of this process allocated it */
                } else
                        sites_release_own(s, f, n_blocks, bytes);
        }
        x = sites_touch(s, f, site);
        x->n_frees += n_blocks;
        x->free_bytes += bytes;
        x->n_temporary += is_temporary ? n_blocks : 0;
        x->n_life[sites_life_bucket(age_us)] += n_blocks;
        if (is_foreign) {
                x->n_foreign_frees += n_blocks;
                x->foreign_bytes += bytes;
        }
        f->live.blocks -= n_blocks;
        f->live.bytes -= (int64_t)bytes;
}

/* Sums of the site's moves in this slice. */
static inline struct trace_move *sites_moves(struct sites *s, uint32_t site) {
        struct trace_move *m = moves_find(&s->moves, site);

        return likely(m) ? m
                         : moves_add(&s->moves, site, sites_at(s, site)->process,
                                     sites_at(s, site)->stack);
}

void sites_note_all_peak(struct sites *s, uint64_t now_ns);

/* After the allocations of one moment: a new peak, perhaps. */
static inline void sites_note_peak(struct sites *s, struct figures *f, uint64_t now_ns) {
        if (f->live.bytes > (int64_t)f->peak_in_slice.bytes) {
                f->peak_in_slice =
                        (struct peak){(uint64_t)f->live.blocks, (uint64_t)f->live.bytes, now_ns};
                f->peak_no++;
        }
        if (unlikely(s->is_multi))
                sites_note_all_peak(s, now_ns);
}

/* What the site and its own blocks gained since the slice began. */
struct amount site_now(const struct sites *s, uint32_t idx);
struct amount site_own_now(const struct sites *s, uint32_t idx);

bool sites_slice_is_dirty(const struct sites *s);
enum sites_checkpoint {
        SITES_CHECKPOINT_WHEN_DUE,
        SITES_CHECKPOINT_UNLESS_NEAR, /* somebody will ask for this moment */
        SITES_CHECKPOINT_ALWAYS,
};
void sites_end_slice(struct sites *s, uint64_t end_ns, enum sites_checkpoint checkpoint);

/* Since the start, the open slice included. */
void sites_get_counts(const struct sites *s, const struct figures *f, struct trace_counts *ret);

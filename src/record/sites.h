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
#include "trace/model.h"

struct trace_writer;

/* Blocks and bytes together, as deltas or states. */
struct amount {
        int64_t blocks, bytes;
};

struct site {
        uint32_t process, stack;       /* of the trace */
        uint32_t slice;                /* the figures below belong to this slice; 0 to begin with */
        uint32_t peak_no, all_peak_no; /* the peak that at_peak, at_all_peak belong to */
        uint32_t n_allocs, n_frees, n_temporary, n_reallocs;
        uint32_t n_inherited_frees; /* of n_frees: blocks of an ancestor */
        uint64_t alloc_bytes, free_bytes, inherited_free_bytes;
        struct amount at_peak, at_all_peak; /* since the slice began */
        struct amount inherited;            /* in the slice the process began in; else 0 */
        struct amount gone;                 /* own blocks that left with their process */
        uint32_t n_life[TRACE_N_LIFE_BUCKETS];
};

struct site_total {
        uint64_t n_allocs, alloc_bytes, n_frees, free_bytes, n_temporary, n_reallocs;
        uint64_t n_inherited, inherited_bytes;
        uint64_t n_inherited_frees, inherited_free_bytes;
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
        bool is_over;
        struct trace_counts in_slice; /* counts alone; live and peak stand below */
        struct trace_counts total;    /* up to the slice's begin */
        struct amount live, own;      /* own: without inherited blocks */
        struct peak peak_in_slice, peak;
        inherited_vec inherited;
        bool inherited_is_sorted;
        VEC(uint32_t) sites; /* its sites */
};

/* Which site a stack had last: spares the look-up as long as one process uses it. */
struct site_hint {
        uint32_t process, site;
};

struct sites {
        struct trace_writer *writer;
        VEC(struct site) list;
        VEC(struct site_total) totals;   /* the same index */
        struct map index;                /* process << 32 | stack → site */
        VEC(struct site_hint) hints;     /* by stack */
        VEC(struct figures *) processes; /* by trace id; NULL unknown */
        VEC(uint32_t) touched_sites, touched_processes;
        uint32_t slice; /* counts from 1 */
        bool is_multi;  /* more than one process so far: the recording's own peak is kept apart */
        struct amount all_live;
        struct peak all_peak_in_slice, all_peak;
        uint32_t all_peak_no;
        size_t n_inherited_lines;        /* that are no sites yet */
        VEC(struct trace_site) rows;     /* scratch */
        VEC(struct trace_counts) counts; /* scratch */
};

void sites_init(struct sites *s, struct trace_writer *w);
void sites_done(struct sites *s);
size_t sites_size_bytes(const struct sites *s);

/* A process begins, with what it inherited (taken; NULL: nothing). The second process of a recording ends
 * the open slice first. */
struct figures *sites_add_process(struct sites *s, uint32_t process, inherited_vec *inherited,
                                  uint64_t now_ns);

/* It ends: its blocks leave the sum of the recording. */
void sites_end_process(struct sites *s, struct figures *f, uint64_t now_ns);

/* What a child forked now inherits. */
void sites_snapshot(struct sites *s, struct figures *f, inherited_vec *ret);

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

struct site_alloc {
        uint64_t size_bytes, now_ns;
        bool is_complete, is_realloc;
};
void sites_alloc(struct sites *s, struct figures *f, uint32_t site, const struct site_alloc *a);

struct site_release {
        uint64_t size_bytes, now_ns, age_us;
        bool is_temporary, is_implicit;
};
/* site: that allocated the block, perhaps an ancestor's. */
void sites_release(struct sites *s, struct figures *f, uint32_t site, const struct site_release *r);

/* After the allocations of one moment: a new peak, perhaps. */
void sites_note_peak(struct sites *s, struct figures *f, uint64_t now_ns);

bool sites_slice_is_dirty(const struct sites *s);
void sites_end_slice(struct sites *s, uint64_t end_ns, bool force_checkpoint);

/* Since the start, the open slice included. */
void sites_get_counts(const struct figures *f, uint32_t slice, struct trace_counts *ret);

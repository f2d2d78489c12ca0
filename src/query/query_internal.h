/* SPDX-License-Identifier: MIT */
/* What the files of query/ share. */
#pragma once

#include "name/name.h"
#include "query/inherited_frees.h"
#include "query/query.h"

struct chosen;
struct pick;

struct query {
        struct trace_reader *reader;
        const struct trace_view *view;
        struct trace_view named; /* view, where its names are not the trace's own */
        uint32_t *symbol_begin;  /* n_locations + 1: where a location's symbols start */
        uint64_t last_end_ns;    /* of the processes; UINT64_MAX: not all ended */
        uint32_t *next_image;    /* n_processes: see query_next_image */
        size_t n_pids;
        char **titles; /* n_titles, one a process: the short form of each; NULL: it has none */
        size_t n_titles;
        struct inherited_frees inherit; /* filled when first needed */
        struct pick *pick;              /* the filter asked with last; NULL: none yet */
        struct names *
                names; /* how functions are called and what is folded away; loaded when first needed */
        bool owns_names;
        struct name_look *
                looks; /* what call paths found out about frames, for the next; NULL: nothing, or they are in use */
        size_t n_learned;       /* wrappers the names knew then */
        struct chosen *chosen;  /* the blocks selected last; NULL: none yet */
        char damage[480];       /* the first thing that could not be read, "" while nothing */
        uint64_t n_event_reads; /* slices whose events were read, each time counted */
        query_progress_fn progress;
        void *progress_ctx;
        uint64_t deadline_ns; /* CLOCK_MONOTONIC; 0: none */
        int stopped; /* why the answer at hand is to end: -ECANCELED, -ETIME; 0: it goes on */
};

void process_names_link_images(struct query *q);
void process_names_read_titles(struct query *q);
void process_names_done(struct query *q);

/* The process of an event's thread; TRACE_NO_PROCESS when it has none. */
static inline uint32_t query_event_process(const struct query *q, const struct trace_event *e) {
        return e->thread < q->view->n_threads ? q->view->threads[e->thread].start.process
                                              : TRACE_NO_PROCESS;
}

/* Tells how far the answer is; false: it is to stop. Whoever reads slices or walks many rows asks after each slice, or
 * QUERY_STEP rows, and leaves its loop; what comes of it is thrown away by the public function it was called by, which
 * ends with query_end. */
bool query_go_on(struct query *q, uint64_t done, uint64_t total);
/* 0, or -ECANCELED or -ETIME when it was told to stop: once, so that the next question is answered. */
int query_end(struct query *q, struct err *reterr);

enum { QUERY_STEP = 2048 };
static inline bool query_go_on_at(struct query *q, size_t i, size_t n) {
        return i % QUERY_STEP || query_go_on(q, i, n);
}

/* Of code without a name its place is that of its function, if the trace has it. */
void query_frame_settle(struct query_frame *f, const struct trace_symbol *symbol);
/* One frame of a location, of those query_location_frames counts. */
struct query_frame query_location_frame(const struct query *q, uint32_t location, size_t frame_idx);

/* The events of a slice. False when they were dropped or are damaged, which is then noted. */
bool query_read_events(struct query *q, size_t slice_idx, const struct trace_event **ret,
                       size_t *ret_n);
/* The same of trace_read_allocs. */
bool query_read_allocs(struct query *q, size_t slice_idx, const struct trace_event **ret,
                       size_t *ret_n);
void query_note_damage(struct query *q, const struct err *e);

/* query_ask with the sites of each process apart. */
int query_ask_split(struct query *q, const struct query_scope *scope, struct query_answer **ret,
                    struct err *reterr);

/* query_ask without the number of sites of processes outside the scope. */
int query_ask_own(struct query *q, const struct query_scope *scope, struct query_answer **ret,
                  struct err *reterr);

/* The first slice that ends behind time_ns. All events of a slice are earlier than its end. */
size_t query_slice_at(const struct query *q, uint64_t time_ns);
/* The first slice that has allocation seq or a later one. */
size_t query_slice_of_seq(const struct query *q, uint64_t seq);

/* True when the window's edges leave the slice whole. */
static inline bool query_slice_is_inside(const struct trace_slice_info *s, uint64_t from_ns,
                                         uint64_t to_ns) {
        return s->begin_ns >= from_ns && s->end_ns <= to_ns;
}

/* Moves the edges of a window that lie in slices whose events were dropped to the nearest moment that is known; returns
 * whether it did. */
bool query_move_edges(const struct query *q, struct query_scope *w);

/* A recording of totals. */
static inline bool query_lacks_events(const struct query *q) {
        return q->view->meta.flags & TRACE_IS_TOTALS;
}

static inline bool query_lacks_blocks(const struct query *q) {
        return q->view->meta.flags & TRACE_LACKS_BLOCKS;
}

static inline bool query_lacks_traffic(const struct query *q) {
        return q->view->meta.flags & TRACE_LACKS_TRAFFIC;
}

static inline bool query_counts_samples(const struct query *q) {
        return q->view->meta.flags & TRACE_COUNTS_SAMPLES;
}

static inline bool query_lacks_peak(const struct query *q) {
        return q->view->meta.flags & TRACE_LACKS_PEAK;
}

static inline bool query_lacks_live(const struct query *q) {
        return q->view->meta.flags & TRACE_LACKS_LIVE;
}

static inline bool query_lacks_time(const struct query *q) {
        return q->view->meta.flags & TRACE_LACKS_TIME;
}

/* When the process ended; UINT64_MAX while it has not. */
static inline uint64_t query_process_end_ns(const struct query *q, uint32_t process) {
        const struct trace_process_info *p = &q->view->processes[process];

        return p->has_end ? p->end.end_ns : UINT64_MAX;
}

/* Until when its blocks are part of the sum of all processes: its end. Those that were alive when the recording
 * stopped, or ended last of all, count for ever: the end of the sum is what they held. */
static inline uint64_t query_process_gone_ns(const struct query *q, uint32_t process) {
        const struct trace_process_info *p = &q->view->processes[process];

        return p->has_end && p->end.ended != TRACE_ENDED_STOPPED && p->end.end_ns < q->last_end_ns
                       ? p->end.end_ns
                       : UINT64_MAX;
}

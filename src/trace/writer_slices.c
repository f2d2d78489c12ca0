/* SPDX-License-Identifier: MIT */
/* The end of a slice: its chunks, and what becomes of them. A slice whose events another thread packs is pending: all that is
 * written before them waits in `must`, and nothing else is written until it is settled. */
#include <stdio.h>

#include "trace/rows.h"
#include "trace/slice.h"
#include "trace/writer_state.h"

enum {
        WRITER_MAX_EVENT_BYTES = 8,       /* more is rare, and only costs the detail of a slice */
        WRITER_CALM_EVENTS_PER_MS = 2000, /* slower ones leave time to compress harder */

        /* of a slice that may be pending: fewer events are packed at once, more rows are not copied */
        WRITER_MIN_PENDING_EVENTS = 16384,
        WRITER_MAX_PENDING_ROWS = 8192,
};

/* The first slice has one even without rows. */
static bool writer_needs_move(const struct trace_writer *w) {
        return w->knows_moves && !w->has_move;
}

size_t writer_append_backlog(struct trace_writer *w) {
        const struct trace_backlog *b = &w->backlog;
        struct trace_slice_rows s = {
                .number = w->n_slices,
                .flags = w->slice_flags | (b->n_events ? TRACE_SLIC_UNWRITTEN : 0),
                .n_events = b->n_events,
                .begin_us = b->begin_us,
                .end_us = b->end_us,
                .first_seq = b->first_seq,
                .n_allocs = b->n_allocs,
                .n_unwritten = b->n_events,
                .sites = b->sites.items,
                .n_sites = b->sites.n,
                .counts = b->counts.items,
                .n_counts = b->counts.n,
                .moves = b->moves.items,
                .n_moves = b->moves.n,
                .needs_move = writer_needs_move(w),
        };
        size_t rows_bytes;

        if (!b->n_slices)
                return 0;
        rows_bytes = trace_slice_append_site(w->packer, &w->must, &w->body, &s);
        trace_slice_append_move(w->packer, &w->must, &w->body, &s);
        trace_slice_append_slic(w->packer, &w->must, &w->body, &s);
        return rows_bytes;
}

void writer_note_missing(struct trace_writer *w, uint64_t time_ns, const char *what, uint64_t *n) {
        char text[96];

        if (!*n)
                return;
        snprintf(text, sizeof(text), "%llu %s are missing: the trace could not be written",
                 (unsigned long long)*n, what);
        trace_defs_note(&w->defs, time_ns, text);
        *n = 0;
}

static void writer_fail_slice(struct trace_writer *w, const struct trace_slice_rows *s,
                              uint32_t n_mappings) {
        struct trace_backlog *b = &w->backlog;

        if (!b->n_slices) {
                b->begin_us = s->begin_us;
                b->first_seq = s->first_seq;
        }
        b->end_us = s->end_us;
        b->n_events += s->n_events;
        b->n_allocs += s->n_allocs;
        trace_backlog_add(b, s->sites, s->n_sites, s->counts, s->n_counts);
        trace_backlog_add_moves(b, s->moves, s->n_moves);
        w->n_unwritten += s->n_events;
        w->n_unwritten_mappings += n_mappings;
}

/* The end of a slice in whole microseconds, behind its last event, so that slices and events
 * agree on who is in whose window. */
static uint64_t writer_end_us(const struct trace_writer *w, uint64_t end_ns) {
        uint64_t end_us = end_ns / 1000 + (end_ns % 1000 != 0);

        if (writer_n_events(w))
                end_us = MAX(end_us, writer_last_us(w) + 1);
        return MAX(end_us, w->begin_us);
}

uint64_t trace_slice_begin_ns(const struct trace_writer *w) {
        return w->begin_us * 1000;
}

uint64_t trace_slice_end_ns(const struct trace_writer *w, uint64_t end_ns) {
        return writer_end_us(w, end_ns) * 1000;
}

void trace_keep_moment(struct trace_writer *w, uint64_t end_ns) {
        trace_writer_settle(w); /* a copy of the file is made of what was to stay until then */
        vec_push(&w->moments, end_ns);
}

/* ---- a slice that ends ------------------------------------------------------------------------- */

/* Its events are in `must`, or there are none. */
static void writer_finish_slice(struct trace_writer *w, const struct writer_ending *x) {
        trace_slice_append_slic(w->packer, &w->must, &w->body, &x->s);
        if (writer_write_must(w, x->must_bytes, x->has_room)) {
                w->n_slices = x->s.number + 1;
                w->has_move = w->knows_moves;
                w->rows_bytes += x->rows_bytes;
                trace_backlog_clear(&w->backlog);
                writer_note_missing(w, x->end_ns, "mappings", &w->n_unwritten_mappings);
                writer_note_missing(w, x->end_ns, "samples of time", &w->n_unwritten_ticks);
        } else {
                writer_fail_slice(w, &x->s, x->n_mappings);
                w->n_unwritten_ticks += x->n_ticks;
                w->n_unwritten_ticks_ever += x->n_ticks;
        }
        writer_keep_bound(w);
}

/* Rows are the caller's and the writer's own for the next slice: the pending one has copies. */
static void writer_keep_rows(struct writer_pending *p) {
        struct trace_slice_rows *s = &p->x.s;

        vec_clear(&p->sites);
        vec_clear(&p->counts);
        vec_clear(&p->moves);
        for (size_t i = 0; i < s->n_sites; i++)
                vec_push(&p->sites, s->sites[i]);
        for (size_t i = 0; i < s->n_counts; i++)
                vec_push(&p->counts, s->counts[i]);
        for (size_t i = 0; i < s->n_moves; i++)
                vec_push(&p->moves, s->moves[i]);
        s->sites = p->sites.items;
        s->counts = p->counts.items;
        s->moves = p->moves.items;
}

static bool writer_may_wait(const struct trace_writer *w, const struct writer_ending *x) {
        return w->worker && x->has_room && x->s.n_events >= WRITER_MIN_PENDING_EVENTS &&
               x->s.n_sites + x->s.n_counts + x->s.n_moves <= WRITER_MAX_PENDING_ROWS;
}

/* The events of the slice into `must`, now or by the worker. */
static void writer_pack_events(struct trace_writer *w, const struct writer_ending *x) {
        struct writer_pending *p = &w->pending;
        struct pack_job *j = &p->job;

        writer_flush_stage(w);
        j->slice = x->s.number;
        j->next_first_seq = x->s.first_seq + x->s.n_allocs;
        j->next_begin_us = x->s.end_us;
        j->is_hard = x->is_hard;
        j->is_sampled = w->is_sampled;
        if (writer_may_wait(w, x)) {
                p->x = *x;
                writer_keep_rows(p);
                p->is_open = true;
                pack_worker_begin(w->worker, j);
                return;
        }
        if (w->worker)
                pack_worker_drain(w->worker);
        pack_job_take(j, w->encoder);
        if (x->s.n_events)
                pack_job_run(j, w->packer, &w->must);
        writer_finish_slice(w, x);
}

void trace_writer_settle(struct trace_writer *w) {
        struct writer_pending *p = &w->pending;

        if (!p->is_open)
                return;
        pack_worker_wait(w->worker);
        p->is_open = false;
        buf_bytes(&w->must, p->job.chunk.items, p->job.chunk.n);
        writer_finish_slice(w, &p->x);
}

void trace_end_slice(struct trace_writer *w, uint64_t end_ns, const struct trace_site *sites,
                     size_t n_sites, const struct trace_counts *counts, size_t n_counts) {
        struct writer_ending x = {.end_ns = end_ns};

        trace_writer_settle(w);
        /* next: it may number the slices anew */
        x.has_room =
                writer_make_room(w, w->must.n +
                                            (size_t)WRITER_MAX_EVENT_BYTES * writer_n_events(w) +
                                            w->checkpoint_bytes);
        x.s = (struct trace_slice_rows){
                .number = w->n_slices + (w->backlog.n_slices != 0),
                .flags = w->slice_flags,
                .n_events = writer_n_events(w),
                .begin_us = w->begin_us,
                .end_us = writer_end_us(w, end_ns),
                .first_seq = w->first_seq,
                .n_allocs = writer_n_allocs(w),
                .sites = sites,
                .n_sites = n_sites,
                .counts = counts,
                .n_counts = n_counts,
                .moves = w->moves.items,
                .n_moves = w->moves.n,
                .needs_move = writer_needs_move(w) && !w->backlog.n_slices,
        };
        x.n_mappings = w->defs.mappings.n;
        x.n_ticks = w->ticks.n;
        x.is_hard = !w->is_hurried &&
                    x.s.n_events * 1000 < (x.s.end_us - x.s.begin_us) * WRITER_CALM_EVENTS_PER_MS;
        trace_packer_try_hard(w->packer, x.is_hard);
        if (x.has_room) /* else definitions wait as rows, which take less than a chunk a slice */
                trace_defs_flush(&w->defs, w->packer, &w->must);
        x.must_bytes = w->must.n;
        trace_defs_flush_mappings(&w->defs, w->packer, &w->must);
        trace_append_ticks(w->packer, &w->must, &w->ticks, false, 0, 0);
        x.rows_bytes = writer_append_backlog(w);
        x.rows_bytes += trace_slice_append_site(w->packer, &w->must, &w->body, &x.s);
        trace_slice_append_move(w->packer, &w->must, &w->body, &x.s);
        writer_pack_events(w, &x);
        vec_clear(&w->moves);

        w->first_seq += x.s.n_allocs; /* as the job has it */
        w->begin_us = x.s.end_us;
        writer_begin_events(w);
}

/* ---- the worker -------------------------------------------------------------------------------- */

bool trace_writer_set_worker(struct trace_writer *w, bool on) {
        if (on && !w->worker) {
                w->worker = pack_worker_new(w->encoder);
        } else if (!on && w->worker) {
                trace_writer_settle(w);
                pack_worker_drain(w->worker);
                w->worker = pack_worker_free(w->worker);
                vec_free(&w->pending.job.chunk);
                vec_free(&w->pending.sites);
                vec_free(&w->pending.counts);
                vec_free(&w->pending.moves);
        }
        return w->worker;
}

void trace_writer_hurry(struct trace_writer *w) {
        w->is_hurried = true;
}

void writer_look_pending(struct trace_writer *w) {
        if (w->pending.is_open && pack_worker_is_done(w->worker))
                trace_writer_settle(w);
}

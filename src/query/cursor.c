/* SPDX-License-Identifier: MIT */
/* Rows that are pulled. A cursor asks with a query of its own over the shared reader, so that what it has read stays until it
 * reads on, whatever else is asked meanwhile. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "query/block.h"
#include "query/block_life.h"
#include "query/cursor.h"
#include "query/pick.h"
#include "query/query_internal.h"

struct query_cursor {
        struct query *asked; /* whoever opened it: when to stop is its to say */
        struct query *q;     /* its own */
        struct query_scope scope;
        enum query_rows rows;
        const struct pick *pick;
        bool is_exact;
        struct query_row row;
        struct block_stream blocks;
        /* events and rows of the slice before next_slice; or an array that is all there is */
        size_t next_slice, n, i;
        const struct trace_event *events;
        const struct trace_site *sites;
        struct query_mapping *mappings;
        const struct trace_mapping *calls;
        struct query_thread *threads;
        uint64_t *
                selected; /* events: a bit for each block; NULL: conditions are on no single block */
        uint64_t n_selected;
};

static const char *const rows_names[QUERY_N_ROWS] = {
        [QUERY_ROWS_BLOCKS] = "blocks",   [QUERY_ROWS_EVENTS] = "events",
        [QUERY_ROWS_SITES] = "sites",     [QUERY_ROWS_MAPPINGS] = "mappings",
        [QUERY_ROWS_THREADS] = "threads", [QUERY_ROWS_MAPPING_CALLS] = "mapping-calls",
        [QUERY_ROWS_NOTES] = "notes",
};

const char *query_rows_name(enum query_rows rows) {
        return rows_names[rows];
}

static bool in_scope(const struct query_cursor *c, uint32_t process) {
        return c->scope.process == QUERY_ALL || c->scope.process == process;
}

/* ---- slice by slice -------------------------------------------------------------------------- */

/* The next slice that overlaps the window; false: there is none, or it is to stop. */
static bool cursor_next_slice(struct query_cursor *c, size_t *ret) {
        const struct trace_slice_info *info = trace_slice(c->q->reader, c->next_slice);

        if (!info || info->begin_ns >= c->scope.to_ns ||
            !query_go_on(c->q, c->next_slice, c->q->view->n_slices))
                return false;
        *ret = c->next_slice++;
        c->i = c->n = 0;
        return true;
}

static bool is_selected(const struct query_cursor *c, uint64_t seq, uint32_t stack) {
        if (c->selected)
                return seq < c->n_selected && (c->selected[seq / 64] >> seq % 64 & 1);
        return pick_has_stack(c->pick, stack);
}

/* Fills in the row too. */
static bool event_is_told(struct query_cursor *c, const struct trace_event *e, uint32_t process) {
        struct query_event *row = &c->row.event;

        *row = (struct query_event){e, process, true, e->op == TRACE_REALLOC};
        if (e->time_ns < c->scope.from_ns || !in_scope(c, process))
                return false;
        if (!c->pick)
                return true;
        if (process >= c->q->view->n_processes || !pick_has_process(c->pick, process))
                return false;
        switch ((enum trace_op)e->op) {
        case TRACE_ALLOC:
        case TRACE_FREE: return is_selected(c, e->seq, e->stack);
        case TRACE_REALLOC:
                row->is_selected = is_selected(c, e->seq, e->stack);
                row->is_old_selected = is_selected(c, e->old_seq, e->old_stack);
                return row->is_selected || row->is_old_selected;
        case TRACE_OTHER:
                return e->other == TRACE_IMPLICIT_FREE && is_selected(c, e->seq, e->stack);
        }
        return false;
}

static bool next_event(struct query_cursor *c) {
        for (size_t slice_idx;;) {
                while (c->i < c->n && c->events[c->i].time_ns < c->scope.to_ns) {
                        const struct trace_event *e = &c->events[c->i++];
                        uint32_t process = query_event_process(c->q, e);

                        if (event_is_told(c, e, process))
                                return true;
                }
                if (!cursor_next_slice(c, &slice_idx))
                        return false;
                c->is_exact &= query_read_events(c->q, slice_idx, &c->events, &c->n);
        }
}

static bool select_life(void *ctx, const struct query_life *l) {
        struct query_cursor *c = ctx;

        if (l->seq >= c->n_selected) {
                uint64_t n = MAX(2 * c->n_selected, (l->seq / 64 + 1) * 64);
                uint64_t *bits = realloc(c->selected, n / 64 * sizeof(bits[0]));

                if (!bits)
                        abort();
                memset(&bits[c->n_selected / 64], 0, (n - c->n_selected) / 64 * sizeof(bits[0]));
                c->selected = bits;
                c->n_selected = n;
        }
        c->selected[l->seq / 64] |= 1ull << l->seq % 64;
        return true;
}

static int begin_events(struct query_cursor *c, struct err *reterr) {
        c->next_slice = query_slice_at(c->q, c->scope.from_ns);
        if (!c->pick || !c->pick->needs_events)
                return 0;
        c->n_selected = 64;
        c->selected = calloc(1, sizeof(c->selected[0]));
        if (!c->selected)
                abort();
        return life_scan(c->q, &c->scope, LIFE_NO_PEAK, select_life, c, &c->is_exact, reterr);
}

static int begin_sites(struct query_cursor *c, struct err *reterr) {
        c->next_slice = query_slice_at(c->q, c->scope.from_ns);
        if (c->pick && c->pick->needs_events)
                return err_set(reterr, -EINVAL,
                               "rows of slices do not tell single blocks apart: use conditions on "
                               "the call path or the process");
        return 0;
}

static bool next_site(struct query_cursor *c) {
        for (size_t slice_idx;;) {
                struct err e = {0};

                while (c->i < c->n) {
                        const struct trace_site *row = &c->sites[c->i++];

                        if (!in_scope(c, row->process) ||
                            !pick_has_process(c->pick, row->process) ||
                            !pick_has_stack(c->pick, row->stack))
                                continue;
                        c->row.site.site = row;
                        return true;
                }
                if (!cursor_next_slice(c, &slice_idx))
                        return false;
                if (trace_read_sites(c->q->reader, slice_idx, &c->sites, &c->n, &e) < 0) {
                        c->is_exact = false;
                        c->n = 0;
                } else {
                        const struct trace_slice_info *info = trace_slice(c->q->reader, slice_idx);

                        c->row.site = (struct query_slice_site){
                                .slice_idx = slice_idx,
                                .begin_ns = info->begin_ns,
                                .end_ns = info->end_ns,
                                .is_whole = query_slice_is_inside(info, c->scope.from_ns,
                                                                  c->scope.to_ns),
                        };
                }
        }
}

/* ---- all at once ----------------------------------------------------------------------------- */

static bool next_mapping(struct query_cursor *c) {
        if (c->i == c->n)
                return false;
        c->row.mapping = c->mappings[c->i++];
        return true;
}

static bool next_thread(struct query_cursor *c) {
        if (c->i == c->n)
                return false;
        c->row.thread = c->threads[c->i++];
        return true;
}

static bool next_call(struct query_cursor *c) {
        while (c->i < c->n) {
                const struct trace_mapping *m = &c->calls[c->i++];

                if (!query_go_on_at(c->q, c->i, c->n)) {
                        c->i--;
                        return false;
                }
                if (m->time_ns < c->scope.from_ns || m->time_ns >= c->scope.to_ns ||
                    !in_scope(c, m->process) || !pick_has_process(c->pick, m->process) ||
                    !pick_has_stack(c->pick, m->stack))
                        continue;
                c->row.mapping_call = m;
                return true;
        }
        return false;
}

static bool next_note(struct query_cursor *c) {
        while (c->i < c->n) {
                const struct trace_note *note = &c->q->view->notes[c->i++];

                if (note->time_ns < c->scope.from_ns || note->time_ns >= c->scope.to_ns)
                        continue;
                c->row.note = note;
                return true;
        }
        return false;
}

/* ---- any of them ----------------------------------------------------------------------------- */

static int cursor_begin(struct query_cursor *c, struct err *reterr) {
        struct query_mapped sum;

        switch (c->rows) {
        case QUERY_ROWS_BLOCKS: return block_stream_init(&c->blocks, c->q, &c->scope, reterr);
        case QUERY_ROWS_EVENTS: return begin_events(c, reterr);
        case QUERY_ROWS_SITES: return begin_sites(c, reterr);
        case QUERY_ROWS_MAPPINGS:
                return query_mappings(c->q, &c->scope, &c->mappings, &c->n, &sum, reterr);
        case QUERY_ROWS_MAPPING_CALLS:
                return trace_read_mappings(c->q->reader, &c->calls, &c->n, reterr);
        case QUERY_ROWS_THREADS:
                return query_threads(c->q, &c->scope, UINT64_MAX, &c->threads, &c->n, &c->is_exact,
                                     reterr);
        case QUERY_ROWS_NOTES: c->n = c->q->view->n_notes; return 0;
        case QUERY_N_ROWS: break;
        }
        return err_set(reterr, -EINVAL, "there are no such rows");
}

/* As whoever asked wants it now. */
static void take_limits(struct query_cursor *c) {
        query_set_progress(c->q, c->asked->progress, c->asked->progress_ctx);
        query_set_deadline(c->q, c->asked->deadline_ns);
}

int query_cursor_open(struct query *q, const struct query_scope *scope, enum query_rows rows,
                      struct query_cursor **ret, struct err *reterr) {
        _cleanup_(query_cursor_freep) struct query_cursor *c = calloc(1, sizeof(*c));
        int r;

        if (!c)
                abort();
        c->asked = q;
        c->q = query_open_shared(q);
        c->scope = *scope;
        c->rows = rows;
        c->is_exact = true;
        query_set_names(c->q, query_names(q));
        take_limits(c);
        r = pick_get(c->q, scope->filter, &c->pick, reterr);
        if (r >= 0)
                r = cursor_begin(c, reterr);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(c);
        return 0;
}

static bool next_row(struct query_cursor *c) {
        switch (c->rows) {
        case QUERY_ROWS_EVENTS: return next_event(c);
        case QUERY_ROWS_SITES: return next_site(c);
        case QUERY_ROWS_MAPPINGS: return next_mapping(c);
        case QUERY_ROWS_MAPPING_CALLS: return next_call(c);
        case QUERY_ROWS_THREADS: return next_thread(c);
        case QUERY_ROWS_NOTES: return next_note(c);
        case QUERY_ROWS_BLOCKS:
        case QUERY_N_ROWS: break;
        }
        return false;
}

int query_cursor_next(struct query_cursor *c, const struct query_row **ret, struct err *reterr) {
        int r;

        take_limits(c);
        if (c->rows == QUERY_ROWS_BLOCKS)
                r = block_stream_next(&c->blocks, &c->row.block, reterr);
        else
                r = next_row(c) ? 1 : query_end(c->q, reterr);
        if (r > 0)
                *ret = &c->row;
        return r;
}

bool query_cursor_is_exact(const struct query_cursor *c) {
        return c->is_exact && !c->q->damage[0];
}

struct query_cursor *query_cursor_free(struct query_cursor *c) {
        if (!c)
                return NULL;
        if (c->rows == QUERY_ROWS_BLOCKS)
                block_stream_done(&c->blocks);
        free(c->mappings);
        free(c->threads);
        free(c->selected);
        query_free(c->q);
        free(c);
        return NULL;
}

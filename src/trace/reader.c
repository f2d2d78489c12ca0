/* SPDX-License-Identifier: MIT */
/* Reads what is asked for: rows of slices and checkpoints, events. How a trace is opened: reader_store.c. */
#include "trace/reader_store.h"

#include <errno.h>
#include <string.h>

enum { READER_MAX_KEPT_BYTES = 8 << 20 };

/* ---- asking ---------------------------------------------------------------------------------- */

const struct trace_view *trace_view(const struct trace_reader *t) {
        return &t->view;
}

const struct trace_slice_info *trace_slice(const struct trace_reader *t, size_t slice_idx) {
        return slice_idx < t->store->slices.n ? &t->store->slices.items[slice_idx] : NULL;
}

int trace_reader_fd(const struct trace_reader *t) {
        return t->store->fd;
}

uint64_t trace_bytes_read(const struct trace_reader *t) {
        return t->bytes_read;
}

static int reader_check_slice(const struct trace_reader *t, size_t slice_idx, struct err *reterr) {
        if (slice_idx < t->store->slices.n)
                return 0;
        return err_set(reterr, -ERANGE, "there is no slice %zu in the trace", slice_idx);
}

/* A count of rows from a head may be held against the bytes that are to hold them. */
static int reader_check_rows(const struct trace_chunk *c, uint32_t n, struct err *reterr) {
        if (n <= c->stored_bytes)
                return 0;
        return trace_chunk_bad(c, "it claims more rows than it can hold", reterr);
}

int trace_read_sites(struct trace_reader *t, size_t slice_idx, const struct trace_site **ret,
                     size_t *ret_n, struct err *reterr) {
        const struct trace_chunk *c;
        struct bytes_reader r;
        uint32_t n;
        int error;

        error = reader_check_slice(t, slice_idx, reterr);
        if (error < 0)
                return error;
        vec_clear(&t->sites);
        *ret = t->sites.items;
        *ret_n = 0;
        if (!t->store->slices.items[slice_idx].n_sites)
                return 0;
        if (t->store->places.items[slice_idx].site == NO_CHUNK)
                return err_set(reterr, -EBADMSG, "the rows of slice %zu are missing", slice_idx);
        c = &t->store->list.chunks.items[t->store->places.items[slice_idx].site];
        n = bytes_le32(c->head + 4);
        error = reader_check_rows(c, n, reterr);
        if (error == 0)
                error = reader_read(t, c, reterr);
        if (error < 0)
                return error;
        r = bytes_reader_of(t->body.raw.items, t->body.raw.n);
        error = trace_decode_sites(&r, c->version, n, t->view.n_processes, t->view.n_stacks,
                                   &t->sites);
        if (error)
                return trace_chunk_bad(c, "its rows are not valid", reterr);
        *ret = t->sites.items;
        *ret_n = t->sites.n;
        return 0;
}

static void reader_keep_counts(struct trace_reader *t, size_t slice_idx) {
        size_t n_bytes = t->counts.n * sizeof(t->counts.items[0]);
        struct trace_counts *kept;

        if (n_bytes == 0 || t->n_kept_bytes + n_bytes > READER_MAX_KEPT_BYTES)
                return;
        if (!t->kept_arena)
                t->kept_arena = arena_new();
        while (t->kept_counts.n < t->store->slices.n)
                vec_push(&t->kept_counts, NULL);
        kept = arena_alloc(t->kept_arena, n_bytes);
        memcpy(kept, t->counts.items, n_bytes);
        t->kept_counts.items[slice_idx] = kept;
        t->n_kept_bytes += n_bytes;
}

int trace_read_counts(struct trace_reader *t, size_t slice_idx, const struct trace_counts **ret,
                      size_t *ret_n, struct err *reterr) {
        const struct trace_chunk *c;
        struct bytes_reader r;
        uint32_t n;
        int error;

        error = reader_check_slice(t, slice_idx, reterr);
        if (error < 0)
                return error;
        c = &t->store->list.chunks.items[t->store->places.items[slice_idx].slic];
        n = t->store->slices.items[slice_idx].n_counts;
        if (slice_idx < t->kept_counts.n && t->kept_counts.items[slice_idx]) {
                *ret = t->kept_counts.items[slice_idx];
                *ret_n = n;
                return 0;
        }
        error = reader_check_rows(c, n, reterr);
        if (error == 0)
                error = reader_read(t, c, reterr);
        if (error < 0)
                return error;
        r = bytes_reader_of(t->body.raw.items, t->body.raw.n);
        error = trace_decode_counts(&r, n, t->view.n_processes, &t->counts);
        if (error || bytes_left(&r))
                return trace_chunk_bad(c, "its counts are not valid", reterr);
        reader_keep_counts(t, slice_idx);
        *ret = t->counts.items;
        *ret_n = t->counts.n;
        return 0;
}

int trace_read_moves(struct trace_reader *t, size_t slice_idx, const struct trace_move **ret,
                     size_t *ret_n, struct err *reterr) {
        const struct trace_chunk *c;
        struct bytes_reader r;
        uint32_t n;
        int error;

        error = reader_check_slice(t, slice_idx, reterr);
        if (error < 0)
                return error;
        *ret = NULL;
        *ret_n = 0;
        if (t->store->places.items[slice_idx].move == NO_CHUNK)
                return 0;
        c = &t->store->list.chunks.items[t->store->places.items[slice_idx].move];
        n = bytes_le32(c->head + 4);
        error = reader_check_rows(c, n, reterr);
        if (error == 0)
                error = reader_read(t, c, reterr);
        if (error < 0)
                return error;
        r = bytes_reader_of(t->body.raw.items, t->body.raw.n);
        error = trace_decode_moves(&r, n, t->view.n_processes, t->view.n_stacks, &t->moves);
        if (error)
                return trace_chunk_bad(c, "its rows are not valid", reterr);
        *ret = t->moves.items;
        *ret_n = t->moves.n;
        return 0;
}

/* The newest checkpoint at or before slice_idx, or NULL. */
static const struct checkpoint_place *reader_find_checkpoint(const struct trace_reader *t,
                                                             size_t slice_idx) {
        size_t lo = 0, hi = t->store->checkpoints.n;

        while (lo < hi) {
                size_t mid = lo + (hi - lo) / 2;

                if (t->store->checkpoints.items[mid].slice_idx <= slice_idx)
                        lo = mid + 1;
                else
                        hi = mid;
        }
        return lo ? &t->store->checkpoints.items[lo - 1] : NULL;
}

static int reader_decode_checkpoint(struct trace_reader *t, const struct trace_chunk *c) {
        struct bytes_reader r = bytes_reader_of(t->body.raw.items, t->body.raw.n), counts;
        uint64_t counts_bytes = bytes_varint(&r);
        const uint8_t *p =
                counts_bytes <= bytes_left(&r) ? bytes_take(&r, (size_t)counts_bytes) : NULL;
        int error;

        if (!p)
                return TRACE_E_BAD_PAYLOAD;
        counts = bytes_reader_of(p, (size_t)counts_bytes);
        error = trace_decode_counts(&counts, bytes_le32(c->head + 8), t->view.n_processes,
                                    &t->checkpoint_counts);
        if (!error && bytes_left(&counts))
                error = TRACE_E_BAD_PAYLOAD;
        if (error)
                return error;
        return trace_decode_sites(&r, c->version, bytes_le32(c->head + 4), t->view.n_processes,
                                  t->view.n_stacks, &t->checkpoint_sites);
}

int trace_read_checkpoint(struct trace_reader *t, size_t slice_idx, size_t *ret_slice,
                          const struct trace_site **ret_sites, size_t *ret_n_sites,
                          const struct trace_counts **ret_counts, size_t *ret_n_counts,
                          struct err *reterr) {
        const struct checkpoint_place *place = reader_find_checkpoint(t, slice_idx);
        const struct trace_chunk *c;
        int error;

        vec_clear(&t->checkpoint_sites);
        vec_clear(&t->checkpoint_counts);
        if (place) {
                c = &t->store->list.chunks.items[place->chunk];
                error = reader_check_rows(c, MAX(bytes_le32(c->head + 4), bytes_le32(c->head + 8)),
                                          reterr);
                if (error == 0)
                        error = reader_read(t, c, reterr);
                if (error < 0)
                        return error;
                error = reader_decode_checkpoint(t, c);
                if (error)
                        return trace_chunk_bad(c, "its rows are not valid", reterr);
        }
        *ret_slice = place ? place->slice_idx : SIZE_MAX;
        *ret_sites = t->checkpoint_sites.items;
        *ret_n_sites = t->checkpoint_sites.n;
        *ret_counts = t->checkpoint_counts.items;
        *ret_n_counts = t->checkpoint_counts.n;
        return 0;
}

static int reader_events(struct trace_reader *t, size_t slice_idx, bool only_allocs,
                         const struct trace_event **ret, size_t *ret_n, struct err *reterr) {
        const struct trace_chunk *c;
        int error;

        error = reader_check_slice(t, slice_idx, reterr);
        if (error < 0)
                return error;
        *ret = NULL;
        *ret_n = 0;
        if (t->store->places.items[slice_idx].evts == NO_CHUNK)
                return 0;
        c = &t->store->list.chunks.items[t->store->places.items[slice_idx].evts];
        error = reader_read(t, c, reterr);
        if (error < 0)
                return error;
        if (!t->decoder)
                t->decoder = trace_decoder_new();
        error = trace_decode_events(t->decoder, c, &t->body, t->view.n_threads, t->view.n_stacks,
                                    only_allocs, ret, ret_n);
        if (error)
                return trace_chunk_bad(c, "its events are not valid", reterr);
        return 0;
}

int trace_read_events(struct trace_reader *t, size_t slice_idx, const struct trace_event **ret,
                      size_t *ret_n, struct err *reterr) {
        return reader_events(t, slice_idx, false, ret, ret_n, reterr);
}

int trace_read_allocs(struct trace_reader *t, size_t slice_idx, const struct trace_event **ret,
                      size_t *ret_n, struct err *reterr) {
        return reader_events(t, slice_idx, true, ret, ret_n, reterr);
}

bool trace_seq_time(const struct trace_reader *t, uint64_t seq, uint64_t *ret_begin_ns,
                    uint64_t *ret_end_ns) {
        size_t low = 0, high = t->store->slices.n;
        const struct trace_slice_info *s;

        while (low < high) { /* the last slice with first_seq <= seq */
                size_t mid = low + (high - low) / 2;

                if (t->store->slices.items[mid].first_seq <= seq)
                        low = mid + 1;
                else
                        high = mid;
        }
        if (!low)
                return false;
        s = &t->store->slices.items[low - 1];
        if (seq - s->first_seq >= s->n_allocs)
                return false;
        *ret_begin_ns = s->begin_ns;
        *ret_end_ns = s->end_ns;
        return true;
}

int trace_read_samples(struct trace_reader *t, const struct trace_sample **ret, size_t *ret_n,
                       struct err *reterr) {
        reader_load_kind(t, TRACE_SMPL, &t->store->has_samples);
        *ret = t->store->tables.samples.items;
        *ret_n = t->store->tables.samples.n;
        return 0;
}

int trace_read_mappings(struct trace_reader *t, const struct trace_mapping **ret, size_t *ret_n,
                        struct err *reterr) {
        reader_load_kind(t, TRACE_MAPS, &t->store->has_mappings);
        *ret = t->store->tables.mappings.items;
        *ret_n = t->store->tables.mappings.n;
        return 0;
}

int trace_read_residency(struct trace_reader *t, const struct trace_residency **ret, size_t *ret_n,
                         struct err *reterr) {
        reader_load_kind(t, TRACE_RESI, &t->store->has_residency);
        *ret = t->store->tables.residency.items;
        *ret_n = t->store->tables.residency.n;
        return 0;
}

size_t trace_n_graphs(const struct trace_reader *t) {
        return t->store->graphs.n;
}

const struct trace_graph *trace_graph(const struct trace_reader *t, size_t graph_idx) {
        return graph_idx < t->store->graphs.n ? &t->store->graphs.items[graph_idx].info : NULL;
}

int trace_read_graph(struct trace_reader *t, size_t graph_idx, bytes_buf *ret, struct err *reterr) {
        const struct graph_place *g;

        if (graph_idx >= t->store->graphs.n)
                return err_set(reterr, -ERANGE, "there is no graph %zu in the trace", graph_idx);
        g = &t->store->graphs.items[graph_idx];
        for (uint32_t i = 0; i < g->n_parts; i++) {
                int r = reader_read(t, &t->store->list.chunks.items[g->first_chunk + i], reterr);

                if (r < 0)
                        return r;
                buf_bytes(ret, t->body.raw.items, t->body.raw.n);
        }
        return 0;
}

size_t trace_n_bills(const struct trace_reader *t) {
        return t->store->bills.n;
}

const struct trace_bill *trace_bill(const struct trace_reader *t, size_t bill_idx) {
        return bill_idx < t->store->bills.n ? &t->store->bills.items[bill_idx].info : NULL;
}

int trace_read_bill(struct trace_reader *t, size_t bill_idx, bytes_buf *ret, struct err *reterr) {
        int r;

        if (bill_idx >= t->store->bills.n)
                return err_set(reterr, -ERANGE, "there is no bill %zu in the trace", bill_idx);
        r = reader_read(t, &t->store->list.chunks.items[t->store->bills.items[bill_idx].chunk],
                        reterr);
        if (r >= 0)
                buf_bytes(ret, t->body.raw.items, t->body.raw.n);
        return r < 0 ? r : 0;
}

/* Those of a slice that is not whole wait for it: until then there is no time that they are of. */
size_t trace_n_tick_spans(const struct trace_reader *t) {
        const struct trace_store *s = t->store;
        size_t n = s->tick_spans.n, n_slices = s->slices.n;
        ssize_t last = n_slices ? s->places.items[n_slices - 1].slic : -1;
        uint64_t end_ns = n_slices ? s->slices.items[n_slices - 1].end_ns : 0;

        while (!s->list.finished && n && (ssize_t)s->tick_spans.items[n - 1].chunk > last &&
               s->tick_spans.items[n - 1].info.end_ns > end_ns)
                n--;
        return n;
}

const struct trace_tick_span *trace_tick_span(const struct trace_reader *t, size_t span_idx) {
        return span_idx < t->store->tick_spans.n ? &t->store->tick_spans.items[span_idx].info
                                                 : NULL;
}

int trace_read_ticks(struct trace_reader *t, size_t span_idx, const struct trace_tick **ret,
                     size_t *ret_n, struct err *reterr) {
        const struct trace_chunk *c;
        int r;

        *ret = NULL;
        *ret_n = 0;
        if (span_idx >= t->store->tick_spans.n)
                return err_set(reterr, -ERANGE, "there is no span %zu of ticks in the trace",
                               span_idx);
        c = &t->store->list.chunks.items[t->store->tick_spans.items[span_idx].chunk];
        r = reader_read(t, c, reterr);
        if (r < 0)
                return r;
        if (trace_decode_ticks(&t->body, &t->store->tick_spans.items[span_idx].info,
                               t->view.n_threads, t->view.n_stacks, &t->ticks))
                return trace_chunk_bad(c, "its ticks are not valid", reterr);
        *ret = t->ticks.items;
        *ret_n = t->ticks.n;
        return 0;
}

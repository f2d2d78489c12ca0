/* SPDX-License-Identifier: MIT */
/* Holds rows, counts and checkpoints against the events and against each other. */
#include <stddef.h>

#include "verify/verify_state.h"

struct verify_site *verify_site_at(struct verify *v, uint32_t process, uint32_t stack) {
        bool added;
        uint64_t *place =
                map_put(&v->site_by_key, (uint64_t)process << 32 | stack, v->sites.n, &added);

        if (added) {
                struct verify_site *s = vec_add(&v->sites);

                s->row.process = s->events.process = process;
                s->row.stack = s->events.stack = stack;
        }
        return &v->sites.items[*place];
}

static void site_add(struct trace_site *t, const struct trace_site *s) {
        t->n_allocs += s->n_allocs;
        t->alloc_bytes += s->alloc_bytes;
        t->n_frees += s->n_frees;
        t->free_bytes += s->free_bytes;
        t->n_temporary += s->n_temporary;
        t->n_reallocs += s->n_reallocs;
        t->n_inherited += s->n_inherited;
        t->inherited_bytes += s->inherited_bytes;
        t->n_inherited_frees += s->n_inherited_frees;
        t->inherited_free_bytes += s->inherited_free_bytes;
}

/* ---- SITE ------------------------------------------------------------------------------------ */

static void total_add(struct verify *v, const struct trace_site *s) {
        bool added;
        uint64_t *place = map_put(&v->total_by_key, (uint64_t)s->process << 32 | s->stack,
                                  v->totals.n, &added);

        if (added) {
                struct trace_site *t = vec_add(&v->totals);

                t->process = s->process;
                t->stack = s->stack;
                vec_add(&v->released);
        }
        site_add(&v->totals.items[*place], s);
}

static bool check_row(struct verify *v, const struct trace_site *s) {
        uint64_t n_life = 0;

        for (int i = 0; i < TRACE_N_LIFE_BUCKETS; i++)
                n_life += s->n_life[i];
        if (n_life != (v->meta_flags & TRACE_IS_TOTALS ? 0 : s->n_frees))
                return verify_bad(v, TRACE_E_BAD_ROW,
                                  "process %u stack %u: %llu frees, but lifetimes of %llu",
                                  s->process, s->stack, (unsigned long long)s->n_frees,
                                  (unsigned long long)n_life);
        if (s->n_temporary > s->n_frees || s->n_reallocs > s->n_allocs)
                return verify_bad(
                        v, TRACE_E_BAD_ROW,
                        "process %u stack %u: more temporary or reallocated blocks than allocations",
                        s->process, s->stack);
        return true;
}

bool verify_site_chunk(struct verify *v) {
        struct bytes_reader r = bytes_reader_of(v->raw.items, v->raw.n);
        verify_site_rows rows = {0};
        uint32_t n = bytes_le32(v->head + 4);
        bool ok;

        if (v->head_bytes != TRACE_SITE_HEAD_BYTES)
                return verify_bad(v, TRACE_E_BAD_PAYLOAD, "a head of %u bytes", v->head_bytes);
        if (n > v->stored_bytes)
                return verify_bad(v, TRACE_E_TOO_LARGE, "claims %u rows in %u bytes", n,
                                  v->stored_bytes);
        if (v->has_site || v->has_move || v->has_evts || bytes_le32(v->head) != v->n_slices)
                return verify_bad(v, TRACE_E_BAD_ORDER, "rows of slice %u do not belong here",
                                  bytes_le32(v->head));
        ok = verify_parse_sites(v, &r, n, &rows);
        for (size_t i = 0; i < rows.n && ok; i++) {
                struct trace_site *s = &rows.items[i];

                check_row(v, s);
                verify_site_at(v, s->process, s->stack)->row = *s;
                total_add(v, s);
        }
        v->has_site = true;
        v->has_inherited_frees = v->header[TRACE_VERSION_OFF] == TRACE_ROWS_VERSION;
        vec_free(&rows);
        return ok;
}

/* ---- SLIC ------------------------------------------------------------------------------------ */

static bool same(struct verify *v, enum trace_error error, const char *who, uint32_t process,
                 uint32_t stack, const char *what, uint64_t row, uint64_t implied) {
        if (row == implied)
                return true;
        return verify_bad(v, error, "%s of process %u stack %u: %s is %llu, should be %llu", who,
                          process, stack, what, (unsigned long long)row,
                          (unsigned long long)implied);
}

/* Of the blocks a site inherited those that count elsewhere no more: it has released them, or they have passed on to it. Since
 * the start they are at least the ones that it released and at most all. */
static bool check_inherited(struct verify *v, const struct verify_site *s) {
        const struct trace_site *t;
        struct verify_released *x;
        uint64_t place;

        if (!map_get(&v->total_by_key, (uint64_t)s->row.process << 32 | s->row.stack, &place))
                return true;
        t = &v->totals.items[place];
        x = &v->released.items[place];
        x->n += s->events.n_inherited_frees;
        x->bytes += s->events.inherited_free_bytes;
        if (t->n_inherited_frees > t->n_inherited || t->inherited_free_bytes > t->inherited_bytes)
                return verify_bad(v, TRACE_E_BAD_ROW,
                                  "process %u stack %u: more inherited blocks freed than inherited",
                                  t->process, t->stack);
        if (!v->lacks_events && (t->n_inherited_frees < x->n || t->inherited_free_bytes < x->bytes))
                return verify_bad(
                        v, TRACE_E_BAD_ROW,
                        "process %u stack %u: n_inherited_frees is %llu so far, should be %llu at least",
                        t->process, t->stack, (unsigned long long)t->n_inherited_frees,
                        (unsigned long long)x->n);
        return true;
}

/* A realloc whose two halves another thread's allocation came between stands as two events, so
 * that n_reallocs may exceed the REALLOCs, never fall short. */
static void check_site(struct verify *v, const struct verify_site *s) {
        const struct trace_site *r = &s->row, *e = &s->events;
        bool ok = same(v, TRACE_E_BAD_ROW, "row", r->process, r->stack, "n_allocs", r->n_allocs,
                       e->n_allocs) &&
                  same(v, TRACE_E_BAD_ROW, "row", r->process, r->stack, "alloc_bytes",
                       r->alloc_bytes, e->alloc_bytes) &&
                  same(v, TRACE_E_BAD_ROW, "row", r->process, r->stack, "n_frees", r->n_frees,
                       e->n_frees) &&
                  same(v, TRACE_E_BAD_ROW, "row", r->process, r->stack, "free_bytes", r->free_bytes,
                       e->free_bytes);

        if (ok && !v->lacks_events)
                same(v, TRACE_E_BAD_ROW, "row", r->process, r->stack, "n_temporary", r->n_temporary,
                     e->n_temporary);
        if (ok && v->has_inherited_frees)
                ok = check_inherited(v, s);
        if (ok && r->n_reallocs < e->n_reallocs)
                same(v, TRACE_E_BAD_ROW, "row", r->process, r->stack, "n_reallocs", r->n_reallocs,
                     e->n_reallocs);
}

/* Sums of the rows of each process: what its counts must add up to. */
static void sum_rows(struct verify *v) {
        for (size_t i = 0; i < v->processes.n; i++)
                memset(&v->processes.items[i].rows, 0, sizeof(struct trace_site));
        for (size_t i = 0; i < v->sites.n; i++)
                site_add(&v->processes.items[v->sites.items[i].row.process].rows,
                         &v->sites.items[i].row);
}

static bool count(struct verify *v, const struct trace_counts *c, const char *what, uint64_t row,
                  uint64_t implied) {
        if (row == implied)
                return true;
        return verify_bad(v, TRACE_E_BAD_ROW, "counts of process %u: %s is %llu, should be %llu",
                          c->process, what, (unsigned long long)row, (unsigned long long)implied);
}

static void check_counts_against_rows(struct verify *v, const struct trace_counts *c,
                                      const struct trace_site *x) {
        count(v, c, "n_allocs", c->n_allocs, x->n_allocs);
        count(v, c, "alloc_bytes", c->alloc_bytes, x->alloc_bytes);
        count(v, c, "n_frees + n_implicit_frees", c->n_frees + c->n_implicit_frees, x->n_frees);
        count(v, c, "n_temporary", c->n_temporary, x->n_temporary);
        count(v, c, "n_reallocs", c->n_reallocs, x->n_reallocs);
        if (c->n_complete_stacks > c->n_allocs)
                count(v, c, "n_complete_stacks", c->n_complete_stacks, c->n_allocs);
}

static void check_counts_against_events(struct verify *v, const struct trace_counts *c,
                                        const struct verify_process *p) {
        const struct trace_counts *e = &p->events;

        count(v, c, "n_implicit_frees", c->n_implicit_frees, e->n_implicit_frees);
        count(v, c, "n_failed", c->n_failed, e->n_failed);
        count(v, c, "n_unknown_frees", c->n_unknown_frees, e->n_unknown_frees);
        count(v, c, "n_prior_frees", c->n_prior_frees, e->n_prior_frees);
        count(v, c, "n_lost", c->n_lost, e->n_lost);
        count(v, c, "n_wrong_sizes", c->n_wrong_sizes, e->n_wrong_sizes);
        /* the peak is the figure at the slice's start or after an allocation, whichever is
         * highest */
        count(v, c, "peak_bytes", c->peak_bytes,
              p->live_bytes + p->rows.inherited_bytes + (uint64_t)p->peak_change_bytes);
        if (p->peak_change_bytes > 0)
                count(v, c, "peak_blocks", c->peak_blocks,
                      p->live_blocks + p->rows.n_inherited + (uint64_t)p->peak_change_blocks);
}

static void check_live(struct verify *v, const struct trace_counts *c,
                       const struct verify_process *p) {
        const struct trace_site *x = &p->rows;
        uint64_t blocks = p->live_blocks + x->n_inherited + x->n_allocs - x->n_frees;
        uint64_t bytes = p->live_bytes + x->inherited_bytes + x->alloc_bytes - x->free_bytes;

        if (c->live_blocks != blocks || c->live_bytes != bytes)
                verify_bad(v, TRACE_E_BAD_LIVE,
                           "process %u ends with %llu blocks, %llu bytes; "
                           "from the slice before follow %llu, %llu",
                           c->process, (unsigned long long)c->live_blocks,
                           (unsigned long long)c->live_bytes, (unsigned long long)blocks,
                           (unsigned long long)bytes);
        if (v->meta_flags & TRACE_IS_TOTALS && c->peak_bytes != MAX(p->live_bytes, bytes))
                verify_bad(v, TRACE_E_BAD_LIVE,
                           "process %u: its peak is neither its begin nor its end", c->process);
        if (c->peak_bytes < c->live_bytes)
                verify_bad(v, TRACE_E_BAD_LIVE, "process %u: its peak is below its end",
                           c->process);
}

static void counts_add(struct trace_counts *t, const struct trace_counts *c) {
        t->n_allocs += c->n_allocs;
        t->n_frees += c->n_frees;
        t->n_reallocs += c->n_reallocs;
        t->n_failed += c->n_failed;
        t->n_unknown_frees += c->n_unknown_frees;
        t->n_prior_frees += c->n_prior_frees;
        t->n_implicit_frees += c->n_implicit_frees;
        t->alloc_bytes += c->alloc_bytes;
        t->n_temporary += c->n_temporary;
        t->n_lost += c->n_lost;
        t->n_wrong_sizes += c->n_wrong_sizes;
        t->n_complete_stacks += c->n_complete_stacks;
        t->n_inversions += c->n_inversions;
        t->live_blocks = c->live_blocks;
        t->live_bytes = c->live_bytes;
        if (c->peak_bytes > t->peak_bytes) {
                t->peak_bytes = c->peak_bytes;
                t->peak_blocks = c->peak_blocks;
                t->peak_ns = c->peak_ns;
        }
}

static void check_counts(struct verify *v, const struct trace_counts *c, bool has_events) {
        struct verify_process *p;

        if (c->process == TRACE_NO_PROCESS) {
                if (c->n_allocs | c->n_frees | c->n_reallocs | c->alloc_bytes | c->n_temporary)
                        verify_bad(v, TRACE_E_BAD_ROW,
                                   "the counts of the whole recording are not zero");
                return;
        }
        p = &v->processes.items[c->process];
        check_counts_against_rows(v, c, &p->rows);
        if (has_events)
                check_counts_against_events(v, c, p);
        check_live(v, c, p);
        counts_add(&p->total, c);
        p->live_blocks = c->live_blocks;
        p->live_bytes = c->live_bytes;
        p->has_events = false;
        p->rows.n_inherited = 0;
}

/* Every process that the events or rows speak of has a row of counts. */
static void check_missing_counts(struct verify *v) {
        for (size_t i = 0; i < v->processes.n; i++) {
                struct verify_process *p = &v->processes.items[i];

                if (p->has_events || p->rows.n_inherited)
                        verify_bad(v, TRACE_E_BAD_ROW, "process %zu has events, but no counts", i);
                memset(&p->events, 0, sizeof(p->events));
                p->change_blocks = p->change_bytes = p->peak_change_bytes = p->peak_change_blocks =
                        0;
                p->has_events = false;
        }
}

static bool slic_check_head(struct verify *v) {
        uint64_t n_events = bytes_le64(v->head + 8), begin_ns = bytes_le64(v->head + 16),
                 end_ns = bytes_le64(v->head + 24);
        uint64_t first_seq = bytes_le64(v->head + 32), n_unwritten = bytes_le64(v->head + 56);
        uint32_t flags = bytes_le32(v->head + 4);

        if (bytes_le32(v->head) != v->n_slices)
                verify_bad(v, TRACE_E_BAD_ORDER, "slice %u, but %llu is next", bytes_le32(v->head),
                           (unsigned long long)v->n_slices);
        if (flags & ~(uint32_t)(TRACE_SLIC_UNWRITTEN | TRACE_SLIC_DROPPED) ||
            (v->header[TRACE_VERSION_OFF] == TRACE_SLIC_VERSION) !=
                    ((flags & TRACE_SLIC_DROPPED) != 0) ||
            begin_ns % 1000 || end_ns % 1000)
                verify_bad(v, TRACE_E_BAD_PAYLOAD,
                           "unknown flags, or times that are not whole microseconds");
        if (begin_ns != v->end_ns || end_ns < begin_ns)
                verify_bad(v, TRACE_E_BAD_ORDER,
                           "covers %llu to %llu ns, the slice before ends at %llu",
                           (unsigned long long)begin_ns, (unsigned long long)end_ns,
                           (unsigned long long)v->end_ns);
        if (first_seq != v->next_seq)
                verify_bad(v, TRACE_E_BAD_ORDER, "begins with allocation %llu, but %llu is next",
                           (unsigned long long)first_seq, (unsigned long long)v->next_seq);
        if (n_unwritten > n_events ||
            (flags & TRACE_SLIC_UNWRITTEN) != (n_unwritten ? TRACE_SLIC_UNWRITTEN : 0))
                verify_bad(v, TRACE_E_BAD_PAYLOAD, "%llu of %llu events unwritten",
                           (unsigned long long)n_unwritten, (unsigned long long)n_events);
        if (v->has_evts &&
            (v->evts_n_events != n_events || v->evts_n_allocs != bytes_le64(v->head + 40)))
                verify_bad(v, TRACE_E_BAD_ROW, "%llu events, %llu allocations; its EVTS has %u, %u",
                           (unsigned long long)n_events,
                           (unsigned long long)bytes_le64(v->head + 40), v->evts_n_events,
                           v->evts_n_allocs);
        if (v->has_evts && flags & (TRACE_SLIC_UNWRITTEN | TRACE_SLIC_DROPPED))
                verify_bad(v, TRACE_E_BAD_PAYLOAD,
                           "its events exist, but it says they were never written or were dropped");
        if (v->meta_flags & TRACE_IS_TOTALS &&
            (!(flags & TRACE_SLIC_DROPPED) || n_events || v->has_evts || v->has_move))
                verify_bad(v, TRACE_E_BAD_PAYLOAD, "events in a recording of totals");
        if (flags & TRACE_SLIC_DROPPED && v->n_detailed)
                verify_bad(v, TRACE_E_BAD_ORDER,
                           "its detail was dropped, but that of an older slice was not");
        if (flags & TRACE_SLIC_DROPPED && n_events > UINT32_MAX)
                verify_bad(v, TRACE_E_TOO_LARGE, "%llu events in one slice",
                           (unsigned long long)n_events);
        v->n_detailed += v->has_evts;
        if (v->has_evts && v->last_event_us * 1000 >= end_ns)
                verify_bad(v, TRACE_E_BAD_ORDER, "its last event is at %llu us, after its end",
                           (unsigned long long)v->last_event_us);
        if ((bytes_le32(v->head + 48) != 0) != v->has_site)
                verify_bad(v, TRACE_E_BAD_ORDER, "%u rows of sites, but %s SITE chunk",
                           bytes_le32(v->head + 48), v->has_site ? "a" : "no");
        return true;
}

static void slic_next(struct verify *v) {
        v->n_slices++;
        v->n_events += bytes_le64(v->head + 8);
        v->end_ns = bytes_le64(v->head + 24);
        v->next_seq = bytes_le64(v->head + 32) + bytes_le64(v->head + 40);
        v->has_site = v->has_evts = false;
        vec_clear(&v->sites);
        map_clear(&v->site_by_key);
}

bool verify_slic_chunk(struct verify *v) {
        struct bytes_reader r = bytes_reader_of(v->raw.items, v->raw.n);
        uint32_t n_counts = bytes_le32(v->head + 52);
        verify_count_rows counts = {0};
        bool has_events;

        if (v->head_bytes != TRACE_SLIC_HEAD_BYTES)
                return verify_bad(v, TRACE_E_BAD_PAYLOAD, "a head of %u bytes", v->head_bytes);
        slic_check_head(v);
        has_events = v->has_evts ? !v->evts_is_bad
                                 : !bytes_le64(v->head + 8) && !(v->meta_flags & TRACE_IS_TOTALS);
        if (!has_events && !v->has_evts) {
                v->n_without_events++;
                v->lacks_events = true;
        }
        if (n_counts > v->stored_bytes)
                return verify_bad(v, TRACE_E_TOO_LARGE, "claims %u rows in %u bytes", n_counts,
                                  v->stored_bytes);
        if (verify_parse_counts(v, &r, n_counts, &counts) && bytes_left(&r))
                verify_bad(v, TRACE_E_BAD_PAYLOAD, "%zu bytes are left over", bytes_left(&r));
        for (size_t i = 0; i < v->sites.n && has_events; i++)
                check_site(v, &v->sites.items[i]);
        verify_end_moves(v, has_events);
        sum_rows(v);
        for (size_t i = 0; i < counts.n; i++)
                check_counts(v, &counts.items[i], has_events);
        check_missing_counts(v);
        vec_free(&counts);
        slic_next(v);
        return true;
}

/* ---- CKPT ------------------------------------------------------------------------------------ */

static bool site_is_empty(const struct trace_site *s) {
        return !(s->n_allocs | s->n_frees | s->n_inherited);
}

static void check_total(struct verify *v, const struct trace_site *s) {
        static const struct trace_site none;
        const struct trace_site *t = &none;
        struct trace_site want;
        uint64_t place;

        if (map_get(&v->total_by_key, (uint64_t)s->process << 32 | s->stack, &place))
                t = &v->totals.items[place];
        want = *t;
        want.process = s->process;
        want.stack = s->stack;
        if (memcmp(&want, s, sizeof(want)) != 0)
                verify_bad(
                        v, TRACE_E_BAD_CHECKPOINT,
                        "process %u stack %u: %llu allocations of %llu bytes, %llu frees; the slices add up to %llu, %llu, %llu",
                        s->process, s->stack, (unsigned long long)s->n_allocs,
                        (unsigned long long)s->alloc_bytes, (unsigned long long)s->n_frees,
                        (unsigned long long)t->n_allocs, (unsigned long long)t->alloc_bytes,
                        (unsigned long long)t->n_frees);
}

static void check_total_counts(struct verify *v, const struct trace_counts *c) {
        const struct trace_counts *want;

        if (c->process == TRACE_NO_PROCESS)
                return;
        want = &v->processes.items[c->process].total;
        if (memcmp(&want->n_allocs, &c->n_allocs,
                   sizeof(*c) - offsetof(struct trace_counts, n_allocs)) != 0)
                verify_bad(v, TRACE_E_BAD_CHECKPOINT,
                           "the counts of process %u are not the sum of its slices", c->process);
}

static void check_totals(struct verify *v, const verify_site_rows *rows,
                         const verify_count_rows *counts) {
        size_t n_rows = 0, n_totals = 0;

        for (size_t i = 0; i < rows->n; i++) {
                check_total(v, &rows->items[i]);
                n_rows += !site_is_empty(&rows->items[i]);
        }
        for (size_t i = 0; i < v->totals.n; i++)
                n_totals += !site_is_empty(&v->totals.items[i]);
        if (n_rows != n_totals)
                verify_bad(v, TRACE_E_BAD_CHECKPOINT, "%zu sites, the slices have %zu", n_rows,
                           n_totals);
        for (size_t i = 0; i < counts->n; i++)
                check_total_counts(v, &counts->items[i]);
}

bool verify_ckpt_chunk(struct verify *v) {
        struct bytes_reader r = bytes_reader_of(v->raw.items, v->raw.n), c;
        uint32_t n_sites = bytes_le32(v->head + 4), n_counts = bytes_le32(v->head + 8);
        uint64_t counts_bytes = bytes_varint(&r);
        verify_site_rows rows = {0};
        verify_count_rows counts = {0};
        const uint8_t *at;
        bool ok;

        if (v->head_bytes != TRACE_CKPT_HEAD_BYTES || bytes_le32(v->head + 12))
                return verify_bad(v, TRACE_E_BAD_PAYLOAD, "its head is not valid");
        if (v->has_site || v->has_move || v->has_evts ||
            (uint64_t)bytes_le32(v->head) + 1 != v->n_slices)
                return verify_bad(v, TRACE_E_BAD_ORDER, "of slice %u, which it does not follow",
                                  bytes_le32(v->head));
        if (MAX(n_sites, n_counts) > v->stored_bytes)
                return verify_bad(v, TRACE_E_TOO_LARGE, "claims %u rows in %u bytes",
                                  MAX(n_sites, n_counts), v->stored_bytes);
        at = counts_bytes <= bytes_left(&r) ? bytes_take(&r, (size_t)counts_bytes) : NULL;
        if (!at)
                return verify_bad(v, TRACE_E_BAD_PAYLOAD, "its counts are longer than the chunk");
        c = bytes_reader_of(at, (size_t)counts_bytes);
        ok = verify_parse_counts(v, &c, n_counts, &counts) &&
             verify_parse_sites(v, &r, n_sites, &rows);
        if (ok && bytes_left(&c))
                ok = verify_bad(v, TRACE_E_BAD_PAYLOAD, "%zu bytes of counts are left over",
                                bytes_left(&c));
        if (ok)
                check_totals(v, &rows, &counts);
        vec_free(&rows);
        vec_free(&counts);
        return ok;
}

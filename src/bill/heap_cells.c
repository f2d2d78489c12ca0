/* SPDX-License-Identifier: MIT */
#include "bill/heap_cells.h"

#include <errno.h>
#include <stdlib.h>

#include "bill/bill_words.h"

unsigned heap_cell_fill(const struct heap_cell *c) {
        if (!c->resident_bytes)
                return HEAP_N_FILLS - 1;
        if (!c->live_bytes)
                return 0;
        return (unsigned)MIN(MAX(8 * c->live_bytes / c->resident_bytes, (uint64_t)1), (uint64_t)8);
}

unsigned heap_cell_age(const struct heap_cell *c, uint64_t now_ns) {
        double age;

        if (!c->live_bytes || !c->newest_ns || !now_ns)
                return HEAP_N_AGES - 1;
        age = c->newest_ns >= now_ns ? 0 : (double)(now_ns - c->newest_ns) / (double)now_ns;
        return age < 0.02 ? 0 : age < 0.1 ? 1 : age < 0.3 ? 2 : age < 0.7 ? 3 : 4;
}

/* ---- cells ----------------------------------------------------------------------------------- */

struct merging {
        struct heap_frame *f;
        uint64_t page_bytes;
        uint64_t end;        /* of the last one */
        size_t n_put, n_per; /* cells in the last one, and at most */
        uint64_t most_bytes; /* of the cell whose owner it has */
        const struct resident_cell
                *first; /* in which the block begins that goes on in those behind it */
};

/* Times are of blocks that begin in a cell: one in the middle of a large block is as old as that. */
static const struct resident_cell *begin_of(struct merging *m, const struct resident_cell *c) {
        bool goes_on = m->first && c->begin == m->end && c->live_bytes && !c->newest_ns &&
                       !c->oldest_ns && c->stack == m->first->stack;

        if (!goes_on)
                m->first = c;
        return m->first;
}

static void take_cell(struct merging *m, const struct resident_cell *c) {
        const struct resident_cell *first = begin_of(m, c);
        bool is_apart = m->f->cells.n && c->begin != m->end;
        struct heap_cell *to;

        if (!m->f->cells.n || is_apart || m->n_put >= m->n_per) {
                to = vec_add(&m->f->cells);
                to->begin = c->begin;
                to->is_apart = is_apart;
                m->n_put = 0;
                m->most_bytes = 0;
        }
        to = &m->f->cells.items[m->f->cells.n - 1];
        to->size_bytes += c->n_pages * m->page_bytes;
        to->resident_bytes += c->n_resident_pages * m->page_bytes;
        to->live_bytes += c->live_bytes;
        to->n_blocks += c->n_blocks;
        if (first->newest_ns)
                to->newest_ns = MAX(to->newest_ns, first->newest_ns);
        if (first->oldest_ns && (!to->oldest_ns || first->oldest_ns < to->oldest_ns))
                to->oldest_ns = first->oldest_ns;
        if (c->live_bytes > m->most_bytes) {
                m->most_bytes = c->live_bytes;
                to->stack = c->stack;
        }
        m->end = c->begin + c->n_pages * m->page_bytes;
        m->n_put++;
}

static void take_frame(struct heap_cells *h, const struct resident *r) {
        struct heap_frame f = {.time_ns = r->time_ns,
                               .rss_bytes = r->rss_bytes,
                               .heap_bytes = r->heap.rss_bytes,
                               .live_bytes = r->heap.resident_asked_bytes,
                               .free_bytes = r->heap.between_bytes + r->heap.empty_bytes};
        struct merging m = {.f = &f,
                            .page_bytes = r->page_bytes,
                            .n_per = r->cells.n / HEAP_MAX_CELLS + 1};

        for (size_t i = 0; i < r->cells.n && f.cells.n < 2 * HEAP_MAX_CELLS; i++)
                take_cell(&m, &r->cells.items[i]);
        vec_push(&h->frames, f);
}

/* ---- owners ---------------------------------------------------------------------------------- */

static int compare_owners(const void *a, const void *b) {
        const struct heap_owner *x = a, *y = b;

        return x->bytes > y->bytes ? -1 : x->bytes < y->bytes;
}

static void find_owners(struct heap_cells *h, struct bill_keys *keys) {
        struct map by_key = {0}, rank = {0};

        for (size_t i = 0; i < h->frames.n; i++)
                for (size_t k = 0; k < h->frames.items[i].cells.n; k++) {
                        const struct heap_cell *c = &h->frames.items[i].cells.items[k];
                        uint64_t *at;
                        bool added;

                        if (!c->stack)
                                continue;
                        at = map_put(&by_key, bill_key_of_stack(keys, c->stack), h->owners.n,
                                     &added);
                        if (added)
                                vec_push(&h->owners, (struct heap_owner){.stack = c->stack});
                        h->owners.items[*at].bytes += c->live_bytes;
                }
        if (h->owners.n)
                qsort(h->owners.items, h->owners.n, sizeof(h->owners.items[0]), compare_owners);
        h->owners.n = MIN(h->owners.n, (size_t)HEAP_MAX_OWNERS);
        for (size_t i = 0; i < h->owners.n; i++) {
                struct heap_owner *o = &h->owners.items[i];

                map_put(&rank, bill_key_of_stack(keys, o->stack), i, NULL);
                bill_add_function(&keys->frames, o->stack, true, &o->name, NULL);
                if (!o->name.n)
                        str_add(&o->name, "code without a name");
        }
        for (size_t i = 0; i < h->frames.n; i++)
                for (size_t k = 0; k < h->frames.items[i].cells.n; k++) {
                        struct heap_cell *c = &h->frames.items[i].cells.items[k];
                        uint64_t owner = HEAP_MAX_OWNERS;

                        if (c->stack)
                                map_get(&rank, bill_key_of_stack(keys, c->stack), &owner);
                        c->owner = !c->live_bytes ? HEAP_MAX_OWNERS + 1 : (uint32_t)owner;
                }
        map_done(&by_key);
        map_done(&rank);
}

/* ---- all of it ------------------------------------------------------------------------------- */

int heap_cells_read(struct heap_cells *h, struct query *q, struct bill_keys *keys,
                    const struct bill_series *s, const size_t *points, size_t n,
                    struct err *reterr) {
        size_t n_frames = MIN(n, (size_t)HEAP_MAX_FRAMES);

        *h = (struct heap_cells){.process = n ? s->points.items[points[0]].process : 0};
        for (size_t i = 0; i < n_frames; i++) {
                size_t at = n_frames > 1 ? i * (n - 1) / (n_frames - 1) : 0;
                struct resident x = {0};
                int r = bill_read_resident(q, s->points.items[points[at]].bill_idx, &x, reterr);

                if (r < 0)
                        return r;
                take_frame(h, &x);
                resident_done(&x);
        }
        find_owners(h, keys);
        return 0;
}

void heap_cells_done(struct heap_cells *h) {
        for (size_t i = 0; i < h->frames.n; i++)
                vec_free(&h->frames.items[i].cells);
        for (size_t i = 0; i < h->owners.n; i++)
                str_done(&h->owners.items[i].name);
        vec_free(&h->frames);
        vec_free(&h->owners);
}

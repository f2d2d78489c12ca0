/* SPDX-License-Identifier: MIT */
/* Memory the program mapped itself: which stack mapped the pages that are there. Each process
 * has a table of ranges that do not overlap, sorted by address; a fork copies its parent's. What was mapped without
 * any right to touch it (PROT_NONE) takes addresses, not memory: programs reserve terabytes so, and map parts of it anew. */
#include <sys/mman.h>

#include "base/map.h"
#include "query/pick.h"
#include "query/query_internal.h"

struct range {
        uint64_t begin, end;
        uint32_t stack;
        bool is_inherited; /* mapped by an ancestor */
        bool is_reserved;  /* nobody may touch it */
};

typedef VEC(struct range) ranges;

/* Now: all, and what of it is only reserved. */
struct mapped {
        uint64_t bytes, reserved_bytes;
};

struct mapping_rows {
        VEC(struct query_mapping) rows;
        VEC(struct mapped) live; /* one a row */
        struct map by_stack;
        struct mapped all;
        struct query_mapped sum;
        const struct pick *pick; /* its conditions on the call path */
        bool in_window;
};

static size_t row_of(struct mapping_rows *m, uint32_t stack) {
        bool added;
        uint64_t *idx = map_put(&m->by_stack, stack, m->rows.n, &added);

        if (added) {
                vec_push(&m->rows, (struct query_mapping){.stack = stack});
                vec_push(&m->live, (struct mapped){0});
        }
        return (size_t)*idx;
}

static void mapped_change(struct mapped *m, int64_t by_bytes, bool is_reserved) {
        m->bytes += (uint64_t)by_bytes;
        m->reserved_bytes += is_reserved ? (uint64_t)by_bytes : 0;
}

static void see_peaks(struct mapping_rows *m, size_t i) {
        struct query_mapping *row = &m->rows.items[i];
        const struct mapped *own = &m->live.items[i];

        row->peak_bytes = MAX(row->peak_bytes, own->bytes);
        row->reserved_bytes = MAX(row->reserved_bytes, own->reserved_bytes);
        m->sum.peak_bytes = MAX(m->sum.peak_bytes, m->all.bytes);
        m->sum.reserved_peak_bytes = MAX(m->sum.reserved_peak_bytes, m->all.reserved_bytes);
        m->sum.usable_peak_bytes =
                MAX(m->sum.usable_peak_bytes, m->all.bytes - m->all.reserved_bytes);
}

/* A change of one stack's mapped bytes. */
static void rows_change(struct mapping_rows *m, const struct range *r, int64_t by_bytes) {
        size_t i;

        if (!pick_has_stack(m->pick, r->stack))
                return;
        i = row_of(m, r->stack);
        mapped_change(&m->live.items[i], by_bytes, r->is_reserved);
        mapped_change(&m->all, by_bytes, r->is_reserved);
        if (m->in_window)
                see_peaks(m, i);
}

/* The first range that ends behind `begin`. */
static size_t range_find(const ranges *t, uint64_t begin) {
        size_t low = 0, high = t->n;

        while (low < high) {
                size_t mid = low + (high - low) / 2;

                if (t->items[mid].end <= begin)
                        low = mid + 1;
                else
                        high = mid;
        }
        return low;
}

static void range_insert(ranges *t, size_t at, struct range r) {
        vec_reserve(t, 1);
        memmove(&t->items[at + 1], &t->items[at], (t->n - at) * sizeof(r));
        t->items[at] = r;
        t->n++;
}

struct table {
        ranges ranges;
        struct mapping_rows *rows; /* NULL: this process is not asked about */
        bool skip_inherited;
};

static void table_change(struct table *t, const struct range *r, int64_t by_bytes) {
        if (t->rows && !(t->skip_inherited && r->is_inherited))
                rows_change(t->rows, r, by_bytes);
}

/* Takes [begin, end) out of the table. */
static void table_remove(struct table *t, uint64_t begin, uint64_t end) {
        size_t i = range_find(&t->ranges, begin), last;

        if (i < t->ranges.n && t->ranges.items[i].begin < begin) {
                struct range tail = t->ranges.items[i];

                t->ranges.items[i].end = begin;
                tail.begin = begin;
                range_insert(&t->ranges, ++i, tail);
        }
        for (last = i; last < t->ranges.n && t->ranges.items[last].begin < end; last++) {
                struct range *r = &t->ranges.items[last];

                if (r->end > end) {
                        table_change(t, r, -(int64_t)(end - r->begin));
                        r->begin = end;
                        break;
                }
                table_change(t, r, -(int64_t)(r->end - r->begin));
        }
        if (last > i)
                memmove(&t->ranges.items[i], &t->ranges.items[last],
                        (t->ranges.n - last) * sizeof(struct range));
        t->ranges.n -= last - i;
}

static void table_add(struct table *t, uint64_t begin, uint64_t size_bytes, uint32_t stack,
                      bool is_reserved) {
        struct range r = {.begin = begin,
                          .end = begin + size_bytes,
                          .stack = stack,
                          .is_reserved = is_reserved};

        if (r.end <= begin)
                return;
        table_remove(t, r.begin, r.end);
        range_insert(&t->ranges, range_find(&t->ranges, begin), r);
        table_change(t, &r, (int64_t)size_bytes);
}

static uint64_t to_page(const struct query *q, uint64_t size_bytes) {
        uint64_t page = q->view->meta.page_bytes ? q->view->meta.page_bytes : 4096;

        return (size_bytes + page - 1) / page * page;
}

/* Whether a range that is moved was only reserved: as its first page was. */
static bool table_is_reserved(const struct table *t, uint64_t begin) {
        size_t i = range_find(&t->ranges, begin);

        return i < t->ranges.n && t->ranges.items[i].begin <= begin &&
               t->ranges.items[i].is_reserved;
}

static void table_apply(const struct query *q, struct table *t, const struct trace_mapping *m) {
        uint64_t size_bytes = to_page(q, m->size_bytes);
        bool is_reserved;

        if (t->rows && t->rows->in_window && m->op != TRACE_MUNMAP &&
            !(m->op == TRACE_BRK && m->address <= m->old_address) &&
            pick_has_stack(t->rows->pick, m->stack)) {
                size_t i = row_of(t->rows, m->stack);
                struct query_mapping *row = &t->rows->rows.items[i];

                row->n_calls++;
                row->mapped_bytes += m->op == TRACE_BRK ? m->address - m->old_address : size_bytes;
        }
        switch ((enum trace_mapping_op)m->op) {
        case TRACE_MMAP:
                table_add(t, m->address, size_bytes, m->stack, m->prot == PROT_NONE);
                break;
        case TRACE_MUNMAP: table_remove(t, m->address, m->address + size_bytes); break;
        case TRACE_MREMAP:
                is_reserved = table_is_reserved(t, m->old_address);
                table_remove(t, m->old_address, m->old_address + to_page(q, m->old_size_bytes));
                table_add(t, m->address, size_bytes, m->stack, is_reserved);
                break;
        case TRACE_BRK:
                if (m->address > m->old_address)
                        table_add(t, m->old_address, m->address - m->old_address, m->stack, false);
                else
                        table_remove(t, m->address, m->old_address);
                break;
        }
}

/* Brings the table of a process to time_ns, beginning with what its parent had when it began. */
static void table_run(struct query *q, struct table *t, uint32_t process,
                      const struct trace_mapping *m, size_t n, const struct query_scope *scope,
                      uint64_t time_ns) {
        const struct trace_process *p = &q->view->processes[process].start;

        if (p->image == 1 && p->parent < process) {
                struct table parent = {0};

                table_run(q, &parent, p->parent, m, n, scope, p->start_ns);
                t->ranges = parent.ranges;
                for (size_t i = 0; i < t->ranges.n; i++) {
                        struct range *r = &t->ranges.items[i];

                        r->is_inherited = true;
                        table_change(t, r, (int64_t)(r->end - r->begin));
                }
        }
        for (size_t i = 0; i < n && m[i].time_ns < time_ns && query_go_on_at(q, i, n); i++) {
                if (m[i].process != process)
                        continue;
                if (t->rows)
                        t->rows->in_window = m[i].time_ns >= scope->from_ns;
                table_apply(q, t, &m[i]);
        }
}

/* What is memory first. */
static int mapping_compare(const void *a, const void *b) {
        const struct query_mapping *x = a, *y = b;
        uint64_t of_x = x->peak_bytes - x->reserved_bytes, of_y = y->peak_bytes - y->reserved_bytes;

        if (of_x != of_y)
                return of_x > of_y ? -1 : 1;

        if (x->peak_bytes != y->peak_bytes)
                return x->peak_bytes > y->peak_bytes ? -1 : 1;
        return x->stack < y->stack ? -1 : x->stack > y->stack;
}

int query_mappings(struct query *q, const struct query_scope *scope, struct query_mapping **ret,
                   size_t *ret_n, struct query_mapped *ret_sum, struct err *reterr) {
        struct mapping_rows rows = {0};
        const struct trace_mapping *m;
        size_t n;
        int r;

        r = pick_get(q, scope->filter, &rows.pick, reterr);
        if (r < 0)
                return r;
        r = trace_read_mappings(q->reader, &m, &n, reterr);
        if (r < 0)
                return r;
        for (uint32_t p = 0; p < q->view->n_processes && n > 0; p++) {
                struct table t = {.rows = &rows, .skip_inherited = scope->process == QUERY_ALL};

                if ((scope->process != QUERY_ALL && p != scope->process) ||
                    !pick_has_process(rows.pick, p))
                        continue;
                rows.in_window = scope->from_ns == 0;
                table_run(q, &t, p, m, n, scope, scope->to_ns);
                vec_free(&t.ranges);
        }
        for (size_t i = 0; i < rows.rows.n; i++) {
                struct query_mapping *row = &rows.rows.items[i];

                row->end_bytes = rows.live.items[i].bytes;
                row->peak_bytes = MAX(row->peak_bytes, row->end_bytes);
                row->reserved_bytes = MAX(row->reserved_bytes, rows.live.items[i].reserved_bytes);
        }
        if (rows.rows.n)
                qsort(rows.rows.items, rows.rows.n, sizeof(rows.rows.items[0]), mapping_compare);
        rows.sum.end_bytes = rows.all.bytes;
        rows.sum.reserved_end_bytes = rows.all.reserved_bytes;
        rows.sum.peak_bytes = MAX(rows.sum.peak_bytes, rows.all.bytes);
        rows.sum.reserved_peak_bytes = MAX(rows.sum.reserved_peak_bytes, rows.all.reserved_bytes);
        rows.sum.usable_peak_bytes =
                MAX(rows.sum.usable_peak_bytes, rows.all.bytes - rows.all.reserved_bytes);
        vec_free(&rows.live);
        map_done(&rows.by_stack);
        r = query_end(q, reterr);
        if (r < 0) {
                vec_free(&rows.rows);
                return r;
        }
        *ret_sum = rows.sum;
        *ret_n = rows.rows.n;
        *ret = TAKE_PTR(rows.rows.items);
        return 0;
}

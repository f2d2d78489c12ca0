/* SPDX-License-Identifier: MIT */
#include "query/mapping_walk.h"

#include <stdlib.h>
#include <sys/mman.h>

static bool counts(const struct mapping_walk *w, uint32_t process, const struct mapping_range *r) {
        return w->tables[process].is_asked && (w->process != QUERY_ALL || r->mapper == process);
}

static void tell(struct mapping_walk *w, uint32_t process, const struct mapping_range *r,
                 int64_t by_bytes, int n_ranges) {
        struct mapping_change c = {.process = process,
                                   .range = r,
                                   .by_bytes = by_bytes,
                                   .n_ranges = n_ranges,
                                   .time_ns = w->time_ns};

        if (counts(w, process, r))
                w->change(w->ctx, &c);
}

static void tell_handed_on(struct mapping_walk *w, uint32_t process, const struct mapping_range *r,
                           int sign) {
        struct mapping_change c = {.process = process,
                                   .range = r,
                                   .by_bytes = sign * (int64_t)(r->end - r->begin),
                                   .n_ranges = sign,
                                   .time_ns = w->time_ns,
                                   .is_handed_on = true};

        if (counts(w, process, r))
                w->change(w->ctx, &c);
}

/* ---- ranges ---------------------------------------------------------------------------------- */

/* The first range that ends behind `begin`. */
static size_t range_find(const struct mapping_table *t, uint64_t begin) {
        size_t low = 0, high = t->ranges.n;

        while (low < high) {
                size_t mid = low + (high - low) / 2;

                if (t->ranges.items[mid].end <= begin)
                        low = mid + 1;
                else
                        high = mid;
        }
        return low;
}

static void range_insert(struct mapping_table *t, size_t at, struct mapping_range r) {
        vec_reserve(&t->ranges, 1);
        memmove(&t->ranges.items[at + 1], &t->ranges.items[at], (t->ranges.n - at) * sizeof(r));
        t->ranges.items[at] = r;
        t->ranges.n++;
}

static void range_erase(struct mapping_table *t, size_t at, size_t n) {
        if (n == 0)
                return;
        memmove(&t->ranges.items[at], &t->ranges.items[at + n],
                (t->ranges.n - at - n) * sizeof(t->ranges.items[0]));
        t->ranges.n -= n;
}

/* Cuts what goes over addr in two. */
static void range_split(struct mapping_walk *w, uint32_t process, uint64_t addr) {
        struct mapping_table *t = &w->tables[process];
        size_t i = range_find(t, addr);
        struct mapping_range tail;

        if (i >= t->ranges.n || t->ranges.items[i].begin >= addr)
                return;
        tail = t->ranges.items[i];
        t->ranges.items[i].end = addr;
        tail.begin = addr;
        range_insert(t, i + 1, tail);
        tell(w, process, &tail, 0, 1);
}

/* Parts of one mapping that are alike again. */
static void range_join(struct mapping_walk *w, uint32_t process, size_t i) {
        struct mapping_table *t = &w->tables[process];
        struct mapping_range *a, *b;

        if (i == 0 || i >= t->ranges.n)
                return;
        a = &t->ranges.items[i - 1], b = &t->ranges.items[i];
        if (a->end != b->begin || a->call_idx != b->call_idx || a->is_reserved != b->is_reserved ||
            a->mapper != b->mapper)
                return;
        a->end = b->end;
        range_erase(t, i, 1);
        tell(w, process, a, 0, -1);
}

static void ranges_remove(struct mapping_walk *w, uint32_t process, uint64_t begin, uint64_t end) {
        struct mapping_table *t = &w->tables[process];
        size_t first, last;

        if (end <= begin)
                return;
        range_split(w, process, begin);
        range_split(w, process, end);
        first = last = range_find(t, begin);
        for (; last < t->ranges.n && t->ranges.items[last].end <= end; last++) {
                struct mapping_range *r = &t->ranges.items[last];

                tell(w, process, r, -(int64_t)(r->end - r->begin), -1);
        }
        range_erase(t, first, last - first);
}

static void ranges_add(struct mapping_walk *w, uint32_t process, struct mapping_range r) {
        if (r.end <= r.begin)
                return;
        r.mapper = process;
        r.call_idx = w->next_call;
        ranges_remove(w, process, r.begin, r.end);
        range_insert(&w->tables[process], range_find(&w->tables[process], r.begin), r);
        tell(w, process, &r, (int64_t)(r.end - r.begin), 1);
}

static void ranges_protect(struct mapping_walk *w, uint32_t process, uint64_t begin, uint64_t end,
                           bool is_reserved) {
        struct mapping_table *t = &w->tables[process];
        size_t first, last;

        if (end <= begin)
                return;
        range_split(w, process, begin);
        range_split(w, process, end);
        first = last = range_find(t, begin);
        for (; last < t->ranges.n && t->ranges.items[last].end <= end; last++) {
                struct mapping_range *r = &t->ranges.items[last];

                if (r->is_reserved == is_reserved)
                        continue;
                tell(w, process, r, -(int64_t)(r->end - r->begin), -1);
                r->is_reserved = is_reserved;
                tell(w, process, r, (int64_t)(r->end - r->begin), 1);
        }
        for (size_t i = last + 1; i-- > first;)
                range_join(w, process, i);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static uint64_t to_page(const struct query *q, uint64_t size_bytes) {
        uint64_t page = q->view->meta.page_bytes ? q->view->meta.page_bytes : 4096;

        return (size_bytes + page - 1) / page * page;
}

/* What is moved stays what it was, as its first page tells. */
static struct mapping_range moved_from(const struct mapping_table *t, uint64_t begin) {
        size_t i = range_find(t, begin);

        return i < t->ranges.n && t->ranges.items[i].begin <= begin ? t->ranges.items[i]
                                                                    : (struct mapping_range){0};
}

static void take_call(struct mapping_walk *w, const struct trace_mapping *m) {
        uint64_t size_bytes = to_page(w->q, m->size_bytes);
        bool is_more = m->op == TRACE_MMAP || m->op == TRACE_MREMAP ||
                       (m->op == TRACE_BRK && m->address > m->old_address);
        struct mapping_range r = {.begin = m->address,
                                  .end = m->address + size_bytes,
                                  .stack = m->stack};

        if (w->called && is_more && w->tables[m->process].is_asked)
                w->called(w->ctx, m, m->op == TRACE_BRK ? m->address - m->old_address : size_bytes);
        switch ((enum trace_mapping_op)m->op) {
        case TRACE_MMAP:
                r.is_reserved = m->prot == PROT_NONE;
                r.is_file_backed = !(m->flags & MAP_ANONYMOUS);
                ranges_add(w, m->process, r);
                break;
        case TRACE_MUNMAP: ranges_remove(w, m->process, r.begin, r.end); break;
        case TRACE_MREMAP: {
                struct mapping_range old = moved_from(&w->tables[m->process], m->old_address);

                r.is_reserved = old.is_reserved;
                r.is_file_backed = old.is_file_backed;
                ranges_remove(w, m->process, m->old_address,
                              m->old_address + to_page(w->q, m->old_size_bytes));
                ranges_add(w, m->process, r);
                break;
        }
        case TRACE_MPROTECT:
                w->has_protects = true;
                ranges_protect(w, m->process, r.begin, r.end, m->prot == PROT_NONE);
                break;
        case TRACE_N_MAPPING_OPS: break;
        case TRACE_BRK:
                r.begin = m->old_address;
                r.end = m->address;
                if (is_more)
                        ranges_add(w, m->process, r);
                else
                        ranges_remove(w, m->process, m->address, m->old_address);
                break;
        }
}

/* ---- processes ------------------------------------------------------------------------------- */

static void process_begin(struct mapping_walk *w, uint32_t process) {
        const struct trace_process *p = &w->q->view->processes[process].start;
        struct mapping_table *t = &w->tables[process];
        const struct mapping_table *parent;

        if (p->image != 1 || p->parent >= process || t->ranges.n)
                return;
        parent = &w->tables[p->parent];
        for (size_t i = 0; i < parent->ranges.n; i++) {
                vec_push(&t->ranges, parent->ranges.items[i]);
                w->tables[t->ranges.items[i].mapper].has_heirs = true;
                tell_handed_on(w, process, &t->ranges.items[i], 1);
        }
}

/* The eldest that has a copy of what `process` mapped; QUERY_ALL: none. */
static uint32_t find_heir(const struct mapping_walk *w, uint32_t process) {
        for (uint32_t p = process + 1; p < w->q->view->n_processes; p++)
                for (size_t i = 0; i < w->tables[p].ranges.n; i++)
                        if (w->tables[p].ranges.items[i].mapper == process)
                                return p;
        return QUERY_ALL;
}

static void process_end(struct mapping_walk *w, uint32_t process) {
        struct mapping_table *t = &w->tables[process];
        uint32_t heir;

        for (size_t i = 0; i < t->ranges.n; i++)
                tell_handed_on(w, process, &t->ranges.items[i], -1);
        vec_free(&t->ranges);
        heir = t->has_heirs ? find_heir(w, process) : QUERY_ALL;
        if (heir != QUERY_ALL)
                w->tables[heir].has_heirs = true;
        for (uint32_t p = heir; p < w->q->view->n_processes; p++)
                for (size_t i = 0; i < w->tables[p].ranges.n; i++) {
                        struct mapping_range *r = &w->tables[p].ranges.items[i];

                        if (r->mapper != process)
                                continue;
                        r->mapper = heir;
                        tell_handed_on(w, p, r, 1);
                }
}

static int earlier_first(const void *a, const void *b) {
        const struct mapping_turn *x = a, *y = b;

        if (x->time_ns != y->time_ns)
                return x->time_ns < y->time_ns ? -1 : 1;
        if (x->is_end != y->is_end)
                return x->is_end ? 1 : -1;
        return x->process < y->process ? -1 : x->process > y->process;
}

/* A process still has what it had at the moment of its end: it goes with the next nanosecond. */
static void make_turns(struct mapping_walk *w) {
        for (uint32_t p = 0; p < w->q->view->n_processes; p++) {
                uint64_t gone_ns = query_process_gone_ns(w->q, p);

                if (!w->is_needed[p])
                        continue;
                vec_push(&w->turns,
                         (struct mapping_turn){.time_ns = w->q->view->processes[p].start.start_ns,
                                               .process = p});
                if (w->process == QUERY_ALL && gone_ns < UINT64_MAX)
                        vec_push(&w->turns, (struct mapping_turn){.time_ns = gone_ns + 1,
                                                                  .process = p,
                                                                  .is_end = true});
        }
        if (w->turns.n)
                qsort(w->turns.items, w->turns.n, sizeof(w->turns.items[0]), earlier_first);
}

static void find_needed(struct mapping_walk *w) {
        const struct trace_view *v = w->q->view;
        uint32_t p = w->process;

        if (p == QUERY_ALL)
                memset(w->is_needed, 1, v->n_processes);
        while (p < v->n_processes) {
                w->is_needed[p] = true;
                p = v->processes[p].start.image == 1 && v->processes[p].start.parent < p
                            ? v->processes[p].start.parent
                            : QUERY_ALL;
        }
}

/* ---- the whole ------------------------------------------------------------------------------- */

int mapping_walk_init(struct mapping_walk *w, struct query *q, const struct query_scope *scope,
                      struct err *reterr) {
        size_t n = q->view->n_processes;
        int r;

        *w = (struct mapping_walk){.q = q, .process = scope->process};
        r = trace_read_mappings(q->reader, &w->calls, &w->n_calls, reterr);
        if (r < 0)
                return r;
        if (!(w->tables = calloc(n + 1, sizeof(w->tables[0]))) ||
            !(w->is_needed = calloc(n + 1, sizeof(w->is_needed[0]))))
                abort();
        for (uint32_t p = 0; p < n; p++)
                w->tables[p].is_asked = w->process == QUERY_ALL || p == w->process;
        if (w->n_calls) {
                find_needed(w);
                make_turns(w);
        }
        return 0;
}

/* What is asked about a moment is asked before its events: processes begin and end first. */
void mapping_walk_to(struct mapping_walk *w, uint64_t time_ns) {
        for (;;) {
                const struct mapping_turn *turn =
                        w->next_turn < w->turns.n ? &w->turns.items[w->next_turn] : NULL;
                const struct trace_mapping *m =
                        w->next_call < w->n_calls ? &w->calls[w->next_call] : NULL;

                if (turn && (!m || turn->time_ns <= m->time_ns)) {
                        if (turn->time_ns >= time_ns)
                                break;
                        w->time_ns = turn->time_ns;
                        (turn->is_end ? process_end : process_begin)(w, turn->process);
                        w->next_turn++;
                        continue;
                }
                if (!m || m->time_ns >= time_ns || !query_go_on_at(w->q, w->next_call, w->n_calls))
                        break;
                w->time_ns = m->time_ns;
                if (m->process < w->q->view->n_processes && w->is_needed[m->process])
                        take_call(w, m);
                w->next_call++;
        }
}

void mapping_walk_done(struct mapping_walk *w) {
        for (size_t p = 0; w->tables && p < w->q->view->n_processes; p++)
                vec_free(&w->tables[p].ranges);
        free(w->tables);
        free(w->is_needed);
        vec_free(&w->turns);
}

/* SPDX-License-Identifier: MIT */
#include "ledger/trace_maker.h"

#include <errno.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/vec.h"
#include "ledger/book.h"
#include "ledger/heritage.h"
#include "ledger/totals.h"
#include "trace/writer.h"

enum {
        MAKER_SLICE_NS = 250000000,
        MAKER_SPARE_EVENTS = 4,           /* one call writes no more */
        MAKER_MAX_HERITAGE_SLICES = 4096, /* as the recorder */
        MAKER_FOLD_BLOCKS = 65536,
        MAKER_MAX_LINES = 1 << 16, /* of what children inherited: a row each */
        MAKER_MAX_TICKS = 1 << 16,
};

struct maker_process {
        bool is_over;
        struct figures *figures; /* NULL: it is over, or there are only totals */
        struct live live;
};

struct trace_maker {
        struct trace_writer *w;
        uint32_t flags;
        struct sites sites;
        struct book book;
        uint32_t n_modules, n_locations, n_stacks; /* the empty stack counts */
        struct map unplaced;                       /* offset → location, of those in no module */
        VEC(struct map) by_module;                 /* the same of each module */
        struct map stack_by_key;                   /* parent, location → stack */
        VEC(struct maker_process) processes;
        VEC(uint32_t) thread_process;
        struct totals
                totals; /* TRACE_IS_TOTALS: instead of sites and book, of which only the time is used */
        uint32_t n_heritage_slices;
        uint64_t n_late;
};

int trace_maker_new(struct trace_writer *w, uint32_t flags, struct trace_maker **ret) {
        struct trace_maker *m;

        if (flags & TRACE_IS_TOTALS
                    ? flags & ~(uint32_t)(TRACE_IS_TOTALS | TRACE_LACKS_ANY | TRACE_COUNTS_SAMPLES)
                    : flags & ~(uint32_t)(TRACE_HAS_ADDRESSES | TRACE_HAS_FREE_STACKS |
                                          TRACE_LACKS_TIME))
                return -EINVAL;
        m = calloc(1, sizeof(*m));
        if (!m)
                return -ENOMEM;
        m->w = w;
        m->flags = flags;
        m->n_stacks = 1;
        sites_init(&m->sites, w);
        book_init(&m->book, w, &m->sites);
        m->totals.writer = w;
        *ret = m;
        return 0;
}

struct trace_maker *trace_maker_free(struct trace_maker *m) {
        if (!m)
                return NULL;
        for (size_t i = 0; i < m->processes.n; i++)
                if (!m->processes.items[i].is_over)
                        live_done(&m->processes.items[i].live);
        for (size_t i = 0; i < m->by_module.n; i++)
                map_done(&m->by_module.items[i]);
        vec_free(&m->by_module);
        map_done(&m->unplaced);
        map_done(&m->stack_by_key);
        vec_free(&m->processes);
        vec_free(&m->thread_process);
        totals_done(&m->totals);
        book_done(&m->book);
        sites_done(&m->sites);
        free(m);
        return NULL;
}

/* ---- definitions -------------------------------------------------------------------------------- */

uint32_t trace_maker_add_module(struct trace_maker *m, const struct trace_module *module) {
        vec_add(&m->by_module);
        m->n_modules++;
        return trace_add_module(m->w, module);
}

int trace_maker_add_location(struct trace_maker *m, const struct trace_location *l,
                             uint32_t *ret_location) {
        uint64_t *id;
        bool added;

        if (l->module != UINT32_MAX && l->module >= m->n_modules)
                return -EINVAL;
        if (m->n_locations == UINT32_MAX)
                return -ERANGE;
        id = map_put(l->module == UINT32_MAX ? &m->unplaced : &m->by_module.items[l->module],
                     l->offset, m->n_locations, &added);
        if (added) {
                trace_add_location(m->w, l);
                m->n_locations++;
        }
        *ret_location = (uint32_t)*id;
        return 0;
}

int trace_maker_add_stack(struct trace_maker *m, uint32_t parent, uint32_t location,
                          uint32_t *ret_stack) {
        uint64_t *id;
        bool added;

        if (parent >= m->n_stacks || location >= m->n_locations)
                return -EINVAL;
        if (m->n_stacks == UINT32_MAX)
                return -ERANGE;
        id = map_put(&m->stack_by_key, (uint64_t)parent << 32 | location, m->n_stacks, &added);
        if (added) {
                trace_add_stack(m->w, parent, location);
                m->n_stacks++;
        }
        *ret_stack = (uint32_t)*id;
        return 0;
}

/* ---- time --------------------------------------------------------------------------------------- */

static bool maker_is_totals(const struct trace_maker *m) {
        return m->flags & TRACE_IS_TOTALS;
}

static void maker_end_slice(struct trace_maker *m, uint64_t end_ns,
                            enum sites_checkpoint checkpoint) {
        if (maker_is_totals(m)) {
                totals_put(&m->totals, end_ns, NULL, 0);
                m->book.now_ns = MAX(end_ns, trace_slice_begin_ns(m->w));
                if (checkpoint == SITES_CHECKPOINT_ALWAYS)
                        totals_put_checkpoint(&m->totals);
                return;
        }
        sites_end_slice(&m->sites, end_ns, checkpoint);
        m->book.now_ns = MAX(m->book.now_ns, MAX(end_ns, trace_slice_begin_ns(m->w)));
        for (size_t i = 0; i < m->processes.n; i++)
                if (m->processes.items[i].figures && m->processes.items[i].live.base)
                        live_fold(&m->processes.items[i].live, MAKER_FOLD_BLOCKS);
}

/* Before anything that happens at time_ns: the slice ends a quarter second after it began, or when it is full. Without times only that. */
static void maker_come_to(struct trace_maker *m, uint64_t time_ns) {
        uint64_t due_ns = m->flags & TRACE_LACKS_TIME ? UINT64_MAX
                                                      : trace_slice_begin_ns(m->w) + MAKER_SLICE_NS;

        m->n_late += time_ns < m->book.now_ns;
        time_ns = MAX(time_ns, m->book.now_ns);
        if (maker_is_totals(m)) {
                m->book.now_ns = time_ns;
                return;
        }
        if (time_ns >= due_ns && (sites_slice_is_dirty(&m->sites) || trace_n_open_ticks(m->w)))
                maker_end_slice(m, MAX(due_ns, m->book.now_ns), SITES_CHECKPOINT_WHEN_DUE);
        else if (trace_slice_n_events(m->w) + MAKER_SPARE_EVENTS > trace_slice_max_events(m->w) ||
                 m->sites.n_lines_in_slice >= MAKER_MAX_LINES ||
                 trace_n_open_ticks(m->w) >= MAKER_MAX_TICKS)
                maker_end_slice(m, m->book.now_ns, SITES_CHECKPOINT_WHEN_DUE);
        book_set_now(&m->book, time_ns);
}

void trace_maker_end_slice(struct trace_maker *m, uint64_t time_ns) {
        maker_come_to(m, time_ns);
        maker_end_slice(m, m->book.now_ns, SITES_CHECKPOINT_UNLESS_NEAR);
}

void trace_maker_finish(struct trace_maker *m, uint64_t end_ns) {
        maker_come_to(m, MAX(end_ns, m->book.now_ns));
        maker_end_slice(m, m->book.now_ns, SITES_CHECKPOINT_ALWAYS);
}

uint64_t trace_maker_n_late(const struct trace_maker *m) {
        return m->n_late;
}

/* ---- processes and threads ---------------------------------------------------------------------- */

static struct maker_process *maker_process(struct trace_maker *m, uint32_t process) {
        return process < m->processes.n && !m->processes.items[process].is_over
                       ? &m->processes.items[process]
                       : NULL;
}

int trace_maker_begin_process(struct trace_maker *m, const struct trace_process *process,
                              bool inherits, uint32_t *ret_process) {
        struct maker_process *parent = maker_process(m, process->parent), new = {0};
        inherited_vec inherited = {0};
        struct figures *ancestor = NULL;
        uint32_t id;

        if ((process->parent != TRACE_NO_PROCESS && process->parent >= m->processes.n) ||
            (inherits && (!parent || maker_is_totals(m))))
                return -EINVAL;
        maker_come_to(m, MAX(process->start_ns, m->book.now_ns));
        if (inherits) {
                live_init(&new.live, live_freeze(&parent->live));
                sites_snapshot(&m->sites, parent->figures, &inherited);
                ancestor = parent->figures;
        } else
                live_init(&new.live, NULL);
        id = trace_add_process(m->w, process);
        if (maker_is_totals(m))
                totals_add_process(&m->totals);
        else
                new.figures =
                        sites_add_process(&m->sites, id, ancestor, &inherited, m->book.now_ns);
        m->book.now_ns = MAX(m->book.now_ns, trace_slice_begin_ns(m->w));
        vec_free(&inherited);
        vec_push(&m->processes, new);
        *ret_process = id;
        return 0;
}

int trace_maker_end_process(struct trace_maker *m, const struct trace_process_end *end) {
        struct maker_process *p = maker_process(m, end->process);
        struct trace_process_end placed = *end;
        bool passes_on;

        if (!p)
                return -EINVAL;
        maker_come_to(m, MAX(end->end_ns, m->book.now_ns));
        passes_on = p->figures && heritage_is_due(&m->sites, p->figures) &&
                    m->n_heritage_slices < MAKER_MAX_HERITAGE_SLICES;
        if (passes_on && sites_slice_is_dirty(&m->sites))
                maker_end_slice(m, m->book.now_ns, SITES_CHECKPOINT_WHEN_DUE);
        placed.end_ns = m->book.now_ns;
        m->book.now_ns =
                (m->book.now_ns / 1000 + 1) * 1000; /* events are written to the microsecond */
        if (maker_is_totals(m))
                totals_end_process(&m->totals, end->process);
        else
                sites_end_process(&m->sites, p->figures, placed.end_ns + 1);
        trace_end_process(m->w, &placed);
        live_done(&p->live);
        p->figures = NULL;
        p->is_over = true;
        if (passes_on) { /* what passed on did so at this slice's end, as no event of it tells */
                maker_end_slice(m, m->book.now_ns, SITES_CHECKPOINT_WHEN_DUE);
                m->n_heritage_slices++;
        }
        return 0;
}

int trace_maker_add_thread(struct trace_maker *m, const struct trace_thread *thread,
                           const char *name, uint32_t *ret_thread) {
        uint32_t id;

        if (!maker_process(m, thread->process))
                return -EINVAL;
        id = trace_add_thread(m->w, thread);
        if (name && *name)
                trace_name_thread(m->w, id, name);
        vec_push(&m->thread_process, thread->process);
        book_add_thread(&m->book, id);
        *ret_thread = id;
        return 0;
}

int trace_maker_name_thread(struct trace_maker *m, uint32_t thread, const char *name) {
        if (thread >= m->thread_process.n)
                return -EINVAL;
        trace_name_thread(m->w, thread, name);
        return 0;
}

bool trace_maker_get_counts(const struct trace_maker *m, uint32_t process,
                            struct trace_counts *ret) {
        if (maker_is_totals(m))
                return totals_get_counts(&m->totals, process, ret);
        if (process >= m->sites.processes.n || !m->sites.processes.items[process])
                return false;
        sites_get_counts(&m->sites, m->sites.processes.items[process], ret);
        return true;
}

/* ---- events ------------------------------------------------------------------------------------- */

/* The process of a thread that may do something; NULL: there is none. */
static struct maker_process *maker_of_thread(struct trace_maker *m, uint32_t thread) {
        return thread < m->thread_process.n && !maker_is_totals(m)
                       ? maker_process(m, m->thread_process.items[thread])
                       : NULL;
}

static int maker_check_block(const struct trace_maker *m, const struct trace_maker_block *b) {
        if (!b->address || b->stack >= m->n_stacks)
                return -EINVAL;
        return b->size_bytes > BLOCK_MAX_BYTES ? -ERANGE : 0;
}

static struct trace_counts *maker_counts(struct trace_maker *m, struct maker_process *p) {
        return sites_counts(&m->sites, p->figures, m->book.now_ns);
}

static uint64_t maker_told_address(const struct trace_maker *m, const struct trace_maker_block *b) {
        return m->flags & TRACE_HAS_ADDRESSES ? b->address : 0;
}

static void maker_count_unknown(struct trace_maker *m, struct maker_process *p, uint32_t thread) {
        maker_counts(m, p)->n_unknown_frees++;
        trace_put_other(m->w, thread, m->book.now_ns, TRACE_UNKNOWN_FREE, 0, 0, 0);
}

/* A place for a new block; what was there is gone. */
static struct block *maker_make_place(struct trace_maker *m, struct maker_process *p,
                                      uint32_t thread, uint64_t address) {
        struct block *b = live_add(&p->live, address), old;

        if (likely(b))
                return b;
        live_take(&p->live, address, &old);
        book_release_implicitly(&m->book, p->figures, &old, thread, 1);
        return live_add(&p->live, address);
}

/* As live_take; most blocks are where they belong, and nothing is special about them. */
static bool maker_take(struct maker_process *p, uint64_t address, struct block *ret) {
        bool is_young;
        struct block *b = live_at(&p->live, address, &is_young);

        if (unlikely(!b))
                return live_take(&p->live, address, ret);
        *ret = *b;
        live_remove(&p->live, b, is_young);
        return true;
}

static struct book_birth maker_birth(struct trace_maker *m, struct maker_process *p,
                                     uint32_t thread, const struct trace_maker_block *block) {
        return (struct book_birth){
                .size_bytes = block->size_bytes,
                .site = sites_find(&m->sites, p->figures, block->stack),
                .thread = thread,
                .n_blocks = 1,
                .is_complete = !block->is_cut,
        };
}

static void maker_allocate(struct trace_maker *m, struct maker_process *p, uint32_t thread,
                           const struct trace_maker_block *block) {
        struct book_birth birth = maker_birth(m, p, thread, block);
        struct block *b = maker_make_place(m, p, thread, block->address);

        birth.seq = trace_put_alloc(m->w, thread, m->book.now_ns, block->stack, block->size_bytes,
                                    maker_told_address(m, block));
        book_allocate(&m->book, p->figures, b, &birth);
}

void trace_maker_expect(struct trace_maker *m, uint32_t thread, uint64_t address,
                        bool is_allocation) {
        const struct maker_process *p = maker_of_thread(m, thread);

        if (!p)
                return;
        if (is_allocation)
                live_prefetch_new(&p->live, address);
        else
                live_prefetch(&p->live, address);
}

int trace_maker_allocate(struct trace_maker *m, uint64_t time_ns, uint32_t thread,
                         const struct trace_maker_block *block) {
        struct maker_process *p = maker_of_thread(m, thread);
        int r = maker_check_block(m, block);

        if (!p || r < 0)
                return r < 0 ? r : -EINVAL;
        maker_come_to(m, time_ns);
        maker_allocate(m, p, thread, block);
        return 0;
}

int trace_maker_release(struct trace_maker *m, uint64_t time_ns, uint32_t thread, uint64_t address,
                        uint32_t stack) {
        struct maker_process *p = maker_of_thread(m, thread);
        struct block b;

        if (!p || stack >= m->n_stacks || (stack && !(m->flags & TRACE_HAS_FREE_STACKS)))
                return -EINVAL;
        if (!address)
                return 0;
        maker_come_to(m, time_ns);
        if (!maker_take(p, address, &b)) {
                maker_count_unknown(m, p, thread);
                return 0;
        }
        trace_put_free(m->w, thread, m->book.now_ns, block_seq(&b), book_stack(&m->book, &b),
                       block_size_bytes(&b), stack);
        book_release(&m->book, p->figures, &b, thread, 1);
        return 0;
}

int trace_maker_reallocate(struct trace_maker *m, uint64_t time_ns, uint32_t thread,
                           uint64_t old_address, const struct trace_maker_block *block) {
        struct maker_process *p = maker_of_thread(m, thread);
        int r = maker_check_block(m, block);
        struct book_birth birth;
        struct block old, *b;

        if (!p || r < 0)
                return r < 0 ? r : -EINVAL;
        maker_come_to(m, time_ns);
        if (!old_address || !maker_take(p, old_address, &old)) {
                if (old_address)
                        maker_count_unknown(m, p, thread);
                maker_allocate(m, p, thread, block);
                return 0;
        }
        birth = maker_birth(m, p, thread, block);
        birth.is_realloc = true;
        b = maker_make_place(m, p, thread, block->address);
        birth.seq =
                trace_put_realloc(m->w, thread, m->book.now_ns, block_seq(&old),
                                  book_stack(&m->book, &old), block_size_bytes(&old), block->stack,
                                  block->size_bytes, maker_told_address(m, block));
        book_begin_realloc(&m->book, thread);
        book_release(&m->book, p->figures, &old, thread, 1);
        book_allocate(&m->book, p->figures, b, &birth);
        book_end_realloc(&m->book, &birth, block_size_bytes(&old), block->address == old_address);
        return 0;
}

int trace_maker_fail(struct trace_maker *m, uint64_t time_ns, uint32_t thread,
                     uint64_t size_bytes) {
        struct maker_process *p = maker_of_thread(m, thread);

        if (!p)
                return -EINVAL;
        maker_come_to(m, time_ns);
        maker_counts(m, p)->n_failed++;
        trace_put_other(m->w, thread, m->book.now_ns, TRACE_FAILED, size_bytes, 0, 0);
        return 0;
}

int trace_maker_lose(struct trace_maker *m, uint64_t time_ns, uint32_t thread, uint64_t n_events) {
        struct maker_process *p = maker_of_thread(m, thread);

        if (!p)
                return -EINVAL;
        maker_come_to(m, time_ns);
        maker_counts(m, p)->n_lost += n_events;
        trace_put_other(m->w, thread, m->book.now_ns, TRACE_LOST, n_events, 0, 0);
        return 0;
}

/* ---- totals ------------------------------------------------------------------------------------- */

int trace_maker_put_totals(struct trace_maker *m, uint64_t time_ns,
                           const struct trace_maker_total *totals, size_t n) {
        int r;

        if (!maker_is_totals(m))
                return -EINVAL;
        for (size_t i = 0; i < n; i++)
                if (totals[i].process >= m->processes.n || totals[i].stack >= m->n_stacks)
                        return -EINVAL;
        r = totals_check(&m->totals, totals, n);
        if (r < 0)
                return r;
        maker_come_to(m, time_ns);
        totals_put(&m->totals, m->book.now_ns, totals, n);
        m->book.now_ns = MAX(m->book.now_ns, trace_slice_begin_ns(m->w));
        return 0;
}

/* ---- beside events ------------------------------------------------------------------------------ */

void trace_maker_note(struct trace_maker *m, uint64_t time_ns, const char *text) {
        maker_come_to(m, time_ns);
        trace_put_note(m->w, m->book.now_ns, text);
}

int trace_maker_sample(struct trace_maker *m, const struct trace_sample *sample) {
        struct trace_sample placed = *sample;

        if (sample->process >= m->processes.n)
                return -EINVAL;
        maker_come_to(m, sample->time_ns);
        placed.time_ns = m->book.now_ns;
        trace_put_sample(m->w, &placed);
        return 0;
}

int trace_maker_tick(struct trace_maker *m, const struct trace_tick *tick) {
        if (maker_is_totals(m) || tick->thread >= m->thread_process.n ||
            tick->stack >= m->n_stacks || tick->state >= TRACE_N_TICK_STATES)
                return -EINVAL;
        if (tick->weight_ns > TRACE_TICK_MAX_NS)
                return -ERANGE;
        maker_come_to(m, tick->time_ns);
        trace_put_tick(m->w, tick);
        return 0;
}

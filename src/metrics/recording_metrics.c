/* SPDX-License-Identifier: MIT */
#include "metrics/recording_metrics.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bill/bill.h"
#include "metrics/site_hash.h"
#include "query/trace_origin.h"

/* A process that has ended is told for so long: until it was scraped */
#define ENDED_NS 300000000000ull
#define SHORT_NS 10000000000ull

enum { MAX_FINDINGS = 8 }; /* processes whose findings are told: those that hold most */

struct recorded {
        struct recording *recording;
        struct follower *f;
        size_t max_processes;
        struct query *q;
        const struct trace_view *v;
        struct query_answer *whole;
        const struct trace_sample **last; /* of each process; NULL: nobody looked */
        struct metric_set *to;
        bool lacks_bill; /* one could not be read */
};

/* One that is told. */
struct told {
        uint32_t process;
        bool is_alive;
        uint64_t end_ns;
        uint64_t live_bytes;
};

/* ---- which processes ------------------------------------------------------------------------------ */

static int compare_told(const void *a, const void *b) {
        const struct told *x = a, *y = b;

        if (x->is_alive != y->is_alive)
                return x->is_alive ? -1 : 1;
        if (!x->is_alive && x->end_ns != y->end_ns)
                return x->end_ns > y->end_ns ? -1 : 1;
        if (x->live_bytes != y->live_bytes)
                return x->live_bytes > y->live_bytes ? -1 : 1;
        return x->process < y->process ? -1 : 1;
}

/* Of a build or a script nobody wants a series for each compiler and each sed: what lives so shortly is counted only. */
static bool is_short(const struct recorded *r, const struct told *t) {
        uint64_t start_ns = r->v->processes[t->process].start.start_ns;

        return t->process != query_main_process(r->q) &&
               t->end_ns - MIN(start_ns, t->end_ns) < SHORT_NS;
}

static bool is_told(const struct recorded *r, const struct told *t) {
        if (!r->recording->tells_short && is_short(r, t))
                return false;
        return t->is_alive || follower_now(r->f)->is_over ||
               r->v->end_ns - MIN(t->end_ns, r->v->end_ns) < ENDED_NS;
}

/* Not its title, which it may change as often as it likes, nor its file, which one that is called by several names has in common with
 * others: how it was called, as far as that is one word. */
static void add_program(const struct trace_process *p, struct str *to) {
        const char *path = p->n_args ? p->args[0] : "";
        size_t n = strcspn(path, " "), begin = 0;

        for (size_t i = 0; i < n; i++)
                if (path[i] == '/')
                        begin = i + 1;
        while (n > begin && (path[n - 1] == ':'))
                n--;
        if (begin == 0 && path[0] == '-' && n > 1) /* a shell that one logged in to */
                begin = 1;
        if (n > begin) {
                str_addn(to, path + begin, n - begin);
                return;
        }
        path = p->exe && p->exe[0] ? p->exe : "unknown";
        str_add(to, strrchr(path, '/') ? strrchr(path, '/') + 1 : path);
}

static bool is_called_same(const struct trace_process *a, const struct trace_process *b) {
        struct str x = {0}, y = {0};
        bool is_same;

        add_program(a, &x);
        add_program(b, &y);
        is_same = strcmp(str_text(&x), str_text(&y)) == 0;
        str_done(&x);
        str_done(&y);
        return is_same;
}

/* A pid may be used again: of those that would be called the same the first of the order is told. */
static size_t leave_out_same(const struct recorded *r, struct told *all, size_t n) {
        size_t n_kept = 0;

        for (size_t i = 0; i < n && n_kept < r->max_processes; i++) {
                const struct trace_process *p = &r->v->processes[all[i].process].start;
                bool is_same = false;

                for (size_t k = 0; k < n_kept && !is_same; k++) {
                        const struct trace_process *o = &r->v->processes[all[k].process].start;

                        is_same = o->pid == p->pid && is_called_same(o, p);
                }
                if (!is_same)
                        all[n_kept++] = all[i];
        }
        return n_kept;
}

/* Those of one pid that were followed by another program of the same are not told any more. */
static size_t choose(const struct recorded *r, struct told **ret) {
        struct told *all = calloc(r->v->n_processes + 1, sizeof(*all));
        size_t n = 0;

        if (!all)
                abort();
        for (uint32_t p = 0; p < r->v->n_processes; p++) {
                const struct trace_process_info *i = &r->v->processes[p];
                struct told t = {.process = p,
                                 .is_alive = !i->has_end,
                                 .end_ns = i->has_end ? i->end.end_ns : r->v->end_ns,
                                 .live_bytes = r->whole->processes[p].end_bytes};

                if (query_next_image(r->q, p) == TRACE_NO_PROCESS && is_told(r, &t))
                        all[n++] = t;
        }
        qsort(all, n, sizeof(*all), compare_told);
        *ret = all;
        return leave_out_same(r, all, n);
}

static void label_process(const struct recorded *r, uint32_t process, struct metric_labels *ret) {
        const struct trace_process *p = &r->v->processes[process].start;
        struct str program = {0};
        char pid[16] = "";

        add_program(p, &program);
        if (origin_knows_pids(&r->v->meta))
                snprintf(pid, sizeof(pid), "%u", p->pid);
        *ret = (struct metric_labels){0};
        metric_label(ret, "program", str_text(&program));
        metric_label(ret, "pid", pid);
        str_done(&program);
}

static void count(const struct recorded *r, enum metric_id id, struct metric_labels *l,
                  uint32_t process, uint64_t value) {
        metric_count(r->to, id, l, (uint64_t)r->recording->number << 32 | process, value);
}

/* ---- components and sites --------------------------------------------------------------------------- */

/* What came and went; sums that another tool made may have what was live alone. */
static bool knows_traffic(const struct query_totals *t) {
        return !t->lacks_traffic && !t->lacks_blocks;
}

struct sums {
        int64_t live_bytes;
        uint64_t allocated_bytes, n_allocs;
};

static void put_component(const struct recorded *r, uint32_t process, const char *name,
                          const struct sums *s) {
        struct metric_labels l;

        label_process(r, process, &l);
        metric_label(&l, "component", name);
        if (!r->whole->totals.lacks_live)
                metric_put_signed(r->to, METRIC_COMPONENT_LIVE_BYTES, &l, s->live_bytes);
        if (knows_traffic(&r->whole->totals)) {
                count(r, METRIC_COMPONENT_ALLOCATED_BYTES, &l, process, s->allocated_bytes);
                count(r, METRIC_COMPONENT_ALLOCATIONS, &l, process, s->n_allocs);
        }
        metric_labels_done(&l);
}

static const char *component_name(const struct query_group *g) {
        return g->name[0] ? g->name : "unknown";
}

static void put_components(const struct recorded *r, uint32_t process,
                           const struct query_answer *a) {
        struct query_group_options o = {.by = QUERY_BY_COMPONENT, .metric = QUERY_END};
        struct query_groups *g = query_group_answer(r->q, a, &o);
        struct sums others = {0};

        for (size_t i = 0; i < g->n; i++) {
                const struct query_figures *f = &g->rows[i].self;
                struct sums s = {f->end_bytes, f->alloc_bytes, f->n_allocs};

                if (i < METRICS_MAX_COMPONENTS) {
                        put_component(r, process, component_name(&g->rows[i]), &s);
                        continue;
                }
                others.live_bytes += s.live_bytes;
                others.allocated_bytes += s.allocated_bytes;
                others.n_allocs += s.n_allocs;
        }
        if (g->n > METRICS_MAX_COMPONENTS)
                put_component(r, process, "other", &others);
        query_groups_free(g);
}

/* is_mapped: of what it mapped, in place of its blocks. */
static void put_site(const struct recorded *r, uint32_t process, const struct query_group *g,
                     bool is_mapped) {
        const struct frame_names names = {.q = r->q, .names = query_names(r->q)};
        struct frame_stack stack = {0};
        struct str function = {0};
        char hash[SITE_HASH_TEXT];
        struct metric_labels l;

        frame_stack_fill(&stack, &names, g->stack, false);
        site_hash(&stack, names.names, hash);
        if (stack.shown.n)
                frame_add_function(&function, &names,
                                   &stack.frames.items[stack.shown.items[0].frame_idx],
                                   stack.shown.items[0].is_task, false, true);
        label_process(r, process, &l);
        metric_label(&l, "site", hash);
        metric_label(&l, "function", function.n ? str_text(&function) : "unknown");
        if (is_mapped)
                metric_put_signed(r->to, METRIC_SITE_MAPPED_BYTES, &l, g->self.end_bytes);
        else if (!r->whole->totals.lacks_live)
                metric_put_signed(r->to, METRIC_SITE_LIVE_BYTES, &l, g->self.end_bytes);
        if (!is_mapped && !g->self.lacks_events)
                metric_put_signed(r->to, METRIC_SITE_GROWTH_BYTES, &l,
                                  g->self.end_bytes - g->self.begin_bytes);
        metric_labels_done(&l);
        str_done(&function);
        frame_stack_done(&stack);
}

static int compare_growth(const void *a, const void *b) {
        const struct query_group *x = *(const struct query_group *const *)a,
                                 *y = *(const struct query_group *const *)b;
        int64_t gx = x->self.end_bytes - x->self.begin_bytes,
                gy = y->self.end_bytes - y->self.begin_bytes;

        return gx != gy ? (gx > gy ? -1 : 1) : x < y ? -1 : x > y;
}

/* Half of them hold most, the other half are those of the others that grew most. */
static int put_sites(const struct recorded *r, uint32_t process, struct err *reterr) {
        uint64_t from = r->v->end_ns > METRICS_WINDOW_NS ? r->v->end_ns - METRICS_WINDOW_NS : 0;
        struct query_scope scope = {.process = process,
                                    .from_ns = from ? query_edge_near(r->q, from) : 0,
                                    .to_ns = UINT64_MAX,
                                    .is_quick = true}; /* neither peaks nor errors are told */
        struct query_group_options o = {.by = QUERY_BY_SITE, .metric = QUERY_END};
        const struct query_group **others;
        struct query_groups *g = NULL;
        int code = query_group(r->q, &scope, &o, &g, reterr);
        size_t n_large;

        if (code < 0)
                return code;
        n_large = MIN(g->n, (size_t)METRICS_MAX_SITES / 2);
        for (size_t i = 0; i < n_large; i++)
                put_site(r, process, &g->rows[i], false);
        others = calloc(g->n + 1, sizeof(struct query_group *));
        if (!others)
                abort();
        for (size_t i = n_large; i < g->n; i++)
                others[i - n_large] = &g->rows[i];
        qsort(others, g->n - n_large, sizeof(others[0]), compare_growth);
        for (size_t i = 0; i < MIN(g->n - n_large, (size_t)METRICS_MAX_SITES / 2); i++)
                put_site(r, process, others[i], false);
        free(others);
        query_groups_free(g);
        return 0;
}

/* What the program mapped itself now. */
static int put_mapped_sites(const struct recorded *r, uint32_t process, struct err *reterr) {
        struct query_scope scope = {.process = process,
                                    .to_ns = UINT64_MAX,
                                    .of_mappings = true,
                                    .is_moment = true};
        struct query_group_options o = {.by = QUERY_BY_SITE, .metric = QUERY_END};
        struct query_groups *g = NULL;
        int code = origin_is_import(&r->v->meta) ? 0 : query_group(r->q, &scope, &o, &g, reterr);

        for (size_t i = 0; g && i < MIN(g->n, (size_t)METRICS_MAX_SITES / 2); i++)
                if (g->rows[i].self.end_bytes > 0)
                        put_site(r, process, &g->rows[i], true);
        query_groups_free(g);
        return code;
}

/* ---- a process -------------------------------------------------------------------------------------- */

static const struct trace_tally *tally_of(const struct recorded *r, uint32_t process) {
        const struct trace_tally *t = process < r->v->n_tallies ? &r->v->tallies[process] : NULL;

        return t && t->process == process ? t : NULL;
}

/* Of samples what was done is estimated until it was counted for the first time. A counter that began with an estimate could never come down to what was
 * counted: it begins when that is there, or when nothing more comes, and has what was counted last. */
static void put_counts(const struct recorded *r, uint32_t process, const struct query_totals *x,
                       struct metric_labels *l) {
        const struct trace_tally *t = tally_of(r, process);

        if ((query_sample_bytes(r->q) && !t && !follower_now(r->f)->is_over) || !knows_traffic(x))
                return;
        count(r, METRIC_HEAP_ALLOCATIONS, l, process, t ? t->n_allocs : x->n_allocs);
        if (!x->lacks_live)
                count(r, METRIC_HEAP_FREES, l, process, t ? t->n_frees : x->n_frees);
        count(r, METRIC_HEAP_ALLOCATED_BYTES, l, process, t ? t->alloc_bytes : x->alloc_bytes);
}

/* x: of an answer about this process alone, which has its errors, and its peak without what luck adds to it. */
static void put_heap(const struct recorded *r, const struct told *t, const struct query_totals *x,
                     struct metric_labels *l) {
        const struct trace_sample *s = r->last[t->process];

        metric_put(r->to, METRIC_UP, l, t->is_alive && !follower_now(r->f)->is_over);
        if (!x->lacks_time)
                metric_put_real(r->to, METRIC_RECORDING_TIME, l, (double)r->v->end_ns / 1e9);
        if (!x->lacks_live)
                metric_put(r->to, METRIC_HEAP_LIVE_BYTES, l, x->end_bytes);
        if (!x->lacks_blocks && !x->lacks_live)
                metric_put(r->to, METRIC_HEAP_LIVE_BLOCKS, l, x->end_blocks);
        if (!x->lacks_peak)
                metric_put(r->to, METRIC_HEAP_PEAK_BYTES, l, x->peak_bytes);
        put_counts(r, t->process, x, l);
        if (!x->lacks_events && !x->is_imported) {
                count(r, METRIC_HEAP_FAILED_ALLOCATIONS, l, t->process, x->n_failed);
                count(r, METRIC_LOST_EVENTS, l, t->process, x->n_lost);
        }
        if (s && t->is_alive)
                metric_put(r->to, METRIC_RESIDENT_BYTES, l,
                           s->anon_bytes + s->file_bytes + s->shmem_bytes);
        if (query_sample_bytes(r->q))
                metric_put_real(r->to, METRIC_ESTIMATE_ERROR_BYTES, l, sqrt(x->var[QUERY_END]));
}

static uint64_t sample_bytes(const struct recorded *r, uint32_t process) {
        const struct trace_tally *t = tally_of(r, process);

        return t && t->sample_bytes ? t->sample_bytes : query_sample_bytes(r->q);
}

/* ---- what is not in the heap's figures ---------------------------------------------------------------- */

static struct process_look *look_of(struct recording *r, uint32_t process) {
        struct process_look *l;

        for (size_t i = 0; i < r->looks.n; i++)
                if (r->looks.items[i].process == process) {
                        r->looks.items[i].round = r->round;
                        return &r->looks.items[i];
                }
        l = vec_add(&r->looks);
        l->process = process;
        l->round = r->round;
        return l;
}

/* Of processes that are not told any more nothing is kept. */
static void forget_looks(struct recording *r) {
        size_t n = 0;

        for (size_t i = 0; i < r->looks.n; i++)
                if (r->looks.items[i].round == r->round)
                        r->looks.items[n++] = r->looks.items[i];
        r->looks.n = n;
}

static void put_known(const struct recorded *r, enum metric_id id, struct metric_labels *l,
                      uint64_t value) {
        if (value != OUTSIDE_UNKNOWN)
                metric_put(r->to, id, l, value);
}

static void put_state(const struct recorded *r, uint32_t process, const char *allocator,
                      const char *state, uint64_t bytes) {
        struct metric_labels l;

        if (bytes == OUTSIDE_UNKNOWN)
                return;
        label_process(r, process, &l);
        metric_label(&l, "allocator", allocator);
        metric_label(&l, "state", state);
        metric_put(r->to, METRIC_ALLOCATOR_BYTES, &l, bytes);
        metric_labels_done(&l);
}

static void put_books(const struct recorded *r, uint32_t process, const char *allocator,
                      const struct outside_books *b) {
        put_state(r, process, allocator, "allocated", b->allocated_bytes);
        put_state(r, process, allocator, "active", b->active_bytes);
        put_state(r, process, allocator, "metadata", b->metadata_bytes);
        put_state(r, process, allocator, "resident", b->resident_bytes);
        put_state(r, process, allocator, "retained", b->retained_bytes);
}

static void put_outside(const struct recorded *r, const struct told *t, struct process_look *look,
                        struct metric_labels *l) {
        const struct trace_process *p = &r->v->processes[t->process].start;
        struct outside *o = &look->outside;

        if (!outside_is_there((pid_t)p->pid, p->exe))
                return;
        outside_look(o, (pid_t)p->pid);
        put_known(r, METRIC_SWAP_BYTES, l, o->swap_bytes);
        put_known(r, METRIC_MEMORY_LIMIT_BYTES, l, o->limit_bytes);
        put_known(r, METRIC_MEMORY_LIMIT_USAGE_BYTES, l, o->usage_bytes);
        put_known(r, METRIC_MEMORY_LIMIT_FILES_BYTES, l, o->file_bytes);
        if (o->stall_us != OUTSIDE_UNKNOWN)
                count(r, METRIC_PRESSURE_STALL, l, t->process, o->stall_us * 1000);
        for (size_t i = 0; i < OUTSIDE_N_ALLOCATORS; i++)
                if (o->books[i].is_known)
                        put_books(r, t->process, outside_allocator_names[i], &o->books[i]);
}

/* Attached late: blocks from before are in no figure of the heap. */
static void put_prior(const struct recorded *r, const struct told *t, struct metric_labels *l) {
        for (size_t i = 0; i < r->v->n_priors; i++) {
                const struct trace_prior *p = &r->v->priors[i];
                uint64_t bytes = 0;

                if (p->process != t->process)
                        continue;
                if (p->flags & TRACE_PRIOR_HELD)
                        bytes += p->held_bytes - MIN(p->free_bytes, p->held_bytes);
                if (p->flags & TRACE_PRIOR_MAPPED)
                        bytes += p->mapped_bytes;
                if (p->flags & (TRACE_PRIOR_HELD | TRACE_PRIOR_MAPPED))
                        metric_put(r->to, METRIC_PRIOR_BYTES, l, bytes);
        }
}

/* The last one; the one before where that is damaged. */
static int put_bill(struct recorded *r, const struct told *t, struct metric_labels *l,
                    struct err *reterr) {
        int64_t parts[BILL_N_KINDS];
        size_t i;
        int code = 0;

        for (i = query_n_bills(r->q); i; i--) {
                if (query_bill(r->q, i - 1)->process != t->process)
                        continue;
                code = bill_read_parts(r->q, i - 1, parts, reterr);
                if (code != -EBADMSG)
                        break;
                r->lacks_bill = true;
        }
        if (i == 0)
                return 0;
        if (code < 0)
                return code;
        for (size_t k = 0; k < BILL_N_KINDS; k++) {
                struct metric_labels part;

                label_process(r, t->process, &part);
                metric_label(&part, "part", bill_kind_key((enum bill_kind)k));
                metric_put_signed(r->to, METRIC_BILL_BYTES, &part, parts[k]);
                metric_labels_done(&part);
        }
        metric_put_real(r->to, METRIC_BILL_AGE, l,
                        (double)(t->end_ns - MIN(query_bill(r->q, i - 1)->time_ns, t->end_ns)) /
                                1e9);
        return 0;
}

static void put_looks(const struct recorded *r, struct process_look *look, bool with_findings,
                      struct metric_labels *l) {
        process_look_at_leaks(look, r->q);
        if (with_findings)
                process_look_at_findings(look, r->q);
        if (look->has_leaks) {
                metric_put(r->to, METRIC_LEAKED_BYTES, l, look->leaked_bytes);
                metric_put(r->to, METRIC_LEAKED_BLOCKS, l, look->leaked_blocks);
        }
        for (size_t i = 0; i < look->n_findings; i++) {
                struct metric_labels kind;

                label_process(r, look->process, &kind);
                metric_label(&kind, "kind", look->findings[i].kind);
                metric_put(r->to, METRIC_FINDINGS, &kind, look->findings[i].n);
                metric_labels_done(&kind);
        }
}

static void put_trace(const struct recorded *r, struct metric_labels *l) {
        bool is_over = follower_now(r->f)->is_over;
        uint64_t room_bytes;

        metric_put(r->to, METRIC_TRACE_BYTES, l, r->v->file_bytes);
        /* one that was cut off between two chunks lacks as much as one cut inside */
        metric_put(r->to, METRIC_TRACE_DAMAGED, l,
                   query_damage(r->q)[0] || r->lacks_bill || (is_over && !r->v->finished));
        if (is_over)
                return;
        metric_put_real(r->to, METRIC_TRACE_AGE, l,
                        trace_state_age(&r->recording->state, r->recording->path, r->v->end_ns));
        if (trace_state_room(r->recording->path, &room_bytes))
                metric_put(r->to, METRIC_TRACE_ROOM_BYTES, l, room_bytes);
}

/* Of the recording, which is told with the process that it began with. */
static void put_own(const struct recorded *r, size_t n_told) {
        uint32_t first = query_main_process(r->q);
        size_t n_pids = query_n_pids(r->q);
        struct metric_labels l;

        if (first >= r->v->n_processes)
                return;
        label_process(r, first, &l);
        metric_put(r->to, METRIC_PROCESSES_NOT_TOLD, &l, n_pids - MIN(n_told, n_pids));
        if (!origin_is_import(&r->v->meta)) { /* which no recorder made */
                count(r, METRIC_OWN_CPU, &l, first, r->v->cost.recorder_cpu_ns);
                metric_put(r->to, METRIC_OWN_MEMORY_BYTES, &l, r->v->cost.recorder_peak_bytes);
        }
        count(r, METRIC_UNWRITTEN_EVENTS, &l, first, r->v->n_unwritten_events);
        put_trace(r, &l);
        metric_labels_done(&l);
}

static int put_process(struct recorded *r, const struct told *t, bool with_findings,
                       struct err *reterr) {
        struct query_scope scope = {.process = t->process, .to_ns = UINT64_MAX};
        struct process_look *look = look_of(r->recording, t->process);
        _cleanup_(query_answer_freep) struct query_answer *own = NULL;
        struct metric_labels l;
        int code = query_ask(r->q, &scope, &own, reterr);

        if (code < 0)
                return code;
        label_process(r, t->process, &l);
        put_heap(r, t, &own->totals, &l);
        put_components(r, t->process, own);
        if (query_sample_bytes(r->q))
                metric_put(r->to, METRIC_SAMPLE_DISTANCE_BYTES, &l, sample_bytes(r, t->process));
        if (t->is_alive && !follower_now(r->f)->is_over)
                put_outside(r, t, look, &l);
        put_prior(r, t, &l);
        code = put_bill(r, t, &l, reterr);
        put_looks(r, look, with_findings, &l);
        metric_labels_done(&l);
        if (code >= 0)
                code = put_sites(r, t->process, reterr);
        return code < 0 ? code : put_mapped_sites(r, t->process, reterr);
}

/* ---- all of it --------------------------------------------------------------------------------------- */

static int find_samples(struct recorded *r, struct err *reterr) {
        const struct trace_sample *samples;
        size_t n;
        int code = query_samples(r->q, &samples, &n, reterr);

        if (code < 0)
                return code;
        r->last = calloc(r->v->n_processes + 1, sizeof(struct trace_sample *));
        if (!r->last)
                abort();
        for (size_t i = 0; i < n; i++)
                if (samples[i].process < r->v->n_processes)
                        r->last[samples[i].process] = &samples[i];
        return 0;
}

void recording_done(struct recording *r) {
        follower_free(r->f);
        vec_free(&r->looks);
}

int recording_metrics_add(struct recording *recording, size_t max_processes, struct metric_set *to,
                          struct err *reterr) {
        struct recorded r = {.recording = recording,
                             .f = recording->f,
                             .q = follower_query(recording->f),
                             .max_processes = max_processes,
                             .to = to};
        struct query_scope all = {.process = QUERY_ALL, .to_ns = UINT64_MAX};
        struct told *told = NULL;
        size_t n_told = 0;
        int code;

        recording->round++;
        r.v = query_view(r.q);
        code = query_ask(r.q, &all, &r.whole, reterr);
        if (code >= 0)
                code = find_samples(&r, reterr);
        if (code >= 0)
                n_told = choose(&r, &told);
        for (size_t i = 0; i < n_told && code >= 0; i++)
                code = put_process(&r, &told[i], i < MAX_FINDINGS, reterr);
        if (code >= 0)
                put_own(&r, n_told); /* last: what is damaged is known now */
        forget_looks(recording);
        free(told);
        free(r.last);
        query_answer_free(r.whole);
        return code < 0 ? code : (int)n_told;
}

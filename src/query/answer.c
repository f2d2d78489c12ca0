/* SPDX-License-Identifier: MIT */
/* Totals and sites of a window: the state at its end minus the state at its start, and the peak
 * between. With a filter on call paths the same, of the sites it picks; with one on single blocks
 * their lives are added up instead. */
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "query/block_life.h"
#include "query/chosen.h"
#include "query/counted.h"
#include "query/fair_peak.h"
#include "query/mapped_answer.h"
#include "query/pick.h"
#include "query/query_internal.h"
#include "query/rss.h"
#include "query/site_state.h"
#include "query/time_answer.h"
#include "query/trace_origin.h"
#include "query/window_peak.h"

struct asking {
        struct query *q;
        struct query_scope scope;
        struct state begin, end;
        struct peak *peaks; /* one a process, and one for all */
        double whole_var
                [QUERY_N_METRICS]; /* of a recording of samples: of all blocks, picked or not */
        struct query_answer *answer;
        const struct pick *pick; /* NULL: everything */
        bool is_split;         /* sites of each process apart, as while a filtered answer is made */
        bool counts_others;    /* sites of processes outside the scope too */
        struct chosen *chosen; /* of lives: who they are */
        uint32_t *place_of;    /* of lives of one process: stack → index into sites + 1 */
        struct map by_stack;   /* stack (split: process << 32 | stack) → index into sites */
        VEC(struct query_site) sites;
};

struct query_answer *query_answer_free(struct query_answer *a) {
        if (!a)
                return NULL;
        free(a->sites);
        free(a->processes);
        free(a->held_bytes);
        free(a);
        return NULL;
}

static bool is_all(const struct asking *k) {
        return k->scope.process == QUERY_ALL;
}

/* ---- totals ---------------------------------------------------------------------------------- */

/* Of others than the one that is asked about: what ended before the window held nothing in it. */
static bool is_gone(const struct asking *k, uint32_t process) {
        return process != k->scope.process &&
               query_process_gone_ns(k->q, process) < k->scope.from_ns;
}

static void tell_lacks(const struct query *q, struct query_totals *t) {
        t->lacks_events = query_lacks_events(q);
        t->lacks_blocks = query_lacks_blocks(q);
        t->counts_samples = query_counts_samples(q);
        t->lacks_time = query_lacks_time(q);
        t->lacks_traffic = query_lacks_traffic(q);
        t->lacks_peak = query_lacks_peak(q);
        t->lacks_live = query_lacks_live(q);
        t->lacks_threads = !origin_knows_threads(q->view);
        t->is_imported = origin_is_import(&q->view->meta);
}

static void totals_of_process(const struct asking *k, uint32_t process, struct query_totals *ret) {
        const struct trace_counts *b = &k->begin.counts[process], *e = &k->end.counts[process];
        const struct trace_process_end *end = &k->q->view->processes[process].end;
        const struct peak *peak = &k->peaks[process];

        *ret = (struct query_totals){
                .n_allocs = e->n_allocs - b->n_allocs,
                .n_frees = e->n_frees - b->n_frees,
                .n_reallocs = e->n_reallocs - b->n_reallocs,
                .n_failed = e->n_failed - b->n_failed,
                .n_unknown_frees = e->n_unknown_frees - b->n_unknown_frees,
                .n_prior_frees = e->n_prior_frees - b->n_prior_frees,
                .n_implicit_frees = e->n_implicit_frees - b->n_implicit_frees,
                .alloc_bytes = e->alloc_bytes - b->alloc_bytes,
                .n_temporary = e->n_temporary - b->n_temporary,
                .n_lost = e->n_lost - b->n_lost,
                .n_wrong_sizes = e->n_wrong_sizes - b->n_wrong_sizes,
                .n_complete_stacks = e->n_complete_stacks - b->n_complete_stacks,
                .n_inversions = e->n_inversions - b->n_inversions,
                .peak_bytes = peak->bytes,
                .peak_blocks = peak->blocks,
                .peak_ns = peak->time_ns,
                .begin_bytes = b->live_bytes,
                .begin_blocks = b->live_blocks,
                .end_bytes = e->live_bytes,
                .end_blocks = e->live_blocks,
                .runtime_bytes = end->runtime_bytes,
                .blocked_ns = end->blocked_ns,
                .n_threads = end->n_threads,
                .lacks_reallocs = !origin_counts_reallocs(&k->q->view->meta, e->n_reallocs),
        };
        tell_lacks(k->q, ret);
        if (is_gone(k, process))
                ret->peak_bytes = ret->peak_blocks = ret->begin_bytes = ret->begin_blocks =
                        ret->end_bytes = ret->end_blocks = 0;
}

/* Threads the trace knows of, where the process's end did not say how many there were. */
static void count_threads(const struct asking *k) {
        const struct trace_view *v = k->q->view;
        uint64_t *n = calloc(v->n_processes + 1, sizeof(uint64_t));

        if (!n)
                abort();
        for (size_t i = 0; i < v->n_threads; i++)
                if (v->threads[i].start.process < v->n_processes)
                        n[v->threads[i].start.process]++;
        for (size_t p = 0; p < v->n_processes; p++)
                k->answer->processes[p].n_threads = MAX(k->answer->processes[p].n_threads, n[p]);
        free(n);
}

static void count_sites(const struct asking *k) {
        for (size_t i = 0; i < k->end.sites.n; i++) {
                const struct state_site *e = &k->end.sites.items[i];
                const struct state_site *b = state_find(&k->begin, e->process, e->stack);

                if (e->process < k->end.n_processes && e->n_allocs > (b ? b->n_allocs : 0))
                        k->answer->processes[e->process].n_sites++;
        }
        for (size_t p = 0; p < k->end.n_processes && k->end.n_others; p++)
                k->answer->processes[p].n_sites += k->end.n_others[p];
}

/* Of blocks that each process allocated: what it did not free itself. What it inherited is its allocator's. */
static void sum_left(const struct asking *k, struct query_totals *t) {
        for (size_t i = 0; i < k->end.sites.n; i++) {
                const struct state_site *s = &k->end.sites.items[i];

                t->left_bytes += s->alloc_bytes - s->free_bytes + s->inherited_free_bytes;
                t->left_blocks += s->n_allocs - s->n_frees + s->n_inherited_frees;
        }
        t->has_left = !k->pick && !t->lacks_traffic && !t->lacks_blocks && !t->lacks_live;
}

static void totals_sum(const struct asking *k, struct query_totals *t) {
        const struct peak *peak = &k->peaks[k->q->view->n_processes];

        tell_lacks(k->q, t);
        t->lacks_reallocs = k->answer->n_processes > 0;
        for (size_t p = 0; p < k->answer->n_processes; p++) {
                const struct query_totals *x = &k->answer->processes[p];

                t->n_allocs += x->n_allocs;
                t->n_frees += x->n_frees;
                t->n_reallocs += x->n_reallocs;
                t->lacks_reallocs &= x->lacks_reallocs;
                t->n_failed += x->n_failed;
                t->n_unknown_frees += x->n_unknown_frees;
                t->n_prior_frees += x->n_prior_frees;
                t->n_implicit_frees += x->n_implicit_frees;
                t->alloc_bytes += x->alloc_bytes;
                t->n_allocs_est += x->is_tallied ? x->n_allocs_est : x->n_allocs;
                t->alloc_bytes_est += x->is_tallied ? x->alloc_bytes_est : x->alloc_bytes;
                t->n_temporary += x->n_temporary;
                t->n_lost += x->n_lost;
                t->n_wrong_sizes += x->n_wrong_sizes;
                t->n_complete_stacks += x->n_complete_stacks;
                t->n_inversions += x->n_inversions;
                t->blocked_ns += x->blocked_ns;
                t->n_threads += x->n_threads;
        }
        t->runtime_bytes = rss_runtime_peak(k->q, k->answer->processes);
        t->peak_bytes = k->pick ? 0 : peak->bytes;
        t->peak_blocks = k->pick ? 0 : peak->blocks;
        t->peak_ns = peak->time_ns;
        for (size_t i = 0; i < k->sites.n; i++) {
                const struct query_site *s = &k->sites.items[i];

                t->begin_bytes += (uint64_t)s->f.begin_bytes;
                t->begin_blocks += (uint64_t)s->f.begin_blocks;
                t->end_bytes += (uint64_t)s->f.end_bytes;
                t->end_blocks += (uint64_t)s->f.end_blocks;
                t->peak_bytes += k->pick ? (uint64_t)s->f.peak_bytes : 0;
                t->peak_blocks += k->pick ? (uint64_t)s->f.peak_blocks : 0;
                t->n_sites += s->f.n_allocs > 0;
        }
}

/* ---- sites ----------------------------------------------------------------------------------- */

static struct query_site *site_of(struct asking *k, uint32_t process, uint32_t stack) {
        uint32_t of = k->is_split ? process : QUERY_ALL;
        bool added;
        uint64_t *idx = map_put(&k->by_stack, (uint64_t)of << 32 | stack, k->sites.n, &added);

        if (added)
                vec_push(&k->sites, (struct query_site){.stack = stack, .process = of});
        return &k->sites.items[*idx];
}

static bool in_scope(const struct asking *k, uint32_t process) {
        return is_all(k) || process == k->scope.process;
}

static bool is_picked(const struct asking *k, uint32_t process, uint32_t stack) {
        return pick_has_stack(k->pick, stack) && pick_has_process(k->pick, process);
}

/* What a site holds at a moment. Of all together: of those that had not ended by then, and each block once. */
static struct peak site_holds(const struct asking *k, const struct state_site *s,
                              uint64_t time_ns) {
        if (!is_all(k))
                return (struct peak){.bytes = (uint64_t)state_site_live_bytes(s),
                                     .blocks = (uint64_t)state_site_live_blocks(s)};
        if (s->process == STATE_ENDED || query_process_gone_ns(k->q, s->process) < time_ns)
                return (struct peak){0};
        return (struct peak){.bytes = (uint64_t)state_site_own_bytes(s),
                             .blocks = (uint64_t)state_site_own_blocks(s)};
}

/* What was before the window does not count. Apart from what is at its end: a process may be over by then. */
static void collect_begin(struct asking *k) {
        for (size_t i = 0; i < k->begin.sites.n; i++) {
                const struct state_site *b = &k->begin.sites.items[i];
                struct peak held = site_holds(k, b, k->scope.from_ns);
                struct query_site *site;

                if (!in_scope(k, b->process) || !is_picked(k, b->process, b->stack))
                        continue;
                site = site_of(k, b->process, b->stack);
                site->f.n_allocs -= b->n_allocs;
                site->f.alloc_bytes -= b->alloc_bytes;
                site->f.n_frees -= b->n_frees;
                site->f.free_bytes -= b->free_bytes;
                site->f.n_temporary -= b->n_temporary;
                site->f.n_reallocs -= b->n_reallocs;
                site->f.begin_bytes += (int64_t)held.bytes;
                site->f.begin_blocks += (int64_t)held.blocks;
        }
}

static void collect_sites(struct asking *k) {
        for (size_t i = 0; i < k->end.sites.n; i++) {
                const struct state_site *e = &k->end.sites.items[i];
                struct peak held = site_holds(k, e, k->scope.to_ns);
                struct query_site *site;

                if (!in_scope(k, e->process) || !is_picked(k, e->process, e->stack))
                        continue;
                site = site_of(k, e->process, e->stack);
                site->f.n_allocs += e->n_allocs;
                site->f.alloc_bytes += e->alloc_bytes;
                site->f.n_frees += e->n_frees;
                site->f.free_bytes += e->free_bytes;
                site->f.n_temporary += e->n_temporary;
                site->f.n_reallocs += e->n_reallocs;
                site->f.end_bytes += (int64_t)held.bytes;
                site->f.end_blocks += (int64_t)held.blocks;
        }
        collect_begin(k);
}

static void add_peak_site(void *ctx, uint32_t process, uint32_t stack, int64_t bytes,
                          int64_t blocks) {
        struct asking *k = ctx;
        struct query_site *site;

        if ((bytes == 0 && blocks == 0) || !is_picked(k, process, stack))
                return;
        if (k->answer->held_bytes && process < k->answer->n_processes)
                k->answer->held_bytes[process] =
                        (int64_t)((uint64_t)k->answer->held_bytes[process] + (uint64_t)bytes);
        site = site_of(k, process, stack);
        site->f.peak_bytes += bytes;
        site->f.peak_blocks += blocks;
}

/* Blocks are many, and of one process their stacks tell the site. */
static struct query_site *life_site(struct asking *k, const struct query_life *l) {
        uint32_t *place = k->place_of ? &k->place_of[l->stack] : NULL;
        struct query_site *site;

        if (place && *place)
                return &k->sites.items[*place - 1];
        site = site_of(k, l->process, l->stack);
        if (place)
                *place = (uint32_t)(site - k->sites.items) + 1;
        return site;
}

static bool add_life(void *ctx, const struct query_life *l) {
        struct asking *k = ctx;
        struct query_figures *f = &life_site(k, l)->f;
        uint64_t n = l->n_blocks, bytes = life_bytes(l);

        chosen_add(k->chosen, l, &k->scope);
        if (life_is_allocated_in(l, &k->scope)) {
                f->n_allocs += n;
                f->alloc_bytes += bytes;
                f->n_reallocs += l->by_realloc ? n : 0;
        }
        if (life_is_released_in(l, &k->scope)) {
                f->n_frees += n;
                f->free_bytes += bytes;
                f->n_temporary += l->is_temporary ? n : 0;
        }
        if (l->is_live_at_from)
                f->begin_bytes += (int64_t)bytes, f->begin_blocks += (int64_t)n;
        if (l->is_live_at_peak)
                f->peak_bytes += (int64_t)bytes, f->peak_blocks += (int64_t)n;
        if (l->is_live_at_to)
                f->end_bytes += (int64_t)bytes, f->end_blocks += (int64_t)n;
        life_add_var(f->var, l, &k->scope);
        return true;
}

/* Sites that neither did nor held anything in the window are no answer. */
static void drop_idle_sites(struct asking *k) {
        size_t n = 0;

        for (size_t i = 0; i < k->sites.n; i++) {
                struct query_site *s = &k->sites.items[i];

                s->f.lacks_events = query_lacks_events(k->q);
                s->f.lacks_blocks = query_lacks_blocks(k->q);
                s->f.counts_samples = query_counts_samples(k->q);
                s->f.lacks_traffic = query_lacks_traffic(k->q);
                s->f.lacks_live = query_lacks_live(k->q);
                if (!query_figures_are_idle(&s->f))
                        k->sites.items[n++] = *s;
        }
        k->sites.n = n;
}

/* ---- filtered -------------------------------------------------------------------------------- */

/* What is left of a process's totals when only the blocks that were picked count; their figures
 * are added afterwards. */
static void clear_totals(const struct asking *k, struct query_totals *t) {
        *t = (struct query_totals){
                .n_lost = t->n_lost,
                .n_inversions = t->n_inversions,
                .peak_ns = is_all(k) ? k->peaks[k->answer->n_processes].time_ns : t->peak_ns,
                .peak_rss_bytes = t->peak_rss_bytes,
                .runtime_bytes = t->runtime_bytes,
                .blocked_ns = t->blocked_ns,
                .n_threads = t->n_threads,
                .lacks_reallocs = t->lacks_reallocs,
        };
        tell_lacks(k->q, t);
}

static void add_figures(struct query_totals *t, const struct query_figures *f) {
        t->n_allocs += f->n_allocs;
        t->alloc_bytes += f->alloc_bytes;
        t->n_frees += f->n_frees;
        t->n_temporary += f->n_temporary;
        t->n_reallocs += f->n_reallocs;
        t->peak_bytes += (uint64_t)f->peak_bytes;
        t->peak_blocks += (uint64_t)f->peak_blocks;
        t->begin_bytes += (uint64_t)f->begin_bytes;
        t->begin_blocks += (uint64_t)f->begin_blocks;
        t->end_bytes += (uint64_t)f->end_bytes;
        t->end_blocks += (uint64_t)f->end_blocks;
        t->n_sites += f->n_allocs > 0;
}

/* Sites of all processes together. */
static void merge_sites(struct asking *k) {
        size_t n = k->sites.n;
        struct query_site *split = TAKE_PTR(k->sites.items);

        vec_free(&k->sites);
        map_clear(&k->by_stack);
        k->is_split = false;
        for (size_t i = 0; i < n; i++)
                query_figures_add(&site_of(k, QUERY_ALL, split[i].stack)->f, &split[i].f);
        free(split);
}

/* Makes the totals those of the sites, which are still split by process. */
static void filter_totals(struct asking *k, bool keep_split) {
        struct query_answer *a = k->answer;

        for (size_t p = 0; p < a->n_processes; p++)
                clear_totals(k, &a->processes[p]);
        for (size_t i = 0; i < k->sites.n; i++)
                add_figures(&a->processes[k->sites.items[i].process], &k->sites.items[i].f);
        if (!keep_split)
                merge_sites(k);
}

/* ---- asking ---------------------------------------------------------------------------------- */

/* What needs events begins where they do. */
static bool move_to_detail(const struct query *q, struct query_scope *w) {
        uint64_t detail_ns = q->view->detail_from_ns;

        if (w->from_ns >= detail_ns)
                return false;
        w->from_ns = detail_ns;
        w->to_ns = MAX(w->to_ns, detail_ns);
        return true;
}

static int add_lives(struct asking *k, struct err *reterr) {
        const struct peak *peak = &k->peaks[is_all(k) ? k->answer->n_processes : k->scope.process];
        bool is_exact = true;
        int r;

        k->chosen = chosen_begin(k->q);
        if (!is_all(k) && !(k->place_of = calloc(k->q->view->n_stacks + 1, sizeof(uint32_t))))
                abort();
        r = life_scan_peak(k->q, &k->scope, 0, peak, add_life, k, &is_exact, reterr);
        free(k->place_of);
        if (r >= 0)
                chosen_end(k->chosen, &k->scope);
        /* which single blocks outlive their allocator in a child is not followed */
        k->answer->lacks_heirs = is_all(k) && inherited_outlives(k->q);
        k->answer->is_exact &= is_exact && !k->answer->lacks_heirs;
        k->answer->known_from_ns = k->q->view->detail_from_ns;
        return r;
}

/* ---- recordings of samples --------------------------------------------------------------------- */

static bool add_life_var(void *ctx, const struct query_life *l) {
        struct asking *k = ctx;

        life_add_var(life_site(k, l)->f.var, l, &k->scope);
        return true;
}

/* Where the events of some blocks are gone: what it is at most. A block of s bytes, taken for one in so many, adds at most
 * the mean distance times s. */
static void bound_vars(struct asking *k) {
        double distance = (double)query_sample_bytes(k->q);

        for (size_t i = 0; i < k->sites.n; i++) {
                struct query_figures *f = &k->sites.items[i].f;
                double mean_bytes = f->n_allocs ? (double)f->alloc_bytes / (double)f->n_allocs : 1;

                for (unsigned m = 0; m < QUERY_N_METRICS; m++) {
                        double value = fabs((double)query_figure_of(f, m).value);
                        bool is_count = m == QUERY_COUNT || m == QUERY_TEMPORARY;

                        f->var[m] = value * distance / (is_count ? MAX(mean_bytes, 1.0) : 1.0);
                }
        }
}

/* The sites of an answer from history, whose rows know nothing of it. */
static int add_vars(struct asking *k, const struct peak *peak, struct fair_peak *halves,
                    struct err *reterr) {
        bool is_exact = true;
        int r;

        if (k->q->view->detail_from_ns > 0 || k->scope.is_quick) {
                bound_vars(k);
                return 0;
        }
        if (!is_all(k) && !k->is_split &&
            !(k->place_of = calloc(k->q->view->n_stacks + 1, sizeof(uint32_t))))
                abort();
        r = life_scan_fair_peak(k->q, &k->scope, 0, peak, halves, add_life_var, k, &is_exact,
                                reterr);
        free(k->place_of);
        k->place_of = NULL;
        if (r >= 0 && !is_exact)
                bound_vars(k);
        if (halves)
                halves->has_looked &= is_exact;
        return r;
}

static bool add_whole_var(void *ctx, const struct query_life *l) {
        struct asking *k = ctx;

        life_add_var(k->whole_var, l, &k->scope);
        return true;
}

/* Of an answer about some blocks the moment is that of all, and so is the luck that chose it. */
static int scan_whole(struct asking *k, const struct peak *peak, struct fair_peak *halves,
                      struct err *reterr) {
        struct query_scope whole = k->scope;
        bool is_exact = true;
        int r;

        whole.filter = NULL;
        r = life_scan_fair_peak(k->q, &whole, 0, peak, halves, add_whole_var, k, &is_exact, reterr);
        halves->has_looked &= is_exact;
        return r;
}

/* Processes that end take their blocks along, which a scan of all does not see. */
static bool has_halves(const struct asking *k) {
        return query_sample_bytes(k->q) && k->q->view->detail_from_ns == 0 && !k->scope.is_quick &&
               (!is_all(k) || k->answer->n_processes == 1);
}

/* Not less than what there was at both ends, which are no moments of luck. */
static uint64_t peak_level(const struct asking *k, const struct fair_peak *halves) {
        uint32_t process = is_all(k) ? 0 : k->scope.process;
        uint64_t ends = MAX(k->begin.counts[process].live_bytes, k->end.counts[process].live_bytes);

        return MAX(fair_peak_level(halves), ends);
}

/* Luck is where chance is: each site's part of it is its part of the variance. */
static void lower_peak(struct asking *k, struct peak *peak, const struct fair_peak *halves) {
        struct query_answer *a = k->answer;

        if (!halves->has_looked || !(k->whole_var[QUERY_PEAK] > 0))
                return;
        a->is_peak_level = true;
        a->peak_excess_bytes = (double)(int64_t)(peak->bytes - peak_level(k, halves));
        a->peak_var = k->whole_var[QUERY_PEAK];
        peak->bytes = peak->blocks = 0;
        for (size_t i = 0; i < k->sites.n; i++) {
                struct query_figures *f = &k->sites.items[i].f;

                query_figures_lower_peak(f, a);
                peak->bytes += (uint64_t)f->peak_bytes;
                peak->blocks += (uint64_t)f->peak_blocks;
        }
}

static bool is_of_all_time(const struct asking *k) {
        return k->scope.from_ns == 0 && k->scope.to_ns >= k->q->view->end_ns && !k->pick;
}

static void take_tallies(struct asking *k) {
        if (is_of_all_time(k))
                for (uint32_t p = 0; p < k->answer->n_processes; p++)
                        counted_take(k->q, p, &k->answer->processes[p]);
}

/* Counted, if all that did something were: a trace may end before. */
static void sum_vars(const struct asking *k, struct query_totals *t) {
        for (size_t i = 0; i < k->sites.n; i++)
                for (unsigned m = 0; m < QUERY_N_METRICS; m++)
                        t->var[m] += k->sites.items[i].f.var[m];
        t->is_tallied = is_of_all_time(k);
        for (uint32_t p = 0; p < k->answer->n_processes; p++)
                if (is_all(k) || p == k->scope.process)
                        t->is_tallied &= k->answer->processes[p].is_tallied ||
                                         !k->answer->processes[p].n_allocs;
        if (t->is_tallied)
                t->var[QUERY_ALLOCATED] = t->var[QUERY_COUNT] = 0;
}

static int add_history(struct asking *k, struct fair_peak *halves, struct err *reterr) {
        const struct peak *peak = &k->peaks[is_all(k) ? k->answer->n_processes : k->scope.process];
        int r;

        collect_sites(k);
        peak_each_site(k->q, &k->begin, peak, k->scope.process, add_peak_site, k);
        if (!query_sample_bytes(k->q))
                return 0;
        r = add_vars(k, peak, k->pick ? NULL : halves, reterr);
        for (size_t i = 0; i < k->sites.n && !k->pick; i++)
                k->whole_var[QUERY_PEAK] += k->sites.items[i].f.var[QUERY_PEAK];
        return r;
}

static int add_sites(struct asking *k, struct err *reterr) {
        struct peak *peak = &k->peaks[is_all(k) ? k->answer->n_processes : k->scope.process];
        struct fair_peak halves = {0};
        int r;

        if (k->pick && k->pick->needs_events)
                r = add_lives(k, reterr);
        else
                r = add_history(k, &halves, reterr);
        if (r < 0 || !has_halves(k))
                return r;
        if (k->pick)
                r = scan_whole(k, peak, &halves, reterr);
        lower_peak(k, peak, &halves);
        return r;
}

static int asking_run(struct asking *k, bool keep_split, struct err *reterr) {
        struct query_answer *a = k->answer;
        uint64_t all_rss = 0;
        int r = 0;

        if (is_all(k))
                inherited_load(k->q);
        k->q->inherit.is_unsure = false;
        if (k->scope.from_ns > 0)
                state_load_time(k->q, &k->begin, k->scope.from_ns);
        state_load_time(k->q, &k->end, k->scope.to_ns);
        peak_find(k->q, &k->begin, k->scope.from_ns, k->scope.to_ns, is_all(k), k->peaks);
        r = query_end(k->q, reterr);
        if (r < 0)
                return r;
        a->is_exact = k->begin.is_exact && k->end.is_exact;
        r = add_sites(k, reterr);
        if (r >= 0)
                r = query_end(k->q, reterr);
        if (r < 0)
                return r;
        drop_idle_sites(k);
        for (uint32_t p = 0; p < a->n_processes; p++)
                totals_of_process(k, p, &a->processes[p]);
        count_threads(k);
        if (query_sample_bytes(k->q))
                take_tallies(k);
        r = rss_find_peaks(k->q, &k->scope, a->processes, &all_rss, reterr);
        if (k->pick)
                filter_totals(k, keep_split);
        else
                count_sites(k);
        if (is_all(k)) {
                totals_sum(k, &a->totals);
                sum_left(k, &a->totals);
                a->totals.peak_rss_bytes = all_rss;
        } else {
                a->totals = a->processes[k->scope.process];
        }
        if (query_sample_bytes(k->q))
                sum_vars(k, &a->totals);
        a->is_exact &= !is_all(k) || !(k->q->inherit.lacks_events || k->q->inherit.is_unsure);
        a->n_sites = k->sites.n;
        a->sites = TAKE_PTR(k->sites.items);
        return r;
}

/* Of other processes only the number of sites is asked for; to tell those of a window all sites are needed. */
static uint32_t state_focus(const struct asking *k) {
        return k->scope.from_ns > 0 && k->counts_others ? QUERY_ALL : k->scope.process;
}

static int ask(struct query *q, const struct query_scope *scope, bool is_split, bool counts_others,
               struct query_answer **ret, struct err *reterr) {
        _cleanup_(query_answer_freep) struct query_answer *a = calloc(1, sizeof(*a));
        size_t n = q->view->n_processes;
        struct asking k = {.q = q, .scope = *scope, .is_split = is_split, .answer = a};
        int r;

        if (scope->of_mappings)
                return mapped_ask(q, scope, is_split, ret, reterr);
        if (scope->of_time)
                return time_ask(q, scope, is_split, ret, reterr);
        r = pick_get(q, scope->filter, &k.pick, reterr);
        if (r < 0)
                return r;
        if (!a || !(a->processes = calloc(n, sizeof(a->processes[0]))) ||
            !(k.peaks = calloc(n + 1, sizeof(k.peaks[0]))))
                abort();
        if (is_all(&k) && !k.pick && !(a->held_bytes = calloc(n, sizeof(a->held_bytes[0]))))
                abort();
        k.is_split |= k.pick != NULL;
        k.counts_others = counts_others && !k.pick;
        a->is_moved = k.pick && k.pick->needs_events ? move_to_detail(q, &k.scope)
                                                     : query_move_edges(q, &k.scope);
        a->scope = k.scope;
        a->n_processes = n;
        state_init(&k.begin, n, state_focus(&k));
        state_init(&k.end, n, state_focus(&k));
        if (is_all(&k) && !k.is_split && !(k.scope.from_ns > 0 && k.counts_others)) {
                state_fold(&k.begin);
                state_fold(&k.end);
        }
        if (k.counts_others)
                state_count_others(&k.end);
        r = asking_run(&k, is_split, reterr);
        state_done(&k.begin);
        state_done(&k.end);
        map_done(&k.by_stack);
        vec_free(&k.sites);
        free(k.peaks);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(a);
        return 0;
}

int query_ask(struct query *q, const struct query_scope *scope, struct query_answer **ret,
              struct err *reterr) {
        return ask(q, scope, false, true, ret, reterr);
}

int query_ask_split(struct query *q, const struct query_scope *scope, struct query_answer **ret,
                    struct err *reterr) {
        return ask(q, scope, true, true, ret, reterr);
}

int query_ask_own(struct query *q, const struct query_scope *scope, struct query_answer **ret,
                  struct err *reterr) {
        return ask(q, scope, false, false, ret, reterr);
}

/* SPDX-License-Identifier: MIT */
#include "report/time_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "query/spent_time.h"
#include "report/headline.h"
#include "show/show_json.h"
#include "show/stack_text.h"
#include "show/view.h"

enum {
        TIME_MAX_ROWS = 10,
        TIME_BESIDE_ROWS = 5,
        TIME_MAX_CELLS = 100,
        TIME_CAUSE_PCT = 20, /* of a part: a function with less is not named */
        TIME_HOT_PCT = 5,    /* of the CPU time: likewise */
        TIME_INLINED_PCT =
                50, /* of what the hottest function took itself: less of it is not told */
        TIME_PART_PCT =
                30, /* of the CPU time: a part with more than any function is told in its place */
};
#define TIME_MIN_LOCK_SHARE 0.01

/* ---- the sentence ---------------------------------------------------------------------------- */

static void add_name(const struct style *s, const struct report *r, const struct query_frame *f,
                     bool is_task, struct str *to) {
        struct name_frame n = frame_of(f);

        frame_add_function(to, &r->frames, &n, is_task, false, s->utf8);
}

static bool is_blank(const struct query_frame *f) {
        return !f->function[0] && !f->module[0] && !f->offset;
}

static double pct_of(uint64_t ns, uint64_t whole_ns) {
        return whole_ns ? 100.0 * (double)ns / (double)whole_ns : 0;
}

/* ", most of it in find_route": nothing where nobody has much. */
static void add_cause(const struct style *s, const struct report *r, const struct time_part *p,
                      const char *before, struct str *to) {
        const struct time_cause *c = p->causes;
        double pct;

        if (!p->n_causes)
                return;
        pct = pct_of(c->ns, p->ns);
        if (pct < TIME_CAUSE_PCT || (is_blank(&c->frame) && !c->through[0]))
                return;
        if (is_blank(
                    &c->frame)) /* nobody in the program: it has no memory in execve, and at its end */
                before = "in";
        if (pct > 50)
                str_addf(to, ", most of it %s ", before);
        else
                str_addf(to, ", %.0f %% of it %s ", pct, before);
        if (is_blank(&c->frame))
                str_add(to, c->through);
        else
                add_name(s, r, &c->frame, false, to);
}

/* What no single function does, but many ways into the kernel or the allocator together. */
static bool add_part(const struct style *s, const struct report *r, struct str *to) {
        static const struct {
                enum time_part_kind kind;
                const char *words;
        } parts[] = {
                {TIME_IN_ALLOCATOR, "allocating and freeing"},
                {TIME_IN_LOCKS, "taking locks"},
                {TIME_IN_FAULTS, "page faults"},
                {TIME_IN_CALLS, "system calls"},
        };
        const struct time_part *p, *most = NULL;
        const char *words = "";

        for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
                p = &r->cpu.of[parts[i].kind];
                if (most && p->ns <= most->ns)
                        continue;
                most = p;
                words = parts[i].words;
        }
        if (pct_of(most->ns, r->cpu.ns) < TIME_PART_PCT ||
            (r->cpu.has_hot && most->ns <= r->cpu.hot.self_ns))
                return false;
        str_addf(to, ": %.0f %% of it in %s", pct_of(most->ns, r->cpu.ns), words);
        add_cause(s, r, most, "for", to);
        if (most->n_causes && most->causes->through[0] && !is_blank(&most->causes->frame) &&
            pct_of(most->causes->ns, most->ns) >= TIME_CAUSE_PCT)
                str_addf(to, " (through %s)", most->causes->through);
        return true;
}

static void add_hot(const struct style *s, const struct report *r, struct str *to) {
        const struct time_hot *h = &r->cpu.hot;

        if (!r->cpu.has_hot || pct_of(h->self_ns, r->cpu.ns) < TIME_HOT_PCT)
                return;
        str_addf(to, ": %.0f %% of it in ", pct_of(h->self_ns, r->cpu.ns));
        if (h->is_made)
                str_add(to, "code made while it ran, which has no names");
        else
                add_name(s, r, &h->frame, h->is_task, to);
        if (pct_of(h->inner_ns, h->self_ns) >= TIME_INLINED_PCT) {
                str_add(to, " (most of that in ");
                add_name(s, r, &h->inner, false, to);
                str_add(to, ", inlined)");
        }
        if (!is_blank(&h->host)) {
                str_add(to, ", inlined into ");
                add_name(s, r, &h->host, false, to);
        } else if (!is_blank(&h->caller)) {
                str_add(to, ", called by ");
                add_name(s, r, &h->caller, false, to);
        }
}

/* Which wait is told: that for locks where it is noticeable, else none; who waits for work is not held up. */
static void add_locks(const struct style *s, const struct report *r, struct str *to) {
        const struct time_part *p = &r->blocked.of[TIME_IN_LOCKS];
        struct unit_text t;

        if ((double)p->ns < TIME_MIN_LOCK_SHARE * (double)r->cpu.ns || !p->ns)
                return;
        str_addf(to, " Threads waited %s for locks", unit_duration(&t, p->ns));
        add_cause(s, r, p, "in", to);
        str_add(to, ".");
}

static void add_allocations(const struct report *r, struct str *to) {
        const struct query_totals *t = &(r->all ? r->all : r->answer)->totals;
        struct unit_text a, b;

        if (!t->n_allocs || t->lacks_blocks || t->lacks_traffic)
                return;
        str_addf(to, " In the same time %s allocation%s of %s %s made.",
                 unit_count(&a, t->n_allocs), t->n_allocs == 1 ? "" : "s",
                 unit_bytes(&b, t->alloc_bytes), t->n_allocs == 1 ? "was" : "were");
}

void time_add_headline(const struct style *s, const struct report *r, bool with_allocations,
                       struct str *to) {
        uint64_t span_ns = headline_span_ns(r);
        struct unit_text a;

        str_addf(to, " used %s of CPU time", unit_duration(&a, r->cpu.ns));
        if (span_ns >= 1000000u && r->cpu.ns > span_ns / 20)
                str_addf(to, " (%.*f CPUs in the mean)", r->cpu.ns < 10 * span_ns ? 2 : 0,
                         (double)r->cpu.ns / (double)span_ns);
        if (!add_part(s, r, to))
                add_hot(s, r, to);
        str_add(to, ".");
        add_locks(s, r, to);
        if (r->metric == QUERY_BLOCKED && !r->blocked.ns)
                str_add(to,
                        " The recording has no waits of that time: what follows is where CPU time went.");
        if (with_allocations)
                add_allocations(r, to);
}

/* ---- threads --------------------------------------------------------------------------------- */

struct thread_time {
        uint32_t thread;
        size_t n_threads;
        uint64_t ns[TRACE_N_TICK_STATES];
};

static bool add_tick(void *ctx, const struct trace_tick *tick) {
        struct thread_time *rows = ctx;

        if (tick->state < TRACE_N_TICK_STATES) {
                rows[tick->thread].ns[tick->state] += tick->weight_ns;
                rows[tick->thread].n_threads = 1;
        }
        return true;
}

static int more_cpu_first(const void *a, const void *b) {
        const struct thread_time *x = a, *y = b;

        for (int i = 0; i < TRACE_N_TICK_STATES; i++)
                if (x->ns[i] != y->ns[i])
                        return x->ns[i] > y->ns[i] ? -1 : 1;
        return (x->thread > y->thread) - (x->thread < y->thread);
}

/* All threads that were seen, those that ran most first; *ret is the caller's. */
static int gather_threads(struct report *r, struct thread_time **ret, size_t *ret_n,
                          struct err *reterr) {
        struct thread_time *rows = calloc(r->v->n_threads + 1, sizeof(*rows));
        struct query_scope scope = r->cpu.answer->scope;
        size_t n = 0;
        int x;

        if (!rows)
                abort();
        scope.of_time = QUERY_NO_TIME;
        x = query_each_tick(r->q, &scope, add_tick, rows, reterr);
        for (uint32_t i = 0; i < r->v->n_threads; i++)
                if (rows[i].n_threads) {
                        rows[n] = rows[i];
                        rows[n++].thread = i;
                }
        if (n > 1)
                qsort(rows, n, sizeof(rows[0]), more_cpu_first);
        *ret = rows;
        *ret_n = n;
        return x;
}

static const char *thread_name(const struct report *r, uint32_t thread) {
        return r->v->threads[thread].name[0] ? r->v->threads[thread].name : "(no name)";
}

/* Many threads are told by name. */
static size_t join_names(const struct report *r, struct thread_time *rows, size_t n) {
        size_t n_names = 0;

        for (size_t i = 0; i < n; i++) {
                size_t k = 0;

                while (k < n_names &&
                       strcmp(thread_name(r, rows[k].thread), thread_name(r, rows[i].thread)) != 0)
                        k++;
                if (k == n_names) {
                        rows[n_names++] = rows[i];
                        continue;
                }
                rows[k].n_threads += rows[i].n_threads;
                for (int state = 0; state < TRACE_N_TICK_STATES; state++)
                        rows[k].ns[state] += rows[i].ns[state];
        }
        if (n_names > 1)
                qsort(rows, n_names, sizeof(rows[0]), more_cpu_first);
        return n_names;
}

static void print_rest(const struct style *s, size_t n, const char *what) {
        struct unit_text t;

        if (n)
                fprintf(s->out, "  %s%s %s more %s: use --full to see them%s\n", s->dim,
                        s->utf8 ? "…" : "..", unit_count(&t, n), what, s->plain);
}

static int print_threads(const struct style *s, struct report *r, struct err *reterr) {
        _cleanup_free_ struct thread_time *rows = NULL;
        bool is_full = r->options->request->full, by_name;
        size_t n, n_shown, n_threads;
        struct unit_text t;
        int x = gather_threads(r, &rows, &n, reterr);

        if (x < 0 || n < 2)
                return x;
        n_threads = n;
        by_name = !is_full && n > TIME_MAX_ROWS + 1;
        if (by_name)
                n = join_names(r, rows, n);
        n_shown = is_full || n <= TIME_MAX_ROWS + 1 ? n : TIME_MAX_ROWS;
        style_heading(s, "Threads (%s)", unit_count(&t, n_threads));
        fprintf(s->out, "  %s%10s  %10s  %10s  %8s  name%s\n", s->dim, "on a CPU", "blocked",
                "ready", by_name ? "threads" : "tid", s->plain);
        for (size_t i = 0; i < n_shown; i++) {
                struct str name = {0};

                style_add_clean(&name, thread_name(r, rows[i].thread));
                for (int state = 0; state < TRACE_N_TICK_STATES; state++)
                        fprintf(s->out, "  %10s",
                                rows[i].ns[state] ? unit_duration(&t, rows[i].ns[state]) : "-");
                if (by_name)
                        fprintf(s->out, "  %8s", unit_count(&t, rows[i].n_threads));
                else
                        fprintf(s->out, "  %8u", r->v->threads[rows[i].thread].start.tid);
                fprintf(s->out, "  %s\n", str_text(&name));
                str_done(&name);
        }
        print_rest(s, n - n_shown, by_name ? "names" : "threads");
        return 0;
}

/* ---- functions ------------------------------------------------------------------------------- */

struct function_row {
        const struct query_group *cpu;
        uint64_t blocked_ns;            /* with all that it called */
        uint64_t n_allocs, alloc_bytes; /* likewise */
};

struct function_table {
        struct query_groups *cpu, *blocked, *memory; /* memory: NULL, none was recorded */
        VEC(struct function_row) rows;
};

static bool is_same_function(const struct query *q, const struct query_group *a,
                             const struct query_group *b) {
        bool has_name = a->frame.function[0] && !a->frame.guess;

        return strcmp(a->frame.function, b->frame.function) == 0 &&
               (has_name ? !b->frame.guess : a->frame.offset == b->frame.offset) &&
               query_is_same_module(q, a->frame.module, b->frame.module);
}

static const struct query_group *find_row(const struct query *q, const struct query_groups *g,
                                          const struct query_group *like) {
        for (size_t i = 0; g && i < g->n; i++)
                if (is_same_function(q, &g->rows[i], like))
                        return &g->rows[i];
        return NULL;
}

static bool has_allocations(const struct report *r) {
        const struct query_totals *t = &(r->all ? r->all : r->answer)->totals;

        return t->n_allocs && !t->lacks_blocks && !t->lacks_traffic;
}

static void functions_init(struct function_table *t, struct report *r, size_t n) {
        const struct query_group_options by_cpu = {.by = QUERY_BY_FUNCTION, .metric = QUERY_CPU},
                                         by_blocked = {.by = QUERY_BY_FUNCTION,
                                                       .metric = QUERY_BLOCKED},
                                         by_count = {.by = QUERY_BY_FUNCTION,
                                                     .metric = QUERY_COUNT,
                                                     .is_full = true};

        *t = (struct function_table){.cpu = query_group_answer(r->q, r->cpu.answer, &by_cpu),
                                     .blocked = query_group_answer(r->q, r->blocked.answer,
                                                                   &by_blocked)};
        if (has_allocations(r))
                t->memory = query_group_answer(r->q, r->all ? r->all : r->answer, &by_count);
        for (size_t i = 0; i < t->cpu->n && t->rows.n < n; i++) {
                const struct query_group *g = &t->cpu->rows[i], *other;
                struct function_row row = {.cpu = g};

                if (!g->self.alloc_bytes)
                        continue;
                other = find_row(r->q, t->blocked, g);
                row.blocked_ns = other ? other->total.alloc_bytes : 0;
                other = find_row(r->q, t->memory, g);
                row.n_allocs = other ? other->total.n_allocs : 0;
                row.alloc_bytes = other ? other->total.alloc_bytes : 0;
                vec_push(&t->rows, row);
        }
}

static void functions_done(struct function_table *t) {
        query_groups_free(t->cpu);
        query_groups_free(t->blocked);
        query_groups_free(t->memory);
        vec_free(&t->rows);
}

static void print_function(const struct style *s, const struct report *r,
                           const struct function_row *row, bool has_memory) {
        struct str line = {0}, name = {0}, place = {0};
        struct name_frame frame = frame_of(&row->cpu->frame);
        struct unit_text t;
        size_t width;

        str_addf(&line, "%10s %5.1f %%", unit_duration(&t, row->cpu->self.alloc_bytes),
                 metric_share_pct((int64_t)row->cpu->self.alloc_bytes, r->cpu.ns));
        str_addf(&line, "  %12s", unit_duration(&t, row->cpu->total.alloc_bytes));
        str_addf(&line, "  %10s", row->blocked_ns ? unit_duration(&t, row->blocked_ns) : "-");
        if (has_memory)
                str_addf(&line, "  %13s", row->n_allocs ? unit_count(&t, row->n_allocs) : "-");
        str_add(&line, "  ");
        width = s->width - MIN(s->width - 10, str_width(str_text(&line)));
        if (row->cpu->stack)
                frame_add_function(&name, &r->frames, &frame, row->cpu->is_task,
                                   r->options->request->full, s->utf8);
        else
                str_add(&name, "(no stack)");
        style_add_cut(s, &line, str_text(&name), r->options->request->full ? SIZE_MAX : width);
        if (row->cpu->stack)
                frame_add_place(&place, &frame, r->options->request->full);
        if (place.n && str_width(str_text(&name)) + 2 + str_width(str_text(&place)) <= width)
                str_addf(&line, "  %s%s%s", s->dim, str_text(&place), s->plain);
        fprintf(s->out, "%s\n", str_text(&line));
        str_done(&line);
        str_done(&name);
        str_done(&place);
}

static void print_functions(const struct style *s, struct report *r, size_t n_top) {
        struct function_table t;
        struct unit_text a, b;

        functions_init(&t, r, n_top);
        if (t.rows.n) {
                size_t n_self = 0;

                for (size_t i = 0; i < t.cpu->n; i++)
                        n_self += t.cpu->rows[i].self.alloc_bytes != 0;
                style_heading(s, "CPU time, by function (%s of %s)", unit_count(&a, t.rows.n),
                              unit_count(&b, n_self));
                fprintf(s->out, "%s%18s  %12s  %10s", s->dim, "itself", "with callees", "blocked");
                if (t.memory)
                        fprintf(s->out, "  %13s", "allocations");
                fprintf(s->out, "  function%s\n", s->plain);
        }
        for (size_t i = 0; i < t.rows.n; i++)
                print_function(s, r, &t.rows.items[i], t.memory != NULL);
        functions_done(&t);
}

/* ---- waits ----------------------------------------------------------------------------------- */

struct wait_row {
        const struct time_cause *cause;
        bool is_lock;
};

static int longer_first(const void *a, const void *b) {
        const struct wait_row *x = a, *y = b;

        if (x->cause->ns != y->cause->ns)
                return x->cause->ns > y->cause->ns ? -1 : 1;
        return (x->cause > y->cause) - (x->cause < y->cause);
}

/* All waits by who waits; *ret is the caller's. */
static size_t gather_waits(const struct report *r, struct wait_row **ret) {
        size_t n = 0, n_all = 0;

        for (int i = 0; i < TIME_N_PARTS; i++)
                n_all += r->blocked.of[i].n_causes;
        *ret = calloc(n_all + 1, sizeof(**ret));
        if (!*ret)
                abort();
        for (int i = 0; i < TIME_N_PARTS; i++)
                for (size_t k = 0; k < r->blocked.of[i].n_causes; k++)
                        (*ret)[n++] =
                                (struct wait_row){&r->blocked.of[i].causes[k], i == TIME_IN_LOCKS};
        if (n > 1)
                qsort(*ret, n, sizeof(**ret), longer_first);
        return n;
}

static void print_waits(const struct style *s, const struct report *r, size_t n_top) {
        _cleanup_free_ struct wait_row *rows = NULL;
        size_t n = gather_waits(r, &rows), n_shown = MIN(n, n_top);
        struct unit_text a, b;

        if (!n_shown)
                return;
        style_heading(s, "Blocked, by who waits (%s of %s)", unit_count(&a, n_shown),
                      unit_count(&b, n));
        fprintf(s->out, "%s%18s  %10s  %-18s  function%s\n", s->dim, "waited", "waits", "in",
                s->plain);
        for (size_t i = 0; i < n_shown; i++) {
                const struct time_cause *c = rows[i].cause;
                struct str line = {0}, name = {0}, through = {0}, cut = {0};

                str_addf(&line, "%10s %5.1f %%", unit_duration(&a, c->ns),
                         metric_share_pct((int64_t)c->ns, r->blocked.ns));
                str_addf(&line, "  %10s  ", unit_count(&a, c->n_samples));
                style_add_clean(&through, c->through[0] ? c->through : "-");
                style_add_cut(s, &cut, str_text(&through), c->is_mixed ? 16 : 18);
                if (c->is_mixed)
                        str_add(&cut, s->utf8 ? " …" : " +");
                style_pad_to(&cut, 0, 18);
                str_addf(&line, "%s  ", str_text(&cut));
                if (is_blank(&c->frame))
                        str_add(&name, "(no stack)");
                else
                        add_name(s, r, &c->frame, false, &name);
                style_add_cut(s, &line, str_text(&name),
                              s->width - MIN(s->width - 10, str_width(str_text(&line))));
                fprintf(s->out, "%s\n", str_text(&line));
                str_done(&line);
                str_done(&name);
                str_done(&through);
                str_done(&cut);
        }
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void print_parts(const struct style *s, const struct report *r) {
        static const char *const names[TIME_N_PARTS] = {
                [TIME_IN_PROGRAM] = "program",
                [TIME_IN_ALLOCATOR] = "allocator",
                [TIME_IN_LOCKS] = "taking locks",
                [TIME_IN_FAULTS] = "page faults",
                [TIME_IN_CALLS] = "system calls",
                [TIME_IN_KERNEL] = "kernel, for other reasons or unnamed",
                [TIME_IN_SILT] = "silt itself",
                [TIME_IN_HIDDEN] = "in the kernel, not sampled",
                [TIME_UNSAMPLED] = "not sampled"};
        struct unit_text t;

        style_heading(s, "CPU time, by what it was spent on");
        for (int i = 0; i < TIME_N_PARTS; i++)
                if (r->cpu.of[i].ns)
                        fprintf(s->out, "%10s %5.1f %%  %s\n", unit_duration(&t, r->cpu.of[i].ns),
                                metric_share_pct((int64_t)r->cpu.of[i].ns, r->cpu.ns), names[i]);
        fprintf(s->out, "%10s          in total, ", unit_duration(&t, r->cpu.ns));
        fprintf(s->out, "%s sample%s", unit_count(&t, r->cpu.n_samples), unit_s(r->cpu.n_samples));
        if (r->blocked.ns)
                fprintf(s->out, "; %s blocked", unit_duration(&t, r->blocked.ns));
        fputc('\n', s->out);
}

/* CPUs that were busy, one cell a stretch of time. */
static int print_course(const struct style *s, const struct report *r, struct err *reterr) {
        static const char *const bars[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
        struct query_scope scope = r->cpu.answer->scope;
        size_t n = MIN(s->width - MIN(s->width - 20, 4u), (size_t)TIME_MAX_CELLS);
        _cleanup_free_ double *ns = calloc(n, sizeof(*ns));
        uint64_t end_ns = MIN(scope.to_ns, r->v->end_ns);
        double width_ns = (double)(end_ns - MIN(end_ns, scope.from_ns)) / (double)n, most = 0;
        struct str line = {0};
        int x;

        if (!ns)
                abort();
        if (!s->utf8 || width_ns < 1)
                return 0;
        x = query_time_columns(r->q, &scope, n, ns, reterr);
        if (x < 0)
                return x;
        for (size_t i = 0; i < n; i++)
                most = MAX(most, ns[i]);
        for (size_t i = 0; i < n && most > 0; i++)
                str_add(&line,
                        bars[ns[i] > 0 ? MAX(MIN(unit_nearest(8 * ns[i] / most), 8u), 1u) : 0]);
        if (line.n) {
                style_heading(s, "CPUs busy over time, at most %.2f", most / width_ns);
                fprintf(s->out, "  %s%s%s\n", s->live, str_text(&line), s->plain);
        }
        str_done(&line);
        return 0;
}

int time_tables_print(const struct style *s, struct report *r, bool is_beside, struct err *reterr) {
        size_t n_top = is_beside ? TIME_BESIDE_ROWS
                                 : MAX((size_t)show_n_top(r->options), (size_t)TIME_BESIDE_ROWS);

        if (r->cpu.ns) {
                int x = print_course(s, r, reterr);

                if (x < 0)
                        return x;
                print_parts(s, r);
                print_functions(s, r, n_top);
        }
        if (r->blocked.ns)
                print_waits(s, r, is_beside ? TIME_BESIDE_ROWS : TIME_MAX_ROWS);
        return is_beside ? 0 : print_threads(s, r, reterr);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_functions(struct json *j, struct report *r) {
        struct function_table t;

        functions_init(&t, r, show_n_top(r->options));
        json_key(j, "functions");
        json_array(j);
        for (size_t i = 0; i < t.rows.n; i++) {
                const struct function_row *row = &t.rows.items[i];

                json_object(j);
                show_put_frame(j, r->q, &row->cpu->frame, false);
                json_put_uint(j, "cpu_self_ns", row->cpu->self.alloc_bytes);
                json_put_uint(j, "cpu_total_ns", row->cpu->total.alloc_bytes);
                json_put_uint(j, "samples", row->cpu->self.n_allocs);
                json_put_uint(j, "blocked_total_ns", row->blocked_ns);
                json_key(j, "allocations");
                if (t.memory)
                        json_uint(j, row->n_allocs);
                else
                        json_null(j);
                json_key(j, "bytes_allocated");
                if (t.memory)
                        json_uint(j, row->alloc_bytes);
                else
                        json_null(j);
                json_end(j);
        }
        json_end(j);
        functions_done(&t);
}

static void put_waits(struct json *j, const struct report *r) {
        _cleanup_free_ struct wait_row *rows = NULL;
        size_t n = MIN(gather_waits(r, &rows), (size_t)show_n_top(r->options));

        json_key(j, "waits");
        json_array(j);
        for (size_t i = 0; i < n; i++) {
                json_object(j);
                show_put_frame(j, r->q, &rows[i].cause->frame, false);
                json_put_string(j, "in", rows[i].cause->through);
                json_put_uint(j, "blocked_ns", rows[i].cause->ns);
                json_put_uint(j, "waits", rows[i].cause->n_samples);
                json_key(j, "lock");
                json_bool(j, rows[i].is_lock);
                json_end(j);
        }
        json_end(j);
}

static int put_threads(struct json *j, struct report *r, struct err *reterr) {
        _cleanup_free_ struct thread_time *rows = NULL;
        uint64_t ready_ns = 0;
        size_t n;
        int x = gather_threads(r, &rows, &n, reterr);

        for (size_t i = 0; i < n; i++)
                ready_ns += rows[i].ns[TRACE_READY];
        json_put_uint(j, "ready_ns", ready_ns);
        json_key(j, "threads");
        json_array(j);
        for (size_t i = 0; i < n; i++) {
                json_object(j);
                json_put_uint(j, "tid", r->v->threads[rows[i].thread].start.tid);
                json_put_string(j, "name", r->v->threads[rows[i].thread].name);
                json_put_uint(j, "cpu_ns", rows[i].ns[TRACE_ON_CPU]);
                json_put_uint(j, "blocked_ns", rows[i].ns[TRACE_BLOCKED]);
                json_put_uint(j, "ready_ns", rows[i].ns[TRACE_READY]);
                json_end(j);
        }
        json_end(j);
        return x;
}

int time_put(struct json *j, struct report *r, struct err *reterr) {
        static const char *const names[TIME_N_PARTS] = {
                [TIME_IN_PROGRAM] = "program_ns",    [TIME_IN_ALLOCATOR] = "allocator_ns",
                [TIME_IN_LOCKS] = "locks_ns",        [TIME_IN_FAULTS] = "page_faults_ns",
                [TIME_IN_CALLS] = "system_calls_ns", [TIME_IN_KERNEL] = "kernel_ns",
                [TIME_IN_SILT] = "silt_ns",          [TIME_IN_HIDDEN] = "kernel_unsampled_ns",
                [TIME_UNSAMPLED] = "unsampled_ns"};
        int x;

        json_key(j, "time");
        if (!r->has_time) {
                json_null(j);
                return 0;
        }
        json_object(j);
        json_put_uint(j, "cpu_ns", r->cpu.ns);
        json_put_uint(j, "cpu_samples", r->cpu.n_samples);
        json_put_uint(j, "blocked_ns", r->blocked.ns);
        json_put_uint(j, "blocked_waits", r->blocked.n_samples);
        json_put_uint(j, "lock_waiting_ns", r->blocked.of[TIME_IN_LOCKS].ns);
        json_key(j, "spent_on");
        json_object(j);
        for (int i = 0; i < TIME_N_PARTS; i++)
                json_put_uint(j, names[i], r->cpu.of[i].ns);
        json_end(j);
        put_functions(j, r);
        put_waits(j, r);
        x = put_threads(j, r, reterr);
        json_end(j);
        return x;
}

/* SPDX-License-Identifier: MIT */
/* Where the time went, in sentences: the hottest function, waiting for locks, the allocator, page faults, system calls, what the busiest
 * thread waited for, and silt itself. All from ticks (docs/cpu.md). */
#include <stdlib.h>
#include <string.h>

#include "finding/rules.h"
#include "finding/time_parts.h"
#include "query/spent_time.h"

enum {
        TIME_MIN_SAMPLES = 20, /* fewer say nothing about anything */
        HOT_MIN_PCT = 10,      /* of the CPU time */
        PART_MIN_PCT = 5,
        CALLS_MIN_PCT = 10,
        WAIT_MIN_PCT = 5,
        SILT_MIN_PCT = 3,
        READY_MIN_PCT = 25,
        IDLE_MIN_PCT = 30, /* of the time of the busiest thread */
        RATE_MIN_ALLOCATIONS = 1000,
        INLINED_MIN_PCT = 50, /* of what a function took itself: less is not told */
        CAUSE_MIN_PCT = 20,   /* of a part: a function with less is not named as its cause */
};
#define WAIT_MIN_NS 10000000u

static struct name_frame named(const struct query_frame *f) {
        return (struct name_frame){f->function, f->file,    f->module, f->offset,
                                   f->line,     f->inlined, f->guess};
}

static const char *say_function(struct facts *f, const struct query_frame *frame, bool is_task) {
        struct name_frame n = named(frame);

        return place_name(f, &n, is_task);
}

static const char *say_time(struct facts *f, uint64_t ns) {
        struct unit_text t;

        return arena_strdup(f->arena, unit_duration(&t, ns));
}

static bool is_blank(const struct query_frame *f) {
        return !f->function[0] && !f->module[0] && !f->offset;
}

static double pct_of(uint64_t part, uint64_t whole) {
        return whole ? 100.0 * (double)part / (double)whole : 0;
}

static struct finding *found_time(struct facts *f, const char *kind, uint64_t ns,
                                  uint64_t n_samples, uint32_t stack, enum query_metric metric) {
        struct finding *x = found_about_none(f, kind, "");

        x->is_time = true;
        x->time_ns = ns;
        x->metric = metric;
        x->has_site = stack != 0;
        x->site =
                (struct query_site){stack, QUERY_ALL, {.lacks_events = true, .lacks_blocks = true}};
        x->site.f.alloc_bytes = ns;
        x->site.f.n_allocs = n_samples;
        return x;
}

/* How many allocations the same function, or what it called, made in the same window; 0: none are known. */
static uint64_t allocations_of(struct facts *f, const struct query_frame *frame,
                               bool with_callees) {
        const struct query_group_options by = {.by = QUERY_BY_FUNCTION, .metric = QUERY_COUNT};
        struct query_groups *g;
        uint64_t n = 0;

        if (!f->totals->n_allocs || f->totals->lacks_blocks || f->totals->lacks_traffic ||
            !frame->function[0] || frame->guess)
                return 0;
        g = query_group_answer(f->q, f->source->answer, &by);
        for (size_t i = 0; i < g->n; i++)
                if (!g->rows[i].frame.guess &&
                    strcmp(g->rows[i].frame.function, frame->function) == 0 &&
                    query_is_same_module(f->q, g->rows[i].frame.module, frame->module))
                        n += with_callees ? g->rows[i].total.n_allocs : g->rows[i].self.n_allocs;
        query_groups_free(g);
        return n;
}

/* "It and what it called made 1,204,331 allocations, 290 for each millisecond of CPU time." */
static const char *say_allocations(struct facts *f, struct finding *x, uint64_t n, uint64_t cpu_ns,
                                   const char *who) {
        double per_ms = (double)n * 1e6 / (double)MAX(cpu_ns, 1u);
        struct unit_text a, b;

        if (n < RATE_MIN_ALLOCATIONS || cpu_ns < 1000000u)
                return "";
        found_number(x, "allocations", (double)n);
        found_number(x, "allocations_per_cpu_ms", per_ms);
        if (per_ms < 1)
                return say(f, " %s made %s allocations.", who, unit_count(&a, n));
        return say(f, " %s made %s allocations, %s for each millisecond of CPU time.", who,
                   unit_count(&a, n), unit_count(&b, unit_nearest(per_ms)));
}

/* " parse_row made 1,204,331 allocations: 41 ns for each." Of the time in the allocator, not of all that the function took. */
static const char *say_price(struct facts *f, struct finding *x, uint64_t n,
                             uint64_t allocator_ns) {
        double each_ns = (double)allocator_ns / (double)MAX(n, 1u);
        struct unit_text a, b;

        if (n < RATE_MIN_ALLOCATIONS || !x->function[0])
                return "";
        found_number(x, "allocations", (double)n);
        found_number(x, "ns_per_allocation", each_ns);
        return say(f, " %s made %s allocations: %s for each.", x->function, unit_count(&a, n),
                   unit_duration(&b, MAX(unit_nearest(each_ns), 1u)));
}

/* ---- on a CPU -------------------------------------------------------------------------------- */

/* ", 700 ms of it in u64::wrapping_add, inlined": where that is most of it. */
static const char *say_inlined(struct facts *f, const struct time_hot *h) {
        if (pct_of(h->inner_ns, h->self_ns) >= INLINED_MIN_PCT)
                return say(f, ", %s of it in %s, inlined", say_time(f, h->inner_ns),
                           say_function(f, &h->inner, false));
        if (pct_of(h->inlined_ns, h->self_ns) >= INLINED_MIN_PCT)
                return say(f, ", %s of it in functions of libraries that are inlined",
                           say_time(f, h->inlined_ns));
        return "";
}

/* Its functions have no names, so that none of them can be told. */
static void find_made(struct facts *f, struct finding *x, const struct time_hot *h,
                      const struct time_parts *cpu) {
        x->has_site = false;
        x->text = say(
                f,
                "Code that was made while the program ran, by a JIT compiler, took %s of the %s of CPU time itself (%u %%)%s. Its functions have no names: let the runtime write /tmp/perf-PID.map, as node --perf-basic-prof does, and record again.",
                say_time(f, h->self_ns), say_time(f, cpu->ns),
                share_pct((double)h->self_ns, (double)cpu->ns),
                is_blank(&h->caller)
                        ? ""
                        : say(f, ", called%s by %s",
                              (double)h->caller_ns < 0.99 * (double)h->self_ns ? " mostly" : "",
                              say_function(f, &h->caller, false)));
}

static void find_hot_function(struct facts *f, const struct time_parts *cpu) {
        const struct time_hot *h = &cpu->hot;
        double pct = pct_of(h->self_ns, cpu->ns);
        struct name_frame frame = named(&h->frame);
        struct finding *x;

        if (!cpu->has_hot || pct < HOT_MIN_PCT || h->n_samples < TIME_MIN_SAMPLES)
                return;
        x = found_time(f, "hot-function", h->self_ns, h->n_samples, h->stack, QUERY_CPU);
        x->function = h->is_made ? "" : say_function(f, &h->frame, h->is_task);
        found_number(x, "cpu_ns", (double)cpu->ns);
        found_number(x, "self_ns", (double)h->self_ns);
        found_number(x, "inlined_ns", (double)h->inlined_ns);
        found_number(x, "total_ns", (double)h->total_ns);
        found_number(x, "samples", (double)h->n_samples);
        found_number(x, "share_of_cpu_pct", pct);
        if (h->is_made) {
                find_made(f, x, h, cpu);
                return;
        }
        x->text =
                say(f, "%s took %s of the %s of CPU time itself (%u %%)%s%s.%s", x->function,
                    say_time(f, h->self_ns), say_time(f, cpu->ns),
                    share_pct((double)h->self_ns, (double)cpu->ns), say_inlined(f, h),
                    !is_blank(&h->host)
                            ? say(f, ", inlined into %s", say_function(f, &h->host, false))
                    : is_blank(&h->caller)
                            ? ""
                            : say(f, ", called%s by %s",
                                  (double)h->caller_ns < 0.99 * (double)h->self_ns ? " mostly" : "",
                                  say_function(f, &h->caller, false)),
                    say_allocations(f, x, allocations_of(f, &h->frame, true), h->total_ns,
                                    "It and what it called"));
        x->next = next_callers(f, &frame, QUERY_CPU);
}

/* ", 1.30 s of it for parse_row (through malloc)"; nothing where nobody has much. */
static const char *say_cause(struct facts *f, const struct time_part *p, const char *before,
                             bool with_through) {
        const struct time_cause *c = p->causes;

        if (!p->n_causes || pct_of(c->ns, p->ns) < CAUSE_MIN_PCT)
                return "";
        if (is_blank(
                    &c->frame)) /* nobody in the program: it has no memory in execve, and at its end */
                return c->through[0] ? say(f, ", %s of it in %s", say_time(f, c->ns), c->through)
                                     : "";
        return say(f, ", %s of it%s%s%s",
                   strcmp(say_time(f, c->ns), say_time(f, p->ns)) == 0 ? "all" : say_time(f, c->ns),
                   before, say_function(f, &c->frame, false),
                   with_through && c->through[0] ? say(f, " (through %s)", c->through) : "");
}

/* What is found of a part of the CPU time; NULL: it is too small. */
static struct finding *found_part(struct facts *f, const struct time_parts *cpu,
                                  enum time_part_kind kind, const char *name, double min_pct) {
        const struct time_part *p = &cpu->of[kind];
        double pct = pct_of(p->ns, cpu->ns);
        struct finding *x;

        if (pct < min_pct || p->n_samples < TIME_MIN_SAMPLES)
                return NULL;
        x = found_time(f, name, p->ns, p->n_samples, p->n_causes ? p->causes[0].stack : 0,
                       QUERY_CPU);
        found_number(x, "cpu_ns", (double)cpu->ns);
        found_number(x, "part_ns", (double)p->ns);
        found_number(x, "samples", (double)p->n_samples);
        found_number(x, "share_of_cpu_pct", pct);
        if (p->n_causes && !is_blank(&p->causes[0].frame))
                x->function = say_function(f, &p->causes[0].frame, false);
        return x;
}

static const char *say_share(struct facts *f, const struct time_parts *cpu,
                             const struct time_part *p) {
        return say(f, "%s of the %s of CPU time (%u %%)", say_time(f, p->ns), say_time(f, cpu->ns),
                   share_pct((double)p->ns, (double)cpu->ns));
}

static void look_at_cause(struct facts *f, struct finding *x, const struct time_part *p) {
        struct name_frame frame;

        if (!p->n_causes || is_blank(&p->causes[0].frame))
                return;
        frame = named(&p->causes[0].frame);
        x->next = next_callers(f, &frame, x->metric);
        x->shows.function = NULL; /* the function does other things too: its figure is another */
}

static void find_allocator(struct facts *f, const struct time_parts *cpu) {
        const struct time_part *p = &cpu->of[TIME_IN_ALLOCATOR];
        struct finding *x = found_part(f, cpu, TIME_IN_ALLOCATOR, "allocator-time", PART_MIN_PCT);
        uint64_t n;

        if (!x)
                return;
        n = p->n_causes ? allocations_of(f, &p->causes[0].frame, false) : 0;
        x->text = say(f, "Allocating and freeing took %s%s.%s", say_share(f, cpu, p),
                      say_cause(f, p, " for ", true),
                      say_price(f, x, n, p->n_causes ? p->causes[0].ns : 0));
        look_at_cause(f, x, p);
}

static void find_faults(struct facts *f, const struct time_parts *cpu) {
        const struct time_part *p = &cpu->of[TIME_IN_FAULTS];
        struct finding *x = found_part(f, cpu, TIME_IN_FAULTS, "page-faults", PART_MIN_PCT);

        if (!x)
                return;
        x->text = say(
                f,
                "Page faults took %s%s. The kernel makes a page when it is touched first: memory that is freed and requested again pays again.",
                say_share(f, cpu, p), say_cause(f, p, " in ", false));
        look_at_cause(f, x, p);
}

static void find_calls(struct facts *f, const struct time_parts *cpu) {
        const struct time_part *p = &cpu->of[TIME_IN_CALLS];
        struct finding *x = found_part(f, cpu, TIME_IN_CALLS, "system-calls", CALLS_MIN_PCT);

        if (!x)
                return;
        x->text = say(f, "System calls took %s in the kernel%s.", say_share(f, cpu, p),
                      say_cause(f, p, " for ", true));
        look_at_cause(f, x, p);
}

static void find_hidden(struct facts *f, const struct time_parts *cpu) {
        const struct time_part *p = &cpu->of[TIME_IN_HIDDEN];
        struct finding *x = found_part(f, cpu, TIME_IN_HIDDEN, "kernel-time", CALLS_MIN_PCT);

        if (!x)
                return;
        x->has_site = false;
        x->text = say(
                f,
                "The kernel took %s, by its own count; silt may not sample it: run silt with CAP_PERFMON, or 'sysctl kernel.perf_event_paranoid=1'.",
                say_share(f, cpu, p));
}

/* What the kernel does where its functions have no names. */
static void find_kernel(struct facts *f, const struct time_parts *cpu) {
        const struct time_part *p = &cpu->of[TIME_IN_KERNEL];
        struct finding *x = found_part(f, cpu, TIME_IN_KERNEL, "kernel-time", CALLS_MIN_PCT);

        if (!x)
                return;
        x->text = say(
                f,
                "The kernel took %s on behalf of the program%s; its functions have no names here.",
                say_share(f, cpu, p), say_cause(f, p, " for ", true));
        look_at_cause(f, x, p);
}

static void find_own(struct facts *f, const struct time_parts *cpu,
                     const struct time_parts *blocked) {
        const struct time_part *p = &cpu->of[TIME_IN_SILT];
        uint64_t waited_ns = blocked ? blocked->of[TIME_IN_SILT].ns : 0;
        struct finding *x = found_part(f, cpu, TIME_IN_SILT, "silt-time",
                                       waited_ns >= WAIT_MIN_NS ? 0 : SILT_MIN_PCT);

        if (!x)
                return;
        found_number(x, "waited_ns", (double)waited_ns);
        x->function = "";
        x->has_site = false;
        x->text = say(
                f,
                "%s is silt's own: recording allocations%s. It would not be there without; 'silt cpu' records time alone.",
                say_share(f, cpu, p),
                waited_ns >= WAIT_MIN_NS
                        ? say(f, "; threads waited %s for its recorder", say_time(f, waited_ns))
                        : "");
}

/* ---- blocked --------------------------------------------------------------------------------- */

static void find_locks(struct facts *f, const struct time_parts *cpu,
                       const struct time_parts *blocked) {
        const struct time_part *p = &blocked->of[TIME_IN_LOCKS];
        double pct = pct_of(p->ns, cpu->ns);
        struct unit_text n;
        struct finding *x;

        if (p->ns < WAIT_MIN_NS || pct < WAIT_MIN_PCT)
                return;
        x = found_time(f, "lock-waiting", p->ns, p->n_samples, p->n_causes ? p->causes[0].stack : 0,
                       QUERY_BLOCKED);
        if (p->n_causes && !is_blank(&p->causes[0].frame))
                x->function = say_function(f, &p->causes[0].frame, false);
        found_number(x, "cpu_ns", (double)cpu->ns);
        found_number(x, "blocked_ns", (double)blocked->ns);
        found_number(x, "lock_ns", (double)p->ns);
        found_number(x, "waits", (double)p->n_samples);
        found_number(x, "share_of_cpu_pct", pct);
        x->text = say(f, "Threads waited %s for locks in %s wait%s%s; they ran for %s.",
                      say_time(f, p->ns), unit_count(&n, p->n_samples), plural(p->n_samples),
                      say_cause(f, p, " in ", true), say_time(f, cpu->ns));
        look_at_cause(f, x, p);
}

struct busiest {
        uint64_t *cpu_ns, *other_ns; /* by thread */
        uint64_t ready_ns;           /* of all */
};

static bool add_to_thread(void *ctx, const struct trace_tick *tick) {
        struct busiest *b = ctx;

        *(tick->state == TRACE_ON_CPU ? &b->cpu_ns[tick->thread] : &b->other_ns[tick->thread]) +=
                tick->weight_ns;
        b->ready_ns += tick->state == TRACE_READY ? tick->weight_ns : 0;
        return true;
}

struct waits {
        const struct query *q;
        uint32_t thread, stack;
        uint64_t ns, most_ns, n_waits;
        struct map by_stack;
};

static bool add_wait(void *ctx, const struct trace_tick *tick) {
        struct waits *w = ctx;
        uint64_t *ns;
        bool added;

        if (tick->thread != w->thread)
                return true;
        ns = map_put(&w->by_stack, tick->stack, 0, &added);
        *ns += tick->weight_ns;
        w->ns += tick->weight_ns;
        w->n_waits += tick->n_samples;
        if (*ns > w->most_ns) {
                w->most_ns = *ns;
                w->stack = tick->stack;
        }
        return true;
}

struct wait_names {
        struct query_frame called, caller;
        bool has_called, has_caller;
};

/* The innermost function outside of the kernel, and the first that is in another library. */
static bool take_wait_name(void *ctx, const struct query_frame *f) {
        struct wait_names *w = ctx;

        if (strcmp(f->module, "[kernel]") == 0)
                return true;
        if (!w->has_called) {
                w->called = *f;
                w->has_called = true;
                return true;
        }
        if (strcmp(f->module, w->called.module) == 0)
                return true;
        w->caller = *f;
        w->has_caller = true;
        return false;
}

static void tell_waits(struct facts *f, const struct time_parts *cpu, uint64_t cpu_ns,
                       const struct waits *w) {
        const struct trace_thread_info *t = &query_view(f->q)->threads[w->thread];
        struct wait_names n = {0};
        struct name_frame frame;
        struct finding *x;

        query_each_frame(f->q, w->stack, take_wait_name, &n);
        if (!n.has_called)
                return;
        x = found_time(f, "waiting", w->ns, w->n_waits, w->stack, QUERY_BLOCKED);
        x->function = say_function(f, &n.called, false);
        found_number(x, "thread_cpu_ns", (double)cpu_ns);
        found_number(x, "thread_blocked_ns", (double)w->ns);
        found_number(x, "longest_path_ns", (double)w->most_ns);
        found_number(x, "cpu_ns", (double)cpu->ns);
        x->text = say(
                f,
                "The busiest thread, %s (tid %u), ran for %s and waited for %s, %s of it in %s%s.",
                t->name[0] ? t->name : "without a name", t->start.tid, say_time(f, cpu_ns),
                say_time(f, w->ns), say_time(f, w->most_ns), x->function,
                n.has_caller ? say(f, ", called by %s", say_function(f, &n.caller, false)) : "");
        frame = named(n.has_caller ? &n.caller : &n.called);
        x->next = next_callers(f, &frame, QUERY_BLOCKED);
        x->shows.function = NULL;
}

/* The machine was busy: what took long may have waited for a CPU. */
static void find_ready(struct facts *f, const struct time_parts *cpu, uint64_t ready_ns) {
        double pct = pct_of(ready_ns, cpu->ns);
        struct finding *x;

        if (pct < READY_MIN_PCT || ready_ns < WAIT_MIN_NS)
                return;
        x = found_time(f, "cpu-wanted", ready_ns, 0, 0, QUERY_CPU);
        found_number(x, "cpu_ns", (double)cpu->ns);
        found_number(x, "ready_ns", (double)ready_ns);
        found_number(x, "share_of_cpu_pct", pct);
        x->text = say(
                f,
                "Threads ran for %s and were ready to run for another %s while others had the CPUs: on an idle machine the program is faster.",
                say_time(f, cpu->ns), say_time(f, ready_ns));
}

/* Where threads share the work nobody can tell whom it holds up: the thread that ran most is told. */
static void find_waiting(struct facts *f, const struct time_parts *cpu) {
        const struct trace_view *v = query_view(f->q);
        struct query_scope scope = cpu->answer->scope;
        struct busiest b = {.cpu_ns = calloc(v->n_threads + 1, sizeof(uint64_t)),
                            .other_ns = calloc(v->n_threads + 1, sizeof(uint64_t))};
        struct waits w = {.q = f->q};
        struct err err = {0};

        if (!b.cpu_ns || !b.other_ns)
                abort();
        scope.of_time = QUERY_NO_TIME;
        if (query_each_tick(f->q, &scope, add_to_thread, &b, &err) >= 0) {
                find_ready(f, cpu, b.ready_ns);
                for (uint32_t i = 0; i < v->n_threads; i++)
                        if (b.cpu_ns[i] > b.cpu_ns[w.thread])
                                w.thread = i;
                scope.of_time = QUERY_BLOCKED_TIME;
                if (v->n_threads && query_each_tick(f->q, &scope, add_wait, &w, &err) >= 0 &&
                    pct_of(w.ns, b.cpu_ns[w.thread] + b.other_ns[w.thread]) >= IDLE_MIN_PCT &&
                    w.ns >= WAIT_MIN_NS)
                        tell_waits(f, cpu, b.cpu_ns[w.thread], &w);
        }
        map_done(&w.by_stack);
        free(b.cpu_ns);
        free(b.other_ns);
}

void find_time(struct facts *f) {
        const struct time_parts *cpu = f->source->cpu, *blocked = f->source->blocked;

        if (!cpu)
                return;
        find_hot_function(f, cpu);
        find_allocator(f, cpu);
        find_faults(f, cpu);
        find_calls(f, cpu);
        find_kernel(f, cpu);
        find_hidden(f, cpu);
        find_own(f, cpu, blocked);
        if (!blocked)
                return;
        find_locks(f, cpu, blocked);
        find_waiting(f, cpu);
}

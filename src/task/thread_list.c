/* SPDX-License-Identifier: MIT */
#include "task/thread_list.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/kernel_id.h"
#include "finding/wait_call.h"
#include "query/spent_time.h"
#include "query/trace_origin.h"
#include "resident/resident_bytes.h"
#include "task/thread_spawns.h"
#include "trace/reader.h"

/* A thread that was seen so short before the end is there at the end, where nothing better is known. */
#define END_NS 100000000

/* A process that ends wakes all its threads. */
#define WOKEN_NS 10000000

enum { NOT_SEEN = TRACE_N_TICK_STATES };

struct one_thread {
        uint32_t tid, name;         /* name: text */
        uint64_t start_ns, last_ns; /* last_ns: of its last tick; 0 none */
        uint32_t stack;             /* of the last tick that has one */
        uint32_t wait_stack;        /* of those of its last wait; 0 unknown */
        uint8_t state;
        uint32_t spawn_stack;
        bool has_area;
        uint64_t area_bytes;
};

struct listing {
        struct thread_list *l;
        struct query *q;
        const struct trace_view *v;
        const struct frame_names *names;
        struct site_texts *texts;
        VEC(struct one_thread) threads;
        struct map by_thread; /* of the view → number + 1 */
        struct map by_tid;    /* the latest of that number */
        struct map groups;    /* hash of what makes one → number */
        uint32_t first_tid;
};

/* ---- what is known of each ----------------------------------------------------------------------------------- */

/* "worker-12" and "worker-13" are of one kind. */
static uint32_t name_text(struct listing *x, const char *name) {
        struct str s = {0};
        uint32_t text;

        for (; *name; name++) {
                if (!isdigit((unsigned char)*name))
                        str_addn(&s, name, 1);
                else if (!s.n || str_text(&s)[s.n - 1] != '#')
                        str_add(&s, "#");
        }
        text = text_pool_add(&x->texts->pool, str_text(&s));
        str_done(&s);
        return text;
}

static void list_threads(struct listing *x) {
        _cleanup_free_ uint32_t *spawns = thread_spawns_find(x->q, x->l->process);

        for (uint32_t i = 0; i < x->v->n_threads; i++) {
                const struct trace_thread *t = &x->v->threads[i].start;

                if (t->process != x->l->process || t->tid == x->first_tid)
                        continue;
                vec_push(&x->threads,
                         (struct one_thread){.tid = t->tid,
                                             .name = name_text(x, x->v->threads[i].name),
                                             .start_ns = t->start_ns,
                                             .state = NOT_SEEN,
                                             .spawn_stack = spawns[i]});
                map_put(&x->by_thread, i, x->threads.n, NULL);
                *map_put(&x->by_tid, t->tid, 0, NULL) = x->threads.n;
        }
}

static bool add_tick(void *ctx, const struct trace_tick *tick) {
        struct listing *x = ctx;
        struct one_thread *t;
        uint64_t at;

        if (!map_get(&x->by_thread, tick->thread, &at))
                return true;
        t = &x->threads.items[at - 1];
        if (tick->time_ns < t->last_ns)
                return true;
        t->last_ns = tick->time_ns;
        if (t->state != NOT_SEEN && ((tick->state == TRACE_ON_CPU && !tick->stack) ||
                                     tick->time_ns > x->l->at_ns + tick->weight_ns))
                return true; /* the rest of what it ran, told when it ends; or what came later */
        if (tick->stack)
                t->stack = tick->stack;
        if (tick->state != TRACE_BLOCKED || t->state != TRACE_BLOCKED || tick->stack)
                t->wait_stack = tick->state == TRACE_BLOCKED ? tick->stack : 0;
        t->state = tick->state;
        return true;
}

/* Stacks by the last bill, which knows of threads that no event told of, too. */
static void add_bill(struct listing *x) {
        struct resident r;
        struct trace_bill bill;
        bytes_buf bytes = {0};
        struct err unsaid = {0};
        size_t i = query_n_bills(x->q);

        while (i > 0 && query_bill(x->q, i - 1)->process != x->l->process)
                i--;
        if (!i || query_read_bill(x->q, i - 1, &bill, &bytes, &unsaid) < 0 ||
            resident_decode(&r, bytes.items, bytes.n, &unsaid) < 0) {
                vec_free(&bytes);
                return;
        }
        x->l->has_bill = true;
        x->l->at_ns = bill.time_ns;
        for (size_t k = 0; k < r.areas.n; k++) {
                const struct resident_area *a = &r.areas.items[k];
                struct one_thread *t;
                uint64_t at;

                if (a->kind != RESIDENT_STACK || !a->tid || a->tid == x->first_tid)
                        continue;
                if (!map_get(&x->by_tid, a->tid, &at)) {
                        vec_push(&x->threads,
                                 (struct one_thread){.tid = a->tid, .state = NOT_SEEN});
                        at = x->threads.n;
                        map_put(&x->by_tid, a->tid, at, NULL);
                }
                t = &x->threads.items[at - 1];
                t->has_area = true;
                t->area_bytes += a->rss_bytes;
        }
        resident_done(&r);
        vec_free(&bytes);
}

static bool is_alive(const struct listing *x, const struct one_thread *t) {
        if (t->has_area)
                return true;
        if (x->l->has_bill)
                return MAX(t->last_ns, t->start_ns) >= x->l->at_ns;
        return MAX(t->last_ns, t->start_ns) + END_NS >= x->l->at_ns;
}

/* ---- where they wait ----------------------------------------------------------------------------------------- */

enum { MAX_FRAMES = 64 };

struct wait_frames {
        struct query_frame frames[MAX_FRAMES];
        size_t n;
};

static bool take_frame(void *ctx, const struct query_frame *f) {
        struct wait_frames *w = ctx;

        if (strcmp(f->module, KERNEL_ID_PATH) != 0)
                w->frames[w->n++] = *f;
        return w->n < MAX_FRAMES;
}

static void add_in(const struct frame_names *names, const struct query_frame *f, struct str *to) {
        const char *function = f->function + strspn(f->function, "_");
        struct name_frame frame = frame_of(f);

        if (!wait_is_system(f->module))
                frame_add_function(to, names, &frame, false, false, true);
        else if (f->guess || !function[0])
                str_add(to, frame_base(f->module));
        else
                str_addn(to, function, strcspn(function, "@"));
}

static void add_by(const struct frame_names *names, const struct query_frame *f, struct str *to) {
        struct name_frame frame = frame_of(f);

        frame_add_function(to, names, &frame, false, false, true);
        if (f->file[0] && f->line) {
                str_add(to, " at ");
                frame_add_place(to, &frame, false);
        }
}

/* What was called, and the first plain function that did, directly or by way of a library's. */
static void add_wait_words(const struct listing *x, uint32_t stack, struct str *in,
                           struct str *by) {
        struct names *names = x->names->names;
        struct wait_frames w = {.n = 0};
        size_t i;

        query_each_frame(x->q, stack, take_frame, &w);
        i = wait_call_find(names, w.frames, w.n);
        if (i >= w.n)
                return;
        add_in(x->names, &w.frames[i], in);
        for (i += wait_is_system(w.frames[i].module); i < w.n; i++) {
                const struct query_frame *f = &w.frames[i];

                if (wait_is_system(f->module))
                        return; /* where threads begin */
                if (name_kind(names, f->function, f->module) == NAME_PLAIN &&
                    !wait_is_passed_on(f->function)) {
                        add_by(x->names, f, by);
                        return;
                }
        }
}

/* Where one thread waits, in texts; zeros: it does not, or nobody knows. */
struct one_wait {
        uint32_t in, by, stack;
};

static struct one_wait wait_of(struct listing *x, const struct one_thread *t) {
        struct str in = {0}, by = {0};
        struct one_wait ret = {0};

        if (t->state != TRACE_BLOCKED || !t->wait_stack)
                return ret;
        add_wait_words(x, t->wait_stack, &in, &by);
        ret.in = text_pool_add(&x->texts->pool, str_text(&in));
        ret.by = text_pool_add(&x->texts->pool, str_text(&by));
        ret.stack = t->wait_stack;
        str_done(&in);
        str_done(&by);
        return ret;
}

static void add_wait(struct thread_group *g, const struct one_wait *w) {
        uint32_t i = 0;

        while (i < g->n_waits && (g->waits[i].in != w->in || g->waits[i].by != w->by))
                i++;
        if (i == THREAD_WAITS_MAX)
                return;
        if (i == g->n_waits)
                g->waits[g->n_waits++] =
                        (struct thread_wait){.in = w->in, .by = w->by, .stack = w->stack};
        g->waits[i].n++;
        for (; i > 0 && g->waits[i].n > g->waits[i - 1].n; i--) {
                struct thread_wait swap = g->waits[i];

                g->waits[i] = g->waits[i - 1];
                g->waits[i - 1] = swap;
        }
}

/* ---- groups -------------------------------------------------------------------------------------------------- */

/* What a thread began with. */
struct thread_entry {
        uint32_t
                runs; /* text of the outermost frame that is of interest; 0: the call path does not reach to where threads begin */
        uint64_t
                begin; /* the place from which it was called: closures of one function have one name, and a place each */
};

/* The outermost frame that is of interest; where it is inside an executor, which folds away, that: a worker of tokio did not begin with what it waits in. */
static const struct name_frame *begun_with(const struct listing *x, const struct frame_stack *s) {
        static const char *const langs[] = {"std", "core", "alloc"};
        const struct name_frame *f = &s->frames.items[s->shown.items[s->shown.n - 1].frame_idx];

        for (const struct name_frame *o = &s->frames.items[s->frames.n - 1]; o > f; o--) {
                const char *crate = name_crate(x->names->names, o->function, o->module);
                bool is_lang = o->guess || !o->function[0] ||
                               name_frame_kind(x->names->names, o) != NAME_MACHINERY;

                for (size_t i = 0; i < ARRAY_SIZE(langs); i++)
                        is_lang |= strcmp(crate, langs[i]) == 0;
                if (!is_lang)
                        return o;
        }
        return f;
}

static struct thread_entry entry_of(struct listing *x, uint32_t stack) {
        struct thread_entry ret = {0};
        struct frame_stack s = {0};
        struct str text = {0};
        const struct name_frame *f, *outer;

        frame_stack_fill(&s, x->names, stack, false);
        outer = s.frames.n ? &s.frames.items[s.frames.n - 1] : NULL;
        if (s.shown.n && name_kind(x->names->names, outer->function, outer->module) == NAME_START) {
                f = begun_with(x, &s);
                if (!frame_is_unnamed(f) && !wait_is_system(f->module)) {
                        frame_add_function(&text, x->names, f, false, false, true);
                        ret.runs = text_pool_add(&x->texts->pool, str_text(&text));
                }
                /* what is inlined into one has its place, which moves with what it does */
                for (; outer > f &&
                       (outer->offset != f->offset || strcmp(outer->module, f->module) != 0);
                     outer--)
                        ret.begin = outer->offset;
        }
        str_done(&text);
        frame_stack_done(&s);
        return ret;
}

/* One call of pthread_create is one group whatever its threads run later; of others the function they run tells, else their name and what they wait for. */
static struct thread_group *group_of(struct listing *x, const struct one_thread *t,
                                     const struct one_wait *w) {
        struct thread_entry entry = t->stack ? entry_of(x, t->stack) : (struct thread_entry){0};
        uint32_t site =
                t->spawn_stack ? site_texts_of(x->texts, x->names, t->spawn_stack) : REACH_NO_SITE;
        unsigned kind = site != REACH_NO_SITE ? 0 : entry.runs ? 1 : 2;
        uint64_t key = kind == 0   ? site
                       : kind == 1 ? map_hash(entry.begin) ^ entry.runs
                                   : map_hash((uint64_t)w->in << 32 | w->by) ^ t->name;
        bool is_new;
        uint64_t *at = map_put(&x->groups, map_hash(key) << 2 | kind, x->l->groups.n, &is_new);
        struct thread_group *g;

        if (is_new)
                vec_push(&x->l->groups, (struct thread_group){.spawn_stack = t->spawn_stack});
        g = &x->l->groups.items[*at];
        if (!g->runs)
                g->runs = entry.runs;
        return g;
}

static void add_name(struct thread_group *g, uint32_t text) {
        uint32_t i = 0;

        while (i < g->n_names && g->names[i].text != text)
                i++;
        if (i == THREAD_NAMES_MAX || !text)
                return;
        if (i == g->n_names)
                g->names[g->n_names++] = (struct thread_name_sum){.text = text};
        g->names[i].n++;
        for (; i > 0 && g->names[i].n > g->names[i - 1].n; i--) {
                struct thread_name_sum swap = g->names[i];

                g->names[i] = g->names[i - 1];
                g->names[i - 1] = swap;
        }
}

static void add_thread(struct listing *x, const struct one_thread *t) {
        struct one_wait w = wait_of(x, t);
        struct thread_group *g = group_of(x, t, &w);

        g->n++;
        x->l->n++;
        x->l->n_unspawned += !t->spawn_stack;
        add_name(g, t->name);
        if (!is_alive(x, t))
                return;
        g->n_alive++;
        x->l->n_alive++;
        if (t->has_area) {
                g->n_stacks++;
                g->stack_bytes += t->area_bytes;
                x->l->n_stacks++;
                x->l->stack_bytes += t->area_bytes;
        }
        g->n_running += t->state == TRACE_ON_CPU || t->state == TRACE_READY;
        if (t->state == TRACE_BLOCKED) {
                g->n_waiting++;
                if (w.stack)
                        add_wait(g, &w);
        }
}

static int by_living(const void *a, const void *b) {
        const struct thread_group *x = a, *y = b;

        if (x->n_alive != y->n_alive)
                return x->n_alive > y->n_alive ? -1 : 1;
        if (x->n != y->n)
                return x->n > y->n ? -1 : 1;
        return x->spawn_stack < y->spawn_stack ? -1 : x->spawn_stack > y->spawn_stack;
}

static uint32_t with_most(const struct trace_view *v) {
        _cleanup_free_ uint32_t *n = calloc(v->n_processes + 1, sizeof(*n));
        uint32_t best = 0;

        if (!n)
                abort();
        for (size_t i = 0; i < v->n_threads; i++)
                if (v->threads[i].start.process < v->n_processes)
                        n[v->threads[i].start.process]++;
        for (uint32_t i = 1; i < v->n_processes; i++)
                if (n[i] > n[best])
                        best = i;
        return best;
}

void thread_list_make(struct thread_list *l, struct query *q, const struct frame_names *names,
                      struct site_texts *texts, uint32_t process) {
        const struct trace_view *v = query_view(q);
        struct listing x = {.l = l, .q = q, .v = v, .names = names, .texts = texts};
        const struct trace_process_info *p;
        struct err unsaid = {0};

        *l = (struct thread_list){.process = process == QUERY_ALL ? with_most(v) : process};
        if (l->process >= v->n_processes || !origin_knows_threads(v) || !v->n_threads)
                return; /* the one thread of other tools' files stands for all */
        p = &v->processes[l->process];
        x.first_tid = origin_knows_pids(&v->meta) ? p->start.pid : v->threads[0].start.tid;
        l->at_ns = p->has_end ? p->end.end_ns : v->end_ns;
        if (p->has_end && l->at_ns > WOKEN_NS)
                l->at_ns -= WOKEN_NS;
        l->has_ticks = query_has_ticks(q);
        list_threads(&x);
        add_bill(&x);
        if (l->has_ticks)
                query_each_tick(q,
                                &(struct query_scope){.process = l->process, .to_ns = UINT64_MAX},
                                add_tick, &x, &unsaid);
        for (size_t i = 0; i < x.threads.n; i++)
                add_thread(&x, &x.threads.items[i]);
        if (l->groups.n)
                qsort(l->groups.items, l->groups.n, sizeof(l->groups.items[0]), by_living);
        vec_free(&x.threads);
        map_done(&x.by_thread);
        map_done(&x.by_tid);
        map_done(&x.groups);
}

void thread_list_done(struct thread_list *l) {
        vec_free(&l->groups);
}

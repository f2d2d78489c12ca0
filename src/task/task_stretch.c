/* SPDX-License-Identifier: MIT */
#include "task/task_stretch.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"
#include "query/spent_time.h"
#include "show/text_pool.h"
#include "task/task_runtimes.h"

enum { NO_TASK = 0 };

/* A thread that is not looked at for so long may have been elsewhere. */
#define MAX_GAP_NS 200000000

struct open_stretch {
        uint32_t runs; /* in the texts; NO_TASK */
        uint32_t stack, thread;
        uint64_t begin_ns, last_ns, ns, n_samples; /* ns: on a CPU */
};

struct finding_stretches {
        const struct query *q;
        struct map by_stack; /* → text, or NO_TASK */
        struct map threads;  /* → number in open */
        VEC(struct open_stretch) open;
        struct open_stretch best;
        task_time_list *times; /* by text; NULL: nobody asks */
        struct text_pool texts;
        struct str body; /* of the frames looked at: the outermost body of an async function */
        uint32_t runs;
        bool is_polled,
                is_blocking; /* a poll was among them, or it was one of a call that may block */
};

/* "app::serve::{{closure}}", but not what libraries wrap around it. */
static bool is_body(const char *function) {
        static const char *const crates[] = {
                "tokio::",        "core::",           "std::",       "async_channel::",
                "async_compat::", "async_executor::", "async_fs::",  "async_global_executor::",
                "async_io::",     "async_lock::",     "async_net::", "async_process::",
                "async_signal::", "async_std::",      "async_task::"};

        for (size_t i = 0; i < ARRAY_SIZE(crates); i++)
                if (strncmp(function, crates[i], strlen(crates[i])) == 0)
                        return false;
        return strstr(function, "::{") && function[0] != '<';
}

/* "app::serve::{{closure}}" of a block in it: without the last, which is its body */
static void set_body(struct finding_stretches *s, const char *function) {
        const char *at = strstr(function, "::{"), *last = at;

        while (at) {
                last = at;
                at = strstr(at + 1, "::{");
        }
        str_clear(&s->body);
        str_addn(&s->body, function, (size_t)(last - function));
}

static void take_poll(struct finding_stretches *s, const char *function) {
        struct str type = {0}, words = {0};
        enum task_kind kind =
                strstr(function, "<T,S>") ? TASK_FUTURE : task_add_type(function, &type);

        s->is_polled = true;
        s->is_blocking = kind == TASK_OWN || kind == TASK_BLOCKING;
        task_add_type_words(type.n ? str_text(&type) : str_text(&s->body), &words);
        if (words.n)
                s->runs = text_pool_add(&s->texts, str_text(&words));
        str_done(&type);
        str_done(&words);
}

/* From the inner end on: the first poll of a task, and who called that. Where its name does not tell what it polls, the body that it called does. */
static bool look_at_frame(void *ctx, const struct query_frame *f) {
        struct finding_stretches *s = ctx;
        enum task_caller caller = task_caller_of(f->function);

        if (!s->is_polled && task_is_poll(f->function)) {
                take_poll(s, f->function);
                return !s->is_blocking;
        }
        if (!s->is_polled && is_body(f->function))
                set_body(s, f->function);
        s->is_blocking |= s->is_polled ? caller == TASK_CALLER_BLOCKING
                                       : strstr(f->function, "::BlockingTask<") != NULL;
        /* another thread has taken over what its scheduler does */
        s->is_blocking |= strstr(f->function, "tokio::") && strstr(f->function, "block_in_place");
        return !s->is_blocking && !(s->is_polled && caller == TASK_CALLER_SCHEDULER);
}

static uint32_t runs_of(struct finding_stretches *s, uint32_t stack) {
        bool is_new;
        uint64_t *known = map_put(&s->by_stack, stack, NO_TASK, &is_new);

        if (is_new) {
                s->runs = NO_TASK;
                s->is_polled = s->is_blocking = false;
                str_clear(&s->body);
                query_each_frame(s->q, stack, look_at_frame, s);
                *known = s->is_blocking ? NO_TASK : s->runs;
        }
        return (uint32_t)*known;
}

static void add_time(struct finding_stretches *s, uint32_t runs, const struct trace_tick *tick) {
        while (s->times->n <= runs)
                vec_push(s->times, (struct task_time){0});
        s->times->items[runs].ns += tick->weight_ns;
        s->times->items[runs].n_samples += tick->n_samples;
}

static bool add_tick(void *ctx, const struct trace_tick *tick) {
        struct finding_stretches *s = ctx;
        uint32_t runs = runs_of(s, tick->stack);
        bool is_new;
        uint64_t *known = map_put(&s->threads, tick->thread, s->open.n, &is_new);
        struct open_stretch *x;

        if (is_new)
                vec_push(&s->open, (struct open_stretch){0});
        x = &s->open.items[*known];
        if (tick->state == TRACE_READY)
                runs = x->runs; /* who waits for a CPU leaves no poll, wherever it was seen last */
        if (x->runs != runs || tick->time_ns > x->last_ns + tick->weight_ns + MAX_GAP_NS)
                *x = (struct open_stretch){.runs = runs,
                                           .begin_ns = tick->time_ns -
                                                       MIN(tick->weight_ns, tick->time_ns)};
        x->stack = tick->stack;
        x->thread = tick->thread;
        x->last_ns = tick->time_ns > x->last_ns ? tick->time_ns : x->last_ns;
        if (s->times && tick->state == TRACE_ON_CPU && runs != NO_TASK)
                add_time(s, runs, tick);
        if (tick->state == TRACE_ON_CPU) {
                x->ns += tick->weight_ns;
                x->n_samples += tick->n_samples;
        }
        if (runs != NO_TASK && x->ns > s->best.ns)
                s->best = *x;
        return true;
}

static void find(struct finding_stretches *s, struct query *q, uint32_t process) {
        struct query_scope scope = {.process = process, .to_ns = UINT64_MAX};
        struct err unsaid = {0};

        text_pool_init(&s->texts);
        query_each_tick(q, &scope, add_tick, s, &unsaid);
}

static void done(struct finding_stretches *s) {
        map_done(&s->by_stack);
        map_done(&s->threads);
        vec_free(&s->open);
        text_pool_done(&s->texts);
        str_done(&s->body);
}

bool task_stretch_find(struct query *q, uint32_t process, struct task_stretch *ret) {
        struct finding_stretches s = {.q = q};

        *ret = (struct task_stretch){0};
        if (!query_has_ticks(q))
                return false;
        find(&s, q, process);
        if (s.best.ns) {
                *ret = (struct task_stretch){.ns = s.best.ns,
                                             .begin_ns = s.best.begin_ns,
                                             .end_ns = s.best.last_ns,
                                             .n_samples = s.best.n_samples,
                                             .tid = query_view(q)->threads[s.best.thread].start.tid,
                                             .stack = s.best.stack};
                str_add(&ret->runs, s.texts.items.items[s.best.runs]);
        }
        done(&s);
        return ret->ns > 0;
}

void task_stretch_done(struct task_stretch *s) {
        str_done(&s->runs);
}

struct adding_run {
        const struct query *q;
        uint32_t tid;
        uint64_t from_ns, to_ns, ns;
};

static bool add_run(void *ctx, const struct trace_tick *tick) {
        struct adding_run *a = ctx;

        if (tick->state == TRACE_ON_CPU && tick->time_ns > a->from_ns &&
            tick->time_ns <= a->to_ns &&
            query_view(a->q)->threads[tick->thread].start.tid == a->tid)
                a->ns += MIN(tick->weight_ns, tick->time_ns - a->from_ns);
        return true;
}

uint64_t task_ran_ns(struct query *q, uint32_t process, uint32_t tid, uint64_t from_ns,
                     uint64_t to_ns) {
        struct adding_run a = {.q = q, .tid = tid, .from_ns = from_ns, .to_ns = to_ns};
        struct query_scope scope = {.process = process, .to_ns = UINT64_MAX};
        struct err unsaid = {0};

        query_each_tick(q, &scope, add_run, &a, &unsaid);
        return a.ns;
}

static int by_time(const void *a, const void *b) {
        const struct task_time *x = a, *y = b;

        return x->ns > y->ns ? -1 : x->ns < y->ns;
}

void task_times_find(struct query *q, uint32_t process, task_time_list *ret) {
        struct finding_stretches s = {.q = q, .times = ret};
        size_t n = 0;

        if (!query_has_ticks(q))
                return;
        find(&s, q, process);
        for (size_t i = 0; i < ret->n; i++) {
                if (!ret->items[i].n_samples)
                        continue;
                ret->items[n] = ret->items[i];
                ret->items[n].runs = strdup(s.texts.items.items[i]);
                if (!ret->items[n++].runs)
                        abort();
        }
        ret->n = n;
        if (n)
                qsort(ret->items, n, sizeof(ret->items[0]), by_time);
        done(&s);
}

void task_times_done(task_time_list *l) {
        for (size_t i = 0; i < l->n; i++)
                free(l->items[i].runs);
        vec_free(l);
}

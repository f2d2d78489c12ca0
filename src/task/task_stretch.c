/* SPDX-License-Identifier: MIT */
#include "task/task_stretch.h"

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
        uint32_t stack;
        uint64_t begin_ns, last_ns, ns, n_samples; /* ns: on a CPU */
};

struct finding_stretches {
        const struct query *q;
        struct map by_stack; /* → text, or NO_TASK */
        struct map threads;  /* → number in open */
        VEC(struct open_stretch) open;
        struct open_stretch best;
        struct text_pool texts;
        struct str body; /* of the frames looked at: the outermost body of an async function */
        uint32_t runs;
        bool is_polled,
                is_blocking; /* a poll was among them, or it was one of a call that may block */
};

/* "app::serve::{{closure}}", but not what libraries wrap around it. */
static bool is_body(const char *function) {
        return strstr(function, "::{") && strncmp(function, "tokio::", 7) != 0 &&
               strncmp(function, "core::", 6) != 0 && strncmp(function, "std::", 5) != 0 &&
               strncmp(function, "async_", 6) != 0 && function[0] != '<';
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
        x->last_ns = tick->time_ns > x->last_ns ? tick->time_ns : x->last_ns;
        if (tick->state == TRACE_ON_CPU) {
                x->ns += tick->weight_ns;
                x->n_samples += tick->n_samples;
        }
        if (runs != NO_TASK && x->ns > s->best.ns)
                s->best = *x;
        return true;
}

bool task_stretch_find(struct query *q, uint32_t process, struct task_stretch *ret) {
        struct finding_stretches s = {.q = q};
        struct query_scope scope = {.process = process, .to_ns = UINT64_MAX};
        struct err unsaid = {0};

        *ret = (struct task_stretch){0};
        if (!query_has_ticks(q))
                return false;
        text_pool_init(&s.texts);
        query_each_tick(q, &scope, add_tick, &s, &unsaid);
        if (s.best.ns) {
                *ret = (struct task_stretch){.ns = s.best.ns,
                                             .begin_ns = s.best.begin_ns,
                                             .end_ns = s.best.last_ns,
                                             .n_samples = s.best.n_samples,
                                             .stack = s.best.stack};
                str_add(&ret->runs, s.texts.items.items[s.best.runs]);
        }
        map_done(&s.by_stack);
        map_done(&s.threads);
        vec_free(&s.open);
        text_pool_done(&s.texts);
        str_done(&s.body);
        return ret->ns > 0;
}

void task_stretch_done(struct task_stretch *s) {
        str_done(&s->runs);
}

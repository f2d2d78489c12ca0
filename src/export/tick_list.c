/* SPDX-License-Identifier: MIT */
#include "export/tick_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/macros.h"

struct tick_gathering {
        struct tick_list *list;
        const struct trace_view *view;
};

static bool take_tick(void *ctx, const struct trace_tick *tick) {
        struct tick_gathering *g = ctx;

        if (tick->thread >= g->view->n_threads)
                return true;
        vec_push(&g->list->ticks, *tick);
        if (tick->state == TRACE_ON_CPU) {
                g->list->cpu_ns += tick->weight_ns;
                g->list->n_cpu_samples += tick->n_samples;
        }
        return true;
}

static int compare_ticks(const void *x, const void *y) {
        const struct trace_tick *a = x, *b = y;

        if (a->thread != b->thread)
                return a->thread < b->thread ? -1 : 1;
        if (a->time_ns != b->time_ns)
                return a->time_ns < b->time_ns ? -1 : 1;
        if (a->state != b->state)
                return a->state < b->state ? -1 : 1;
        return a->stack < b->stack ? -1 : a->stack > b->stack;
}

static int compare_threads(const void *x, const void *y) {
        const struct tick_thread *a = x, *b = y;

        if (a->process != b->process)
                return a->process < b->process ? -1 : 1;
        if (a->is_main != b->is_main)
                return a->is_main ? -1 : 1;
        return a->thread < b->thread ? -1 : a->thread > b->thread;
}

static struct tick_thread thread_of(const struct trace_view *v, uint32_t thread, size_t first) {
        const struct trace_thread *t = &v->threads[thread].start;

        return (struct tick_thread){.thread = thread,
                                    .process = t->process,
                                    .is_main = t->process < v->n_processes &&
                                               v->processes[t->process].start.pid == t->tid,
                                    .first = first};
}

static void make_threads(struct tick_list *l, const struct trace_view *v) {
        for (size_t i = 0; i < l->ticks.n; i++) {
                const struct trace_tick *tick = &l->ticks.items[i];

                if (i == 0 || tick->thread != tick[-1].thread)
                        vec_push(&l->threads, thread_of(v, tick->thread, i));
                l->threads.items[l->threads.n - 1].n++;
                if (tick->state == TRACE_ON_CPU)
                        l->threads.items[l->threads.n - 1].cpu_ns += tick->weight_ns;
        }
        if (l->threads.n)
                qsort(l->threads.items, l->threads.n, sizeof(l->threads.items[0]), compare_threads);
}

int tick_list_init(struct tick_list *l, struct query *q, const struct query_scope *scope,
                   struct err *reterr) {
        struct tick_gathering g = {l, query_view(q)};
        int r;

        *l = (struct tick_list){0};
        r = query_each_tick(q, scope, take_tick, &g, reterr);
        if (r < 0)
                return r;
        if (l->ticks.n)
                qsort(l->ticks.items, l->ticks.n, sizeof(l->ticks.items[0]), compare_ticks);
        make_threads(l, g.view);
        return 0;
}

void tick_list_done(struct tick_list *l) {
        vec_free(&l->ticks);
        vec_free(&l->threads);
}

const char *tick_thread_name(struct query *q, uint32_t thread) {
        const struct trace_view *v = query_view(q);
        uint32_t process;

        if (thread >= v->n_threads)
                return "";
        if (v->threads[thread].name && v->threads[thread].name[0])
                return v->threads[thread].name;
        process = v->threads[thread].start.process;
        return process < v->n_processes ? query_process_name(q, process) : "";
}

bool tick_is_in_kernel(const struct trace_view *v, const struct trace_tick *tick) {
        uint32_t module;

        if (tick->stack == 0 || tick->stack >= v->n_stacks)
                return false;
        module = v->locations[v->stacks[tick->stack].location].module;
        return module < v->n_modules && strncmp(v->modules[module].path, "[kernel", 7) == 0;
}

/* SPDX-License-Identifier: MIT */
#include "task/task_turns.h"

#include <stdlib.h>
#include <string.h>

#include "keep/kept_graph.h"

/* Who boxes what a scheduler works on: its thread has it on its stack as long as it runs a task. */
static const struct {
        const char *function;
        bool is_only_thread;
} makers[] = {
        {"tokio::runtime::scheduler::multi_thread::worker::create", false},
        {"tokio::runtime::thread_pool::worker::create", false},
        {"tokio::runtime::scheduler::current_thread::CurrentThread::new", true},
        {"tokio::runtime::basic_scheduler::BasicScheduler::new", true},
};

/* Async-executor counts no turns, but each takes a task out of a queue, that of all threads, which is a part of the executor's state, or the runner's own: who is polled
 * again stood in one of them. The thread that runs tasks has both on its stack. */
enum { PART_STATE = 1, PART_QUEUE = 2, PARTS_ALL = PART_STATE | PART_QUEUE };

static const struct {
        const char *function;
        unsigned part;
} executor_parts[] = {
        {"async_executor::Executor::state", PART_STATE}, /* and state_ptr::alloc_state */
        {"async_executor::State::new", PART_STATE},
        {"async_executor::Runner::new", PART_QUEUE},
};

struct looking {
        int maker; /* −1: none */
        bool is_box, is_other;
};

/* What the same function requests beside it is shared, or a list: of that the frames between tell, which programs without debug information lack. */
static bool look_at_frame(void *ctx, const struct query_frame *f) {
        struct looking *l = ctx;

        l->is_box |= strstr(f->function, "alloc::boxed::") != NULL ||
                     strstr(f->function, "exchange_malloc") != NULL;
        l->is_other |= strstr(f->function, "alloc::sync::") || strstr(f->function, "raw_vec");
        if (strncmp(f->function, "tokio::", strlen("tokio::")) != 0)
                return !l->is_other;
        for (size_t i = 0; i < ARRAY_SIZE(makers); i++)
                if (l->is_box && !l->is_other && strcmp(f->function, makers[i].function) == 0)
                        l->maker = (int)i;
        return strncmp(f->function, "tokio::loom::", strlen("tokio::loom::")) == 0;
}

static int maker_of(const struct tasks *t, uint32_t stack) {
        struct looking l = {.maker = -1};

        if (stack != REACH_NO_SITE)
                query_each_frame(t->names.q, stack, look_at_frame, &l);
        return l.maker;
}

static bool look_for_part(void *ctx, const struct query_frame *f) {
        unsigned *ret = ctx;

        for (size_t i = 0; i < ARRAY_SIZE(executor_parts) && !*ret; i++)
                if (strncmp(f->function, executor_parts[i].function,
                            strlen(executor_parts[i].function)) == 0)
                        *ret = executor_parts[i].part;
        return strncmp(f->function, "async_executor::", strlen("async_executor::")) != 0;
}

/* 0: it is no part of an executor. */
static unsigned part_of(const struct tasks *t, uint32_t stack) {
        unsigned part = 0;

        if (stack != REACH_NO_SITE)
                query_each_frame(t->names.q, stack, look_for_part, &part);
        return part;
}

static bool *mark_still(const struct heap_graph *g) {
        bool *is_still = calloc(MAX(g->graph.n_blocks, 1u), sizeof(*is_still));

        if (!is_still)
                abort();
        for (uint32_t i = 0; i < g->n_still; i++)
                is_still[g->still[i]] = true;
        return is_still;
}

/* Each one that a word of the thread's stack points to. */
static bool stood(const struct tasks *t, const struct heap_graph *g, const bool *is_still,
                  uint32_t tid, struct task_turns *ret) {
        bool is_found = false;
        unsigned parts = 0;

        for (uint32_t i = 0; i < g->graph.n_roots; i++) {
                const struct reach_root *r = &g->roots[i];
                uint64_t begin = g->graph.first[g->graph.n_blocks + i];

                if (r->kind != ROOT_STACK || g->owners[r->owner].tid != tid)
                        continue;
                for (uint64_t e = begin; e < g->graph.first[g->graph.n_blocks + i + 1]; e++) {
                        uint32_t block = reach_edge_block(g->graph.edges[e]);
                        int maker = reach_edge_kind(g->graph.edges[e]) == EDGE_START
                                            ? maker_of(t, g->blocks[block].site)
                                            : -1;
                        unsigned part = part_of(t, g->blocks[block].site);

                        if (maker < 0 && !part)
                                continue;
                        if (!is_still[block])
                                return false;
                        parts |= part;
                        if (maker < 0)
                                continue;
                        is_found = true;
                        ret->is_only_thread = makers[maker].is_only_thread;
                }
        }
        ret->is_executor = !is_found && parts == PARTS_ALL;
        return is_found || ret->is_executor;
}

bool task_turns_stood(const struct tasks *t, uint32_t tid, struct task_turns *ret) {
        struct heap_graph g = {0};
        struct trace_graph info;
        struct err unsaid = {0};
        bool *is_still, is_so;

        *ret = (struct task_turns){0};
        if (t->graph_idx == SIZE_MAX || !t->graph.heap.still_ns || !t->graph.heap.seqs ||
            kept_graph_read((struct query *)t->names.q, t->graph_idx, &info, &g, &unsaid) < 0)
                return false;
        is_still = mark_still(&g);
        ret->ns = g.still_ns;
        is_so = stood(t, &g, is_still, tid, ret);
        for (size_t i = 0; i < t->list.tasks.n; i++)
                ret->n_ready += t->list.tasks.items[i].word.state == TASK_READY &&
                                is_still[t->list.tasks.items[i].block];
        free(is_still);
        heap_graph_done(&g);
        return is_so;
}

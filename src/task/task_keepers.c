/* SPDX-License-Identifier: MIT */
/* Who points to tasks that are kept: a set of the runtime's, another task, a variable. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "keep/holder_name.h"
#include "task/task_list.h"

/* Its queues and lists, where pointers to tasks stay that it has long forgotten. */
#define THE_RUNTIME "the runtime"

/* What holds tasks, by a function on the call path that allocated it. */
static const struct {
        const char *part; /* of the function's name */
        const char *words;
} sets[] = {
        {"tokio::util::idle_notified_set::", "a JoinSet"},
        {"tokio::task::join_set::", "a JoinSet"},
        {"tokio_util::task::join_map::", "a JoinMap"},
        {"futures_util::stream::futures_unordered::", "a FuturesUnordered"},
        {"futures_util::stream::stream::buffer_unordered", "a BufferUnordered"},
        {"futures_util::future::join_all", "a join_all"},
        {"tokio::sync::mpsc::", "a channel"},
        {"tokio::sync::oneshot::", "a oneshot channel"},
        {"tokio::time::", "a timer"},
        {"async_channel::", "a channel"},
        {"tokio::runtime::", THE_RUNTIME},
        {"async_executor::", THE_RUNTIME},
        {"concurrent_queue::", THE_RUNTIME},
};

struct finding_keepers {
        struct task_list *l;
        const struct held_graph *g;
        const struct frame_names *names;
        struct site_texts *texts;
        uint32_t *task_of;   /* of each block: task + 1 */
        bool *is_held;       /* of each task: by something that is not left over */
        struct map by_stack; /* stack → text + 1 */
        struct map seen;     /* (task, text): was it counted? */
};

static bool frame_is_set(void *ctx, const struct query_frame *f) {
        const char **ret = ctx;

        for (size_t i = 0; i < ARRAY_SIZE(sets) && !*ret; i++)
                if (strstr(f->function, sets[i].part))
                        *ret = sets[i].words;
        return !*ret;
}

/* Of a block that is no task: what it is a part of, or where it was requested. */
static uint32_t text_of_block(struct finding_keepers *f, uint32_t block) {
        const struct held_graph *g = f->g;
        uint32_t stack = g->stacks[block];
        const char *set = NULL;
        struct str text = {0};
        uint64_t *known;
        bool is_new;

        if (stack == REACH_NO_SITE)
                return text_pool_add(&f->texts->pool, "a block");
        known = map_put(&f->by_stack, stack, 0, &is_new);
        if (!is_new)
                return (uint32_t)*known;
        query_each_frame(f->names->q, stack, frame_is_set, &set);
        if (set) {
                str_add(&text, set);
        } else {
                str_add(&text, "memory of ");
                holder_name_add_site(g, f->names, f->texts,
                                     &(struct site_group){.kind = GROUP_BLOCKS,
                                                          .site = g->heap.blocks[block].site},
                                     true, &text);
        }
        *known = text_pool_add(&f->texts->pool, str_text(&text));
        str_done(&text);
        return (uint32_t)*known;
}

/* A task that holds another one awaits it, or has its handle. */
static uint32_t text_of_task(struct finding_keepers *f, const struct task *t) {
        const struct task_group *x = &f->l->groups.items[t->group];
        struct str text = {0};
        uint32_t ret;

        str_add(&text, "a task");
        if (x->type) {
                str_add(&text, " of ");
                task_add_type_words(f->texts->pool.items.items[x->type], &text);
        }
        ret = text_pool_add(&f->texts->pool, str_text(&text));
        str_done(&text);
        return ret;
}

static void count_keeper(struct finding_keepers *f, uint32_t task, uint32_t text, uint32_t block) {
        struct task_group *x = &f->l->groups.items[f->l->tasks.items[task].group];
        struct task_keeper *k = NULL;
        bool is_new;

        map_put(&f->seen, (uint64_t)task << 32 | text, 0, &is_new);
        if (!is_new)
                return;
        for (uint32_t i = 0; i < x->n_keepers && !k; i++)
                if (x->keepers[i].text == text)
                        k = &x->keepers[i];
        if (!k && x->n_keepers < TASK_MAX_KEEPERS) {
                k = &x->keepers[x->n_keepers++];
                *k = (struct task_keeper){.text = text, .block = block};
        }
        if (k)
                k->n_tasks++;
}

/* What may be left over: a stack has words of functions that returned, a finished task has the links of a list that it is no longer in, and a queue
 * has those that were taken out of it. Such count for tasks that nothing else holds. */
static bool is_weak(const struct finding_keepers *f, uint32_t node, uint32_t text) {
        const struct heap_graph *h = &f->g->heap;

        if (node >= h->graph.n_blocks)
                return h->roots[node - h->graph.n_blocks].kind == ROOT_STACK ||
                       h->roots[node - h->graph.n_blocks].kind == ROOT_REGISTERS;
        if (f->task_of[node])
                return f->l->tasks.items[f->task_of[node] - 1].word.state == TASK_FINISHED;
        return strcmp(f->texts->pool.items.items[text], THE_RUNTIME) == 0;
}

static uint32_t text_of_node(struct finding_keepers *f, uint32_t node) {
        const struct held_graph *g = f->g;

        if (node >= g->heap.graph.n_blocks)
                return g->places.list.items[g->places.places.of_root[node - g->heap.graph.n_blocks]]
                        .name;
        return f->task_of[node] ? text_of_task(f, &f->l->tasks.items[f->task_of[node] - 1])
                                : text_of_block(f, node);
}

static void take_edge(struct finding_keepers *f, uint32_t node, uint32_t task, bool weak) {
        const struct task *t = &f->l->tasks.items[task];
        uint32_t text;

        if (node == t->block || (weak && f->is_held[task]) ||
            (f->l->groups.items[t->group].n_in[TASK_FINISHED] && t->word.state != TASK_FINISHED))
                return;
        text = text_of_node(f, node);
        if (is_weak(f, node, text) != weak)
                return;
        if (!weak)
                f->is_held[task] = true;
        count_keeper(f, task, text, node < f->g->heap.graph.n_blocks ? node : REACH_NONE);
}

static void take_edges(struct finding_keepers *f, bool weak) {
        const struct reach_graph *graph = &f->g->heap.graph;

        for (uint32_t node = 0; node < reach_n_nodes(graph); node++)
                for (uint64_t e = graph->first[node]; e < graph->first[node + 1]; e++) {
                        uint32_t task = f->task_of[reach_edge_block(graph->edges[e])];

                        if (task && reach_edge_kind(graph->edges[e]) == EDGE_START)
                                take_edge(f, node, task - 1, weak);
                }
}

static int by_tasks(const void *a, const void *b) {
        const struct task_keeper *x = a, *y = b;

        return x->n_tasks > y->n_tasks ? -1 : x->n_tasks < y->n_tasks;
}

int task_keepers_find(struct task_list *l, const struct held_graph *g,
                      const struct frame_names *names, struct site_texts *texts) {
        struct finding_keepers f = {.l = l, .g = g, .names = names, .texts = texts};

        f.task_of = calloc(MAX(g->heap.graph.n_blocks, 1u), sizeof(f.task_of[0]));
        f.is_held = calloc(MAX(l->tasks.n, (size_t)1), sizeof(f.is_held[0]));
        if (!f.task_of || !f.is_held) {
                free(f.task_of);
                free(f.is_held);
                return -ENOMEM;
        }
        for (uint32_t i = 0; i < l->tasks.n; i++)
                f.task_of[l->tasks.items[i].block] = i + 1;
        take_edges(&f, false);
        take_edges(&f, true);
        for (size_t i = 0; i < l->groups.n; i++) {
                struct task_group *x = &l->groups.items[i];

                if (x->n_keepers)
                        qsort(x->keepers, x->n_keepers, sizeof(x->keepers[0]), by_tasks);
        }
        map_done(&f.by_stack);
        map_done(&f.seen);
        free(f.task_of);
        free(f.is_held);
        return 0;
}

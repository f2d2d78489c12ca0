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
        {"async_global_executor::", THE_RUNTIME},
        {"async_io::", THE_RUNTIME},
        {"concurrent_queue::", THE_RUNTIME},
};

/* How sure a pointer is: the memory of a task has parts that were never written since it was something else's, a stack has words of functions that
 * returned, a finished task has the links of a list that it is no longer in, and a queue has those that were taken out of it. Such count for tasks that
 * nothing surer holds. */
enum keeper_level { KEEPER_SURE, KEEPER_TASK, KEEPER_LEFT_OVER, N_KEEPER_LEVELS };

enum {
        SAME_SHARE = 2
}; /* who holds one of so many of a group that another one holds may hold them, too; of fewer it is left over */

/* Who points to a task. */
struct holding {
        uint32_t task, text, block;
        uint64_t n; /* tasks of the same group that are pointed to so */
};

struct finding_keepers {
        struct task_list *l;
        const struct held_graph *g;
        const struct frame_names *names;
        struct site_texts *texts;
        uint32_t *task_of;   /* of each block: task + 1 */
        uint8_t *held_at;    /* of each task: the first level at which something holds it */
        struct map by_stack; /* stack → text + 1 */
        struct map seen;     /* (task, text): was it noted? */
        struct map counts;   /* (group, text) → how many tasks */
        VEC(struct holding) holdings;
};

struct set_look {
        const char *words; /* NULL: none yet */
        size_t n_left; /* frames up to who requested the memory: behind it, everything runs in some runtime */
};

static bool frame_is_set(void *ctx, const struct query_frame *f) {
        struct set_look *l = ctx;

        for (size_t i = 0; i < ARRAY_SIZE(sets) && !l->words; i++)
                if (strstr(f->function, sets[i].part))
                        l->words = sets[i].words;
        if (strncmp(f->function, "slab::", 6) == 0)
                return true; /* a container: whose it is, the next one tells */
        return !l->words && l->n_left-- > 0;
}

/* Of a block that is no task: what it is a part of, or where it was requested. */
static uint32_t text_of_block(struct finding_keepers *f, uint32_t block) {
        const struct held_graph *g = f->g;
        uint32_t stack = g->stacks[block];
        struct set_look set = {0};
        struct str text = {0};
        uint64_t *known;
        bool is_new;

        if (stack == REACH_NO_SITE)
                return text_pool_add(&f->texts->pool, "a block");
        known = map_put(&f->by_stack, stack, 0, &is_new);
        if (!is_new)
                return (uint32_t)*known;
        set.n_left = query_requester((struct query *)f->names->q, stack);
        query_each_frame(f->names->q, stack, frame_is_set, &set);
        if (set.words) {
                str_add(&text, set.words);
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

static uint64_t *count_of(struct finding_keepers *f, const struct holding *x) {
        return map_put(&f->counts, (uint64_t)f->l->tasks.items[x->task].group << 32 | x->text, 0,
                       NULL);
}

static void note_holding(struct finding_keepers *f, uint32_t task, uint32_t text, uint32_t block) {
        struct holding one = {.task = task, .text = text, .block = block};
        bool is_new;

        map_put(&f->seen, (uint64_t)task << 32 | text, 0, &is_new);
        if (!is_new)
                return;
        vec_push(&f->holdings, one);
        ++*count_of(f, &one);
}

static void count_keeper(struct finding_keepers *f, const struct holding *h) {
        struct task_group *x = &f->l->groups.items[f->l->tasks.items[h->task].group];
        struct task_keeper *k = NULL;

        for (uint32_t i = 0; i < x->n_keepers && !k; i++)
                if (x->keepers[i].text == h->text)
                        k = &x->keepers[i];
        if (!k && x->n_keepers < TASK_MAX_KEEPERS) {
                k = &x->keepers[x->n_keepers++];
                *k = (struct task_keeper){.text = h->text, .block = h->block};
        }
        if (k)
                k->n_tasks++;
}

static int by_task(const void *a, const void *b) {
        const struct holding *x = a, *y = b;

        if (x->task != y->task)
                return x->task < y->task ? -1 : 1;
        if (x->n != y->n)
                return x->n > y->n ? -1 : 1;
        return x->text < y->text ? -1 : x->text > y->text;
}

static int by_count(const void *a, const void *b) {
        const struct holding *x = a, *y = b;

        return x->n != y->n ? (x->n > y->n ? -1 : 1) : by_task(a, b);
}

/* A task that several hold counts with the one that holds most of its group: memory that is used again has words of before. */
static void count_keepers(struct finding_keepers *f) {
        size_t n = 0;
        uint64_t most = 0;

        for (size_t i = 0; i < f->holdings.n; i++)
                f->holdings.items[i].n = *count_of(f, &f->holdings.items[i]);
        if (f->holdings.n)
                qsort(f->holdings.items, f->holdings.n, sizeof(f->holdings.items[0]), by_task);
        for (size_t i = 0; i < f->holdings.n; i++) {
                const struct holding *x = &f->holdings.items[i];

                if (n == 0 || f->holdings.items[n - 1].task != x->task)
                        most = x->n;
                if (x->n * SAME_SHARE >= most)
                        f->holdings.items[n++] = *x;
        }
        f->holdings.n = n;
        if (n)
                qsort(f->holdings.items, n, sizeof(f->holdings.items[0]), by_count);
        for (size_t i = 0; i < n; i++)
                count_keeper(f, &f->holdings.items[i]);
}

static enum keeper_level level_of(const struct finding_keepers *f, uint32_t node, uint32_t text) {
        const struct heap_graph *h = &f->g->heap;
        bool is_left_over;

        if (node < h->graph.n_blocks && f->task_of[node])
                return f->l->tasks.items[f->task_of[node] - 1].word.state == TASK_FINISHED
                               ? KEEPER_LEFT_OVER
                               : KEEPER_TASK;
        if (node >= h->graph.n_blocks)
                is_left_over = h->roots[node - h->graph.n_blocks].kind == ROOT_STACK ||
                               h->roots[node - h->graph.n_blocks].kind == ROOT_REGISTERS;
        else
                is_left_over = strcmp(f->texts->pool.items.items[text], THE_RUNTIME) == 0;
        return is_left_over ? KEEPER_LEFT_OVER : KEEPER_SURE;
}

static uint32_t text_of_node(struct finding_keepers *f, uint32_t node) {
        const struct held_graph *g = f->g;

        if (node >= g->heap.graph.n_blocks)
                return g->places.list.items[g->places.places.of_root[node - g->heap.graph.n_blocks]]
                        .name;
        return f->task_of[node] ? text_of_task(f, &f->l->tasks.items[f->task_of[node] - 1])
                                : text_of_block(f, node);
}

static void take_edge(struct finding_keepers *f, uint32_t node, uint32_t task,
                      enum keeper_level level) {
        const struct task *t = &f->l->tasks.items[task];
        uint32_t text;

        if (node == t->block || f->held_at[task] < level ||
            (f->l->groups.items[t->group].n_in[TASK_FINISHED] && t->word.state != TASK_FINISHED))
                return;
        text = text_of_node(f, node);
        if (level_of(f, node, text) != level)
                return;
        f->held_at[task] = level;
        note_holding(f, task, text, node < f->g->heap.graph.n_blocks ? node : REACH_NONE);
}

static void take_edges(struct finding_keepers *f, enum keeper_level level) {
        const struct reach_graph *graph = &f->g->heap.graph;

        for (uint32_t node = 0; node < reach_n_nodes(graph); node++)
                for (uint64_t e = graph->first[node]; e < graph->first[node + 1]; e++) {
                        uint32_t task = f->task_of[reach_edge_block(graph->edges[e])];

                        if (task && reach_edge_kind(graph->edges[e]) == EDGE_START)
                                take_edge(f, node, task - 1, level);
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
        f.held_at = malloc(MAX(l->tasks.n, (size_t)1));
        if (!f.task_of || !f.held_at) {
                free(f.task_of);
                free(f.held_at);
                return -ENOMEM;
        }
        for (uint32_t i = 0; i < l->tasks.n; i++)
                f.task_of[l->tasks.items[i].block] = i + 1;
        memset(f.held_at, N_KEEPER_LEVELS, l->tasks.n);
        for (unsigned level = 0; level < N_KEEPER_LEVELS; level++)
                take_edges(&f, level);
        count_keepers(&f);
        for (size_t i = 0; i < l->groups.n; i++) {
                struct task_group *x = &l->groups.items[i];

                if (x->n_keepers)
                        qsort(x->keepers, x->n_keepers, sizeof(x->keepers[0]), by_tasks);
        }
        map_done(&f.by_stack);
        map_done(&f.seen);
        map_done(&f.counts);
        vec_free(&f.holdings);
        free(f.task_of);
        free(f.held_at);
        return 0;
}

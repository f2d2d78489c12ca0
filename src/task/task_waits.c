/* SPDX-License-Identifier: MIT */
/* Who would wake a task has a pointer to it: its waker, or the place where it stands in a line, which lies in the task itself. Whose memory that is, the
 * call path tells that requested it. In a line only the first and the last are pointed to from outside, the others by each other. */
#include "task/task_waits.h"

#include <stdlib.h>
#include <string.h>

#include "keep/kept_graph.h"
#include "reach/leak_classes.h"
#include "task/task_list.h"

const char *task_wait_name(enum task_wait w) {
        static const char *const names[] = {[TASK_WAIT_ACCEPTED] = "sockets that were accepted",
                                            [TASK_WAIT_OPENED] = "sockets that it connected",
                                            [TASK_WAIT_SOCKET] = "sockets",
                                            [TASK_WAIT_TIMER] = "timers",
                                            [TASK_WAIT_ROOM] = "room in a channel",
                                            [TASK_WAIT_MESSAGE] = "messages of a channel",
                                            [TASK_WAIT_ANSWER] = "answers of a oneshot channel",
                                            [TASK_WAIT_NOTHING] = "nothing that could wake them"};

        return names[w];
}

/* ---- whose memory a block is --------------------------------------------------------------------------------- */

enum source {
        SOURCE_OTHER,
        SOURCE_RUNTIME, /* its lists and queues */
        SOURCE_ACCEPTED,
        SOURCE_OPENED,
        SOURCE_SOCKET,
        SOURCE_TIMER,
        SOURCE_CHANNEL,
        SOURCE_ANSWER,
};

/* Functions that only pass a request on, by how their names begin. */
static const char *const passing[] = {"alloc::",     "core::", "std::",         "<alloc::",
                                      "<core::",     "<std::", "<T as ",        "<[T] as ",
                                      "hashbrown::", "__r",    "tokio::loom::", "<tokio::loom::"};

/* By the innermost function that is none of those. */
static const struct {
        const char *part;
        enum source source;
        bool is_each; /* it is requested for one socket */
} sources[] = {
        {"tokio::runtime::io::", SOURCE_SOCKET, true},
        {"tokio::io::driver::", SOURCE_SOCKET, false},
        {"tokio::util::slab::", SOURCE_SOCKET, false},
        {"tokio::runtime::time::", SOURCE_TIMER, false},
        {"tokio::time::driver::", SOURCE_TIMER, false},
        {"tokio::sync::mpsc::chan::channel", SOURCE_CHANNEL, false},
        {"tokio::sync::oneshot::", SOURCE_ANSWER, false},
        {"tokio::runtime::", SOURCE_RUNTIME, false},
};

struct looking {
        enum source source;
        bool is_found, is_each;
};

static bool is_passing(const char *function) {
        for (size_t i = 0; i < ARRAY_SIZE(passing); i++)
                if (strncmp(function, passing[i], strlen(passing[i])) == 0)
                        return true;
        return false;
}

/* A channel's blocks of messages, which its maker requests too, have words that were left in memory: without lines the one is not told from the others. */
static void find_source(struct looking *l, const struct query_frame *f) {
        l->is_found = true;
        for (size_t i = 0; i < ARRAY_SIZE(sources) && l->source == SOURCE_OTHER; i++)
                if (strstr(f->function, sources[i].part) &&
                    (sources[i].source != SOURCE_CHANNEL || f->line)) {
                        l->source = sources[i].source;
                        l->is_each = sources[i].is_each;
                }
}

/* What a socket came from is further out; slabs of several are made by whoever comes first, which says nothing. */
static bool look_at_frame(void *ctx, const struct query_frame *f) {
        struct looking *l = ctx;

        if (!l->is_found && !is_passing(f->function))
                find_source(l, f);
        if (l->is_each && strstr(f->function, "tokio::net::")) {
                if (strstr(f->function, "accept"))
                        l->source = SOURCE_ACCEPTED;
                else if (strstr(f->function, "connect"))
                        l->source = SOURCE_OPENED;
        }
        return !l->is_found || (l->is_each && l->source == SOURCE_SOCKET);
}

/* ---- who points to tasks -------------------------------------------------------------------------------------- */

enum {
        MAX_LINKS = 2
}; /* of the list of all tasks, in which each has one before it and one behind it */

struct waiting {
        uint32_t mask;    /* 1 << task_wait */
        uint32_t n_links; /* other tasks that point to its first byte */
        uint32_t room_block;
        bool is_in_line; /* another one's place in a line leads to it */
        bool has_other;  /* something else does */
};

struct finding_waits {
        struct task_list *l;
        const struct heap_graph *g; /* as it was: a held_graph lacks pointers that only borrow */
        const struct query *q;
        const uint32_t *task_of; /* of each block: task + 1 */
        struct map by_stack;     /* → source */
        struct waiting *of;      /* of each task */
        VEC(uint32_t) lines;     /* tasks whose line is to be followed */
};

static enum source source_of(struct finding_waits *f, uint32_t block) {
        struct looking l = {.source = SOURCE_OTHER};
        uint64_t *known;
        bool is_new;

        if (f->g->blocks[block].site == REACH_NO_SITE)
                return SOURCE_OTHER;
        known = map_put(&f->by_stack, f->g->blocks[block].site, SOURCE_OTHER, &is_new);
        if (is_new) {
                query_each_frame(f->q, f->g->blocks[block].site, look_at_frame, &l);
                *known = l.source;
        }
        return (enum source) * known;
}

/* A waker of a channel is the receiver's; places in line are of those who send. */
static void take_source(struct finding_waits *f, struct waiting *w, uint32_t task, uint32_t block,
                        bool is_start) {
        switch (source_of(f, block)) {
        case SOURCE_OTHER: w->has_other = true; break;
        case SOURCE_RUNTIME: break;
        case SOURCE_ACCEPTED: w->mask |= 1u << TASK_WAIT_ACCEPTED; break;
        case SOURCE_OPENED: w->mask |= 1u << TASK_WAIT_OPENED; break;
        case SOURCE_SOCKET: w->mask |= 1u << TASK_WAIT_SOCKET; break;
        case SOURCE_ANSWER: w->mask |= 1u << TASK_WAIT_ANSWER; break;
        case SOURCE_TIMER:
                w->mask |= 1u << TASK_WAIT_TIMER;
                vec_push(&f->lines, task);
                break;
        case SOURCE_CHANNEL:
                w->mask |= 1u << (is_start ? TASK_WAIT_MESSAGE : TASK_WAIT_ROOM);
                if (!is_start) {
                        w->room_block = block;
                        vec_push(&f->lines, task);
                }
                break;
        }
}

static void take_edge(struct finding_waits *f, uint32_t node, uint32_t task, bool is_start) {
        struct waiting *w = &f->of[task];

        if (node >= f->g->graph.n_blocks)
                w->has_other = true;
        else if (node == f->l->tasks.items[task].block)
                return;
        else if (!f->task_of[node])
                take_source(f, w, task, node, is_start);
        else if (is_start)
                w->n_links++;
        else
                w->is_in_line = true;
}

static void take_edges(struct finding_waits *f) {
        const struct reach_graph *graph = &f->g->graph;

        for (uint32_t node = 0; node < reach_n_nodes(graph); node++)
                for (uint64_t e = graph->first[node]; e < graph->first[node + 1]; e++) {
                        uint32_t task = f->task_of[reach_edge_block(graph->edges[e])];

                        if (task)
                                take_edge(f, node, task - 1,
                                          reach_edge_kind(graph->edges[e]) == EDGE_START);
                }
}

/* Who stands in line before or behind one waits for the same. */
static void follow_lines(struct finding_waits *f) {
        const struct reach_graph *graph = &f->g->graph;
        const uint32_t in_line = 1u << TASK_WAIT_TIMER | 1u << TASK_WAIT_ROOM;

        while (f->lines.n) {
                uint32_t task = f->lines.items[--f->lines.n];
                uint32_t block = f->l->tasks.items[task].block;
                const struct waiting *w = &f->of[task];

                for (uint64_t e = graph->first[block]; e < graph->first[block + 1]; e++) {
                        uint32_t next = f->task_of[reach_edge_block(graph->edges[e])];
                        struct waiting *x = next ? &f->of[next - 1] : NULL;

                        if (!x || next - 1 == task ||
                            reach_edge_kind(graph->edges[e]) == EDGE_START ||
                            !(w->mask & in_line & ~x->mask))
                                continue;
                        x->mask |= w->mask & in_line;
                        if (x->room_block == REACH_NONE)
                                x->room_block = w->room_block;
                        vec_push(&f->lines, next - 1);
                }
        }
}

/* ---- groups --------------------------------------------------------------------------------------------------- */

static void add_up(struct finding_waits *f) {
        struct map channels = {0}; /* (group, block) */

        for (size_t i = 0; i < f->l->tasks.n; i++) {
                const struct task *t = &f->l->tasks.items[i];
                struct waiting *w = &f->of[i];
                struct task_waits *to = &f->l->groups.items[t->group].waits;
                bool is_new;

                if (t->word.state != TASK_WAITING || !t->word.has_state)
                        continue;
                if (!w->mask && !w->has_other && !w->is_in_line && w->n_links <= MAX_LINKS &&
                    !f->g->unread_bytes)
                        w->mask = 1u << TASK_WAIT_NOTHING;
                for (unsigned k = 0; k < N_TASK_WAITS; k++) {
                        to->n_for[k] += w->mask >> k & 1;
                        to->n_only[k] += w->mask == 1u << k;
                }
                if (w->room_block == REACH_NONE)
                        continue;
                if (to->room_block == REACH_NONE)
                        to->room_block = w->room_block;
                map_put(&channels, (uint64_t)t->group << 32 | w->room_block, 0, &is_new);
                to->n_room_channels += is_new;
        }
        map_done(&channels);
}

/* Nobody can resume or destroy what no chain of pointers leads to. One that waits for another is in a circle with it, so chains from the roots count. */
static int count_lost(struct finding_waits *f) {
        struct leak_classes c = {0};
        int r = f->g->unread_bytes ? 0 : leak_classes_find(&f->g->graph, &c);

        for (size_t i = 0; r >= 0 && c.of_block && i < f->l->tasks.n; i++) {
                const struct task *t = &f->l->tasks.items[i];
                struct task_waits *to = &f->l->groups.items[t->group].waits;

                if (t->word.state != TASK_WAITING || c.of_block[t->block] < LEAK_INDIRECT)
                        continue;
                to->n_lost++;
                to->lost_bytes += f->g->blocks[t->block].size_bytes;
        }
        leak_classes_done(&c);
        return r;
}

int task_waits_find(struct task_list *l, struct query *q, size_t graph_idx, struct err *reterr) {
        struct trace_graph info;
        struct heap_graph g = {0};
        struct finding_waits f = {.l = l, .g = &g, .q = q};
        uint32_t *task_of;
        int r;

        for (size_t i = 0; i < l->groups.n; i++)
                l->groups.items[i].waits = (struct task_waits){.room_block = REACH_NONE};
        if (!l->tasks.n)
                return 0;
        r = kept_graph_read(q, graph_idx, &info, &g, reterr);
        if (r < 0)
                return r;
        task_of = calloc(MAX(g.graph.n_blocks, 1u), sizeof(task_of[0]));
        f.of = calloc(l->tasks.n, sizeof(f.of[0]));
        if (!task_of || !f.of)
                abort();
        for (uint32_t i = 0; i < l->tasks.n; i++) {
                task_of[l->tasks.items[i].block] = i + 1;
                f.of[i].room_block = REACH_NONE;
        }
        f.task_of = task_of;
        if (g.seqs) {
                take_edges(&f);
                follow_lines(&f);
                add_up(&f);
        }
        r = count_lost(&f);
        map_done(&f.by_stack);
        vec_free(&f.lines);
        free(task_of);
        free(f.of);
        heap_graph_done(&g);
        return r < 0 ? err_set_errno(reterr, r, "cannot find the tasks") : 0;
}

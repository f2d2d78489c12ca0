/* SPDX-License-Identifier: MIT */
#include "reach/memory_scan.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "base/vec.h"
#include "reach/block_index.h"
#include "reach/containers.h"
#include "reach/heuristics.h"
#include "reach/source_head.h"
#include "reach/vtable.h"

enum {
        WINDOW_BYTES = 1 << 20, /* read at a time */
        PAGE_BYTES = 4096,
        MAX_THREADS = 16,
        TABLE_AHEAD = 64, /* so many words before they are looked up, what it takes is asked for */
        BLOCKS_AHEAD = 32,
        SHARES_PER_THREAD =
                8, /* nodes are cut into so many shares, so that all end at about the same time */
};

/* A stretch of nodes, scanned by one thread. */
struct share {
        uint32_t begin, end;
        VEC(reach_edge) edges;
        VEC(uint64_t) root_words; /* where the edges of roots are */
        container_hint_list hints;
        heap_head_list heads;
        struct map constants; /* by address: is it a table of functions? */
        uint64_t read_bytes, unread_bytes;
};

struct scanning {
        const struct reach_scan *s;
        struct block_index index;
        struct share *shares;
        uint32_t n_shares;
        atomic_uint next_share;
        atomic_bool is_cancelled;
        uint64_t *first; /* while scanning: how many edges node i has, at first[i + 1] */
};

/* What a thread has read last. */
struct window {
        uint64_t begin, end; /* of memory; [begin, end) is in bytes */
        uint8_t *bytes;      /* WINDOW_BYTES */
};

static uint64_t node_begin(const struct reach_scan *s, uint32_t node) {
        return node < s->n_blocks ? ALIGN_UP(s->blocks[node].address, (uint64_t)8)
                                  : s->roots[node - s->n_blocks].begin;
}

static uint64_t node_end(const struct reach_scan *s, uint32_t node) {
        uint64_t end = node < s->n_blocks ? s->blocks[node].address + s->blocks[node].size_bytes
                                          : s->roots[node - s->n_blocks].end;

        return MAX(end & ~(uint64_t)7, node_begin(s, node));
}

uint64_t reach_scan_bytes(const struct reach_scan *s) {
        uint64_t sum = 0;

        for (uint32_t i = 0; i < s->n_blocks + s->n_roots; i++)
                sum += node_end(s, i) - node_begin(s, i);
        return sum;
}

/* What table of functions is there, as 1 + its kind; 0: none. Constants that are pointed to are few, and looked at once. */
static unsigned table_kind(struct scanning *c, struct share *share, uint64_t address) {
        const struct reach_memory *m = c->s->memory;
        struct vtable table;
        uint64_t *known;
        bool is_new;

        if (!address || address % sizeof(uint64_t) ||
            block_index_find(&c->index, address) != REACH_MAX_BLOCKS ||
            !m->is_constant(m->ctx, address))
                return 0;
        known = map_put(&share->constants, address, 0, &is_new);
        if (is_new)
                *known = vtable_read(m, address, &table) ? 1 + (unsigned)table.kind : 0;
        return (unsigned)*known;
}

/* A pointer and a table beside it are a Rust `dyn`: the table is of what is pointed to. */
static void note_pointee(struct scanning *c, struct share *share, uint32_t block, uint64_t next) {
        uint64_t *table = &c->s->tables[block];

        if (!__atomic_load_n(table, __ATOMIC_RELAXED) &&
            table_kind(c, share, next) == 1 + VTABLE_RUST)
                __atomic_store_n(table, next, __ATOMIC_RELAXED); /* any of them will do */
}

/* Words of a node one behind the other. */
struct stretch {
        const uint64_t *words;
        size_t n;
        size_t n_known;      /* so many are known from the first on, of this node and of others */
        uint64_t at;         /* the address of the first; of registers 0 */
        uint64_t begin, end; /* of the node; of registers 0 */
        uint32_t node;
};

/* Of the words beside word i those that are not in the stretch are read. */
static void note_container(struct scanning *c, struct share *share, const struct stretch *x,
                           size_t i, uint32_t block) {
        const struct reach_scan *s = c->s;
        uint64_t at = x->at + i * sizeof(uint64_t), more[CONTAINER_LOOK_WORDS] = {0};
        struct container_holder w = {
                .address = at,
                .before = i > 0 ? x->words[i - 1] : 0,
                .words = x->words + i,
                .n_words = x->n - i,
                .is_firm =
                        x->node < s->n_blocks || s->roots[x->node - s->n_blocks].kind == ROOT_DATA,
                .has_exact_sizes = s->has_exact_sizes && s->blocks[block].site != REACH_NO_SITE,
        };

        if (w.n_words < CONTAINER_LOOK_WORDS && at + w.n_words * sizeof(uint64_t) < x->end) {
                w.n_words = s->memory->read(s->memory->ctx, at, more,
                                            (size_t)MIN(x->end - at, (uint64_t)sizeof(more))) /
                            sizeof(uint64_t);
                w.words = more;
        }
        if (i == 0 && at > x->begin)
                (void)s->memory->read(s->memory->ctx, at - sizeof(uint64_t), &w.before,
                                      sizeof(w.before));
        container_hint_take(s->memory, &w, &s->blocks[block], block, &share->hints);
}

static void take_words(struct scanning *c, struct share *share, const struct stretch *x) {
        const struct reach_scan *s = c->s;
        const uint64_t *words = x->words;
        size_t n = x->n;

        for (size_t i = 0; i < n; i++) {
                enum reach_edge_kind kind = EDGE_START;
                uint32_t to;

                if (i + TABLE_AHEAD < x->n_known) {
                        block_index_await_table(&c->index, words[i + TABLE_AHEAD]);
                        block_index_await_blocks(&c->index, words[i + BLOCKS_AHEAD]);
                }
                to = block_index_find(&c->index, words[i]);
                if (likely(to == REACH_MAX_BLOCKS))
                        continue;
                if (words[i] == s->blocks[to].address && s->tables && i + 1 < n)
                        note_pointee(c, share, to, words[i + 1]);
                if (words[i] != s->blocks[to].address)
                        kind = s->without_heuristics
                                       ? EDGE_INTERIOR
                                       : heuristic_kind(s->memory, &s->blocks[to], words[i]);
                vec_push(&share->edges, reach_edge_make(to, kind));
                if (s->wants_hints && x->end)
                        note_container(c, share, x, i, to);
                if (x->node >= s->n_blocks)
                        vec_push(&share->root_words, x->at + i * sizeof(uint64_t));
        }
}

/* Words from `at` on, at most to `end`, as many as are in the window; 0: none can be read there. */
static size_t window_words(struct scanning *c, struct window *w, uint64_t at, uint64_t end,
                           const uint64_t **ret) {
        const struct reach_memory *m = c->s->memory;

        if (at < w->begin || at + sizeof(uint64_t) > w->end) {
                w->begin = at;
                w->end = at + m->read(m->ctx, at, w->bytes, WINDOW_BYTES);
        }
        *ret = (const uint64_t *)(w->bytes + (at - w->begin));
        return (size_t)(MIN(w->end, end) - at) / sizeof(uint64_t);
}

static void scan_memory(struct scanning *c, struct share *share, struct window *w, uint32_t node,
                        uint64_t begin, uint64_t end) {
        const struct reach_memory *m = c->s->memory;
        const uint64_t *words;

        for (uint64_t at = begin; at < end;) {
                size_t n;

                if (unlikely(c->s->is_over && atomic_load(c->s->is_over))) {
                        atomic_store(&c->is_cancelled, true);
                        return;
                }
                if (m->skip && end - at > PAGE_BYTES) {
                        at = m->skip(m->ctx, at, end);
                        if (at >= end)
                                return;
                }
                n = window_words(c, w, at, end, &words);
                if (n == 0) {
                        uint64_t next = MIN((at | (PAGE_BYTES - 1)) + 1, end);

                        share->unread_bytes += next - at;
                        at = next;
                        continue;
                }
                take_words(c, share,
                           &(struct stretch){words, n, (size_t)(w->end - at) / sizeof(uint64_t), at,
                                             begin, end, node});
                share->read_bytes += n * sizeof(uint64_t);
                at += n * sizeof(uint64_t);
        }
}

/* A block's first words, as many as it has; the window may end among them. */
static size_t first_words(struct scanning *c, struct window *w, uint64_t begin, uint64_t end,
                          uint64_t ret[HEAP_HEAD_WORDS]) {
        size_t wanted = (size_t)MIN((end - begin) / sizeof(uint64_t), (uint64_t)HEAP_HEAD_WORDS);
        const uint64_t *words;
        size_t n = wanted ? MIN(window_words(c, w, begin, end, &words), wanted) : 0;

        memset(ret, 0, HEAP_HEAD_WORDS * sizeof(ret[0]));
        if (n)
                memcpy(ret, words, n * sizeof(ret[0]));
        if (n < wanted) {
                const struct reach_memory *m = c->s->memory;

                n = m->read(m->ctx, begin, ret, wanted * sizeof(ret[0])) / sizeof(ret[0]);
        }
        return n;
}

/* VTABLE_CXX and VTABLE_OTHER tell what the block is. Of a class the table comes early. */
static uint64_t find_table(struct scanning *c, struct share *share, const uint64_t *words, size_t n,
                           unsigned *ret_kind) {
        for (size_t i = 0; i < MIN(n, (size_t)VTABLE_LOOK_WORDS); i++) {
                unsigned kind = table_kind(c, share, words[i]);

                if ((kind == 1 + VTABLE_CXX && i < VTABLE_CXX_WORDS) || kind == 1 + VTABLE_OTHER) {
                        *ret_kind = kind;
                        return words[i];
                }
        }
        return 0;
}

/* A frame of a coroutine begins with what resumes it, which is nothing when it has ended, and what destroys it. */
static bool begins_with_code(const struct reach_memory *m, const uint64_t *words, size_t n) {
        return n > 1 && words[1] && m->is_code(m->ctx, words[1]) &&
               (!words[0] || m->is_code(m->ctx, words[0]));
}

static void note_own(struct scanning *c, struct share *share, struct window *w, uint32_t node,
                     uint64_t begin, uint64_t end) {
        const struct reach_memory *m = c->s->memory;
        struct heap_head head = {.block = node};
        size_t n = m->is_constant && m->is_code ? first_words(c, w, begin, end, head.words) : 0;
        unsigned kind = 0;
        uint64_t table = find_table(c, share, head.words, n, &kind);

        if (table)
                __atomic_store_n(&c->s->tables[node], table, __ATOMIC_RELAXED);
        if (c->s->wants_heads &&
            (kind == 1 + VTABLE_OTHER || (!table && begins_with_code(m, head.words, n)) ||
             (n == HEAP_HEAD_WORDS &&
              source_head_is(m, head.words, c->s->blocks[node].size_bytes))))
                vec_push(&share->heads, head);
}

static void scan_node(struct scanning *c, struct share *share, struct window *w, uint32_t node) {
        const struct reach_scan *s = c->s;
        const uint64_t *words = node < s->n_blocks ? NULL : s->roots[node - s->n_blocks].words;
        uint64_t begin = node_begin(s, node), end = node_end(s, node);
        size_t before = share->edges.n;

        if (s->tables && node < s->n_blocks)
                note_own(c, share, w, node, begin, end);
        if (words)
                take_words(c, share,
                           &(struct stretch){.words = words,
                                             .n = (end - begin) / sizeof(uint64_t),
                                             .node = node});
        else
                scan_memory(c, share, w, node, begin, end);
        c->first[node + 1] = share->edges.n - before;
}

static void *scan_shares(void *arg) {
        struct scanning *c = arg;
        struct window w = {.bytes = malloc(WINDOW_BYTES)};
        unsigned i;

        if (!w.bytes)
                atomic_store(&c->is_cancelled, true);
        while ((i = atomic_fetch_add(&c->next_share, 1)) < c->n_shares &&
               !atomic_load(&c->is_cancelled)) {
                struct share *share = &c->shares[i];

                for (uint32_t node = share->begin;
                     node < share->end && !atomic_load(&c->is_cancelled); node++)
                        scan_node(c, share, &w, node);
                if (c->s->done_bytes)
                        atomic_fetch_add(c->s->done_bytes, share->read_bytes + share->unread_bytes);
        }
        free(w.bytes);
        return NULL;
}

/* Nodes into shares of about the same number of bytes. */
static void cut(struct scanning *c, unsigned n_threads) {
        const struct reach_scan *s = c->s;
        uint32_t n_nodes = s->n_blocks + s->n_roots;
        uint64_t per_share = reach_scan_bytes(s) / (n_threads * SHARES_PER_THREAD) + 1, sum = 0;

        for (uint32_t i = 0; i < n_nodes; i++) {
                sum += node_end(s, i) - node_begin(s, i) + sizeof(uint64_t);
                if ((sum >= per_share && c->n_shares < n_threads * SHARES_PER_THREAD - 1) ||
                    i + 1 == n_nodes) {
                        c->shares[c->n_shares].begin =
                                c->n_shares ? c->shares[c->n_shares - 1].end : 0;
                        c->shares[c->n_shares++].end = i + 1;
                        sum = 0;
                }
        }
}

static void run(struct scanning *c, unsigned n_threads) {
        pthread_t threads[MAX_THREADS];
        unsigned n = 0;

        while (n + 1 < n_threads && pthread_create(&threads[n], NULL, scan_shares, c) == 0)
                n++;
        scan_shares(c);
        while (n)
                pthread_join(threads[--n], NULL);
}

/* All edges one after the other, and where each node's begin. */
static int join(struct scanning *c, struct reach_scanned *ret) {
        const struct reach_scan *s = c->s;
        uint32_t n_nodes = s->n_blocks + s->n_roots;
        uint64_t n = 0, n_words = 0;

        for (uint32_t i = 0; i < n_nodes; i++)
                c->first[i + 1] += c->first[i];
        ret->graph.edges = malloc(MAX(c->first[n_nodes], (uint64_t)1) * sizeof(reach_edge));
        ret->root_words =
                malloc((c->first[n_nodes] - c->first[s->n_blocks] + 1) * sizeof(uint64_t));
        if (!ret->graph.edges || !ret->root_words) {
                reach_scanned_done(ret);
                return -ENOMEM;
        }
        for (uint32_t i = 0; i < c->n_shares; i++) {
                struct share *share = &c->shares[i];

                if (share->edges.n)
                        memcpy(ret->graph.edges + n, share->edges.items,
                               share->edges.n * sizeof(reach_edge));
                n += share->edges.n;
                if (share->root_words.n)
                        memcpy(ret->root_words + n_words, share->root_words.items,
                               share->root_words.n * sizeof(uint64_t));
                n_words += share->root_words.n;
                if (share->hints.n) {
                        vec_reserve(&ret->hints, share->hints.n);
                        memcpy(ret->hints.items + ret->hints.n, share->hints.items,
                               share->hints.n * sizeof(share->hints.items[0]));
                        ret->hints.n += share->hints.n;
                }
                if (share->heads.n) {
                        vec_reserve(&ret->heads, share->heads.n);
                        memcpy(ret->heads.items + ret->heads.n, share->heads.items,
                               share->heads.n * sizeof(share->heads.items[0]));
                        ret->heads.n += share->heads.n;
                }
                vec_free(&share->edges);
                vec_free(&share->hints);
                vec_free(&share->heads);
                ret->read_bytes += share->read_bytes;
                ret->unread_bytes += share->unread_bytes;
        }
        ret->graph.first = c->first;
        c->first = NULL;
        return 0;
}

int reach_scan(const struct reach_scan *s, struct reach_scanned *ret) {
        long n_processors = sysconf(_SC_NPROCESSORS_ONLN);
        unsigned n_threads = s->n_threads ? s->n_threads : (unsigned)MAX(n_processors, 1L);
        struct scanning c = {.s = s};
        int r = block_index_make(&c.index, s->blocks, s->n_blocks);

        if (r < 0)
                return r;
        n_threads = MIN(n_threads, (unsigned)MAX_THREADS);
        *ret = (struct reach_scanned){.graph = {.blocks = s->blocks,
                                                .roots = s->roots,
                                                .n_blocks = s->n_blocks,
                                                .n_roots = s->n_roots}};
        c.first = calloc((size_t)s->n_blocks + s->n_roots + 1, sizeof(*c.first));
        c.shares = calloc((size_t)n_threads * SHARES_PER_THREAD, sizeof(*c.shares));
        if (c.first && c.shares) {
                cut(&c, n_threads);
                run(&c, n_threads);
                r = atomic_load(&c.is_cancelled) ? -ECANCELED : join(&c, ret);
        } else {
                r = -ENOMEM;
        }
        for (uint32_t i = 0; i < c.n_shares; i++) {
                vec_free(&c.shares[i].edges);
                vec_free(&c.shares[i].root_words);
                vec_free(&c.shares[i].hints);
                vec_free(&c.shares[i].heads);
                map_done(&c.shares[i].constants);
        }
        free(c.shares);
        free(c.first);
        block_index_done(&c.index);
        return r;
}

void reach_scanned_done(struct reach_scanned *s) {
        reach_graph_done(&s->graph);
        free(s->root_words);
        vec_free(&s->hints);
        vec_free(&s->heads);
        s->root_words = NULL;
}

/* SPDX-License-Identifier: MIT */
#include "reach/heap_graph.h"

#include <errno.h>
#include <stdlib.h>

/* What a graph has, in its bytes. */
enum { GRAPH_HAS_SEQS = 1, GRAPH_HAS_HEADS = 2, GRAPH_HAS_STILL = 4 };

void heap_graph_done(struct heap_graph *h) {
        for (uint32_t i = 0; h->owners && i < h->n_owners; i++)
                free(h->owners[i].name);
        free(h->owners);
        for (uint32_t i = 0; h->types && i < h->n_types; i++)
                free(h->types[i].name);
        free(h->types);
        free(h->type_of);
        free(h->containers);
        free(h->heads);
        free(h->still);
        free(h->blocks);
        free(h->roots);
        free(h->seqs);
        free(h->places);
        reach_graph_done(&h->graph);
        *h = (struct heap_graph){0};
}

/* ---- to bytes -------------------------------------------------------------------------------------------- */

/* Column by column: neighbours are alike. */
static void encode_blocks(const struct heap_graph *h, bytes_buf *b) {
        const struct reach_block *blocks = h->graph.blocks;
        uint32_t n = h->graph.n_blocks;
        uint64_t at = 0, seq = 0;

        for (uint32_t i = 0; i < n; i++) {
                buf_varint(b, blocks[i].address - at);
                at = blocks[i].address + blocks[i].size_bytes;
        }
        for (uint32_t i = 0; i < n; i++)
                buf_varint(b, blocks[i].size_bytes);
        for (uint32_t i = 0; i < n; i++)
                buf_varint(b, blocks[i].site == REACH_NO_SITE ? 0 : (uint64_t)blocks[i].site + 1);
        for (uint32_t i = 0; i < n && h->seqs; i++) {
                buf_varint(b, bytes_zigzag((int64_t)(h->seqs[i] - seq)));
                seq = h->seqs[i];
        }
}

static void encode_owners(const struct heap_graph *h, bytes_buf *b) {
        for (uint32_t i = 0; i < h->n_owners; i++) {
                const char *name = h->owners[i].name ? h->owners[i].name : "";

                buf_varint(b, h->owners[i].base);
                buf_varint(b, h->owners[i].tid);
                buf_varint(b, strlen(name));
                buf_bytes(b, name, strlen(name));
        }
}

static void encode_roots(const struct heap_graph *h, bytes_buf *b) {
        const struct reach_root *roots = h->graph.roots;
        uint64_t at = 0;

        for (uint32_t i = 0; i < h->graph.n_roots; i++)
                buf_u8(b, (uint8_t)roots[i].kind);
        for (uint32_t i = 0; i < h->graph.n_roots; i++)
                buf_varint(b, roots[i].owner);
        for (uint32_t i = 0; i < h->graph.n_roots; i++) {
                buf_varint(b, bytes_zigzag((int64_t)(roots[i].begin - at)));
                at = roots[i].begin;
        }
}

static void encode_edges(const struct reach_graph *g, bytes_buf *b) {
        for (uint32_t i = 0; i < reach_n_nodes(g); i++)
                buf_varint(b, g->first[i + 1] - g->first[i]);
        for (uint32_t i = 0; i < reach_n_nodes(g); i++) {
                int64_t near = i < g->n_blocks ? i : 0;

                for (uint64_t e = g->first[i]; e < g->first[i + 1]; e++) {
                        int64_t to = reach_edge_block(g->edges[e]);

                        buf_varint(b, bytes_zigzag(to - near) << 3 | reach_edge_kind(g->edges[e]));
                        near = to;
                }
        }
}

static void encode_types(const struct heap_graph *h, bytes_buf *b) {
        buf_varint(b, h->type_of ? h->n_types : 0);
        if (!h->type_of || !h->n_types)
                return;
        for (uint32_t i = 0; i < h->n_types; i++) {
                const struct heap_type *t = &h->types[i];

                buf_u8(b, (uint8_t)t->kind);
                buf_varint(b, t->table);
                buf_varint(b, t->function);
                buf_varint(b, strlen(t->name));
                buf_bytes(b, t->name, strlen(t->name));
        }
        for (uint32_t i = 0; i < h->graph.n_blocks; i++)
                buf_varint(b, h->type_of[i]);
}

static void encode_containers(const struct heap_graph *h, bytes_buf *b) {
        uint32_t next = 0;

        buf_varint(b, h->n_containers);
        for (uint32_t i = 0; i < h->n_containers; i++) {
                buf_varint(b, h->containers[i].block - next);
                next = h->containers[i].block + 1;
        }
        for (uint32_t i = 0; i < h->n_containers; i++)
                buf_u8(b, (uint8_t)h->containers[i].kind);
        for (uint32_t i = 0; i < h->n_containers; i++)
                buf_varint(b, h->containers[i].used);
        for (uint32_t i = 0; i < h->n_containers; i++)
                buf_varint(b, h->containers[i].room);
}

/* Column by column: most tasks of a program are in the same state. */
static void encode_heads(const struct heap_graph *h, bytes_buf *b) {
        uint32_t next = 0;

        buf_varint(b, h->n_heads);
        buf_varint(b, h->n_unkept_heads);
        for (uint32_t i = 0; i < h->n_heads; i++) {
                buf_varint(b, h->heads[i].block - next);
                next = h->heads[i].block + 1;
        }
        for (unsigned k = 0; k < HEAP_HEAD_WORDS; k++) {
                uint64_t before = 0;

                for (uint32_t i = 0; i < h->n_heads; i++) {
                        buf_varint(b, bytes_zigzag((int64_t)(h->heads[i].words[k] - before)));
                        before = h->heads[i].words[k];
                }
        }
}

/* Containers are by block. */
static bool is_open_table(const struct heap_graph *h, uint32_t block) {
        uint32_t low = 0, high = h->n_containers;

        while (low < high) {
                uint32_t mid = low + (high - low) / 2;

                if (h->containers[mid].block < block)
                        low = mid + 1;
                else
                        high = mid;
        }
        return low < h->n_containers && h->containers[low].block == block &&
               h->containers[low].kind == CONTAINER_OPEN_TABLE;
}

void heap_graph_follow_tables(struct heap_graph *h) {
        for (uint64_t e = 0; h->n_containers && e < reach_n_edges(&h->graph); e++) {
                reach_edge *edge = &h->graph.edges[e];

                if (reach_edge_kind(*edge) == EDGE_INTERIOR &&
                    is_open_table(h, reach_edge_block(*edge)))
                        *edge = reach_edge_make(reach_edge_block(*edge), EDGE_HASH_TABLE);
        }
}

static bool has_still(const struct heap_graph *h) {
        return h->n_heads && h->still_ns;
}

static void encode_still(const struct heap_graph *h, bytes_buf *b) {
        uint32_t next = 0;

        buf_varint(b, h->still_ns);
        buf_varint(b, h->n_still);
        for (uint32_t i = 0; i < h->n_still; i++) {
                buf_varint(b, h->still[i] - next);
                next = h->still[i] + 1;
        }
}

void heap_graph_encode(const struct heap_graph *h, bytes_buf *ret) {
        buf_varint(ret, h->graph.n_blocks);
        buf_varint(ret, h->graph.n_roots);
        buf_varint(ret, h->n_owners);
        buf_varint(ret, (h->seqs ? GRAPH_HAS_SEQS : 0) | (h->n_heads ? GRAPH_HAS_HEADS : 0) |
                                (has_still(h) ? GRAPH_HAS_STILL : 0));
        buf_varint(ret, h->pause_ns);
        buf_varint(ret, h->unread_bytes);
        buf_varint(ret, h->n_unsettled);
        encode_blocks(h, ret);
        encode_owners(h, ret);
        encode_roots(h, ret);
        encode_edges(&h->graph, ret);
        encode_types(h, ret);
        encode_containers(h, ret);
        if (h->n_heads)
                encode_heads(h, ret);
        if (has_still(h))
                encode_still(h, ret);
}

void heap_graph_encode_places(const struct heap_place *places, uint32_t n, bytes_buf *ret) {
        uint64_t at = 0;

        buf_varint(ret, n);
        for (uint32_t i = 0; i < n; i++)
                buf_u8(ret, (uint8_t)places[i].kind);
        for (uint32_t i = 0; i < n; i++) {
                buf_varint(ret, places[i].address - at);
                at = places[i].address;
        }
        for (uint32_t i = 0; i < n; i++)
                buf_varint(ret, places[i].location == HEAP_NO_LOCATION
                                        ? 0
                                        : (uint64_t)places[i].location + 1);
}

/* ---- from bytes ------------------------------------------------------------------------------------------ */

static bool decode_blocks(struct bytes_reader *r, struct heap_graph *h, bool has_seqs) {
        uint32_t n = h->graph.n_blocks;
        uint64_t at = 0, seq = 0;

        for (uint32_t i = 0; i < n; i++)
                h->blocks[i].address =
                        bytes_varint(r); /* behind the block before, whose size comes later */
        for (uint32_t i = 0; i < n; i++) {
                struct reach_block *b = &h->blocks[i];

                b->size_bytes = bytes_varint(r);
                if (__builtin_add_overflow(at, b->address, &b->address) ||
                    __builtin_add_overflow(b->address, b->size_bytes, &at) || at > HEAP_MAX_ADDRESS)
                        return false;
        }
        for (uint32_t i = 0; i < n; i++) {
                uint64_t site = bytes_varint(r);

                if (site > UINT32_MAX)
                        return false;
                h->blocks[i].site = site ? (uint32_t)(site - 1) : REACH_NO_SITE;
        }
        for (uint32_t i = 0; i < n && has_seqs; i++)
                h->seqs[i] = seq += (uint64_t)bytes_unzigzag(bytes_varint(r));
        return !r->bad;
}

static bool decode_owners(struct bytes_reader *r, struct heap_graph *h) {
        for (uint32_t i = 0; i < h->n_owners; i++) {
                struct heap_owner *o = &h->owners[i];
                uint64_t tid;
                size_t n_name;
                const char *name;

                o->base = bytes_varint(r);
                tid = bytes_varint(r);
                name = bytes_string(r, &n_name);
                if (r->bad || tid > UINT32_MAX || memchr(name, 0, n_name))
                        return false;
                o->tid = (uint32_t)tid;
                o->name = strndup(name, n_name);
                if (!o->name)
                        return false;
        }
        return true;
}

static bool decode_roots(struct bytes_reader *r, struct heap_graph *h) {
        uint32_t n = h->graph.n_roots;
        uint64_t at = 0;

        for (uint32_t i = 0; i < n; i++) {
                uint8_t kind = bytes_u8(r);

                if (kind > ROOT_MAPPING)
                        return false;
                h->roots[i].kind = kind;
        }
        for (uint32_t i = 0; i < n; i++) {
                uint64_t owner = bytes_varint(r);

                if (owner >= h->n_owners)
                        return false;
                h->roots[i].owner = (uint32_t)owner;
        }
        for (uint32_t i = 0; i < n; i++) {
                at += (uint64_t)bytes_unzigzag(bytes_varint(r));
                h->roots[i].begin = at;
                h->roots[i].end = at + sizeof(uint64_t);
        }
        return !r->bad;
}

static bool decode_edges(struct bytes_reader *r, struct reach_graph *g) {
        for (uint32_t i = 0; i < reach_n_nodes(g); i++) {
                uint64_t n = bytes_varint(r);

                if (n > bytes_left(r) ||
                    g->first[i] + n > bytes_left(r)) /* an edge takes a byte at least */
                        return false;
                g->first[i + 1] = g->first[i] + n;
        }
        g->edges = malloc(MAX(reach_n_edges(g), (uint64_t)1) * sizeof(*g->edges));
        if (!g->edges)
                return false;
        for (uint32_t i = 0; i < reach_n_nodes(g); i++) {
                int64_t near = i < g->n_blocks ? i : 0;

                for (uint64_t e = g->first[i]; e < g->first[i + 1]; e++) {
                        uint64_t word = bytes_varint(r);
                        int64_t to = near + bytes_unzigzag(word >> 3);

                        if (r->bad || (word & 7) >= N_REACH_EDGE_KINDS || to < 0 ||
                            to >= g->n_blocks)
                                return false;
                        g->edges[e] = reach_edge_make((uint32_t)to, word & 7);
                        near = to;
                }
        }
        return true;
}

static bool decode_places(struct bytes_reader *r, struct heap_graph *h) {
        uint64_t n = bytes_varint(r), at = 0;

        if (r->bad || n > bytes_left(r) || n >= REACH_MAX_BLOCKS)
                return false;
        h->n_places = (uint32_t)n;
        h->places = calloc(MAX(n, (uint64_t)1), sizeof(*h->places));
        if (!h->places)
                return false;
        for (uint64_t i = 0; i < n; i++) {
                uint8_t kind = bytes_u8(r);

                if (kind >= N_PLACE_KINDS)
                        return false;
                h->places[i].kind = kind;
        }
        for (uint64_t i = 0; i < n; i++) {
                if (__builtin_add_overflow(at, bytes_varint(r), &at))
                        return false;
                h->places[i].address = at;
        }
        for (uint64_t i = 0; i < n; i++) {
                uint64_t location = bytes_varint(r);

                if (location > UINT32_MAX)
                        return false;
                h->places[i].location = location ? (uint32_t)(location - 1) : HEAP_NO_LOCATION;
        }
        return !r->bad;
}

static bool decode_types(struct bytes_reader *r, struct heap_graph *h) {
        uint64_t n = bytes_varint(r);

        if (r->bad || n > HEAP_MAX_TYPES || n > bytes_left(r))
                return false;
        if (n == 0)
                return true;
        h->types = calloc(n, sizeof(*h->types));
        h->type_of = calloc(MAX(h->graph.n_blocks, 1u), sizeof(*h->type_of));
        if (!h->types || !h->type_of)
                return false;
        for (; h->n_types < n; h->n_types++) {
                struct heap_type *t = &h->types[h->n_types];
                uint8_t kind = bytes_u8(r);
                const char *name;
                size_t n_name;

                t->table = bytes_varint(r);
                t->function = bytes_varint(r);
                name = bytes_string(r, &n_name);
                if (r->bad || kind >= N_TYPE_KINDS || memchr(name, 0, n_name))
                        return false;
                t->kind = kind;
                t->name = strndup(name, n_name);
                if (!t->name)
                        return false;
        }
        for (uint32_t i = 0; i < h->graph.n_blocks; i++) {
                uint64_t type = bytes_varint(r);

                if (type > n)
                        return false;
                h->type_of[i] = (uint32_t)type;
        }
        return !r->bad;
}

static bool decode_containers(struct bytes_reader *r, struct heap_graph *h) {
        uint64_t n = bytes_varint(r), next = 0;

        if (r->bad || n > h->graph.n_blocks || n > bytes_left(r))
                return false;
        h->n_containers = (uint32_t)n;
        h->containers = calloc(MAX(n, (uint64_t)1), sizeof(*h->containers));
        if (!h->containers)
                return false;
        for (uint64_t i = 0; i < n; i++) {
                uint64_t gap = bytes_varint(r);

                if (gap >= h->graph.n_blocks || next + gap >= h->graph.n_blocks)
                        return false;
                h->containers[i].block = (uint32_t)(next + gap);
                next += gap + 1;
        }
        for (uint64_t i = 0; i < n; i++) {
                uint8_t kind = bytes_u8(r);

                if (kind >= N_CONTAINER_KINDS)
                        return false;
                h->containers[i].kind = kind;
        }
        for (uint64_t i = 0; i < n; i++)
                h->containers[i].used = bytes_varint(r);
        for (uint64_t i = 0; i < n; i++) {
                struct heap_container *c = &h->containers[i];

                c->room = bytes_varint(r);
                if (c->room == 0 || (c->used > c->room && c->kind != CONTAINER_CHAINED_TABLE))
                        return false;
        }
        return !r->bad;
}

static bool decode_heads(struct bytes_reader *r, struct heap_graph *h) {
        uint64_t n = bytes_varint(r), n_unkept = bytes_varint(r), next = 0;

        if (r->bad || n == 0 || n > HEAP_MAX_HEADS || n > h->graph.n_blocks || n > bytes_left(r) ||
            n_unkept > UINT32_MAX)
                return false;
        h->n_heads = (uint32_t)n;
        h->n_unkept_heads = (uint32_t)n_unkept;
        h->heads = calloc(n, sizeof(*h->heads));
        if (!h->heads)
                return false;
        for (uint64_t i = 0; i < n; i++) {
                uint64_t gap = bytes_varint(r);

                if (gap >= h->graph.n_blocks || next + gap >= h->graph.n_blocks)
                        return false;
                h->heads[i].block = (uint32_t)(next + gap);
                next += gap + 1;
        }
        for (unsigned k = 0; k < HEAP_HEAD_WORDS; k++) {
                uint64_t word = 0;

                for (uint64_t i = 0; i < n; i++)
                        h->heads[i].words[k] = word += (uint64_t)bytes_unzigzag(bytes_varint(r));
        }
        return !r->bad;
}

static bool decode_still(struct bytes_reader *r, struct heap_graph *h) {
        uint64_t n, next = 0;

        h->still_ns = bytes_varint(r);
        n = bytes_varint(r);
        if (r->bad || !h->still_ns || n > h->graph.n_blocks || n > bytes_left(r))
                return false;
        h->still = calloc(MAX(n, (uint64_t)1), sizeof(*h->still));
        if (!h->still)
                return false;
        h->n_still = (uint32_t)n;
        for (uint64_t i = 0; i < n; i++) {
                uint64_t gap = bytes_varint(r);

                if (gap >= h->graph.n_blocks || next + gap >= h->graph.n_blocks)
                        return false;
                h->still[i] = (uint32_t)(next + gap);
                next += gap + 1;
        }
        return !r->bad;
}

static bool allocate(struct heap_graph *h, bool has_seqs) {
        size_t n_blocks = MAX(h->graph.n_blocks, 1u), n_roots = MAX(h->graph.n_roots, 1u);
        size_t n_owners = MAX(h->n_owners, 1u);

        h->graph.blocks = h->blocks = calloc(n_blocks, sizeof(*h->blocks));
        h->graph.roots = h->roots = calloc(n_roots, sizeof(*h->roots));
        h->owners = calloc(n_owners, sizeof(*h->owners));
        h->seqs = has_seqs ? calloc(n_blocks, sizeof(*h->seqs)) : NULL;
        h->graph.first = calloc(n_blocks + n_roots + 1, sizeof(*h->graph.first));
        return h->blocks && h->roots && h->owners && h->graph.first && (!has_seqs || h->seqs);
}

static bool decode(struct bytes_reader *r, struct heap_graph *h) {
        uint64_t n_blocks = bytes_varint(r), n_roots = bytes_varint(r), n_owners = bytes_varint(r);
        uint64_t has = bytes_varint(r), n_unsettled;
        bool has_seqs = has & GRAPH_HAS_SEQS, has_heads = has & GRAPH_HAS_HEADS,
             has_still = has & GRAPH_HAS_STILL;

        h->pause_ns = bytes_varint(r);
        h->unread_bytes = bytes_varint(r);
        n_unsettled = bytes_varint(r);
        if (r->bad || n_blocks > bytes_left(r) || n_roots > bytes_left(r) ||
            n_owners > bytes_left(r) ||
            has > (GRAPH_HAS_SEQS | GRAPH_HAS_HEADS | GRAPH_HAS_STILL) ||
            (has_still && !has_heads) || n_blocks >= REACH_MAX_BLOCKS ||
            n_roots >= REACH_MAX_BLOCKS || n_owners >= REACH_MAX_BLOCKS || n_unsettled > UINT32_MAX)
                return false;
        h->graph.n_blocks = (uint32_t)n_blocks;
        h->graph.n_roots = (uint32_t)n_roots;
        h->n_unsettled = (uint32_t)n_unsettled;
        h->n_owners = (uint32_t)n_owners;
        return allocate(h, has_seqs) && decode_blocks(r, h, has_seqs) && decode_owners(r, h) &&
               decode_roots(r, h) && decode_edges(r, &h->graph) && decode_types(r, h) &&
               decode_containers(r, h) && (!has_heads || decode_heads(r, h)) &&
               (!has_still || decode_still(r, h)) && decode_places(r, h) && !r->bad &&
               !bytes_left(r);
}

int heap_graph_decode(const uint8_t *bytes, size_t n_bytes, struct heap_graph *ret,
                      struct err *reterr) {
        struct bytes_reader r = bytes_reader_of(bytes, n_bytes);

        *ret = (struct heap_graph){0};
        if (decode(&r, ret))
                return 0;
        heap_graph_done(ret);
        return err_set(reterr, -EBADMSG, "the graph is damaged at byte %zu of %zu",
                       (size_t)(r.pos - bytes), n_bytes);
}

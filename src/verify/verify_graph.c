/* SPDX-License-Identifier: MIT */
/* Checks what points to what (docs/trace-format.md, "GRPH"): parts come in order, and the whole is what the document says. */
#include "verify/verify_state.h"

/* An address space has no more. */
#define GRAPH_MAX_ADDRESS ((uint64_t)1 << 62)
#define GRAPH_MAX_BLOCKS (((uint64_t)1 << 29) - 1)

enum {
        ROOT_KINDS = 4,
        EDGE_KINDS = 6,
        PLACE_KINDS = 4,
        TYPE_KINDS = 3,
        MAX_TYPES = 65536,
        CONTAINER_KINDS = 5,
        HEAD_WORDS = 8,
        MAX_HEADS = 1 << 20,
        HAS_SEQS = 1,
        HAS_HEADS = 2,
        HAS_STILL = 4,
};

/* A kind of container: its entries are elsewhere, and may be more than its buckets. */
enum { CHAINED_TABLE = 1 };

static bool blocks_are_sound(struct verify *v, struct bytes_reader *r, uint64_t n, bool has_seqs) {
        struct bytes_reader addresses = *r;
        uint64_t end = 0;

        for (uint64_t i = 0; i < n; i++)
                bytes_varint(r);
        for (uint64_t i = 0; i < n; i++) {
                uint64_t gap = bytes_varint(&addresses), size = bytes_varint(r);

                if (__builtin_add_overflow(end, gap, &end) ||
                    __builtin_add_overflow(end, size, &end) || end > GRAPH_MAX_ADDRESS)
                        return verify_bad(v, TRACE_E_BAD_PAYLOAD,
                                          "block %llu ends behind all addresses",
                                          (unsigned long long)i);
        }
        for (uint64_t i = 0; i < n; i++) {
                uint64_t stack = bytes_varint(r);

                if (stack > v->n_stacks || stack > UINT32_MAX)
                        return verify_bad(v, TRACE_E_BAD_PAYLOAD,
                                          "block %llu has the stack %llu, which is not defined",
                                          (unsigned long long)i, (unsigned long long)stack - 1);
        }
        for (uint64_t i = 0; i < n && has_seqs; i++)
                bytes_varint(r);
        return true;
}

/* Bytes that are not there are told at the end. */
static bool name_is_sound(struct bytes_reader *r) {
        size_t n;
        const char *name = bytes_string(r, &n);

        return r->bad || !memchr(name, 0, n);
}

static bool roots_are_sound(struct verify *v, struct bytes_reader *r, uint64_t n,
                            uint64_t n_owners) {
        for (uint64_t i = 0; i < n_owners && !r->bad; i++) {
                bytes_varint(r);
                if (bytes_varint(r) > UINT32_MAX || !name_is_sound(r))
                        return verify_bad(v, TRACE_E_BAD_PAYLOAD,
                                          "owner %llu has a wrong name or thread",
                                          (unsigned long long)i);
        }
        for (uint64_t i = 0; i < n; i++) {
                uint8_t kind = bytes_u8(r);

                if (kind >= ROOT_KINDS)
                        return verify_bad(v, TRACE_E_BAD_PAYLOAD, "root %llu is of kind %u",
                                          (unsigned long long)i, kind);
        }
        for (uint64_t i = 0; i < n; i++)
                if (bytes_varint(r) >= n_owners)
                        return verify_bad(v, TRACE_E_BAD_PAYLOAD, "root %llu is nobody's",
                                          (unsigned long long)i);
        for (uint64_t i = 0; i < n; i++)
                bytes_varint(r);
        return true;
}

static bool edges_are_sound(struct verify *v, struct bytes_reader *r, uint64_t n_blocks,
                            uint64_t n_nodes) {
        struct bytes_reader counts = *r;

        for (uint64_t i = 0; i < n_nodes; i++)
                bytes_varint(r);
        for (uint64_t i = 0; i < n_nodes && !r->bad; i++) {
                uint64_t to = i < n_blocks ? i : 0;

                for (uint64_t k = bytes_varint(&counts); k && !r->bad; k--) {
                        uint64_t word = bytes_varint(r);

                        to += (uint64_t)bytes_unzigzag(word >> 3);
                        if (to >= n_blocks || (word & 7) >= EDGE_KINDS)
                                return verify_bad(v, TRACE_E_BAD_PAYLOAD,
                                                  "an edge of node %llu leads nowhere",
                                                  (unsigned long long)i);
                }
        }
        return true;
}

static bool types_are_sound(struct verify *v, struct bytes_reader *r, uint64_t n_blocks) {
        uint64_t n = bytes_varint(r);

        if (n > bytes_left(r) || n > MAX_TYPES)
                return verify_bad(v, TRACE_E_TOO_LARGE, "claims %llu types in %zu bytes",
                                  (unsigned long long)n, bytes_left(r));
        for (uint64_t i = 0; i < n && !r->bad; i++) {
                uint8_t kind = bytes_u8(r);

                bytes_varint(r);
                bytes_varint(r);
                if (kind >= TYPE_KINDS || !name_is_sound(r))
                        return verify_bad(v, TRACE_E_BAD_PAYLOAD,
                                          "type %llu is of kind %u or has a wrong name",
                                          (unsigned long long)i, kind);
        }
        for (uint64_t i = 0; i < n_blocks && n; i++)
                if (bytes_varint(r) > n)
                        return verify_bad(v, TRACE_E_BAD_PAYLOAD,
                                          "block %llu is of a type that is not there",
                                          (unsigned long long)i);
        return true;
}

static bool containers_are_sound(struct verify *v, struct bytes_reader *r, uint64_t n_blocks) {
        uint64_t n = bytes_varint(r), block = 0;
        struct bytes_reader kinds, used;

        if (n > n_blocks || n > bytes_left(r))
                return verify_bad(v, TRACE_E_TOO_LARGE, "claims %llu containers of %llu blocks",
                                  (unsigned long long)n, (unsigned long long)n_blocks);
        for (uint64_t i = 0; i < n; i++, block++)
                if (__builtin_add_overflow(block, bytes_varint(r), &block) || block >= n_blocks)
                        return verify_bad(v, TRACE_E_BAD_PAYLOAD,
                                          "container %llu is no block that is there",
                                          (unsigned long long)i);
        kinds = *r;
        for (uint64_t i = 0; i < n; i++)
                bytes_u8(r);
        used = *r;
        for (uint64_t i = 0; i < n; i++)
                bytes_varint(r);
        for (uint64_t i = 0; i < n; i++) {
                uint8_t kind = bytes_u8(&kinds);
                uint64_t n_used = bytes_varint(&used), room = bytes_varint(r);

                if (kind >= CONTAINER_KINDS || room == 0 ||
                    (n_used > room && kind != CHAINED_TABLE))
                        return verify_bad(v, TRACE_E_BAD_PAYLOAD,
                                          "container %llu of kind %u has %llu in %llu",
                                          (unsigned long long)i, kind, (unsigned long long)n_used,
                                          (unsigned long long)room);
        }
        return true;
}

static bool heads_are_sound(struct verify *v, struct bytes_reader *r, uint64_t n_blocks) {
        uint64_t n = bytes_varint(r), block = 0;

        if (bytes_varint(r) > UINT32_MAX || n == 0 || n > MAX_HEADS || n > n_blocks ||
            n > bytes_left(r))
                return verify_bad(v, TRACE_E_TOO_LARGE, "claims %llu heads of %llu blocks",
                                  (unsigned long long)n, (unsigned long long)n_blocks);
        for (uint64_t i = 0; i < n; i++, block++)
                if (__builtin_add_overflow(block, bytes_varint(r), &block) || block >= n_blocks)
                        return verify_bad(v, TRACE_E_BAD_PAYLOAD,
                                          "head %llu is of no block that is there",
                                          (unsigned long long)i);
        for (uint64_t i = 0; i < n * HEAD_WORDS && !r->bad; i++)
                bytes_varint(r);
        return true;
}

static bool still_is_sound(struct verify *v, struct bytes_reader *r, uint64_t n_blocks) {
        uint64_t still_ns = bytes_varint(r), n = bytes_varint(r), block = 0;

        if (still_ns == 0 || n > n_blocks || n > bytes_left(r))
                return verify_bad(v, TRACE_E_TOO_LARGE, "claims %llu unchanged of %llu blocks",
                                  (unsigned long long)n, (unsigned long long)n_blocks);
        for (uint64_t i = 0; i < n; i++, block++)
                if (__builtin_add_overflow(block, bytes_varint(r), &block) || block >= n_blocks)
                        return verify_bad(v, TRACE_E_BAD_PAYLOAD,
                                          "unchanged block %llu is none that is there",
                                          (unsigned long long)i);
        return true;
}

/* Locations may be defined behind the graph. */
static bool places_are_sound(struct verify *v, struct bytes_reader *r) {
        uint64_t n = bytes_varint(r), at = 0;

        if (n > bytes_left(r) || n >= GRAPH_MAX_BLOCKS)
                return verify_bad(v, TRACE_E_TOO_LARGE, "claims %llu places in %zu bytes",
                                  (unsigned long long)n, bytes_left(r));
        for (uint64_t i = 0; i < n; i++) {
                uint8_t kind = bytes_u8(r);

                if (kind >= PLACE_KINDS)
                        return verify_bad(v, TRACE_E_BAD_PAYLOAD, "place %llu is of kind %u",
                                          (unsigned long long)i, kind);
        }
        for (uint64_t i = 0; i < n; i++)
                if (__builtin_add_overflow(at, bytes_varint(r), &at))
                        return verify_bad(v, TRACE_E_BAD_PAYLOAD,
                                          "place %llu lies behind all addresses",
                                          (unsigned long long)i);
        for (uint64_t i = 0; i < n; i++)
                if (bytes_varint(r) > UINT32_MAX)
                        return verify_bad(v, TRACE_E_BAD_PAYLOAD, "place %llu is no location",
                                          (unsigned long long)i);
        return true;
}

static bool graph_is_sound(struct verify *v) {
        struct bytes_reader r = bytes_reader_of(v->graph.items, v->graph.n);
        uint64_t n_blocks = bytes_varint(&r), n_roots = bytes_varint(&r);
        uint64_t n_owners = bytes_varint(&r), has = bytes_varint(&r);

        bytes_varint(&r);
        bytes_varint(&r);
        if (bytes_varint(&r) > UINT32_MAX)
                return verify_bad(v, TRACE_E_BAD_PAYLOAD, "too many blocks are unsettled");
        if (n_blocks > bytes_left(&r) || n_roots > bytes_left(&r) || n_owners > bytes_left(&r) ||
            n_blocks >= GRAPH_MAX_BLOCKS || n_roots >= GRAPH_MAX_BLOCKS ||
            n_owners >= GRAPH_MAX_BLOCKS || has > (HAS_SEQS | HAS_HEADS | HAS_STILL))
                return verify_bad(v, TRACE_E_TOO_LARGE,
                                  "claims %llu blocks and %llu roots in %zu bytes",
                                  (unsigned long long)n_blocks, (unsigned long long)n_roots,
                                  v->graph.n);
        if ((has & HAS_STILL) && !(has & HAS_HEADS))
                return verify_bad(v, TRACE_E_BAD_PAYLOAD, "a second look without heads");
        if (!(has & HAS_HEADS) != (v->header[TRACE_VERSION_OFF] == TRACE_KIND_VERSION))
                return verify_bad(v, TRACE_E_BAD_PAYLOAD, "a graph of version %u with flags %llu",
                                  v->header[TRACE_VERSION_OFF], (unsigned long long)has);
        if (!blocks_are_sound(v, &r, n_blocks, has & HAS_SEQS) ||
            !roots_are_sound(v, &r, n_roots, n_owners) ||
            !edges_are_sound(v, &r, n_blocks, n_blocks + n_roots) ||
            !types_are_sound(v, &r, n_blocks) || !containers_are_sound(v, &r, n_blocks) ||
            ((has & HAS_HEADS) && !heads_are_sound(v, &r, n_blocks)) ||
            ((has & HAS_STILL) && !still_is_sound(v, &r, n_blocks)) || !places_are_sound(v, &r))
                return false;
        if (r.bad || bytes_left(&r))
                return verify_bad(v, TRACE_E_BAD_PAYLOAD,
                                  r.bad ? "the graph ends too early" : "%zu bytes are left over",
                                  bytes_left(&r));
        return true;
}

bool verify_graph_part(struct verify *v) {
        uint32_t number, part, n_parts, process;

        if (v->head_bytes != TRACE_GRPH_HEAD_BYTES)
                return verify_bad(v, TRACE_E_BAD_PAYLOAD, "a head of %u bytes", v->head_bytes);
        number = bytes_le32(v->head);
        part = bytes_le32(v->head + 4);
        n_parts = bytes_le32(v->head + 8);
        process = bytes_le32(v->head + 12);
        if (process >= v->processes.n)
                return verify_bad(v, TRACE_E_BAD_PAYLOAD, "process %u is not defined", process);
        if (bytes_le64(v->head + 24))
                return verify_bad(v, TRACE_E_BAD_PAYLOAD, "reserved bytes that are not zero");
        if (part == 0) {
                vec_clear(&v->graph);
                v->graph_number = number;
                v->graph_part = 0;
        }
        if (part >= n_parts || number != v->graph_number || part != v->graph_part)
                return verify_bad(v, TRACE_E_BAD_ORDER,
                                  "part %u of %u of graph %u comes out of order", part, n_parts,
                                  number);
        if (v->raw.n > TRACE_GRPH_PART_BYTES)
                return verify_bad(v, TRACE_E_TOO_LARGE, "%zu bytes in one part", v->raw.n);
        buf_bytes(&v->graph, v->raw.items, v->raw.n);
        v->graph_part = part + 1 < n_parts ? part + 1 : 0;
        return v->graph_part || graph_is_sound(v);
}

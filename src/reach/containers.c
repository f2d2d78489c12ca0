/* SPDX-License-Identifier: MIT */
#include "reach/containers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
        PEEK_BYTES = 16384,
        MAX_WRONG =
                8, /* a block of which so much is said that is not so is not looked at for ever */
        WIDE_GROUP_BYTES = 16, /* hashbrown looks at so many slots at once, with SSE2 */
        NARROW_GROUP_BYTES = 8,
        SLOT_EMPTY = 0xff,
        SLOT_DELETED = 0x80,
        MIN_SLOTS = 4,
        MIN_STRING_ROOM = 16, /* libstdc++ has shorter ones in the object */
        MIN_DEQUE_BYTES =
                257, /* a piece of libstdc++'s deque has 512 bytes, rounded down to whole elements, or one element */
        LOWEST_ADDRESS = 4096,
        /* An allocator that was asked for less gives so much more, at most: malloc its least chunk, and of large ones the rest of a page. */
        MALLOC_SPARE_BYTES = 24,
        MALLOC_LARGE_BYTES = 128 * 1024,
        MALLOC_LARGE_SPARE_BYTES = 4096 + 16,
};

static bool fits(const struct container_holder *w, const struct reach_block *b, uint64_t n_bytes) {
        uint64_t spare = w->has_exact_sizes                   ? 1
                         : b->size_bytes < MALLOC_LARGE_BYTES ? MALLOC_SPARE_BYTES
                                                              : MALLOC_LARGE_SPARE_BYTES;

        return n_bytes <= b->size_bytes && b->size_bytes - n_bytes < spare;
}

/* ---- noted while scanning ----------------------------------------------------------------------------------- */

static void note(const struct container_holder *w, uint32_t block, enum heap_container_kind kind,
                 uint64_t a, uint64_t b, container_hint_list *to) {
        vec_push(to, (struct container_hint){.block = block,
                                             .kind = (uint8_t)kind,
                                             .is_firm = w->is_firm,
                                             .a = a,
                                             .b = b});
}

/* An iterator of a deque is where it is, its piece's begin and end, and where the piece's address is kept. */
static bool is_deque_iterator(const struct reach_memory *m, const struct container_holder *w,
                              uint64_t room) {
        uint64_t piece;

        return room >= MIN_DEQUE_BYTES && w->n_words > 3 && w->words[3] >= LOWEST_ADDRESS &&
               w->words[3] % sizeof(piece) == 0 &&
               m->read(m->ctx, w->words[3], &piece, sizeof(piece)) == sizeof(piece) &&
               piece == w->words[0];
}

/* Begin, end of what is used, end of all. A FILE has such words too, between others that are its buffer's address. */
static bool take_vector(const struct reach_memory *m, const struct container_holder *w,
                        const struct reach_block *b, uint32_t block, container_hint_list *to) {
        uint64_t used = w->words[1] - b->address, room = w->words[2] - b->address;

        if (room == 0 || used > room || !fits(w, b, room) || w->before == b->address ||
            (w->n_words > 3 && w->words[3] == b->address) ||
            (used == 0 && is_deque_iterator(m, w, room)))
                return false;
        note(w, block, CONTAINER_VECTOR, used, room, to);
        return true;
}

/* libstdc++: text, its length, and how long it may become; a NUL more is allocated. In an array of Rust's strings the last would be the next
 * one's room: there the word before is this one's. */
static bool take_string(const struct container_holder *w, const struct reach_block *b,
                        uint32_t block, container_hint_list *to) {
        uint64_t used = w->words[1], room = w->words[2];

        if (room < MIN_STRING_ROOM || used > room || room >= b->size_bytes ||
            !fits(w, b, room + 1) || (w->before >= used && fits(w, b, w->before)))
                return false;
        note(w, block, CONTAINER_STRING, used, room, to);
        return true;
}

/* libstdc++: buckets, their number, the first entry, the number of entries, the largest load. */
static void take_chained(const struct container_holder *w, const struct reach_block *b,
                         uint32_t block, container_hint_list *to) {
        uint64_t n_buckets = w->words[1];
        uint32_t bits;
        float load;

        if (w->n_words < 5 || n_buckets < 2 || n_buckets > b->size_bytes / sizeof(uint64_t) ||
            !fits(w, b, n_buckets * sizeof(uint64_t)) || (w->words[2] == 0) != (w->words[3] == 0))
                return;
        bits = (uint32_t)w->words[4];
        memcpy(&load, &bits, sizeof(load));
        if (load >= 0.05f && load <= 100)
                note(w, block, CONTAINER_CHAINED_TABLE, w->address, w->words[3], to);
}

/* hashbrown: control bytes, one less than their number, how many entries may be added, and how many there are. */
static void take_open(const struct container_holder *w, const struct reach_block *b, uint32_t block,
                      uint64_t mask, uint64_t n_more, uint64_t n_entries, container_hint_list *to) {
        uint64_t offset = w->words[0] - b->address, n = mask + 1;

        if (mask < MIN_SLOTS - 1 || (mask & n) || n > b->size_bytes || n_entries > mask ||
            n_more > mask || mask > UINT32_MAX)
                return;
        for (unsigned group = WIDE_GROUP_BYTES; group >= NARROW_GROUP_BYTES; group /= 2)
                if (fits(w, b, offset + n + group))
                        vec_push(to,
                                 (struct container_hint){.block = block,
                                                         .kind = CONTAINER_OPEN_TABLE,
                                                         .is_firm = w->is_firm,
                                                         .group_bytes = (uint8_t)group,
                                                         .log2_slots = (uint8_t)__builtin_ctzll(n),
                                                         .a = w->words[0],
                                                         .b = n_more << 32 | n_entries});
}

/* Rust: room for so many elements, the pointer, so many there are; the block has a whole number of bytes for each. Older versions have the
 * pointer first: of one that would be full, what comes next could be the length. */
static void take_rust(const struct container_holder *w, const struct reach_block *b, uint32_t block,
                      container_hint_list *to) {
        uint64_t room = w->before, used = w->words[1];

        if (!w->has_exact_sizes || room < 2 || used > room || room > b->size_bytes ||
            b->size_bytes % room || (used == room && w->words[2] <= used))
                return;
        note(w, block, CONTAINER_RUST, used * (b->size_bytes / room), b->size_bytes, to);
}

void container_hint_take(const struct reach_memory *m, const struct container_holder *w,
                         const struct reach_block *b, uint32_t block, container_hint_list *to) {
        if (w->n_words < 3)
                return;
        if (w->words[0] == b->address) {
                if (!take_vector(m, w, b, block, to) && !take_string(w, b, block, to))
                        take_chained(w, b, block, to);
                take_rust(w, b, block, to);
        } else if (w->words[0] % sizeof(uint64_t) == 0) {
                if (w->n_words > 3)
                        take_open(w, b, block, w->words[1], w->words[2], w->words[3], to);
                /* older ones have the number before the bytes */
                take_open(w, b, block, w->before, w->words[1], w->words[2], to);
        }
}

/* ---- looked at afterwards ----------------------------------------------------------------------------------- */

/* Blocks come by address, so what was read last is often enough. */
struct peek {
        const struct reach_memory *m;
        uint64_t block; /* where the block begins that is looked at */
        uint64_t begin, end;
        uint8_t bytes[PEEK_BYTES];
};

/* n is at most PEEK_BYTES; NULL: it cannot be read. */
static const uint8_t *peek_at(struct peek *p, uint64_t address, size_t n) {
        if (address < p->begin || address + n > p->end) {
                p->begin = address + n - p->block <= PEEK_BYTES ? p->block : address;
                p->end = p->begin + p->m->read(p->m->ctx, p->begin, p->bytes, PEEK_BYTES);
        }
        return address + n <= p->end ? p->bytes + (address - p->begin) : NULL;
}

/* The last bytes are the first again, so that a group may begin anywhere; where a group is more than all slots, empty ones come first. */
static uint8_t slot_again(const uint8_t *first, uint64_t slot, uint64_t n_slots, unsigned group) {
        if (n_slots >= group)
                return first[slot - n_slots];
        return slot < group ? SLOT_EMPTY : first[slot - group];
}

static bool look_at_open(struct peek *p, const struct container_hint *h, struct heap_container *c) {
        uint64_t n_slots = (uint64_t)1 << h->log2_slots, n_all = n_slots + h->group_bytes;
        uint64_t n_full = 0, n_deleted = 0, n_entries = (uint32_t)h->b, n_more = h->b >> 32;
        uint8_t first[WIDE_GROUP_BYTES];

        for (uint64_t at = 0; at < n_all;) {
                size_t n = (size_t)MIN(n_all - at, (uint64_t)PEEK_BYTES);
                const uint8_t *bytes = peek_at(p, h->a + at, n);

                for (size_t i = 0; bytes && i < n; i++, at++) {
                        uint8_t slot = bytes[i];

                        if (at < h->group_bytes)
                                first[at] = slot;
                        if (at >= n_slots) {
                                if (slot != slot_again(first, at, n_slots, h->group_bytes))
                                        return false;
                        } else if (slot < SLOT_DELETED) {
                                n_full++;
                        } else if (slot == SLOT_DELETED) {
                                n_deleted++;
                        } else if (slot != SLOT_EMPTY) {
                                return false;
                        }
                }
                if (!bytes)
                        return false;
        }
        c->used = n_entries;
        c->room = n_slots;
        return n_full == n_entries &&
               n_more + n_full + n_deleted == (n_slots <= 8 ? n_slots - 1 : n_slots / 8 * 7);
}

/* The bucket of the first entry leads back to the table itself, and no other does. */
static bool look_at_chained(struct peek *p, const struct container_hint *h,
                            const struct reach_block *b, struct heap_container *c) {
        uint64_t n_used = 0, n_first = 0, bucket, n_buckets;

        if (p->m->read(p->m->ctx, h->a + sizeof(bucket), &n_buckets, sizeof(n_buckets)) !=
            sizeof(n_buckets))
                return false;
        for (uint64_t i = 0; i < n_buckets; i++) {
                const uint8_t *at = peek_at(p, b->address + i * sizeof(bucket), sizeof(bucket));

                if (!at)
                        return false;
                memcpy(&bucket, at, sizeof(bucket));
                n_used += bucket != 0;
                n_first += bucket == h->a + 2 * sizeof(bucket);
        }
        c->used = h->b;
        c->room = n_buckets;
        return n_first == (h->b != 0) && n_used <= h->b;
}

static bool look_at(struct peek *p, const struct container_hint *h, const struct reach_block *b,
                    struct heap_container *c) {
        const uint8_t *end;

        *c = (struct heap_container){h->block, h->kind, h->a, h->b};
        switch (c->kind) {
        case CONTAINER_OPEN_TABLE: return look_at_open(p, h, c);
        case CONTAINER_CHAINED_TABLE: return look_at_chained(p, h, b, c);
        case CONTAINER_VECTOR:
        case CONTAINER_RUST: return true;
        case CONTAINER_STRING: end = peek_at(p, b->address + h->a, 1); return end && *end == '\0';
        case N_CONTAINER_KINDS: break;
        }
        return false;
}

/* A table's own bytes agree with its holder; what a variable or a block says is worth more than what a stack does. */
static unsigned worth(const struct container_hint *h) {
        bool is_table = h->kind == CONTAINER_OPEN_TABLE || h->kind == CONTAINER_CHAINED_TABLE;

        return (is_table ? 4u : h->kind == CONTAINER_RUST ? 0u : 2u) + h->is_firm;
}

static bool is_same(const struct container_hint *x, const struct container_hint *y) {
        return x->kind == y->kind && x->a == y->a && x->b == y->b &&
               x->log2_slots == y->log2_slots && x->group_bytes == y->group_bytes &&
               x->is_firm == y->is_firm;
}

/* All hints of one block. False: none is right, or they tell different things. */
static bool settle(struct peek *p, const struct container_hint *hints, size_t n,
                   const struct reach_block *b, struct heap_container *ret) {
        bool has_one = false, is_clear = false;
        unsigned best = 0, n_wrong = 0;

        for (size_t i = 0; i < n; i++) {
                struct heap_container c;
                unsigned is_worth = worth(&hints[i]);

                if ((has_one && is_worth < best) || (i > 0 && is_same(&hints[i], &hints[i - 1])))
                        continue;
                if (!look_at(p, &hints[i], b, &c)) {
                        if (++n_wrong > MAX_WRONG)
                                return false;
                        continue;
                }
                if (!has_one || is_worth > best) {
                        *ret = c;
                        best = is_worth;
                        has_one = is_clear = true;
                } else if (c.kind != ret->kind || c.used != ret->used || c.room != ret->room) {
                        is_clear = false;
                }
        }
        return is_clear;
}

/* By block; how many there are before each block is in first, which has one more. */
static int sort_hints(container_hint_list *hints, uint32_t n_blocks, uint32_t **ret_first) {
        uint32_t *first = calloc((size_t)n_blocks + 2, sizeof(*first));
        struct container_hint *sorted = malloc(MAX(hints->n, (size_t)1) * sizeof(*sorted));

        if (!first || !sorted || hints->n >= UINT32_MAX) {
                free(first);
                free(sorted);
                return -ENOMEM;
        }
        for (size_t i = 0; i < hints->n; i++)
                first[hints->items[i].block + 2]++;
        for (uint32_t i = 2; i < n_blocks + 2; i++)
                first[i] += first[i - 1];
        for (size_t i = 0; i < hints->n; i++)
                sorted[first[hints->items[i].block + 1]++] = hints->items[i];
        free(hints->items);
        hints->items = sorted;
        hints->cap = MAX(hints->n, (size_t)1);
        *ret_first = first;
        return 0;
}

static void drop_cxx(container_hint_list *hints) {
        size_t n = 0;

        for (size_t i = 0; i < hints->n; i++)
                if (hints->items[i].kind == CONTAINER_OPEN_TABLE ||
                    hints->items[i].kind == CONTAINER_RUST)
                        hints->items[n++] = hints->items[i];
        hints->n = n;
}

int containers_find(const struct reach_memory *m, const struct reach_block *blocks,
                    uint32_t n_blocks, bool has_cxx, container_hint_list *hints,
                    struct heap_graph *ret) {
        struct peek *p = calloc(1, sizeof(*p));
        VEC(struct heap_container) found = {0};
        uint32_t *first = NULL;
        int r;

        if (!has_cxx)
                drop_cxx(hints);
        r = p ? sort_hints(hints, n_blocks, &first) : -ENOMEM;

        for (uint32_t i = 0; r == 0 && i < n_blocks; i++) {
                struct heap_container c;

                p->m = m;
                p->block = blocks[i].address;
                if (first[i] < first[i + 1] &&
                    settle(p, hints->items + first[i], first[i + 1] - first[i], &blocks[i], &c))
                        vec_push(&found, c);
        }
        ret->containers = found.items;
        ret->n_containers = (uint32_t)found.n;
        vec_free(hints);
        free(first);
        free(p);
        return r;
}

/* SPDX-License-Identifier: MIT */
#include "pipeline/heaps.h"

#include <stdlib.h>

#include "base/macros.h"

struct heaps *heaps_new(void) {
        size_t cap = 0;

        return memset(vec_grow(NULL, &cap, 1, sizeof(struct heaps)), 0, sizeof(struct heaps));
}

static void heaps_drop(struct heaps *h) {
        for (size_t i = 0; i < h->list.n; i++)
                vec_free(&h->list.items[i].members);
        vec_free(&h->list);
        vec_free(&h->blocks);
        map_done(&h->by_id);
        map_done(&h->places);
        map_done(&h->records);
}

void heaps_free(struct heaps *h) {
        if (!h)
                return;
        heaps_drop(h);
        free(h);
}

uint32_t heaps_find(const struct heaps *h, uint64_t id) {
        uint64_t heap = 0;

        map_get(&h->by_id, id, &heap);
        return (uint32_t)heap;
}

uint32_t heaps_open(struct heaps *h, uint64_t id) {
        bool added;
        uint64_t *heap = map_put(&h->by_id, id, 0, &added);

        if (*heap == 0) {
                vec_add(&h->list)->id = id;
                *heap = h->list.n;
        }
        return (uint32_t)*heap;
}

enum heaps_state heaps_add(struct heaps *h, uint32_t heap, uint64_t address, uint64_t seq) {
        struct heaps_heap *to = &h->list.items[heap - 1];
        struct heaps_block *b;
        uint64_t *place;
        bool added;

        if (to->state != HEAPS_OPEN)
                return to->state;
        place = map_put(&h->places, address, h->blocks.n, &added);
        b = added ? vec_add(&h->blocks) : &h->blocks.items[*place];
        b->address = address;
        b->seq = seq;
        if (b->heap == heap)
                return HEAPS_OPEN; /* a member already, by an older block */
        b->heap = heap;
        vec_push(&to->members, (uint32_t)*place);
        h->n_members++;
        return HEAPS_OPEN;
}

void heaps_add_record(struct heaps *h, uint64_t id) {
        ++*map_put(&h->records, id, 0, NULL);
}

bool heaps_take_record(struct heaps *h, uint64_t address) {
        uint64_t n = 0;

        if (!map_get(&h->records, address, &n) || !n)
                return false;
        *map_put(&h->records, address, 0, NULL) = n - 1;
        return true;
}

uint32_t heaps_of(const struct heaps *h, uint64_t address, uint64_t seq) {
        const struct heaps_block *b;
        uint64_t place;

        if (!map_get(&h->places, address, &place))
                return 0;
        b = &h->blocks.items[place];
        return b->seq == seq ? b->heap : 0;
}

void heaps_empty(struct heaps *h, uint32_t heap,
                 void (*fn)(void *ctx, uint64_t address, uint64_t seq), void *ctx) {
        struct heaps_heap *from = &h->list.items[heap - 1];

        size_t n = from->members.n;

        for (size_t i = 0; i < n; i++) {
                struct heaps_block *b = &h->blocks.items[from->members.items[i]];

                if (b->heap != heap)
                        continue;
                b->heap = 0;
                if (fn)
                        fn(ctx, b->address, b->seq);
        }
        h->n_members -= n;
        from->members.n -= n;
        if (from->members.n)
                memmove(from->members.items, from->members.items + n,
                        from->members.n * sizeof(from->members.items[0]));
}

void heaps_detach(struct heaps *h, uint32_t heap) {
        uint64_t *open = map_put(&h->by_id, h->list.items[heap - 1].id, 0, NULL);

        if (*open == heap)
                *open = 0;
}

void heaps_close(struct heaps *h, uint32_t heap, enum heaps_state state) {
        h->list.items[heap - 1].state = state;
        heaps_detach(h, heap);
}

void heaps_attach(struct heaps *h, uint32_t heap) {
        struct heaps_heap *from = &h->list.items[heap - 1];
        uint64_t *open = map_put(&h->by_id, from->id, heap, NULL);

        if (*open == 0)
                *open = heap;
        if (*open == heap)
                return;
        for (size_t i = 0; i < from->members.n; i++) {
                struct heaps_block *b = &h->blocks.items[from->members.items[i]];

                if (b->heap != heap)
                        continue;
                b->heap = (uint32_t)*open;
                vec_push(&h->list.items[*open - 1].members, from->members.items[i]);
                h->n_members++;
        }
        h->n_members -= from->members.n;
        vec_clear(&from->members);
}

static bool heaps_all_live(void *ctx, uint64_t address, uint64_t seq) {
        (void)ctx, (void)address, (void)seq;
        return true;
}

/* What is_live says yes to. */
static struct heaps heaps_left(const struct heaps *h,
                               bool (*is_live)(void *ctx, uint64_t address, uint64_t seq),
                               void *ctx) {
        struct heaps left = {0};

        for (size_t i = 0; i < h->blocks.n; i++) {
                const struct heaps_block *b = &h->blocks.items[i];

                if (b->heap && is_live(ctx, b->address, b->seq))
                        heaps_add(&left, heaps_open(&left, h->list.items[b->heap - 1].id),
                                  b->address, b->seq);
        }
        for (size_t i = 0; i < h->records.cap; i++)
                if (h->records.used[i / 64] >> i % 64 & 1 && h->records.entries[i].value)
                        *map_put(&left.records, h->records.entries[i].key, 0, NULL) =
                                h->records.entries[i].value;
        left.n_swept = left.n_members + left.list.n;
        return left;
}

void heaps_sweep(struct heaps *h, bool (*is_live)(void *ctx, uint64_t address, uint64_t seq),
                 void *ctx) {
        struct heaps left = heaps_left(h, is_live, ctx);

        heaps_drop(h);
        *h = left;
}

struct heaps *heaps_copy(const struct heaps *h) {
        struct heaps *copy;

        if (!h)
                return NULL;
        copy = heaps_new();
        *copy = heaps_left(h, heaps_all_live, NULL);
        return copy;
}

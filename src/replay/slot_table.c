/* SPDX-License-Identifier: MIT */
#include "replay/slot_table.h"

#include "base/map.h"

static size_t home(const struct slot_table *t, uint64_t key) {
        return (size_t)map_hash(key) & (t->cap - 1);
}

static void put(struct slot_table *t, struct slot_entry e) {
        size_t i = home(t, e.key);

        while (t->entries[i].key)
                i = (i + 1) & (t->cap - 1);
        t->entries[i] = e;
        t->n++;
}

static void grow(struct slot_table *t) {
        struct slot_entry *old = t->entries;
        size_t n_old = t->cap;

        t->cap = n_old ? 2 * n_old : 1024;
        t->entries = calloc(t->cap, sizeof(t->entries[0]));
        if (!t->entries)
                abort();
        t->n = 0;
        for (size_t i = 0; i < n_old; i++)
                if (old[i].key)
                        put(t, old[i]);
        free(old);
}

static void put_new(struct slot_table *t, uint64_t seq, uint32_t slot) {
        if (t->n >= t->cap / 3 * 2)
                grow(t);
        put(t, (struct slot_entry){seq + 1, slot});
}

/* What stands behind the hole and would be looked for before it moves into it. */
static void close_hole(struct slot_table *t, size_t hole) {
        for (size_t i = (hole + 1) & (t->cap - 1); t->entries[i].key; i = (i + 1) & (t->cap - 1)) {
                size_t at = home(t, t->entries[i].key);

                if (((i - at) & (t->cap - 1)) < ((i - hole) & (t->cap - 1)))
                        continue;
                t->entries[hole] = t->entries[i];
                hole = i;
        }
        t->entries[hole] = (struct slot_entry){0};
        t->n--;
}

static bool take(struct slot_table *t, uint64_t seq, uint32_t *ret_slot) {
        if (!t->n)
                return false;
        for (size_t i = home(t, seq + 1); t->entries[i].key; i = (i + 1) & (t->cap - 1))
                if (t->entries[i].key == seq + 1) {
                        *ret_slot = t->entries[i].slot;
                        close_hole(t, i);
                        return true;
                }
        return false;
}

uint32_t slot_table_add(struct slot_table *t, uint64_t seq) {
        uint32_t slot = t->freed.n ? t->freed.items[--t->freed.n] : t->n_slots++;

        put_new(t, seq, slot);
        return slot;
}

bool slot_table_remove(struct slot_table *t, uint64_t seq, uint32_t *ret_slot) {
        if (!take(t, seq, ret_slot))
                return false;
        vec_push(&t->freed, *ret_slot);
        return true;
}

bool slot_table_replace(struct slot_table *t, uint64_t old_seq, uint64_t seq, uint32_t *ret_slot) {
        if (!take(t, old_seq, ret_slot))
                return false;
        put_new(t, seq, *ret_slot);
        return true;
}

void slot_table_done(struct slot_table *t) {
        free(t->entries);
        vec_free(&t->freed);
        *t = (struct slot_table){0};
}

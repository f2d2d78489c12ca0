/* SPDX-License-Identifier: MIT */
#include "sql/value_tally.h"

#include <math.h>
#include <sqlite3.h>
#include <string.h>

#include "base/macros.h"
#include "base/map.h"

enum {
        CHUNK_LEAST = 64,
        CHUNK_MOST = 1 << 16,
        SLOTS = 1 << 13, /* of which half are used at most */
};

struct tally_chunk {
        struct tally_chunk *next;
        size_t n, cap;
        uint64_t keys[];
};

struct tally_slot {
        uint64_t key, n; /* n 0: free */
};

/* Numbers whose order is that of the values. */
static uint64_t key_of(double value) {
        uint64_t bits;

        value += 0.0; /* −0 is 0 */
        memcpy(&bits, &value, sizeof(bits));
        return bits >> 63 ? ~bits : bits | 1ull << 63;
}

static double value_of(uint64_t key) {
        uint64_t bits = key >> 63 ? key & ~(1ull << 63) : ~key;
        double value;

        memcpy(&value, &bits, sizeof(value));
        return value;
}

/* ---- adding ------------------------------------------------------------------------------------ */

/* Room for so many words more at the end of a list; NULL: no memory. */
static uint64_t *chunk_grow(struct tally_chunk **list, size_t n) {
        struct tally_chunk *c = *list;

        if (!c || c->cap - c->n < n) {
                size_t cap = c ? MIN(2 * c->cap, (size_t)CHUNK_MOST) : CHUNK_LEAST;

                c = sqlite3_malloc64(sizeof(*c) + cap * sizeof(c->keys[0]));
                if (!c)
                        return NULL;
                *c = (struct tally_chunk){.next = *list, .cap = cap};
                *list = c;
        }
        c->n += n;
        return &c->keys[c->n - n];
}

static bool add_loose(struct value_tally *t, uint64_t key, uint64_t n_times) {
        uint64_t *words = chunk_grow(n_times == 1 ? &t->chunks : &t->heavy, n_times == 1 ? 1 : 2);

        if (!words)
                return false;
        words[0] = key;
        if (n_times != 1)
                words[1] = n_times;
        t->n_loose++;
        return true;
}

/* False: it has no place there. */
static bool add_to_slots(struct value_tally *t, uint64_t key, uint64_t n_times) {
        size_t i = map_hash(key) % SLOTS;

        while (t->slots[i].n && t->slots[i].key != key)
                i = (i + 1) % SLOTS;
        if (t->slots[i].n == 0) {
                if (t->n_slots == SLOTS / 2)
                        return false;
                t->n_slots++;
                t->slots[i].key = key;
        }
        t->slots[i].n += n_times;
        return true;
}

static bool add_one(struct value_tally *t, uint64_t key, uint64_t n_times) {
        return (t->slots && add_to_slots(t, key, n_times)) || add_loose(t, key, n_times);
}

static void chunks_free(struct tally_chunk *c) {
        while (c) {
                struct tally_chunk *next = c->next;

                sqlite3_free(c);
                c = next;
        }
}

/* Counts values that come again instead of keeping each; those that have no place stay. */
static bool begin_slots(struct value_tally *t) {
        struct tally_chunk *once = t->chunks, *heavy = t->heavy;
        bool is_ok = true;

        t->slots = sqlite3_malloc64(SLOTS * sizeof(t->slots[0]));
        if (!t->slots)
                return false;
        memset(t->slots, 0, SLOTS * sizeof(t->slots[0]));
        t->chunks = t->heavy = NULL;
        t->n_loose = 0;
        for (const struct tally_chunk *c = once; c; c = c->next)
                for (size_t i = 0; i < c->n && is_ok; i++)
                        is_ok = add_one(t, c->keys[i], 1);
        for (const struct tally_chunk *c = heavy; c; c = c->next)
                for (size_t i = 0; i < c->n && is_ok; i += 2)
                        is_ok = add_one(t, c->keys[i], c->keys[i + 1]);
        chunks_free(once);
        chunks_free(heavy);
        return is_ok;
}

bool value_tally_add(struct value_tally *t, double value, uint64_t n_times) {
        if (n_times == 0)
                return true;
        t->n += n_times;
        if (!t->slots && t->n_loose == CHUNK_MOST && !begin_slots(t))
                return false;
        return add_one(t, key_of(value), n_times);
}

void value_tally_done(struct value_tally *t) {
        chunks_free(t->chunks);
        chunks_free(t->heavy);
        sqlite3_free(t->slots);
        *t = (struct value_tally){0};
}

/* ---- asking ------------------------------------------------------------------------------------ */

/* How many of the keys that begin as `begin` does, above the byte at `shift`, have which value in that byte. */
static void count_bytes(const struct value_tally *t, uint64_t begin, unsigned shift,
                        uint64_t counts[256]) {
        uint64_t mask = shift == 56 ? 0 : ~0ull << (shift + 8);

        memset(counts, 0, 256 * sizeof(counts[0]));
        for (const struct tally_chunk *c = t->chunks; c; c = c->next)
                for (size_t i = 0; i < c->n; i++)
                        if ((c->keys[i] & mask) == begin)
                                counts[c->keys[i] >> shift & 255]++;
        for (const struct tally_chunk *c = t->heavy; c; c = c->next)
                for (size_t i = 0; i < c->n; i += 2)
                        if ((c->keys[i] & mask) == begin)
                                counts[c->keys[i] >> shift & 255] += c->keys[i + 1];
        for (size_t i = 0; t->slots && i < SLOTS; i++)
                if (t->slots[i].n && (t->slots[i].key & mask) == begin)
                        counts[t->slots[i].key >> shift & 255] += t->slots[i].n;
}

/* The number at a place below n, in order: byte by byte from the highest on, so that nothing is sorted or moved. */
static double nth(const struct value_tally *t, uint64_t place) {
        uint64_t key = 0, counts[256];

        for (int shift = 56; shift >= 0; shift -= 8) {
                uint64_t byte = 0;

                count_bytes(t, key, (unsigned)shift, counts);
                while (byte < 255 && place >= counts[byte])
                        place -= counts[byte++];
                key |= byte << shift;
        }
        return value_of(key);
}

double value_tally_at(const struct value_tally *t, double part) {
        double at = part * (double)(t->n - 1);
        uint64_t place = MIN((uint64_t)at, t->n - 1);
        double low = nth(t, place), rest = at - (double)place;

        if (rest <= 0 || place + 1 >= t->n)
                return low;
        return low + (nth(t, place + 1) - low) * rest;
}

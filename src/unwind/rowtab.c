/* SPDX-License-Identifier: MIT */
/* An entry is two words, check = tag ^ row and row, written and read one by one. A reader that meets
 * halves of two puts computes a tag that is nobody's: tags are 64-bit hashes of (key, generation),
 * so tag1 ^ row1 ^ row2 equals a third tag with probability 2^-64. That is also how entries of older
 * generations go away: their tags are never asked for again.
 *
 * The table starts at 64 KiB in .bss and grows fourfold through map_pages; older tables stay where
 * they are and are asked after the newest, so that nothing known is lost by growing. */

#include "unwind/rowtab.h"

enum {
#ifdef SILT_TINY
        FIRST_SETS = 1,
        WAYS = 1,
        GROWTHS_MAX = 0,
        ANNOUNCED_MAX = 2,
#else
        FIRST_SETS = 1024,
        WAYS = 4,        /* one set is one cache line of 64 bytes */
        GROWTHS_MAX = 2, /* 64 KiB, 256 KiB, 1 MiB */
        ANNOUNCED_MAX = 1024,
#endif
        ANNOUNCED_WAYS = 2,
};

struct entry {
        uint64_t check; /* tag ^ row */
        uint64_t row;   /* 0: empty */
};

struct set {
        struct entry ways[WAYS];
};

struct table {
        struct set *sets;    /* written once, before the table is published */
        uint64_t n_sets;     /* a power of two */
        struct table *older; /* NULL: this is the first */
        uint32_t n_growths;
        uint32_t is_outgrown; /* set once by the thread that makes the next table */
        uint64_t n_puts;      /* in this generation, about: plain increments by many threads */
};

_Static_assert(sizeof(struct entry) == 16, "two words");

static struct set first_sets[FIRST_SETS] __attribute__((aligned(64)));
static struct table first_table = {.sets = first_sets, .n_sets = FIRST_SETS};
static struct table *newest = &first_table;
uint64_t rowtab_generation_word;
static uint64_t announced[ANNOUNCED_MAX];
static void *(*map_pages_fn)(size_t size_bytes);

/* A bijection that spreads every bit (the finaliser of splitmix64). */
static inline uint64_t mix(uint64_t x) {
        x ^= x >> 30;
        x *= UINT64_C(0xbf58476d1ce4e5b9);
        x ^= x >> 27;
        x *= UINT64_C(0x94d049bb133111eb);
        return x ^ x >> 31;
}

static inline uint64_t tag_of(uint64_t gen, uint64_t key) {
        return mix(key + gen * UINT64_C(0x9e3779b97f4a7c15));
}

/* Neighbouring pcs share pages: a small program must not touch the whole table. */
static inline struct set *set_of(const struct table *t, uint64_t key) {
        return &t->sets[(key >> 4 ^ key >> 16) & (t->n_sets - 1)];
}

void rowtab_init(void *(*map_pages)(size_t size_bytes)) {
        map_pages_fn = map_pages;
        rowtab_next_generation();
}

void rowtab_next_generation(void) {
        /* release: pairs with rowtab_generation */
        __atomic_fetch_add(&rowtab_generation_word, 1, __ATOMIC_ACQ_REL);
        __atomic_store_n(&__atomic_load_n(&newest, __ATOMIC_ACQUIRE)->n_puts, 0, __ATOMIC_RELAXED);
}

static row_t table_get(const struct table *t, uint64_t key, uint64_t tag) {
        const struct set *s = set_of(t, key);

        for (int i = 0; i < WAYS; i++) {
                /* acquire: who uses a row also sees its object announced. Pairs with table_put. */
                uint64_t row = __atomic_load_n(&s->ways[i].row, __ATOMIC_ACQUIRE);
                uint64_t check = __atomic_load_n(&s->ways[i].check, __ATOMIC_RELAXED);

                if ((check ^ row) == tag && row != 0)
                        return row;
        }
        return 0;
}

static void table_put(struct table *t, uint64_t key, uint64_t tag, row_t row) {
        struct set *s = set_of(t, key);
        int victim = (int)(tag % WAYS);

        for (int i = 0; i < WAYS; i++)
                if (__atomic_load_n(&s->ways[i].row, __ATOMIC_RELAXED) == 0) {
                        victim = i;
                        break;
                }
        /* relaxed: either half alone is worthless to a reader */
        __atomic_store_n(&s->ways[victim].check, tag ^ row, __ATOMIC_RELAXED);
        /* release: pairs with table_get */
        __atomic_store_n(&s->ways[victim].row, row, __ATOMIC_RELEASE);
}

/* Three quarters full: the next table, four times as large. */
static void maybe_grow(struct table *t) {
        uint64_t n_sets = t->n_sets * 4;
        uint64_t n_puts = __atomic_load_n(&t->n_puts, __ATOMIC_RELAXED) + 1;
        struct table *bigger; /* lies behind its sets */
        struct set *sets;

        /* relaxed and not atomic as a whole: an estimate is enough to decide when to grow */
        __atomic_store_n(&t->n_puts, n_puts, __ATOMIC_RELAXED);
        if (n_puts <= t->n_sets * WAYS / 4 * 3 || t->n_growths == GROWTHS_MAX || !map_pages_fn ||
            __atomic_exchange_n(&t->is_outgrown, 1, __ATOMIC_RELAXED) != 0)
                return;
        sets = map_pages_fn(n_sets * sizeof(struct set) + sizeof(struct table));
        if (!sets) { /* asked again after as many puts */
                __atomic_store_n(&t->n_puts, 0, __ATOMIC_RELAXED);
                __atomic_store_n(&t->is_outgrown, 0, __ATOMIC_RELAXED);
                return;
        }
        bigger = (struct table *)(sets + n_sets);
        bigger->sets = sets;
        bigger->n_sets = n_sets;
        bigger->older = t;
        bigger->n_growths = t->n_growths + 1;
        /* release: the table's fields are seen before its address. Pairs with the acquires of
         * newest. */
        __atomic_store_n(&newest, bigger, __ATOMIC_RELEASE);
}

row_t rowtab_get(uint64_t gen, uint64_t key) {
        struct table *t = __atomic_load_n(&newest, __ATOMIC_ACQUIRE);
        uint64_t tag = tag_of(gen, key);
        row_t row = table_get(t, key, tag);

        if (row != 0)
                return row;
        for (struct table *o = t->older; o; o = o->older) {
                row = table_get(o, key, tag);
                if (row != 0) {
                        table_put(t, key, tag, row);
                        return row;
                }
        }
        return 0;
}

void rowtab_put(uint64_t gen, uint64_t key, row_t row) {
        struct table *t = __atomic_load_n(&newest, __ATOMIC_ACQUIRE);

        table_put(t, key, tag_of(gen, key), row);
        maybe_grow(t);
}

/* An announcement is one word, the hash of (object, generation), in one of two places. */
bool rowtab_is_announced(uint64_t gen, uint64_t object_begin) {
        uint64_t tag = tag_of(gen, object_begin);

        for (uint64_t i = 0; i < ANNOUNCED_WAYS; i++)
                /* acquire: pairs with rowtab_set_announced, after the announcement itself */
                if (__atomic_load_n(&announced[(object_begin / 4096 + i) % ANNOUNCED_MAX],
                                    __ATOMIC_ACQUIRE) == tag)
                        return true;
        return false;
}

void rowtab_set_announced(uint64_t gen, uint64_t object_begin) {
        uint64_t tag = tag_of(gen, object_begin);
        uint64_t way = mix(tag) % ANNOUNCED_WAYS;

        __atomic_store_n(&announced[(object_begin / 4096 + way) % ANNOUNCED_MAX], tag,
                         __ATOMIC_RELEASE);
}

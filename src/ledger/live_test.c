/* SPDX-License-Identifier: MIT */
/* Live tables of a random family of processes against plain arrays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "ledger/live.h"
#include "ledger/slab.h"

enum { N_ADDRESSES = 3000, N_FAMILY = 12 };

struct member {
        bool is_alive;
        struct live live;
        uint32_t sizes[N_ADDRESSES]; /* 0: not live */
};

static uint64_t rng_state = 42;

static uint32_t rng(uint32_t below) {
        rng_state = rng_state * 6364136223846793005ull + 1442695040888963407ull;
        return (uint32_t)(rng_state >> 33) % below;
}

static uint64_t address_of(uint32_t i) {
        return 0x10000 + (uint64_t)i * 32;
}

static void member_step(struct member *m) {
        uint32_t i = rng(N_ADDRESSES), size = 1 + rng(1000);
        struct block b = {0}, *new, *at;
        bool is_young;

        if (rng(4) != 0)
                live_prefetch(&m->live, address_of(i));
        switch (rng(5)) {
        case 0:
        case 1:
                new = live_add(&m->live, address_of(i));
                assert_int_equal(new != NULL, m->sizes[i] == 0);
                if (new) {
                        assert_int_equal(block_flags(new), 0);
                        block_set(new, i, i, size, 3, 7);
                        m->sizes[i] = size;
                }
                break;
        case 2:
                assert_int_equal(live_take(&m->live, address_of(i), &b), m->sizes[i] != 0);
                assert_int_equal(block_size_bytes(&b), m->sizes[i]);
                m->sizes[i] = 0;
                break;
        case 3:
                at = live_at(&m->live, address_of(i), &is_young);
                assert_true(!at || m->sizes[i] != 0);
                if (at) {
                        assert_int_equal(block_size_bytes(at), m->sizes[i]);
                        live_remove(&m->live, at, is_young);
                        m->sizes[i] = 0;
                }
                break;
        default:
                new = live_edit(&m->live, address_of(i));
                assert_int_equal(new != NULL, m->sizes[i] != 0);
                if (new) {
                        assert_int_equal(block_size_bytes(new), m->sizes[i]);
                        block_set(new, i, i, size, 3, 7);
                        m->sizes[i] = size;
                }
                break;
        }
}

struct seen {
        const struct member *m;
        uint32_t n;
};

static void see_block(void *ctx, const struct block *b) {
        struct seen *s = ctx;

        s->n++;
        assert_int_equal(block_size_bytes(b), s->m->sizes[(b->address - 0x10000) / 32]);
}

static void member_check(const struct member *m) {
        struct seen seen = {m, 0};
        uint32_t n = 0;

        for (uint32_t i = 0; i < N_ADDRESSES; i++) {
                struct block b = {0};

                assert_int_equal(live_find(&m->live, address_of(i), &b), m->sizes[i] != 0);
                assert_int_equal(block_size_bytes(&b), m->sizes[i]);
                n += m->sizes[i] != 0;
        }
        live_walk(&m->live, see_block, &seen);
        assert_int_equal(seen.n, n);
}

static void member_fork(struct member *family, struct member *parent) {
        struct member *child = &family[rng(N_FAMILY)];

        if (child->is_alive)
                return;
        live_init(&child->live, live_freeze(&parent->live));
        child->is_alive = true;
        memcpy(child->sizes, parent->sizes, sizeof(child->sizes));
}

static void test_family(void **state) {
        struct member *family = calloc(N_FAMILY, sizeof(*family));

        (void)state;
        assert_non_null(family);
        for (uint32_t round = 0; round < 40; round++) {
                live_init(&family[0].live, NULL);
                family[0].is_alive = true;
                memset(family[0].sizes, 0, sizeof(family[0].sizes));
                for (uint32_t step = 0; step < 20000; step++) {
                        struct member *m = &family[rng(N_FAMILY)];
                        uint32_t what = rng(1000);

                        if (!m->is_alive)
                                continue;
                        if (what < 8) {
                                member_fork(family, m);
                        } else if (what < 14 && m != &family[0]) {
                                live_done(&m->live);
                                m->is_alive = false;
                        } else if (what < 60) {
                                live_fold(&m->live, 1 + rng(300));
                        } else {
                                member_step(m);
                        }
                }
                for (uint32_t i = 0; i < N_FAMILY; i++) {
                        if (family[i].is_alive) {
                                member_check(&family[i]);
                                live_done(&family[i].live);
                        }
                        family[i].is_alive = false;
                }
                assert_int_equal(live_layers_bytes(), 0);
        }
        free(family);
}

/* Many children of one large parent, each changing a little: they share what they inherited. */
static void test_children_share(void **state) {
        enum { N_BLOCKS = 20000, N_CHILDREN = 500 };
        struct live parent, *children = calloc(N_CHILDREN, sizeof(*children));
        size_t bytes_alone, bytes = 0;
        struct block b;

        (void)state;
        assert_non_null(children);
        live_init(&parent, NULL);
        for (uint32_t i = 0; i < N_BLOCKS; i++)
                block_set(live_add(&parent, 0x1000 + (uint64_t)i * 64), 0, i, 10, 3, 0);
        bytes_alone = live_size_bytes(&parent);
        for (uint32_t i = 0; i < N_CHILDREN; i++) {
                live_init(&children[i], live_freeze(&parent));
                for (uint64_t k = 0; k < 20; k++)
                        assert_true(live_take(&children[i], 0x1000 + (k * 997 + i) * 64, &b));
                block_set(live_add(&parent, 0x9000000 + (uint64_t)i * 64), 0, i, 10, 3, 0);
        }
        for (uint32_t i = 0; i < N_CHILDREN; i++)
                bytes += live_size_bytes(&children[i]);
        bytes += live_size_bytes(&parent) + live_layers_bytes();
        assert_true(bytes < bytes_alone * 4);
        for (uint32_t i = 0; i < N_CHILDREN; i++)
                live_done(&children[i]);
        /* alone again: everything comes back into one table */
        for (int i = 0; i < 1000 && parent.base; i++)
                live_fold(&parent, 1000);
        assert_null(parent.base);
        live_layer_unref(live_freeze(&parent)); /* the young ones, too */
        live_fold(&parent, 1000);
        assert_int_equal(parent.own.n, N_BLOCKS + N_CHILDREN);
        assert_int_equal(live_layers_bytes(), 0);
        live_done(&parent);
        free(children);
}

static void test_size_per_block(void **state) {
        struct live l;
        size_t n = 0, most_bytes = 0;
        double sum = 0;
        int n_points = 0;

        (void)state;
        live_init(&l, NULL);
        for (uint64_t want = 10000; want < 400000; want += want / 10, n_points++) {
                for (; n < want; n++)
                        block_set(live_add(&l, 0xaaaa00000000ull + n * 48), 0, n, 10, 3, 0);
                sum += (double)live_size_bytes(&l) / (double)n;
                assert_true(live_size_bytes(&l) / n < 72);
                /* no holes: tables of the tests before were smaller */
                most_bytes = MAX(most_bytes, live_size_bytes(&l));
                assert_true(slab_size_bytes() < most_bytes / 100 * 103 + (4 << 20));
        }
        print_message("%.1f bytes a block\n", sum / n_points);
        assert_true(sum / n_points < 60);
        live_done(&l);
}

/* Addresses chosen so that their hashes share their leading bits. */
static void test_hostile_addresses(void **state) {
        struct live l;
        uint64_t inverse = 1, n = 0;

        (void)state;
        for (int i = 0; i < 6; i++) /* Newton: the multiplier's inverse modulo 2^64 */
                inverse *= 2 - 0x9e3779b97f4a7c15ull * inverse;
        live_init(&l, NULL);
        for (uint64_t i = 1; n < 3000; i++) {
                uint64_t h = i << 3, address = h * inverse;

                /* undo the first step of the hash */
                address ^= address >> 32;
                if (address == 0)
                        continue;
                assert_true(table_hash(address) >> 40 == 0);
                block_set(live_add(&l, address), 0, n++, 10, 3, 0);
        }
        assert_true(live_size_bytes(&l) < 3000 * 200);
        live_done(&l);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_family),
                cmocka_unit_test(test_children_share),
                cmocka_unit_test(test_size_per_block),
                cmocka_unit_test(test_hostile_addresses),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

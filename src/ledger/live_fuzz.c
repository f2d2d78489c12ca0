/* SPDX-License-Identifier: MIT */
/* A family of processes whose live tables do what the input says, held against plain arrays: nothing is lost, found
 * twice, or seen by a relative it does not belong to. Addresses come from the target, so they may be any: with bit 7 of
 * the first byte they are spread over 64 bits, without it they lie close together.
 *
 * covers: src/ledger/live.c src/ledger/block_table.c src/ledger/nursery.c */
#include <stdlib.h>
#include <string.h>

#include "ledger/live.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { N_ADDRESSES = 1024, N_FAMILY = 10, MAX_STEPS = 2000 };

struct member {
        bool is_alive;
        struct live live;
        uint32_t sizes[N_ADDRESSES]; /* 0: not live */
};

struct family {
        struct member members[N_FAMILY];
        uint64_t stride;
        uint32_t next_size;
};

static void expect(bool is_so) {
        if (!is_so)
                abort();
}

static uint64_t address_of(const struct family *f, uint32_t i) {
        return (i + 1) * f->stride;
}

static void add(struct family *f, struct member *m, uint32_t i) {
        struct block *b = live_add(&m->live, address_of(f, i));

        expect((b != NULL) == (m->sizes[i] == 0));
        if (!b)
                return;
        m->sizes[i] = ++f->next_size;
        block_set(b, i, i, m->sizes[i], 3, 7);
}

static void take(struct family *f, struct member *m, uint32_t i, bool quick) {
        struct block b = {0}, *at;
        bool found, is_young;

        at = quick ? live_at(&m->live, address_of(f, i), &is_young) : NULL;
        if (at) {
                b = *at;
                live_remove(&m->live, at, is_young);
        }
        found = at || live_take(&m->live, address_of(f, i), &b);
        expect(found == (m->sizes[i] != 0) && block_size_bytes(&b) == m->sizes[i]);
        m->sizes[i] = 0;
}

static void edit(struct family *f, struct member *m, uint32_t i) {
        struct block found, *b = live_edit(&m->live, address_of(f, i));

        expect((b != NULL) == (m->sizes[i] != 0));
        if (b) {
                m->sizes[i] = ++f->next_size;
                block_set(b, i, i, m->sizes[i], 3, 7);
        }
        expect(live_find(&m->live, address_of(f, i), &found) == (b != NULL));
}

static void fork_member(struct family *f, const struct member *parent_of) {
        struct member *parent = (struct member *)parent_of;

        for (size_t i = 0; i < N_FAMILY; i++)
                if (!f->members[i].is_alive) {
                        memcpy(f->members[i].sizes, parent->sizes, sizeof(parent->sizes));
                        live_init(&f->members[i].live, live_freeze(&parent->live));
                        f->members[i].is_alive = true;
                        return;
                }
        live_layer_unref(live_freeze(&parent->live)); /* a child that died before it was seen */
}

struct seen {
        const struct family *f;
        const struct member *m;
        size_t n;
};

static void see(void *ctx, const struct block *b) {
        struct seen *s = ctx;

        expect(b->address / s->f->stride - 1 < N_ADDRESSES &&
               block_size_bytes(b) == s->m->sizes[b->address / s->f->stride - 1]);
        s->n++;
}

static void check(const struct family *f, const struct member *m) {
        struct seen s = {f, m, 0};
        size_t n = 0;

        live_walk(&m->live, see, &s);
        for (uint32_t i = 0; i < N_ADDRESSES; i++)
                n += m->sizes[i] != 0;
        expect(n == s.n);
}

/* An operation is four bytes: what, who, and two for the address. */
static void step(struct family *f, const uint8_t *p) {
        struct member *m = &f->members[p[1] % N_FAMILY];
        uint32_t i = (p[2] | (uint32_t)p[3] << 8) % N_ADDRESSES;

        if (!m->is_alive)
                return;
        switch (p[0] % 10) {
        case 0:
        case 1: add(f, m, i); break;
        case 2: take(f, m, i, false); break;
        case 3: take(f, m, i, true); break;
        case 4: edit(f, m, i); break;
        case 5: fork_member(f, m); break;
        case 6: live_fold(&m->live, 1 + p[2]); break;
        case 7:
                for (uint32_t k = i; k < N_ADDRESSES; k += 1 + p[1] / N_FAMILY)
                        add(f, m, k);
                break;
        case 8:
                for (uint32_t k = i; k < N_ADDRESSES; k += 1 + p[1] / N_FAMILY)
                        take(f, m, k, k % 2);
                break;
        default:
                check(f, m);
                if (p[2] % 4 == 0) {
                        live_done(&m->live);
                        m->is_alive = false;
                }
                break;
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        struct family *f = calloc(1, sizeof(*f));

        if (!f || size < 5) {
                free(f);
                return 0;
        }
        f->stride = data[0] & 0x80 ? 0x3fffffffffffff : 16;
        live_init(&f->members[0].live, NULL);
        f->members[0].is_alive = true;
        for (size_t i = 1; i + 4 <= size && i < 4 * MAX_STEPS; i += 4)
                step(f, data + i);
        for (size_t i = 0; i < N_FAMILY; i++)
                if (f->members[i].is_alive) {
                        check(f, &f->members[i]);
                        live_done(&f->members[i].live);
                }
        expect(live_layers_bytes() == 0);
        free(f);
        return 0;
}

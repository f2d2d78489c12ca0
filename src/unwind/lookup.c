/* SPDX-License-Identifier: MIT */
/* The slow half of finding a row: what happens when a thread's own cache does not have it. */

#include "unwind/lookup.h"

#include "unwind/arch.h"
#include "unwind/image_row.h"
#include "unwind/instructions.h"
#include "unwind/object.h"
#include "unwind/rowtab.h"
#include "wire/signal_point.h"

#define SILENT (UINT64_C(1) << 63)

static struct unwind_env env;

void lookup_init(const struct unwind_env *e) {
        env = *e;
}

/* ---- from the object ---------------------------------------------------------------------- */

static void announce(uint64_t generation, const struct unwind_module *m, void *ctx) {
        if (rowtab_is_announced(generation, m->begin))
                return;
        if (env.on_module)
                env.on_module(ctx, m);
        rowtab_set_announced(generation, m->begin);
}

/* 0: in no object. Such pcs are never cached: an object may be mapped there any time. */
static row_t row_decode(uint64_t generation, uint64_t key, void *ctx) {
        struct object o;

        if (!object_find(key, &o))
                return 0;
        if (ctx)
                announce(generation, &o.module, ctx);
        return image_row(&o.image, key, env.entries);
}

bool lookup_is_return_address(uint64_t addr, uint64_t pc) {
        const uint64_t inside[] = {pc, env.main_phdrs};
        struct object o;

        for (unsigned i = 0; i < 2; i++)
                if (inside[i] != 0 && object_find(inside[i], &o) && addr >= o.module.begin &&
                    addr < o.module.end)
                        return code_is_after_call(&o.image, addr);
        return false;
}

/* ---- a thread's own cache ------------------------------------------------------------------- */

static size_t cache_size_bytes(const struct lookup_cache *c) {
        return c->n_entries * sizeof(struct lookup_entry);
}

static void cache_set(struct lookup_cache *c, struct lookup_entry *entries, uint64_t n_entries) {
        c->entries = entries;
        c->n_entries = n_entries;
        c->off_mask = (n_entries - 1) * sizeof(struct lookup_entry);
}

/* A handler may leave by siglongjmp, or the thread be gone, between any two of these stores, and
 * whoever takes the cache over gives back what it says. So it never says more than is mapped: its
 * size is at its least while its pages change, and old pages go when nothing names them. At worst
 * pages are forgotten. */
static void cache_replace(struct lookup_cache *c, struct lookup_entry *entries,
                          uint64_t n_entries) {
        struct lookup_entry *old = c->entries;
        size_t old_bytes = cache_size_bytes(c);

        cache_set(c, old, LOOKUP_FIRST_ENTRIES);
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        SIGNAL_POINT("lookup/grow");
        c->entries = entries;
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        cache_set(c, entries, n_entries);
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        if (old != c->first && env.unmap_pages)
                env.unmap_pages(old, old_bytes);
}

void lookup_cache_init(struct lookup_cache *c, struct lookup_entry *first) {
        *c = (struct lookup_cache){.entries = first};
        cache_set(c, first, LOOKUP_FIRST_ENTRIES);
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        c->first = first; /* last: says that the rest is there */
}

void lookup_cache_done(struct lookup_cache *c) {
        if (!c->first)
                return; /* left before it was initialised */
        cache_replace(c, c->first, LOOKUP_FIRST_ENTRIES);
        lookup_cache_clear(c);
}

void lookup_cache_clear(struct lookup_cache *c) {
        for (uint64_t i = 0; i < c->n_entries; i++) {
                c->entries[i] = (struct lookup_entry){0};
                /* a loop, not a call of memset: this may run before libc is ready */
                __asm__ volatile("" ::: "memory");
        }
        c->n_misses = 0;
}

/* Twice as many misses as entries: this thread is hot and its cache too small. */
static void cache_maybe_grow(struct lookup_cache *c) {
        uint64_t n_entries = c->n_entries * 4;
        void *pages;

        if (++c->n_misses < c->n_entries * 2 || n_entries > LOOKUP_MAX_ENTRIES || !env.map_pages)
                return;
        c->n_misses = 0; /* without memory, ask again after as many misses */
        pages = env.map_pages(n_entries * sizeof(struct lookup_entry));
        if (!pages)
                return;
        cache_replace(c, pages, n_entries);
}

row_t lookup_miss(struct lookup_cache *c, uint64_t generation, uint64_t key, void *ctx) {
        /* Rows found by a walk that announces nothing are kept apart, as if of another generation:
         * whoever finds a row in the table relies on its object having been announced. */
        uint64_t kept_as = ctx ? generation : generation | SILENT;
        row_t row = rowtab_get(kept_as, key);

        SIGNAL_POINT("lookup/miss");
        if (row == 0) {
                row = row_decode(generation, key, ctx);
                if (row == 0)
                        return ROW_NO_CFI;
                SIGNAL_POINT("lookup/decoded");
                rowtab_put(kept_as, key, row);
        }
        if (c) {
                cache_maybe_grow(c);
                *lookup_entry_of(c, key) =
                        (struct lookup_entry){key, quick_from_row(row, ARCH_STACK_ALIGN)};
        }
        return row;
}

/* SPDX-License-Identifier: MIT */
#include "resident/fragmentation.h"

#include "base/map.h"
#include "base/units.h"

enum {
        MATERIAL_BYTES = 4 << 20,
        ARENA_BYTES = 64 << 20,
        MATERIAL_SHARE = 4,   /* of the heap, 1 in so many */
        RELEASABLE_SHARE = 8, /* less than that is no remedy */
        MOST_PCT = 80,
        MOST_TIMES = 100,  /* more of them say nothing */
        LESSER_SHARE = 20, /* of what is free, 1 in so many is worth a figure */
};

/* ---- whose blocks ---------------------------------------------------------------------------- */

struct holder {
        uint32_t stack;
        uint64_t n_pages, n_alone, n_blocks, block_bytes, free_bytes, most_bytes;
};

struct holders_table {
        VEC(struct holder) rows;
        struct map by_key;
};

static struct holder *holder_of(struct holders_table *t, const struct fragmentation_keys *keys,
                                uint32_t stack) {
        uint64_t key = stack && keys->key_of_stack ? keys->key_of_stack(keys->ctx, stack) : stack;
        bool added;
        uint64_t *i = map_put(&t->by_key, key, t->rows.n, &added);

        if (added)
                vec_push(&t->rows, (struct holder){.stack = stack});
        return &t->rows.items[*i];
}

static const struct holder *holder_with_most(const struct holders_table *t) {
        const struct holder *best = NULL;

        for (size_t i = 0; i < t->rows.n; i++)
                if (!best || t->rows.items[i].free_bytes > best->free_bytes)
                        best = &t->rows.items[i];
        return best;
}

static void take(struct fragmentation *f, const struct holders_table *t,
                 enum fragmentation_why why) {
        const struct holder *h = holder_with_most(t);

        if (!h || !h->free_bytes)
                return;
        f->why = why;
        f->stack = h->stack;
        f->n_pages = h->n_pages;
        f->n_alone = h->n_alone;
        f->n_blocks = h->n_blocks;
        f->block_bytes = h->block_bytes;
        f->kept_bytes = h->free_bytes;
}

static void table_done(struct holders_table *t) {
        vec_free(&t->rows);
        map_done(&t->by_key);
}

/* Returns what of the free bytes is in pinned pages. */
static uint64_t find_pinned(struct fragmentation *f, const struct resident *r,
                            const struct fragmentation_keys *keys) {
        struct holders_table t = {0};
        uint64_t all = 0;

        for (size_t i = 0; i < r->pins.n; i++) {
                const struct resident_pin *p = &r->pins.items[i];
                struct holder *h = holder_of(&t, keys, p->stack);

                h->n_pages += p->n_pages;
                h->n_alone += p->n_alone;
                h->n_blocks += p->n_blocks;
                h->block_bytes += p->block_bytes;
                h->free_bytes += p->free_bytes;
                f->n_pinned_pages += p->n_pages;
                all += p->free_bytes;
        }
        take(f, &t, FRAGMENTATION_PINNED);
        table_done(&t);
        return all;
}

static uint64_t cell_bytes(const struct resident *r, const struct resident_cell *c) {
        return (uint64_t)c->n_resident_pages * r->page_bytes;
}

static uint64_t cell_free(const struct resident *r, const struct resident_cell *c) {
        uint64_t bytes = cell_bytes(r, c);

        return bytes > c->live_bytes ? bytes - c->live_bytes : 0;
}

/* By the function that has most bytes in each stretch. */
static void find_mixed(struct fragmentation *f, const struct resident *r,
                       const struct fragmentation_keys *keys) {
        struct holders_table t = {0};

        for (size_t i = 0; i < r->cells.n; i++) {
                const struct resident_cell *c = &r->cells.items[i];
                struct holder *h;

                if (!c->live_bytes || !c->stack)
                        continue;
                h = holder_of(&t, keys, c->stack);
                h->free_bytes += cell_free(r, c);
                h->n_pages += c->n_resident_pages;
                h->n_blocks += c->n_blocks;
                h->block_bytes += c->live_bytes;
        }
        take(f, &t, FRAGMENTATION_MIXED);
        table_done(&t);
}

static bool follows(const struct resident *r, const struct resident_cell *c,
                    const struct resident_cell *before) {
        return before->begin + (uint64_t)before->n_pages * r->page_bytes == c->begin;
}

/* Stretches of pages without a live block, by the function of the first live one behind them: an allocator that gives back from the end only cannot
 * reach them. Each of its arenas has such an end. */
static void find_below(struct fragmentation *f, const struct resident *r,
                       const struct fragmentation_keys *keys) {
        struct holders_table t = {0};
        uint64_t run = 0;

        for (size_t i = 0; i < r->cells.n; i++) {
                const struct resident_cell *c = &r->cells.items[i];
                struct holder *h;

                if (i > 0 && !follows(r, c, c - 1))
                        run = 0;
                if (!c->live_bytes) {
                        run += cell_bytes(r, c);
                        continue;
                }
                if (run && c->stack) {
                        h = holder_of(&t, keys, c->stack);
                        h->free_bytes += run;
                        h->n_pages += c->n_resident_pages;
                        h->n_blocks += c->n_blocks;
                        h->block_bytes += c->live_bytes;
                }
                run = 0;
        }
        take(f, &t, FRAGMENTATION_BELOW);
        table_done(&t);
}

/* glibc's arenas but the main one begin where nothing else does. */
static bool has_arenas(const struct resident *r) {
        for (size_t i = 0; i < r->areas.n; i++) {
                const struct resident_area *a = &r->areas.items[i];

                if (a->kind == RESIDENT_ANON && a->heap_rss_bytes && a->begin % ARENA_BYTES == 0)
                        return true;
        }
        return false;
}

/* Of several the one with most. */
static void find_allocator(struct fragmentation *f, const struct resident *r) {
        const struct resident_allocator *most = NULL;
        uint64_t book_bytes = 0;

        for (size_t i = 0; i < r->allocators.n; i++)
                if (!most || r->allocators.items[i].usable_bytes > most->usable_bytes)
                        most = &r->allocators.items[i];
        f->allocator = most ? resident_name(r, most->name) : "";
        for (size_t i = 0; i < r->frees.n; i++) {
                book_bytes += r->frees.items[i].bytes;
                f->releasable_bytes += r->frees.items[i].releasable_bytes;
        }
        f->has_books = r->frees.n && book_bytes >= f->empty_bytes;
}

struct fragmentation fragmentation_of(const struct resident *r,
                                      const struct fragmentation_keys *keys) {
        const struct resident_heap *h = &r->heap;
        struct fragmentation f = {.resident_bytes = r->rss_bytes,
                                  .heap_bytes = h->rss_bytes,
                                  .live_bytes = h->asked_bytes,
                                  .between_bytes = h->between_bytes,
                                  .empty_bytes = h->empty_bytes,
                                  .has_arenas = has_arenas(r),
                                  .allocator = ""};
        uint64_t pinned;

        find_allocator(&f, r);
        if (!r->has_blocks) { /* what is free among them is not known */
                f.between_bytes = f.empty_bytes = 0;
                return f;
        }
        pinned = find_pinned(&f, r, keys);
        if (f.empty_bytes > f.between_bytes) {
                bool gives_from_end = !f.allocator[0] || strcmp(f.allocator, "glibc") == 0;

                f.why = FRAGMENTATION_NONE; /* pinned pages are not the larger part */
                f.stack = 0;
                f.kept_bytes = 0;
                if (gives_from_end)
                        find_below(&f, r, keys);
                if (f.kept_bytes <= f.empty_bytes / 2) { /* less than that is not why */
                        f.why = FRAGMENTATION_NONE;
                        f.stack = 0;
                        f.kept_bytes = 0;
                }
        } else if (pinned < f.between_bytes / 2) {
                find_mixed(&f, r, keys);
        }
        /* cells do not tell rounding and headers from what is free */
        f.kept_bytes = MIN(f.kept_bytes, MAX(f.empty_bytes, f.between_bytes));
        return f;
}

/* ---- words ----------------------------------------------------------------------------------- */

bool fragmentation_is_material(const struct fragmentation *f) {
        uint64_t kept = fragmentation_kept_bytes(f);

        return kept >= MATERIAL_BYTES && kept >= f->heap_bytes / MATERIAL_SHARE;
}

static const char *remedy_of(const struct fragmentation *f) {
        static const struct {
                const char *allocator, *remedy;
        } known[] = {
                {"glibc", "malloc_trim(0) gives them back"},
                {"jemalloc", "a shorter dirty_decay_ms or background_thread:true gives them back"},
                {"mimalloc", "mi_collect(true) or a shorter MIMALLOC_PURGE_DELAY gives them back"},
                {"tcmalloc", "MallocExtension's ReleaseFreeMemory gives them back"},
        };

        if (f->has_arenas && strcmp(f->allocator, "glibc") == 0)
                return "malloc_trim(0) gives them back, fewer arenas (MALLOC_ARENA_MAX) keep less";
        for (size_t i = 0; i < ARRAY_SIZE(known); i++)
                if (strcmp(f->allocator, known[i].allocator) == 0)
                        return known[i].remedy;
        return "a trim by the allocator gives them back";
}

static unsigned pct_of(uint64_t part, uint64_t whole) {
        return whole ? (unsigned)(100.0 * (double)MIN(part, whole) / (double)whole + 0.5) : 0;
}

static void add_whose(const struct fragmentation *f, const char *function, const char *place,
                      struct str *to) {
        struct unit_text each;

        str_add(to, " of ");
        str_add(to, function && function[0] ? function : "code without a name");
        if (f->n_blocks && f->why == FRAGMENTATION_PINNED) /* of others only parts are known */
                str_addf(to, " (%s)", unit_bytes(&each, f->block_bytes / f->n_blocks));
        if (place && place[0])
                str_addf(to, ", allocated at %s", place);
}

/* "The heap is 4.1 times live": code, stacks and the program's own mappings are none of the allocator's. */
static void add_factor(const struct fragmentation *f, struct str *to) {
        struct unit_text t;

        if (f->live_bytes && f->heap_bytes / f->live_bytes >= MOST_TIMES)
                str_addf(to, "Only %s are live: ", unit_bytes(&t, f->live_bytes));
        else if (f->live_bytes && f->heap_bytes >= f->live_bytes)
                str_addf(to, "The heap is %.1f times live: ",
                         (double)f->heap_bytes / (double)f->live_bytes);
        else if (!f->live_bytes)
                str_add(to, "Nothing is live: ");
}

static uint64_t larger_part(const struct fragmentation *f) {
        return MAX(f->empty_bytes, f->between_bytes);
}

/* How much is free, and how most of it is; the lesser part only where it is worth a figure. */
static void add_kept(const struct fragmentation *f, struct str *to) {
        bool is_empty = f->empty_bytes > f->between_bytes;
        uint64_t all = fragmentation_kept_bytes(f), larger = larger_part(f);
        struct unit_text t, u;

        if (all - larger > all / LESSER_SHARE)
                str_addf(to,
                         is_empty ? "%s are free, %s of it whole pages that the allocator keeps"
                                  : "%s are free, %s of it blocks between live ones",
                         unit_bytes(&t, all), unit_bytes(&u, larger));
        else
                str_addf(to,
                         is_empty ? "%s are free pages that the allocator keeps"
                                  : "%s are free blocks between live ones",
                         unit_bytes(&t, larger));
}

/* Of these what the function keeps: "all", or how much. */
static const char *part_words(const struct fragmentation *f, struct unit_text *t) {
        uint64_t all = larger_part(f);

        return f->kept_bytes >= all - all / 1000 ? "all" : unit_bytes(t, f->kept_bytes);
}

void fragmentation_add_words(const struct fragmentation *f, const char *function, const char *place,
                             struct str *to) {
        bool is_empty = f->empty_bytes > f->between_bytes;
        struct unit_text below;

        add_factor(f, to);
        add_kept(f, to);
        switch (f->why) {
        case FRAGMENTATION_PINNED:
                str_addf(to, "; %u %% of the pinned pages hold %s",
                         pct_of(f->n_pages, f->n_pinned_pages),
                         f->n_alone >= f->n_pages / 100 * MOST_PCT ? "one block each"
                                                                   : "a few blocks each");
                if (f->stack)
                        add_whose(f, function, place, to);
                else
                        str_add(to, ": record the program to see whose");
                break;
        case FRAGMENTATION_MIXED:
                str_addf(to, "; %s of them lie around blocks", part_words(f, &below));
                add_whose(f, function, place, to);
                break;
        case FRAGMENTATION_BELOW:
                str_addf(to, "; %s of them lie below blocks", part_words(f, &below));
                add_whose(f, function, place, to);
                break;
        case FRAGMENTATION_NONE: break;
        }
        if (is_empty && f->has_books && f->releasable_bytes < f->empty_bytes / RELEASABLE_SHARE)
                str_addf(to, ": a trim would give back %s, as blocks beside them are live",
                         unit_bytes(&below, f->releasable_bytes));
        else if (is_empty)
                str_addf(to, ": %s", remedy_of(f));
        str_add(to, ".");
}

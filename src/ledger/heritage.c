/* SPDX-License-Identifier: MIT */
#include "ledger/heritage.h"

#include "ledger/site_figures.h"

enum { HERITAGE_MAX_HEIRS = 64 }; /* of a family; of more the eldest count */

/* The oldest of its ancestors that are over one after the other, or itself. */
static const struct figures *family_of(const struct figures *f) {
        while (f->ancestor && f->ancestor->is_over)
                f = f->ancestor;
        return f;
}

static bool is_heir(const struct figures *f) {
        return f->ancestor && f->ancestor->is_over;
}

/* What f inherited of a call path and still has. */
static struct amount copies_of(struct sites *s, struct figures *f, uint32_t stack) {
        struct amount a = {0, 0};
        const struct inherited *line;
        uint64_t idx;

        if (map_get(&f->index, stack, &idx)) {
                const struct site *x = sites_at(s, (uint32_t)idx);
                const struct site_total *t = &s->totals.items[idx];
                const struct site_rare *rare = &s->rare.items[idx];

                a.blocks = (int64_t)(t->n_inherited - t->n_inherited_frees) + t->adopted.blocks;
                a.bytes =
                        (int64_t)(t->inherited_bytes - t->inherited_free_bytes) + t->adopted.bytes;
                if (x->slice == s->slice) {
                        a.blocks += rare->inherited.blocks - (int64_t)x->n_inherited_frees;
                        a.bytes += rare->inherited.bytes - (int64_t)rare->inherited_free_bytes;
                }
                return a;
        }
        line = figures_find_inherited(f, stack);
        return line ? (struct amount){(int64_t)line->n, (int64_t)line->bytes} : a;
}

/* Of the copies those that may count here: not what an ancestor of the family counts, which still lives. */
static struct amount claim_of(struct sites *s, struct figures *f, uint32_t stack) {
        struct figures *family = (struct figures *)family_of(f);
        struct amount a = copies_of(s, f, stack);

        if (family->ancestor) {
                const struct inherited *above = figures_find_inherited(family, stack);

                a.blocks -= above ? (int64_t)above->n : 0;
                a.bytes -= above ? (int64_t)above->bytes : 0;
        }
        return (struct amount){MAX(a.blocks, (int64_t)0), MAX(a.bytes, (int64_t)0)};
}

static struct amount adopted_of(const struct sites *s, const struct figures *f, uint32_t stack) {
        uint64_t idx;

        return map_get(&f->index, stack, &idx) ? s->totals.items[idx].adopted
                                               : (struct amount){0, 0};
}

/* From now on so much more, or less, of what f inherited counts as its own. */
static void adopt(struct sites *s, struct figures *f, uint32_t stack, struct amount a,
                  uint64_t now_ns) {
        uint32_t idx;
        struct site *x;

        if (a.blocks == 0 && a.bytes == 0)
                return;
        sites_counts(s, f, now_ns);
        idx = sites_find(s, f, stack);
        x = sites_touch(s, f, idx);
        x->n_inherited_frees += (uint32_t)a.blocks;
        s->rare.items[idx].inherited_free_bytes += (uint64_t)a.bytes;
        s->totals.items[idx].adopted.blocks += a.blocks;
        s->totals.items[idx].adopted.bytes += a.bytes;
        f->own.blocks += a.blocks;
        f->own.bytes += a.bytes;
        f->has_adopted = true;
        s->all_live.blocks += a.blocks;
        s->all_live.bytes += a.bytes;
}

/* The heirs of a family: what they count of a call path, and who has most of it. */
struct census {
        uint32_t stack;
        struct amount counted, most;
        struct figures *by_blocks, *by_bytes; /* the eldest of those with most */
};

static void census_add(struct sites *s, struct census *c, struct figures *h) {
        struct amount a = adopted_of(s, h, c->stack), claim = claim_of(s, h, c->stack);

        c->counted.blocks += a.blocks;
        c->counted.bytes += a.bytes;
        if (claim.blocks > c->most.blocks) {
                c->most.blocks = claim.blocks;
                c->by_blocks = h;
        }
        if (claim.bytes > c->most.bytes) {
                c->most.bytes = claim.bytes;
                c->by_bytes = h;
        }
}

/* The next heir of the family from *i on; NULL: no more. */
static struct figures *next_heir(const struct sites *s, const struct figures *family, size_t *i,
                                 size_t *n_seen) {
        while (*i < s->heirs.n && *n_seen < HERITAGE_MAX_HEIRS) {
                struct figures *h = s->heirs.items[(*i)++];

                if (family_of(h) == family) {
                        (*n_seen)++;
                        return h;
                }
        }
        return NULL;
}

static struct census census_of(struct sites *s, const struct figures *family, uint32_t stack) {
        struct census c = {.stack = stack};
        size_t i = 0, n_seen = 0;

        for (struct figures *h; (h = next_heir(s, family, &i, &n_seen));)
                census_add(s, &c, h);
        return c;
}

/* Whoever has more than all count together counts the rest. */
static void settle(struct sites *s, const struct census *c, uint64_t now_ns) {
        if (c->most.blocks > c->counted.blocks)
                adopt(s, c->by_blocks, c->stack,
                      (struct amount){c->most.blocks - c->counted.blocks, 0}, now_ns);
        if (c->most.bytes > c->counted.bytes)
                adopt(s, c->by_bytes, c->stack,
                      (struct amount){0, c->most.bytes - c->counted.bytes}, now_ns);
}

typedef VEC(struct census) census_vec;

static void add_census_of(struct sites *s, struct figures *h, struct map *by_stack,
                          census_vec *all) {
        figures_find_inherited(h, 0); /* sorts them, which must not happen on the way */
        for (size_t i = 0; i < h->inherited.n; i++) {
                uint32_t stack = h->inherited.items[i].stack;
                bool added;
                uint64_t *place = map_put(by_stack, stack, all->n, &added);

                if (added)
                        vec_push(all, (struct census){.stack = stack});
                census_add(s, &all->items[*place], h);
        }
}

/* Every call path that somebody of the family inherited. */
static void settle_family(struct sites *s, const struct figures *family, uint64_t now_ns) {
        census_vec all = {0};
        struct map by_stack = {0};
        size_t i = 0, n_seen = 0;

        for (struct figures *h; (h = next_heir(s, family, &i, &n_seen));)
                add_census_of(s, h, &by_stack, &all);
        for (size_t k = 0; k < all.n; k++)
                settle(s, &all.items[k], now_ns);
        vec_free(&all);
        map_done(&by_stack);
}

/* ---- what happens ------------------------------------------------------------------------------- */

static void add_heir(struct sites *s, struct figures *f) {
        size_t at = s->heirs.n;

        vec_push(&s->heirs, f);
        for (; at > 0 && s->heirs.items[at - 1]->process > f->process; at--)
                s->heirs.items[at] = s->heirs.items[at - 1];
        s->heirs.items[at] = f; /* the eldest first */
}

static void remove_heir(struct sites *s, const struct figures *f) {
        size_t n = 0;

        for (size_t i = 0; i < s->heirs.n; i++)
                if (s->heirs.items[i] != f)
                        s->heirs.items[n++] = s->heirs.items[i];
        s->heirs.n = n;
}

bool heritage_is_due(const struct sites *s, const struct figures *f) {
        return s->is_multi && (f->n_heirs > 0 || f->has_adopted);
}

void heritage_begin(struct sites *s, struct figures *f, uint64_t now_ns) {
        if (!is_heir(f))
                return;
        add_heir(s, f);
        settle_family(s, family_of(f), now_ns);
        sites_note_all_peak(s, now_ns);
        if (f->has_adopted) /* before events of its own: a reader takes what passed on for the slice's end */
                sites_end_slice(s, now_ns, SITES_CHECKPOINT_WHEN_DUE);
}

void heritage_pass_on(struct sites *s, struct figures *f, uint64_t now_ns) {
        remove_heir(s, f);
        if (!heritage_is_due(s, f))
                return;
        for (size_t i = f->process + 1; i < s->processes.n && f->n_heirs > 0; i++) {
                struct figures *h = s->processes.items[i];

                if (h && !h->is_over && h->ancestor == f)
                        add_heir(s, h);
        }
        settle_family(s, family_of(f), now_ns);
        sites_note_all_peak(s, now_ns);
}

void heritage_release(struct sites *s, struct figures *f, uint32_t idx, uint32_t n_blocks,
                      uint64_t bytes, uint64_t now_ns) {
        uint32_t stack = sites_at(s, idx)->stack;
        struct amount claim, a = s->totals.items[idx].adopted, less;
        struct census c;

        if (!is_heir(f))
                return;
        claim = claim_of(s, f, stack);
        less.blocks = MAX(a.blocks - claim.blocks, (int64_t)0);
        less.bytes = MAX(a.bytes - claim.bytes, (int64_t)0);
        if (s->heirs.n > 1) {
                c = census_of(s, family_of(f), stack);
                less.blocks = MAX(less.blocks, MIN(a.blocks, c.counted.blocks - c.most.blocks));
                less.bytes = MAX(less.bytes, MIN(a.bytes, c.counted.bytes - c.most.bytes));
        }
        /* a row never has less than nothing */
        less.blocks = MIN(less.blocks, (int64_t)n_blocks);
        less.bytes = MIN(less.bytes, (int64_t)bytes);
        adopt(s, f, stack, (struct amount){-less.blocks, -less.bytes}, now_ns);
        if (s->heirs.n > 1) {
                c = census_of(s, family_of(f), stack);
                settle(s, &c, now_ns);
        }
}

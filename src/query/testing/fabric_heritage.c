/* SPDX-License-Identifier: MIT */
/* Blocks that outlive their process in a child, in the books of the fabric: counted from the lists of live blocks, all over
 * again each time (docs/query.md, "The sum of all processes"). */
#include "query/testing/fabric_core.h"

struct count {
        int64_t blocks, bytes;
};

/* The highest of its ancestors that are all over; itself when its parent lives. */
static uint32_t top_of(const struct fabric *f, uint32_t k) {
        while (f->processes.items[k].heir_of &&
               f->processes.items[f->processes.items[k].heir_of - 1].is_over)
                k = f->processes.items[k].heir_of - 1;
        return k;
}

static bool is_heir_of(const struct fabric *f, uint32_t k, uint32_t top) {
        return !f->processes.items[k].is_over && k != top && top_of(f, k) == top;
}

/* What it inherited and has, without what somebody above those that are over counts. */
static struct count claim_of(struct fabric *f, uint32_t k, uint32_t stack) {
        const struct fabric_process *p = &f->processes.items[k];
        uint32_t top = top_of(f, k);
        struct count c = {0, 0};

        for (size_t i = 0; i < p->live.n; i++)
                if (p->live.items[i].inherited && p->live.items[i].stack == stack) {
                        c.blocks++;
                        c.bytes += (int64_t)p->live.items[i].size_bytes;
                }
        if (f->processes.items[top].heir_of) {
                const struct fabric_site *s = fabric_site_at(f, top, stack);

                c.blocks -= (int64_t)(s->total.n_inherited + s->slice.n_inherited);
                c.bytes -= (int64_t)(s->total.inherited_bytes + s->slice.inherited_bytes);
        }
        return (struct count){c.blocks > 0 ? c.blocks : 0, c.bytes > 0 ? c.bytes : 0};
}

static void adopt(struct fabric *f, uint32_t k, uint32_t stack, int64_t blocks, int64_t bytes) {
        struct fabric_site *s = fabric_site_at(f, k, stack);

        fabric_touch(&f->processes.items[k]);
        s->slice.n_inherited_frees += (uint64_t)blocks;
        s->slice.inherited_free_bytes += (uint64_t)bytes;
        s->adopted_blocks += blocks, s->adopted_bytes += bytes;
        s->own_blocks += blocks, s->own_bytes += bytes;
        f->all_blocks += (uint64_t)blocks, f->all_bytes += (uint64_t)bytes;
        f->processes.items[k].has_adopted = true;
}

static void census(struct fabric *f, uint32_t top, uint32_t stack, struct count *counted,
                   struct count *most, uint32_t *by_blocks, uint32_t *by_bytes) {
        *counted = *most = (struct count){0, 0};
        for (uint32_t k = 0; k < f->processes.n; k++) {
                struct count c;

                if (!is_heir_of(f, k, top))
                        continue;
                c = claim_of(f, k, stack);
                counted->blocks += fabric_site_at(f, k, stack)->adopted_blocks;
                counted->bytes += fabric_site_at(f, k, stack)->adopted_bytes;
                if (c.blocks > most->blocks)
                        most->blocks = c.blocks, *by_blocks = k;
                if (c.bytes > most->bytes)
                        most->bytes = c.bytes, *by_bytes = k;
        }
}

static void settle(struct fabric *f, uint32_t top, uint32_t stack) {
        struct count counted, most;
        uint32_t by_blocks = 0, by_bytes = 0;

        census(f, top, stack, &counted, &most, &by_blocks, &by_bytes);
        if (most.blocks > counted.blocks)
                adopt(f, by_blocks, stack, most.blocks - counted.blocks, 0);
        if (most.bytes > counted.bytes)
                adopt(f, by_bytes, stack, 0, most.bytes - counted.bytes);
}

bool fabric_has_heirs(const struct fabric *f, uint32_t process) {
        for (size_t i = 0; i < f->processes.n; i++)
                if (f->processes.items[i].heir_of == process + 1)
                        return true;
        return f->processes.items[process].has_adopted;
}

/* The process is over; what it had allocated itself is out of the books. */
void fabric_pass_on(struct fabric *f, uint32_t process) {
        size_t n_sites = f->sites.n;

        for (size_t i = 0; i < n_sites; i++) {
                struct fabric_site *s = &f->sites.items[i];

                if (s->slice.process != process)
                        continue;
                s->own_blocks -= s->adopted_blocks, s->own_bytes -= s->adopted_bytes;
                f->all_blocks -= (uint64_t)s->adopted_blocks;
                f->all_bytes -= (uint64_t)s->adopted_bytes;
                s->adopted_blocks = s->adopted_bytes = 0;
        }
        for (size_t i = 0; i < n_sites; i++)
                if (is_heir_of(f, f->sites.items[i].slice.process, top_of(f, process)))
                        settle(f, top_of(f, process), f->sites.items[i].slice.stack);
}

/* An heir has released an inherited block, which is out of its list. */
void fabric_heir_release(struct fabric *f, uint32_t process, uint32_t stack, uint64_t size_bytes) {
        uint32_t top = top_of(f, process), unused = 0;
        struct count counted, most, claim, less;
        struct fabric_site *s = fabric_site_at(f, process, stack);
        struct count a = {s->adopted_blocks, s->adopted_bytes};

        if (!f->o.passes_on || !is_heir_of(f, process, top))
                return;
        claim = claim_of(f, process, stack);
        census(f, top, stack, &counted, &most, &unused, &unused);
        less = (struct count){MAX(a.blocks - claim.blocks, (int64_t)0),
                              MAX(a.bytes - claim.bytes, (int64_t)0)};
        less.blocks = MAX(less.blocks, MIN(a.blocks, counted.blocks - most.blocks));
        less.bytes = MAX(less.bytes, MIN(a.bytes, counted.bytes - most.bytes));
        adopt(f, process, stack, -MIN(less.blocks, (int64_t)1),
              -MIN(less.bytes, (int64_t)size_bytes));
        settle(f, top, stack);
}

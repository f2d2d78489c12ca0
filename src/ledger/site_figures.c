/* SPDX-License-Identifier: MIT */
#include "ledger/site_figures.h"

#include <stdio.h>
#include <stdlib.h>

#include "ledger/heritage.h"
#include "trace/writer.h"

void sites_init(struct sites *s, struct trace_writer *w) {
        memset(s, 0, sizeof(*s));
        s->writer = w;
        s->slice = 1;
        s->all_peak_no = 1;
}

void sites_done(struct sites *s) {
        for (size_t i = 0; i < s->processes.n; i++)
                figures_free(s->processes.items[i]);
        vec_free(&s->processes);
        vec_free(&s->over);
        vec_free(&s->heirs);
        ended_done(&s->ended);
        for (size_t i = 0; i < s->pages.n; i++)
                free(s->pages.items[i]);
        vec_free(&s->pages);
        vec_free(&s->rare);
        vec_free(&s->totals);
        vec_free(&s->hints);
        vec_free(&s->touched_sites);
        vec_free(&s->touched_processes);
        moves_done(&s->moves);
        vec_free(&s->rows);
        vec_free(&s->counts);
        vec_free(&s->free_sites);
        memset(s, 0, sizeof(*s));
}

size_t sites_size_bytes(const struct sites *s) {
        return s->pages.n * SITES_PER_PAGE * sizeof(struct site) +
               s->rare.cap * sizeof(s->rare.items[0]) + s->totals.cap * sizeof(s->totals.items[0]) +
               s->hints.cap * sizeof(s->hints.items[0]) + ended_size_bytes(&s->ended) +
               s->rows.cap * sizeof(s->rows.items[0]) + moves_size_bytes(&s->moves) +
               s->n_inherited_lines * sizeof(struct inherited);
}

/* ---- changes of one site ------------------------------------------------------------------------ */

struct amount site_now(const struct sites *s, uint32_t idx) {
        const struct site *x = sites_at(s, idx);
        const struct site_rare *rare = &s->rare.items[idx];

        return (struct amount){
                rare->inherited.blocks + (int64_t)x->n_allocs - (int64_t)x->n_frees,
                rare->inherited.bytes + (int64_t)(x->alloc_bytes - x->free_bytes),
        };
}

struct amount site_own_now(const struct sites *s, uint32_t idx) {
        const struct site *x = sites_at(s, idx);
        const struct site_rare *rare = &s->rare.items[idx];

        return (struct amount){
                (int64_t)x->n_allocs - (int64_t)x->n_frees + (int64_t)x->n_inherited_frees -
                        rare->gone.blocks,
                (int64_t)(x->alloc_bytes - (x->free_bytes - rare->inherited_free_bytes)) -
                        rare->gone.bytes,
        };
}

void sites_begin_site(struct sites *s, struct site *x, uint32_t idx) {
        uint32_t process = x->process, stack = x->stack;

        memset(x, 0, sizeof(*x));
        x->process = process;
        x->stack = stack;
        x->slice = s->slice;
        if (s->is_multi)
                memset(&s->rare.items[idx], 0, sizeof(s->rare.items[idx]));
        vec_push(&s->touched_sites, idx);
}

void sites_note_site_peak(struct sites *s, const struct figures *f, struct site *x, uint32_t idx) {
        if (x->peak_no != f->peak_no) {
                struct amount now = site_now(s, idx);

                x->peak_no = f->peak_no;
                x->peak_blocks = (int32_t)now.blocks;
                x->peak_bytes = now.bytes;
        }
        if (x->all_peak_no != s->all_peak_no) {
                struct amount own = site_own_now(s, idx);

                x->all_peak_no = s->all_peak_no;
                s->rare.items[idx].all_peak = own;
        }
}

static struct site *sites_new_page(void) {
        struct site *page = aligned_alloc(64, SITES_PER_PAGE * sizeof(*page));

        if (!page) {
                fputs("silt: out of memory\n", stderr);
                abort();
        }
        memset(page, 0, SITES_PER_PAGE * sizeof(*page));
        return page;
}

/* A place with nothing in it. */
static uint32_t sites_take_place(struct sites *s) {
        uint32_t idx;

        if (s->free_sites.n > 0) {
                idx = s->free_sites.items[--s->free_sites.n];
                memset(sites_at(s, idx), 0, sizeof(struct site));
                memset(&s->rare.items[idx], 0, sizeof(s->rare.items[idx]));
                memset(&s->totals.items[idx], 0, sizeof(s->totals.items[idx]));
                return idx;
        }
        idx = s->n_sites++;
        if (idx / SITES_PER_PAGE == s->pages.n)
                vec_push(&s->pages, sites_new_page());
        vec_add(&s->rare);
        vec_add(&s->totals);
        return idx;
}

static uint32_t sites_add(struct sites *s, struct figures *f, uint32_t stack) {
        uint32_t idx = sites_take_place(s);
        struct inherited *line = figures_find_inherited(f, stack);
        struct site_total *total = &s->totals.items[idx];
        struct site *x = sites_at(s, idx);

        x->process = f->process;
        x->stack = stack;
        vec_push(&f->sites, idx);
        if (line) {
                line->site = idx;
                s->n_inherited_lines--;
                if (f->first_slice == s->slice) {
                        sites_begin_site(s, x, idx);
                        s->rare.items[idx].inherited =
                                (struct amount){(int64_t)line->n, (int64_t)line->bytes};
                } else {
                        total->n_inherited = line->n;
                        total->inherited_bytes = line->bytes;
                }
        }
        return idx;
}

uint32_t sites_find_slow(struct sites *s, struct figures *f, uint32_t stack) {
        bool added;
        uint64_t *idx = map_put(&f->index, stack, 0, &added);

        if (added)
                *idx = sites_add(s, f, stack);
        while (s->hints.n <= stack)
                vec_push(&s->hints, (struct site_hint){0, 0});
        s->hints.items[stack] = (struct site_hint){f->process + 1, (uint32_t)*idx};
        return (uint32_t)*idx;
}

void sites_touch_process(struct sites *s, struct figures *f, uint64_t now_ns) {
        f->slice = s->slice;
        f->peak_no = 1;
        f->peak_in_slice = (struct peak){(uint64_t)f->live.blocks, (uint64_t)f->live.bytes, now_ns};
        memset(&f->in_slice, 0, sizeof(f->in_slice));
        vec_push(&s->touched_processes, f->process);
}

uint32_t sites_release_inherited(struct sites *s, struct figures *f, uint32_t site,
                                 uint32_t n_blocks, uint64_t bytes, uint64_t now_ns) {
        uint32_t mine = sites_find(s, f, sites_at(s, site)->stack);
        struct site *x = sites_touch(s, f, mine);

        x->n_inherited_frees += n_blocks;
        s->rare.items[mine].inherited_free_bytes += bytes;
        heritage_release(s, f, mine, n_blocks, bytes, now_ns);
        return mine;
}

void sites_release_own(struct sites *s, struct figures *f, uint32_t n_blocks, uint64_t bytes) {
        f->own.blocks -= n_blocks;
        f->own.bytes -= (int64_t)bytes;
        s->all_live.blocks -= n_blocks;
        s->all_live.bytes -= (int64_t)bytes;
}

void sites_note_all_peak(struct sites *s, uint64_t now_ns) {
        if (s->all_live.bytes <= (int64_t)s->all_peak_in_slice.bytes)
                return;
        s->all_peak_in_slice =
                (struct peak){(uint64_t)s->all_live.blocks, (uint64_t)s->all_live.bytes, now_ns};
        s->all_peak_no++;
}

/* ---- processes ---------------------------------------------------------------------------------- */

static int inherited_compare(const void *a, const void *b) {
        const struct inherited *x = a, *y = b;

        return x->stack < y->stack ? -1 : x->stack > y->stack;
}

struct inherited *figures_find_inherited(struct figures *f, uint32_t stack) {
        struct inherited key = {.stack = stack};

        if (f->inherited.n == 0)
                return NULL;
        if (!f->inherited_is_sorted) {
                qsort(f->inherited.items, f->inherited.n, sizeof(key), inherited_compare);
                f->inherited_is_sorted = true;
        }
        return bsearch(&key, f->inherited.items, f->inherited.n, sizeof(key), inherited_compare);
}

static void sites_become_multi(struct sites *s, uint64_t now_ns) {
        if (sites_slice_is_dirty(s))
                sites_end_slice(s, now_ns, SITES_CHECKPOINT_WHEN_DUE);
        s->is_multi = true;
        for (size_t i = 0; i < s->processes.n; i++) {
                struct figures *f = s->processes.items[i];

                if (!f)
                        continue;
                s->all_peak = f->peak;
                if (f->is_over) /* what it held went with it, as at an exec */
                        continue;
                f->own = f->live; /* one process so far: nothing was inherited */
                s->all_live = f->live;
        }
        s->all_peak_in_slice =
                (struct peak){(uint64_t)s->all_live.blocks, (uint64_t)s->all_live.bytes, now_ns};
        s->all_peak_no = 1;
}

struct figures *sites_add_process(struct sites *s, uint32_t process, struct figures *ancestor,
                                  inherited_vec *inherited, uint64_t now_ns) {
        struct figures *f;

        for (size_t i = 0; i < s->processes.n && !s->is_multi; i++)
                if (s->processes.items[i])
                        sites_become_multi(s, now_ns);
        while (s->processes.n <= process)
                vec_push(&s->processes, NULL);
        f = calloc(1, sizeof(*f));
        if (!f) {
                fputs("silt: out of memory\n", stderr);
                abort();
        }
        f->process = process;
        f->ancestor = ancestor ? figures_add_heir(ancestor) : NULL;
        f->first_thread = TRACE_NO_THREAD;
        f->first_slice = s->slice;
        if (inherited) {
                f->inherited = *inherited;
                memset(inherited, 0, sizeof(*inherited));
                s->n_inherited_lines += f->inherited.n;
                s->n_lines_in_slice += f->inherited.n;
        }
        for (size_t i = 0; i < f->inherited.n; i++) {
                f->live.blocks += (int64_t)f->inherited.items[i].n;
                f->live.bytes += (int64_t)f->inherited.items[i].bytes;
        }
        s->processes.items[process] = f;
        sites_touch_process(s, f, now_ns);
        heritage_begin(s, f, now_ns);
        return f;
}

/* Own blocks of a site alive now: before the slice and in it. */
static struct amount site_own_alive(const struct sites *s, uint32_t idx) {
        const struct site_total *t = &s->totals.items[idx];
        struct amount a = {
                (int64_t)(t->n_allocs - (t->n_frees - t->n_inherited_frees)),
                (int64_t)(t->alloc_bytes - (t->free_bytes - t->inherited_free_bytes)),
        };

        if (sites_at(s, idx)->slice == s->slice) {
                struct amount now = site_own_now(s, idx);

                a.blocks += now.blocks;
                a.bytes += now.bytes;
        }
        return a;
}

void sites_end_process(struct sites *s, struct figures *f, uint64_t now_ns) {
        f->is_over = true;
        vec_push(&s->over, f);
        if (!s->is_multi)
                return;
        sites_counts(s, f, now_ns);
        for (size_t i = 0; i < f->sites.n; i++) {
                uint32_t idx = f->sites.items[i];
                struct amount a = site_own_alive(s, idx);

                if (a.blocks == 0 && a.bytes == 0)
                        continue;
                sites_touch(s, f, idx);
                s->rare.items[idx].gone.blocks += a.blocks;
                s->rare.items[idx].gone.bytes += a.bytes;
        }
        s->all_live.blocks -= f->own.blocks;
        s->all_live.bytes -= f->own.bytes;
        f->own = (struct amount){0, 0};
        heritage_pass_on(s, f, now_ns);
}

void sites_snapshot(struct sites *s, struct figures *f, inherited_vec *ret) {
        vec_clear(ret);
        for (size_t i = 0; i < f->inherited.n; i++)
                if (f->inherited.items[i].site == UINT32_MAX)
                        vec_push(ret, f->inherited.items[i]);
        for (size_t i = 0; i < f->sites.n; i++) {
                uint32_t idx = f->sites.items[i];
                struct site_total *t = &s->totals.items[idx];
                const struct site *x = sites_at(s, idx);
                uint64_t n = t->n_inherited + t->n_allocs - t->n_frees;
                uint64_t bytes = t->inherited_bytes + t->alloc_bytes - t->free_bytes;

                if (x->slice == s->slice) {
                        struct amount now = site_now(s, idx);

                        n += (uint64_t)now.blocks;
                        bytes += (uint64_t)now.bytes;
                }
                if (n == 0)
                        continue;
                t->is_handed_down = true;
                vec_push(ret, (struct inherited){x->stack, UINT32_MAX, n, bytes});
        }
}

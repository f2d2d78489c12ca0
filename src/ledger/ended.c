/* SPDX-License-Identifier: MIT */
#include "ledger/ended.h"

#include <stdlib.h>

#include "ledger/site_figures.h"

void ended_done(struct ended *e) {
        vec_free(&e->sites);
        vec_free(&e->counts);
}

size_t ended_size_bytes(const struct ended *e) {
        return e->sites.cap * sizeof(e->sites.items[0]) +
               e->counts.cap * sizeof(e->counts.items[0]);
}

static void ended_keep_bound(struct ended *e) {
        if (e->sites.n * sizeof(e->sites.items[0]) + e->counts.n * sizeof(e->counts.items[0]) <=
            ENDED_MAX_BYTES)
                return;
        ended_done(e);
        e->is_full = true;
}

static void ended_add_site(struct ended *e, const struct ended_site *site) {
        if (e->is_full || site->n_allocs + site->n_frees + site->n_inherited == 0)
                return;
        vec_push(&e->sites, *site);
        ended_keep_bound(e);
}

static void ended_add_counts(struct ended *e, const struct trace_counts *counts) {
        if (e->is_full)
                return;
        vec_push(&e->counts, *counts);
        ended_keep_bound(e);
}

struct ended_site sites_sum(const struct sites *s, uint32_t idx) {
        const struct site_total *t = &s->totals.items[idx];

        return (struct ended_site){
                .process = sites_at(s, idx)->process,
                .stack = sites_at(s, idx)->stack,
                .n_allocs = t->n_allocs,
                .alloc_bytes = t->alloc_bytes,
                .n_frees = t->n_frees,
                .free_bytes = t->free_bytes,
                .n_temporary = t->n_temporary,
                .n_reallocs = t->n_reallocs,
                .n_inherited = t->n_inherited,
                .inherited_bytes = t->inherited_bytes,
                .n_inherited_frees = t->n_inherited_frees,
                .inherited_free_bytes = t->inherited_free_bytes,
        };
}

struct ended_site inherited_sum(const struct figures *f, const struct inherited *line) {
        return (struct ended_site){
                .process = f->process,
                .stack = line->stack,
                .n_inherited = line->n,
                .inherited_bytes = line->bytes,
        };
}

struct trace_site ended_site_row(const struct ended_site *site) {
        return (struct trace_site){
                .process = site->process,
                .stack = site->stack,
                .n_allocs = site->n_allocs,
                .alloc_bytes = site->alloc_bytes,
                .n_frees = site->n_frees,
                .free_bytes = site->free_bytes,
                .n_temporary = site->n_temporary,
                .n_reallocs = site->n_reallocs,
                .n_inherited = site->n_inherited,
                .inherited_bytes = site->inherited_bytes,
                .n_inherited_frees = site->n_inherited_frees,
                .inherited_free_bytes = site->inherited_free_bytes,
        };
}

/* ---- processes that go -------------------------------------------------------------------------- */

void figures_free(struct figures *f) {
        if (!f)
                return;
        vec_free(&f->inherited);
        vec_free(&f->sites);
        map_done(&f->index);
        free(f);
}

/* What it inherited and never touched. */
static void figures_file_inherited(struct sites *s, struct figures *f) {
        for (size_t i = 0; i < f->inherited.n; i++)
                if (f->inherited.items[i].site == UINT32_MAX) {
                        struct ended_site sum = inherited_sum(f, &f->inherited.items[i]);

                        ended_add_site(&s->ended, &sum);
                        s->n_inherited_lines--;
                }
        if (f->n_heirs == 0 ||
            !f->ancestor) /* else heritage.c asks what of its blocks was not its own */
                vec_free(&f->inherited);
}

/* Keeps the sites of blocks that children may have. */
static void figures_file(struct sites *s, struct figures *f) {
        struct trace_counts counts;
        size_t n_kept = 0;

        for (size_t i = 0; i < f->sites.n; i++) {
                uint32_t idx = f->sites.items[i];
                struct ended_site sum = sites_sum(s, idx);

                ended_add_site(&s->ended, &sum);
                if (s->totals.items[idx].is_handed_down)
                        f->sites.items[n_kept++] = idx;
                else
                        vec_push(&s->free_sites, idx);
        }
        f->sites.n = n_kept;
        figures_file_inherited(s, f);
        map_done(&f->index);
        sites_get_counts(s, f, &counts);
        ended_add_counts(&s->ended, &counts);
        f->is_filed = true;
}

static void figures_go(struct sites *s, struct figures *f) {
        for (size_t i = 0; i < f->sites.n; i++)
                vec_push(&s->free_sites, f->sites.items[i]);
        figures_remove_heir(f->ancestor);
        s->processes.items[f->process] = NULL;
        figures_free(f);
}

void sites_release_over(struct sites *s) {
        size_t n_kept = 0;

        if (!s->is_multi) /* the sum of all begins with what the first one has */
                return;
        /* children first: they came later */
        for (size_t i = s->over.n; i-- > 0;) {
                struct figures *f = s->over.items[i];

                if (f->process == s->main_process)
                        continue;
                if (!f->is_filed)
                        figures_file(s, f);
                if (f->n_heirs == 0) {
                        figures_go(s, f);
                        s->over.items[i] = NULL;
                }
        }
        for (size_t i = 0; i < s->over.n; i++)
                if (s->over.items[i])
                        s->over.items[n_kept++] = s->over.items[i];
        s->over.n = n_kept;
}

/* SPDX-License-Identifier: MIT */
#include "symbol/kept_names.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/vec.h"

/* What the names of one module amount to. */
struct worth {
        size_t n_lines, n_sure, n_named; /* locations */
};

/* Locations in no module come last, as one. */
static size_t module_of(const struct trace_view *v, const struct trace_symbol *s) {
        uint32_t module =
                s->location < v->n_locations ? v->locations[s->location].module : UINT32_MAX;

        return MIN((size_t)module, v->n_modules);
}

static struct worth *weigh(const struct trace_view *v, const struct trace_symbol *symbols,
                           size_t n) {
        struct worth *all = calloc(v->n_modules + 1, sizeof(*all));

        if (!all)
                abort();
        for (size_t i = 0; i < n; i++) {
                const struct trace_symbol *s = &symbols[i];
                struct worth *w = &all[module_of(v, s)];

                if (i > 0 && symbols[i - 1].location == s->location)
                        continue; /* a chain of inlined functions is one location */
                w->n_lines += s->line > 0;
                w->n_sure += s->function[0] && !s->guess;
                w->n_named += s->function[0] != 0;
        }
        return all;
}

static bool is_better(const struct worth *a, const struct worth *b) {
        if (a->n_lines != b->n_lines)
                return a->n_lines > b->n_lines;
        if (a->n_sure != b->n_sure)
                return a->n_sure > b->n_sure;
        return a->n_named > b->n_named;
}

/* Both lists are sorted by location, and a location is of one module: merged, they stay sorted. */
static void merge_symbols(struct symbol_table *t, const struct trace_view *v, const bool *is_kept) {
        VEC(struct trace_symbol) all = {0};
        size_t k = 0;

        for (size_t i = 0; i < t->n_symbols || k < v->n_symbols;) {
                bool is_old =
                        k < v->n_symbols &&
                        (i == t->n_symbols || v->symbols[k].location <= t->symbols[i].location);
                struct trace_symbol s = is_old ? v->symbols[k++] : t->symbols[i++];

                if (is_kept[module_of(v, &s)] != is_old)
                        continue;
                if (is_old) { /* the view's texts end with its reader */
                        s.function = arena_strdup(t->arena, s.function);
                        s.file = arena_strdup(t->arena, s.file);
                }
                vec_push(&all, s);
        }
        free(t->symbols);
        t->symbols = all.items;
        t->n_symbols = all.n;
}

static void restore_module(struct symbol_table *t, const struct trace_module_names *old) {
        for (size_t i = 0; i < t->n_modules; i++)
                if (t->modules[i].module == old->module) {
                        t->modules[i] = *old;
                        t->modules[i].file = arena_strdup(t->arena, old->file);
                        t->modules[i].text = arena_strdup(t->arena, old->text);
                }
}

size_t kept_names_put_back(struct symbol_table *t, const struct trace_view *v) {
        struct worth *old = weigh(v, v->symbols, v->n_symbols);
        struct worth *new = weigh(v, t->symbols, t->n_symbols);
        bool *is_kept = calloc(v->n_modules + 1, sizeof(*is_kept));
        size_t n_kept = 0;

        if (!is_kept)
                abort();
        for (size_t m = 0; m <= v->n_modules; m++) {
                is_kept[m] = is_better(&old[m], &new[m]);
                n_kept += is_kept[m];
        }
        if (n_kept) {
                merge_symbols(t, v, is_kept);
                for (size_t i = 0; i < v->n_module_names; i++)
                        if (v->module_names[i].module < v->n_modules &&
                            is_kept[v->module_names[i].module])
                                restore_module(t, &v->module_names[i]);
        }
        free(old);
        free(new);
        free(is_kept);
        return n_kept;
}

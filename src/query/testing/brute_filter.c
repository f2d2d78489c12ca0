/* SPDX-License-Identifier: MIT */
#include "query/testing/brute_filter.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "name/name.h"
#include "query/testing/brute.h"
#include "query/testing/brute_lives.h"
#include "query/testing/brute_path.h"

/* ---- conditions ------------------------------------------------------------------------------ */

static bool matches(const regex_t *re, const char *text) {
        return text[0] && regexec(re, text, 0, NULL, 0) == 0;
}

/* For each location whether one of its frames matches. */
static void match_locations(const struct brute_lives *b, const regex_t *re, const char *kind,
                            bool *ret) {
        const struct trace_view *v = b->v;

        for (size_t i = 0; i < v->n_locations && strcmp(kind, "module") == 0; i++)
                ret[i] = v->locations[i].module < v->n_modules &&
                         matches(re, v->modules[v->locations[i].module].path);
        for (size_t i = 0; i < v->n_symbols && strcmp(kind, "file") == 0; i++)
                ret[v->symbols[i].location] |= matches(re, v->symbols[i].file);
        for (size_t i = 0; i < v->n_symbols && strcmp(kind, "function") == 0; i++)
                ret[v->symbols[i].location] |=
                        !v->symbols[i].guess && matches(re, v->symbols[i].function);
}

/* Symbols are sorted by location. */
static size_t first_symbol(const struct trace_view *v, uint32_t location) {
        size_t low = 0, high = v->n_symbols;

        while (low < high) {
                size_t mid = low + (high - low) / 2;

                if (v->symbols[mid].location < location)
                        low = mid + 1;
                else
                        high = mid;
        }
        return low;
}

/* Whether the code that asked matches: the first frame that people are shown. */
static bool asker_matches(const struct brute_lives *b, struct names *names, const regex_t *re,
                          uint32_t stack) {
        VEC(struct name_frame) frames = {0};
        struct name_stack shown = {0};
        bool found;

        for (; stack != 0; stack = b->v->stacks[stack].parent) {
                uint32_t location = b->v->stacks[stack].location, module;
                const char *path = "";
                size_t n = frames.n;

                module = b->v->locations[location].module;
                if (module < b->v->n_modules)
                        path = b->v->modules[module].path;
                for (size_t i = first_symbol(b->v, location);
                     i < b->v->n_symbols && b->v->symbols[i].location == location; i++) {
                        const struct trace_symbol *s = &b->v->symbols[i];

                        vec_push(&frames, (struct name_frame){s->function, s->file, path,
                                                              b->v->locations[location].offset,
                                                              s->line, s->inlined, s->guess});
                        if (trace_symbol_begin(s, &frames.items[frames.n - 1].offset)) {
                                frames.items[frames.n - 1].function = "";
                                frames.items[frames.n - 1].guess = false;
                        }
                }
                if (frames.n == n)
                        vec_push(&frames,
                                 (struct name_frame){"", "", path, b->v->locations[location].offset,
                                                     0, false, false});
        }
        name_fold(names, frames.items, frames.n, &shown);
        found = shown.n > 0 && !frames.items[shown.items[0].frame_idx].guess &&
                matches(re, frames.items[shown.items[0].frame_idx].function);
        name_stack_done(&shown);
        vec_free(&frames);
        return found;
}

static void select_askers(const struct brute_lives *b, const struct brute_condition *c,
                          bool *selected) {
        struct names *names;
        regex_t re;

        if (names_load(&(struct name_sources){0}, &names, NULL) < 0 ||
            regcomp(&re, c->pattern, REG_EXTENDED | REG_NOSUB) != 0)
                abort();
        for (uint32_t i = 0; i < b->v->n_stacks; i++)
                selected[i] &=
                        asker_matches(b, names, &re, i) != (strncmp(c->kind, "not-", 4) == 0);
        regfree(&re);
        names_free(names);
}

/* For each stack whether some frame of it matches. */
static void select_stacks(const struct brute_lives *b, const struct brute_condition *c,
                          bool *selected) {
        bool is_negated = strncmp(c->kind, "not-", 4) == 0;
        const char *kind = is_negated ? c->kind + 4 : c->kind;
        bool *locations = calloc(b->v->n_locations + 1, sizeof(bool));
        regex_t re;

        if (!locations || regcomp(&re, c->pattern, REG_EXTENDED | REG_NOSUB) != 0)
                abort();
        match_locations(b, &re, kind, locations);
        for (uint32_t i = 0; i < b->v->n_stacks; i++) {
                bool found = false;

                for (uint32_t s = i; s != 0; s = b->v->stacks[s].parent)
                        found |= locations[b->v->stacks[s].location];
                selected[i] &= found != is_negated;
        }
        regfree(&re);
        free(locations);
}

static bool has_id(const struct brute_condition *c, uint64_t id) {
        for (unsigned i = 0; i < c->n_ids; i++)
                if (c->ids[i] == id)
                        return true;
        return false;
}

static bool thread_matches(const struct brute_lives *b, const struct brute_condition *c,
                           uint32_t thread) {
        const struct trace_thread_info *t = &b->v->threads[thread];
        regex_t re;
        bool found;

        if (!c->pattern)
                return has_id(c, t->start.tid);
        if (regcomp(&re, c->pattern, REG_EXTENDED | REG_NOSUB) != 0)
                abort();
        found = matches(&re, t->name);
        regfree(&re);
        return found;
}

static bool copy_holds(const struct brute_lives *b, const struct brute_condition *c,
                       const struct copy *x, const bool *threads) {
        const struct trace_process_info *p = &b->v->processes[x->process];
        uint64_t last_ns = x->died_ns;

        if (last_ns == UINT64_MAX)
                last_ns = p->has_end ? MIN(p->end.end_ns, b->v->end_ns) : b->v->end_ns;
        if (strcmp(c->kind, "thread") == 0)
                return threads[x->thread];
        if (strcmp(c->kind, "process") == 0)
                return has_id(c, p->start.pid);
        if (strcmp(c->kind, "size") == 0)
                return x->size_bytes >= c->min && x->size_bytes <= c->max;
        if (strcmp(c->kind, "lifetime") == 0)
                return MAX(last_ns, x->begin_ns) - x->begin_ns >= c->min &&
                       MAX(last_ns, x->begin_ns) - x->begin_ns < c->max;
        if (strcmp(c->kind, "allocated") == 0)
                return x->begin_ns >= c->min && x->begin_ns < c->max;
        if (strcmp(c->kind, "alive-at") == 0)
                return x->begin_ns < c->min && x->died_ns >= c->min;
        if (strcmp(c->kind, "freed-before") == 0)
                return x->died_ns < c->min;
        return true; /* on the call path */
}

/* For each copy whether the filter selects it. */
static bool *select_copies(const struct brute_lives *b, const struct brute_filter *f) {
        bool *selected = calloc(b->copies.n + 1, sizeof(bool));
        bool *stacks = calloc(b->v->n_stacks + 1, sizeof(bool));
        bool *threads[BRUTE_MAX_CONDITIONS];

        if (!selected || !stacks)
                abort();
        memset(stacks, true, b->v->n_stacks);
        for (unsigned i = 0; i < f->n; i++) {
                const struct brute_condition *c = &f->conditions[i];

                threads[i] = calloc(b->v->n_threads + 1, sizeof(bool));
                if (strcmp(c->kind, "thread") == 0)
                        for (uint32_t t = 0; t < b->v->n_threads; t++)
                                threads[i][t] = thread_matches(b, c, t);
                if (strstr("not-function not-module not-file", c->kind))
                        select_stacks(b, c, stacks);
                if (strstr("not-asked-by", c->kind))
                        select_askers(b, c, stacks);
                if (strstr("not-site", c->kind))
                        brute_path_keep_sites(b->v, c->ids, c->n_ids, c->kind[0] == 'n', stacks);
        }
        for (size_t k = 0; k < b->copies.n; k++) {
                selected[k] = stacks[b->copies.items[k].stack];
                for (unsigned i = 0; i < f->n; i++)
                        selected[k] &=
                                copy_holds(b, &f->conditions[i], &b->copies.items[k], threads[i]);
        }
        for (unsigned i = 0; i < f->n; i++)
                free(threads[i]);
        free(stacks);
        return selected;
}

/* ---- answers --------------------------------------------------------------------------------- */

/* The last step before the window. */
static size_t step_before(const struct brute_lives *b, uint64_t time_ns) {
        size_t last = 0;

        for (size_t i = 1; i < b->steps.n; i++)
                if (b->steps.items[i].time_ns < time_ns)
                        last = i;
        return last;
}

/* The earliest step at which the whole scope, filter or not, held most. */
static size_t peak_step(const struct brute_lives *b, const struct query_scope *s) {
        size_t first = step_before(b, s->from_ns), best;
        bool is_all = s->process == QUERY_ALL;
        uint64_t most = 0;

        /* at the begin: those that died before it hold nothing */
        for (size_t k = 0; k < b->copies.n; k++) {
                const struct copy *c = &b->copies.items[k];

                if (c->born_step <= first && c->died_step > first &&
                    (is_all ? c->owner == c->process && !brute_is_gone(b->v, c->process, s->from_ns)
                            : c->process == s->process))
                        most += c->size_bytes;
        }
        best = first;
        for (size_t i = first + 1; i < b->steps.n; i++) {
                const struct step *x = &b->steps.items[i];
                uint64_t bytes = is_all ? x->all_bytes : x->bytes;

                if (x->time_ns >= s->to_ns)
                        break;
                if ((is_all || x->process == s->process) && bytes > most) {
                        most = bytes;
                        best = i;
                }
        }
        return best;
}

static struct query_site *site_of(struct query_answer *a, struct map *by_stack, uint32_t stack) {
        bool added;
        uint64_t *idx = map_put(by_stack, stack, a->n_sites, &added);

        if (added) {
                a->sites = realloc(a->sites, (a->n_sites + 1) * sizeof(a->sites[0]));
                if (!a->sites)
                        abort();
                a->sites[a->n_sites++] = (struct query_site){.stack = stack, .process = QUERY_ALL};
        }
        return &a->sites[*idx];
}

static void add_to_site(struct query_figures *to, const struct query_figures *f) {
        to->n_allocs += f->n_allocs;
        to->alloc_bytes += f->alloc_bytes;
        to->n_frees += f->n_frees;
        to->free_bytes += f->free_bytes;
        to->n_temporary += f->n_temporary;
        to->n_reallocs += f->n_reallocs;
        to->peak_bytes += f->peak_bytes;
        to->peak_blocks += f->peak_blocks;
        to->begin_bytes += f->begin_bytes;
        to->begin_blocks += f->begin_blocks;
        to->end_bytes += f->end_bytes;
        to->end_blocks += f->end_blocks;
}

static void add_to_totals(struct query_totals *t, const struct query_figures *f) {
        t->n_allocs += f->n_allocs;
        t->alloc_bytes += f->alloc_bytes;
        t->n_frees += f->n_frees;
        t->n_temporary += f->n_temporary;
        t->n_reallocs += f->n_reallocs;
        t->peak_bytes += (uint64_t)f->peak_bytes;
        t->peak_blocks += (uint64_t)f->peak_blocks;
        t->begin_bytes += (uint64_t)f->begin_bytes;
        t->begin_blocks += (uint64_t)f->begin_blocks;
        t->end_bytes += (uint64_t)f->end_bytes;
        t->end_blocks += (uint64_t)f->end_blocks;
}

struct moments {
        size_t from, peak, to; /* steps */
        uint64_t peak_ns;
};

static struct query_figures figures_of(const struct brute_lives *b, const struct query_scope *s,
                                       const struct copy *c, const struct moments *m) {
        bool is_all = s->process == QUERY_ALL, is_own = c->owner == c->process,
             counts_live = !is_all || is_own;
        struct query_figures f = {0};

        if (is_own && c->begin_ns >= s->from_ns && c->begin_ns < s->to_ns) {
                f.n_allocs = 1;
                f.alloc_bytes = c->size_bytes;
                f.n_reallocs = c->by_realloc;
        }
        if (c->died_ns != UINT64_MAX && c->died_ns >= s->from_ns && c->died_ns < s->to_ns) {
                f.n_frees = 1;
                f.free_bytes = c->size_bytes;
                f.n_temporary = c->is_temporary;
        }
        if (counts_live && c->born_step <= m->from && c->died_step > m->from &&
            !(is_all && brute_is_gone(b->v, c->process, s->from_ns))) {
                f.begin_blocks = 1;
                f.begin_bytes = (int64_t)c->size_bytes;
        }
        if (counts_live && c->born_step <= m->peak && c->died_step > m->peak &&
            !(is_all && brute_is_gone(b->v, c->process, m->peak_ns))) {
                f.peak_blocks = 1;
                f.peak_bytes = (int64_t)c->size_bytes;
        }
        if (counts_live && c->born_step <= m->to && c->died_step > m->to &&
            !(is_all && brute_is_gone(b->v, c->process, s->to_ns))) {
                f.end_blocks = 1;
                f.end_bytes = (int64_t)c->size_bytes;
        }
        return f;
}

struct query_answer *brute_lives_ask(struct brute_lives *b, const struct query_scope *scope,
                                     const struct brute_filter *f) {
        struct query_answer *a = calloc(1, sizeof(*a));
        struct moments m = {step_before(b, scope->from_ns), peak_step(b, scope),
                            step_before(b, scope->to_ns), 0};
        bool *selected = select_copies(b, f);
        struct map by_stack = {0};

        m.peak_ns = m.peak == m.from ? scope->from_ns : b->steps.items[m.peak].time_ns;
        if (!a || !(a->processes = calloc(b->v->n_processes + 1, sizeof(a->processes[0]))))
                abort();
        a->scope = *scope;
        a->n_processes = b->v->n_processes;
        for (size_t k = 0; k < b->copies.n; k++) {
                const struct copy *c = &b->copies.items[k];
                struct query_figures x;

                if (!selected[k] || (scope->process != QUERY_ALL && c->process != scope->process))
                        continue;
                x = figures_of(b, scope, c, &m);
                add_to_site(&site_of(a, &by_stack, c->stack)->f, &x);
                add_to_totals(&a->processes[c->process], &x);
                add_to_totals(&a->totals, &x);
        }
        for (size_t i = 0; i < a->n_sites; i++)
                a->totals.n_sites += a->sites[i].f.n_allocs > 0;
        for (size_t i = 0; i < b->lost.n; i++) {
                const struct lost *l = &b->lost.items[i];

                if (l->time_ns < scope->from_ns || l->time_ns >= scope->to_ns)
                        continue;
                a->processes[l->process].n_lost += l->n;
                if (scope->process == QUERY_ALL || scope->process == l->process)
                        a->totals.n_lost += l->n;
        }
        a->totals.peak_ns = m.peak_ns;
        map_done(&by_stack);
        free(selected);
        return a;
}

void brute_lives_each_block(struct brute_lives *b, const struct query_scope *scope,
                            const struct brute_filter *f,
                            void (*fn)(void *ctx, uint64_t seq, uint64_t end_ns), void *ctx) {
        bool *selected = select_copies(b, f);

        for (size_t k = 0; k < b->copies.n; k++) {
                const struct copy *c = &b->copies.items[k];

                if (selected[k] && c->owner == c->process &&
                    (scope->process == QUERY_ALL || c->process == scope->process) &&
                    c->begin_ns >= scope->from_ns && c->begin_ns < scope->to_ns)
                        fn(ctx, c->seq, c->died_ns);
        }
        free(selected);
}

/* ---- timelines ------------------------------------------------------------------------------- */

struct change {
        uint64_t step; /* takes place at it; ends of processes: before it */
        uint64_t time_ns;
        int64_t bytes;
        bool is_end;
};

static int change_compare(const void *a, const void *b) {
        const struct change *x = a, *y = b;

        if (x->step != y->step)
                return x->step < y->step ? -1 : 1;
        if (x->is_end != y->is_end)
                return x->is_end ? -1 : 1;
        return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

static size_t column_of(const struct query_scope *s, size_t n_columns, uint64_t time_ns) {
        size_t i;

        if (time_ns <= s->from_ns)
                return 0;
        i = (size_t)((__uint128_t)(time_ns - s->from_ns) * n_columns / (s->to_ns - s->from_ns));
        return MIN(i, n_columns - 1);
}

/* The first step behind the process's end; UINT64_MAX: none. */
static uint64_t step_behind_end(const struct brute_lives *b, uint32_t process) {
        const struct trace_process_info *p = &b->v->processes[process];
        size_t i = b->steps.n;

        if (!brute_is_gone(b->v, process, UINT64_MAX))
                return UINT64_MAX;
        while (i > 1 && b->steps.items[i - 1].time_ns > p->end.end_ns)
                i--;
        return i;
}

void brute_lives_columns(struct brute_lives *b, const struct query_scope *scope,
                         const struct brute_filter *f, size_t n_columns, uint64_t *ret_bytes) {
        bool *selected = select_copies(b, f), is_all = scope->process == QUERY_ALL;
        uint64_t *ends = calloc(b->v->n_processes + 1, sizeof(ends[0])), now_ns = scope->from_ns;
        VEC(struct change) changes = {0};
        int64_t level = 0;

        if (!ends)
                abort();
        for (uint32_t p = 0; p < b->v->n_processes; p++)
                ends[p] = is_all ? step_behind_end(b, p) : UINT64_MAX;
        memset(ret_bytes, 0, n_columns * sizeof(ret_bytes[0]));
        for (size_t k = 0; k < b->copies.n; k++) {
                const struct copy *c = &b->copies.items[k];
                struct change end = {c->died_step, c->died_ns, -(int64_t)c->size_bytes, false};

                if (!selected[k] ||
                    (is_all ? c->owner != c->process : c->process != scope->process))
                        continue;
                vec_push(&changes,
                         (struct change){c->born_step, c->born_ns, (int64_t)c->size_bytes, false});
                if (ends[c->process] < end.step) {
                        end.step = ends[c->process];
                        end.time_ns = b->v->processes[c->process].end.end_ns;
                        end.is_end = true;
                }
                vec_push(&changes, end);
        }
        if (changes.n)
                qsort(changes.items, changes.n, sizeof(changes.items[0]), change_compare);
        for (size_t i = 0; i < changes.n; i++) {
                const struct change *x = &changes.items[i];
                /* what happens in one step is seen when all of it has */
                bool is_whole = i + 1 == changes.n || changes.items[i + 1].step != x->step ||
                                changes.items[i + 1].is_end != x->is_end ||
                                (x->is_end && changes.items[i + 1].time_ns != x->time_ns);

                if (x->time_ns >= scope->to_ns)
                        break;
                if (x->time_ns >= scope->from_ns &&
                    (i == 0 || changes.items[i - 1].step != x->step ||
                     changes.items[i - 1].time_ns != x->time_ns)) {
                        for (size_t k = column_of(scope, n_columns, now_ns);
                             k <= column_of(scope, n_columns, x->time_ns); k++)
                                ret_bytes[k] = MAX(ret_bytes[k], (uint64_t)level);
                        now_ns = x->time_ns;
                }
                level += x->bytes;
                if (is_whole && x->time_ns >= scope->from_ns) {
                        size_t k = column_of(scope, n_columns, now_ns);

                        ret_bytes[k] = MAX(ret_bytes[k], (uint64_t)level);
                }
        }
        for (size_t k = column_of(scope, n_columns, now_ns); k < n_columns; k++)
                ret_bytes[k] = MAX(ret_bytes[k], (uint64_t)level);
        vec_free(&changes);
        free(selected);
        free(ends);
}

/* SPDX-License-Identifier: MIT */
/* Sites put together by what their call paths have in common, or by process; blocks by thread or size. */
#include "query/group.h"

#include <errno.h>
#include <string.h>

#include "query/path_weights.h"
#include "query/query_internal.h"
#include "query/time_answer.h"

static const char *const by_names[QUERY_N_BY] = {
        [QUERY_BY_SITE] = "site",       [QUERY_BY_FUNCTION] = "function",
        [QUERY_BY_MODULE] = "module",   [QUERY_BY_LINE] = "line",
        [QUERY_BY_CRATE] = "crate",     [QUERY_BY_COMPONENT] = "component",
        [QUERY_BY_THREAD] = "thread",   [QUERY_BY_SIZE] = "size",
        [QUERY_BY_PROCESS] = "process",
};

const char *query_by_name(enum query_by by) {
        return by_names[by];
}

int query_by_parse(const char *name, enum query_by *ret, struct err *reterr) {
        for (unsigned i = 0; i < QUERY_N_BY; i++)
                if (strcmp(name, by_names[i]) == 0) {
                        *ret = (enum query_by)i;
                        return 0;
                }
        return err_set(
                reterr, -EINVAL,
                "cannot group by '%s': use site, function, module, line, crate, component, thread, size or process",
                name);
}

struct query_groups *query_groups_free(struct query_groups *g) {
        if (!g)
                return NULL;
        query_answer_free(g->answer);
        free(g->rows);
        free(g);
        return NULL;
}

/* ---- keys ------------------------------------------------------------------------------------ */

enum { KEY_NO_STACK = CALL_PATH_NO_KEY };

bool group_is_by_block(enum query_by by) {
        return by == QUERY_BY_THREAD || by == QUERY_BY_SIZE;
}

static bool is_by_path(enum query_by by) {
        return !group_is_by_block(by) && by != QUERY_BY_PROCESS;
}

static enum call_path_merge merge_of(enum query_by by) {
        switch (by) {
        case QUERY_BY_FUNCTION: return CALL_PATH_BY_FUNCTION;
        case QUERY_BY_MODULE: return CALL_PATH_BY_MODULE;
        case QUERY_BY_LINE: return CALL_PATH_BY_SOURCE;
        case QUERY_BY_CRATE: return CALL_PATH_BY_CRATE;
        case QUERY_BY_COMPONENT: return CALL_PATH_BY_COMPONENT;
        default: return CALL_PATH_BY_LINE;
        }
}

void group_keys_init(struct group_keys *k, struct query *q, const struct query_group_options *o) {
        *k = (struct group_keys){.by = o->by};
        if (!is_by_path(o->by))
                return;
        call_paths_init(&k->paths, q, merge_of(o->by), o->is_full);
        k->paths.is_of_time = query_metric_time(o->metric);
}

void group_keys_done(struct group_keys *k) {
        if (is_by_path(k->by))
                call_paths_done(&k->paths);
}

/* Call paths that differ only in frames nobody is shown are one. */
static uint64_t key_of_shown(struct call_paths *p) {
        uint64_t hash = p->shown.n;

        for (size_t i = 0; i < p->shown.n; i++)
                hash = map_hash(hash * 31 + call_paths_key(p, p->shown.items[i].number));
        return hash;
}

/* Of the path that is loaded. */
static uint64_t key_of_path(struct group_keys *k, uint32_t stack) {
        struct call_paths *p = &k->paths;

        if (k->by == QUERY_BY_SITE)
                return p->is_full || p->shown.n == 0 ? stack : key_of_shown(p);
        return p->owner == UINT32_MAX ? (uint64_t)KEY_NO_STACK
                                      : call_paths_key(p, p->all.items[p->owner].number);
}

uint64_t group_keys_of_stack(struct group_keys *k, uint32_t stack) {
        call_paths_load(&k->paths, stack);
        return key_of_path(k, stack);
}

uint64_t group_keys_of_life(struct group_keys *k, const struct query_life *l) {
        uint64_t min_bytes, max_bytes;

        switch (k->by) {
        case QUERY_BY_THREAD: return l->thread;
        case QUERY_BY_PROCESS: return l->process;
        case QUERY_BY_SIZE:
                query_size_class(l->size_bytes, &min_bytes, &max_bytes);
                return min_bytes;
        default: return group_keys_of_stack(k, l->stack);
        }
}

uint64_t group_keys_of_row(struct group_keys *k, const struct query_group *row) {
        switch (k->by) {
        case QUERY_BY_THREAD: return row->thread;
        case QUERY_BY_PROCESS: return row->process;
        case QUERY_BY_SIZE: return row->min_bytes;
        default: return group_keys_of_stack(k, row->stack);
        }
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Of a site that is several call paths: those that ask the library through the same function. */
struct part {
        uint64_t row_idx;
        uint32_t stack; /* the first one's */
        struct query_figures f;
};

struct grouping {
        struct query *q;
        bool may_stop; /* whoever asked can be told of it */
        const struct query_group_options *o;
        const struct query_scope *scope;
        struct group_keys keys;
        VEC(struct query_group) rows;
        struct map by_key; /* → index into rows */
        VEC(struct part) parts;
        struct map by_part; /* → index into parts */
        struct map vias;    /* number of a frame → hash of what it is called */
        VEC(uint64_t) seen; /* key → the path it was counted for last */
        uint64_t n_paths;
};

static struct query_group *row_at(struct grouping *g, uint64_t key, bool *ret_added) {
        static const struct query_group nothing = {
                .frame = {.function = "", .file = "", .module = ""},
                .name = "",
                .process = QUERY_ALL,
                .thread = TRACE_NO_THREAD,
        };
        uint64_t *idx = map_put(&g->by_key, key, g->rows.n, ret_added);

        if (*ret_added)
                vec_push(&g->rows, nothing);
        return &g->rows.items[*idx];
}

static void row_add(struct query_group *row, const struct query_figures *f) {
        query_figures_add(&row->self, f);
        query_figures_add(&row->total, f);
        row->n_sites++;
}

static uint64_t hash_label(struct query *q, uint32_t number) {
        struct query_frame f = call_paths_frame(q, number);
        struct name_frame frame = {f.function, f.file,    f.module, f.offset,
                                   f.line,     f.inlined, f.guess};
        uint64_t hash = 14695981039346656037ull;

        if (!f.function[0])
                return 0;
        for (const char *text = name_label(query_names(q), &frame, false); *text; text++)
                hash = (hash ^ (unsigned char)*text) * 1099511628211ull;
        return hash;
}

/* What the program called, as the reader is told it; 0: it asked itself. Names may be long: each is
 * read once. */
static uint64_t key_of_via(struct grouping *g) {
        const struct call_paths *p = &g->keys.paths;
        uint64_t *key;
        uint32_t number;
        bool added;

        if (p->is_full || p->all.n == 0 || p->folded.via_idx == NAME_NO_FRAME)
                return 0;
        number = p->all.items[p->folded.via_idx].number;
        key = map_put(&g->vias, number, 0, &added);
        if (added)
                *key = hash_label(g->q, number);
        return *key;
}

static void part_add(struct grouping *g, const struct query_group *row,
                     const struct query_site *site) {
        uint64_t row_idx = (uint64_t)(row - g->rows.items);
        uint64_t key = map_hash(key_of_via(g) + map_hash(row_idx + 1));
        bool added;
        uint64_t *idx = map_put(&g->by_part, key, g->parts.n, &added);

        if (added)
                vec_push(&g->parts, (struct part){.row_idx = row_idx, .stack = site->stack});
        query_figures_add(&g->parts.items[*idx].f, &site->f);
}

static uint64_t part_size(const struct part *part, enum query_metric m) {
        int64_t value = query_figure_of(&part->f, m).value;

        return value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
}

/* The largest part stands for all. Before rows are sorted. */
static void choose_parts(struct grouping *g) {
        VEC(uint64_t) largest = {0}; /* of each row */

        for (size_t i = 0; i < g->rows.n && g->parts.n; i++)
                vec_push(&largest, 0);
        for (size_t i = 0; i < g->parts.n; i++) {
                const struct part *part = &g->parts.items[i];
                struct query_group *row = &g->rows.items[part->row_idx];
                uint64_t size = part_size(part, g->o->metric);

                row->has_parts |= size && largest.items[part->row_idx];
                if (size > largest.items[part->row_idx]) {
                        largest.items[part->row_idx] = size;
                        row->stack = part->stack;
                }
        }
        vec_free(&largest);
}

static void group_whole_path(struct grouping *g, const struct query_site *site) {
        struct call_paths *p = &g->keys.paths;
        bool added;
        struct query_group *row = row_at(g, key_of_path(&g->keys, site->stack), &added);

        if (added) {
                row->stack = site->stack;
                if (p->asker != UINT32_MAX)
                        row->frame = call_paths_frame(p->q, p->all.items[p->asker].number);
                row->is_task = p->shown.n && p->shown.items[0].is_task;
        }
        row_add(row, &site->f);
        part_add(g, row, site);
}

static struct query_group *row_of_key(struct grouping *g, uint64_t key) {
        struct call_paths *p = &g->keys.paths;
        bool added;
        struct query_group *row = row_at(g, key, &added);

        if (added && key != KEY_NO_STACK) {
                row->frame = call_paths_key_frame(p, (uint32_t)key);
                row->name = p->keys.items[key].text;
        }
        return row;
}

/* Each key of a path counts once, however often it is on it; components that leave their memory to others do not. */
static void group_frames(struct grouping *g, const struct query_site *site) {
        struct call_paths *p = &g->keys.paths;
        uint64_t self = key_of_path(&g->keys, site->stack);
        struct query_group *row = row_of_key(g, self);

        row->stack = row->n_sites == 0 ? site->stack : row->stack;
        query_figures_add(&row->self, &site->f);
        row->n_sites++;
        g->n_paths++;
        if (self == KEY_NO_STACK)
                query_figures_add(&row->total, &site->f);
        for (size_t i = 0; i < p->shown.n; i++) {
                uint32_t key = call_paths_key(p, p->shown.items[i].number);

                while (g->seen.n <= key)
                        vec_push(&g->seen, 0);
                if (g->seen.items[key] == g->n_paths ||
                    (key != self && call_paths_passes_on(p, p->shown.items[i].number)))
                        continue;
                g->seen.items[key] = g->n_paths;
                row = row_of_key(g, key);
                row->is_task |= p->shown.items[i].is_task;
                query_figures_add(&row->total, &site->f);
        }
}

static void group_processes(struct grouping *g, const struct query_site *site) {
        bool added;
        struct query_group *row = row_at(g, site->process, &added);

        row->process = site->process;
        row_add(row, &site->f);
}

static void group_rows(struct grouping *g, const struct query_site *rows, size_t n) {
        for (size_t i = 0; i < n; i++) {
                if (g->may_stop && !query_go_on_at(g->q, i, n))
                        return;
                if (is_by_path(g->o->by))
                        call_paths_load(&g->keys.paths, rows[i].stack);
                if (g->o->by == QUERY_BY_PROCESS)
                        group_processes(g, &rows[i]);
                else if (g->o->by == QUERY_BY_SITE)
                        group_whole_path(g, &rows[i]);
                else
                        group_frames(g, &rows[i]);
        }
}

/* ---- block by block -------------------------------------------------------------------------- */

/* Counts a block in figures of the scope. */
static void group_add_life(struct query_figures *to, const struct query_life *l,
                           const struct query_scope *scope) {
        struct query_figures f = {0};
        int64_t bytes = (int64_t)life_bytes(l), n = l->n_blocks;

        if (life_is_allocated_in(l, scope)) {
                f.n_allocs = l->n_blocks;
                f.alloc_bytes = life_bytes(l);
                f.n_reallocs = l->by_realloc ? l->n_blocks : 0;
        }
        if (life_is_released_in(l, scope)) {
                f.n_frees = l->n_blocks;
                f.free_bytes = life_bytes(l);
                f.n_temporary = l->is_temporary ? l->n_blocks : 0;
        }
        if (l->is_live_at_from)
                f.begin_bytes = bytes, f.begin_blocks = n;
        if (l->is_live_at_peak)
                f.peak_bytes = bytes, f.peak_blocks = n;
        if (l->is_live_at_to)
                f.end_bytes = bytes, f.end_blocks = n;
        life_add_var(f.var, l, scope);
        query_figures_add(to, &f);
}

static bool group_life(void *ctx, const struct query_life *l) {
        struct grouping *g = ctx;
        bool added;
        struct query_group *row = row_at(g, group_keys_of_life(&g->keys, l), &added);

        if (added && g->o->by == QUERY_BY_THREAD)
                row->thread = l->thread;
        if (added && g->o->by == QUERY_BY_SIZE)
                query_size_class(l->size_bytes, &row->min_bytes, &row->max_bytes);
        group_add_life(&row->self, l, g->scope);
        return true;
}

static int group_lives(struct grouping *g, struct query_answer *a, struct err *reterr) {
        bool is_exact;
        int r;

        g->scope = &a->scope;
        r = life_scan(g->q, &a->scope, 0, group_life, g, &is_exact, reterr);
        for (size_t i = 0; i < g->rows.n; i++) {
                query_figures_lower_peak(&g->rows.items[i].self, a);
                g->rows.items[i].total = g->rows.items[i].self;
        }
        if (r < 0)
                return r;
        a->is_exact &= is_exact;
        if (g->q->view->n_dropped_events || g->q->view->meta.flags & TRACE_IS_TOTALS)
                a->known_from_ns = g->q->view->detail_from_ns;
        return 0;
}

static bool group_tick(void *ctx, const struct trace_tick *tick) {
        struct grouping *g = ctx;
        bool added;
        struct query_group *row = row_at(g, tick->thread, &added);

        row->thread = tick->thread;
        row->self.lacks_events = row->self.lacks_blocks = true;
        time_add(&row->self, tick, g->scope->of_time);
        return true;
}

static int group_ticks(struct grouping *g, const struct query_scope *scope, struct err *reterr) {
        int r;

        g->scope = scope;
        r = query_each_tick(g->q, scope, group_tick, g, reterr);
        for (size_t i = 0; i < g->rows.n; i++)
                g->rows.items[i].total = g->rows.items[i].self;
        return r;
}

/* ---- order ----------------------------------------------------------------------------------- */

static int compare_number(uint64_t a, uint64_t b) {
        return a < b ? -1 : a > b;
}

/* Names before numbers: the order must not change when a trace is written anew. */
static int compare_what(const struct query_group *x, const struct query_group *y) {
        int order = strcmp(x->name, y->name);

        if (!order)
                order = strcmp(x->frame.function, y->frame.function);
        if (!order)
                order = strcmp(x->frame.file, y->frame.file);
        if (!order)
                order = compare_number(x->frame.line, y->frame.line);
        if (!order)
                order = strcmp(x->frame.module, y->frame.module);
        if (!order)
                order = compare_number(x->frame.offset, y->frame.offset);
        if (!order)
                order = compare_number(x->process, y->process);
        if (!order)
                order = compare_number(x->thread, y->thread);
        if (!order)
                order = compare_number(x->min_bytes, y->min_bytes);
        return order ? order : compare_number(x->stack, y->stack);
}

static int compare_values(const struct query_figures *x, const struct query_figures *y,
                          enum query_metric m) {
        int64_t a = query_figure_of(x, m).value, b = query_figure_of(y, m).value;

        return a > b ? -1 : a < b;
}

/* By one of the two, where that is equal by the other, and only then by what else they have. */
static int row_compare(const void *a, const void *b, void *options) {
        const struct query_group *x = a, *y = b;
        const struct query_group_options *o = options;
        int self = compare_values(&x->self, &y->self, o->metric);
        int total = compare_values(&x->total, &y->total, o->metric);
        int order = o->by_total ? (total ? total : self) : (self ? self : total);

        if (!order)
                order = query_figures_compare(&x->self, &y->self, o->metric);
        if (!order)
                order = query_figures_compare(&x->total, &y->total, o->metric);
        return order ? order : compare_what(x, y);
}

static void query_sort_groups(struct query_group *rows, size_t n,
                              const struct query_group_options *o) {
        if (n > 1)
                qsort_r(rows, n, sizeof(rows[0]), row_compare, (void *)o);
}

/* ---- asking ---------------------------------------------------------------------------------- */

static struct query_groups *grouping_end(struct grouping *g, struct query_answer *answer) {
        struct query_groups *groups = calloc(1, sizeof(*groups));

        if (!groups)
                abort();
        choose_parts(g);
        query_sort_groups(g->rows.items, g->rows.n, g->o);
        *groups = (struct query_groups){*g->o, answer, g->rows.items, g->rows.n};
        vec_free(&g->seen);
        vec_free(&g->parts);
        map_done(&g->by_part);
        map_done(&g->vias);
        map_done(&g->by_key);
        group_keys_done(&g->keys);
        return groups;
}

struct query_groups *query_group_answer(struct query *q, const struct query_answer *a,
                                        const struct query_group_options *o) {
        struct grouping g = {.q = q, .o = o};

        group_keys_init(&g.keys, q, o);
        group_rows(&g, a->sites, a->n_sites);
        return grouping_end(&g, NULL);
}

int query_group_weights(struct query *q, const struct query_weights *w,
                        const struct query_group_options *o, struct query_groups **ret,
                        struct err *reterr) {
        _cleanup_(query_groups_freep) struct query_groups *groups = NULL;
        struct grouping g = {.q = q, .o = o, .may_stop = true};
        int r;

        if (group_is_by_block(o->by))
                return err_set(reterr, -EINVAL,
                               "only blocks are grouped by %s: group by call path or process",
                               query_by_name(o->by));
        group_keys_init(&g.keys, q, o);
        group_rows(&g, w->rows, w->n);
        groups = grouping_end(&g, NULL);
        r = query_end(q, reterr);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(groups);
        return 0;
}

int query_group(struct query *q, const struct query_scope *scope,
                const struct query_group_options *o, struct query_groups **ret,
                struct err *reterr) {
        _cleanup_(query_answer_freep) struct query_answer *a = NULL;
        _cleanup_(query_groups_freep) struct query_groups *groups = NULL;
        struct grouping g = {.q = q, .o = o, .may_stop = true};
        int r;

        if (scope->of_mappings && group_is_by_block(o->by))
                return err_about(
                        reterr, "group-by",
                        err_set(reterr, -EINVAL,
                                "mappings have no thread and no size class: group them by site, function, module, line, crate, component or process"));
        if (scope->of_time && o->by == QUERY_BY_SIZE)
                return err_about(
                        reterr, "group-by",
                        err_set(reterr, -EINVAL,
                                "time has no size: group it by site, function, module, line, crate, component, thread or process"));
        r = o->by == QUERY_BY_PROCESS ? query_ask_split(q, scope, &a, reterr)
                                      : query_ask_own(q, scope, &a, reterr);

        if (r < 0)
                return r;
        group_keys_init(&g.keys, q, o);
        if (scope->of_time && o->by == QUERY_BY_THREAD)
                r = group_ticks(&g, scope, reterr);
        else if (group_is_by_block(o->by))
                r = group_lives(&g, a, reterr);
        else
                group_rows(&g, a->sites, a->n_sites);
        groups = grouping_end(&g, TAKE_PTR(a));
        if (r >= 0)
                r = query_end(q, reterr);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(groups);
        return 0;
}

/* SPDX-License-Identifier: MIT */
#include "task/task_list.h"

#include <errno.h>
#include <stdlib.h>

#include "reach/heap_functions.h"

enum { MAX_AGED_SLICES = 256 };

/* ---- what a block is ---------------------------------------------------------------------------------------- */

/* Of one table or one function: the same for all blocks that have it. */
struct told_name {
        bool has_name, has_place; /* else it is no code: heads of sources begin with data */
        bool is_merged;           /* other types have the same code */
        const char *function;     /* the query's */
        uint64_t code;            /* that tells the type from others */
        uint32_t type;            /* in the texts */
        enum task_kind kind;
};

struct finding_tasks {
        struct task_list *l;
        struct held_graph *g;
        struct query *q;
        struct site_texts *texts;
        struct map names;   /* address of a table, or of a function → number in told */
        VEC(uint32_t) rows; /* numbers of types: the functions of tables, by table */
        VEC(struct told_name) told;
        struct map reused; /* stack → is_reused */
        struct map kinds;  /* stack → task_kind, of tasks whose type is unknown */
};

static int by_table(const void *a, const void *b, void *ctx) {
        const struct heap_type *types = ctx;
        uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

        if (types[x].table != types[y].table)
                return types[x].table < types[y].table ? -1 : 1;
        return x < y ? -1 : x > y;
}

static void sort_rows(struct finding_tasks *f) {
        const struct heap_graph *h = &f->g->heap;

        for (uint32_t i = 0; i < h->n_types; i++)
                if (h->types[i].kind == TYPE_OTHER)
                        vec_push(&f->rows, i);
        if (f->rows.n)
                qsort_r(f->rows.items, f->rows.n, sizeof(f->rows.items[0]), by_table, h->types);
}

/* Where the functions of a table begin among the rows. */
static size_t find_rows(const struct finding_tasks *f, uint64_t table) {
        const struct heap_type *types = f->g->heap.types;
        size_t low = 0, high = f->rows.n;

        while (low < high) {
                size_t mid = low + (high - low) / 2;

                if (types[f->rows.items[mid]].table < table)
                        low = mid + 1;
                else
                        high = mid;
        }
        return low;
}

static void take_type(struct finding_tasks *f, const char *function, struct told_name *one) {
        struct str type = {0};

        one->kind = task_add_type(function, &type);
        one->type = type.n ? text_pool_add(&f->texts->pool, str_text(&type)) : 0;
        one->is_merged = one->type && task_is_merged(function);
        str_done(&type);
}

/* The first function tells the runtime, and the one that runs the task tells its type: others are often one for several types, which compilers merge. What
 * lies behind a table may be the next one. Recordings of before other functions were kept have the first alone. */
static void take_table(struct finding_tasks *f, uint64_t table, struct told_name *one) {
        const struct heap_type *types = f->g->heap.types;
        size_t first = find_rows(f, table), i = first;
        struct query_frame frame;

        one->code = types[f->rows.items[first]].function;
        one->has_name = held_graph_function(f->g, f->q, one->code, &frame);
        if (!one->has_name)
                return;
        one->function = frame.function;
        if (!task_is_runtime(one->function))
                return;
        for (; i < f->rows.n && types[f->rows.items[i]].table == table; i++)
                if (held_graph_function(f->g, f->q, types[f->rows.items[i]].function, &frame) &&
                    task_is_poll(frame.function)) {
                        one->code = types[f->rows.items[i]].function;
                        take_type(f, frame.function, one);
                        return;
                }
        if (i == first + 1)
                take_type(f, one->function, one);
}

static const struct told_name *name_of(struct finding_tasks *f, const struct heap_type *type,
                                       const struct heap_head *head) {
        uint64_t address = type ? type->table : heap_head_function(head);
        struct told_name one = {.code = address};
        struct query_frame frame;
        bool is_new;
        uint64_t *known = map_put(&f->names, address, f->told.n, &is_new);

        if (!is_new)
                return &f->told.items[*known];
        one.has_place = held_graph_place(f->g, f->q, type ? type->function : address, &frame);
        if (type && type->kind == TYPE_OTHER) {
                take_table(f, address, &one);
        } else if (held_graph_function(f->g, f->q, type ? type->function : address, &frame)) {
                one.has_name = true;
                one.function = frame.function;
                take_type(f, frame.function, &one);
        }
        vec_push(&f->told, one);
        return &f->told.items[f->told.n - 1];
}

/* Where several tables have the function by which a type is told, types share it. */
static void find_merged(struct finding_tasks *f) {
        const struct heap_type *types = f->g->heap.types;
        struct map n_tables = {0};

        for (size_t i = 0; i < f->rows.n; i++)
                if (i == 0 || types[f->rows.items[i]].table != types[f->rows.items[i - 1]].table)
                        ++*map_put(&n_tables, name_of(f, &types[f->rows.items[i]], NULL)->code, 0,
                                   NULL);
        for (size_t i = 0; i < f->told.n; i++) {
                uint64_t n = 0;

                map_get(&n_tables, f->told.items[i].code, &n);
                f->told.items[i].is_merged |= f->told.items[i].type && n > 1;
        }
        map_done(&n_tables);
}

/* Which word leads to the table; TASK_CODE: none, the first is code. */
static int table_word(const struct heap_head *head, uint64_t table) {
        for (int i = 0; table && i < HEAP_HEAD_WORDS; i++)
                if (head->words[i] == table)
                        return i;
        return TASK_CODE;
}

/* ---- groups -------------------------------------------------------------------------------------------------- */

static bool look_at_spawner(void *ctx, const struct query_frame *f) {
        return task_path_look(ctx, f->function);
}

/* By the type, else by the call path that allocated the task. */
static enum task_kind kind_of(struct finding_tasks *f, const struct told_name *name,
                              uint32_t block) {
        struct task_path path = TASK_PATH_BEGIN;
        uint64_t *known;
        bool is_new;

        if (name->type || !f->g->heap.seqs || f->g->stacks[block] == REACH_NO_SITE)
                return name->kind;
        known = map_put(&f->kinds, f->g->stacks[block], 0, &is_new);
        if (is_new) {
                query_each_frame(f->q, f->g->stacks[block], look_at_spawner, &path);
                *known = path.kind;
        }
        return (enum task_kind) * known;
}

static struct task_group *group_of(struct finding_tasks *f, const struct task_layout *layout,
                                   const struct told_name *name, uint32_t block) {
        const struct held_graph *g = f->g;
        bool is_recorded = g->heap.seqs != NULL;
        uint32_t site = is_recorded ? g->heap.blocks[block].site : REACH_NO_SITE;
        struct task_group fresh = {.layout = layout,
                                   .kind = kind_of(f, name, block),
                                   .type = name->type,
                                   .code = name->type ? 0 : name->code,
                                   .is_merged = name->is_merged,
                                   .site = site,
                                   .stack = is_recorded ? g->stacks[block] : REACH_NO_SITE,
                                   .first_seq = UINT64_MAX,
                                   .oldest_ns = UINT64_MAX,
                                   .newest_ns = UINT64_MAX};

        for (size_t i = 0; i < f->l->groups.n; i++) {
                struct task_group *x = &f->l->groups.items[i];

                if (x->layout == layout && x->kind == fresh.kind && x->type == fresh.type &&
                    x->code == fresh.code && x->is_merged == fresh.is_merged && x->site == site)
                        return x;
        }
        vec_push(&f->l->groups, fresh);
        return &f->l->groups.items[f->l->groups.n - 1];
}

static void add_task(struct finding_tasks *f, const struct task_layout *layout,
                     const struct told_name *name, const struct task_word *word, uint32_t block) {
        const struct held_graph *g = f->g;
        struct task_list *l = f->l;
        struct task_group *x = group_of(f, layout, name, block);
        uint64_t size = g->heap.blocks[block].size_bytes;
        uint64_t seq = g->heap.seqs ? g->heap.seqs[block] : HEAP_NO_SEQ;

        vec_push(&l->tasks, (struct task){block, (uint32_t)(x - l->groups.items), *word});
        x->n++;
        x->n_in[word->state]++;
        x->n_handles += word->has_handle;
        x->n_cancelled += word->is_cancelled;
        x->n_given_up += word->is_given_up;
        x->bytes += size;
        x->finished_bytes += word->state == TASK_FINISHED ? size : 0;
        if (seq != HEAP_NO_SEQ) {
                x->first_seq = MIN(x->first_seq, seq);
                x->last_seq = MAX(x->last_seq, seq);
        }
        if (x->kind == TASK_OWN) {
                l->n_own++;
                return;
        }
        l->n++;
        l->n_typeless += !x->type && x->kind != TASK_COROUTINE;
        l->n_in[word->state]++;
        l->bytes += size;
}

static void add_unknown(struct task_list *l, const struct task_layout *layout, bool is_broken,
                        uint64_t size) {
        struct task_unknown *x = NULL;

        for (size_t i = 0; i < l->unknown.n && !x; i++)
                if (l->unknown.items[i].runtime == layout->runtime &&
                    l->unknown.items[i].is_broken == is_broken)
                        x = &l->unknown.items[i];
        if (!x) {
                vec_push(&l->unknown, (struct task_unknown){layout->runtime, is_broken, 0, 0});
                x = &l->unknown.items[l->unknown.n - 1];
        }
        x->n++;
        x->bytes += size;
}

/* Where tasks of a runtime are understood, what has the words of none is memory that was a task's before. */
static void drop_broken(struct task_list *l) {
        size_t n = 0;

        for (size_t i = 0; i < l->unknown.n; i++) {
                const struct task_unknown *x = &l->unknown.items[i];
                bool is_left_over = false;

                for (size_t k = 0; x->is_broken && k < l->groups.n; k++)
                        is_left_over |= l->groups.items[k].layout->runtime == x->runtime;
                if (!is_left_over)
                        l->unknown.items[n++] = *x;
        }
        l->unknown.n = n;
}

struct requester {
        bool is_runtime, is_other;
};

/* The innermost function of a runtime's tells what it wanted the memory for. */
static bool look_at_requester(void *ctx, const struct query_frame *f) {
        static const char *const tasks[] = {"tokio::runtime::", "tokio::task::", "async_task::"};
        struct requester *r = ctx;

        for (size_t i = 0; i < ARRAY_SIZE(tasks); i++)
                r->is_runtime |= strstr(f->function, tasks[i]) != NULL;
        r->is_other = !r->is_runtime && strstr(f->function, "tokio::sync::");
        return !r->is_runtime && !r->is_other;
}

/* By its own call path the block is a channel's or a lock's: what it has of a task's head was there before it. */
static bool is_reused(struct finding_tasks *f, uint32_t block) {
        struct requester r = {0};
        uint64_t *known;
        bool is_new;

        if (!f->g->heap.seqs || f->g->stacks[block] == REACH_NO_SITE)
                return false;
        known = map_put(&f->reused, f->g->stacks[block], false, &is_new);
        if (is_new) {
                query_each_frame(f->q, f->g->stacks[block], look_at_requester, &r);
                *known = r.is_other;
        }
        return *known;
}

static void take_head(struct finding_tasks *f, const struct heap_head *head) {
        const struct heap_graph *h = &f->g->heap;
        uint32_t type = h->type_of ? h->type_of[head->block] : 0;
        uint64_t table = type ? h->types[type - 1].table : 0;
        const struct told_name *name = name_of(f, type ? &h->types[type - 1] : NULL, head);
        const struct task_layout *layout;
        struct task_word word = {0};
        enum task_told told;

        if (!name->has_name) {
                f->l->n_nameless += name->has_place;
                return;
        }
        told = task_layout_find(name->function, head->words, table_word(head, table), &layout,
                                &word);
        switch (told) {
        case TASK_TOLD_NONE: break;
        case TASK_TOLD_UNKNOWN:
        case TASK_TOLD_BROKEN:
                if (!is_reused(f, head->block))
                        add_unknown(f->l, layout, told == TASK_TOLD_BROKEN,
                                    h->blocks[head->block].size_bytes);
                break;
        case TASK_TOLD_KNOWN:
                if (!is_reused(f, head->block))
                        add_task(f, layout, name, &word, head->block);
                break;
        }
}

/* ---- figures of groups --------------------------------------------------------------------------------------- */

/* What would go with them: a task that another task of the list holds alone is counted with that one. */
static int add_retained(struct task_list *l, const struct held_graph *g) {
        const struct reach_dominators *d = &g->holders.dominators;
        bool *is_task = calloc(MAX(g->heap.graph.n_blocks, 1u), sizeof(bool));

        if (!is_task)
                return -ENOMEM;
        for (size_t i = 0; i < l->tasks.n; i++)
                is_task[l->tasks.items[i].block] = true;
        for (size_t i = 0; i < l->tasks.n; i++) {
                const struct task *t = &l->tasks.items[i];
                uint32_t above = d->parent[t->block];

                while (above != REACH_NONE && above < g->heap.graph.n_blocks && !is_task[above])
                        above = d->parent[above];
                if (above == REACH_NONE || above >= g->heap.graph.n_blocks)
                        l->groups.items[t->group].retained_bytes +=
                                MAX(d->retained_bytes[t->block],
                                    g->heap.blocks[t->block].size_bytes);
                else
                        l->groups.items[t->group].retained_bytes +=
                                g->heap.blocks[t->block].size_bytes;
        }
        free(is_task);
        return 0;
}

struct wanted_time {
        uint64_t seq;
        uint64_t *ret_ns; /* how long ago */
};

static int by_seq(const void *a, const void *b) {
        const struct wanted_time *x = a, *y = b;

        return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static void find_ages(struct task_list *l, const struct held_graph *g, struct query *q) {
        VEC(struct wanted_time) wanted = {0};
        VEC(uint64_t) seqs = {0}, times = {0};

        for (size_t i = 0; i < l->groups.n; i++) {
                struct task_group *x = &l->groups.items[i];

                if (x->first_seq == UINT64_MAX)
                        continue;
                vec_push(&wanted, (struct wanted_time){x->first_seq, &x->oldest_ns});
                vec_push(&wanted, (struct wanted_time){x->last_seq, &x->newest_ns});
        }
        if (wanted.n)
                qsort(wanted.items, wanted.n, sizeof(wanted.items[0]), by_seq);
        for (size_t i = 0; i < wanted.n; i++) {
                vec_push(&seqs, wanted.items[i].seq);
                vec_push(&times, UINT64_MAX);
        }
        query_alloc_times(q, seqs.items, seqs.n, MAX_AGED_SLICES, times.items);
        for (size_t i = 0; i < wanted.n; i++)
                if (times.items[i] != UINT64_MAX)
                        *wanted.items[i].ret_ns =
                                g->info.time_ns - MIN(times.items[i], g->info.time_ns);
        vec_free(&wanted);
        vec_free(&seqs);
        vec_free(&times);
}

static const struct task_group *sorted_groups;

static int by_weight(const void *a, const void *b) {
        const struct task_group *x = &sorted_groups[*(const uint32_t *)a];
        const struct task_group *y = &sorted_groups[*(const uint32_t *)b];

        if ((x->kind == TASK_OWN) != (y->kind == TASK_OWN))
                return x->kind == TASK_OWN ? 1 : -1;
        if (x->bytes != y->bytes)
                return x->bytes > y->bytes ? -1 : 1;
        return x < y ? -1 : x > y;
}

/* Largest first; tasks keep their groups. */
static int sort_groups(struct task_list *l) {
        size_t n = l->groups.n;
        uint32_t *order = malloc((n + 1) * sizeof(*order)),
                 *place = malloc((n + 1) * sizeof(*place));
        struct task_group *sorted = malloc((n + 1) * sizeof(*sorted));
        int r = order && place && sorted ? 0 : -ENOMEM;

        for (uint32_t i = 0; r == 0 && i < n; i++)
                order[i] = i;
        sorted_groups = l->groups.items;
        if (r == 0 && n)
                qsort(order, n, sizeof(order[0]), by_weight);
        for (uint32_t i = 0; r == 0 && i < n; i++) {
                sorted[i] = l->groups.items[order[i]];
                place[order[i]] = i;
        }
        if (r == 0 && n)
                memcpy(l->groups.items, sorted, n * sizeof(sorted[0]));
        for (size_t i = 0; r == 0 && i < l->tasks.n; i++)
                l->tasks.items[i].group = place[l->tasks.items[i].group];
        free(order);
        free(place);
        free(sorted);
        return r;
}

int task_list_make(struct task_list *l, struct held_graph *g, struct query *q,
                   const struct frame_names *names, struct site_texts *texts) {
        struct finding_tasks f = {.l = l, .g = g, .q = q, .texts = texts};
        int r;

        *l = (struct task_list){0};
        sort_rows(&f);
        find_merged(&f);
        for (uint32_t i = 0; i < g->heap.n_heads; i++)
                take_head(&f, &g->heap.heads[i]);
        drop_broken(l);
        map_done(&f.names);
        vec_free(&f.rows);
        map_done(&f.reused);
        map_done(&f.kinds);
        vec_free(&f.told);
        r = add_retained(l, g);
        if (r == 0)
                r = sort_groups(l);
        if (r == 0) {
                find_ages(l, g, q);
                task_busy_add(l, g, q, texts);
                r = task_keepers_find(l, g, names, texts);
        }
        if (r < 0)
                task_list_done(l);
        return r;
}

void task_list_done(struct task_list *l) {
        vec_free(&l->tasks);
        vec_free(&l->groups);
        vec_free(&l->unknown);
}

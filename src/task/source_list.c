/* SPDX-License-Identifier: MIT */
#include "task/source_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "reach/source_head.h"

enum { MAX_AGED_SLICES = 256 };

/* Flags of a source: GHookFlagMask and GSourceFlags. */
enum { FLAG_ACTIVE = 1, FLAG_IN_CALL = 2, FLAG_READY = 16 };

#define BEGIN "+0:" /* behind the name of a variable: at its first byte; the size follows */

const char *source_state_name(enum source_state s) {
        static const char *const names[] = {[SOURCE_WAITING] = "waiting",
                                            [SOURCE_READY] = "ready",
                                            [SOURCE_RUNNING] = "running",
                                            [SOURCE_UNATTACHED] = "unattached",
                                            [SOURCE_REMOVED] = "removed"};

        return names[s];
}

/* table: as a trace names variables. NULL: none of GLib's. */
static const struct source_kind *source_kind_of(const char *table) {
        static const struct source_kind kinds[] = {
                {"g_timeout_funcs", "timeout", "timeouts", false, true},
                {"g_idle_funcs", "idle call", "idle calls", true, false},
                {"g_child_watch_funcs", "child watch", "child watches", false, false},
                {"g_unix_signal_funcs", "signal watch", "signal watches", false, false},
                {"g_io_watch_funcs", "channel watch", "channel watches", false, false},
                {"g_unix_fd_source_funcs", "descriptor watch", "descriptor watches", false, false},
        };

        for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
                size_t n = strlen(kinds[i].table);

                if (strncmp(table, kinds[i].table, n) == 0 &&
                    (table[n] == '\0' || strncmp(table + n, BEGIN, strlen(BEGIN)) == 0))
                        return &kinds[i];
        }
        return NULL;
}

/* "own_funcs" of a table with a name, else the file that it is in. */
static uint32_t table_text(struct text_pool *texts, const struct query_frame *f) {
        const char *end = strstr(f->function, BEGIN);
        struct str text = {0};
        uint32_t ret;

        if (f->function[0] && !f->guess)
                str_addn(&text, f->function,
                         end ? (size_t)(end - f->function) : strlen(f->function));
        else
                str_add(&text, frame_base(f->module));
        ret = text_pool_add(texts, str_text(&text));
        str_done(&text);
        return ret;
}

/* ---- who added them ------------------------------------------------------------------------------------------ */

static bool is_glib_file(const char *module) {
        static const char *const begins[] = {"libglib-2.0", "libgobject-2.0", "libgio-2.0"};

        for (size_t i = 0; i < ARRAY_SIZE(begins); i++)
                if (strncmp(frame_base(module), begins[i], strlen(begins[i])) == 0)
                        return true;
        return false;
}

static bool is_glib(const char *function, const char *module) {
        static const char *const begins[] = {"g_source_", "g_timeout_",     "g_idle_",
                                             "g_unix_",   "g_child_watch_", "g_io_",
                                             "g_malloc",  "g_main_context_"};

        if (strncmp(frame_base(module), "libglib-2.0", 11) == 0)
                return true;
        for (size_t i = 0; i < ARRAY_SIZE(begins); i++)
                if (strncmp(function, begins[i], strlen(begins[i])) == 0)
                        return true;
        return false;
}

/* What GLib's own libraries request on behalf of others: who called these added it. */
static bool is_above_glib(const char *module) {
        return is_glib_file(module) && strncmp(frame_base(module), "libglib-2.0", 11) != 0;
}

/* What calls others from where they are not asked from: whatever is behind it in a call path did not call them. */
static bool is_turn(const char *function) {
        return strncmp(function, "g_main_", 7) == 0 || strncmp(function, "g_thread_", 9) == 0;
}

/* Of the program's own frames from this one on, the innermost that is shown. */
static const struct name_frame *first_own(const struct frame_stack *s, size_t frame_idx) {
        for (size_t i = 0; i < s->shown.n; i++) {
                const struct name_frame *f = &s->frames.items[s->shown.items[i].frame_idx];

                if (s->shown.items[i].frame_idx >= frame_idx && !is_glib(f->function, f->module) &&
                    !is_above_glib(f->module))
                        return f;
        }
        return &s->frames.items[frame_idx];
}

bool source_adder_find(const struct frame_names *names, uint32_t stack, struct frame_stack *s,
                       const struct name_frame **ret) {
        const struct name_frame *above = NULL;

        *s = (struct frame_stack){0};
        frame_stack_fill(s, names, stack, false);
        for (size_t i = 0; i < s->frames.n; i++) {
                const struct name_frame *f = &s->frames.items[i];

                if (is_glib(f->function, f->module)) {
                        if (above && is_turn(f->function))
                                break;
                } else if (!is_above_glib(f->module)) {
                        above = first_own(s, i);
                        break;
                } else if (!above || (f->function[0] && !f->guess)) {
                        above = f; /* the outermost that has a name */
                }
        }
        *ret = above;
        return above != NULL;
}

struct path_hash {
        uint64_t hash;
        bool is_made;  /* GLib requested it */
        bool is_above; /* for a library of its own */
};

static bool add_frame(void *ctx, const struct query_frame *f) {
        struct path_hash *p = ctx;
        bool is_own = is_glib(f->function, f->module), is_above = is_above_glib(f->module);

        if (is_own && p->is_above && is_turn(f->function)) /* as source_adder_find */
                return false;
        p->is_made |= is_own;
        p->is_above |= is_above;
        p->hash = map_hash(p->hash ^ f->location);
        return is_own || is_above;
}

/* Of the inner end of a call path, to who called GLib: the same for all ways that lead there. 0: it is none. */
static uint64_t path_of(const struct query *q, uint32_t stack) {
        struct path_hash p = {0};

        if (stack != REACH_NO_SITE)
                query_each_frame(q, stack, add_frame, &p);
        return p.is_made ? p.hash : 0;
}

/* ---- what a source is ---------------------------------------------------------------------------------------- */

struct told_table {
        const struct source_kind *kind;
        uint32_t text;            /* the name, or the module */
        bool is_placed, is_glibs; /* in a file, one of GLib's */
};

struct finding_sources {
        struct source_list *l;
        const struct held_graph *g;
        struct query *q;
        const struct frame_names *names;
        struct site_texts *texts;
        struct map tables; /* address → number in told */
        VEC(struct told_table) told;
        struct map callbacks; /* address of what one is kept in → number of the head */
        struct map functions; /* address → text */
        struct map contexts;  /* of sources of GLib's own kinds */
        struct map getters;   /* the same */
        struct map groups;    /* hash → number */
        struct map seen;      /* group, callback and data → 0 */
        struct map paths;     /* stack → path_of */
};

/* Of a GLib that is linked into the program. */
static bool is_getters(const struct query_frame *f) {
        static const char name[] = "g_source_callback_funcs";

        return !f->guess && strncmp(f->function, name, sizeof(name) - 1) == 0;
}

static const struct told_table *table_of(struct finding_sources *f, uint64_t address) {
        struct told_table one = {0};
        struct query_frame frame;
        bool is_new;
        uint64_t *at = map_put(&f->tables, address, f->told.n, &is_new);

        if (!is_new)
                return &f->told.items[*at];
        if (held_graph_place(f->g, f->q, address, &frame)) {
                one.is_placed = true;
                one.is_glibs = is_glib_file(frame.module) || is_getters(&frame);
                one.kind = frame.guess ? NULL : source_kind_of(frame.function);
                one.text = table_text(&f->texts->pool, &frame);
        }
        vec_push(&f->told, one);
        return &f->told.items[f->told.n - 1];
}

static uint32_t text_of_function(struct finding_sources *f, uint64_t address) {
        struct query_frame frame;
        struct str text = {0};
        bool is_new;
        uint64_t *at = map_put(&f->functions, address, 0, &is_new);

        if (is_new && held_graph_place(f->g, f->q, address, &frame)) {
                struct name_frame x = frame_of(&frame);

                frame_add_function(&text, f->names, &x, false, false, true);
                *at = text_pool_add(&f->texts->pool, str_text(&text));
                str_done(&text);
        }
        return (uint32_t)*at;
}

static bool is_source(const struct finding_sources *f, const struct heap_head *head) {
        return source_head_is_like(head->words) &&
               f->g->heap.blocks[head->block].size_bytes >= SOURCE_BYTES;
}

static bool is_known(struct finding_sources *f, uint64_t table) {
        const struct told_table *x = table ? table_of(f, table) : NULL;

        return x && (x->kind || x->is_glibs);
}

static bool is_glibs(struct finding_sources *f, const struct heap_head *head) {
        return is_source(f, head) &&
               (is_known(f, head->words[SOURCE_TABLE]) || is_known(f, head->words[SOURCE_GETTERS]));
}

/* Tables that have names of GLib's, or are its own, tell contexts, and from what table callbacks are read: other kinds are known by either. */
static void take_own(struct finding_sources *f, const struct heap_head *head) {
        const uint64_t *words = head->words;
        bool is_new;

        if (!is_glibs(f, head))
                return;
        if (words[SOURCE_CONTEXT])
                map_put(&f->contexts, words[SOURCE_CONTEXT], 0, &is_new);
        if (words[SOURCE_GETTERS])
                map_put(&f->getters, words[SOURCE_GETTERS], 0, &is_new);
}

bool sources_are_in(const struct held_graph *g, struct query *q) {
        struct source_list l = {0};
        struct site_texts texts;
        struct finding_sources f = {.l = &l, .g = g, .q = q, .texts = &texts};
        bool is_found = false;

        site_texts_init(&texts);
        for (uint32_t i = 0; i < g->heap.n_heads && !is_found; i++)
                is_found = is_glibs(&f, &g->heap.heads[i]);
        map_done(&f.tables);
        vec_free(&f.told);
        site_texts_done(&texts);
        return is_found;
}

/* What GLib keeps a plain function in; NULL: what is called is a closure, or unknown. */
static const struct heap_head *callback_of(const struct finding_sources *f, const uint64_t *words) {
        uint64_t at, unused;

        return words[SOURCE_DATA] && map_get(&f->getters, words[SOURCE_GETTERS], &unused) &&
                               map_get(&f->callbacks, words[SOURCE_DATA], &at)
                       ? &f->g->heap.heads[at]
                       : NULL;
}

static enum source_state state_of(const uint64_t *words) {
        uint64_t flags = words[SOURCE_FLAGS] >> 32;

        return !(flags & FLAG_ACTIVE)   ? SOURCE_REMOVED
               : flags & FLAG_IN_CALL   ? SOURCE_RUNNING
               : !words[SOURCE_CONTEXT] ? SOURCE_UNATTACHED
               : flags & FLAG_READY     ? SOURCE_READY
                                        : SOURCE_WAITING;
}

static uint64_t path_of_block(struct finding_sources *f, uint32_t block) {
        bool is_new;
        uint64_t *at;

        if (!f->g->heap.seqs || f->g->stacks[block] == REACH_NO_SITE)
                return 0;
        at = map_put(&f->paths, f->g->stacks[block], 0, &is_new);
        if (is_new)
                *at = path_of(f->q, f->g->stacks[block]);
        return *at;
}

static struct source_group *group_of(struct finding_sources *f, const struct told_table *table,
                                     uint32_t callback, uint32_t block) {
        uint64_t path = path_of_block(f, block);
        struct source_group fresh = {.kind = table->kind,
                                     .table = table->text,
                                     .callback = callback,
                                     .path = path,
                                     .stack = path ? f->g->stacks[block] : REACH_NO_SITE,
                                     .first_seq = UINT64_MAX,
                                     .oldest_ns = UINT64_MAX};
        uint64_t key = map_hash(path ^ map_hash((uint64_t)table->text << 32 | callback));
        bool is_new;
        uint64_t *at = map_put(&f->groups, key, f->l->groups.n, &is_new);

        if (is_new)
                vec_push(&f->l->groups, fresh);
        return &f->l->groups.items[*at];
}

static void take_source(struct finding_sources *f, const struct heap_head *head) {
        const struct heap_graph *h = &f->g->heap;
        const uint64_t *words = head->words;
        const struct heap_head *callback = callback_of(f, words);
        const struct told_table *table;
        enum source_state state = state_of(words);
        struct source_group *x;
        uint64_t bytes = h->blocks[head->block].size_bytes, unused;
        uint32_t text = 0;
        bool is_first;

        if (!is_source(f, head))
                return;
        table = table_of(f, words[SOURCE_TABLE]);
        if (!table->is_placed)
                return;
        if (!table->kind && !table->is_glibs &&
            !map_get(&f->contexts, words[SOURCE_CONTEXT], &unused) &&
            !(words[SOURCE_GETTERS] && map_get(&f->getters, words[SOURCE_GETTERS], &unused))) {
                f->l->n_doubtful++;
                return;
        }
        if (callback) {
                text = text_of_function(f, callback->words[SOURCE_CALLBACK]);
                bytes += h->blocks[callback->block].size_bytes;
        }
        x = group_of(f, table, text, head->block);
        x->n++;
        x->n_in[state]++;
        x->bytes += bytes;
        if (h->seqs && h->seqs[head->block] != HEAP_NO_SEQ)
                x->first_seq = MIN(x->first_seq, h->seqs[head->block]);
        if (callback && state != SOURCE_REMOVED && state != SOURCE_UNATTACHED) {
                map_put(&f->seen,
                        map_hash((uint64_t)(x - f->l->groups.items) ^
                                 map_hash(callback->words[SOURCE_CALLBACK] ^
                                          map_hash(callback->words[SOURCE_CALLBACK + 1]))),
                        0, &is_first);
                x->n_same += !is_first;
        }
        f->l->n++;
        f->l->n_in[state]++;
        f->l->bytes += bytes;
}

/* ---- figures of groups --------------------------------------------------------------------------------------- */

/* How many of those that were added there are gone: by the history of all call paths that end so. */
static void count_gone(struct finding_sources *f) {
        struct query_scope scope = {.process = f->g->info.process, .to_ns = f->g->info.time_ns};
        struct query_answer *a = NULL;
        struct err unsaid = {0};
        struct map by_path = {0};
        uint64_t sum;
        bool is_new;

        if (!f->paths.n || query_ask(f->q, &scope, &a, &unsaid) < 0)
                return;
        for (size_t i = 0; i < a->n_sites; i++) {
                uint64_t path = path_of(f->q, a->sites[i].stack);

                if (path)
                        *map_put(&by_path, path, 0, &is_new) += a->sites[i].f.n_frees;
        }
        for (size_t i = 0; i < f->l->groups.n; i++) {
                struct source_group *x = &f->l->groups.items[i];

                x->is_counted = x->path && map_get(&by_path, x->path, &sum);
                x->n_gone = x->is_counted ? sum : 0;
        }
        map_done(&by_path);
        query_answer_free(a);
}

static int by_number(const void *a, const void *b) {
        const struct source_group *x = a, *y = b;

        if (x->n != y->n)
                return x->n > y->n ? -1 : 1;
        if (x->first_seq != y->first_seq)
                return x->first_seq < y->first_seq ? -1 : 1;
        if (x->table != y->table)
                return x->table < y->table ? -1 : 1;
        return x->callback < y->callback ? -1 : x->callback > y->callback;
}

static int by_seq(const void *a, const void *b) {
        const struct source_group *x = a, *y = b;

        return x->first_seq < y->first_seq ? -1 : x->first_seq > y->first_seq;
}

static void find_ages(struct finding_sources *f) {
        struct source_list *l = f->l;
        uint64_t at_ns = f->g->info.time_ns;
        VEC(uint64_t) seqs = {0}, times = {0};

        if (l->groups.n)
                qsort(l->groups.items, l->groups.n, sizeof(l->groups.items[0]), by_seq);
        for (size_t i = 0; i < l->groups.n && l->groups.items[i].first_seq != UINT64_MAX; i++) {
                vec_push(&seqs, l->groups.items[i].first_seq);
                vec_push(&times, UINT64_MAX);
        }
        query_alloc_times(f->q, seqs.items, seqs.n, MAX_AGED_SLICES, times.items);
        for (size_t i = 0; i < times.n; i++)
                if (times.items[i] != UINT64_MAX)
                        l->groups.items[i].oldest_ns = at_ns - MIN(times.items[i], at_ns);
        vec_free(&seqs);
        vec_free(&times);
}

void source_list_make(struct source_list *l, const struct held_graph *g, struct query *q,
                      const struct frame_names *names, struct site_texts *texts) {
        struct finding_sources f = {.l = l, .g = g, .q = q, .names = names, .texts = texts};
        bool is_new;

        *l = (struct source_list){0};
        for (uint32_t i = 0; i < g->heap.n_heads; i++) {
                take_own(&f, &g->heap.heads[i]);
                map_put(&f.callbacks, g->heap.blocks[g->heap.heads[i].block].address, i, &is_new);
        }
        for (uint32_t i = 0; i < g->heap.n_heads; i++)
                take_source(&f, &g->heap.heads[i]);
        if (l->n) {
                find_ages(&f);
                count_gone(&f);
                qsort(l->groups.items, l->groups.n, sizeof(l->groups.items[0]), by_number);
        }
        map_done(&f.tables);
        vec_free(&f.told);
        map_done(&f.callbacks);
        map_done(&f.functions);
        map_done(&f.contexts);
        map_done(&f.getters);
        map_done(&f.groups);
        map_done(&f.seen);
        map_done(&f.paths);
}

void source_list_done(struct source_list *l) {
        vec_free(&l->groups);
}

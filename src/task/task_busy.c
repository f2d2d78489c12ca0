/* SPDX-License-Identifier: MIT */
/* How long tasks ran: samples of CPU time whose call path leads through the poll of what they run. A type's time is that of all tasks that run it. */
#include <string.h>

#include "query/spent_time.h"
#include "task/task_list.h"

enum { NO_TYPE = 0, SEVERAL_TYPES = UINT32_MAX };

struct adding_busy {
        struct task_list *l;
        const struct query *q;
        const struct site_texts *texts;
        struct map by_type; /* hash of a type → its text */
        struct map
                by_function; /* hash of the function that it is the body of → its text, or SEVERAL_TYPES */
        struct map by_stack; /* → text, or NO_TYPE */
        struct map busy;     /* text → nanoseconds */
        struct map samples;
        uint32_t at; /* of the frames looked at, what the outermost said */
        bool is_sure;
};

static uint64_t hash_of(const char *text, size_t n) {
        uint64_t h = n;

        for (size_t i = 0; i < n; i++)
                h = map_hash(h ^ (uint8_t)text[i]);
        return h;
}

/* "app::serve" of "app::serve::{async_fn_env#0}" and "app::serve::{{closure}}"; 0: it is no body of an async function. */
static size_t body_of(const char *name) {
        const char *at = strstr(name, "::{");

        return at ? (size_t)(at - name) : 0;
}

static void know_types(struct adding_busy *a) {
        for (size_t i = 0; i < a->l->groups.n; i++) {
                uint32_t type = a->l->groups.items[i].type;
                const char *text = a->texts->pool.items.items[type];
                size_t n = body_of(text);
                uint64_t *known;
                bool is_new;

                if (!type || a->l->groups.items[i].kind == TASK_OWN)
                        continue; /* a worker's own task is below all others */
                map_put(&a->by_type, hash_of(text, strlen(text)), type, NULL);
                if (!n)
                        continue;
                known = map_put(&a->by_function, hash_of(text, n), type, &is_new);
                if (!is_new && *known != type)
                        *known = SEVERAL_TYPES;
        }
}

/* A poll by its types is sure; else the body of the function is taken. Of several the outermost is the task's. */
static bool look_at_frame(void *ctx, const struct query_frame *f) {
        struct adding_busy *a = ctx;
        struct str type = {0};
        uint64_t known;
        size_t n;

        if (task_is_runtime(f->function)) {
                task_add_type(f->function, &type);
                if (type.n && map_get(&a->by_type, hash_of(str_text(&type), type.n), &known)) {
                        a->at = (uint32_t)known;
                        a->is_sure = true;
                }
                str_done(&type);
                return true;
        }
        n = a->is_sure ? 0 : body_of(f->function);
        if (n && map_get(&a->by_function, hash_of(f->function, n), &known) &&
            known != SEVERAL_TYPES)
                a->at = (uint32_t)known;
        return true;
}

static bool add_tick(void *ctx, const struct trace_tick *tick) {
        struct adding_busy *a = ctx;
        bool is_new;
        uint64_t *type = map_put(&a->by_stack, tick->stack, NO_TYPE, &is_new);

        if (is_new) {
                a->at = NO_TYPE;
                a->is_sure = false;
                query_each_frame(a->q, tick->stack, look_at_frame, a);
                *type = a->at;
        }
        if (*type != NO_TYPE) {
                uint64_t text = *type;

                *map_put(&a->busy, text, 0, NULL) += tick->weight_ns;
                *map_put(&a->samples, text, 0, NULL) += tick->n_samples;
        }
        return true;
}

void task_busy_add(struct task_list *l, const struct held_graph *g, struct query *q,
                   const struct site_texts *texts) {
        struct adding_busy a = {.l = l, .q = q, .texts = texts};
        struct query_scope scope = {.process = g->info.process,
                                    .to_ns = UINT64_MAX,
                                    .of_time = QUERY_CPU_TIME};
        struct err unsaid = {0};

        if (!query_has_ticks(q) || !g->heap.seqs) /* one look at a process is no time */
                return;
        l->has_ticks = true;
        know_types(&a);
        query_each_tick(q, &scope, add_tick, &a, &unsaid);
        for (size_t i = 0; i < l->groups.n; i++) {
                struct task_group *x = &l->groups.items[i];

                map_get(&a.busy, x->type, &x->busy_ns);
                map_get(&a.samples, x->type, &x->n_samples);
        }
        map_done(&a.by_type);
        map_done(&a.by_function);
        map_done(&a.by_stack);
        map_done(&a.busy);
        map_done(&a.samples);
}

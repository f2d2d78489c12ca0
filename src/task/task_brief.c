/* SPDX-License-Identifier: MIT */
#include "task/task_brief.h"

#include "base/arena.h"
#include "base/units.h"
#include "query/trace_times.h"
#include "task/tasks_write.h"

static const char *keep(struct task_brief *b, struct str *text) {
        const char *kept = arena_strdup(b->arena, str_text(text));

        str_clear(text);
        return kept;
}

/* "a JoinSet (3,000), a variable (12)"; one alone has no number. */
static void add_keepers(const struct tasks *t, const struct task_group *x, struct str *to) {
        struct unit_text n;

        for (uint32_t i = 0; i < x->n_keepers && x->n_in[TASK_FINISHED]; i++) {
                str_addf(to, "%s%s", i ? ", " : "", t->texts.pool.items.items[x->keepers[i].text]);
                if (x->n_keepers > 1)
                        str_addf(to, " (%s)", unit_count(&n, x->keepers[i].n_tasks));
        }
}

static void add_row(struct task_brief *b, const struct tasks *t, const struct task_group *x) {
        struct task_brief_row *row = &b->rows[b->n_rows++];
        struct tasks_spawner by = {0};
        struct str text = {0};

        *row = (struct task_brief_row){.kind = x->kind,
                                       .n = x->n,
                                       .bytes = x->bytes,
                                       .oldest_ns = x->oldest_ns};
        for (unsigned i = 0; i < N_TASK_STATES; i++)
                row->n_in[i] = x->n_in[i];
        tasks_add_type(t, x, &text);
        row->runs = keep(b, &text);
        if (x->kind != TASK_OWN && tasks_add_spawn(t, x, true, &text))
                tasks_add_spawner(t, x, true, &text);
        row->spawned = keep(b, &text);
        add_keepers(t, x, &text);
        row->kept_by = keep(b, &text);
        row->place = row->function = row->file = "";
        if (x->kind != TASK_OWN && tasks_spawner_find(t, x, &by)) {
                frame_add_place(&text, by.frame, false);
                row->place = keep(b, &text);
                row->function = arena_strdup(b->arena, by.frame->function);
                row->file = arena_strdup(b->arena, by.frame->file);
                row->line = by.frame->line;
        }
        tasks_spawner_done(&by);
        str_done(&text);
}

static void add_source_row(struct task_brief *b, const struct tasks *t,
                           const struct source_group *x) {
        struct source_brief_row *row = &b->sources[b->n_sources++];
        const struct name_frame *f;
        struct frame_stack s = {0};
        struct str text = {0};

        *row = (struct source_brief_row){.n = x->n,
                                         .n_waiting = x->n_in[SOURCE_WAITING],
                                         .n_ready = x->n_in[SOURCE_READY],
                                         .n_running = x->n_in[SOURCE_RUNNING],
                                         .n_unattached = x->n_in[SOURCE_UNATTACHED],
                                         .n_removed = x->n_in[SOURCE_REMOVED],
                                         .n_same = x->n_same,
                                         .bytes = x->bytes,
                                         .oldest_ns = x->oldest_ns,
                                         .function = "",
                                         .file = ""};
        sources_add_kind(t, x, x->n, &text);
        row->what = keep(b, &text);
        sources_add_adder(t, x, true, &text);
        row->added = keep(b, &text);
        if (x->stack != REACH_NO_SITE && source_adder_find(&t->names, x->stack, &s, &f)) {
                row->function = arena_strdup(b->arena, f->function);
                row->file = arena_strdup(b->arena, f->file);
                row->line = f->line;
        }
        frame_stack_done(&s);
        str_done(&text);
}

static void take(struct task_brief *b, const struct query *q, const struct tasks *t) {
        struct unit_text at;
        struct str text = {0};

        str_addf(&text, "At %s: ", query_moment_text(q, &at, b->at_ns));
        tasks_add_sentence(t, true, &text);
        b->sentence = keep(b, &text);
        str_done(&text);
        b->has_tasks = t->list.groups.n + t->sources.groups.n > 0;
        b->is_nameless |= t->list.n_nameless > 0;
        b->rows = arena_alloc(b->arena, (t->list.groups.n + 1) * sizeof(b->rows[0]));
        for (size_t i = 0; i < t->list.groups.n; i++)
                add_row(b, t, &t->list.groups.items[i]);
        b->sources = arena_alloc(b->arena, (t->sources.groups.n + 1) * sizeof(b->sources[0]));
        for (size_t i = 0; i < t->sources.groups.n; i++)
                add_source_row(b, t, &t->sources.groups.items[i]);
}

static void say_none(struct task_brief *b, const struct query *q) {
        struct unit_text at;
        struct str text = {0};

        str_addf(&text, "At %s: silt found no tasks of a runtime that it knows%s",
                 query_moment_text(q, &at, b->at_ns),
                 b->is_nameless ? ": some functions that might tell have no names." : ".");
        b->sentence = keep(b, &text);
        str_done(&text);
}

static void say_unreadable(struct task_brief *b, const char *why) {
        struct str text = {0};

        str_addf(&text, "Tasks are unknown: %s.", why);
        b->sentence = keep(b, &text);
        str_done(&text);
}

void task_brief_read(struct task_brief *b, struct query *q, const struct frame_names *names,
                     uint32_t process) {
        size_t graph = held_graph_newest(q, process, SIZE_MAX);
        struct tasks_options options = TASKS_OPTIONS_DEFAULT;
        struct err why = {0};
        struct tasks t;
        int r = 0;

        *b = (struct task_brief){.arena = arena_new(), .sentence = ""};
        if (graph == SIZE_MAX)
                return;
        b->has_graph = true;
        b->at_ns = query_graph(q, graph)->time_ns;
        if (query_graph(q, graph)->has_heads)
                r = tasks_are_in(q, graph, &b->is_nameless, &why);
        if (r == 0) {
                b->is_known = query_graph(q, graph)->has_heads;
                say_none(b, q);
                return;
        }
        tasks_init(&t, &options, q, names->names);
        if (r > 0)
                r = tasks_gather(&t, q, graph, &why);
        b->is_known = r >= 0;
        if (b->is_known)
                take(b, q, &t);
        else
                say_unreadable(b, why.text);
        tasks_done(&t);
}

void task_brief_done(struct task_brief *b) {
        b->arena = arena_free(b->arena);
        *b = (struct task_brief){0};
}

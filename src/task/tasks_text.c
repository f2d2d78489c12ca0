/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/units.h"
#include "task/task_rules.h"

enum {
        USUAL_ROWS = 20,
};

/* ---- words --------------------------------------------------------------------------------------------------- */

/* Which of the shown frames spawned them: the innermost. A coroutine's memory is requested by itself, so its caller did. */
static size_t find_spawner(const struct tasks *t, const struct task_group *x,
                           const struct frame_stack *s) {
        const char *type = t->texts.pool.items.items[x->type];
        size_t n = strlen(type);

        for (size_t i = 0; x->kind == TASK_COROUTINE && n && i < s->shown.n; i++) {
                const char *function = s->frames.items[s->shown.items[i].frame_idx].function;

                if (strncmp(function, type, n) != 0 || (function[n] != '(' && function[n] != '\0'))
                        return i;
        }
        return 0;
}

/* x NULL: it is of threads. */
static bool find_spawner_of(const struct tasks *t, const struct task_group *x, uint32_t stack,
                            struct tasks_spawner *ret) {
        const struct name_shown *shown;

        *ret = (struct tasks_spawner){0};
        frame_stack_fill(&ret->stack, &t->names, stack, false);
        if (!ret->stack.shown.n)
                return false;
        shown = &ret->stack.shown.items[x ? find_spawner(t, x, &ret->stack) : 0];
        ret->frame = &ret->stack.frames.items[shown->frame_idx];
        ret->is_task = shown->is_task;
        return true;
}

bool tasks_spawner_find(const struct tasks *t, const struct task_group *x,
                        struct tasks_spawner *ret) {
        *ret = (struct tasks_spawner){0};
        return x->stack != REACH_NO_SITE && find_spawner_of(t, x, x->stack, ret);
}

void tasks_spawner_done(struct tasks_spawner *s) {
        frame_stack_done(&s->stack);
        *s = (struct tasks_spawner){0};
}

static bool has_line(const struct tasks_spawner *s) {
        return s->frame->file[0] && s->frame->line;
}

static void add_function(const struct tasks *t, const struct tasks_spawner *s, bool utf8,
                         struct str *to) {
        frame_add_function(to, &t->names, s->frame, s->is_task, t->options->is_full, utf8);
}

static bool add_spawn_of(const struct tasks *t, const struct task_group *x, uint32_t stack,
                         bool utf8, struct str *to) {
        struct tasks_spawner s;
        bool is_known = find_spawner_of(t, x, stack, &s);

        if (is_known && has_line(&s)) {
                str_add(to, "spawned at ");
                frame_add_place(to, s.frame, t->options->is_full);
        } else if (is_known) {
                str_add(to, "spawned by ");
                add_function(t, &s, utf8, to);
        }
        tasks_spawner_done(&s);
        return is_known;
}

bool tasks_add_spawn(const struct tasks *t, const struct task_group *x, bool utf8, struct str *to) {
        return x->stack != REACH_NO_SITE && add_spawn_of(t, x, x->stack, utf8, to);
}

bool tasks_add_spawn_of(const struct tasks *t, uint32_t stack, bool utf8, struct str *to) {
        return add_spawn_of(t, NULL, stack, utf8, to);
}

void tasks_add_spawner(const struct tasks *t, const struct task_group *x, bool utf8,
                       struct str *to) {
        struct tasks_spawner s;

        if (tasks_spawner_find(t, x, &s) && has_line(&s)) {
                str_add(to, " by ");
                add_function(t, &s, utf8, to);
        }
        tasks_spawner_done(&s);
}

void tasks_add_type(const struct tasks *t, const struct task_group *x, struct str *to) {
        if (x->type)
                task_add_type_words(t->texts.pool.items.items[x->type], to);
        else
                str_add(to, "a type without a name");
        if (x->is_merged)
                str_add(to, " or a type with the same code");
}

/* "3 running, 12 ready and 4,081 waiting" */
static void add_states(const uint64_t *n_in, struct str *to) {
        static const enum task_state order[] = {TASK_RUNNING, TASK_READY, TASK_WAITING,
                                                TASK_FINISHED};
        struct unit_text n;
        unsigned n_left = 0;
        bool is_first = true;

        for (unsigned i = 0; i < ARRAY_SIZE(order); i++)
                n_left += n_in[order[i]] > 0;
        for (unsigned i = 0; i < ARRAY_SIZE(order); i++) {
                if (!n_in[order[i]])
                        continue;
                n_left--;
                if (!is_first)
                        str_add(to, n_left ? ", " : " and ");
                is_first = false;
                str_addf(to, "%s %s", unit_count(&n, n_in[order[i]]), task_state_name(order[i]));
        }
}

static void add_none(const struct tasks *t, struct str *to) {
        struct unit_text n;

        str_add(to, "silt found no tasks");
        if (!t->graph.heap.n_heads)
                str_add(to, ": no block begins as those of a runtime that it knows do.");
        else if (t->list.n_nameless)
                str_addf(
                        to,
                        ": %s block%s may be some, but the functions that would tell have no names: symbols are missing. Build the program without strip ('strip = false' under [profile.release] in Cargo.toml).",
                        unit_count(&n, t->list.n_nameless), unit_s(t->list.n_nameless));
        else
                str_add(to, " of a runtime that it knows.");
}

/* Of a task that nobody recorded, its type alone tells that it is the runtime's own. */
static void add_typeless(const struct tasks *t, struct str *to) {
        struct unit_text n;

        if (!t->list.n_typeless)
                return;
        str_addf(to, " What %s of them run%s is unknown",
                 t->list.n_typeless == t->list.n ? "any" : unit_count(&n, t->list.n_typeless),
                 t->list.n_typeless == t->list.n || t->list.n_typeless == 1 ? "s" : "");
        if (!t->graph.heap.seqs)
                str_add(to, ", and so which are the runtime's own");
        str_add(to,
                ": the program lacks debug information that tells types. 'debug = 1' under [profile.release] in Cargo.toml makes it.");
}

/* What silt did not understand. */
static void add_limits(const struct tasks *t, struct str *to) {
        const struct task_list *l = &t->list;
        struct unit_text n;

        add_typeless(t, to);
        for (size_t i = 0; i < l->unknown.n; i++)
                str_addf(
                        to,
                        " %s block%s of %s look%s like tasks in a layout that silt does not know: not counted.",
                        unit_count(&n, l->unknown.items[i].n), unit_s(l->unknown.items[i].n),
                        l->unknown.items[i].runtime, l->unknown.items[i].n == 1 ? "s" : "");
        if (t->graph.heap.n_unkept_heads)
                str_addf(to, " %s further blocks that may be tasks were not looked at.",
                         unit_count(&n, t->graph.heap.n_unkept_heads));
}

static bool add_finding(const struct tasks *t, bool utf8, struct str *to) {
        task_finding_list found = {0};
        bool is_told;

        task_findings_tell(t, utf8, &found);
        is_told = found.n > 0 && found.items[0].severity != FINDING_NOTE;
        if (is_told)
                str_addf(to, "%s In all ", found.items[0].text);
        task_findings_done(&found);
        return is_told;
}

/* What a trace without a graph tells of tasks, and which one tells more. */
static void add_without_graph(const struct tasks *t, struct str *to) {
        struct unit_text all, most;
        uint64_t ns = 0;

        for (size_t i = 0; i < t->times.n; i++)
                ns += t->times.items[i].ns;
        if (t->times.n == 1)
                str_addf(to, "Tasks of %s took %s of CPU time", t->times.items[0].runs,
                         unit_duration(&all, ns));
        else if (t->times.n)
                str_addf(to, "Tasks took %s of CPU time, those of %s %s of it",
                         unit_duration(&all, ns), t->times.items[0].runs,
                         unit_duration(&most, t->times.items[0].ns));
        else
                str_add(to, "Tasks are unknown");
        str_addf(to,
                 "%s the trace has no reference graph: record with 'silt run%s --graph-every 10s'.",
                 t->times.n ? ". What else they do is unknown, as" : ", as",
                 t->times.n ? " --cpu" : "");
}

static void add_without_tasks(const struct tasks *t, bool utf8, struct str *to) {
        bool is_blind = t->graph_idx != SIZE_MAX && t->graph.heap.n_heads && t->list.n_nameless;

        if (t->sources.n) {
                add_finding(t, utf8, to);
                sources_add_sentence(t, utf8, to);
                add_limits(t, to);
                return;
        }
        if (t->times.n) {
                add_without_graph(t, to);
                if (t->threads.groups.n)
                        str_add(to, " ");
                threads_add_sentence(t, utf8, to);
                return;
        }
        if (is_blind) { /* what silt could not see comes first */
                add_none(t, to);
                if (t->threads.groups.n)
                        str_add(to, " ");
        }
        threads_add_sentence(t, utf8, to);
        if (!is_blind && to->n)
                str_add(to, " ");
        if (t->graph_idx == SIZE_MAX)
                add_without_graph(t, to);
        else if (!is_blind)
                add_none(t, to);
        add_limits(t, to);
        if (t->sources.n_doubtful) {
                str_add(to, " ");
                sources_add_sentence(t, utf8, to);
        }
}

void tasks_add_sentence(const struct tasks *t, bool utf8, struct str *to) {
        const struct task_list *l = &t->list;
        const struct task_group *most = NULL;
        bool has_finding;
        struct unit_text n, bytes, each;

        if (!l->n) {
                add_without_tasks(t, utf8, to);
                return;
        }
        has_finding = add_finding(t, utf8, to);
        str_addf(to, "%s task%s", unit_count(&n, l->n), unit_s(l->n));
        str_addf(to, " in %s: ", unit_bytes(&bytes, l->bytes));
        add_states(l->n_in, to);
        if (!has_finding && l->groups.items[0].kind != TASK_OWN)
                most = &l->groups.items[0];
        if (most) {
                str_addf(to, "; %s of them ", unit_count(&n, most->n));
                if (most->type) {
                        str_add(to, most->n == 1 ? "runs " : "run ");
                        tasks_add_type(t, most, to);
                        str_add(to, ", ");
                }
                if (tasks_add_spawn(t, most, utf8, to))
                        str_add(to, ", ");
                str_addf(to, "%s%s%s", most->type || most->stack != REACH_NO_SITE ? "" : "take ",
                         unit_bytes(&each, most->bytes / most->n), most->n == 1 ? "" : " each");
        }
        str_add(to, ".");
        add_limits(t, to);
        if (t->sources.n) {
                str_add(to, " ");
                sources_add_sentence(t, utf8, to);
        }
}

/* ---- the table ----------------------------------------------------------------------------------------------- */

static void print_count(const struct style *s, uint64_t n, int width) {
        struct unit_text text;

        fprintf(s->out, " %*s", width, n ? unit_count(&text, n) : "-");
}

/* "; 1,200 wait for timers, 3 for sockets" */
static void add_waits(const struct task_group *x, struct str *to) {
        struct unit_text n;
        bool is_first = true;

        for (unsigned i = 0; i < N_TASK_WAITS && x->kind != TASK_OWN; i++) {
                if (!x->waits.n_for[i])
                        continue;
                str_addf(to, "%s%s%s for %s", is_first ? "; " : ", ",
                         unit_count(&n, x->waits.n_for[i]),
                         !is_first                ? ""
                         : x->waits.n_for[i] == 1 ? " waits"
                                                  : " wait",
                         task_wait_name(i));
                is_first = false;
        }
}

static void print_group(const struct style *s, const struct tasks *t, const struct task_group *x) {
        struct unit_text bytes, each, age;
        struct str line = {0};

        print_count(s, x->n, 8);
        print_count(s, x->n_in[TASK_RUNNING], 8);
        print_count(s, x->n_in[TASK_READY], 7);
        print_count(s, x->n_in[TASK_WAITING], 8);
        print_count(s, x->n_in[TASK_FINISHED], 8);
        fprintf(s->out, " %9s %9s %9s\n", unit_bytes(&bytes, x->bytes),
                unit_bytes(&each, x->bytes / x->n),
                x->oldest_ns == UINT64_MAX ? "-" : unit_duration(&age, x->oldest_ns));
        if (x->kind == TASK_OWN)
                str_add(&line, "the runtime itself");
        else if (!tasks_add_spawn(t, x, s->utf8, &line))
                str_add(&line, "spawned where silt did not see it");
        else
                tasks_add_spawner(t, x, s->utf8, &line);
        if (x->kind == TASK_BLOCKING)
                str_add(&line, x->type ? "; a blocking call of " : "; a blocking call");
        else if (x->kind != TASK_OWN || x->type)
                str_add(&line, "; runs ");
        if (x->type || x->kind == TASK_FUTURE)
                tasks_add_type(t, x, &line);
        if (x->n_samples)
                str_addf(&line, ", which took %s of CPU", unit_duration(&age, x->busy_ns));
        for (uint32_t i = 0; i < x->n_keepers && x->n_in[TASK_FINISHED]; i++) {
                str_addf(&line, "%s%s", i ? ", " : "; kept by ",
                         t->texts.pool.items.items[x->keepers[i].text]);
                if (x->n_keepers > 1)
                        str_addf(&line, " (%s)", unit_count(&age, x->keepers[i].n_tasks));
        }
        add_waits(x, &line);
        fputs("          ", s->out);
        style_wrap(s, str_text(&line), 10);
        str_done(&line);
}

/* All findings but the one that the sentence begins with. */
static void print_findings(const struct style *s, const struct tasks *t) {
        task_finding_list found = {0};

        if (t->list.n || t->sources.n || t->times.n)
                task_findings_tell(t, s->utf8, &found);
        for (size_t i = 0; i < found.n; i++)
                if (i || found.items[i].severity == FINDING_NOTE) {
                        fputs("\n", s->out);
                        style_wrap(s, found.items[i].text, 0);
                }
        task_findings_done(&found);
}

static void print_times(const struct style *s, const struct tasks *t, size_t n_top) {
        struct unit_text duration, n;

        if (t->times.n)
                fprintf(s->out, "\n%s %10s %9s%s\n", s->bold, "CPU time", "samples", s->plain);
        for (size_t i = 0; i < t->times.n && i < n_top; i++)
                fprintf(s->out, " %10s %9s  %s\n", unit_duration(&duration, t->times.items[i].ns),
                        unit_count(&n, t->times.items[i].n_samples), t->times.items[i].runs);
        if (t->times.n > n_top)
                fprintf(s->out, "%10s%zu more: --top\n", "", t->times.n - n_top);
}

/* What the figures of time are, or which recording has them. */
static void print_limits_of_time(const struct style *s, const struct tasks *t) {
        if (!t->list.n && !t->times.n)
                return;
        fputs("\n", s->out);
        style_wrap(
                s,
                t->list.has_ticks || t->times.n
                        ? "CPU time is that of samples, which do not tell how often a task was polled."
                        : "How long they ran is unknown: record with 'silt run --cpu'. How often they were polled, no recording tells.",
                0);
}

void tasks_text(FILE *out, const struct tasks *t) {
        size_t n_top = t->options->is_full ? SIZE_MAX
                                           : request_n_top(t->options->view.request, USUAL_ROWS);
        const struct task_list *l = &t->list;
        struct str text = {0};
        struct style s;

        style_init(&s, out);
        tasks_add_sentence(t, s.utf8, &text);
        style_wrap(&s, str_text(&text), 0);
        str_done(&text);
        print_findings(&s, t);
        if (l->groups.n)
                fprintf(out, "\n%s %8s %8s %7s %8s %8s %9s %9s %9s%s\n", s.bold, "tasks", "running",
                        "ready", "waiting", "finished", "bytes", "each", "oldest", s.plain);
        for (size_t i = 0; i < l->groups.n && i < n_top; i++)
                print_group(&s, t, &l->groups.items[i]);
        if (l->groups.n > n_top)
                fprintf(out, "%10s%zu more: --top\n", "", l->groups.n - n_top);
        print_times(&s, t, n_top);
        print_limits_of_time(&s, t);
        sources_text(&s, t);
        threads_text(&s, t);
}

/* SPDX-License-Identifier: MIT */
#include "base/units.h"
#include "show/show_json.h"
#include "task/tasks_write.h"

enum { USUAL_ROWS = 20, USUAL_GROUPS = 1000 };

/* ---- words --------------------------------------------------------------------------------------------------- */

static const char *text_of(const struct tasks *t, uint32_t text) {
        return t->texts.pool.items.items[text];
}

static bool add_spawn(const struct tasks *t, const struct thread_group *g, bool utf8,
                      struct str *to) {
        return g->spawn_stack && tasks_add_spawn_of(t, g->spawn_stack, utf8, to);
}

/* "wait in pthread_cond_wait" */
static void add_waits(const struct tasks *t, const struct thread_group *g, struct str *to) {
        struct unit_text n;

        if (!g->n_waits)
                return;
        if (g->waits[0].n == g->n_alive)
                str_add(to, g->n_alive == 1 ? " waits in " : " wait in ");
        else
                str_addf(to, ", of which %s wait%s in ", unit_count(&n, g->waits[0].n),
                         g->waits[0].n == 1 ? "s" : "");
        str_add(to, text_of(t, g->waits[0].in));
}

void threads_add_sentence(const struct tasks *t, bool utf8, struct str *to) {
        const struct thread_list *l = &t->threads;
        const struct thread_group *g = l->groups.n ? &l->groups.items[0] : NULL;
        struct unit_text n, bytes, alive;

        if (!g)
                return;
        str_addf(to, "%s thread%s ", unit_count(&n, g->n_alive ? g->n_alive : g->n),
                 unit_s(g->n_alive ? g->n_alive : g->n));
        if (add_spawn(t, g, utf8, to))
                ;
        else if (g->runs)
                str_addf(to, "of %s", text_of(t, g->runs));
        else
                str_add(to, "spawned where silt did not see it");
        if (!g->n_alive) {
                str_add(to, g->n == 1 ? " has ended" : " have ended");
        } else {
                add_waits(t, g, to);
                if (!g->n_waits)
                        str_add(to, g->n_alive == 1 ? " is alive" : " are alive");
                if (g->n_stacks)
                        str_addf(to, "; %s %s",
                                 g->n_alive == 1 ? "its stack touches" : "their stacks touch",
                                 unit_bytes(&bytes, g->stack_bytes));
        }
        str_addf(to, ". In all %s thread%s beside the first", unit_count(&n, l->n), unit_s(l->n));
        str_addf(to, ", %s alive.", unit_count(&alive, l->n_alive));
        if (l->n_alive && !l->has_ticks)
                str_add(to, " Where they wait is unknown: record with --cpu.");
        if (l->n_unspawned == l->n && !query_view(t->names.q)->n_events)
                str_add(to,
                        " Where they were spawned is unknown: the memory that is requested for a thread tells it, in a recording of allocations from the start on ('silt run --cpu').");
}

/* ---- the table ----------------------------------------------------------------------------------------------- */

static void print_count(const struct style *s, uint64_t n, int width) {
        struct unit_text text;

        fprintf(s->out, " %*s", width, n ? unit_count(&text, n) : "-");
}

static void print_group(const struct style *s, const struct tasks *t,
                        const struct thread_group *g) {
        struct unit_text bytes, each, n;
        struct str line = {0};

        print_count(s, g->n, 8);
        print_count(s, g->n_alive, 8);
        print_count(s, g->n_running, 8);
        print_count(s, g->n_waiting, 8);
        print_count(s, g->n - g->n_alive, 8);
        fprintf(s->out, " %9s %9s\n", g->n_stacks ? unit_bytes(&bytes, g->stack_bytes) : "-",
                g->n_stacks ? unit_bytes(&each, g->stack_bytes / g->n_stacks) : "-");
        if (!add_spawn(t, g, s->utf8, &line))
                str_add(&line, "spawned where silt did not see it");
        if (g->runs)
                str_addf(&line, "; runs %s", text_of(t, g->runs));
        for (uint32_t i = 0; i < g->n_names; i++)
                str_addf(&line, "%s%s", i ? ", " : "; named ", text_of(t, g->names[i].text));
        for (uint32_t i = 0; i < g->n_waits; i++) {
                str_addf(&line, "%s%s", i ? ", " : "; waits in ", text_of(t, g->waits[i].in));
                if (g->waits[i].by)
                        str_addf(&line, " called by %s", text_of(t, g->waits[i].by));
                if (g->n_waits > 1)
                        str_addf(&line, " (%s)", unit_count(&n, g->waits[i].n));
        }
        fputs("          ", s->out);
        style_wrap(s, str_text(&line), 10);
        str_done(&line);
}

void threads_text(const struct style *s, const struct tasks *t) {
        size_t n_top = t->options->is_full ? SIZE_MAX
                                           : request_n_top(t->options->view.request, USUAL_ROWS);
        const struct thread_list *l = &t->threads;

        if (!l->groups.n)
                return;
        fprintf(s->out, "\n%s %8s %8s %8s %8s %8s %9s %9s%s\n", s->bold, "threads", "alive",
                "running", "waiting", "ended", "stacks", "each", s->plain);
        for (size_t i = 0; i < l->groups.n && i < n_top; i++)
                print_group(s, t, &l->groups.items[i]);
        if (l->groups.n > n_top)
                fprintf(s->out, "%10s%zu more: --top\n", "", l->groups.n - n_top);
}

/* ---- JSON ---------------------------------------------------------------------------------------------------- */

static void put_group(struct json *j, const struct tasks *t, const struct thread_group *g) {
        struct str text = {0};

        json_object(j);
        add_spawn(t, g, true, &text);
        json_put_text(j, "spawned", str_text(&text));
        str_done(&text);
        json_put_text(j, "runs", text_of(t, g->runs));
        json_put_uint(j, "threads", g->n);
        json_put_uint(j, "alive", g->n_alive);
        json_put_uint(j, "ended", g->n - g->n_alive);
        json_put_uint(j, "running", g->n_running);
        json_put_uint(j, "waiting", g->n_waiting);
        json_put_known(j, "stack_bytes", g->stack_bytes, g->n_stacks > 0);
        json_put_uint(j, "known_stacks", g->n_stacks);
        json_key(j, "names");
        json_array(j);
        for (uint32_t i = 0; i < g->n_names; i++) {
                json_object(j);
                json_put_string(j, "name", text_of(t, g->names[i].text));
                json_put_uint(j, "threads", g->names[i].n);
                json_end(j);
        }
        json_end(j);
        json_key(j, "waits");
        json_array(j);
        for (uint32_t i = 0; i < g->n_waits; i++) {
                json_object(j);
                json_put_text(j, "in", text_of(t, g->waits[i].in));
                json_put_text(j, "called_by", text_of(t, g->waits[i].by));
                json_put_uint(j, "threads", g->waits[i].n);
                show_put_stack(j, t->names.q, g->waits[i].stack);
                json_end(j);
        }
        json_end(j);
        if (g->spawn_stack) {
                show_put_stack(j, t->names.q, g->spawn_stack);
                show_put_shown(j, (struct query *)t->names.q, g->spawn_stack);
        }
        json_end(j);
}

void threads_json(struct json *j, const struct tasks *t) {
        size_t n_top = t->options->is_full ? SIZE_MAX
                                           : request_n_top(t->options->view.request, USUAL_GROUPS);
        const struct thread_list *l = &t->threads;
        struct str sentence = {0};

        json_key(j, "threads");
        json_object(j);
        threads_add_sentence(t, true, &sentence);
        json_put_text(j, "sentence", str_text(&sentence));
        str_done(&sentence);
        json_put_double(j, "at_s", (double)l->at_ns / 1e9, 6);
        json_put_uint(j, "threads", l->n);
        json_put_uint(j, "alive", l->n_alive);
        json_put_uint(j, "ended", l->n - l->n_alive);
        json_put_uint(j, "unknown_spawns", l->n_unspawned);
        json_put_known(j, "stack_bytes", l->stack_bytes, l->n_stacks > 0);
        json_put_uint(j, "groups_in_all", l->groups.n);
        json_key(j, "groups");
        json_array(j);
        for (size_t i = 0; i < l->groups.n && i < n_top; i++)
                put_group(j, t, &l->groups.items[i]);
        json_end(j);
        json_end(j);
}

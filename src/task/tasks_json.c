/* SPDX-License-Identifier: MIT */
#include "base/json.h"
#include "show/show_json.h"
#include "task/task_rules.h"

enum { USUAL_GROUPS = 1000 };

static void put_states(struct json *j, const uint64_t *n_in) {
        for (unsigned i = 0; i < N_TASK_STATES; i++)
                json_put_uint(j, task_state_name(i), n_in[i]);
}

static void put_age(struct json *j, const char *key, uint64_t ns) {
        json_put_known_double(j, key, (double)ns / 1e9, 3, ns != UINT64_MAX);
}

static void put_keepers(struct json *j, const struct tasks *t, const struct task_group *x) {
        json_key(j, "kept_by");
        json_array(j);
        for (uint32_t i = 0; i < x->n_keepers; i++) {
                const struct task_keeper *k = &x->keepers[i];
                uint32_t stack = k->block == REACH_NONE ? REACH_NO_SITE : t->graph.stacks[k->block];

                json_object(j);
                json_put_string(j, "name", t->texts.pool.items.items[k->text]);
                json_put_uint(j, "tasks", k->n_tasks);
                if (stack != REACH_NO_SITE)
                        show_put_stack(j, t->names.q, stack);
                json_end(j);
        }
        json_end(j);
}

static void put_waits(struct json *j, const struct task_waits *w) {
        json_key(j, "waits_for");
        json_array(j);
        for (unsigned i = 0; i < N_TASK_WAITS; i++) {
                if (!w->n_for[i])
                        continue;
                json_object(j);
                json_put_string(j, "for", task_wait_name(i));
                json_put_uint(j, "tasks", w->n_for[i]);
                json_end(j);
        }
        json_end(j);
}

static void put_group(struct json *j, const struct tasks *t, const struct task_group *x) {
        const char *type = t->texts.pool.items.items[x->type];
        struct str text = {0};

        json_object(j);
        json_put_string(j, "runtime", x->layout->runtime);
        json_put_string(j, "layout", x->layout->versions);
        json_put_string(j, "kind", task_kind_name(x->kind));
        json_put_text(j, "type", type);
        if (x->type)
                tasks_add_type(t, x, &text);
        json_put_text(j, "runs", str_text(&text));
        json_key(j, "is_merged");
        json_bool(j, x->is_merged);
        str_clear(&text);
        tasks_add_spawn(t, x, true, &text);
        json_put_text(j, "spawned", str_text(&text));
        str_done(&text);
        json_put_uint(j, "tasks", x->n);
        put_states(j, x->n_in);
        json_put_uint(j, "with_handle", x->n_handles);
        json_put_uint(j, "cancelled", x->n_cancelled);
        json_put_uint(j, "lost", x->waits.n_lost);
        json_put_uint(j, "bytes", x->bytes);
        json_put_uint(j, "finished_bytes", x->finished_bytes);
        json_put_uint(j, "retained_bytes", x->retained_bytes);
        put_age(j, "oldest_s", x->oldest_ns);
        put_age(j, "newest_s", x->newest_ns);
        json_key(j, "busy_s");
        if (t->list.has_ticks && x->type)
                json_double(j, (double)x->busy_ns / 1e9, 6);
        else
                json_null(j);
        json_key(j, "samples");
        if (t->list.has_ticks && x->type)
                json_uint(j, x->n_samples);
        else
                json_null(j);
        put_keepers(j, t, x);
        put_waits(j, &x->waits);
        if (x->stack != REACH_NO_SITE) {
                show_put_stack(j, t->names.q, x->stack);
                show_put_shown(j, (struct query *)t->names.q, x->stack);
        }
        json_end(j);
}

/* A group is a number in the list, which may be cut before it. */
static void put_findings(struct json *j, const struct tasks *t) {
        task_finding_list found = {0};

        task_findings_tell(t, true, &found);
        json_key(j, "findings");
        json_array(j);
        for (size_t i = 0; i < found.n; i++) {
                json_object(j);
                json_put_string(j, "kind", found.items[i].kind);
                json_put_string(j, "severity", finding_severity_name(found.items[i].severity));
                json_put_string(j, "text", found.items[i].text);
                json_put_uint(j, "tasks", found.items[i].n_tasks);
                json_put_uint(j, "bytes", found.items[i].bytes);
                json_key(j, "group");
                if (found.items[i].group)
                        json_uint(j, (uint64_t)(found.items[i].group - t->list.groups.items));
                else
                        json_null(j);
                json_end(j);
        }
        json_end(j);
        task_findings_done(&found);
}

static void put_times(struct json *j, const task_time_list *l) {
        json_key(j, "times");
        json_array(j);
        for (size_t i = 0; i < l->n; i++) {
                json_object(j);
                json_put_string(j, "runs", l->items[i].runs);
                json_put_double(j, "busy_s", (double)l->items[i].ns / 1e9, 6);
                json_put_uint(j, "samples", l->items[i].n_samples);
                json_end(j);
        }
        json_end(j);
}

static void put_unknown(struct json *j, const struct task_list *l) {
        json_key(j, "unknown");
        json_array(j);
        for (size_t i = 0; i < l->unknown.n; i++) {
                json_object(j);
                json_put_string(j, "runtime", l->unknown.items[i].runtime);
                json_put_uint(j, "blocks", l->unknown.items[i].n);
                json_put_uint(j, "bytes", l->unknown.items[i].bytes);
                json_end(j);
        }
        json_end(j);
}

void tasks_json(FILE *out, const struct tasks *t) {
        const struct task_list *l = &t->list;
        const struct held_graph *g = &t->graph;
        size_t n_top = t->options->is_full ? SIZE_MAX
                                           : request_n_top(t->options->view.request, USUAL_GROUPS);
        struct str sentence = {0};
        struct json j;

        json_init(&j, out);
        json_object(&j);
        json_put_string(&j, "schema", "silt.tasks/1");
        tasks_add_sentence(t, true, &sentence);
        json_put_string(&j, "sentence", str_text(&sentence));
        str_done(&sentence);
        json_put_uint(&j, "pid", query_view(t->names.q)->processes[t->threads.process].start.pid);
        json_key(&j, "recorded");
        json_bool(&j, g->heap.seqs != NULL);
        json_key(&j, "graph");
        if (t->graph_idx == SIZE_MAX)
                json_null(&j);
        else
                json_uint(&j, t->graph_idx);
        json_put_double(&j, "at_s",
                        (double)(t->graph_idx == SIZE_MAX ? t->threads.at_ns : g->info.time_ns) /
                                1e9,
                        6);
        json_put_double(&j, "pause_s", (double)g->heap.pause_ns / 1e9, 6);
        json_put_uint(&j, "tasks", l->n);
        put_states(&j, l->n_in);
        json_put_uint(&j, "bytes", l->bytes);
        json_put_uint(&j, "runtime_tasks", l->n_own);
        json_put_uint(&j, "typeless_tasks", l->n_typeless);
        json_put_uint(&j, "nameless_blocks", l->n_nameless);
        json_put_uint(&j, "unkept_blocks", g->heap.n_unkept_heads);
        put_times(&j, &t->times);
        put_unknown(&j, l);
        put_findings(&j, t);
        json_put_uint(&j, "groups_in_all", l->groups.n);
        json_key(&j, "groups");
        json_array(&j);
        for (size_t i = 0; i < l->groups.n && i < n_top; i++)
                put_group(&j, t, &l->groups.items[i]);
        json_end(&j);
        sources_json(&j, t);
        threads_json(&j, t);
        json_end(&j);
}

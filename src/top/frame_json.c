/* SPDX-License-Identifier: MIT */
#include "base/json.h"
#include "show/show_json.h"
#include "top/frame_text.h"

static void put_bool(struct json *j, const char *key, bool v) {
        json_key(j, key);
        json_bool(j, v);
}

static void put_now(struct json *j, const struct model *m) {
        const struct query_totals *t = model_totals(m);
        bool has_live = !t->lacks_live && !m->is_of_time,
             has_blocks = !t->lacks_blocks && !m->is_of_time,
             has_traffic = has_blocks && !t->lacks_traffic,
             has_events = !t->lacks_events && !m->is_of_time, has_rates = model_has_rates(m);
        const struct follower_now *now = &m->now;

        json_put_known_double(j, "at_s", (double)now->time_ns / 1e9, 6, !t->lacks_time);
        put_bool(j, "is_over", now->is_over);
        json_put_string(j, "mode", m->sample_bytes ? "sampled" : "exact");
        if (m->sample_bytes) {
                json_put_uint(j, "sample_bytes", m->sample_bytes);
                json_put_double(j, "live_error_bytes", m->live_error_bytes, 0);
        }
        put_bool(j, "attached", m->is_attached_late);
        json_put_known(j, "live_bytes", now->live_bytes, has_live);
        json_put_known(j, "live_blocks", now->live_blocks, has_blocks && has_live);
        json_put_known(j, "peak_live_bytes", now->peak_bytes, !t->lacks_peak && !m->is_of_time);
        json_put_known(j, "rss_bytes", now->rss_bytes, now->has_rss);
        json_put_known(j, "allocations", now->n_allocs, has_traffic);
        json_put_known(j, "frees", now->n_frees, has_traffic && has_live);
        json_put_known(j, "bytes_allocated", now->alloc_bytes, has_traffic);
        json_put_known(j, "failed_allocations", now->n_failed, has_events && !t->is_imported);
        json_put_known(j, "lost_events", now->n_lost, has_events && !t->is_imported);
        json_put_uint(j, "unwritten_events", query_view(m->q)->n_unwritten_events);
        json_put_double(j, "silent_s", (double)now->silent_ns / 1e9, 3);
        json_put_known_double(j, "window_s", (double)now->window_ns / 1e9, 6, has_rates);
        json_put_known_double(j, "allocations_per_s", now->allocs_per_s, 3, has_rates);
        json_put_known_double(j, "bytes_allocated_per_s", now->alloc_bytes_per_s, 3, has_rates);
        json_put_known_double(j, "growth_bytes_per_s", now->growth_bytes_per_s, 3, has_rates);
}

/* null: nobody looks at it */
static void put_cpus(struct json *j, const struct model *m, uint64_t ns) {
        json_key(j, "cpus");
        if (m->cpu_ns && m->now.window_ns)
                json_double(j, (double)ns / (double)m->now.window_ns, 4);
        else
                json_null(j);
}

static void put_growth(struct json *j, int64_t bytes, bool is_known) {
        json_key(j, "growth_bytes");
        if (is_known)
                json_int(j, bytes);
        else
                json_null(j);
}

static void put_group(struct json *j, const struct model *m, size_t at) {
        const struct query_group *g = &m->groups->rows[at];
        bool has_rates = model_has_rates(m);
        struct str name = {0};

        json_object(j);
        model_add_name(m, g, true, &name);
        json_put_string(j, "name", str_text(&name));
        str_done(&name);
        json_put_string(j, "function", g->frame.function);
        json_put_string(j, "module", g->frame.module);
        json_put_string(j, "file", g->frame.file);
        json_put_uint(j, "line", g->frame.line);
        json_key(j, "live_bytes");
        if (g->self.lacks_live || m->is_of_time)
                json_null(j);
        else
                json_int(j, g->self.end_bytes);
        json_key(j, "live_blocks");
        if (g->self.lacks_blocks || g->self.lacks_live || m->is_of_time)
                json_null(j);
        else
                json_int(j, g->self.end_blocks);
        if (m->sample_bytes)
                json_put_double(j, "live_error_bytes", query_figures_error(&g->self, QUERY_END), 0);
        put_growth(j, g->self.end_bytes - g->self.begin_bytes, has_rates);
        json_put_known_double(j, "allocations_per_s", model_per_s(m, (double)g->self.n_allocs), 3,
                              has_rates);
        json_put_known_double(j, "bytes_allocated_per_s",
                              model_per_s(m, (double)g->self.alloc_bytes), 3, has_rates);
        put_cpus(j, m, m->cpu_ns ? m->cpu_ns[at] : 0);
        json_end(j);
}

static void put_process(struct json *j, const struct model *m, const struct model_process *p) {
        bool has_rates = model_has_rates(m);

        json_object(j);
        show_put_pid(j, query_view(m->q), p->process);
        json_put_string(j, "name", query_process_name(m->q, p->process));
        put_bool(j, "is_alive", p->is_alive);
        json_put_known(j, "live_bytes", p->live_bytes,
                       !model_totals(m)->lacks_live && !m->is_of_time);
        json_put_known(j, "rss_bytes", p->rss_bytes, p->has_rss);
        put_growth(j, p->growth_bytes, has_rates);
        json_put_known_double(j, "allocations_per_s", p->allocs_per_s, 3, has_rates);
        json_end(j);
}

/* null: there is no graph that tells, and nobody knows. */
static void put_tasks(struct json *j, const struct model *m) {
        json_key(j, "task_groups");
        if (!m->tasks.is_known) {
                json_null(j);
                return;
        }
        json_array(j);
        for (size_t i = 0; i < MIN(m->tasks.n_rows, (size_t)FRAME_MAX_ROWS); i++) {
                const struct task_brief_row *x = &m->tasks.rows[i];

                json_object(j);
                json_put_string(j, "kind", task_kind_name(x->kind));
                json_put_string(j, "runs", x->runs);
                json_put_text(j, "spawned", x->spawned);
                json_put_text(j, "kept_by", x->kept_by);
                json_put_uint(j, "tasks", x->n);
                for (unsigned k = 0; k < N_TASK_STATES; k++)
                        json_put_uint(j, task_state_name(k), x->n_in[k]);
                json_put_uint(j, "bytes", x->bytes);
                json_put_known_double(j, "oldest_s", (double)x->oldest_ns / 1e9, 3,
                                      x->oldest_ns != UINT64_MAX);
                json_end(j);
        }
        json_end(j);
}

static void put_sources(struct json *j, const struct model *m) {
        json_key(j, "source_groups");
        if (!m->tasks.is_known) {
                json_null(j);
                return;
        }
        json_array(j);
        for (size_t i = 0; i < MIN(m->tasks.n_sources, (size_t)FRAME_MAX_ROWS); i++) {
                const struct source_brief_row *x = &m->tasks.sources[i];

                json_object(j);
                json_put_string(j, "what", x->what);
                json_put_text(j, "added", x->added);
                json_put_uint(j, "sources", x->n);
                json_put_uint(j, "waiting", x->n_waiting);
                json_put_uint(j, "ready", x->n_ready);
                json_put_uint(j, "running", x->n_running);
                json_put_uint(j, "unattached", x->n_unattached);
                json_put_uint(j, "removed", x->n_removed);
                json_put_uint(j, "same_data", x->n_same);
                json_put_uint(j, "bytes", x->bytes);
                json_put_known_double(j, "oldest_s", (double)x->oldest_ns / 1e9, 3,
                                      x->oldest_ns != UINT64_MAX);
                json_end(j);
        }
        json_end(j);
}

void frame_json_write(FILE *out, const struct model *m) {
        struct str sentence = {0};
        struct json j;

        json_init(&j, out);
        json_object(&j);
        json_put_string(&j, "schema", "silt.top/1");
        model_add_sentence(m, &sentence);
        json_put_string(&j, "sentence", str_text(&sentence));
        str_done(&sentence);
        json_key(&j, "tasks");
        if (m->tasks.has_tasks)
                json_string(&j, m->tasks.sentence);
        else
                json_null(&j);
        put_tasks(&j, m);
        put_sources(&j, m);
        put_now(&j, m);
        put_cpus(&j, m, m->all_cpu_ns);
        json_put_string(&j, "by", query_by_name(m->ask.by));
        json_put_string(&j, "of", m->mapped ? "mappings" : "blocks");
        json_put_uint(&j, "rows", m->groups->n);
        json_key(&j, "top");
        json_array(&j);
        for (size_t i = 0; i < MIN(m->groups->n, (size_t)FRAME_MAX_ROWS); i++)
                put_group(&j, m, i);
        json_end(&j);
        json_key(&j, "processes");
        json_array(&j);
        for (size_t i = 0; i < m->n_processes; i++)
                put_process(&j, m, &m->processes[i]);
        json_end(&j);
        json_end(&j);
}

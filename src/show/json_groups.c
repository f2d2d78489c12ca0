/* SPDX-License-Identifier: MIT */
#include "show/show_json.h"

#include "query/spent_time.h"

bool show_groups_have_totals(enum query_by by) {
        return by == QUERY_BY_FUNCTION || by == QUERY_BY_MODULE || by == QUERY_BY_LINE ||
               by == QUERY_BY_CRATE || by == QUERY_BY_COMPONENT;
}

static int64_t value_of(const struct query_figures *f, const struct query_groups *g) {
        return query_figure_of(f, g->options.metric).value;
}

size_t show_count_groups(const struct query_groups *g) {
        size_t n = 0;

        for (size_t i = 0; i < g->n; i++)
                n += value_of(&g->rows[i].self, g) != 0 || value_of(&g->rows[i].total, g) != 0;
        return n;
}

static void put_times(struct json *j, const struct query_history *h) {
        json_key(j, "at_s");
        json_array(j);
        for (size_t i = 0; i < h->n_columns; i++)
                json_double(j, (double)h->at_ns[i] / 1e9, 6);
        json_end(j);
}

/* Of time: what passed in each column. */
static void put_history(struct json *j, const struct query_history *h, size_t group) {
        json_key(j, query_metric_time(h->groups->options.metric) ? "time_ns" : "live_bytes");
        json_array(j);
        for (size_t i = 0; i < h->n_columns; i++)
                json_int(j, h->live_bytes[group * h->n_columns + i]);
        json_end(j);
}

static void put_what(struct json *j, const struct query *q, const struct query_groups *g,
                     const struct query_group *row) {
        const struct trace_view *v = query_view(q);

        switch (g->options.by) {
        case QUERY_BY_SITE:
                json_put_uint(j, "site", row->stack);
                show_put_stack(j, q, row->stack);
                break;
        case QUERY_BY_FUNCTION:
                show_put_frame(j, q, &row->frame, row->is_task);
                if (row->is_task) {
                        json_key(j, "async");
                        json_bool(j, true);
                }
                break;
        case QUERY_BY_LINE:
                json_put_string(j, "file", row->frame.file);
                json_put_uint(j, "line", row->frame.line);
                json_put_string(j, "function", row->frame.function);
                json_put_string(j, "module", row->frame.module);
                break;
        case QUERY_BY_MODULE: json_put_string(j, "module", row->frame.module); break;
        case QUERY_BY_CRATE: json_put_string(j, "crate", row->name); break;
        case QUERY_BY_COMPONENT: json_put_string(j, "component", row->name); break;
        case QUERY_BY_THREAD:
                json_put_uint(j, "tid",
                              row->thread < v->n_threads ? v->threads[row->thread].start.tid : 0);
                json_put_string(j, "name",
                                row->thread < v->n_threads ? v->threads[row->thread].name : "");
                break;
        case QUERY_BY_SIZE:
                json_put_uint(j, "min_bytes", row->min_bytes);
                json_put_uint(j, "max_bytes", row->max_bytes);
                break;
        case QUERY_BY_PROCESS:
                if (row->process >= v->n_processes)
                        break;
                show_put_pid(j, v, row->process);
                json_put_uint(j, "image", v->processes[row->process].start.image);
                json_put_string(j, "name", query_process_name(q, row->process));
                break;
        case QUERY_N_BY: break;
        }
}

void show_put_groups(struct json *j, const struct query *q, const struct query_groups *g,
                     const struct query_history *h, size_t n_top) {
        json_put_string(j, "group_by", query_by_name(g->options.by));
        json_put_uint(j, "groups_in_all", show_count_groups(g));
        if (h)
                put_times(j, h);
        json_key(j, "groups");
        json_array(j);
        for (size_t i = 0, n = 0; i < g->n && n < n_top; i++) {
                if (value_of(&g->rows[i].self, g) == 0 && value_of(&g->rows[i].total, g) == 0)
                        continue;
                json_object(j);
                put_what(j, q, g, &g->rows[i]);
                json_put_uint(j, "call_paths", g->rows[i].n_sites);
                show_put_figures(j, "self", &g->rows[i].self, g->options.metric);
                if (show_groups_have_totals(g->options.by))
                        show_put_figures(j, "total", &g->rows[i].total, g->options.metric);
                if (h && i < h->n_groups)
                        put_history(j, h, i);
                json_end(j);
                n++;
        }
        json_end(j);
        if (!h)
                return;
        json_key(j, "rest");
        json_object(j);
        put_history(j, h, h->n_groups);
        json_end(j);
}

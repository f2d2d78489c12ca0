/* SPDX-License-Identifier: MIT */
#include "query/trace_times.h"
#include "show/show_json.h"

void show_put_time(struct json *j, const struct query *q, const char *key, uint64_t ns) {
        if (query_has_times(q)) {
                json_put_double(j, key, (double)ns / 1e9, 6);
        } else {
                json_key(j, key);
                json_null(j);
        }
}

const char *show_ended_name(uint32_t ended) {
        switch ((enum trace_ended)ended) {
        case TRACE_ENDED_EXIT: return "exit";
        case TRACE_ENDED_SIGNAL: return "signal";
        case TRACE_ENDED_OOM: return "oom";
        case TRACE_ENDED_STOPPED: return "recording-stopped";
        case TRACE_ENDED_EXEC: return "exec";
        case TRACE_ENDED_UNKNOWN: break;
        }
        return "unknown";
}

void show_put_processes(struct json *j, const struct query *q, const struct query_answer *a) {
        const struct trace_view *v = query_view(q);

        json_key(j, "processes");
        json_array(j);
        for (size_t i = 0; i < v->n_processes; i++) {
                const struct trace_process_info *p = &v->processes[i];

                json_object(j);
                show_put_pid(j, v, (uint32_t)i);
                json_put_uint(j, "parent",
                              p->start.parent < v->n_processes
                                      ? v->processes[p->start.parent].start.pid
                                      : 0);
                json_put_uint(j, "image", p->start.image);
                show_put_args(j, "command", p->start.args, p->start.n_args);
                json_put_string(j, "exe", p->start.exe);
                if (p->title)
                        json_put_string(j, "title", p->title);
                show_put_time(j, q, "start_s", p->start.start_ns);
                if (p->has_end)
                        show_put_time(j, q, "end_s", p->end.end_ns);
                json_put_string(j, "ended", show_ended_name(p->end.ended));
                if (p->has_end && p->end.status >= 0) {
                        json_key(j, "status");
                        json_int(j, p->end.status);
                }
                show_put_totals(j, "totals", NULL, &a->processes[i]);
                json_end(j);
        }
        json_end(j);
}

void show_put_threads(struct json *j, const struct query *q, const struct query_thread *threads,
                      size_t n, bool have_figures) {
        const struct trace_view *v = query_view(q);

        json_key(j, "threads");
        json_array(j);
        for (size_t i = 0; i < n; i++) {
                const struct query_thread *t = &threads[i];
                const struct trace_thread_info *info = &v->threads[t->thread];

                json_object(j);
                json_put_uint(j, "tid", info->start.tid);
                json_put_string(j, "name", info->name);
                show_put_time(j, q, "start_s", info->start.start_ns);
                if (have_figures) {
                        json_put_uint(j, "allocations", t->n_allocs);
                        json_put_uint(j, "bytes_allocated", t->alloc_bytes);
                        json_put_uint(j, "frees", t->n_frees);
                        json_put_uint(j, "temporary_allocations", t->n_temporary);
                        json_put_uint(j, "foreign_frees", t->n_foreign_frees);
                }
                json_end(j);
        }
        json_end(j);
}

/* SPDX-License-Identifier: MIT */
#include "task/tasks.h"

#include <errno.h>

#include "keep/kept_graph.h"
#include "reach/heap_functions.h"
#include "show/opened.h"
#include "task/tasks_write.h"

void tasks_init(struct tasks *t, const struct tasks_options *o, struct query *q,
                struct names *names) {
        *t = (struct tasks){.options = o, .names = {.q = q, .names = names, .is_full = o->is_full}};
        site_texts_init(&t->texts);
        t->texts.has_lines = true;
}

void tasks_done(struct tasks *t) {
        task_times_done(&t->times);
        thread_list_done(&t->threads);
        source_list_done(&t->sources);
        task_list_done(&t->list);
        held_graph_done(&t->graph);
        site_texts_done(&t->texts);
}

int tasks_gather(struct tasks *t, struct query *q, size_t graph_idx, struct err *reterr) {
        int r;

        t->graph_idx = graph_idx;
        r = held_graph_open(&t->graph, q, &t->names, t->graph_idx, &t->texts, reterr);
        if (r < 0)
                return r;
        r = task_list_make(&t->list, &t->graph, q, &t->names, &t->texts);
        if (r < 0)
                return err_set_errno(reterr, r, "cannot find the tasks");
        source_list_make(&t->sources, &t->graph, q, &t->names, &t->texts);
        return task_waits_find(&t->list, q, t->graph_idx, reterr);
}

int tasks_are_in(struct query *q, size_t graph_idx, bool *ret_is_nameless, struct err *reterr) {
        struct held_graph g = {0};
        heap_function_list functions = {0};
        struct query_frame frame;
        bool is_found = false, is_nameless = false;
        int r = kept_graph_read(q, graph_idx, &g.info, &g.heap, reterr);

        if (r < 0)
                return r;
        heap_functions_find(&g.heap, &functions);
        for (size_t i = 0; i < functions.n && !is_found; i++) {
                bool has_name = held_graph_function(&g, q, functions.items[i], &frame);

                is_nameless |= !has_name;
                is_found = has_name && task_is_runtime(frame.function);
        }
        is_found = is_found || sources_are_in(&g, q);
        vec_free(&functions);
        heap_graph_done(&g.heap);
        if (ret_is_nameless)
                *ret_is_nameless = is_nameless;
        return is_found;
}

/* Threads are told with and without a graph, and by samples what tasks took; where there is nothing, what is missing is a graph. */
static int gather_newest(struct tasks *t, struct query *q, struct err *reterr) {
        uint32_t process = t->options->view.resolved->scope.process;
        size_t i = held_graph_newest(q, process, SIZE_MAX);

        if (i != SIZE_MAX)
                process = query_graph(q, i)->process;
        thread_list_make(&t->threads, q, &t->names, &t->texts, process);
        t->graph_idx = SIZE_MAX;
        if (i == SIZE_MAX)
                task_times_find(q, t->threads.process, &t->times);
        if (i == SIZE_MAX && (t->threads.n || t->times.n))
                return 0;
        if (i == SIZE_MAX && query_n_graphs(q))
                return err_set(
                        reterr, -ENOENT,
                        "the trace has no graph of that process: take one with 'silt snapshot PID --graph', or record with --graph-every 1m");
        return tasks_gather(t, q, i == SIZE_MAX ? 0 : i, reterr);
}

int tasks_write(FILE *out, struct query *q, struct names *names, const struct tasks_options *o,
                struct err *reterr) {
        struct tasks t;
        int r;

        tasks_init(&t, o, q, names);
        r = gather_newest(&t, q, reterr);
        if (r >= 0)
                tasks_json(out, &t);
        tasks_done(&t);
        return r;
}

int tasks_print(FILE *out, const struct tasks_options *options, struct err *reterr) {
        struct tasks_options o = *options;
        struct request_resolved resolved = {0};
        struct opened opened;
        struct tasks t;
        int r = opened_init(&opened, o.view.path, &o.view.request->rules, reterr);

        tasks_init(&t, &o, opened.q, opened.names);
        if (r >= 0)
                r = show_resolve(&o.view, opened.q, REQUEST_ALL, &resolved, reterr);
        if (r >= 0)
                r = gather_newest(&t, opened.q, reterr);
        opened_end_progress(&opened);
        if (r >= 0 && o.view.json)
                tasks_json(out, &t);
        else if (r >= 0)
                tasks_text(out, &t);
        tasks_done(&t);
        request_resolved_done(&resolved);
        opened_done(&opened);
        return r;
}

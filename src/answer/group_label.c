/* SPDX-License-Identifier: MIT */
/* What rows are called. */
#include "answer/answers.h"
#include "base/units.h"
#include "query/trace_origin.h"
#include "show/style.h"

void answer_put_null(struct json *j, const char *key) {
        json_key(j, key);
        json_null(j);
}

static void add_function(const struct question *k, const struct query_group *g, struct str *to) {
        struct name_frame f = frame_of(&g->frame);

        frame_add_function(to, &k->frames, &f, g->is_task, k->frames.is_full, true);
}

static void add_place(const struct question *k, const struct query_group *g, struct str *to) {
        struct name_frame f = frame_of(&g->frame);

        frame_add_place(to, &f, k->frames.is_full);
}

static void add_size(const struct query_group *g, struct str *to) {
        struct unit_text a, b;

        if (g->min_bytes == g->max_bytes)
                str_addf(to, "%s bytes", unit_count(&a, g->max_bytes));
        else
                str_addf(to, "%s to %s bytes", unit_count(&a, g->min_bytes),
                         unit_count(&b, g->max_bytes));
}

static void add_process(const struct question *k, uint32_t process, struct str *to) {
        struct str name = {0};

        if (process >= k->v->n_processes)
                return;
        query_add_process_name(k->q, process, &name);
        style_add_clean(to, str_text(&name));
        if (origin_knows_pids(&k->v->meta)) { /* imported: most sources tell none */
                str_addf(to, " (%u", k->v->processes[process].start.pid);
                if (k->v->processes[process].start.image > 1)
                        str_addf(to, ", image %u", k->v->processes[process].start.image);
                str_add(to, ")");
        }
        str_done(&name);
}

static void add_thread(const struct question *k, uint32_t thread, struct str *to) {
        if (thread >= k->v->n_threads)
                return;
        style_add_clean(to, k->v->threads[thread].name);
        str_addf(to, "%s(%u)", k->v->threads[thread].name[0] ? " " : "",
                 k->v->threads[thread].start.tid);
}

void answer_add_group(const struct question *k, enum query_by by, const struct query_group *g,
                      struct str *to) {
        size_t begin = to->n;

        switch (by) {
        case QUERY_BY_SITE:
        case QUERY_BY_FUNCTION:
                if (g->stack || !g->n_sites)
                        add_function(k, g, to);
                break;
        case QUERY_BY_LINE:
                if (g->frame.file[0] && g->frame.line)
                        add_place(k, g, to);
                else if (g->stack || !g->n_sites)
                        add_function(k, g, to);
                break;
        case QUERY_BY_MODULE:
                style_add_clean(to,
                                k->frames.is_full ? g->frame.module : frame_base(g->frame.module));
                break;
        case QUERY_BY_CRATE:
        case QUERY_BY_COMPONENT: style_add_clean(to, g->name); break;
        case QUERY_BY_THREAD: add_thread(k, g->thread, to); break;
        case QUERY_BY_SIZE: add_size(g, to); break;
        case QUERY_BY_PROCESS: add_process(k, g->process, to); break;
        case QUERY_N_BY: break;
        }
        if (to->n == begin)
                str_add(to, g->n_sites && !g->stack ? "(no stack)" : "(unknown)");
}

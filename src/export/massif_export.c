/* SPDX-License-Identifier: MIT */
/* massif's output: what was live at some moments, at a few of them and at the peak by call path, from the code that asked outwards
 * (valgrind's m_xtree.c writes it, ms_print and massif-visualizer read it). */
#include <string.h>

#include "export/export_job.h"
#include "export/one_process.h"

enum { MASSIF_N_COLUMNS = 72, MASSIF_DETAILED_EVERY = 12 };
#define MASSIF_THRESHOLD                                                                           \
        0.01 /* of the snapshot: smaller branches are put together, as massif does */

struct massif {
        struct export_job *job;
        struct query_answer *whole;
        struct query_history *history; /* NULL: the recording has no moments between */
        uint64_t last_ns;
        uint64_t n_snapshots;
};

/* To ms_print a line ends where a # begins. */
static void put_text(FILE *out, const char *text) {
        for (; *text; text++)
                putc(*text == '#' ? ':' : (unsigned char)*text < ' ' ? ' ' : *text, out);
}

/* ---- trees ------------------------------------------------------------------------------------- */

static void put_frame(FILE *out, const struct query_frame *f) {
        fprintf(out, " 0x%llX: ", (unsigned long long)f->offset);
        put_text(out, f->function[0] && !f->guess ? f->function : "???");
        if (f->file[0]) {
                const char *slash = strrchr(f->file, '/');

                fputs(" (", out);
                put_text(out, slash ? slash + 1 : f->file);
                fprintf(out, ":%u)", f->line);
        } else if (f->module[0]) {
                fputs(" (in ", out);
                put_text(out, f->module);
                putc(')', out);
        }
}

static int64_t bytes_of(const struct query_node *n, enum query_metric metric) {
        return MAX(query_figure_of(&n->total, metric).bytes, (int64_t)0);
}

static size_t n_children_of(const struct query_node *n, enum query_metric metric) {
        size_t k = 0;

        for (size_t i = 0; i < n->n_children; i++)
                k += bytes_of(&n->children[i], metric) > 0;
        return k;
}

static void put_node(FILE *out, const struct query_node *n, enum query_metric metric,
                     unsigned depth) {
        fprintf(out, "%*sn%zu: %lld", (int)depth, "", n_children_of(n, metric),
                (long long)bytes_of(n, metric));
        if (depth == 0)
                fputs(" (heap allocation functions) malloc/new/new[], --alloc-fns, etc.", out);
        else if (n->is_rest)
                fprintf(out, " in %u place%s, %sbelow massif's threshold (%.2f%%)", n->n_rest,
                        n->n_rest == 1 ? "" : "s", n->n_rest == 1 ? "" : "all ",
                        100 * MASSIF_THRESHOLD);
        else
                put_frame(out, &n->frame);
        putc('\n', out);
}

/* Call paths may be long: a stack of its own. */
static void put_tree(FILE *out, const struct query_tree *t, enum query_metric metric) {
        struct massif_place {
                const struct query_node *node;
                unsigned depth;
        };
        VEC(struct massif_place) todo = {0};

        vec_push(&todo, (struct massif_place){t->root, 0});
        while (todo.n) {
                struct massif_place p = todo.items[--todo.n];

                put_node(out, p.node, metric, p.depth);
                for (size_t i = p.node->n_children; i-- > 0;)
                        if (bytes_of(&p.node->children[i], metric) > 0)
                                vec_push(&todo,
                                         (struct massif_place){&p.node->children[i], p.depth + 1});
        }
        vec_free(&todo);
}

static void put_answer_tree(struct massif *m, const struct query_answer *a,
                            enum query_metric metric) {
        const struct query_tree_options o = {.kind = QUERY_BOTTOM_UP,
                                             .merge = QUERY_MERGE_LINE,
                                             .metric = metric,
                                             .is_full = true,
                                             .min_share = MASSIF_THRESHOLD};
        struct query_tree *t = query_tree_answer(m->job->q, a, &o);

        put_tree(m->job->out, t, metric);
        query_tree_free(t);
}

/* ---- snapshots --------------------------------------------------------------------------------- */

static bool has_times(const struct massif *m) {
        return !(m->job->view->meta.flags & TRACE_LACKS_TIME);
}

static void put_snapshot(struct massif *m, uint64_t time_ns, uint64_t live_bytes,
                         const char *tree) {
        FILE *out = m->job->out;

        m->last_ns = MAX(m->last_ns, time_ns);
        fprintf(out, "#-----------\nsnapshot=%llu\n#-----------\n",
                (unsigned long long)m->n_snapshots++);
        fprintf(out, "time=%llu\n",
                (unsigned long long)m->last_ns / (has_times(m) ? 1000000 : 1000000000));
        fprintf(out, "mem_heap_B=%llu\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=%s\n",
                (unsigned long long)live_bytes, tree);
}

static void put_peak(struct massif *m) {
        put_snapshot(m, m->whole->totals.peak_ns, m->whole->totals.peak_bytes, "peak");
        put_answer_tree(m, m->whole, QUERY_PEAK);
}

static int put_detailed(struct massif *m, uint64_t time_ns, struct err *reterr) {
        struct query_scope scope = m->job->scope;
        struct query_answer *a = NULL;
        int r;

        scope.to_ns = time_ns;
        r = query_ask(m->job->q, &scope, &a, reterr);
        if (r < 0)
                return r;
        put_snapshot(m, time_ns, a->totals.end_bytes, "detailed");
        put_answer_tree(m, a, QUERY_END);
        query_answer_free(a);
        return 0;
}

static int put_columns(struct massif *m, struct err *reterr) {
        const struct query_history *h = m->history;
        bool has_peak = false;
        int r = 0;

        for (size_t c = 0; h && c + 1 < h->n_columns && r >= 0; c++) {
                if (h->at_ns[c] > m->whole->totals.peak_ns && !has_peak) {
                        put_peak(m);
                        has_peak = true;
                }
                if (c % MASSIF_DETAILED_EVERY == MASSIF_DETAILED_EVERY - 1)
                        r = put_detailed(m, h->at_ns[c], reterr);
                else
                        put_snapshot(m, h->at_ns[c], (uint64_t)MAX(h->live_bytes[c], (int64_t)0),
                                     "empty");
        }
        if (r >= 0 && !has_peak)
                put_peak(m);
        return r;
}

static void put_head(struct massif *m) {
        struct str command = {0};

        export_add_command(m->job, &command);
        fputs("desc: recorded by silt\ncmd: ", m->job->out);
        put_text(m->job->out, str_text(&command));
        /* one of the three that readers know: instructions, too, have an order and no times */
        fprintf(m->job->out, "\ntime_unit: %s\n", has_times(m) ? "ms" : "i");
        str_done(&command);
}

static int write_file(struct massif *m, struct err *reterr) {
        const struct query_scope *s = &m->job->scope;
        uint64_t end_ns = MIN(s->to_ns, query_run_end_ns(m->job->q, s->process));
        int r;

        put_head(m);
        put_snapshot(m, s->from_ns, m->whole->totals.begin_bytes, "empty");
        r = put_columns(m, reterr);
        if (r < 0)
                return r;
        put_snapshot(m, end_ns, m->whole->totals.end_bytes, "detailed");
        put_answer_tree(m, m->whole, QUERY_END);
        m->job->told->n_rows = m->n_snapshots;
        m->job->told->rows = "snapshots";
        if (s->filter)
                snprintf(
                        m->job->told->note, sizeof(m->job->told->note),
                        "the snapshot that is called the peak is that of the process, whatever these blocks held then");
        return 0;
}

int export_massif(struct export_job *job, struct err *reterr) {
        const struct query_group_options by_site = {.by = QUERY_BY_SITE, .metric = QUERY_END};
        struct massif m = {.job = job};
        int r = query_ask(job->q, &job->scope, &m.whole, reterr);

        if (r >= 0 && !(job->view->meta.flags & TRACE_IS_TOTALS))
                r = query_history(job->q, &job->scope, &by_site, 0, MASSIF_N_COLUMNS, UINT64_MAX,
                                  &m.history, reterr);
        if (r >= 0)
                r = write_file(&m, reterr);
        query_history_free(m.history);
        query_answer_free(m.whole);
        return r;
}

/* SPDX-License-Identifier: MIT */
#include "keep/kept_leaks.h"

#include <errno.h>

#include "keep/suppressed.h"
#include "query/spent_time.h"
#include "trace/loss_note.h"

/* silt names the moment at the end of silt run --leaks so. */
static bool is_at_exit(struct query *q, const struct trace_graph *info) {
        struct query_moment m;

        return query_find_moment(q, info->process, "exit", &m, NULL, NULL) == 0 && m.is_snapshot &&
               m.time_ns == info->time_ns;
}

/* ---- as memcheck told them --------------------------------------------------------------------- */

bool kept_leaks_are_told(const struct query *q) {
        const struct trace_view *v = query_view(q);
        struct trace_loss x;

        for (size_t i = 0; !query_n_graphs(q) && i < v->n_notes; i++)
                if (trace_loss_parse(v->notes[i].text, &x))
                        return true;
        return false;
}

static void take_told(struct kept_leaks *l, const struct trace_view *v) {
        for (size_t i = 0; i < v->n_notes; i++) {
                struct trace_loss x;

                if (!trace_loss_parse(v->notes[i].text, &x) || x.is_sum)
                        continue;
                vec_push(&l->records,
                         (struct loss_record){.stack = x.stack == LOSS_NO_STACK ||
                                                                       x.stack >= v->n_stacks
                                                               ? REACH_NO_SITE
                                                               : x.stack,
                                              .class = (enum leak_class)x.class,
                                              .blocks = x.blocks,
                                              .bytes = x.bytes,
                                              .indirect_bytes = x.indirect_bytes});
        }
        loss_records_sort(&l->records);
}

/* Memcheck's own sums also have blocks that it shows no record of; without them what hangs from lost blocks is known in bytes. */
static void sum_told(struct kept_leaks *l, const struct trace_view *v) {
        struct leak_sums records = l->sums;
        uint64_t indirect_bytes = 0;

        for (size_t i = 0; i < l->records.n; i++)
                indirect_bytes += l->records.items[i].indirect_bytes;
        for (unsigned c = 0; c < N_LEAK_CLASSES; c++)
                l->is_unknown[c] = !records.blocks[c];
        if (!records.blocks[LEAK_INDIRECT])
                l->sums.bytes[LEAK_INDIRECT] = indirect_bytes;
        for (size_t i = 0; i < v->n_notes; i++) {
                struct trace_loss x;

                if (!trace_loss_parse(v->notes[i].text, &x) || !x.is_sum)
                        continue;
                l->sums.bytes[x.class] = x.bytes;
                l->sums.blocks[x.class] = x.blocks;
                l->is_unknown[x.class] = false;
        }
        for (size_t i = 0; i < l->records.n; i++) {
                const struct loss_record *r = &l->records.items[i];

                if (!r->is_suppressed || l->is_unknown[r->class])
                        continue;
                l->sums.bytes[r->class] -= MIN(l->sums.bytes[r->class], r->bytes);
                l->sums.blocks[r->class] -= MIN(l->sums.blocks[r->class], r->blocks);
        }
}

static void open_told(struct kept_leaks *l, struct query *q) {
        const struct trace_view *v = query_view(q);

        l->is_told = l->is_at_exit = true;
        l->graph.info.process = query_main_process(q);
        l->graph.info.time_ns = v->end_ns;
        take_told(l, v);
        suppressed_find(&l->suppressions, q, &l->records);
        l->sums = loss_records_sum(&l->records);
        sum_told(l, v);
}

int kept_leaks_open(struct kept_leaks *l, struct query *q, const char *path, uint32_t process,
                    const suppression_files *files, struct err *reterr) {
        struct err why = {0};
        int r = 0;

        *l = (struct kept_leaks){0};
        for (size_t i = 0; files && r >= 0 && i < files->n; i++)
                r = suppressions_read(&l->suppressions, files->items[i], reterr);
        if (r < 0)
                return r;
        if (kept_leaks_are_told(q)) {
                open_told(l, q);
                return 0;
        }
        if (!query_n_graphs(q) && query_is_imported(q))
                return err_set(
                        reterr, -ENOENT,
                        "'%s' was made by another tool, and has no reference graph: record the program with 'silt run --leaks', or import a log of memcheck",
                        path);
        r = kept_graph_open(&l->graph, q, process, &why);
        if (r < 0)
                return err_set(reterr, r, "'%s': %s", path, why.text);
        loss_records_find(&l->graph, &l->records);
        suppressed_find(&l->suppressions, q, &l->records);
        l->sums = loss_records_sum(&l->records);
        l->is_at_exit = is_at_exit(q, &l->graph.info);
        return 0;
}

void kept_leaks_done(struct kept_leaks *l) {
        suppressions_done(&l->suppressions);
        vec_free(&l->records);
        kept_graph_done(&l->graph);
}

uint64_t kept_leaks_lost_bytes(const struct kept_leaks *l) {
        return l->sums.bytes[LEAK_DEFINITE] + l->sums.bytes[LEAK_INDIRECT];
}

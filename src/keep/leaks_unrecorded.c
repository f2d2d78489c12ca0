/* SPDX-License-Identifier: MIT */
#include "keep/leaks_unrecorded.h"

#include <stdlib.h>

#include "base/json.h"
#include "base/macros.h"
#include "base/units.h"
#include "keep/json_sum.h"
#include "keep/leak_summary.h"
#include "show/style.h"

enum { MAX_ROWS = 12 };

/* Of one class and one size. */
struct size_row {
        enum leak_class class;
        uint64_t size_bytes, blocks;
};

typedef VEC(struct size_row) size_rows;

static int by_size(const void *a, const void *b) {
        const struct size_row *x = a, *y = b;

        if (x->class != y->class)
                return x->class > y->class ? -1 : 1;
        return x->size_bytes < y->size_bytes ? -1 : x->size_bytes > y->size_bytes;
}

static int by_bytes(const void *a, const void *b) {
        const struct size_row *x = a, *y = b;
        uint64_t x_bytes = x->size_bytes * x->blocks, y_bytes = y->size_bytes * y->blocks;

        return x_bytes > y_bytes ? -1 : x_bytes < y_bytes ? 1 : by_size(a, b);
}

static void find_rows(const struct kept_leaks *l, bool shows_reachable, size_rows *ret) {
        const struct reach_graph *g = &l->graph.heap.graph;
        size_t n = 0;

        for (uint32_t i = 0; i < g->n_blocks; i++)
                if (shows_reachable || l->graph.classes.of_block[i] != LEAK_REACHABLE)
                        vec_push(ret, (struct size_row){l->graph.classes.of_block[i],
                                                        g->blocks[i].size_bytes, 1});
        if (!ret->n)
                return;
        qsort(ret->items, ret->n, sizeof(ret->items[0]), by_size);
        for (size_t i = 1; i < ret->n; i++)
                if (by_size(&ret->items[n], &ret->items[i]) == 0)
                        ret->items[n].blocks++;
                else
                        ret->items[++n] = ret->items[i];
        ret->n = n + 1;
        qsort(ret->items, ret->n, sizeof(ret->items[0]), by_bytes);
}

static void add_sentence(struct str *to, const struct kept_leaks *l,
                         const struct leaks_unrecorded *o) {
        uint64_t lost_blocks = l->sums.blocks[LEAK_DEFINITE] + l->sums.blocks[LEAK_INDIRECT];
        struct unit_text a, b;

        if (o->is_go)
                str_add(to,
                        "Incomplete: silt does not see Go's garbage-collected heap: use Go's own profiler (net/http/pprof). Of the C code: ");
        else if (o->unexplained)
                str_addf(to, "Incomplete: %s. ", o->unexplained);
        str_addf(
                to,
                "%s (%d) is not being recorded, so these are the blocks of its malloc, without call paths: ",
                o->name, o->pid);
        if (lost_blocks)
                str_addf(to, "nothing points to %s in %s block%s any more.",
                         unit_bytes(&a, kept_leaks_lost_bytes(l)), unit_count(&b, lost_blocks),
                         unit_s(lost_blocks));
        else
                str_addf(to, "something points to each of the %s.",
                         unit_count(&a, l->graph.heap.graph.n_blocks));
        if (lost_blocks)
                str_addf(to, " To see who allocated them, record it: silt attach %d.", o->pid);
        if (o->n_moving_blocks)
                str_addf(
                        to,
                        " %s in %s block%s %s left out: nothing pointed there at one moment and something did at another, so a thread was just handing them on.",
                        unit_bytes(&a, o->moving_bytes), unit_count(&b, o->n_moving_blocks),
                        unit_s(o->n_moving_blocks), o->n_moving_blocks == 1 ? "is" : "are");
        if (o->n_unknown_blocks)
                str_addf(to, " %s large blocks were not found.",
                         unit_count(&a, o->n_unknown_blocks));
        if (l->graph.heap.unread_bytes)
                str_addf(to, " %s of memory could not be read.",
                         unit_bytes(&a, l->graph.heap.unread_bytes));
        if (o->unwalked_bytes)
                str_addf(to, " %s of its heaps could not be read.",
                         unit_bytes(&a, o->unwalked_bytes));
}

static void write_text(FILE *out, const struct kept_leaks *l, const size_rows *rows,
                       const struct leaks_unrecorded *o) {
        struct str text = {0};
        struct unit_text a, b, c;
        struct style s;
        uint64_t bytes = 0;

        style_init(&s, out);
        add_sentence(&text, l, o);
        style_wrap(&s, str_text(&text), 0);
        for (unsigned i = 0; i < N_LEAK_CLASSES; i++)
                bytes += l->sums.bytes[i];
        fprintf(out, "\nHEAP SUMMARY:\n    in use at that moment: %s bytes in %s blocks\n\n",
                unit_count(&a, bytes), unit_count(&b, l->graph.heap.graph.n_blocks));
        for (size_t i = 0; i < rows->n && i < MAX_ROWS; i++) {
                const struct size_row *r = &rows->items[i];

                fprintf(out, "%s bytes in %s blocks of %s bytes are %s\n",
                        unit_count(&a, r->size_bytes * r->blocks), unit_count(&b, r->blocks),
                        unit_count(&c, r->size_bytes), leak_class_words[r->class]);
        }
        if (rows->n > MAX_ROWS)
                fprintf(out, "and blocks of %s other sizes\n", unit_count(&a, rows->n - MAX_ROWS));
        if (rows->n)
                fputc('\n', out);
        leak_summary_print(out, l);
        str_done(&text);
}

static void write_json(FILE *out, const struct kept_leaks *l, const struct leaks_unrecorded *o) {
        const struct leak_sums *c = &l->sums;
        struct json j;

        json_init(&j, out);
        json_object(&j);
        json_put_string(&j, "schema", "silt.leaks/1");
        json_put_uint(&j, "pid", (uint64_t)o->pid);
        json_key(&j, "recorded");
        json_bool(&j, false);
        json_put_double(&j, "pause_s", (double)l->graph.heap.pause_ns / 1e9, 6);
        json_put_uint(&j, "unread_bytes", l->graph.heap.unread_bytes);
        json_put_uint(&j, "unknown_blocks", o->n_unknown_blocks);
        json_put_uint(&j, "unwalked_bytes", o->unwalked_bytes);
        json_key(&j, "is_go");
        json_bool(&j, o->is_go);
        json_put_string(&j, "incomplete", o->unexplained ? o->unexplained : "");
        json_put_uint(&j, "resident_bytes", o->anon_bytes);
        json_put_uint(&j, "unexplained_bytes",
                      o->anon_bytes - MIN(o->explained_bytes, o->anon_bytes));
        json_put_uint(&j, "looks", o->n_looks);
        json_put_sum(&j, "left_out", o->moving_bytes, o->n_moving_blocks);
        json_put_sum(&j, "definitely_lost", c->bytes[LEAK_DEFINITE], c->blocks[LEAK_DEFINITE]);
        json_put_sum(&j, "indirectly_lost", c->bytes[LEAK_INDIRECT], c->blocks[LEAK_INDIRECT]);
        json_put_sum(&j, "possibly_lost", c->bytes[LEAK_POSSIBLE], c->blocks[LEAK_POSSIBLE]);
        json_put_sum(&j, "still_reachable", c->bytes[LEAK_REACHABLE], c->blocks[LEAK_REACHABLE]);
        json_end(&j);
}

int leaks_unrecorded_print(FILE *out, struct heap_graph *heap, const struct leaks_unrecorded *o,
                           struct err *reterr) {
        struct kept_leaks l = {.graph.heap = *heap};
        size_rows rows = {0};
        int r;

        heap_graph_follow_tables(&l.graph.heap);
        r = leak_classes_find(&l.graph.heap.graph, &l.graph.classes);
        *heap = (struct heap_graph){0};
        if (r < 0) {
                kept_leaks_done(&l);
                return err_set_errno(reterr, r, "cannot find the classes");
        }
        loss_records_find(&l.graph, &l.records);
        l.sums = loss_records_sum(&l.records);
        find_rows(&l, o->shows_reachable, &rows);
        if (o->json)
                write_json(out, &l, o);
        else
                write_text(out, &l, &rows, o);
        vec_free(&rows);
        kept_leaks_done(&l);
        return 0;
}

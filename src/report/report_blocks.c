/* SPDX-License-Identifier: MIT */
/* Single allocations in time order: text lines, or JSON (schema silt.blocks/1). */
#include "base/json.h"
#include "base/units.h"
#include "query/trace_times.h"
#include "report/gather.h"
#include "show/show_json.h"
#include "show/stack_text.h"
#include "show/style.h"
#include "show/view.h"

enum { BLOCKS_WIDE = 80, BLOCKS_THREAD_WIDTH = 20 };

struct listing {
        struct query *q;
        const struct trace_view *v;
        struct frame_names frames;
        struct style s;
        struct json j;
        FILE *out;
        uint64_t n_printed, n_max;
};

static const char *thread_name(const struct listing *l, uint32_t thread) {
        return thread < l->v->n_threads ? l->v->threads[thread].name : "";
}

static uint32_t thread_tid(const struct listing *l, uint32_t thread) {
        return thread < l->v->n_threads ? l->v->threads[thread].start.tid : 0;
}

/* Threads have a column only where that leaves enough for call paths. */
static bool has_thread(const struct listing *l) {
        return l->s.width >= BLOCKS_WIDE;
}

static void print_heading(const struct listing *l) {
        if (query_has_times(l->q))
                fprintf(l->out, "%s%12s  %9s  %10s  ", l->s.dim, "time in s", "size", "age");
        else
                fprintf(l->out, "%s%12s  %9s   ", l->s.dim, query_moment_name(l->q), "size");
        if (query_sample_bytes(l->q))
                fprintf(l->out, "%10s  ", "stands for");
        if (has_thread(l))
                fprintf(l->out, "%-*s  ", BLOCKS_THREAD_WIDTH, "thread");
        fprintf(l->out, "call path%s\n", l->s.plain);
}

static bool print_block(void *ctx, const struct query_block *b) {
        struct listing *l = ctx;
        struct unit_text size, age;
        struct str line = {0}, thread = {0};
        size_t begin;

        if (query_has_times(l->q))
                str_addf(&line, "%12.6f  %9s  %s%9s  ", (double)b->time_ns / 1e9,
                         unit_bytes(&size, b->size_bytes), b->is_live ? ">" : " ",
                         unit_duration(&age, b->age_ns));
        else
                str_addf(&line, "%12s  %9s %s ", unit_count(&age, b->time_ns / 1000000000),
                         unit_bytes(&size, b->size_bytes), b->is_live ? ">" : " ");
        if (query_sample_bytes(l->q))
                str_addf(&line, "%10s  ", unit_count(&size, b->n_blocks));
        begin = line.n;
        if (has_thread(l)) {
                str_addf(&thread, "%u ", thread_tid(l, b->thread));
                style_add_clean(&thread, thread_name(l, b->thread));
                style_add_cut(&l->s, &line, str_text(&thread), BLOCKS_THREAD_WIDTH);
                style_pad_to(&line, begin, BLOCKS_THREAD_WIDTH + 2);
        }
        if (l->frames.is_full) {
                fprintf(l->out, "%s\n", str_text(&line));
                stack_print(&l->s, &l->frames, b->stack, 14, 0);
        } else {
                stack_add_short(&l->s, &l->frames, b->stack, &line,
                                MAX(l->s.width, str_width(str_text(&line)) + 20) -
                                        str_width(str_text(&line)));
                fprintf(l->out, "%s\n", str_text(&line));
        }
        str_done(&line);
        str_done(&thread);
        return ++l->n_printed < l->n_max && !ferror(l->out);
}

static bool put_block(void *ctx, const struct query_block *b) {
        struct listing *l = ctx;

        json_object(&l->j);
        show_put_time(&l->j, l->q, "at_s", b->time_ns);
        if (!query_has_times(l->q))
                json_put_uint(&l->j, "event", b->time_ns / 1000000000);
        json_put_uint(&l->j, "bytes", b->size_bytes);
        if (query_sample_bytes(l->q))
                json_put_uint(&l->j, "stands_for", b->n_blocks);
        show_put_time(&l->j, l->q, "age_s", b->age_ns);
        json_key(&l->j, "live");
        json_bool(&l->j, b->is_live);
        json_put_uint(&l->j, "seq", b->seq);
        if (b->address)
                json_put_uint(&l->j, "address", b->address);
        json_put_uint(&l->j, "tid", thread_tid(l, b->thread));
        json_put_string(&l->j, "thread", thread_name(l, b->thread));
        json_put_uint(&l->j, "site", b->stack);
        show_put_stack(&l->j, l->q, b->stack);
        show_put_shown(&l->j, l->q, b->stack);
        json_end(&l->j);
        return ++l->n_printed < l->n_max && !ferror(l->out);
}

/* How many are to come, where that is known before they are read, and what is left out. */
static int print_first(const struct listing *l, const struct query_scope *scope,
                       struct err *reterr) {
        _cleanup_(query_answer_freep) struct query_answer *a = NULL;
        const char *filter = query_filter_text(scope->filter);
        bool is_cut = scope->from_ns < l->v->detail_from_ns;
        struct str text = {0};
        struct unit_text t;
        int x;

        if (filter[0]) {
                str_addf(&text, "Only blocks with %s", filter);
                if (l->n_max < UINT64_MAX)
                        str_addf(&text, ", the first %s", unit_count(&t, l->n_max));
        } else if (is_cut) {
                str_add(&text, "Blocks");
        } else {
                x = query_ask(l->q, scope, &a, reterr);
                if (x < 0)
                        return x;
                if (l->n_max < a->totals.n_allocs)
                        str_addf(&text, "The first %s of ", unit_count(&t, l->n_max));
                str_addf(&text, "%s%s block%s", query_sample_bytes(l->q) ? "Samples of " : "",
                         unit_count(&t, a->totals.n_allocs), a->totals.n_allocs == 1 ? "" : "s");
        }
        str_add(&text, " in order of allocation; > marks those still allocated at the end.");
        if (is_cut) {
                str_add(&text, " ");
                view_add_missing(l->v, l->v->detail_from_ns, &text);
                str_add(&text, ": older blocks are not listed.");
        }
        fputs(l->s.bold, l->out);
        style_wrap(&l->s, str_text(&text), 0);
        fputs(l->s.plain, l->out);
        str_done(&text);
        return 0;
}

int report_blocks(FILE *out, struct query *q, const struct show_options *o, struct names *names,
                  struct err *reterr) {
        struct listing l = {.q = q,
                            .v = query_view(q),
                            .frames = {q, names, o->request->full},
                            .out = out,
                            .n_max = o->request->has_top ? MAX(o->request->n_top, 1u) : UINT64_MAX};
        const struct query_scope scope = o->resolved->scope;
        int x;

        if (!o->json) {
                style_init(&l.s, out);
                if (l.v->meta.flags & TRACE_IS_TOTALS) {
                        style_wrap(
                                &l.s,
                                "Single blocks are unknown: this recording has totals and no events.",
                                0);
                        return 0;
                }
                x = print_first(&l, &scope, reterr);
                if (x < 0)
                        return x;
                print_heading(&l);
                x = query_blocks(q, &scope, print_block, &l, reterr);
                if (x >= 0 && !l.n_printed && scope.to_ns > l.v->detail_from_ns)
                        fprintf(out, "%s",
                                query_filter_is_empty(scope.filter)
                                        ? "No block was allocated: try another window or process.\n"
                                        : "The filter matches no block: try another filter, window or process.\n");
                return x;
        }
        json_init(&l.j, out);
        json_object(&l.j);
        json_put_string(&l.j, "schema", "silt.blocks/1");
        json_put_string(&l.j, "filter", query_filter_text(scope.filter));
        json_put_double(&l.j, "detail_from_s", (double)l.v->detail_from_ns / 1e9, 6);
        json_key(&l.j, "blocks");
        if (l.v->meta.flags & TRACE_IS_TOTALS) { /* nobody knows them */
                json_null(&l.j);
                json_end(&l.j);
                return 0;
        }
        json_array(&l.j);
        x = query_blocks(q, &scope, put_block, &l, reterr);
        json_end(&l.j);
        json_end(&l.j);
        return x;
}

/* SPDX-License-Identifier: MIT */
/* Sizes and lifetimes of blocks as bars: text, or JSON (schema silt.histogram/1). */
#include "base/vec.h"
#include "report/gather.h"
#include "report/sizes_lifetimes.h"
#include "show/show_json.h"
#include "show/view.h"

enum { HISTOGRAM_MAX_ROWS = 24, HISTOGRAM_MIN_BAR = 4 };

/* ---- text ------------------------------------------------------------------------------------ */

/* Several classes of sizes in one row where there are more than fit a page: a row each doubling. */
static size_t merge_doublings(struct query_bucket *rows, size_t n) {
        size_t n_merged = 0;

        for (size_t i = 0; i < n; i++) {
                struct query_bucket *last = n_merged ? &rows[n_merged - 1] : NULL;

                if (last && last->max > 16 && rows[i].max <= 2 * (last->min - 1)) {
                        last->max = rows[i].max;
                        last->n_blocks += rows[i].n_blocks;
                        last->bytes += rows[i].bytes;
                } else {
                        rows[n_merged++] = rows[i];
                }
        }
        return n_merged;
}

static void add_range(const struct query_histogram *h, const struct query_bucket *b,
                      struct str *to) {
        struct unit_text a, c;

        if (h->kind == QUERY_SIZES) {
                if (b->min == b->max)
                        str_addf(to, "%s B", unit_count(&a, b->max));
                else
                        str_addf(to, "%s to %s B", unit_count(&a, b->min), unit_count(&c, b->max));
        } else if (b->max == UINT64_MAX) {
                str_addf(to, "from %s", unit_duration(&a, b->min));
        } else {
                str_addf(to, "under %s", unit_duration(&c, b->max));
        }
}

/* The first row up to which half of the blocks (or bytes) are. */
static const struct query_bucket *median(const struct query_histogram *h, bool of_bytes) {
        uint64_t sum = 0, whole = of_bytes ? h->bytes : h->n_blocks;

        for (size_t i = 0; i < h->n; i++) {
                sum += of_bytes ? h->buckets[i].bytes : h->buckets[i].n_blocks;
                if (sum * 2 >= whole)
                        return &h->buckets[i];
        }
        return NULL;
}

static void add_sizes_sentence(const struct query_histogram *h, struct str *to) {
        const struct query_bucket *blocks = median(h, false), *bytes = median(h, true);
        struct unit_text a, b, c, d;

        str_addf(
                to,
                "%s block%s of %s in total %s allocated: half of the blocks have %s byte%s or less, half of the bytes are in blocks of %s byte%s or more.",
                unit_count(&a, h->n_blocks), h->n_blocks == 1 ? "" : "s", unit_bytes(&b, h->bytes),
                h->n_blocks == 1 ? "was" : "were", unit_count(&c, blocks ? blocks->max : 0),
                unit_s(blocks ? blocks->max : 0), unit_count(&d, bytes ? bytes->min : 0),
                unit_s(bytes ? bytes->min : 0));
}

static void add_lifetimes_sentence(const struct query_histogram *h, struct str *to) {
        const struct query_bucket *half = median(h, false);
        uint64_t n_long = 0;
        struct unit_text a, b;

        for (size_t i = 0; i < h->n; i++)
                if (h->buckets[i].min >= 1000000000) /* from 1.05 s on */
                        n_long += h->buckets[i].n_blocks;
        str_addf(to, "%s block%s %s freed: half of them lived %s %s", unit_count(&a, h->n_blocks),
                 h->n_blocks == 1 ? "" : "s", h->n_blocks == 1 ? "was" : "were",
                 half && half->max == UINT64_MAX ? "longer than" : "less than",
                 unit_duration(&b, !half                     ? 0
                                   : half->max == UINT64_MAX ? half->min
                                                             : half->max));
        if (n_long)
                str_addf(to, ", and %s about a second or longer", unit_count(&a, n_long));
        str_add(to, ".");
}

static void print_row(const struct view *v, const struct query_histogram *h,
                      const struct query_bucket *b, size_t range_width, uint64_t most) {
        struct str line = {0};
        struct unit_text a, c;
        size_t used;

        str_add(&line, "  ");
        add_range(h, b, &line);
        style_pad_to(&line, 2, range_width);
        str_addf(&line, "%14s %5.1f %%", unit_count(&a, b->n_blocks),
                 100.0 * (double)b->n_blocks / (double)h->n_blocks);
        if (h->has_bytes)
                str_addf(&line, " %10s", unit_bytes(&c, b->bytes));
        used = str_width(str_text(&line)) + 2;
        if (b->n_blocks && used + HISTOGRAM_MIN_BAR <= v->s.width) {
                str_add(&line, "  ");
                sizes_lifetimes_add_bar(&v->s, &line, b->n_blocks, most, v->s.width - used);
        }
        fprintf(v->out, "%s\n", str_text(&line));
        str_done(&line);
}

/* Rows without a block are shown between rows with some, where they say something. */
static void print_rows(const struct view *v, const struct query_histogram *h) {
        VEC(struct query_bucket) rows = {0};
        size_t first = 0, range_width = 0;
        uint64_t most = 0;

        for (size_t i = 0; i < h->n; i++)
                vec_push(&rows, h->buckets[i]);
        if (h->kind == QUERY_SIZES && rows.n > HISTOGRAM_MAX_ROWS && !v->o->request->full)
                rows.n = merge_doublings(rows.items, rows.n);
        while (first < rows.n && rows.items[first].n_blocks == 0)
                first++;
        while (rows.n > first && rows.items[rows.n - 1].n_blocks == 0)
                rows.n--;
        for (size_t i = first; i < rows.n; i++) {
                struct str range = {0};

                add_range(h, &rows.items[i], &range);
                range_width = MAX(range_width, str_width(str_text(&range)));
                most = MAX(most, rows.items[i].n_blocks);
                str_done(&range);
        }
        fprintf(v->out, "%s  %-*s%14s%s%s\n", v->s.dim, (int)range_width,
                h->kind == QUERY_SIZES ? "size" : "lived", "blocks",
                h->has_bytes ? "              bytes" : "", v->s.plain);
        for (size_t i = first; i < rows.n; i++)
                print_row(v, h, &rows.items[i], range_width, most);
        vec_free(&rows);
}

static void print_text(struct view *v, const struct query_histogram *h) {
        const char *did = h->kind == QUERY_SIZES ? "allocated" : "freed";
        bool is_filtered = !query_filter_is_empty(v->scope.filter);
        bool is_untold =
                !h->is_exact && !h->n_blocks &&
                (h->scope.to_ns <= v->v->detail_from_ns || v->v->meta.flags & TRACE_IS_TOTALS);
        struct str text = {0};

        if (is_untold) {
                str_addf(&text, "What was %s ", did);
                view_add_untold(v->v, v->v->detail_from_ns, &text);
                str_add(&text, ".");
        } else if (h->n_blocks == 0)
                str_addf(&text, "No block %swas %s: try another %swindow or process.",
                         is_filtered ? "that the filter matches " : "", did,
                         is_filtered ? "filter, " : "");
        else if (h->kind == QUERY_SIZES)
                add_sizes_sentence(h, &text);
        else
                add_lifetimes_sentence(h, &text);
        view_print_first(v, &text);
        str_done(&text);
        if (h->n_blocks) {
                style_heading(&v->s, h->kind == QUERY_SIZES ? "Blocks allocated, by size"
                                                            : "Blocks freed, by lifetime");
                print_rows(v, h);
        }
        if (!h->is_exact && !is_untold)
                fprintf(v->out,
                        "\nSome events are missing from the file: blocks without a recorded allocation are left out.\n");
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_json(struct view *v, const struct query_histogram *h) {
        view_begin(v);
        show_put_scope(&v->j, v->q, &h->scope);
        json_put_string(&v->j, "of", h->kind == QUERY_SIZES ? "size" : "lifetime");
        show_put_histogram(&v->j, h);
        view_end(v);
}

int report_histogram(FILE *out, struct query *q, const struct show_options *o, struct err *reterr) {
        _cleanup_(query_histogram_freep) struct query_histogram *h = NULL;
        struct view v;
        int r;

        view_init(&v, out, q, o, "silt.histogram/1");
        r = query_histogram(q, &v.scope,
                            o->request->shape == REQUEST_SIZES ? QUERY_SIZES : QUERY_LIFETIMES,
                            o->request->full, &h, reterr);
        if (r < 0)
                return r;
        v.scope = h->scope;
        if (o->json)
                put_json(&v, h);
        else
                print_text(&v, h);
        return 0;
}

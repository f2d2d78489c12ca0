/* SPDX-License-Identifier: MIT */
#include "report/sizes_lifetimes.h"

#include <string.h>

#include "base/units.h"

enum {
        SPREAD_GAP = 3,        /* between two tables */
        SPREAD_SIDE = 76,      /* width from which on they stand beside each other */
        SPREAD_MAX_WIDTH = 60, /* of a table */
        SPREAD_MAX_BAR = 30,
        SPREAD_MAX_ROWS = 10, /* of sizes; more are put together */
        SPREAD_MIN_BAR = 4,
        SPREAD_SIZE_STEP = 4, /* a row's sizes are up to so many times those of the row before */
        SPREAD_LIFETIME_STEP = 16,
};

struct spread_row {
        struct str label;
        uint64_t n_blocks, bytes;
};

struct spread {
        const char *title, *border; /* what a row's label means */
        VEC(struct spread_row) rows;
        uint64_t n_blocks, bytes, most;
        bool has_bytes;
        struct str *lines; /* of the table as text */
        size_t n_lines, width;
};

void sizes_lifetimes_add_bar(const struct style *s, struct str *to, uint64_t part, uint64_t whole,
                             size_t width) {
        static const char *const parts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
        uint64_t eighths =
                whole ? unit_nearest((double)part / (double)whole * (double)width * 8) : 0;

        if (part && eighths == 0)
                eighths = 1;
        str_add(to, s->live);
        for (uint64_t i = 0; i < (s->utf8 ? eighths / 8 : (eighths + 7) / 8); i++)
                str_add(to, s->utf8 ? "█" : "#");
        str_add(to, s->utf8 ? parts[eighths % 8] : "");
        str_add(to, s->plain);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void add_row(struct spread *x, struct str label, uint64_t n_blocks, uint64_t bytes) {
        vec_push(&x->rows, (struct spread_row){label, n_blocks, bytes});
        x->most = MAX(x->most, n_blocks);
}

/* Up to the border `top`, a power of the step; returns the next bucket. */
static size_t take_buckets(const struct query_histogram *h, size_t i, uint64_t top,
                           uint64_t *ret_blocks, uint64_t *ret_bytes) {
        *ret_blocks = *ret_bytes = 0;
        for (; i < h->n && h->buckets[i].max <= top; i++) {
                *ret_blocks += h->buckets[i].n_blocks;
                *ret_bytes += h->buckets[i].bytes;
        }
        return i;
}

/* Rows from the first to the last that has blocks. */
static void fill(struct spread *x, const struct query_histogram *h, uint64_t top, uint64_t step) {
        uint64_t n_blocks, bytes, done = 0;
        bool is_sizes = h->kind == QUERY_SIZES;
        uint64_t last = top; /* border: what is above it is known together only */

        for (size_t i = 0; i < h->n; i++)
                last = h->buckets[i].max == UINT64_MAX ? last : MAX(last, h->buckets[i].max);
        x->n_blocks = h->n_blocks;
        x->bytes = h->bytes;
        x->has_bytes = h->has_bytes && is_sizes;
        for (size_t i = 0;
             i < h->n && done<h->n_blocks; top = top> UINT64_MAX / step ? UINT64_MAX : top * step) {
                struct str label = {0};
                struct unit_text t;

                if (h->buckets[i].max == UINT64_MAX) /* what has no end is one row */
                        top = UINT64_MAX;
                else if (!is_sizes)
                        top = MIN(top, last);
                i = take_buckets(h, i, top, &n_blocks, &bytes);
                if (!x->rows.n && !n_blocks)
                        continue;
                done += n_blocks;
                if (is_sizes)
                        str_add(&label, unit_bytes(&t, top));
                else if (top == UINT64_MAX)
                        str_add(&label, "longer");
                else
                        str_add(&label, unit_duration(&t, top));
                add_row(x, label, n_blocks, bytes);
        }
}

static void rows_done(struct spread *x) {
        for (size_t i = 0; i < x->rows.n; i++)
                str_done(&x->rows.items[i].label);
        vec_free(&x->rows);
        x->most = 0;
}

static int fill_sizes(const struct report *r, struct spread *x, struct err *reterr) {
        _cleanup_(query_histogram_freep) struct query_histogram *h = NULL;
        int e = query_histogram(r->q, &r->scope, QUERY_SIZES, true, &h, reterr);

        if (e < 0)
                return e;
        x->title = "Sizes of blocks allocated";
        x->border = "up to";
        fill(x, h, 16, SPREAD_SIZE_STEP);
        if (x->rows.n > SPREAD_MAX_ROWS) {
                rows_done(x);
                fill(x, h, 16, (uint64_t)SPREAD_SIZE_STEP * SPREAD_SIZE_STEP);
        }
        return 0;
}

/* Those that were not released belong to the picture. */
static int fill_lifetimes(const struct report *r, struct spread *x, struct err *reterr) {
        _cleanup_(query_histogram_freep) struct query_histogram *h = NULL;
        int e = query_histogram(r->q, &r->scope, QUERY_LIFETIMES, false, &h, reterr);
        uint64_t n_left = r->answer->totals.end_blocks;
        struct str label = {0};

        if (e < 0)
                return e;
        x->title = "How long blocks lived";
        x->border = "under";
        fill(x, h, 16000, SPREAD_LIFETIME_STEP);
        x->n_blocks += n_left;
        if (n_left && x->n_blocks) {
                str_add(&label, "to the end");
                add_row(x, label, n_left, 0);
        }
        return 0;
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void add_share(struct str *to, uint64_t part, uint64_t whole) {
        if (part && whole)
                str_addf(to, "%7.1f %%", 100.0 * (double)part / (double)whole);
        else
                str_addf(to, "%9s", "-");
}

static void lay_out(const struct style *s, struct spread *x, size_t width) {
        size_t label_width = strlen(x->border), used;
        struct str *line;

        x->width = width;
        x->lines = calloc(x->rows.n + 2, sizeof(x->lines[0]));
        if (!x->lines)
                abort();
        for (size_t i = 0; i < x->rows.n; i++)
                label_width = MAX(label_width, str_width(str_text(&x->rows.items[i].label)));
        used = 2 + label_width + 9 + (x->has_bytes ? 9 : 0) + 2;
        line = &x->lines[x->n_lines++];
        str_addf(line, "%s%s%s", s->bold, x->title, s->plain);
        line = &x->lines[x->n_lines++];
        str_addf(line, "%s  %*s%9s%s%s", s->dim, (int)label_width, x->border, "blocks",
                 x->has_bytes ? "    bytes" : "", s->plain);
        for (size_t i = 0; i < x->rows.n; i++) {
                struct spread_row *row = &x->rows.items[i];

                line = &x->lines[x->n_lines++];
                str_pad(line, ' ', 2 + label_width - str_width(str_text(&row->label)));
                str_add(line, str_text(&row->label));
                add_share(line, row->n_blocks, x->n_blocks);
                if (x->has_bytes)
                        add_share(line, row->bytes, x->bytes);
                if (row->n_blocks && used + SPREAD_MIN_BAR <= width) {
                        str_add(line, "  ");
                        sizes_lifetimes_add_bar(s, line, row->n_blocks, x->most,
                                                MIN(width - used, (size_t)SPREAD_MAX_BAR));
                }
        }
}

static void print_both(const struct style *s, struct spread *a, struct spread *b) {
        for (size_t i = 0; i < MAX(a->n_lines, b->n_lines); i++) {
                struct str line = {0};

                if (i < a->n_lines)
                        str_add(&line, str_text(&a->lines[i]));
                if (i < b->n_lines) {
                        size_t have = style_width(str_text(&line));

                        str_pad(&line, ' ', a->width + SPREAD_GAP - MIN(have, a->width));
                        str_add(&line, str_text(&b->lines[i]));
                }
                fprintf(s->out, "%s\n", str_text(&line));
                str_done(&line);
        }
}

static void print_one(const struct style *s, struct spread *x) {
        fputc('\n', s->out);
        for (size_t i = 0; i < x->n_lines; i++)
                fprintf(s->out, "%s\n", str_text(&x->lines[i]));
}

static void spread_done(struct spread *x) {
        rows_done(x);
        for (size_t i = 0; i < x->n_lines; i++)
                str_done(&x->lines[i]);
        free(x->lines);
}

static void print_tables(const struct style *s, struct spread *sizes, struct spread *lifetimes) {
        bool beside = sizes->rows.n && lifetimes->rows.n && s->width >= SPREAD_SIDE;
        size_t width =
                MIN(beside ? (s->width - SPREAD_GAP) / 2 : s->width, (size_t)SPREAD_MAX_WIDTH);

        if (sizes->rows.n)
                lay_out(s, sizes, width);
        if (lifetimes->rows.n)
                lay_out(s, lifetimes, width);
        if (beside) {
                fputc('\n', s->out);
                print_both(s, sizes, lifetimes);
        } else {
                if (sizes->rows.n)
                        print_one(s, sizes);
                if (lifetimes->rows.n)
                        print_one(s, lifetimes);
        }
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* What was not counted, and how to have it counted. */
static void print_uncounted(const struct style *s, const struct report *r) {
        bool is_alone = r->whole.lacks_time || report_counts_lifetimes(r);
        struct str text = {0};
        struct unit_text t;

        str_addf(&text, "%s counted for %s events: use --histogram size%s.",
                 is_alone ? "Sizes were not" : "Sizes and lifetimes were not",
                 unit_count(&t, r->v->n_events), is_alone ? "" : " and --histogram lifetime");
        fprintf(s->out, "%s%s", report_counts_lifetimes(r) ? "" : "\n", s->dim);
        style_wrap(s, str_text(&text), 0);
        fputs(s->plain, s->out);
        str_done(&text);
}

int sizes_lifetimes_print(const struct style *s, const struct report *r, struct err *reterr) {
        struct spread sizes = {0}, lifetimes = {0};
        int x = 0;

        if (r->answer->totals.n_allocs == 0 || r->answer->totals.lacks_events)
                return 0;
        if (report_counts_sizes(r))
                x = fill_sizes(r, &sizes, reterr);
        if (x >= 0 && report_counts_lifetimes(r))
                x = fill_lifetimes(r, &lifetimes, reterr);
        if (x >= 0) {
                print_tables(s, &sizes, &lifetimes);
                if (!report_counts_sizes(r))
                        print_uncounted(s, r);
        }
        spread_done(&sizes);
        spread_done(&lifetimes);
        return x;
}

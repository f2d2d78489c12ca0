/* SPDX-License-Identifier: MIT */
#include "report/sites.h"

#include "base/map.h"
#include "base/units.h"
#include "report/name.h"

enum {
        SITES_TREE_FRAMES = 6, /* shown of a stack without --full */
        SITES_MIN_TREES = 5,   /* so many sites get a tree however small they are */
        SITES_TREE_PCT = 2,    /* and all with at least this share */
};

/* ---- frames worth showing ---------------------------------------------------------------------- */

struct shown {
        VEC(struct query_frame) frames;
        size_t n_hidden_inside; /* allocator and container code before the first frame */
        size_t n_start;         /* frames outside main or the thread's function */
        bool full, seen_caller;
};

static bool shown_add(void *ctx, const struct query_frame *f) {
        struct shown *x = ctx;

        if (!x->full && !x->seen_caller && f->function[0] && name_is_allocator(f->function)) {
                x->n_hidden_inside++;
                return true;
        }
        x->seen_caller = true;
        vec_push(&x->frames, *f);
        return true;
}

/* Takes the frames that only start programs and threads off the end. */
static void shown_cut_start(struct shown *x) {
        while (!x->full && x->frames.n > 1 &&
               name_is_start(x->frames.items[x->frames.n - 1].function)) {
                x->frames.n--;
                x->n_start++;
        }
}

static void shown_fill(struct shown *x, const struct report *r, uint32_t stack) {
        *x = (struct shown){.full = r->options->full};
        query_each_frame(r->q, stack, shown_add, x);
        if (x->frames.n == 0 &&
            x->n_hidden_inside) { /* nothing but allocators: then they are the answer */
                x->seen_caller = true;
                query_each_frame(r->q, stack, shown_add, x);
        }
        shown_cut_start(x);
}

/* ---- a stack as a tree ------------------------------------------------------------------------- */

static void print_frame(const struct style *s, const struct report *r, const struct query_frame *f,
                        size_t indent, bool first) {
        struct str name = {0}, place = {0}, line = {0};
        size_t room = s->width - indent - 2, place_width;

        name_add_function(&name, f, r->options->full, s->utf8);
        name_add_place(&place, f, r->options->full);
        place_width = MIN(str_width(str_text(&place)), room / 2);
        style_add_cut(s, &line, str_text(&name),
                      r->options->full ? SIZE_MAX : room - place_width - 2);
        fprintf(s->out, "%*s%s%s%s%s", (int)indent, "", s->dim,
                first ? "" : (s->utf8 ? "↑ " : "^ "), s->plain, str_text(&line));
        if (place.n) {
                str_clear(&line);
                style_add_cut(s, &line, str_text(&place),
                              r->options->full ? SIZE_MAX : place_width);
                fprintf(s->out, "  %s%s%s", s->dim, str_text(&line), s->plain);
        }
        fputc('\n', s->out);
        str_done(&name);
        str_done(&place);
        str_done(&line);
}

void sites_print_stack(const struct style *s, const struct report *r, uint32_t stack, size_t indent,
                       size_t max_frames) {
        struct shown x;
        size_t n;

        shown_fill(&x, r, stack);
        n = max_frames && x.frames.n > max_frames + 1 ? max_frames : x.frames.n;
        if (x.frames.n == 0)
                fprintf(s->out, "%*s%s(no stack)%s\n", (int)indent, "", s->dim, s->plain);
        for (size_t i = 0; i < n; i++)
                print_frame(s, r, &x.frames.items[i],
                            indent + MIN(i, 8u) * (r->options->full ? 0 : 1), i == 0);
        if (n < x.frames.n)
                fprintf(s->out, "%*s%s%s %zu more%s\n", (int)(indent + MIN(n, 8u)), "", s->dim,
                        s->utf8 ? "↑ …" : "^ ..", x.frames.n - n, s->plain);
        vec_free(&x.frames);
}

void sites_add_short(const struct style *s, const struct report *r, uint32_t stack, struct str *to,
                     size_t width) {
        struct str text = {0};
        struct shown x;

        shown_fill(&x, r, stack);
        for (size_t i = 0; i < x.frames.n && str_width(str_text(&text)) < width; i++) {
                if (i)
                        str_add(&text, s->utf8 ? " ← " : " < ");
                name_add_function(&text, &x.frames.items[i], false, s->utf8);
        }
        if (x.frames.n == 0)
                str_add(&text, "(no stack)");
        if (str_width(str_text(&text)) > width) { /* callers go first, so cut at the end */
                struct str cut = {0};

                style_add_cut(s, &cut, str_text(&text),
                              2 * width); /* only when one name alone is too long */
                while (cut.n && str_width(str_text(&cut)) > width - (s->utf8 ? 1 : 2)) {
                        do
                                cut.n--;
                        while (cut.n && ((unsigned char)cut.bytes[cut.n] & 0xc0) == 0x80);
                        cut.bytes[cut.n] = '\0';
                }
                str_addf(to, "%s%s", str_text(&cut), s->utf8 ? "…" : "..");
                str_done(&cut);
        } else {
                str_add(to, str_text(&text));
        }
        str_done(&text);
        vec_free(&x.frames);
}

/* ---- sites ------------------------------------------------------------------------------------- */

static const char *metric_title(const struct report *r) {
        switch (r->metric) {
        case QUERY_PEAK: return "Live at the peak, by call path";
        case QUERY_END:
                return report_is_windowed(r) ? "Live at the end of the window, by call path"
                                             : "Still allocated at the end, by call path";
        case QUERY_ALLOCATED: return "Bytes allocated, by call path";
        case QUERY_COUNT: return "Allocations, by call path";
        case QUERY_TEMPORARY: return "Temporary allocations, by call path";
        case QUERY_GROWTH: return "Growth of live bytes, by call path";
        case QUERY_N_METRICS: break;
        }
        return "";
}

/* The sum a site's share is of; 0: shares make no sense. */
static uint64_t metric_whole(const struct report *r) {
        const struct query_totals *t = &r->answer->totals;

        switch (r->metric) {
        case QUERY_PEAK: return t->peak_bytes;
        case QUERY_END: return t->end_bytes;
        case QUERY_ALLOCATED: return t->alloc_bytes;
        case QUERY_COUNT: return t->n_allocs;
        case QUERY_TEMPORARY: return t->n_temporary;
        case QUERY_GROWTH: return t->end_bytes > t->begin_bytes ? t->end_bytes - t->begin_bytes : 0;
        case QUERY_N_METRICS: break;
        }
        return 0;
}

static bool metric_counts(enum query_metric m) {
        return m == QUERY_COUNT || m == QUERY_TEMPORARY;
}

static const char *figure_text(const struct report *r, const struct query_figure *f,
                               struct unit_text *t) {
        if (metric_counts(r->metric))
                return unit_count(t, (uint64_t)f->value);
        return r->metric == QUERY_GROWTH ? unit_bytes_signed(t, f->value)
                                         : unit_bytes(t, (uint64_t)f->value);
}

/* "in 1,204 blocks, 34,331 allocations": what stands behind the figure. */
static void add_evidence(const struct report *r, const struct query_site *site,
                         const struct query_figure *f, struct str *to) {
        struct unit_text a, b;

        if (metric_counts(r->metric)) {
                str_addf(to, "%s%s", f->bytes_are_estimated ? "about " : "",
                         unit_bytes(&a, (uint64_t)f->bytes));
                if (r->metric == QUERY_TEMPORARY)
                        str_addf(to, ", of %s allocations", unit_count(&b, site->n_allocs));
                return;
        }
        str_addf(to, "%s block%s",
                 unit_count(&a, (uint64_t)(f->blocks < 0 ? -f->blocks : f->blocks)),
                 f->blocks == 1 || f->blocks == -1 ? "" : "s");
        if (r->metric != QUERY_ALLOCATED)
                str_addf(to, ", %s allocation%s", unit_count(&b, site->n_allocs),
                         site->n_allocs == 1 ? "" : "s");
}

static double share_pct(const struct report *r, const struct query_figure *f) {
        uint64_t whole = metric_whole(r);

        return whole ? 100.0 * (double)f->value / (double)whole : 0;
}

static void print_site(const struct style *s, const struct report *r, const struct query_site *site,
                       bool tree) {
        struct query_figure f = query_site_figure(site, r->metric);
        struct unit_text t;
        struct str line = {0}, evidence = {0};

        str_addf(&line, "%10s ", figure_text(r, &f, &t));
        if (metric_whole(r))
                str_addf(&line, "%5.1f %%  ", share_pct(r, &f));
        if (tree) {
                add_evidence(r, site, &f, &evidence);
                fprintf(s->out, "\n%s%s%s%s%s%s\n", s->bold, str_text(&line), s->plain, s->dim,
                        str_text(&evidence), s->plain);
                sites_print_stack(s, r, site->stack, 12, r->options->full ? 0 : SITES_TREE_FRAMES);
        } else {
                sites_add_short(s, r, site->stack, &line, s->width - str_width(str_text(&line)));
                fprintf(s->out, "%s\n", str_text(&line));
        }
        str_done(&line);
        str_done(&evidence);
}

/* ---- folding ----------------------------------------------------------------------------------- */

static bool location_is_allocator(const struct report *r, uint32_t location) {
        struct query_frame frames[16];
        size_t n = query_location_frames(r->q, location, frames, ARRAY_SIZE(frames));

        for (size_t i = 0; i < MIN(n, ARRAY_SIZE(frames)); i++)
                if (!frames[i].function[0] || !name_is_allocator(frames[i].function))
                        return false;
        return n <= ARRAY_SIZE(frames);
}

/* The caller's stack without the allocator code inside it: what sites are told apart by in text. */
static uint32_t stack_without_allocator(const struct report *r, uint32_t stack) {
        uint32_t whole = stack;

        while (stack && stack < r->v->n_stacks &&
               location_is_allocator(r, r->v->stacks[stack].location))
                stack = r->v->stacks[stack].parent;
        return stack ? stack : whole;
}

static void site_add(struct query_site *to, const struct query_site *s) {
        to->n_allocs += s->n_allocs;
        to->alloc_bytes += s->alloc_bytes;
        to->n_frees += s->n_frees;
        to->free_bytes += s->free_bytes;
        to->n_temporary += s->n_temporary;
        to->n_reallocs += s->n_reallocs;
        to->peak_bytes += s->peak_bytes;
        to->peak_blocks += s->peak_blocks;
        to->begin_bytes += s->begin_bytes;
        to->begin_blocks += s->begin_blocks;
        to->end_bytes += s->end_bytes;
        to->end_blocks += s->end_blocks;
}

typedef VEC(struct query_site) site_vec;

static void fold_sites(const struct report *r, site_vec *ret) {
        struct map by_stack = {0};

        for (size_t i = 0; i < r->answer->n_sites; i++) {
                const struct query_site *site = &r->answer->sites[i];
                uint32_t stack =
                        r->options->full ? site->stack : stack_without_allocator(r, site->stack);
                bool added;
                uint64_t *idx = map_put(&by_stack, stack, ret->n, &added);

                if (added)
                        vec_push(ret, (struct query_site){.stack = stack});
                site_add(&ret->items[*idx], site);
        }
        map_done(&by_stack);
}

static size_t count_sites(const struct report *r, const site_vec *sites) {
        size_t n = 0;

        for (size_t i = 0; i < sites->n; i++)
                n += query_site_figure(&sites->items[i], r->metric).value != 0;
        return n;
}

void sites_print(const struct style *s, struct report *r) {
        site_vec sites = {0};
        size_t n, n_shown, n_trees = 0;
        struct unit_text a, b;

        fold_sites(r, &sites);
        n = count_sites(r, &sites);
        n_shown = MIN(n, (size_t)r->options->n_top);
        query_sort_sites(sites.items, sites.n, r->metric);
        if (n_shown)
                style_heading(s, "%s (%s of %s)", metric_title(r), unit_count(&a, n_shown),
                              unit_count(&b, n));
        for (size_t i = 0; i < n_shown; i++) {
                struct query_figure f = query_site_figure(&sites.items[i], r->metric);
                bool tree = r->options->full || i < SITES_MIN_TREES ||
                            share_pct(r, &f) >= SITES_TREE_PCT;

                if (!tree && n_trees == i)
                        fputc('\n', s->out);
                n_trees += tree;
                print_site(s, r, &sites.items[i], tree);
        }
        vec_free(&sites);
}

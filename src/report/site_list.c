/* SPDX-License-Identifier: MIT */
#include "report/site_list.h"

#include "base/units.h"
#include "report/site_forest.h"
#include "show/stack_text.h"
#include "show/view.h"

/* "in 1,204 blocks, 34,331 allocations": what stands behind the figure. */
static void add_evidence(const struct report *r, const struct query_site *site,
                         const struct query_figure *f, struct str *to) {
        struct unit_text a, b;

        if (site->f.lacks_blocks)
                return;
        if (metric_is_count(r->metric)) {
                str_addf(to, "%s%s", f->bytes_are_estimated ? "about " : "",
                         unit_bytes(&a, (uint64_t)f->bytes));
                if (r->metric == QUERY_TEMPORARY)
                        str_addf(to, ", of %s allocations", unit_count(&b, site->f.n_allocs));
                return;
        }
        str_addf(to, "%s %s%s", unit_count(&a, (uint64_t)(f->blocks < 0 ? -f->blocks : f->blocks)),
                 r->metric == QUERY_MAPPED ? "mapping" : "block",
                 f->blocks == 1 || f->blocks == -1 ? "" : "s");
        if (r->metric != QUERY_ALLOCATED && r->metric != QUERY_MAPPED &&
            f->blocks != (int64_t)site->f.n_allocs)
                str_addf(to, ", %s allocation%s", unit_count(&b, site->f.n_allocs),
                         site->f.n_allocs == 1 ? "" : "s");
}

static void print_site(const struct style *s, const struct report *r,
                       const struct query_site *site) {
        struct query_figure f = query_figure_of(&site->f, r->metric);
        uint64_t whole = query_metric_whole(&report_site_answer(r)->totals, r->metric);
        struct unit_text t;
        struct str line = {0};

        fprintf(s->out, "\n%s%*s ", s->bold, unit_weight_width(),
                metric_text(r->metric, f.value, &t));
        if (whole)
                fprintf(s->out, "%5.1f %%", metric_share_pct(f.value, whole));
        add_evidence(r, site, &f, &line);
        fprintf(s->out, "%s  %s%s%s\n", s->plain, s->dim, str_text(&line), s->plain);
        stack_print(s, &r->frames, site->stack, 12, 0);
        str_done(&line);
}

static size_t count_sites(const struct report *r) {
        size_t n = 0;

        for (size_t i = 0; i < r->folded.n; i++)
                n += query_figure_of(&r->folded.items[i].f, r->metric).value != 0;
        return n;
}

void sites_print(const struct style *s, struct report *r) {
        size_t n = count_sites(r), n_shown = MIN(n, (size_t)show_n_top(r->options));
        struct unit_text a, b;

        if (!r->options->request->full) {
                site_forest_print(s, r);
                return;
        }
        query_sort_sites(r->folded.items, r->folded.n, r->metric);
        if (n_shown)
                style_heading(s, "%s (%s of %s)", site_forest_title(r), unit_count(&a, n_shown),
                              unit_count(&b, n));
        for (size_t i = 0; i < n_shown; i++)
                print_site(s, r, &r->folded.items[i]);
}

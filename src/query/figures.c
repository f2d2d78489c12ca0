/* SPDX-License-Identifier: MIT */
/* Figures of sites, groups and nodes: adding them up, and what of them a metric looks at. */
#include <math.h>

#include "base/units.h"
#include "query/path_weights.h"
#include "query/query.h"

/* Figures of a damaged trace may be anything: sums of them come round, which is all that can be said of them. */
static int64_t sum(int64_t a, int64_t b) {
        return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t difference(int64_t a, int64_t b) {
        return (int64_t)((uint64_t)a - (uint64_t)b);
}

void query_figures_add(struct query_figures *to, const struct query_figures *f) {
        to->n_allocs += f->n_allocs;
        to->alloc_bytes += f->alloc_bytes;
        to->n_frees += f->n_frees;
        to->free_bytes += f->free_bytes;
        to->n_temporary += f->n_temporary;
        to->n_reallocs += f->n_reallocs;
        to->peak_bytes = sum(to->peak_bytes, f->peak_bytes);
        to->peak_blocks = sum(to->peak_blocks, f->peak_blocks);
        to->begin_bytes = sum(to->begin_bytes, f->begin_bytes);
        to->begin_blocks = sum(to->begin_blocks, f->begin_blocks);
        to->end_bytes = sum(to->end_bytes, f->end_bytes);
        to->end_blocks = sum(to->end_blocks, f->end_blocks);
        for (size_t m = 0; m < QUERY_N_METRICS; m++)
                to->var[m] += f->var[m];
        to->aged_bytes = sum(to->aged_bytes, f->aged_bytes);
        to->aged_byte_s += f->aged_byte_s;
        to->lacks_events |= f->lacks_events;
        to->lacks_blocks |= f->lacks_blocks;
        to->lacks_traffic |= f->lacks_traffic;
        to->lacks_live |= f->lacks_live;
        to->counts_samples |= f->counts_samples;
}

void query_figures_lower_peak(struct query_figures *f, const struct query_answer *a) {
        double bytes = (double)f->peak_bytes, left;

        if (!a->is_peak_level || f->peak_bytes <= 0)
                return;
        left = MAX(bytes - a->peak_excess_bytes * f->var[QUERY_PEAK] / a->peak_var, 0.0);
        /* up: all together are no less than what is left in the end */
        f->peak_bytes = (int64_t)ceil(left);
        f->peak_blocks = (int64_t)unit_nearest((double)f->peak_blocks * left / bytes);
}

double query_figures_error(const struct query_figures *f, enum query_metric m) {
        return m < QUERY_N_METRICS ? sqrt(f->var[m]) : 0;
}

bool query_figures_are_idle(const struct query_figures *f) {
        /* the rest of a wait or of a thread's time is of no samples */
        return !(f->n_allocs || f->alloc_bytes || f->n_frees || f->begin_blocks || f->end_blocks ||
                 f->peak_blocks);
}

static struct query_figure temporary_of(const struct query_figures *f) {
        double share = f->n_allocs ? (double)f->n_temporary / (double)f->n_allocs : 0;
        uint64_t bytes = unit_nearest((double)f->alloc_bytes * share);

        return (struct query_figure){(int64_t)f->n_temporary,
                                     (int64_t)MIN(bytes, (uint64_t)INT64_MAX),
                                     (int64_t)f->n_temporary, f->n_temporary != f->n_allocs};
}

struct query_figure query_figure_of(const struct query_figures *f, enum query_metric m) {
        int64_t grown = difference(f->end_bytes, f->begin_bytes);

        if (m >= QUERY_VALUE(0) && m < QUERY_VALUE(QUERY_MAX_VALUES)) {
                int64_t value = f->values[m - QUERY_VALUE(0)];

                return (struct query_figure){value, value, 0, false};
        }
        switch (m) {
        case QUERY_PEAK:
        case QUERY_MAPPED:
                return (struct query_figure){f->peak_bytes, f->peak_bytes, f->peak_blocks, false};
        case QUERY_END:
                return (struct query_figure){f->end_bytes, f->end_bytes, f->end_blocks, false};
        case QUERY_CPU:
        case QUERY_BLOCKED:
        case QUERY_ALLOCATED:
                return (struct query_figure){(int64_t)f->alloc_bytes, (int64_t)f->alloc_bytes,
                                             (int64_t)f->n_allocs, false};
        case QUERY_COUNT:
                return (struct query_figure){(int64_t)f->n_allocs, (int64_t)f->alloc_bytes,
                                             (int64_t)f->n_allocs, false};
        case QUERY_TEMPORARY: return temporary_of(f);
        case QUERY_GROWTH:
                return (struct query_figure){grown, grown,
                                             difference(f->end_blocks, f->begin_blocks), false};
        case QUERY_N_METRICS: break;
        }
        return (struct query_figure){0};
}

int query_figures_compare(const struct query_figures *x, const struct query_figures *y,
                          enum query_metric m) {
        struct query_figure f = query_figure_of(x, m), g = query_figure_of(y, m);

        if (f.value != g.value)
                return f.value > g.value ? -1 : 1;
        if (f.blocks != g.blocks)
                return f.blocks > g.blocks ? -1 : 1;
        if (x->alloc_bytes != y->alloc_bytes)
                return x->alloc_bytes > y->alloc_bytes ? -1 : 1;
        return 0;
}

static int site_compare(const void *a, const void *b, void *metric) {
        const struct query_site *x = a, *y = b;
        int order = query_figures_compare(&x->f, &y->f, *(enum query_metric *)metric);

        if (order)
                return order;
        return x->stack < y->stack ? -1 : x->stack > y->stack;
}

void query_sort_sites(struct query_site *sites, size_t n, enum query_metric m) {
        if (n > 1)
                qsort_r(sites, n, sizeof(sites[0]), site_compare, &m);
}

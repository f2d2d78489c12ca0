/* SPDX-License-Identifier: MIT */
/* temporary: allocated and released at once, as a share of all allocations; by the function that asked. */
#include "finding/rules.h"

enum {
        TEMPORARY_MIN = 1000,
        TEMPORARY_MIN_PCT = 10, /* of all allocations */
        TEMPORARY_OWN_PCT = 5,  /* likewise, of the function told about */
};

/* Sizes are known of each call path: those of a function that are temporary may be far from its average. */
static double temporary_bytes(const struct facts *f, const struct askers *askers, size_t asker) {
        double bytes = 0;

        for (size_t row = 0; row < f->n_rows; row++)
                if (askers->of_row[row] == asker)
                        bytes += (double)query_figure_of(&f->rows[row].self, QUERY_TEMPORARY).bytes;
        return bytes;
}

void find_temporary(struct facts *f, const struct askers *askers) {
        const struct query_totals *t = f->totals;
        const struct asker *most = NULL;
        struct unit_text n, all;
        struct name_frame frame;
        struct finding *x;
        unsigned pct = share_pct((double)t->n_temporary, (double)t->n_allocs), own_pct;
        uint32_t row;
        bool is_task;

        if (t->n_temporary < TEMPORARY_MIN || pct < TEMPORARY_MIN_PCT)
                return;
        for (size_t i = 0; i < askers->n; i++)
                if (askers->items[i].figures.n_temporary > f->n_regrown[i] + f->n_regrown[i] / 4 &&
                    (!most || askers->items[i].figures.n_temporary > most->figures.n_temporary))
                        most = &askers->items[i];
        if (!most)
                return;
        own_pct = share_pct((double)most->figures.n_temporary, (double)t->n_allocs);
        if (own_pct < TEMPORARY_OWN_PCT)
                return;
        row = askers_row(askers, f, (size_t)(most - askers->items), QUERY_TEMPORARY);
        frame = place_of_row(f, row, &is_task);
        x = found(f, "temporary", temporary_bytes(f, askers, (size_t)(most - askers->items)), row,
                  QUERY_TEMPORARY);
        x->function = place_name(f, &frame, is_task);
        x->text = say(
                f,
                "%s: %s allocations (%u %% of all) were freed before the same thread allocated again%s.",
                place_name(f, &frame, is_task), unit_count(&n, most->figures.n_temporary), own_pct,
                t->n_temporary > most->figures.n_temporary
                        ? say(f, "; together with other functions %s (%u %%)",
                              unit_count(&all, t->n_temporary), pct)
                        : "");
        x->next = next_callers(f, &frame, QUERY_TEMPORARY);
        found_number(x, "temporary", (double)t->n_temporary);
        found_number(x, "share_pct", pct);
        found_number(x, "site_temporary", (double)most->figures.n_temporary);
        found_number(x, "site_share_pct", own_pct);
}

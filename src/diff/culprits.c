/* SPDX-License-Identifier: MIT */
#include "diff/culprits.h"

#include <string.h>

#include "show/frame.h"

void culprit_add_frame(struct check_result *r, const struct diff_side *s,
                       const struct name_frame *f, bool is_task, double value) {
        struct culprit *c = &r->culprits[r->n_culprits];
        struct str name = {0}, place = {0};

        if (f) {
                frame_add_function(&name, &s->frames, f, is_task, false, true);
                frame_add_place(&place, f, false);
        } else {
                str_add(&name, "(no stack)");
        }
        c->name = strdup(str_text(&name));
        c->place = strdup(str_text(&place));
        if (!c->name || !c->place)
                abort();
        c->value = value;
        r->n_culprits++;
        str_done(&name);
        str_done(&place);
}

void culprit_add(struct check_result *r, const struct diff_side *s, uint32_t stack, double value) {
        struct frame_stack x = {0};

        frame_stack_fill(&x, &s->frames, stack, false);
        if (x.shown.n)
                culprit_add_frame(r, s, &x.frames.items[x.shown.items[0].frame_idx],
                                  x.shown.items[0].is_task, value);
        else
                culprit_add_frame(r, s, NULL, false, value);
        frame_stack_done(&x);
}

void culprits_find(struct check *c, struct check_result *r, const struct query_answer *a,
                   enum query_metric m) {
        const struct query_group_options by = {.by = QUERY_BY_FUNCTION, .metric = m};
        struct query_groups *g = query_group_answer(c->side.q, a, &by);

        for (size_t i = 0; i < g->n && r->n_culprits < CHECK_CULPRITS; i++) {
                int64_t value = query_figure_of(&g->rows[i].self, m).value;

                if (value > 0)
                        culprit_add(r, &c->side, g->rows[i].stack, (double)value);
        }
        query_groups_free(g);
}

/* SPDX-License-Identifier: MIT */
#include "top/tasks_draw.h"

#include "base/units.h"

enum {
        TASK_CELLS = 10,        /* of a column of figures */
        TASK_NAME_CELLS = 44,   /* that names should have; */
        TASK_LEAST_COLUMNS = 3, /* as long as that many figures are there, */
        TASK_SHARE = 20,        /* one for so many cells at most */
        MAX_TASK_DETAIL_ROWS = 3,
};

static const char *const task_titles[] = {"ALIVE",   "FINISHED", "BYTES",
                                          "RUNNING", "READY",    "OLDEST"};

static size_t n_task_columns(const struct canvas *c) {
        size_t n = c->width > TASK_NAME_CELLS ? (c->width - TASK_NAME_CELLS) / TASK_CELLS : 0;

        n = MIN(MAX(n, (size_t)TASK_LEAST_COLUMNS), c->width / TASK_SHARE);
        return MIN(MAX(n, (size_t)1), ARRAY_SIZE(task_titles));
}

size_t tasks_draw_heads(struct canvas *c, size_t row) {
        static const char *const titles[] = {"TASKS BY TYPE AND SPAWN SITE (Esc: back)",
                                             "TASKS BY TYPE (Esc: back)", "TASKS BY TYPE"};
        size_t n = n_task_columns(c);

        canvas_paint_row(c, row, INK_BAND);
        for (size_t i = 0; i < n; i++)
                canvas_put_right(c, row, (i + 1) * TASK_CELLS - 1, INK_BAND, task_titles[i]);
        for (size_t i = 0; i < ARRAY_SIZE(titles); i++)
                if (i + 1 == ARRAY_SIZE(titles) ||
                    n * TASK_CELLS + str_width(titles[i]) <= c->width) {
                        canvas_put(c, row, n * TASK_CELLS, INK_BAND, titles[i]);
                        break;
                }
        return row + 1;
}

static const char *task_figure(const struct task_brief_row *x, size_t i, struct unit_text *t) {
        const uint64_t counts[] = {x->n - x->n_in[TASK_FINISHED], x->n_in[TASK_FINISHED], 0,
                                   x->n_in[TASK_RUNNING], x->n_in[TASK_READY]};

        if (i == 2)
                return unit_bytes(t, x->bytes);
        if (i == ARRAY_SIZE(counts))
                return x->oldest_ns == UINT64_MAX ? "-" : unit_duration(t, x->oldest_ns);
        return counts[i] ? unit_count(t, counts[i]) : "-";
}

void tasks_draw_row(struct canvas *c, const struct model *m, size_t row, size_t at) {
        const struct task_brief_row *x = &m->tasks.rows[at];
        size_t n = n_task_columns(c), col;
        struct unit_text t;

        for (size_t i = 0; i < n; i++)
                canvas_put_right(c, row, (i + 1) * TASK_CELLS - 1, i == 2 ? INK_LIVE : INK_PLAIN,
                                 task_figure(x, i, &t));
        col = canvas_put(c, row, n * TASK_CELLS, x->kind == TASK_OWN ? INK_DIM : INK_PLAIN,
                         x->runs);
        if (x->kind == TASK_OWN)
                col = canvas_put(c, row, col, INK_DIM, "  (the runtime itself)");
        if (x->place[0])
                col = canvas_put(c, row, col + 2, INK_DIM, x->place);
        if (x->kept_by[0]) {
                col = canvas_put(c, row, col + 2, INK_PLAIN, "kept by ");
                canvas_put(c, row, col, INK_PLAIN, x->kept_by);
        }
}

/* What was chosen of the tasks, in full: rows are short. */
static void add_task_detail(const struct task_brief_row *x, struct str *to) {
        struct unit_text t;

        if (x->kind == TASK_OWN) {
                str_addf(to, "The runtime itself; runs %s.", x->runs);
                return;
        }
        str_addf(to, "%s %s, %s", unit_count(&t, x->n), x->runs,
                 x->spawned[0] ? x->spawned : "spawned where silt did not see it");
        if (x->kept_by[0])
                str_addf(to, "; kept by %s", x->kept_by);
        if (x->oldest_ns != UINT64_MAX)
                str_addf(to, "; the oldest was %s old then", unit_duration(&t, x->oldest_ns));
        str_add(to, ".");
}

size_t tasks_draw_chosen(struct canvas *c, const struct model *m, size_t at, size_t end) {
        struct str text = {0};
        size_t n;

        if (at >= m->tasks.n_rows)
                return end;
        add_task_detail(&m->tasks.rows[at], &text);
        n = MIN(str_width(str_text(&text)) / c->width + 1, (size_t)MAX_TASK_DETAIL_ROWS);
        end -= MIN(n, end);
        canvas_put_wrapped(c, end, n, INK_DIM, str_text(&text));
        str_done(&text);
        return end;
}

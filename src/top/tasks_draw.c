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
enum { FINISHED_COLUMN = 1, BYTES_COLUMN = 2 };

static size_t n_task_columns(const struct canvas *c) {
        size_t n = c->width > TASK_NAME_CELLS ? (c->width - TASK_NAME_CELLS) / TASK_CELLS : 0;

        n = MIN(MAX(n, (size_t)TASK_LEAST_COLUMNS), c->width / TASK_SHARE);
        return MIN(MAX(n, (size_t)1), ARRAY_SIZE(task_titles));
}

/* A source that was removed, and that somebody has a reference to, stands where a finished task does. */
size_t tasks_draw_heads(struct canvas *c, const struct model *m, size_t row) {
        static const char *const titles[][3] = {{"TASKS BY TYPE AND SPAWN SITE (Esc: back)",
                                                 "TASKS BY TYPE (Esc: back)", "TASKS BY TYPE"},
                                                {"SOURCES OF GLIB BY KIND AND PLACE (Esc: back)",
                                                 "SOURCES OF GLIB BY KIND (Esc: back)",
                                                 "SOURCES OF GLIB"}};
        bool are_sources = !m->tasks.n_rows && m->tasks.n_sources;
        const char *const *words = titles[are_sources];
        size_t n = n_task_columns(c);

        canvas_paint_row(c, row, INK_BAND);
        for (size_t i = 0; i < n; i++)
                canvas_put_right(c, row, (i + 1) * TASK_CELLS - 1, INK_BAND,
                                 are_sources && i == FINISHED_COLUMN ? "REMOVED" : task_titles[i]);
        for (size_t i = 0; i < ARRAY_SIZE(titles[0]); i++)
                if (i + 1 == ARRAY_SIZE(titles[0]) ||
                    n * TASK_CELLS + str_width(words[i]) <= c->width) {
                        canvas_put(c, row, n * TASK_CELLS, INK_BAND, words[i]);
                        break;
                }
        return row + 1;
}

struct task_figures {
        uint64_t n_alive, n_finished, bytes, n_running, n_ready, oldest_ns;
};

static const char *task_figure(const struct task_figures *x, size_t i, struct unit_text *t) {
        const uint64_t counts[] = {x->n_alive, x->n_finished, 0, x->n_running, x->n_ready};

        if (i == BYTES_COLUMN)
                return unit_bytes(t, x->bytes);
        if (i == ARRAY_SIZE(counts))
                return x->oldest_ns == UINT64_MAX ? "-" : unit_duration(t, x->oldest_ns);
        return counts[i] ? unit_count(t, counts[i]) : "-";
}

/* Returns the column behind them. */
static size_t draw_figures(struct canvas *c, size_t row, const struct task_figures *x) {
        size_t n = n_task_columns(c);
        struct unit_text t;

        for (size_t i = 0; i < n; i++)
                canvas_put_right(c, row, (i + 1) * TASK_CELLS - 1,
                                 i == BYTES_COLUMN ? INK_LIVE : INK_PLAIN, task_figure(x, i, &t));
        return n * TASK_CELLS;
}

static void draw_source(struct canvas *c, const struct source_brief_row *x, size_t row) {
        const struct task_figures figures = {.n_alive = x->n - x->n_removed,
                                             .n_finished = x->n_removed,
                                             .bytes = x->bytes,
                                             .n_running = x->n_running,
                                             .n_ready = x->n_ready,
                                             .oldest_ns = x->oldest_ns};
        size_t col = draw_figures(c, row, &figures);

        col = canvas_put(c, row, col, INK_PLAIN, x->what);
        canvas_put(c, row, col + 2, INK_DIM, x->added);
}

void tasks_draw_row(struct canvas *c, const struct model *m, size_t row, size_t at) {
        const struct task_brief_row *x = &m->tasks.rows[at];
        struct task_figures figures;
        size_t col;

        if (at >= m->tasks.n_rows) {
                draw_source(c, &m->tasks.sources[at - m->tasks.n_rows], row);
                return;
        }
        figures = (struct task_figures){.n_alive = x->n - x->n_in[TASK_FINISHED],
                                        .n_finished = x->n_in[TASK_FINISHED],
                                        .bytes = x->bytes,
                                        .n_running = x->n_in[TASK_RUNNING],
                                        .n_ready = x->n_in[TASK_READY],
                                        .oldest_ns = x->oldest_ns};
        col = draw_figures(c, row, &figures);
        col = canvas_put(c, row, col, x->kind == TASK_OWN ? INK_DIM : INK_PLAIN, x->runs);
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

static void add_source_detail(const struct source_brief_row *x, struct str *to) {
        struct unit_text t;

        str_addf(to, "%s %s, %s", unit_count(&t, x->n), x->what,
                 x->added[0] ? x->added : "added where silt did not see it");
        if (x->n_removed)
                str_addf(to, "; %s removed, and somebody has a reference",
                         unit_count(&t, x->n_removed));
        if (x->n_unattached)
                str_addf(to, "; %s in no main loop", unit_count(&t, x->n_unattached));
        if (x->n_same)
                str_addf(to, "; %s with the data of another", unit_count(&t, x->n_same));
        if (x->oldest_ns != UINT64_MAX)
                str_addf(to, "; the oldest was %s old then", unit_duration(&t, x->oldest_ns));
        str_add(to, ".");
}

size_t tasks_draw_chosen(struct canvas *c, const struct model *m, size_t at, size_t end) {
        struct str text = {0};
        size_t n;

        if (at >= m->tasks.n_rows + m->tasks.n_sources)
                return end;
        if (at < m->tasks.n_rows)
                add_task_detail(&m->tasks.rows[at], &text);
        else
                add_source_detail(&m->tasks.sources[at - m->tasks.n_rows], &text);
        n = MIN(str_width(str_text(&text)) / c->width + 1, (size_t)MAX_TASK_DETAIL_ROWS);
        end -= MIN(n, end);
        canvas_put_wrapped(c, end, n, INK_DIM, str_text(&text));
        str_done(&text);
        return end;
}

/* SPDX-License-Identifier: MIT */
#include "top/frame_draw.h"

#include <stdio.h>

#include "base/units.h"
#include "query/trace_times.h"
#include "top/bars.h"
#include "top/tasks_draw.h"

enum {
        FIGURE_CELLS = 11, /* of a column of figures */
        PID_CELLS = 8,

        WIDE_CELLS = 120, /* where a sentence takes two rows */
        MAX_SENTENCE_ROWS = 5,
        MAX_MESSAGE_ROWS = 3, /* above the keys */
        TINY_ROWS = 10,
        NAME_CELLS = 24, /* that names should have; figures give way */
        TREE_CELLS = 40, /* the same where they are indented */
        PATH_CELLS = 8,  /* room from which on callers are shown beside a name */
        SHORT_ROWS = 16, /* screens without a timeline */
        TALL_ROWS = 30,  /* with one of resident memory too */
        MAX_CHART_ROWS = 6,
        MAX_INDENT = 40,
};

/* ---- above the rows ------------------------------------------------------------------------------- */

/* Always as many rows, so that what is below stays where it is; more only for what silt did not see. */
static size_t draw_sentence(struct canvas *c, const struct model *m, const struct ui *u) {
        size_t n_rows = c->width < WIDE_CELLS ? 3 : 2, n;
        struct str sentence = {0};

        if (c->height < SHORT_ROWS)
                n_rows = c->height < TINY_ROWS ? 1 : 2;
        if (u->view == UI_TASKS)
                model_add_task_sentence(m, true, &sentence);
        else
                model_add_sentence(m, &sentence);
        n = canvas_put_wrapped(c, 0, c->height < SHORT_ROWS ? n_rows : MAX_SENTENCE_ROWS, INK_BOLD,
                               str_text(&sentence));
        str_done(&sentence);
        return MAX(n, n_rows);
}

static size_t put_figure(struct canvas *c, size_t row, size_t col, enum canvas_ink ink,
                         const char *label, const char *value) {
        size_t width = str_width(label) + str_width(value) + 1;

        if (col + width > c->width)
                return col;
        col = canvas_put(c, row, col, INK_DIM, label);
        return canvas_put(c, row, col + 1, ink, value) + 2;
}

static size_t draw_figures(struct canvas *c, const struct model *m, size_t row) {
        const struct follower_now *now = &m->now;
        bool has_peak = !model_totals(m)->lacks_peak;
        struct unit_text t;
        char text[64];
        size_t col = 0;

        if (m->is_of_time) {
                snprintf(text, sizeof(text), "%.1f", model_all_cpus(m));
                col = put_figure(c, row, col, INK_LIVE, "CPUs busy", text);
        } else {
                col = put_figure(c, row, col, INK_LIVE, "heap",
                                 model_totals(m)->lacks_live ? "unknown"
                                                             : unit_bytes(&t, now->live_bytes));
        }
        if (now->has_rss)
                col = put_figure(c, row, col, INK_RSS, model_resident_label(m),
                                 unit_bytes(&t, now->rss_bytes));
        if (m->is_of_time) {
                put_figure(c, row, col, INK_PLAIN, "at", unit_duration(&t, now->time_ns));
                return row + 1;
        }
        if (!model_has_rates(m)) {
                col = put_figure(c, row, col, INK_PLAIN, "at",
                                 query_moment_text(m->q, &t, now->time_ns));
                put_figure(c, row, col, INK_PLAIN, "peak",
                           has_peak ? unit_bytes(&t, now->peak_bytes) : "unknown");
                return row + 1;
        }
        snprintf(text, sizeof(text), "%s/s",
                 unit_bytes_signed(&t, (int64_t)now->growth_bytes_per_s));
        col = put_figure(c, row, col, INK_PLAIN, "growth", text);
        snprintf(text, sizeof(text), "%s/s", unit_count(&t, unit_nearest(now->allocs_per_s)));
        col = put_figure(c, row, col, INK_PLAIN, "allocs", text);
        col = put_figure(c, row, col, INK_PLAIN, "at", unit_duration(&t, now->time_ns));
        snprintf(text, sizeof(text), "%s/s", unit_bytes(&t, unit_nearest(now->alloc_bytes_per_s)));
        col = put_figure(c, row, col, INK_PLAIN, "bytes", text);
        put_figure(c, row, col, INK_PLAIN, "peak", unit_bytes(&t, now->peak_bytes));
        return row + 1;
}

/* How high a column is: thousandths of a CPU, or bytes. */
static uint64_t column_value(const struct model *m, size_t i, bool is_rss) {
        if (is_rss)
                return m->columns[i].rss_bytes;
        return m->is_of_time ? (uint64_t)(m->column_cpus[i] * 1000) : m->columns[i].live_bytes;
}

static size_t draw_chart(struct canvas *c, const struct model *m, size_t row, size_t height,
                         bool is_rss) {
        bool is_time = m->is_of_time && !is_rss;
        uint64_t values[MODEL_MAX_COLUMNS], most = 0;
        struct bars b = {.row = row,
                         .height = height,
                         .width = c->width > DRAW_SCALE_CELLS ? c->width - DRAW_SCALE_CELLS : 0,
                         .ink = is_rss ? INK_RSS : INK_LIVE,
                         .values = values,
                         .n = m->n_columns};
        struct unit_text t;

        for (size_t i = 0; i < m->n_columns; i++) {
                values[i] = column_value(m, i, is_rss);
                most = MAX(most, values[i]);
        }
        b.most = most;
        bars_draw(c, &b);
        if (is_time)
                snprintf(t.s, sizeof(t.s), "%.1f", (double)most / 1000);
        else
                unit_bytes(&t, most);
        canvas_put_right(c, row, c->width, b.ink, t.s);
        if (height > 1)
                canvas_put_right(c, row + height - 1, c->width, INK_DIM,
                                 is_rss    ? "resident"
                                 : is_time ? "CPUs"
                                           : "heap");
        return row + height;
}

static size_t draw_charts(struct canvas *c, const struct model *m, size_t row) {
        size_t height;

        if (c->height < SHORT_ROWS || !m->n_columns)
                return row;
        height = MIN(MAX(c->height / 10, (size_t)2), (size_t)MAX_CHART_ROWS);
        row = draw_chart(c, m, row, height, false);
        if (c->height >= TALL_ROWS && m->now.has_rss)
                row = draw_chart(c, m, row, height, true);
        return row;
}

/* ---- columns of figures --------------------------------------------------------------------------- */

struct column {
        const char *title;
        enum model_sort sort;
        int key;
};

static const struct column columns[] = {
        {"LIVE", MODEL_BY_LIVE, 'l'},      {"GROWTH", MODEL_BY_GROWTH, 'g'},
        {"ALLOCS/S", MODEL_BY_CHURN, 'c'}, {"BYTES/S", MODEL_BY_BYTES, 'b'},
        {"CPU", MODEL_BY_CPU, 'u'},
};

/* How many of them leave room for names; the one that is sorted by is always among them. */
static size_t n_columns(const struct canvas *c, const struct model *m, const struct ui *u) {
        size_t names = u->view == UI_PATHS ? TREE_CELLS : NAME_CELLS,
               n = c->width > names ? (c->width - names) / FIGURE_CELLS : 0;

        if (m->is_of_time)
                return 1;
        return MIN(MAX(n, (size_t)1), ARRAY_SIZE(columns) - (m->cpu_ns ? 0 : 1));
}

static const struct column *column_at(const struct canvas *c, const struct model *m,
                                      const struct ui *u, size_t i) {
        if (m->is_of_time)
                return &columns[MODEL_BY_CPU];
        if (i + 1 == n_columns(c, m, u) && (size_t)u->sort > i &&
            (u->sort != MODEL_BY_CPU || m->cpu_ns))
                return &columns[u->sort];
        return &columns[i];
}

static const char *figure_text(const struct model *m, const struct query_figures *f,
                               enum model_sort sort, struct unit_text *t) {
        if (!f || (!model_has_rates(m) && sort != MODEL_BY_LIVE))
                return "-";
        switch (sort) {
        case MODEL_BY_GROWTH:
                return f->end_bytes == f->begin_bytes
                               ? "0 B"
                               : unit_bytes_signed(t, f->end_bytes - f->begin_bytes);
        case MODEL_BY_CHURN:
                return unit_count(t, unit_nearest(model_per_s(m, (double)f->n_allocs)));
        case MODEL_BY_BYTES:
                return unit_bytes(t, unit_nearest(model_per_s(m, (double)f->alloc_bytes)));
        case MODEL_BY_CPU: return "-"; /* not of these */
        case MODEL_BY_LIVE:
        case MODEL_N_SORTS: break;
        }
        return f->lacks_live ? "-" : unit_bytes(t, (uint64_t)MAX(f->end_bytes, (int64_t)0));
}

/* Of one CPU, which several threads may pass. */
static const char *cpu_text(double cpus, struct unit_text *t) {
        if (cpus <= 0)
                return "-";
        snprintf(t->s, sizeof(t->s), cpus < 0.0995 ? "%.1f %%" : "%.0f %%", 100 * cpus);
        return t->s;
}

/* f: NULL, and cpus: negative, where nobody can tell. */
static size_t draw_row_figures(struct canvas *c, const struct model *m, const struct ui *u,
                               size_t row, const struct query_figures *f, double cpus) {
        size_t n = n_columns(c, m, u);
        struct unit_text t;

        for (size_t i = 0; i < n; i++) {
                enum model_sort sort = column_at(c, m, u, i)->sort;
                const char *text =
                        sort == MODEL_BY_CPU ? cpu_text(cpus, &t) : figure_text(m, f, sort, &t);

                canvas_put_right(c, row, (i + 1) * FIGURE_CELLS - 1,
                                 sort == MODEL_BY_LIVE ? INK_LIVE : INK_PLAIN, text);
        }
        return n * FIGURE_CELLS;
}

static size_t draw_heads(struct canvas *c, const struct model *m, const struct ui *u, size_t row,
                         const char *title) {
        size_t n = n_columns(c, m, u);

        canvas_paint_row(c, row, INK_BAND);
        for (size_t i = 0; i < n; i++) {
                const struct column *x = column_at(c, m, u, i);
                char text[32];

                snprintf(text, sizeof(text), "%s%s",
                         x->sort != (m->is_of_time ? MODEL_BY_CPU : u->sort)
                                 ? ""
                                 : (c->utf8 ? "▼" : ">"),
                         m->mapped && x->sort == MODEL_BY_LIVE ? "MAPPED" : x->title);
                canvas_put_right(c, row, (i + 1) * FIGURE_CELLS - 1, INK_BAND, text);
                canvas_add_spot(c, row, i * FIGURE_CELLS, (i + 1) * FIGURE_CELLS, x->key);
        }
        canvas_put(c, row, n * FIGURE_CELLS, INK_BAND, title);
        return row + 1;
}

/* ---- rows ---------------------------------------------------------------------------------------- */

/* Returns the column behind it. */
static size_t draw_place(struct canvas *c, const struct name_frame *f, size_t row, size_t col) {
        struct str place = {0};

        frame_add_place(&place, f, false);
        if (place.n && col + 2 + str_width(str_text(&place)) <= c->width)
                col = canvas_put(c, row, col + 2, INK_DIM, str_text(&place));
        str_done(&place);
        return col;
}

/* Who called it, for one call path: names alone are often the same. */
static void draw_callers(struct canvas *c, const struct model *m, const struct query_group *g,
                         size_t row, size_t col) {
        struct frame_stack stack = {0};

        frame_stack_fill(&stack, &m->names, g->stack, false);
        for (size_t i = 1; i < stack.shown.n && col + PATH_CELLS < c->width; i++) {
                struct str name = {0};

                str_add(&name, c->utf8 ? " ← " : " < ");
                frame_add_function(&name, &m->names,
                                   &stack.frames.items[stack.shown.items[i].frame_idx],
                                   stack.shown.items[i].is_task, false, c->utf8);
                col = canvas_put(c, row, col, INK_DIM, str_text(&name));
                str_done(&name);
        }
        frame_stack_done(&stack);
}

static void draw_group(struct canvas *c, const struct model *m, const struct ui *u, size_t row,
                       size_t at) {
        const struct query_group *g = &m->groups->rows[at];
        struct name_frame f = frame_of(&g->frame);
        struct str name = {0};
        size_t col = draw_row_figures(c, m, u, row, &g->self, model_cpus(m, at));

        model_add_name(m, g, c->utf8, &name);
        col = canvas_put(c, row, col, INK_PLAIN, str_text(&name));
        if (m->ask.by != QUERY_BY_MODULE && m->ask.by != QUERY_BY_COMPONENT &&
            (m->ask.by != QUERY_BY_SITE || f.line)) /* callers say more than a module */
                col = draw_place(c, &f, row, col);
        if (m->ask.by == QUERY_BY_SITE)
                draw_callers(c, m, g, row, col);
        str_done(&name);
}

/* In from the left by branches above it, less where deep trees meet narrow screens. */
static size_t indent_of(const struct canvas *c, const struct ui *u, size_t at, size_t col) {
        size_t room = c->width > col + NAME_CELLS ? c->width - col - NAME_CELLS : 0, deepest = 0;

        room = MIN(room, (size_t)MAX_INDENT);
        for (size_t i = 0; i < u->paths.rows.n; i++)
                deepest = MAX(deepest, (size_t)u->paths.rows.items[i].depth);
        return MIN(u->paths.rows.items[at].depth * (size_t)(2 * deepest <= room ? 2 : 1), room);
}

static void draw_path(struct canvas *c, const struct model *m, const struct ui *u, size_t row,
                      size_t at) {
        const struct callers_row *p = &u->paths.rows.items[at];
        size_t col = draw_row_figures(c, m, u, row, model_has_time_paths(m) ? NULL : p->f,
                                      model_has_time_paths(m) ? model_path_cpus(m, p->f) : -1);
        struct str name = {0};

        col += indent_of(c, u, at, col);
        col = canvas_put(c, row, col, INK_DIM, !p->can_open ? "  " : p->is_open ? "- " : "+ ");
        if (p->is_rest)
                str_addf(&name, "(%u smaller)", p->n_rest);
        else
                frame_add_function(&name, &m->names, &p->frame, p->is_task, false, c->utf8);
        col = canvas_put(c, row, col, p->is_rest ? INK_DIM : INK_PLAIN, str_text(&name));
        if (!p->is_rest)
                draw_place(c, &p->frame, row, col);
        str_done(&name);
}

static const char *const process_titles[] = {"LIVE", "RESIDENT", "GROWTH", "ALLOCS/S"};

/* Behind the pid: how many figures leave room for names. */
static size_t n_process_columns(const struct canvas *c) {
        size_t names = PID_CELLS + NAME_CELLS,
               n = c->width > names ? (c->width - names) / FIGURE_CELLS : 0;

        return MIN(MAX(n, (size_t)1), ARRAY_SIZE(process_titles));
}

static void draw_process_heads(struct canvas *c, size_t row) {
        size_t n = n_process_columns(c);

        canvas_paint_row(c, row, INK_BAND);
        canvas_put_right(c, row, PID_CELLS, INK_BAND, "PID");
        for (size_t i = 0; i < n; i++)
                canvas_put_right(c, row, PID_CELLS + (i + 1) * FIGURE_CELLS, INK_BAND,
                                 process_titles[i]);
        canvas_put(c, row, PID_CELLS + n * FIGURE_CELLS + 2, INK_BAND, "PROCESS");
}

static void draw_process(struct canvas *c, const struct model *m, size_t row, size_t at) {
        const struct model_process *p = &m->processes[at];
        bool has_rates = model_has_rates(m);
        struct unit_text live, resident, growth, allocs;
        const char *const figures[] = {
                m->is_of_time ? "-" : unit_bytes(&live, p->live_bytes),
                p->has_rss ? unit_bytes(&resident, p->rss_bytes) : "-",
                has_rates ? unit_bytes_signed(&growth, p->growth_bytes) : "-",
                has_rates ? unit_count(&allocs, unit_nearest(p->allocs_per_s)) : "-",
        };
        static const enum canvas_ink inks[] = {INK_LIVE, INK_RSS, INK_PLAIN, INK_PLAIN};
        size_t n = n_process_columns(c), col;
        char pid[16];

        snprintf(pid, sizeof(pid), "%u", query_view(m->q)->processes[p->process].start.pid);
        canvas_put_right(c, row, PID_CELLS, INK_PLAIN, pid);
        for (size_t i = 0; i < n; i++)
                canvas_put_right(c, row, PID_CELLS + (i + 1) * FIGURE_CELLS, inks[i], figures[i]);
        col = canvas_put(c, row, PID_CELLS + n * FIGURE_CELLS + 2, INK_PLAIN,
                         query_process_name(m->q, p->process));
        if (!p->is_alive)
                canvas_put(c, row, col, INK_DIM, " (ended)");
}

static const struct {
        const char *keys, *text;
} help[] = {
        {"j k, arrows", "move; also PgUp PgDn Home End, the wheel"},
        {"Enter, Right", "callers of the row; open, close"},
        {"Left, Esc", "back; then without filter or process"},
        {"a click", "chooses a row, opens it, sorts by a heading"},
        {"l g c b u", "sort by live, growth, allocations, bytes, CPU"},
        {"Tab", "by function, path, line, component, module"},
        {"t", "the whole call tree, from main down"},
        {"s", "source of the chosen function"},
        {"M", "what the program mapped itself, or blocks"},
        {"p", "processes; Enter shows one alone"},
        {"a", "async tasks; there r takes a graph now"},
        {"/", "only call paths with a function called so"},
        {"w", "growth and rates over 10 s, 1 min, 10 min, all"},
        {"f, Space", "freeze, and go on"},
        {"m", "mark this moment: report --at @NAME tells it"},
        {"x", "every event for 10 s (it may wait)"},
        {"q, Ctrl-C", "leave; the program is as before"},
};

enum { HELP_KEY_CELLS = 14 };

static void draw_help(struct canvas *c, size_t row, size_t end) {
        for (size_t i = 0; i < ARRAY_SIZE(help) && row < end; i++, row++) {
                canvas_put(c, row, 1, INK_BOLD, help[i].keys);
                canvas_put(c, row, HELP_KEY_CELLS, INK_PLAIN, help[i].text);
        }
}

/* ---- below the rows ------------------------------------------------------------------------------- */

struct label {
        int key;
        const char *shown, *text;
};

/* What does not fit is left out from the end; all of them are in the help, and headings sort too. */
static const struct label labels[] = {
        {'q', "q", "Quit"},           {'?', "?", "Help"},   {UI_KEY_ENTER, "Enter", "Callers"},
        {'s', "s", "Source"},         {'t', "t", "Tree"},   {'/', "/", "Filter"},
        {UI_KEY_TAB, "Tab", "Group"}, {'w', "w", "Window"}, {'p', "p", "Processes"},
        {'m', "m", "Mark"},           {'f', "f", "Freeze"}, {'M', "M", "Mapped"},
        {'a', "a", "Tasks"},          {'x', "x", "Exact"},  {'l', "l", "Live"},
        {'g', "g", "Growth"},         {'c', "c", "Churn"},
};

static const struct label task_labels[] = {
        {'q', "q", "Quit"},         {'?', "?", "Help"},   {'a', "a", "Back"},
        {'r', "r", "Take a graph"}, {'s', "s", "Source"}, {'p', "p", "Processes"},
        {'f', "f", "Freeze"},       {'m', "m", "Mark"},
};

static void draw_keys(struct canvas *c, const struct ui *u, size_t row) {
        bool is_tasks = u->view == UI_TASKS;
        size_t n = is_tasks ? ARRAY_SIZE(task_labels) : ARRAY_SIZE(labels), col = 0;

        for (size_t i = 0; i < n; i++) {
                const struct label *x = is_tasks ? &task_labels[i] : &labels[i];
                size_t begin = col, width = str_width(x->shown) + str_width(x->text);

                if (col + width > c->width)
                        continue; /* a shorter one may fit */
                col = canvas_put(c, row, col, INK_KEY, x->shown);
                col = canvas_put(c, row, col, INK_PLAIN, x->text);
                canvas_add_spot(c, row, begin, col, x->key);
                col++;
        }
}

static void draw_status(struct canvas *c, const struct ui *u, size_t row) {
        struct str text = {0};
        size_t n;

        if (u->is_typing) {
                size_t col = canvas_put(c, row, 0, INK_BOLD, "Functions with: ");

                col = canvas_put(c, row, col, INK_PLAIN, u->typed.n ? u->typed.bytes : "");
                canvas_put(c, row, col, INK_CHOSEN, " ");
                return;
        }
        if (u->is_frozen)
                str_add(&text, "FROZEN (f goes on). ");
        if (u->process[0])
                str_addf(&text, "Process %s alone (Esc: all). ", u->process);
        if (u->filter.n)
                str_addf(&text, "Only through '%s' (Esc: all). ", u->filter.bytes);
        if (u->message.n)
                str_add(&text, u->message.bytes);
        else if (u->doing.n)
                str_add(&text, u->doing.bytes);
        n = (str_width(str_text(&text)) + c->width - 1) / MAX(c->width, (size_t)1);
        n = MIN(MIN(n, (size_t)MAX_MESSAGE_ROWS), row);
        for (size_t i = 1; i < n; i++)
                canvas_blank_row(c, row - i);
        canvas_put_wrapped(c, row + 1 - MAX(n, (size_t)1), MAX(n, (size_t)1), INK_ALARM,
                           str_text(&text));
        str_done(&text);
}

/* ---- frame --------------------------------------------------------------------------------------- */

static const char *window_text(const struct ui *u) {
        static const char *const texts[UI_N_WINDOWS] = {"10 s", "1 min", "10 min", "all"};

        return texts[u->window_idx];
}

static size_t draw_view_heads(struct canvas *c, const struct model *m, const struct ui *u,
                              size_t row) {
        static const char *const titles[QUERY_N_BY] = {
                [QUERY_BY_FUNCTION] = "FUNCTION", [QUERY_BY_SITE] = "CALL PATH",
                [QUERY_BY_LINE] = "LINE",         [QUERY_BY_COMPONENT] = "COMPONENT",
                [QUERY_BY_MODULE] = "MODULE",
        };
        char text[256];

        switch (u->view) {
        case UI_GROUPS:
                snprintf(text, sizeof(text), "%s (growth, rates: %s)", titles[ui_by(u)],
                         window_text(u));
                if (n_columns(c, m, u) * FIGURE_CELLS + str_width(text) > c->width)
                        snprintf(text, sizeof(text), "%s (%s)", titles[ui_by(u)], window_text(u));
                return draw_heads(c, m, u, row, text);
        case UI_PATHS:
                snprintf(text, sizeof(text), "%s%.200s",
                         u->of.is_top_down ? "CALLED, FROM MAIN DOWN" : "CALLERS OF ",
                         u->of.is_top_down || !u->of.title.n ? "" : u->of.title.bytes);
                return draw_heads(c, m, u, row, text);
        case UI_PROCESSES: draw_process_heads(c, row); return row + 1;
        case UI_TASKS: return tasks_draw_heads(c, m, row);
        case UI_SOURCE:
                canvas_paint_row(c, row, INK_BAND);
                canvas_put(c, row, 0, INK_BAND, "SOURCE (Esc: back)");
                return row + 1;
        case UI_HELP:
        case UI_N_VIEWS: break;
        }
        canvas_paint_row(c, row, INK_BAND);
        canvas_put(c, row, 0, INK_BAND, "KEYS (Esc: back)");
        return row + 1;
}

static void draw_row(struct canvas *c, const struct model *m, const struct ui *u, size_t row,
                     size_t at) {
        switch (u->view) {
        case UI_GROUPS: draw_group(c, m, u, row, at); break;
        case UI_PATHS: draw_path(c, m, u, row, at); break;
        case UI_PROCESSES: draw_process(c, m, row, at); break;
        case UI_TASKS: tasks_draw_row(c, m, row, at); break;
        case UI_SOURCE: canvas_put(c, row, 0, INK_PLAIN, str_text(&u->source.items[at])); return;
        case UI_HELP:
        case UI_N_VIEWS: break;
        }
        if (at == u->chosen[u->view])
                canvas_paint_row(c, row, INK_CHOSEN);
}

void draw_frame(struct canvas *c, const struct model *m, struct ui *u) {
        size_t end = c->height > 2 ? c->height - 2 : c->height, row, first, n;

        row = u->view == UI_HELP ? 0 : draw_sentence(c, m, u); /* keys need the room */
        if (u->view != UI_HELP)
                row = draw_figures(c, m, row);
        if (u->view != UI_SOURCE && u->view != UI_HELP)
                row = draw_charts(c, m, row);
        row = draw_view_heads(c, m, u, row);
        ui_stay_inside(u, m);
        if (u->view == UI_TASKS && c->height >= SHORT_ROWS)
                end = tasks_draw_chosen(c, m, u->chosen[UI_TASKS], end);
        u->n_shown = end > row ? end - row : 1;
        ui_stay_inside(u, m);
        if (u->view == UI_HELP)
                draw_help(c, row, end);
        first = u->first[u->view];
        n = ui_n_rows(u, m);
        if (m->mapped && !n && (u->view == UI_GROUPS || u->view == UI_PATHS) && row < end)
                canvas_put(
                        c, row, 1, INK_DIM,
                        model_totals(m)->is_imported
                                ? "imported: what the program mapped itself is unknown (M: blocks)"
                                : "nothing seen that the program mapped itself (M: blocks)");
        else if (m->filter.n && !n && u->view == UI_GROUPS && row < end)
                canvas_put(c, row, 1, INK_DIM, "no call path has a function called so (Esc: all)");
        for (size_t i = 0; i < u->n_shown && first + i < n && row + i < end; i++) {
                draw_row(c, m, u, row + i, first + i);
                canvas_add_spot(c, row + i, 0, c->width, UI_KEY_ROW + (int)i);
        }
        if (c->height > 2) {
                draw_status(c, u, c->height - 2);
                draw_keys(c, u, c->height - 1);
        }
}

/* SPDX-License-Identifier: MIT */
#include "top/ui.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { WHEEL_ROWS = 3, MAX_FILTER_BYTES = 60 };

const uint64_t ui_windows_ns[UI_N_WINDOWS] = {10000000000ull, 60000000000ull, 600000000000ull,
                                              UINT64_MAX};

static const enum query_by groupings[] = {QUERY_BY_FUNCTION, QUERY_BY_SITE, QUERY_BY_LINE,
                                          QUERY_BY_COMPONENT, QUERY_BY_MODULE};

void ui_init(struct ui *u, bool utf8) {
        *u = (struct ui){.utf8 = utf8};
}

void ui_done(struct ui *u) {
        str_done(&u->filter);
        str_done(&u->typed);
        str_done(&u->message);
        str_done(&u->doing);
        str_done(&u->source_function);
        str_done(&u->source_file);
        paths_of_done(&u->of);
        callers_done(&u->paths);
        ui_set_source(u, "");
        vec_free(&u->source);
}

enum query_by ui_by(const struct ui *u) {
        return groupings[u->by_idx];
}

void ui_say(struct ui *u, const char *fmt, ...) {
        char text[600];
        va_list ap;

        va_start(ap, fmt);
        vsnprintf(text, sizeof(text), fmt, ap);
        va_end(ap);
        str_clear(&u->message);
        str_add(&u->message, text);
}

void ui_set_source(struct ui *u, const char *text) {
        for (size_t i = 0; i < u->source.n; i++)
                str_done(&u->source.items[i]);
        vec_clear(&u->source);
        while (*text) {
                size_t n = strcspn(text, "\n");
                struct str *line = vec_add(&u->source);

                str_addn(line, text, n);
                text += n + (text[n] == '\n');
        }
}

/* ---- rows ---------------------------------------------------------------------------------------- */

size_t ui_n_rows(const struct ui *u, const struct model *m) {
        switch (u->view) {
        case UI_GROUPS: return m->groups ? m->groups->n : 0;
        case UI_PATHS: return u->paths.rows.n;
        case UI_SOURCE: return u->source.n;
        case UI_PROCESSES: return m->n_processes;
        case UI_TASKS: return m->tasks.n_rows + m->tasks.n_sources;
        case UI_HELP:
        case UI_N_VIEWS: break;
        }
        return 0;
}

void ui_forget(struct ui *u) {
        callers_forget(&u->paths);
}

void ui_stay_inside(struct ui *u, const struct model *m) {
        size_t n = ui_n_rows(u, m), *chosen = &u->chosen[u->view], *first = &u->first[u->view];

        *chosen = n ? MIN(*chosen, n - 1) : 0;
        if (*chosen < *first)
                *first = *chosen;
        if (u->view != UI_SOURCE && u->n_shown && *chosen >= *first + u->n_shown)
                *first = *chosen - u->n_shown + 1;
        if (u->n_shown && n > u->n_shown)
                *first = MIN(*first, n - u->n_shown);
        else
                *first = 0;
}

void ui_take(struct ui *u, const struct model *m) {
        if (u->view == UI_PATHS && m->answer)
                callers_fill(&u->paths, m, &u->of);
        ui_stay_inside(u, m);
}

static enum ui_do go_to(struct ui *u, const struct model *m, enum ui_view view) {
        u->view = view;
        ui_take(u, m);
        return UI_DRAW;
}

/* By so many rows; of a text, which has no chosen row, the first one shown moves. */
static enum ui_do move(struct ui *u, const struct model *m, int64_t by) {
        size_t n = ui_n_rows(u, m), *at = &u->chosen[u->view];
        int64_t to = (int64_t)*at + by;

        if (u->view == UI_SOURCE) {
                int64_t last = n > u->n_shown ? (int64_t)(n - u->n_shown) : 0;

                to = (int64_t)u->first[UI_SOURCE] + by;
                u->first[UI_SOURCE] = (size_t)MIN(MAX(to, (int64_t)0), last);
                u->chosen[UI_SOURCE] = u->first[UI_SOURCE];
                return UI_DRAW;
        }
        *at = n ? (size_t)MIN(MAX(to, (int64_t)0), (int64_t)n - 1) : 0;
        ui_stay_inside(u, m);
        return UI_DRAW;
}

/* ---- going into things, and back ------------------------------------------------------------------ */

static enum ui_do want_source(struct ui *u, const char *function, const char *file, uint32_t line) {
        if (!function[0] && !file[0]) {
                ui_say(u, "No source is known of this code: it has no names.");
                return UI_DRAW;
        }
        str_clear(&u->source_function);
        str_clear(&u->source_file);
        str_add(&u->source_function, function);
        str_add(&u->source_file, file);
        u->source_line = line;
        u->before = u->view == UI_SOURCE ? u->before : u->view;
        return UI_OPEN_SOURCE;
}

static enum ui_do open_source(struct ui *u, const struct model *m) {
        size_t at = u->chosen[u->view];

        if (u->view == UI_GROUPS && at < ui_n_rows(u, m)) {
                const struct query_frame *f = &m->groups->rows[at].frame;

                return want_source(u, f->function, f->file, f->line);
        }
        if (u->view == UI_TASKS && at < m->tasks.n_rows) {
                const struct task_brief_row *x = &m->tasks.rows[at];

                return want_source(u, x->function, x->file, x->line);
        }
        if (u->view == UI_TASKS && at < ui_n_rows(u, m)) {
                const struct source_brief_row *x = &m->tasks.sources[at - m->tasks.n_rows];

                return want_source(u, x->function, x->file, x->line);
        }
        if (u->view == UI_PATHS && at < u->paths.rows.n) {
                const struct name_frame *f = &u->paths.rows.items[at].frame;

                return want_source(u, f->function, f->file, f->line);
        }
        return UI_NOTHING;
}

static enum ui_do open_process(struct ui *u, const struct model *m, size_t at) {
        struct str word = {0};

        if (at >= m->n_processes)
                return UI_NOTHING;
        query_add_process_word(m->q, m->processes[at].process, &word);
        snprintf(u->process, sizeof(u->process), "%s", str_text(&word));
        str_done(&word);
        u->view = UI_GROUPS;
        return UI_LOOK_AT;
}

static enum ui_do open_row(struct ui *u, const struct model *m, bool is_enter) {
        size_t at = u->chosen[u->view];

        if (at >= ui_n_rows(u, m))
                return UI_NOTHING;
        if (u->view == UI_PROCESSES)
                return open_process(u, m, at);
        if (u->view == UI_TASKS)
                return open_source(u, m);
        if (u->view == UI_GROUPS) {
                paths_of_group(&u->of, m, &m->groups->rows[at]);
                vec_clear(&u->paths.toggled);
                u->chosen[UI_PATHS] = u->first[UI_PATHS] = 0;
                return go_to(u, m, UI_PATHS);
        }
        if (u->view == UI_PATHS) {
                const struct callers_row *row = &u->paths.rows.items[at];

                if (!row->can_open)
                        return is_enter ? open_source(u, m) : UI_NOTHING;
                if (is_enter || !row->is_open)
                        callers_toggle(&u->paths, row->key);
                return go_to(u, m, UI_PATHS);
        }
        return UI_NOTHING;
}

/* A branch that is open closes; else one goes back to where one came from. */
static enum ui_do go_back(struct ui *u, const struct model *m, bool closes) {
        if (closes && u->view == UI_PATHS && u->chosen[UI_PATHS] < u->paths.rows.n) {
                const struct callers_row *row = &u->paths.rows.items[u->chosen[UI_PATHS]];

                if (row->is_open) {
                        callers_toggle(&u->paths, row->key);
                        return go_to(u, m, UI_PATHS);
                }
        }
        if (u->view == UI_SOURCE || u->view == UI_HELP)
                return go_to(u, m, u->before);
        if (u->view != UI_GROUPS)
                return go_to(u, m, UI_GROUPS);
        if (u->filter.n) {
                str_clear(&u->filter);
                return UI_ASK;
        }
        if (u->process[0]) {
                u->process[0] = 0;
                return UI_LOOK_AT;
        }
        return UI_NOTHING;
}

/* ---- the line for a filter ------------------------------------------------------------------------ */

static enum ui_do type_key(struct ui *u, int key) {
        if (key == UI_KEY_ENTER || key == UI_KEY_ESCAPE) {
                u->is_typing = false;
                if (key == UI_KEY_ESCAPE)
                        return UI_DRAW;
                str_clear(&u->filter);
                str_add(&u->filter, str_text(&u->typed));
                return UI_ASK;
        }
        if (key == UI_KEY_BACK) {
                while (u->typed.n && ((unsigned char)u->typed.bytes[--u->typed.n] & 0xc0) == 0x80)
                        continue;
                if (u->typed.bytes)
                        u->typed.bytes[u->typed.n] = 0;
        } else if (key >= ' ' && key < 0x100 && key != 0x7f && u->typed.n < MAX_FILTER_BYTES) {
                const char byte = (char)key; /* of UTF-8, one after the other */

                str_addn(&u->typed, &byte, 1);
        }
        return UI_DRAW;
}

static enum ui_do begin_typing(struct ui *u) {
        u->is_typing = true;
        str_clear(&u->typed);
        str_add(&u->typed, str_text(&u->filter));
        return UI_DRAW;
}

/* ---- keys ---------------------------------------------------------------------------------------- */

static enum ui_do sort_by(struct ui *u, enum model_sort sort) {
        u->sort = sort;
        if (u->view == UI_GROUPS)
                u->chosen[UI_GROUPS] = u->first[UI_GROUPS] = 0;
        return UI_ASK;
}

static enum ui_do press_letter(struct ui *u, const struct model *m, int key) {
        switch (key) {
        case 'q': return UI_QUIT;
        case 'l': return sort_by(u, MODEL_BY_LIVE);
        case 'g': return sort_by(u, MODEL_BY_GROWTH);
        case 'c': return sort_by(u, MODEL_BY_CHURN);
        case 'b': return sort_by(u, MODEL_BY_BYTES);
        case 'u': return sort_by(u, MODEL_BY_CPU);
        case 'j': return move(u, m, 1);
        case 'k': return move(u, m, -1);
        case '/': return begin_typing(u);
        case 's': return open_source(u, m);
        case 'm': return UI_MARK;
        case 'x': return UI_EXACT;
        case 'M':
                u->of_mappings = !u->of_mappings;
                u->view = u->view == UI_PATHS && u->of.is_top_down ? UI_PATHS : UI_GROUPS;
                u->chosen[u->view] = u->first[u->view] = 0;
                return UI_ASK;
        case 'f':
        case ' ': u->is_frozen = !u->is_frozen; return UI_FREEZE;
        case 'w': u->window_idx = (u->window_idx + 1) % UI_N_WINDOWS; return UI_LOOK_AT;
        case 'p': return go_to(u, m, u->view == UI_PROCESSES ? UI_GROUPS : UI_PROCESSES);
        case 'a': return go_to(u, m, u->view == UI_TASKS ? UI_GROUPS : UI_TASKS);
        case 'r':
                if (u->view == UI_TASKS)
                        return UI_GRAPH;
                ui_say(u, /* nobody stops the program by chance */
                       "r takes a graph of the program's memory, which tells its tasks: press a first, then r.");
                return UI_DRAW;
        case 't':
                u->of.is_top_down = true;
                vec_clear(&u->paths.toggled);
                u->chosen[UI_PATHS] = u->first[UI_PATHS] = 0;
                return go_to(u, m, UI_PATHS);
        case '?':
        case 'h':
                if (u->view == UI_HELP)
                        return go_back(u, m, false);
                u->before = u->view;
                return go_to(u, m, UI_HELP);
        default: return UI_NOTHING;
        }
}

static enum ui_do press_click(struct ui *u, const struct model *m, size_t row) {
        size_t at = u->first[u->view] + row;

        if (u->view == UI_SOURCE || u->view == UI_HELP || at >= ui_n_rows(u, m))
                return UI_NOTHING;
        if (at == u->chosen[u->view]) /* a second click goes in */
                return open_row(u, m, true);
        u->chosen[u->view] = at;
        return UI_DRAW;
}

enum ui_do ui_press(struct ui *u, const struct model *m, int key) {
        int64_t page = (int64_t)MAX(u->n_shown, (size_t)2) - 1;

        if (u->is_typing)
                return type_key(u, key);
        if (u->message.n)
                str_clear(&u->message);
        if (key >= UI_KEY_ROW)
                return press_click(u, m, (size_t)(key - UI_KEY_ROW));
        switch (key) {
        case UI_KEY_UP: return move(u, m, -1);
        case UI_KEY_DOWN: return move(u, m, 1);
        case UI_KEY_WHEEL_UP: return move(u, m, -WHEEL_ROWS);
        case UI_KEY_WHEEL_DOWN: return move(u, m, WHEEL_ROWS);
        case UI_KEY_PAGE_UP: return move(u, m, -page);
        case UI_KEY_PAGE_DOWN: return move(u, m, page);
        case UI_KEY_HOME: return move(u, m, INT32_MIN);
        case UI_KEY_END: return move(u, m, INT32_MAX);
        case UI_KEY_ENTER: return open_row(u, m, true);
        case UI_KEY_RIGHT: return open_row(u, m, false);
        case UI_KEY_LEFT: return go_back(u, m, true);
        case UI_KEY_BACK:
        case UI_KEY_ESCAPE: return go_back(u, m, false);
        case UI_KEY_TAB:
                u->by_idx = (u->by_idx + 1) % ARRAY_SIZE(groupings);
                u->view = UI_GROUPS;
                u->chosen[UI_GROUPS] = u->first[UI_GROUPS] = 0;
                return UI_ASK;
        default: return press_letter(u, m, key);
        }
}

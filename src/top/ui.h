/* SPDX-License-Identifier: MIT */
/* What is shown and what keys do to it, without a terminal: keys in, a canvas out. Inside top/ only. */
#pragma once

#include "top/callers.h"
#include "top/canvas.h"
#include "top/top_model.h"

enum ui_view {
        UI_GROUPS, /* functions, call paths, lines … by what they hold */
        UI_PATHS,  /* who calls the chosen one */
        UI_SOURCE,
        UI_PROCESSES,
        UI_TASKS, /* of an asynchronous program, in the newest graph */
        UI_HELP,
        UI_N_VIEWS,
};

/* Keys beside characters. */
enum ui_key {
        UI_KEY_UP = 0x110000, /* behind all of Unicode */
        UI_KEY_DOWN,
        UI_KEY_LEFT,
        UI_KEY_RIGHT,
        UI_KEY_PAGE_UP,
        UI_KEY_PAGE_DOWN,
        UI_KEY_HOME,
        UI_KEY_END,
        UI_KEY_ENTER,
        UI_KEY_BACK, /* backspace */
        UI_KEY_ESCAPE,
        UI_KEY_TAB,
        UI_KEY_WHEEL_UP,
        UI_KEY_WHEEL_DOWN,
        UI_KEY_ROW, /* + n: a click on the n-th row of the view */
};

/* What whoever has the follower is to do about a key. */
enum ui_do {
        UI_NOTHING,
        UI_DRAW,        /* something else is to be seen */
        UI_ASK,         /* and other figures are needed */
        UI_LOOK_AT,     /* another process, or another window */
        UI_FREEZE,      /* or go on */
        UI_MARK,        /* a moment of the recording */
        UI_GRAPH,       /* take a graph: the program stands still for a moment */
        UI_EXACT,       /* every event, for some seconds */
        UI_OPEN_SOURCE, /* of source_function, source_file, source_line */
        UI_QUIT,
};

enum { UI_N_WINDOWS = 4 };
extern const uint64_t ui_windows_ns[UI_N_WINDOWS];

struct ui {
        enum ui_view view, before; /* before: help, source and processes go back there */
        size_t by_idx;
        enum model_sort sort;
        size_t chosen[UI_N_VIEWS],
                first[UI_N_VIEWS]; /* the row that is chosen; the first one shown */
        size_t n_shown;            /* rows there was room for */
        size_t window_idx;
        char process[32]; /* as query_choose_process takes it; "": all */
        bool of_mappings; /* rows of what the program mapped itself, in place of blocks */
        bool is_frozen, is_typing;
        struct str filter, typed;
        struct str message; /* on the last line but one, until a key is pressed; "": none */
        struct str doing;   /* the same as long as it lasts */
        struct callers_of of;
        struct callers paths;
        struct str source_function, source_file;
        uint32_t source_line;
        VEC(struct str) source; /* its lines */
        bool utf8;
        bool can_be_exact; /* silt attached itself */
};

void ui_init(struct ui *u, bool utf8);
void ui_done(struct ui *u);
enum query_by ui_by(const struct ui *u);

/* Before the model is filled anew, and after. */
void ui_forget(struct ui *u);
void ui_take(struct ui *u, const struct model *m);
void ui_set_source(struct ui *u, const char *text); /* lines to show */
void ui_say(struct ui *u, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The chosen row is one that is there, and among those shown. */
void ui_stay_inside(struct ui *u, const struct model *m);
enum ui_do ui_press(struct ui *u, const struct model *m, int key);
/* How many rows the view has. */
size_t ui_n_rows(const struct ui *u, const struct model *m);

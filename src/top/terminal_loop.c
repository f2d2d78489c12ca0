/* SPDX-License-Identifier: MIT */
/* silt top on a terminal: takes in what the recording has, draws, does what keys ask for. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/system_clock.h"
#include "base/units.h"
#include "live/background_request.h"
#include "source/source.h"
#include "top/frame_draw.h"
#include "top/screen.h"
#include "top/session.h"

enum {
        EXACT_MS = 10000,
        MIN_FRAME_MS = 250,    /* four a second, unless keys ask for more */
        ANSWER_MS = 50,        /* to look whether the recorder has answered */
        MIN_SOURCE_CELLS = 40, /* narrower than that it is cut */
};

struct loop {
        struct session *s;
        struct screen *screen;
        struct canvas canvas;
        struct ui ui;
        uint64_t step_ms;  /* when to look for more */
        uint64_t exact_ms; /* until when every event is recorded; 0: it is not */
        bool is_paused; /* that ended while the screen was frozen: nothing is recorded until it goes on */
        struct timeline_past past;
        bool is_stale;                           /* the screen shows something else */
        struct background_request *mark, *graph; /* the recorder was asked for; NULL: it was not */
};

/* ---- figures ------------------------------------------------------------------------------------- */

static int fill(struct loop *l, struct err *reterr) {
        struct model_ask ask = {.by = ui_by(&l->ui),
                                .of_mappings = l->ui.of_mappings,
                                .sort = l->ui.sort,
                                .filter = str_text(&l->ui.filter),
                                .past = l->ui.process[0] ? NULL : &l->past};
        size_t height;
        int r;

        screen_size(l->screen, &ask.n_columns, &height);
        ask.n_columns = ask.n_columns > DRAW_SCALE_CELLS ? ask.n_columns - DRAW_SCALE_CELLS : 0;
        ui_forget(&l->ui);
        r = model_fill(&l->s->model, l->s->follower, &ask, reterr);
        if (r >= 0)
                ui_take(&l->ui, &l->s->model);
        l->is_stale = true;
        return r;
}

/* Other figures of the same moment. What cannot be asked is said, and the question before stays. */
static int ask_again(struct loop *l, struct err *reterr) {
        struct err why = {0};

        if (fill(l, &why) >= 0)
                return 0;
        str_clear(&l->ui.filter);
        l->ui.of_mappings = false;
        ui_say(&l->ui, "%s", why.text);
        return fill(l, reterr);
}

static int look_at(struct loop *l, struct err *reterr) {
        struct err why = {0};
        int r = follower_look_at(l->s->follower, l->ui.process[0] ? l->ui.process : NULL,
                                 ui_windows_ns[l->ui.window_idx], &why);

        if (r < 0)
                ui_say(&l->ui, "%s", why.text);
        return fill(l, reterr);
}

/* What the recording has written since. Where that fails, what was read before stays on the screen. */
static int step(struct loop *l, struct err *reterr) {
        uint64_t begin_ms = clock_now_ms();
        struct err why = {0};
        int r;

        l->step_ms = begin_ms + MAX(l->s->o->every_ns / 1000000, (uint64_t)MIN_FRAME_MS);
        if (l->ui.is_frozen)
                return 0;
        ui_forget(&l->ui);
        r = follower_step(l->s->follower, &why);
        if (r < 0)
                ui_say(&l->ui, "%s", why.text);
        if (follower_is_naming(l->s->follower))
                l->step_ms = clock_now_ms() + MIN_FRAME_MS;
        r = fill(l, reterr);
        l->step_ms = MAX(l->step_ms, session_earliest_ms(begin_ms, clock_now_ms()));
        return r;
}

/* ---- what keys ask for ---------------------------------------------------------------------------- */

static void draw(struct loop *l) {
        size_t width, height;

        screen_size(l->screen, &width, &height);
        canvas_begin(&l->canvas, width, height, l->ui.utf8);
        draw_frame(&l->canvas, &l->s->model, &l->ui);
        screen_show(l->screen, &l->canvas);
        l->is_stale = false;
}

static void mark(struct loop *l) {
        if (!l->mark)
                l->mark = background_request_start(BACKGROUND_MARK,
                                                   live_subject_path(l->s->subject), 0);
}

static void end_mark(struct loop *l) {
        struct background_answer a;
        struct err why = {0};
        int r = background_request_take(l->mark, &a, &why);

        if (!r)
                return;
        l->mark = NULL;
        l->is_stale = true;
        if (r < 0) {
                ui_say(&l->ui, "%s", why.text);
                return;
        }
        l->s->keeps = live_subject_is_attached(l->s->subject);
        ui_say(&l->ui,
               l->s->keeps
                       ? "Marked as @%s. The trace will be kept, in the directory where silt top was started."
                       : "Marked as @%s.",
               a.name);
}

/* Of the process that is looked at. */
static void take_graph(struct loop *l) {
        const struct model *m = &l->s->model;
        uint32_t pid =
                m->process == QUERY_ALL ? 0 : query_view(m->q)->processes[m->process].start.pid;

        l->is_stale = true;
        if (follower_now(l->s->follower)->is_over)
                ui_say(&l->ui, "The program is no longer recorded: no graph can be taken of it.");
        else if (!l->graph)
                l->graph = background_request_start(BACKGROUND_GRAPH,
                                                    live_subject_path(l->s->subject), pid);
}

/* What is in it is there when the trace is read next: at once. */
static void end_graph(struct loop *l) {
        struct background_answer a;
        struct unit_text pause;
        struct err why = {0};
        int r = background_request_take(l->graph, &a, &why);

        if (!r)
                return;
        l->graph = NULL;
        l->is_stale = true;
        l->step_ms = 0;
        if (r < 0)
                ui_say(&l->ui, "%s", why.text);
        else if (l->ui.is_frozen)
                ui_say(&l->ui, "A graph was taken: f goes on and shows it.");
        else
                ui_say(&l->ui, "A graph was taken: it stopped the program for %s.",
                       unit_duration(&pause, a.pause_ns));
}

/* What goes on, above the keys. */
static void tell_doing(struct loop *l) {
        struct str text = {0};
        uint64_t s;

        if (l->graph) {
                s = (clock_now_ms() - background_request_begin_ms(l->graph)) / 1000;
                str_add(&text, "Taking a graph ...");
                if (s)
                        str_addf(&text, " %llu s", (unsigned long long)s);
        } else if (l->exact_ms) {
                str_add(&text,
                        "Every event is recorded for 10 s, from now on (f keeps what it shows).");
        }
        l->is_stale |= strcmp(str_text(&text), str_text(&l->ui.doing)) != 0;
        str_done(&l->ui.doing);
        l->ui.doing = text;
}

/* The recorder that was asked is not there any more. */
static void drop_requests(struct loop *l) {
        if (l->mark) /* it may be in the trace */
                l->s->keeps = live_subject_is_attached(l->s->subject);
        l->mark = background_request_drop(l->mark);
        l->graph = background_request_drop(l->graph);
}

/* Detaches and attaches again: another recording, of which the same is shown. The timeline goes on. */
static int attach_again(struct loop *l, const char *const *options, struct err *reterr) {
        struct timeline_past past;
        struct err why = {0};
        uint64_t end_ms;
        int r = 0;

        if (l->ui.process[0]) { /* the timeline of all */
                l->ui.process[0] = 0;
                r = look_at(l, reterr);
        }
        if (r < 0)
                return r;
        model_keep_timeline(&l->s->model, &past);
        end_ms = clock_now_ms();
        ui_forget(&l->ui);
        drop_requests(l);
        if (session_close(l->s, &why) < 0)
                ui_say(&l->ui, "%s", why.text);
        else if (l->s->kept[0])
                ui_say(&l->ui, "The trace with your marks is %s.", l->s->kept);
        r = session_open(l->s, options, reterr);
        if (r < 0)
                return r;
        past.gap_ns = (clock_now_ms() - end_ms) * 1000000;
        past.gap_ns -= MIN(past.gap_ns, follower_now(l->s->follower)->time_ns);
        l->past = past;
        l->ui.is_frozen = false;
        return look_at(l, reterr);
}

static int refuse_exact(struct loop *l, const char *why) {
        ui_say(&l->ui, "%s", why);
        l->is_stale = true;
        return 0;
}

/* No --lossy: what the screen then says is exact is worth that the program waits for a moment; the runtime bounds how long. */
static int begin_exact(struct loop *l, struct err *reterr) {
        static const char *const options[] = {"--max-size", "64M", NULL};
        int r;

        if (!live_subject_is_attached(l->s->subject))
                return refuse_exact(
                        l,
                        "Only where silt top attached itself: this recording belongs to another silt.");
        if (l->exact_ms || l->is_paused)
                return 0;
        if (follower_now(l->s->follower)->is_over)
                return refuse_exact(l, "The program is no longer recorded.");
        r = attach_again(l, options, reterr);
        l->exact_ms = clock_now_ms() + EXACT_MS;
        return r;
}

static int end_exact(struct loop *l, struct err *reterr) {
        l->exact_ms = 0;
        if (follower_now(l->s->follower)->is_over)
                return 0; /* stays to be looked at */
        if (!l->ui.is_frozen)
                return attach_again(l, NULL, reterr);
        live_subject_leave(l->s->subject);
        l->is_paused = true;
        return 0;
}

static int freeze(struct loop *l, struct err *reterr) {
        l->step_ms = 0;
        l->is_stale = true;
        if (l->ui.is_frozen || !l->is_paused)
                return 0;
        l->is_paused = false;
        return attach_again(l, NULL, reterr);
}

/* The text that `silt source` prints, as wide as the screen. */
static int write_source(struct loop *l, const char *what, char **ret, struct err *reterr) {
        struct source_options o = SOURCE_OPTIONS_DEFAULT;
        struct query *q = follower_query(l->s->follower);
        struct request_resolved resolved = {0};
        struct request request = REQUEST_DEFAULT;
        size_t height, n_bytes;
        FILE *out;
        int r;

        screen_size(l->screen, &o.view.width, &height);
        o.view.width = MAX(o.view.width, (size_t)MIN_SOURCE_CELLS);
        o.view.path = live_subject_path(l->s->subject);
        o.view.request = &request;
        o.what = what;
        r = request_set(&request, "by", "end", reterr);
        if (r >= 0 && l->ui.process[0])
                r = request_set(&request, "process", l->ui.process, reterr);
        if (r >= 0)
                r = show_resolve(&o.view, q, REQUEST_ALL, &resolved, reterr);
        out = r >= 0 ? open_memstream(ret, &n_bytes) : NULL;
        if (out) {
                r = source_write(out, q, &o, reterr);
                fclose(out);
        }
        request_resolved_done(&resolved);
        request_done(&request);
        return r;
}

static void show_source(struct loop *l) {
        struct str place = {0};
        char *text = NULL;
        struct err why = {0};
        int r = -ENOENT;

        str_addf(&place, "%s:%u", str_text(&l->ui.source_file), l->ui.source_line);
        if (l->ui.source_function.n)
                r = write_source(l, str_text(&l->ui.source_function), &text, &why);
        if (r < 0 && l->ui.source_file.n) {
                free(text);
                text = NULL;
                r = write_source(l, str_text(&place), &text, &why);
        }
        if (r < 0) {
                ui_say(&l->ui, "%s", why.text);
        } else {
                ui_set_source(&l->ui, text);
                l->ui.view = UI_SOURCE;
                l->ui.first[UI_SOURCE] = l->ui.chosen[UI_SOURCE] = 0;
        }
        free(text);
        str_done(&place);
        l->is_stale = true;
}

static int handle(struct loop *l, enum ui_do what, bool *ret_is_over, struct err *reterr) {
        switch (what) {
        case UI_NOTHING: break;
        case UI_DRAW: l->is_stale = true; break;
        case UI_ASK: return ask_again(l, reterr);
        case UI_LOOK_AT: return look_at(l, reterr);
        case UI_FREEZE: return freeze(l, reterr);
        case UI_MARK: mark(l); break;
        case UI_GRAPH: take_graph(l); break;
        case UI_EXACT: return begin_exact(l, reterr);
        case UI_OPEN_SOURCE: show_source(l); break;
        case UI_QUIT: *ret_is_over = true; break;
        }
        return 0;
}

/* ---- the loop ------------------------------------------------------------------------------------- */

/* All keys that are there, then what became of them is drawn once. */
static int take_keys(struct loop *l, bool *ret_is_over, struct err *reterr) {
        uint64_t now = clock_now_ms(),
                 until = l->exact_ms ? MIN(l->step_ms, l->exact_ms) : l->step_ms;
        int wait_ms = until > now ? (int)MIN(until - now, (uint64_t)INT_MAX) : 0, key, r = 0;

        if (l->mark || l->graph)
                wait_ms = MIN(wait_ms, (int)ANSWER_MS);

        while (r >= 0 && !*ret_is_over &&
               (key = screen_key(l->screen, &l->canvas, wait_ms)) != -1) {
                wait_ms = 0;
                if (key == SCREEN_GONE)
                        *ret_is_over = true;
                else if (key == SCREEN_RESIZED)
                        r = fill(l, reterr);
                else
                        r = handle(l, ui_press(&l->ui, &l->s->model, key), ret_is_over, reterr);
        }
        return r;
}

static int run(struct loop *l, struct err *reterr) {
        bool is_over = false;
        int r = fill(l, reterr);

        while (r >= 0 && !is_over && !session_is_to_end()) {
                if (l->exact_ms && clock_now_ms() >= l->exact_ms)
                        r = end_exact(l, reterr);
                else if (clock_now_ms() >= l->step_ms)
                        r = step(l, reterr);
                if (l->mark)
                        end_mark(l);
                if (l->graph)
                        end_graph(l);
                tell_doing(l);
                if (r >= 0 && l->is_stale)
                        draw(l);
                if (r >= 0)
                        r = take_keys(l, &is_over, reterr);
        }
        return r;
}

int session_show(struct session *s, struct err *reterr) {
        struct loop *l = calloc(1, sizeof(*l));
        int r;

        if (!l)
                abort();
        l->s = s;
        r = screen_open(&l->screen, reterr);
        if (r >= 0) {
                ui_init(&l->ui, screen_is_utf8(l->screen));
                l->ui.of_mappings = l->s->o->ask.of_mappings;
                l->ui.view = l->s->o->ask.of_tasks ? UI_TASKS : UI_GROUPS;
                r = run(l, reterr);
                drop_requests(l);
                ui_done(&l->ui);
        }
        screen_close(l->screen);
        canvas_done(&l->canvas);
        free(l);
        return r;
}

/* SPDX-License-Identifier: MIT */
#include "record/graph_schedule.h"

#include <stdio.h>

#include "attach/frozen_check.h"
#include "base/units.h"
#include "trace/recorder_end.h"

enum {
        LOOK_NS = 250000000,     /* between two looks at what is left of memory */
        NEAR_LOOK_NS = 25000000, /* when it may soon be too little */
        FAST_LOOK_NS = 5000000,  /* when it falls so fast that the next but one would be too late */
        SCARCE_PART = 4,         /* of what a copy could need: more than that must be to spare */
        N_LOOKS_LEFT = 3,
        STRETCH_AFTER = 100, /* so many graphs at regular intervals, then twice as long ones */
};

static void want(struct recorder *r, const char *name) {
        struct graph_wish wish = {.caller = -1};

        snprintf(wish.name, sizeof(wish.name), "%s", name);
        vec_push(&r->graph_wishes, wish);
}

void recorder_graph_on_signal(struct recorder *r) {
        char name[32];

        if (r->graph_wishes
                    .n) /* it is about to begin; one that is under way is of an earlier moment */
                return;
        snprintf(name, sizeof(name), "signal-%u", ++r->graph_schedule.n_signals);
        want(r, name);
}

/* ---- when there will soon be none ------------------------------------------------------------------- */

/* Of version 1 nothing is told: its limit is hit whenever files are read. */
static bool is_pressed(struct recorder *r) {
        const struct rooms_one *one = rooms_tightest(&r->rooms);

        return one && one->group.version == 2 && one->now.of[ROOM_N_MAX] != ROOM_UNKNOWN &&
               pressure_rose(&r->graph_schedule.pressure, one);
}

/* Of the program that was started: whether a copy of it will soon not fit any more. That is so when little more is left than it could need, or when what is left
 * falls so quickly that a few looks later it is less. The next look comes before it can be too late. */
static bool is_scarce(struct recorder *r, uint64_t now_ns, bool *ret_fits) {
        const struct image *one = r->images.list.n ? r->images.list.items[0] : NULL;
        struct graph_schedule *s = &r->graph_schedule;
        uint64_t passed_ns = now_ns - MIN(s->looked_ns, now_ns), spare, fell;
        struct frozen_room room;

        *ret_fits = false;
        s->next_look_ns = now_ns + LOOK_NS;
        if (!one || one->is_ending || one->gone_ns || !frozen_room(one->pid, &room))
                return false;
        s->looked_ns = now_ns;
        if (room.left_bytes < room.need_bytes) {
                s->lacked_bytes = room.need_bytes;
                s->had_bytes = room.left_bytes;
                return false;
        }
        *ret_fits = true;
        spare = room.left_bytes - room.need_bytes;
        fell = s->spare_bytes > spare ? s->spare_bytes - spare : 0;
        s->spare_bytes = spare;
        if (spare < 2 * room.need_bytes)
                s->next_look_ns = now_ns + NEAR_LOOK_NS;
        if (fell && spare / fell < LOOK_NS / MAX(passed_ns, (uint64_t)1) * N_LOOKS_LEFT)
                s->next_look_ns = now_ns + FAST_LOOK_NS;
        return spare <= room.need_bytes / SCARCE_PART ||
               (spare <= room.need_bytes && spare / N_LOOKS_LEFT <= fell);
}

void recorder_note_no_graph(struct recorder *r) {
        const struct graph_schedule *s = &r->graph_schedule;
        struct unit_text a, b;

        if (!r->config->options->leaks || s->was_scarce || s->was_pressed)
                return;
        if (s->lacked_bytes)
                recorder_note(
                        r,
                        NO_GRAPH_NOTE
                        "there was too little room for a copy, which can need %s while the program writes on; %s were left",
                        unit_bytes(&a, s->lacked_bytes), unit_bytes(&b, s->had_bytes));
        else
                recorder_note(r, NO_GRAPH_NOTE "memory ran out between two looks at what is left");
}

/* ---- when much is live ------------------------------------------------------------------------------ */

static void want_high(struct recorder *r, uint64_t now_ns) {
        uint64_t live_bytes, live_blocks;
        char name[32];

        pipeline_get_live(r->pipeline, &live_bytes, &live_blocks);
        if (r->graph || r->graph_wishes.n ||
            !high_mark_due(&r->graph_schedule.high, now_ns, live_bytes))
                return;
        snprintf(name, sizeof(name), "high-%u", r->graph_schedule.high.n);
        want(r, name);
}

/* ---- the rows --------------------------------------------------------------------------------------- */

uint64_t recorder_graph_schedule_due(const void *ctx) {
        const struct recorder *r = ctx;
        const struct graph_schedule *s = &r->graph_schedule;
        uint64_t every_ns = r->config->options->graph_every_ns;
        uint64_t look_ns =
                r->config->options->leaks && !s->was_scarce ? s->next_look_ns : OBSERVER_NEVER;
        uint64_t next_ns = every_ns ? s->last_ns + (every_ns << s->n_stretched) : OBSERVER_NEVER;

        return r->end_ns ? OBSERVER_NEVER : MIN(look_ns, next_ns);
}

uint64_t recorder_schedule_graphs(void *ctx, uint64_t now_ns) {
        struct recorder *r = ctx;
        struct graph_schedule *s = &r->graph_schedule;
        uint64_t every_ns = r->config->options->graph_every_ns;
        char name[32];

        if (every_ns && now_ns >= s->last_ns + (every_ns << s->n_stretched)) {
                s->last_ns = now_ns;
                if (!r->graph && !r->graph_wishes.n) { /* a slow one is not overtaken */
                        snprintf(name, sizeof(name), "graph-%u", ++s->n_graphs);
                        want(r, name);
                        s->n_stretched += s->n_graphs % STRETCH_AFTER == 0 && s->n_stretched < 20;
                }
        }
        if (r->config->options->leaks && !s->was_scarce && now_ns >= s->next_look_ns) {
                bool fits, is_near = is_pressed(r);

                s->was_scarce = is_scarce(r, now_ns, &fits);
                if (s->was_scarce) {
                        want(r, "scarce");
                } else if (is_near && fits && !s->was_pressed && !r->graph && !r->graph_wishes.n) {
                        s->was_pressed = true;
                        want(r, "pressed");
                } else if (fits && !is_near) {
                        want_high(r, now_ns);
                }
        }
        return OBSERVER_NEVER;
}

/* SPDX-License-Identifier: MIT */
#include "record/graph_schedule.h"

#include <stdio.h>

#include "attach/frozen_check.h"

enum {
        LOOK_NS = 250000000, /* between two looks at what is left of memory */
        STRETCH_AFTER = 100, /* so many graphs at regular intervals, then twice as long ones */
};

static void want(struct recorder *r, const char *name) {
        struct graph_wish wish = {.caller = -1};

        snprintf(wish.name, sizeof(wish.name), "%s", name);
        vec_push(&r->graph_wishes, wish);
}

void recorder_graph_on_signal(struct recorder *r) {
        char name[32];

        if (r->graph || r->graph_wishes.n) /* it is under way */
                return;
        snprintf(name, sizeof(name), "signal-%u", ++r->graph_schedule.n_signals);
        want(r, name);
}

/* Of the program that was started. */
static bool is_scarce(const struct recorder *r) {
        const struct image *one = r->images.list.n ? r->images.list.items[0] : NULL;

        return one && !one->is_ending && !one->gone_ns && frozen_is_last_chance(one->pid);
}

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
                s->next_look_ns = now_ns + LOOK_NS;
                s->was_scarce = is_scarce(r);
                if (s->was_scarce)
                        want(r, "scarce");
        }
        return OBSERVER_NEVER;
}

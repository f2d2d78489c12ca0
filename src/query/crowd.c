/* SPDX-License-Identifier: MIT */
#include "query/crowd.h"

#include "query/internal.h"

void crowd_bury(struct crowd *c, uint64_t time_ns) {
        for (uint32_t p; (p = ends_take(&c->ends, time_ns)) != TRACE_NO_PROCESS;) {
                c->is_dead[p] = true;
                c->bytes -= c->own_bytes[p];
                c->blocks -= c->own_blocks[p];
        }
}

static void crowd_add(struct crowd *c, uint32_t process, int64_t bytes, int64_t blocks) {
        c->own_bytes[process] += bytes;
        c->own_blocks[process] += blocks;
        if (!c->is_dead[process]) {
                c->bytes += bytes;
                c->blocks += blocks;
        }
}

void crowd_init(struct crowd *c, const struct query *q, const struct state *s, uint64_t time_ns) {
        *c = (struct crowd){0};
        ends_init(&c->ends, q);
        c->own_bytes = calloc(s->n_processes + 1, sizeof(int64_t));
        c->own_blocks = calloc(s->n_processes + 1, sizeof(int64_t));
        c->is_dead = calloc(s->n_processes + 1, sizeof(bool));
        if (!c->own_bytes || !c->own_blocks || !c->is_dead)
                abort();
        for (size_t i = 0; i < s->sites.n; i++)
                if (s->sites.items[i].process != STATE_ENDED)
                        crowd_add(c, s->sites.items[i].process,
                                  state_site_own_bytes(&s->sites.items[i]),
                                  state_site_own_blocks(&s->sites.items[i]));
        crowd_bury(c, time_ns);
}

void crowd_done(struct crowd *c) {
        free(c->own_bytes);
        free(c->own_blocks);
        free(c->is_dead);
        ends_done(&c->ends);
}

void crowd_step(struct crowd *c, const struct replay_step *step) {
        /* what passed on did so when its owner ended, and that one no longer counts it */
        crowd_bury(c, step->is_heritage ? step->time_ns + 1 : step->time_ns);
        crowd_add(c, step->process, step->own_bytes, step->own_blocks);
}

/* SPDX-License-Identifier: MIT */
#include "query/process_sum.h"

#include "query/query_internal.h"

void process_sum_bury(struct process_sum *c, uint64_t time_ns) {
        for (uint32_t p; (p = process_ends_take(&c->ends, time_ns)) != TRACE_NO_PROCESS;) {
                c->is_dead[p] = true;
                c->bytes -= c->own_bytes[p];
                c->blocks -= c->own_blocks[p];
        }
}

static void process_sum_add(struct process_sum *c, uint32_t process, int64_t bytes,
                            int64_t blocks) {
        c->own_bytes[process] += bytes;
        c->own_blocks[process] += blocks;
        if (!c->is_dead[process]) {
                c->bytes += bytes;
                c->blocks += blocks;
        }
}

void process_sum_init(struct process_sum *c, const struct query *q, const struct state *s,
                      uint64_t time_ns) {
        *c = (struct process_sum){0};
        process_ends_init(&c->ends, q);
        c->own_bytes = calloc(s->n_processes + 1, sizeof(int64_t));
        c->own_blocks = calloc(s->n_processes + 1, sizeof(int64_t));
        c->is_dead = calloc(s->n_processes + 1, sizeof(bool));
        if (!c->own_bytes || !c->own_blocks || !c->is_dead)
                abort();
        for (size_t i = 0; i < s->sites.n; i++)
                if (s->sites.items[i].process != STATE_ENDED)
                        process_sum_add(c, s->sites.items[i].process,
                                        state_site_own_bytes(&s->sites.items[i]),
                                        state_site_own_blocks(&s->sites.items[i]));
        process_sum_bury(c, time_ns);
}

void process_sum_done(struct process_sum *c) {
        free(c->own_bytes);
        free(c->own_blocks);
        free(c->is_dead);
        process_ends_done(&c->ends);
}

void process_sum_step(struct process_sum *c, const struct replay_step *step) {
        /* what passed on did so when its owner ended, and that one no longer counts it */
        process_sum_bury(c, step->is_heritage ? step->time_ns + 1 : step->time_ns);
        process_sum_add(c, step->process, step->own_bytes, step->own_blocks);
        for (size_t i = 0; i < step->n_gains; i++)
                process_sum_add(c, step->gains[i].process, (int64_t)step->gains[i].bytes,
                                (int64_t)step->gains[i].blocks);
}

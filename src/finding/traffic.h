/* SPDX-License-Identifier: MIT */
/* For tests: made-up services, drawn at random, some of which lose memory. Requests come in every rhythm: evenly, by chance, with heavy
 * tails, in bursts, by day, with a stall, with the whole program stopped, ever more or ever fewer, late, or not to the end. Beside
 * what is lost there is what is not: start-up, caches that fill up and replace, sets that saturate, sessions, queues,
 * batches, tables that double, data that is built once or in stages, tear-down.
 *
 *   struct traffic t;
 *
 *   traffic_draw(&t, seed, is_leaky);
 *   traffic_write(&t, path); */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { TRAFFIC_MAX_REQUESTS = 2500, TRAFFIC_MAX_HOLES = 4 };

/* The function that loses memory, and who calls it. */
#define TRAFFIC_CULPRIT "remember_request"
#define TRAFFIC_CALLER "handle_request"

enum traffic_rhythm {
        TRAFFIC_EVEN,
        TRAFFIC_CHANCE,
        TRAFFIC_HEAVY,
        TRAFFIC_BURSTS,
        TRAFFIC_DAYS,
        TRAFFIC_STALL,
        TRAFFIC_STOPS,
        TRAFFIC_RAMP,
        TRAFFIC_N_RHYTHMS,
};

enum traffic_size { TRAFFIC_ONE_SIZE, TRAFFIC_SIZES, TRAFFIC_ANY_SIZE, TRAFFIC_N_SIZES };

struct traffic {
        uint64_t seed, random;
        double span_s;
        enum traffic_rhythm rhythm;
        double begin, end; /* of requests, as parts of the time */
        struct {
                double begin, end;
        } holes[TRAFFIC_MAX_HOLES];
        unsigned n_holes, n_requests, n_ticks;
        double at[TRAFFIC_MAX_REQUESTS]; /* from 0 to 1, rising */
        unsigned n_scratch;              /* blocks a request takes and gives back */
        /* what is lost */
        bool is_leaky;
        unsigned n_each; /* blocks the culprit makes for a request, */
        double p_lost;   /* each of which stays with this chance; the others are released */
        enum traffic_size sizes;
        unsigned size_bytes;
        double size_factor; /* so that it is enough to matter */
        bool is_lost[TRAFFIC_MAX_REQUESTS * 4];
        /* what is not */
        bool has_table, has_cache, has_set, has_sessions, has_queue, has_batch, has_doubling,
                has_build, has_stages, is_torn_down;
        unsigned n_start, n_cache, n_set, n_flushes, n_stages, n_build, n_build_scratch;
        double session_life, build_end, stage_at[4];
        unsigned n_redrawn; /* draws before it that lacked evidence */
        unsigned n_lost;
        double lost_bytes, rest_peak_bytes; /* known when it is written */
};

/* Drawn again until what a verdict needs is there (traffic.c says what). */
void traffic_draw(struct traffic *t, uint64_t seed, bool is_leaky);
void traffic_write(struct traffic *t, const char *path);
const char *traffic_rhythm_name(enum traffic_rhythm r);
/* All that was drawn, in a line; static. */
const char *traffic_text(const struct traffic *t);

/* SPDX-License-Identifier: MIT */
#include "finding/traffic.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "query/testing/fabric.h"

#define EXE "/usr/bin/service"
/* In a shorter one nobody can tell what is lost while something is built. */
#define BUILD_S 12.0
/* A recording that tells little. */
#define TRAFFIC_SHORT_S 30.0

/* ---- chance ---------------------------------------------------------------------------------- */

static uint64_t next(struct traffic *t) {
        t->random ^= t->random << 13;
        t->random ^= t->random >> 7;
        t->random ^= t->random << 17;
        return t->random;
}

static double part(struct traffic *t) {
        return (double)(next(t) >> 11) / 9007199254740992.0;
}

static double real(struct traffic *t, double low, double high) {
        return low + (high - low) * part(t);
}

static unsigned whole(struct traffic *t, unsigned low, unsigned high) {
        return low + (unsigned)(next(t) >> 33) % (high - low + 1);
}

/* Small ones as often as large ones. */
static double scale(struct traffic *t, double low, double high) {
        return exp(real(t, log(low), log(high)));
}

static bool pct(struct traffic *t, double percent) {
        return part(t) * 100 < percent;
}

/* ---- when requests come ---------------------------------------------------------------------- */

static int by_value(const void *a, const void *b) {
        double x = *(const double *)a, y = *(const double *)b;

        return (x > y) - (x < y);
}

static void come_with_heavy_tails(struct traffic *t) {
        double at = 0, alpha = real(t, 1.1, 2.2);

        for (unsigned i = 0; i < t->n_requests; i++)
                t->at[i] = at += pow(1 - part(t), -1 / alpha);
        for (unsigned i = 0; i < t->n_requests; i++)
                t->at[i] /= at * 1.0001;
}

static void come_in_bursts(struct traffic *t) {
        unsigned n = whole(t, 8, 40);
        double centre[40], weight[40], width = real(t, 0.0005, 0.008), all = 0;

        for (unsigned k = 0; k < n; k++) {
                centre[k] = real(t, width, 1 - width);
                all += weight[k] = scale(t, 1, 8);
        }
        for (unsigned i = 0; i < t->n_requests; i++) {
                double at = part(t) * all;
                unsigned k = 0;

                while (k + 1 < n && at > weight[k])
                        at -= weight[k++];
                t->at[i] = centre[k] + real(t, -width, width);
        }
}

static void come_by_day(struct traffic *t) {
        double n_days = real(t, 2.5, 9), light = real(t, 0.2, 0.6), phase = part(t);

        for (unsigned i = 0; i < t->n_requests; i++) {
                double at;

                do
                        at = part(t);
                while (fmod(at * n_days + phase, 1) > light);
                t->at[i] = at;
        }
}

static void come_more_and_more(struct traffic *t) {
        double slope = scale(t, 1, 8);
        bool is_falling = pct(t, 50);

        for (unsigned i = 0; i < t->n_requests; i++) {
                double at;

                do
                        at = part(t);
                while (part(t) * (1 + slope) > 1 + slope * (is_falling ? 1 - at : at));
                t->at[i] = at;
        }
}

/* All of the time but the holes, in turn. */
static double past_holes(const struct traffic *t, double at) {
        double rest = 1;

        for (unsigned i = 0; i < t->n_holes; i++)
                rest -= t->holes[i].end - t->holes[i].begin;
        at *= rest;
        for (unsigned i = 0; i < t->n_holes; i++)
                if (at >= t->holes[i].begin)
                        at += t->holes[i].end - t->holes[i].begin;
        return at;
}

/* Of what runs by itself, which only a stop of the program holds up. */
static double past_holes_of(const struct traffic *t, double at) {
        return t->rhythm == TRAFFIC_STOPS ? past_holes(t, at) : at;
}

static double build_at(const struct traffic *t, unsigned i) {
        return past_holes_of(t, 0.002 + t->build_end * i / t->n_build);
}

static void draw_holes(struct traffic *t, unsigned n) {
        double from = real(t, 0.02, 0.3);

        t->n_holes = 0;
        for (unsigned i = 0; i < n && from < 0.9; i++) {
                double to = fmin(from + real(t, 0.05, n == 1 ? 0.6 : 0.25), 0.97);

                t->holes[i].begin = from;
                t->holes[i].end = to;
                t->n_holes = i + 1;
                from = to + real(t, 0.03, 0.2);
        }
}

static void draw_requests(struct traffic *t) {
        t->rhythm = (enum traffic_rhythm)whole(t, 0, TRAFFIC_N_RHYTHMS - 1);
        t->n_requests = (unsigned)scale(t, 200, TRAFFIC_MAX_REQUESTS);
        t->begin = pct(t, 25) ? real(t, 0.05, 0.6) : 0.01;
        t->end = pct(t, 25) ? real(t, 0.7, 0.95) : 0.999;
        t->n_holes = 0;
        for (unsigned i = 0; i < t->n_requests; i++)
                t->at[i] = t->rhythm == TRAFFIC_CHANCE
                                   ? part(t)
                                   : ((double)i + part(t)) / (double)t->n_requests;
        if (t->rhythm == TRAFFIC_HEAVY)
                come_with_heavy_tails(t);
        else if (t->rhythm == TRAFFIC_BURSTS)
                come_in_bursts(t);
        else if (t->rhythm == TRAFFIC_DAYS)
                come_by_day(t);
        else if (t->rhythm == TRAFFIC_RAMP)
                come_more_and_more(t);
        for (unsigned i = 0; i < t->n_requests; i++)
                t->at[i] = t->begin + (t->end - t->begin) * t->at[i];
        if (t->rhythm == TRAFFIC_STALL || t->rhythm == TRAFFIC_STOPS) {
                draw_holes(t, t->rhythm == TRAFFIC_STALL ? 1 : whole(t, 1, TRAFFIC_MAX_HOLES));
                for (unsigned i = 0; i < t->n_requests; i++)
                        t->at[i] = past_holes(t, t->at[i]);
        }
        qsort(t->at, t->n_requests, sizeof(t->at[0]), by_value);
}

/* ---- what else there is ---------------------------------------------------------------------- */

static void draw_rest(struct traffic *t) {
        double often = t->is_leaky ? 20 : 35;

        t->n_ticks = pct(t, 50) ? whole(t, 50, 800) : 0;
        t->n_scratch = pct(t, 20) ? 0 : whole(t, 1, 8);
        t->n_start = whole(t, 5, 200);
        t->has_table = pct(t, often);
        t->has_cache = pct(t, often);
        t->has_set = pct(t, often);
        t->has_sessions = pct(t, often);
        t->has_queue = pct(t, often);
        t->has_batch = pct(t, often);
        t->has_doubling = pct(t, often);
        t->has_build = pct(t, often);
        t->has_stages = pct(t, often);
        t->is_torn_down = pct(t, 25);
        t->n_cache = (unsigned)scale(t, 10, t->n_requests * 0.5);
        t->n_set = (unsigned)scale(t, 10, t->n_requests / 7.0);
        t->session_life = scale(t, 0.002, 0.05);
        t->n_flushes = whole(t, 4, 20);
        t->n_build = whole(t, 50, 1500);
        t->n_build_scratch = whole(t, 0, 3);
        t->build_end = real(t, 0.01, 0.5);
        t->n_stages = whole(t, 2, 4);
        for (unsigned i = 0; i < t->n_stages; i++)
                t->stage_at[i] = real(t, 0.02, 0.95);
        t->n_each = pct(t, 60) ? 1 : whole(t, 2, 4);
        t->p_lost = !t->is_leaky ? 0 : pct(t, 40) ? 1 : real(t, 0.1, 1);
        t->sizes = (enum traffic_size)whole(t, 0, TRAFFIC_N_SIZES - 1);
        t->size_bytes = (unsigned)scale(t, 24, 4000);
        t->size_factor = 1;
        t->n_lost = 0;
        for (unsigned i = 0; i < t->n_requests * t->n_each; i++)
                t->n_lost += t->is_lost[i] = part(t) < t->p_lost;
}

/* ---- evidence -------------------------------------------------------------------------------- */

enum { CELLS = 64, N_SLICES = 250 };

struct evidence {
        double late;               /* part that comes in the last 40 % of the time */
        double span;               /* from the first 5 % of it to the last, of the time */
        double late_pace;          /* the most in a cell of the last 40 %, of the most in any */
        unsigned n_runs, n_filled; /* cells between these */
        unsigned n_between;
};

/* Of moments from 0 to 1, rising. */
static struct evidence evidence_of(const double *at, unsigned n) {
        unsigned cells[CELLS] = {0}, most = 1, most_late = 0, n_late = 0;
        double low = at[n / 20], high = at[n - 1 - n / 20];
        struct evidence e = {.span = high - low};

        for (unsigned i = 0; i < n; i++) {
                cells[(unsigned)(at[i] * (CELLS - 0.001))]++;
                n_late += at[i] > 0.6;
        }
        for (unsigned k = 0; k < CELLS; k++) {
                double begin = (double)k / CELLS, end = (double)(k + 1) / CELLS;

                most = cells[k] > most ? cells[k] : most;
                if (begin > 0.6)
                        most_late = cells[k] > most_late ? cells[k] : most_late;
                if (end < low || begin > high)
                        continue;
                e.n_between++;
                e.n_filled += cells[k] > 0;
                e.n_runs += cells[k] > 0 && (k == 0 || cells[k - 1] == 0);
        }
        e.late = (double)n_late / n;
        e.late_pace = (double)most_late / most;
        return e;
}

/* What is lost, is lost again and again, for a good part of the time and till late in it; and requests can be told by what else
 * they allocate, or, in a recording that is not short, those that come late are as many at once as those before. */
static bool can_be_told(const struct traffic *t) {
        double at[TRAFFIC_MAX_REQUESTS * 4];
        struct evidence e;
        unsigned n = 0;

        for (unsigned i = 0; i < t->n_requests * t->n_each; i++)
                if (t->is_lost[i])
                        at[n++] = t->at[i / t->n_each];
        if (n < 60)
                return false;
        e = evidence_of(at, n);
        return e.late >= 0.08 && e.span >= 0.35 && (e.n_runs >= 8 || e.n_filled >= 19) &&
               (t->n_scratch > 0 || (e.late_pace >= 0.35 && t->span_s >= BUILD_S));
}

static unsigned n_requests_behind(const struct traffic *t, double at) {
        unsigned n = 0;

        for (unsigned i = 0; i < t->n_requests; i++)
                n += t->at[i] > at;
        return n;
}

/* What fills up, or is built, is done when half of the time is left; or when a third of the requests is, and these can be told by
 * what else they allocate. */
static bool is_done_early(const struct traffic *t) {
        double built = build_at(t, t->n_build);

        return (!t->has_set || t->n_scratch > 0 ||
                t->n_requests - n_requests_behind(t, 0.5) > 5 * t->n_set) &&
               (!t->has_build || built <= 0.5 ||
                (t->n_scratch * t->n_requests > 3 * t->n_build &&
                 n_requests_behind(t, built) > t->n_requests / 3));
}

void traffic_draw(struct traffic *t, uint64_t seed, bool is_leaky) {
        *t = (struct traffic){.seed = seed,
                              .random = seed * 0x9e3779b97f4a7c15ull + 0x1234567,
                              .is_leaky = is_leaky};
        for (unsigned i = 0; i < 8; i++)
                next(t);
        for (;; t->n_redrawn++) {
                t->span_s = scale(t, 2, 3 * 86400);
                draw_requests(t);
                draw_rest(t);
                if (is_leaky && t->span_s < BUILD_S)
                        t->has_build = t->has_stages = false;
                if ((!is_leaky || can_be_told(t)) && is_done_early(t))
                        return;
        }
}

/* ---- writing --------------------------------------------------------------------------------- */

struct later {
        double at;
        uint64_t seq;
        unsigned size_bytes;
};

struct writer {
        struct traffic *t;
        struct fabric *f;
        uint32_t thread, load, refresh, start, handle, culprit, scratch, cache, set, session, queue,
                batch, doubling, build, build_scratch, stage, tick;
        double now;
        VEC(struct later) heap; /* the soonest first */
        VEC(uint64_t) table, cached, batched, built;
        bool *is_known; /* of the set */
        uint64_t double_seq;
        unsigned n_doubled, n_cached_next;
        double rest_bytes;
};

static void go_to(struct writer *w, double at) {
        double us = (at - w->now) * w->t->span_s * 1e6;

        if (us >= 1) {
                fabric_wait(w->f, (uint64_t)us);
                w->now = at;
        }
}

static uint64_t take(struct writer *w, uint32_t stack, unsigned size_bytes) {
        return fabric_alloc(w->f, 0, w->thread, stack, size_bytes);
}

static uint64_t take_rest(struct writer *w, uint32_t stack, unsigned size_bytes) {
        w->rest_bytes += size_bytes;
        w->t->rest_peak_bytes = fmax(w->t->rest_peak_bytes, w->rest_bytes);
        return take(w, stack, size_bytes);
}

static void give_back(struct writer *w, uint64_t seq) {
        fabric_free(w->f, 0, w->thread, seq);
}

static void heap_put(struct writer *w, struct later x) {
        size_t i = w->heap.n;

        vec_push(&w->heap, x);
        for (; i && w->heap.items[(i - 1) / 2].at > x.at; i = (i - 1) / 2)
                w->heap.items[i] = w->heap.items[(i - 1) / 2];
        w->heap.items[i] = x;
}

static struct later heap_take(struct writer *w) {
        struct later top = w->heap.items[0], x = w->heap.items[--w->heap.n];
        size_t i = 0;

        for (;;) {
                size_t k = 2 * i + 1;

                if (k + 1 < w->heap.n && w->heap.items[k + 1].at < w->heap.items[k].at)
                        k++;
                if (k >= w->heap.n || w->heap.items[k].at >= x.at)
                        break;
                w->heap.items[i] = w->heap.items[k];
                i = k;
        }
        if (w->heap.n)
                w->heap.items[i] = x;
        return top;
}

/* In a stopped program nothing happens. */
static double when_it_runs(const struct traffic *t, double at) {
        for (unsigned i = 0; t->rhythm == TRAFFIC_STOPS && i < t->n_holes; i++)
                if (at >= t->holes[i].begin && at < t->holes[i].end)
                        return t->holes[i].end;
        return at;
}

static void release_until(struct writer *w, double at) {
        while (w->heap.n && w->heap.items[0].at <= at) {
                struct later x = heap_take(w);

                go_to(w, fmax(x.at, w->now));
                w->rest_bytes -= x.size_bytes;
                give_back(w, x.seq);
        }
}

static unsigned drawn_size(struct traffic *t) {
        switch (t->sizes) {
        case TRAFFIC_SIZES: return whole(t, 16, 2 * t->size_bytes);
        case TRAFFIC_ANY_SIZE:
                return (unsigned)fmin(16 + 16 * pow(1 - part(t), -1 / 1.3),
                                      t->span_s < TRAFFIC_SHORT_S ? 2048 : 65536);
        default: return t->size_bytes;
        }
}

static unsigned size_of(struct writer *w) {
        return (unsigned)(drawn_size(w->t) * w->t->size_factor);
}

static void take_for_culprit(struct writer *w, unsigned request) {
        struct traffic *t = w->t;

        for (unsigned k = 0; k < t->n_each && t->is_leaky; k++) {
                unsigned size = size_of(w);
                uint64_t seq = take(w, w->culprit, size);

                if (t->is_lost[request * t->n_each + k])
                        t->lost_bytes += size;
                else if (pct(t, 50))
                        give_back(w, seq);
                else
                        heap_put(w, (struct later){when_it_runs(t, w->now + real(t, 0, 0.02)), seq,
                                                   0});
        }
}

static void use_cache(struct writer *w) {
        unsigned size = whole(w->t, 100, 1500);

        if (w->cached.n < w->t->n_cache) {
                vec_push(&w->cached, take_rest(w, w->cache, size));
                return;
        }
        w->n_cached_next = whole(w->t, 0, w->t->n_cache - 1);
        give_back(w, w->cached.items[w->n_cached_next]);
        w->cached.items[w->n_cached_next] = take(w, w->cache, size);
}

static void use_set(struct writer *w) {
        unsigned at = whole(w->t, 0, w->t->n_set - 1);

        if (!w->is_known[at])
                vec_push(&w->built, take_rest(w, w->set, whole(w->t, 40, 400)));
        w->is_known[at] = true;
}

static void use_doubling(struct writer *w, unsigned request) {
        if (w->n_doubled && request < 8u << w->n_doubled)
                return;
        uint64_t seq = take_rest(w, w->doubling, 64u << ++w->n_doubled);

        if (w->double_seq) {
                give_back(w, w->double_seq);
                w->rest_bytes -= 32u << w->n_doubled;
        }
        w->double_seq = seq;
}

static void use_batch(struct writer *w, unsigned request) {
        vec_push(&w->batched, take_rest(w, w->batch, 200));
        if (request % (w->t->n_requests / w->t->n_flushes) != 0)
                return;
        w->rest_bytes -= 200.0 * (double)w->batched.n;
        while (w->batched.n)
                give_back(w, w->batched.items[--w->batched.n]);
}

static void stay(struct writer *w, uint32_t stack, double life) {
        struct traffic *t = w->t;
        unsigned size = whole(t, 50, 1500);
        uint64_t seq = take_rest(w, stack, size);

        heap_put(w, (struct later){when_it_runs(t, w->now + life), seq, size});
}

static void handle(struct writer *w, unsigned request) {
        struct traffic *t = w->t;
        uint64_t scratch[8];

        for (unsigned i = 0; i < t->n_scratch; i++)
                scratch[i] = take(w, w->scratch, whole(t, 30, 300));
        take_for_culprit(w, request);
        if (t->has_table) {
                unsigned at = whole(t, 0, (unsigned)w->table.n - 1);
                uint64_t fresh = take(w, w->refresh, whole(t, 100, 600));

                give_back(w, w->table.items[at]);
                w->table.items[at] = fresh;
        }
        if (t->has_cache)
                use_cache(w);
        if (t->has_set)
                use_set(w);
        if (t->has_sessions)
                stay(w, w->session, fmin(-log(1 - part(t)) * t->session_life, 0.15));
        if (t->has_queue) /* emptied every now and then */
                stay(w, w->queue, (floor(w->now * 23) + 1) / 23 - w->now);
        if (t->has_batch)
                use_batch(w, request);
        if (t->has_doubling)
                use_doubling(w, request);
        for (unsigned i = 0; i < t->n_scratch; i++)
                give_back(w, scratch[i]);
}

static void build(struct writer *w, uint32_t stack) {
        uint64_t scratch[3];

        for (unsigned i = 0; i < w->t->n_build_scratch; i++)
                scratch[i] = take(w, w->build_scratch, whole(w->t, 30, 300));
        vec_push(&w->built, take_rest(w, stack, whole(w->t, 20, 300)));
        for (unsigned i = 0; i < w->t->n_build_scratch; i++)
                give_back(w, scratch[i]);
}

/* What happens by itself, in the order of time. */
enum { ON_REQUEST, ON_TICK, ON_BUILD, ON_STAGE };

struct happening {
        double at;
        unsigned kind, i;
};

static int by_time(const void *a, const void *b) {
        const struct happening *x = a, *y = b;

        return x->at != y->at ? (x->at > y->at) - (x->at < y->at) : (x->i > y->i) - (x->i < y->i);
}

static void happen(struct writer *w, const struct happening *h) {
        struct traffic *t = w->t;

        release_until(w, h->at);
        go_to(w, fmax(h->at, w->now));
        switch (h->kind) {
        case ON_REQUEST: handle(w, h->i); break;
        case ON_TICK: give_back(w, take(w, w->tick, whole(t, 20, 200))); break;
        case ON_BUILD: build(w, w->build); break;
        case ON_STAGE: build(w, w->stage); break;
        default: break;
        }
}

static void frames(struct writer *w) {
        struct fabric *f = w->f;
        uint32_t start = fabric_frame(f, 0, EXE, "_start", "", 1);
        uint32_t main = fabric_frame(f, start, EXE, "main", "main.c", 10);
        uint32_t serve = fabric_frame(f, main, EXE, "serve", "serve.c", 20);

        w->thread = fabric_thread(f, 0, "service");
        w->start = fabric_frame(f, main, EXE, "set_up", "main.c", 30);
        w->load = fabric_frame(f, main, EXE, "load_table", "table.c", 40);
        w->build = fabric_frame(f, main, EXE, "build_index", "index.c", 50);
        w->build_scratch = fabric_frame(f, main, EXE, "read_line", "index.c", 55);
        w->stage = fabric_frame(f, main, EXE, "load_plugin", "plugin.c", 60);
        w->tick = fabric_frame(f, main, EXE, "on_timer", "timer.c", 70);
        w->handle = fabric_frame(f, serve, EXE, TRAFFIC_CALLER, "serve.c", 80);
        w->culprit = fabric_frame(f, w->handle, EXE, TRAFFIC_CULPRIT, "serve.c", 90);
        w->scratch = fabric_frame(f, w->handle, EXE, "parse_request", "parse.c", 100);
        w->refresh = fabric_frame(f, w->handle, EXE, "refresh_entry", "table.c", 110);
        w->cache = fabric_frame(f, w->handle, EXE, "cache_insert", "cache.c", 120);
        w->set = fabric_frame(f, w->handle, EXE, "intern_name", "name.c", 130);
        w->session = fabric_frame(f, w->handle, EXE, "open_session", "session.c", 140);
        w->queue = fabric_frame(f, w->handle, EXE, "enqueue_job", "queue.c", 150);
        w->batch = fabric_frame(f, w->handle, EXE, "collect_row", "batch.c", 160);
        w->doubling = fabric_frame(f, w->handle, EXE, "grow_table", "hash.c", 170);
}

static struct happening *all_happenings(struct traffic *t, size_t *ret_n) {
        VEC(struct happening) all = {0};

        for (unsigned i = 0; i < t->n_requests; i++)
                vec_push(&all, (struct happening){t->at[i], ON_REQUEST, i});
        for (unsigned i = 0; i < t->n_ticks; i++)
                vec_push(&all, (struct happening){past_holes_of(t, ((double)i + 0.5) / t->n_ticks),
                                                  ON_TICK, i});
        for (unsigned i = 0; i < t->n_build && t->has_build; i++)
                vec_push(&all, (struct happening){build_at(t, i), ON_BUILD, i});
        for (unsigned i = 0; i < t->n_stages * 100 && t->has_stages; i++)
                vec_push(&all, (struct happening){when_it_runs(t, t->stage_at[i / 100] +
                                                                          i % 100 * 0.0002),
                                                  ON_STAGE, i});
        qsort(all.items, all.n, sizeof(all.items[0]), by_time);
        *ret_n = all.n;
        return all.items;
}

static void tear_down(struct writer *w) {
        while (w->table.n)
                give_back(w, w->table.items[--w->table.n]);
        while (w->cached.n)
                give_back(w, w->cached.items[--w->cached.n]);
        while (w->batched.n)
                give_back(w, w->batched.items[--w->batched.n]);
        while (w->built.n)
                give_back(w, w->built.items[--w->built.n]);
        while (w->heap.n)
                give_back(w, heap_take(w).seq);
        if (w->double_seq)
                give_back(w, w->double_seq);
}

static void write_once(struct traffic *t, const char *path) {
        struct fabric_options o = {.seed = t->seed + 1,
                                   .max_processes = 1,
                                   .max_threads = 1,
                                   .slice_us = (uint64_t)fmax(250000, t->span_s * 1e6 / N_SLICES)};
        struct writer w = {.t = t, .f = fabric_new(path, &o)};
        struct happening *all;
        size_t n;

        t->lost_bytes = t->rest_peak_bytes = 0;
        frames(&w);
        w.is_known = calloc(t->n_set, sizeof(bool));
        all = all_happenings(t, &n);
        if (!w.is_known || !all)
                abort();
        for (unsigned i = 0; i < t->n_start; i++)
                vec_push(&w.built, take_rest(&w, w.start, whole(t, 50, 2000)));
        for (unsigned i = t->has_table ? whole(t, 20, 200) : 0; i > 0; i--)
                vec_push(&w.table, take_rest(&w, w.load, whole(t, 100, 600)));
        for (size_t i = 0; i < n; i++)
                happen(&w, &all[i]);
        release_until(&w, 1);
        go_to(&w, 1);
        if (t->is_torn_down)
                tear_down(&w);
        fabric_end(w.f);
        free(all);
        free(w.is_known);
        vec_free(&w.heap);
        vec_free(&w.table);
        vec_free(&w.cached);
        vec_free(&w.batched);
        vec_free(&w.built);
}

/* What is lost is worth a sentence: of the most that all else holds at once so much, in a short run more. */
static double least_bytes(const struct traffic *t) {
        return t->rest_peak_bytes * (t->span_s < TRAFFIC_SHORT_S ? 0.6 : 0.25);
}

void traffic_write(struct traffic *t, const char *path) {
        uint64_t random = t->random;

        write_once(t, path);
        if (!t->is_leaky || t->lost_bytes >= least_bytes(t))
                return;
        t->size_factor = 1.1 * least_bytes(t) / t->lost_bytes + 0.1;
        t->random = random;
        write_once(t, path);
}

/* ---- telling --------------------------------------------------------------------------------- */

const char *traffic_rhythm_name(enum traffic_rhythm r) {
        static const char *const names[] = {"even", "chance", "heavy", "bursts",
                                            "days", "stall",  "stops", "ramp"};

        return names[r];
}

const char *traffic_text(const struct traffic *t) {
        static char text[600];
        static const char *const sizes[] = {"one size", "sizes", "any size"};

        snprintf(
                text, sizeof(text),
                "seed %llu%s: %s, %.0f s, %u requests from %.2f to %.2f, %u scratch, %u ticks, %u holes; "
                "lost %u of %u (%.0f bytes, %s) beside %.0f;%s%s%s%s%s%s%s%s%s%s",
                (unsigned long long)t->seed, t->is_leaky ? " leaky" : "",
                traffic_rhythm_name(t->rhythm), t->span_s, t->n_requests, t->begin, t->end,
                t->n_scratch, t->n_ticks, t->n_holes, t->n_lost, t->n_requests * t->n_each,
                t->lost_bytes, sizes[t->sizes], t->rest_peak_bytes, t->has_table ? " table" : "",
                t->has_cache ? " cache" : "", t->has_set ? " set" : "",
                t->has_sessions ? " sessions" : "", t->has_queue ? " queue" : "",
                t->has_batch ? " batch" : "", t->has_doubling ? " doubling" : "",
                t->has_build ? " build" : "", t->has_stages ? " stages" : "",
                t->is_torn_down ? " torn-down" : "");
        return text;
}

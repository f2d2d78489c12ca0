/* SPDX-License-Identifier: MIT */
#include "fleet/push.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/str.h"
#include "fleet/push_mark.h"
#include "fleet/sender.h"
#include "fleet/site_taker.h"
#include "fleet/spool.h"
#include "trace/being_written.h"

enum {
        PUSH_LOOK_MS = 2000, /* whether the recording has ended */
        PUSH_SLICE_MS = 300, /* after which what happened at a moment is in the trace */
        PUSH_NAMES_MS = 500,
        PUSH_NAMES_WAITS = 60,
        PUSH_NAMES_LOOKED_AT = 1000,
        PUSH_BEGIN_MS = 200, /* whether a program has begun */
        PUSH_FULL_MS = 1000, /* whether the disk has room again */
};

struct push {
        const struct push_options *o;
        struct follower *f;
        struct spool *spool;
        struct sender *sender;
        struct site_taker taker;
        struct fleet_run run;
        struct str build, service, host; /* the run's */
        struct push_mark mark;
        struct push_told told;
        unsigned n_waits; /* for names */
        bool has_said_damage, has_said_full;
};

/* One folder for each server. */
static int add_spool(const struct server_url *url, struct str *to, struct err *reterr) {
        const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

        if (state && state[0] == '/')
                str_add(to, state);
        else if (home && home[0] == '/')
                str_addf(to, "%s/.local/state", home);
        else
                return err_set(reterr, -ENOENT,
                               "there is no place for the spool: give one with --spool");
        str_add(to, "/silt/push/");
        /* a folder's name for the address: what is no letter or digit is an underscore */
        for (const char *p = url->address; *p; p++)
                str_addn(to, strchr("/:?&=[]%@", *p) ? "_" : p, 1);
        if (url->kind == SERVER_CLICKHOUSE)
                for (const char *p = url->database; *p; p++)
                        str_addn(to, strchr("/:?&=[]%@.", *p) ? "_" : p, 1);
        return 0;
}

/* ---- snapshots ----------------------------------------------------------------------------------- */

static bool is_stopped(const struct push *p, uint64_t wait_ms) {
        struct pollfd fd = {.fd = p->o->stop_fd, .events = POLLIN};

        return poll(&fd, 1, (int)MIN(wait_ms, (uint64_t)INT_MAX)) > 0;
}

static void say_damage(struct push *p) {
        struct query *q = follower_query(p->f);
        uint64_t n_unwritten = query_view(q)->n_unwritten_events;
        struct str line = {0};

        if (!site_taker_is_damaged(q) || p->has_said_damage || !p->o->say)
                return;
        p->has_said_damage = true;
        str_addf(&line, "'%s' is incomplete, and its snapshots are marked as damaged: ",
                 p->o->follow.path);
        if (query_damage(q)[0])
                str_add(&line, query_damage(q));
        else
                str_addf(&line, "its recorder could not write %llu events",
                         (unsigned long long)n_unwritten);
        p->o->say(p->o->ctx, str_text(&line));
        str_done(&line);
}

/* A disk without room costs time: the trace keeps what happens meanwhile. */
static int keep(struct push *p, struct fleet_batch *b, struct err *reterr) {
        struct err why = {0};
        int r;

        while ((r = spool_add(p->spool, b, &why)) == -ENOSPC || r == -EDQUOT) {
                struct str line = {0};

                str_addf(&line, "%s: it waits until there is room", why.text);
                if (!p->has_said_full && p->o->say)
                        p->o->say(p->o->ctx, str_text(&line));
                p->has_said_full = true;
                str_done(&line);
                if (is_stopped(p, PUSH_FULL_MS))
                        break;
        }
        if (r < 0)
                return err_set(reterr, r, "%s", why.text);
        p->has_said_full = false;
        return 0;
}

static int take(struct push *p, uint64_t at_ms, bool is_last, struct err *reterr) {
        _cleanup_(fleet_batch_freep) struct fleet_batch *b = NULL;
        uint64_t n_before = spool_state(p->spool).n_dropped, n_dropped;
        int r;

        /* a program that did nothing yet has not shown its file */
        if (!p->build.n) {
                site_taker_build(follower_query(p->f), &p->build);
                p->run.build = str_text(&p->build);
        }
        b = fleet_batch_new(&p->run);
        r = site_taker_take(&p->taker, follower_query(p->f), at_ms, is_last, b, reterr);

        if (r >= 0)
                r = keep(p, b, reterr);
        if (r < 0)
                return r;
        p->told.n_taken++;
        p->mark.last_ms = at_ms;
        p->mark.is_done = is_last;
        push_mark_save(&p->mark, spool_path(p->spool), &p->run.id);
        sender_wake(p->sender);
        say_damage(p);
        n_dropped = spool_state(p->spool).n_dropped;
        if (n_dropped && !n_before && p->o->say)
                p->o->say(
                        p->o->ctx,
                        "the spool is full: the oldest batches make room, and the server will be told");
        return 0;
}

static uint64_t every_ms(const struct push *p) {
        return p->o->every_ns / 1000000;
}

static uint64_t next_ms(const struct push *p) {
        return (p->taker.last_ms / every_ms(p) + 1) * every_ms(p);
}

/* A recording that has only just started has nothing to read yet. */
static int open_follower(struct push *p, struct err *reterr) {
        int r;

        while ((r = follower_open(&p->o->follow, &p->f, reterr)) < 0)
                if (!trace_is_being_written(p->o->follow.path) || is_stopped(p, PUSH_BEGIN_MS))
                        return r;
        return r;
}

static bool has_names(const struct push *p) {
        struct query *q = follower_query(p->f);
        size_t n = MIN(query_view(q)->n_locations, (size_t)PUSH_NAMES_LOOKED_AT);
        struct query_frame frame;

        for (size_t i = 0; i < n; i++)
                if (query_location_frames(q, (uint32_t)i, &frame, 1) > 0 && frame.function[0])
                        return true;
        return n == 0;
}

/* A recording that ends has no names until its recorder has looked them up, and call paths without names are others. Programs that have
 * none at all are waited for once. 1: it was stopped. */
static int wait_for_names(struct push *p, struct err *reterr) {
        int r = 0;

        for (; r == 0 && p->n_waits < PUSH_NAMES_WAITS && !has_names(p); p->n_waits++) {
                if (is_stopped(p, PUSH_NAMES_MS))
                        return 1;
                p->f = follower_free(p->f);
                r = open_follower(p, reterr);
        }
        return r < 0 ? r : 0;
}

/* All that are due; 1: it was stopped. */
static int take_due(struct push *p, struct err *reterr) {
        uint64_t end_ms = query_view(follower_query(p->f))->end_ns / 1000000;
        int r = 0;

        if (next_ms(p) < end_ms)
                r = follower_look_up_names(p->f, reterr);
        if (r >= 0 && next_ms(p) < end_ms)
                r = wait_for_names(p, reterr);
        if (r != 0)
                return r;
        while (r >= 0 && next_ms(p) < end_ms) {
                if (is_stopped(p, 0))
                        return 1;
                r = take(p, next_ms(p), false, reterr);
        }
        return r;
}

/* What a cut trace ends with is a moment like others: there may be more of it elsewhere, and it goes on from there. */
static int take_cut(struct push *p, struct err *reterr) {
        uint64_t end_ms = query_view(follower_query(p->f))->end_ns / 1000000;

        if (p->o->say && !site_taker_is_damaged(follower_query(p->f)))
                p->o->say(p->o->ctx,
                          "the recording has no end: its recorder was killed, or the file is cut");
        if (end_ms <= p->taker.last_ms) {
                p->told.was_done = p->told.n_taken == 0;
                say_damage(p);
                return 0;
        }
        return take(p, end_ms, false, reterr);
}

static int take_last(struct push *p, struct err *reterr) {
        int r = wait_for_names(p, reterr);
        uint64_t end_ms;

        if (r < 0)
                return r;
        if (follower_now(p->f)->is_over && !query_view(follower_query(p->f))->finished)
                return take_cut(p, reterr);
        end_ms = (query_view(follower_query(p->f))->end_ns + 999999) / 1000000;
        return take(p, MAX(end_ms, p->taker.last_ms + 1), true, reterr);
}

static int follow(struct push *p, struct err *reterr) {
        int r;

        for (;;) {
                const struct follower_now *now;
                uint64_t due_ms, end_ms;

                r = take_due(p, reterr);
                if (r != 0)
                        return r;
                now = follower_now(p->f); /* it may be another */
                if (now->is_over)
                        return take_last(p, reterr);
                end_ms = now->time_ns / 1000000;
                due_ms = next_ms(p) > end_ms ? next_ms(p) - end_ms + PUSH_SLICE_MS : PUSH_SLICE_MS;
                if (is_stopped(p, MIN(due_ms, (uint64_t)PUSH_LOOK_MS)))
                        return p->o->ends_with_us ? take_last(p, reterr) : 0;
                r = follower_step(p->f, reterr);
                if (r < 0)
                        return r;
        }
}

/* ---- beginning and end --------------------------------------------------------------------------- */

/* Names of it live as long as the follower has the trace open as it is now: they are copied. */
static void know_run(struct push *p) {
        struct str program = {0};

        site_taker_run(follower_query(p->f), p->o->service, p->o->host, &p->build, &p->run);
        str_add(&program, p->run.program);
        str_add(&p->service, p->run.service);
        str_add(&p->host, p->run.host);
        p->run.program = strdup(str_text(&program));
        if (!p->run.program)
                abort();
        p->run.service = str_text(&p->service);
        p->run.host = str_text(&p->host);
        p->run.build = str_text(&p->build);
        p->run.n_labels = p->o->n_labels;
        memcpy(p->run.labels, p->o->labels, sizeof(p->run.labels));
        str_done(&program);
}

/* Rows have a host's time, and tell of stretches of it. */
static int refuse_timeless(const struct push *p, struct err *reterr) {
        const struct trace_meta *m = &query_view(follower_query(p->f))->meta;
        const char *lacks = m->flags & TRACE_IS_TOTALS
                                    ? "has sums of another tool's, and no course of time"
                            : m->started_unix_ns ? NULL
                                                 : "does not say when it was recorded";

        return lacks ? err_set(reterr, -ENOTSUP,
                               "'%s' %s, which the server's tables need: push a recording of silt's own",
                               p->o->follow.path, lacks)
                     : 0;
}

static int begin(struct push *p, const char *spool, struct err *reterr) {
        struct sender_options o = {.url = &p->o->url,
                                   .ca_file = p->o->ca_file,
                                   .say = p->o->say,
                                   .ctx = p->o->ctx};
        int r = spool_open(spool, p->o->spool_bytes, &p->spool, reterr);

        if (r >= 0)
                r = open_follower(p, reterr);
        if (r >= 0)
                r = refuse_timeless(p, reterr);
        if (r < 0)
                return r;
        know_run(p);
        if (!p->o->is_again)
                push_mark_load(&p->mark, spool, &p->run.id);
        r = site_taker_init(&p->taker, follower_query(p->f), &p->o->follow.rules,
                            (size_t)p->o->max_paths, p->mark.last_ms, reterr);
        o.spool = p->spool;
        return r < 0 ? r : sender_start(&o, &p->sender, reterr);
}

static void end(struct push *p) {
        struct spool_state left;

        if (p->sender) {
                struct sender_state state = sender_end(p->sender, p->o->flush_ns);

                p->told.n_batches = state.n_sent;
                left = spool_state(p->spool);
                p->told.n_left = left.n_files;
                p->told.n_dropped = left.n_dropped;
                p->told.n_damaged = left.n_damaged;
                p->told.n_refused = left.n_refused;
                if (left.n_files)
                        snprintf(p->told.why, sizeof(p->told.why), "%s",
                                 state.why[0] ? state.why : "there was no time to send them");
        }
        site_taker_done(&p->taker);
        follower_free(p->f);
        spool_close(p->spool);
        free((char *)p->run.program);
        str_done(&p->build);
        str_done(&p->service);
        str_done(&p->host);
}

int push_run(const struct push_options *o, struct push_told *ret, struct err *reterr) {
        struct push p = {.o = o};
        struct str spool = {0};
        int r = 0;

        if (o->spool)
                str_add(&spool, o->spool);
        else
                r = add_spool(&o->url, &spool, reterr);
        if (r >= 0)
                r = begin(&p, str_text(&spool), reterr);
        if (r >= 0) {
                p.told.was_done = p.mark.is_done;
                r = p.mark.is_done ? 0 : follow(&p, reterr);
        }
        end(&p);
        str_done(&spool);
        if (r >= 0)
                *ret = p.told;
        return r;
}

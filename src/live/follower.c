/* SPDX-License-Identifier: MIT */
#include "live/follower.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/system_clock.h"
#include "live/background_names.h"
#include "show/opened.h"
#include "trace/being_written.h"

enum {
        /* Functions of new call paths are looked up again after so many times what it took, for it looks all of them up; or after
         * so long, or half the time that it was followed */
        NAMING_SHARE = 30,
        SHORTEST_NAMING_MS = 500,
        WHOLE_SLOW_NS =
                10000000, /* what reads single blocks and takes longer is done less often, */
        WHOLE_SHARE = 50, /* one part in so many of the time */
};

struct follower {
        struct follower_options o;
        struct opened trace;
        char who[256]; /* o.process */
        uint32_t process;
        struct follower_now now;
        uint64_t opened_ns;
        uint64_t moved_ns;              /* when there was something new */
        uint64_t naming_ns, named_ns;   /* not sooner than so long; after the last one */
        size_t n_named;                 /* locations when it was */
        bool is_settled;                /* it was opened when nobody wrote it any more */
        struct background_names *later; /* at work; NULL: not */
        bool later_is_last;             /* nobody wrote it any more */
        bool is_slow;                   /* what reads single blocks is done less often */
        bool is_ending;                 /* nobody wrote it any more when this step began */
        uint64_t whole_due_ns;
};

/* ---- reading ------------------------------------------------------------------------------------- */

/* Names are known of what is there now, which took so long. In the beginning much is new, and names are worth more than they take. */
static void note_names(struct follower *f, uint64_t took_ns) {
        uint64_t age_ns;

        f->n_named = query_view(f->trace.q)->n_locations;
        f->named_ns = clock_now_ns();
        age_ns = f->named_ns - f->opened_ns;
        f->naming_ns =
                MIN(took_ns * NAMING_SHARE, MAX(age_ns / 2, SHORTEST_NAMING_MS * 1000000ull));
}

static int open_trace(struct follower *f, bool with_names, struct err *reterr) {
        uint64_t begin = clock_now_ns();
        int r = with_names ? opened_init(&f->trace, f->o.path, &f->o.rules, reterr)
                           : opened_init_unnamed(&f->trace, f->o.path, &f->o.rules, reterr);

        opened_end_progress(&f->trace);
        if (r >= 0)
                r = query_choose_process(f->trace.q, f->who, &f->process, reterr);
        if (r < 0) {
                opened_done(&f->trace);
                return r;
        }
        note_names(f, clock_now_ns() - begin);
        return 0;
}

static bool wants_names(const struct follower *f, bool is_over) {
        if (is_over)
                return !f->is_settled; /* the last code is there, and maybe names in the file */
        return query_view(f->trace.q)->n_locations != f->n_named &&
               clock_now_ns() - f->named_ns >= f->naming_ns;
}

/* Names of a trace that is being written are looked up when it is opened. Where code came since, it is opened again. */
static int open_again(struct follower *f, struct err *reterr) {
        struct opened old = f->trace;
        int r;

        f->trace = (struct opened){0};
        r = open_trace(f, true, reterr);
        if (r < 0) {
                f->trace = old;
                return r;
        }
        opened_done(&old);
        return 0;
}

static void start_later(struct follower *f, bool is_over) {
        f->later = background_names_start(f->o.path, &f->o.rules);
        f->later_is_last = is_over;
}

/* 1: the trace is another, with more names. */
static int take_later(struct follower *f, struct err *reterr) {
        struct opened named;
        uint64_t took_ns;
        int r = background_names_take(f->later, &named, &took_ns, reterr);

        if (r == 0)
                return 0;
        f->later = NULL;
        if (r > 0) {
                opened_done(&f->trace);
                f->trace = named;
        }
        note_names(f, took_ns); /* where it failed too: it is tried again as seldom */
        f->is_settled = f->later_is_last;
        if (r < 0)
                return 0; /* what can be read is read without */
        r = query_refresh(f->trace.q, reterr);
        if (r >= 0)
                r = query_choose_process(f->trace.q, f->who, &f->process, reterr);
        return r < 0 ? r : 1;
}

static int look_up_names(struct follower *f, bool is_over, struct err *reterr) {
        int r;

        if (f->later)
                return take_later(f, reterr);
        if (!wants_names(f, is_over))
                return 0;
        if (f->o.names_later) {
                start_later(f, is_over);
                return 0;
        }
        r = open_again(f, reterr);
        if (r < 0)
                return r;
        f->is_settled = is_over;
        return 1;
}

int follower_look_up_names(struct follower *f, struct err *reterr) {
        return query_view(f->trace.q)->n_locations == f->n_named ? 0 : open_again(f, reterr);
}

struct query_scope follower_window(const struct follower *f) {
        uint64_t from = f->now.time_ns > f->o.window_ns ? f->now.time_ns - f->o.window_ns : 0;

        return (struct query_scope){.process = f->process,
                                    .from_ns = from ? query_edge_near(f->trace.q, from) : 0,
                                    .to_ns = UINT64_MAX,
                                    .is_quick = f->is_slow && !f->is_ending};
}

/* The peak of samples and their errors are of single blocks, of all the time: what that costs grows with the trace. It is asked
 * for as often as it takes little of the time, and once more at the end. */
static int ask_whole(struct follower *f, struct query_answer **ret, struct err *reterr) {
        struct query_scope whole = {.process = f->process, .to_ns = UINT64_MAX};
        uint64_t begin = clock_now_ns(), took;
        int r;

        whole.is_quick = f->is_slow && begin < f->whole_due_ns && !f->is_ending;
        r = query_ask(f->trace.q, &whole, ret, reterr);
        if (r < 0 || whole.is_quick)
                return r;
        took = clock_now_ns() - begin;
        f->is_slow |= took > WHOLE_SLOW_NS && query_sample_bytes(f->trace.q);
        f->whole_due_ns = begin + took * WHOLE_SHARE;
        f->now.peak_bytes = (*ret)->totals.peak_bytes;
        f->now.peak_ns = (*ret)->totals.peak_ns;
        return 0;
}

static int take_figures(struct follower *f, struct err *reterr) {
        struct query_scope window;
        struct query_answer *all = NULL, *last = NULL;
        struct query_column column;
        struct follower_now *now = &f->now;
        int r;

        now->time_ns = query_view(f->trace.q)->end_ns;
        r = ask_whole(f, &all, reterr);
        if (r < 0)
                return r;
        now->live_bytes = all->totals.end_bytes;
        now->live_blocks = all->totals.end_blocks;
        if (now->live_bytes > now->peak_bytes) {
                now->peak_bytes = now->live_bytes;
                now->peak_ns = now->time_ns;
        }
        now->n_allocs = all->totals.n_allocs;
        now->alloc_bytes = all->totals.alloc_bytes;
        now->n_frees = all->totals.n_frees;
        now->n_failed = all->totals.n_failed;
        now->n_lost = all->totals.n_lost;
        query_answer_free(all);
        window = follower_window(f);
        now->window_ns = now->time_ns - window.from_ns;
        r = query_ask(f->trace.q, &window, &last, reterr);
        if (r < 0)
                return r;
        if (now->window_ns) {
                double s = (double)now->window_ns / 1e9;

                now->allocs_per_s = (double)last->totals.n_allocs / s;
                now->alloc_bytes_per_s = (double)last->totals.alloc_bytes / s;
                now->growth_bytes_per_s =
                        ((double)last->totals.end_bytes - (double)last->totals.begin_bytes) / s;
        }
        query_answer_free(last);
        /* the last moment of it: what was resident then */
        window.from_ns = now->time_ns ? now->time_ns - 1 : 0;
        r = query_timeline(f->trace.q, &window, 1, 0, &column, reterr);
        if (r < 0)
                return r;
        now->has_rss = column.has_rss;
        now->rss_bytes = column.rss_bytes;
        return 0;
}

static void note_silence(struct follower *f, uint64_t before_ns, bool is_over) {
        uint64_t now_ns = clock_now_ns();

        if (is_over || f->now.time_ns != before_ns)
                f->moved_ns = now_ns;
        f->now.silent_ns = now_ns - f->moved_ns;
        f->now.is_over = is_over;
}

int follower_step(struct follower *f, struct err *reterr) {
        bool is_over =
                !trace_is_being_written(f->o.path); /* before reading: its end is not missed */
        uint64_t time_ns = f->now.time_ns;
        int r = query_refresh(f->trace.q, reterr);

        if (r >= 0) {
                int named = look_up_names(f, is_over, reterr);

                r = named ? named : r;
        }
        f->is_ending = is_over;
        if (r > 0 || (is_over && !f->now.is_over && f->is_slow)) {
                int failed = take_figures(f, reterr);

                if (failed < 0)
                        return failed;
                f->now.n_steps++;
        }
        if (r >= 0)
                note_silence(f, time_ns, is_over);
        return r;
}

/* ---- opening ------------------------------------------------------------------------------------- */

/* A profile of CPU time that was imported, say: what it has in the place of bytes is not memory. */
static int refuse_other_units(const struct follower *f, struct err *reterr) {
        return query_view(f->trace.q)->meta.unit == TRACE_UNIT_BYTES
                       ? 0
                       : err_set(reterr, -ENOTSUP,
                                 "'%s' is not a profile of memory: read it with 'silt report'",
                                 f->o.path);
}

int follower_open(const struct follower_options *o, struct follower **ret, struct err *reterr) {
        _cleanup_(follower_freep) struct follower *f = calloc(1, sizeof(*f));
        int r;

        if (!f)
                abort();
        f->o = *o;
        snprintf(f->who, sizeof(f->who), "%s", o->process ? o->process : "all");
        if (!f->o.window_ns)
                f->o.window_ns = FOLLOWER_WINDOW_NS;
        f->opened_ns = f->moved_ns = clock_now_ns();
        f->now.is_over = f->is_settled = !trace_is_being_written(o->path);
        r = open_trace(f, !o->names_later, reterr);
        if (r >= 0)
                r = refuse_other_units(f, reterr);
        if (r >= 0)
                r = take_figures(f, reterr);
        if (r < 0)
                return r;
        if (o->names_later) { /* from the first step on */
                f->n_named = SIZE_MAX;
                f->naming_ns = 0;
                f->is_settled = false;
        }
        f->now.n_steps = 1;
        *ret = TAKE_PTR(f);
        return 0;
}

struct follower *follower_free(struct follower *f) {
        if (!f)
                return NULL;
        background_names_drop(f->later);
        opened_done(&f->trace);
        free(f);
        return NULL;
}

/* ---- asking -------------------------------------------------------------------------------------- */

const struct follower_now *follower_now(const struct follower *f) {
        return &f->now;
}

bool follower_is_naming(const struct follower *f) {
        return f->later;
}

struct query *follower_query(const struct follower *f) {
        return f->trace.q;
}

struct names *follower_names(const struct follower *f) {
        return f->trace.names;
}

int follower_look_at(struct follower *f, const char *process, uint64_t window_ns,
                     struct err *reterr) {
        uint32_t found;
        int r = query_choose_process(f->trace.q, process ? process : "all", &found, reterr);

        if (r < 0)
                return r;
        f->process = found;
        f->whole_due_ns = f->now.peak_bytes = f->now.peak_ns = 0; /* of another */
        snprintf(f->who, sizeof(f->who), "%s", process ? process : "all");
        f->o.window_ns = window_ns ? window_ns : FOLLOWER_WINDOW_NS;
        return take_figures(f, reterr);
}

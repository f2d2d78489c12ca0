/* SPDX-License-Identifier: MIT */
#include "record/recorder_observers.h"

#include <signal.h>

#include "base/macros.h"
#include "pipeline/pipeline.h"
#include "record/admission.h"
#include "record/graph_schedule.h"
#include "record/own_cost.h"
#include "record/recorder_bill.h"
#include "record/recorder_graph.h"
#include "record/recorder_look.h"
#include "record/recorder_sample.h"
#include "record/recorder_snapshots.h"
#include "record/recorder_ticks.h"
#include "record/recorder_worker.h"
#include "trace/writer.h"

#define MS 1000000ull

enum {
        SLICE_NS = 250 * MS,
        FIRST_SLICE_NS = 25 * MS,  /* then an eighth of the age apart: a reader does not wait */
        IDLE_SLICE_NS = 1000 * MS, /* when nothing happens, or a 32nd of the age */
        TERM_GRACE_NS = 3000 * MS, /* after SIGTERM the processes it followed may end first */
        COST_SLACK_NS = 1000 * MS, /* samples wake the recorder at least as often */
};

static volatile sig_atomic_t recorder_got_term;

static void recorder_on_term(int sig) {
        (void)sig;
        recorder_got_term = 1;
}

void recorder_catch_term(void) {
        signal(SIGTERM, recorder_on_term);
}

static uint64_t recorder_end_slice(void *ctx, uint64_t now_ns) {
        struct recorder *r = ctx;
        uint64_t idle_ns = MAX((uint64_t)IDLE_SLICE_NS, now_ns / 32);

        if (now_ns >= r->worker.since_ns + SLICE_NS)
                recorder_judge_worker(r, now_ns);
        pipeline_end_slice(r->pipeline, now_ns,
                           now_ns >= trace_slice_begin_ns(r->writer) + idle_ns);
        admission_end_silence(r);
        return now_ns + MIN((uint64_t)SLICE_NS, MAX((uint64_t)FIRST_SLICE_NS, now_ns / 8));
}

/* A process that is attached to takes its time to come; what was asked for is time of recording. */
static uint64_t recorder_deadline_due(const void *ctx) {
        const struct recorder *r = ctx;
        const struct run_options *o = r->config->options;

        if (!o->duration_ns || r->is_stopped || (o->attached && (!r->images.n_added || r->is_due)))
                return OBSERVER_NEVER;
        return o->duration_ns + (o->attached ? r->images.first_began_ns : 0);
}

/* Of a process that was attached to the supervisor takes the hooks out first: then nothing is lost. */
static uint64_t recorder_meet_deadline(void *ctx, uint64_t now_ns) {
        struct recorder *r = ctx;

        (void)now_ns;
        if (!r->config->options->attached || r->supervisor_is_gone)
                recorder_stop(r);
        else
                recorder_tell(r, CONTROL_DUE);
        r->is_due = true;
        return OBSERVER_NEVER;
}

/* The hooks are out: the end comes when nobody is inside any more, or when that was waited for long enough. */
static uint64_t recorder_leave_due(const void *ctx) {
        const struct recorder *r = ctx;

        if (!r->leave_until_ns || r->is_stopped)
                return OBSERVER_NEVER;
        return recorder_is_awaited(r) ? r->leave_until_ns : OBSERVER_NEXT_ROUND;
}

static uint64_t recorder_leave(void *ctx, uint64_t now_ns) {
        (void)now_ns;
        recorder_stop(ctx);
        return OBSERVER_NEVER;
}

static uint64_t recorder_term_due(const void *ctx) {
        const struct recorder *r = ctx;

        if (!recorder_got_term || r->is_stopped)
                return OBSERVER_NEVER;
        return r->term_deadline_ns ? r->term_deadline_ns : OBSERVER_NEXT_ROUND;
}

/* A service manager ends all of a service at once: the recorder writes what the others do at their end. Nobody but it
 * can end a recording whose supervisor has gone. */
static uint64_t recorder_heed_term(void *ctx, uint64_t now_ns) {
        struct recorder *r = ctx;

        if (!r->supervisor_is_gone)
                recorder_got_term = 0;
        else if (!r->term_deadline_ns)
                r->term_deadline_ns = now_ns + TERM_GRACE_NS;
        else
                recorder_stop(r);
        return OBSERVER_NEVER;
}

static const struct observer recorder_table[OBSERVER_N] = {
        [OBSERVER_SAMPLE] = {.name = "memory of processes", .observe = recorder_sample},
        [OBSERVER_LOOK] = {.name = "pages of large blocks",
                           .observe = recorder_look,
                           .first_ns = OBSERVER_NEVER}, /* a sample wakes it */
        [OBSERVER_COST] = {.name = "silt's own cost",
                           .observe = own_cost_observe,
                           .due = own_cost_due,
                           .slack_ns = COST_SLACK_NS},
        [OBSERVER_BUDGET] = {.name = "budget",
                             .observe = own_cost_keep_budget,
                             .due = own_cost_budget_due,
                             .slack_ns = COST_SLACK_NS},
        [OBSERVER_YOUNG] = {.name = "memory of young processes",
                            .observe = recorder_sample_young,
                            .due = recorder_young_due},
        [OBSERVER_TICKS] = {.name = "CPU samples", .observe = recorder_take_ticks},
        [OBSERVER_SLICE] = {.name = "slice", .observe = recorder_end_slice},
        [OBSERVER_SNAPSHOTS] = {.name = "snapshots",
                                .observe = recorder_keep_snapshots,
                                .due = recorder_snapshots_due},
        [OBSERVER_GRAPH_SCHEDULE] = {.name = "graphs by themselves",
                                     .observe = recorder_schedule_graphs,
                                     .due = recorder_graph_schedule_due},
        [OBSERVER_GRAPHS] = {.name = "graphs",
                             .observe = recorder_keep_graphs,
                             .due = recorder_graphs_due},
        [OBSERVER_BILLS] = {.name = "bills",
                            .observe = recorder_keep_bills,
                            .due = recorder_bills_due},
        [OBSERVER_DEADLINE] = {.name = "duration",
                               .observe = recorder_meet_deadline,
                               .due = recorder_deadline_due},
        [OBSERVER_LEAVE] = {.name = "detach", .observe = recorder_leave, .due = recorder_leave_due},
        [OBSERVER_TERM] = {.name = "SIGTERM",
                           .observe = recorder_heed_term,
                           .due = recorder_term_due},
};

static uint64_t recorder_clock(const void *ctx) {
        return recorder_now_ns(ctx);
}

void recorder_init_observers(struct recorder *r) {
        observers_init(&r->observers, recorder_table, OBSERVER_N, recorder_clock, r);
}

void recorder_log_observers(const struct recorder *r) {
        for (size_t i = 0; i < OBSERVER_N; i++) {
                const struct observer_cost *c = &r->observers.cost[i];

                if (c->n_rounds)
                        recorder_log(
                                r,
                                "%s: %llu rounds, %.1f ms, longest %.1f ms, at most %.1f ms late",
                                recorder_table[i].name, (unsigned long long)c->n_rounds,
                                (double)c->took_ns / 1e6, (double)c->longest_ns / 1e6,
                                (double)c->latest_ns / 1e6);
        }
}

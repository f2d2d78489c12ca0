/* SPDX-License-Identifier: MIT */
#include "tick/ticker.h"

#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/kernel_id.h"
#include "base/system_clock.h"
#include "tick/perf_events.h"
#include "tick/perf_record.h"
#include "tick/switch_limit.h"
#include "tick/tick_look.h"
#include "tick/tick_runs.h"
#include "tick/tick_tasks.h"
#include "tick/tick_waits.h"

/* So that samples do not go in step with the kernel's own clock, or the program's. */
enum { PERIOD_ODD_NS = 1049 };
/* Threads that are too short for samples of their own had so much of the CPU time: then CPUs are sampled. */
enum { WIDE_MIN_NS = 100000000, WIDE_SHARE = 20 };
/* A thread's own records end before it has given back its memory, which may take longer than all it did. */
enum { GOING_NS = 50000000 };
/* So long a wait without a call path is kept for one that is like it. */
enum { BARE_NS = 2000000000 };
/* So many periods, and one for each CPU, may be between what a thread ran and its samples: a clock of each CPU begins anew. */
enum { SLACK_PERIODS = 8 };
/* The kernel's count of its own time comes in steps. */
enum { COUNT_STEP_NS = 20000000 };
/* Records are of so long; a moment that takes longer than the second is none. */
enum { DRAIN_NS = 20000000, MOMENT_NS = 1000000 };
/* Beyond what clocks have yet to sample: more is looked into. */
enum { LATE_PERIODS = 4 };
/* What timers were late for is told in ticks of so many, so that windows cut between them. */
enum { PART_PERIODS = 8 };
/* For each event that is turned off and on again, so that doing so takes a fiftieth of the time. */
#define TURN_NS UINT64_C(100000)
/* Where a sample would have had the kernel's frames, in the module of the kernel: one behind. */
static const uint64_t unsampled_pc = KERNEL_UNSAMPLED_ADDRESS + 1;

struct ticker {
        struct ticker_options options;
        struct ticker_calls calls;
        struct perf_events events;
        struct tick_tasks tasks;
        struct ticker_stats stats;
        struct switch_limit limit;
        uint64_t waits_due_ns; /* of the waits that go on, the next part to be told */
        uint64_t *next_ns;     /* by ring: time of the record that is next; UINT64_MAX: none */
        size_t ring;           /* that the record is of */
        struct perf_record record;
        uint64_t pcs[TICK_MAX_FRAMES];
        uint64_t drained_ns;         /* records up to then were taken */
        uint64_t wide_since_ns;      /* clocks of CPUs; 0: of threads */
        uint64_t n_wide, n_wide_own; /* samples of CPUs, and of them the program's */
        bool has_tried_wide, has_ended;
};

/* ---- ticks ----------------------------------------------------------------------------------------- */

static void tell(struct ticker *t, const struct ticker_tick *tick) {
        t->stats.n_ticks[tick->state] += tick->n_samples;
        t->stats.ns[tick->state] += tick->weight_ns;
        if (tick->state != TICKER_RUNS && tick->path.n_pcs + tick->path.n_kernel == 0)
                t->stats.pathless_ns += tick->weight_ns;
        t->stats.borrowed_ns += tick->borrowed_ns;
        t->calls.on_tick(t->calls.ctx, tick);
}

/* The path of the sample in t->record; valid until the next. */
static void walk(struct ticker *t, const struct tick_thread *thread, struct ticker_path *ret) {
        struct perf_sample *s = &t->record.sample;
        struct remote_regs regs = {.pc = s->pc, .sp = s->sp, .fp = s->fp, .lr = s->lr};
        struct remote_stack stack = {s->stack, s->n_stack};

        *ret = (struct ticker_path){.kernel_pcs = s->kernel_pcs,
                                    .n_kernel = s->n_kernel,
                                    .pcs = t->pcs,
                                    .end = REMOTE_LOST};
        if (s->n_kernel)
                s->kernel_pcs[0]++; /* as return addresses are: one behind */
        if (s->abi == PERF_ABI_64 && s->n_stack)
                ret->n_pcs = remote_walk(thread->process->space, &regs, &stack, t->pcs,
                                         TICK_MAX_FRAMES, &ret->end);
        t->stats.n_walks[ret->end]++;
}

/* It runs, so it waits no longer: the record that said so was lost. */
static void end_stale_wait(struct ticker *t, struct tick_thread *thread) {
        uint64_t since_ns = t->record.time_ns - t->events.wish.period_ns;
        struct ticker_tick tick;

        if (!thread->wait.since_ns || thread->wait.since_ns >= t->record.time_ns)
                return;
        if (tick_wait_end(thread, since_ns, &tick))
                tell(t, &tick);
        tick_run_begin(thread, MAX(since_ns, thread->wait.told_ns));
}

static void take_clock_sample(struct ticker *t, struct tick_thread *thread) {
        uint64_t time_ns = t->record.time_ns, period_ns = t->events.wish.period_ns, late_ns = 0;
        struct ticker_tick tick = {.process = thread->process->tag,
                                   .thread = thread->tag,
                                   .state = TICKER_RUNS,
                                   .time_ns = thread->over_ns ? MIN(time_ns, thread->over_ns)
                                                              : time_ns,
                                   .weight_ns = period_ns,
                                   .n_samples = 1,
                                   .space = thread->process->space};

        end_stale_wait(t, thread);
        walk(t, thread, &tick.path);
        tick_run_sample(thread, period_ns, time_ns);
        tell(t, &tick);
        if (t->events.sees_kernel && !t->wide_since_ns && !t->stats.n_lost)
                late_ns = tick_run_take_late(thread, period_ns, period_ns * t->events.n_cpus,
                                             time_ns);
        t->stats.late_ns += late_ns;
        tick.n_samples = 0;
        for (; late_ns; late_ns -= tick.weight_ns) {
                tick.weight_ns = tick_run_place_late(thread, late_ns, PART_PERIODS * period_ns,
                                                     time_ns, &tick.time_ns);
                tell(t, &tick);
        }
}

/* A thread that was started while others were added may be followed by two of them: one is enough. */
static bool is_of_root(struct tick_thread *thread, pid_t root) {
        if (!thread->root)
                thread->root = root;
        return thread->root == root;
}

/* Of a CPU's clock: those that nobody told of are others'. */
static void take_wide_sample(struct ticker *t) {
        const struct perf_record *r = &t->record;
        struct tick_thread *thread = tick_tasks_find(&t->tasks, (pid_t)r->tid);

        t->n_wide++;
        if (!thread || thread->process->pid != (pid_t)r->pid)
                return;
        t->n_wide_own++;
        take_clock_sample(t, thread);
}

static void take_sample(struct ticker *t) {
        const struct perf_record *r = &t->record;
        struct tick_thread *thread;
        struct ticker_path path;
        enum perf_event_kind kind;
        pid_t root;

        kind = perf_events_kind(&t->events, r->event_id, &root);
        if (kind == PERF_EVENT_OTHER ||
            (kind == PERF_EVENT_CLOCK && t->wide_since_ns && r->time_ns >= t->wide_since_ns))
                return;
        if (kind == PERF_EVENT_WIDE) {
                take_wide_sample(t);
                return;
        }
        t->limit.n_samples += kind == PERF_EVENT_SWITCH;
        thread = tick_tasks_get(&t->tasks, (pid_t)r->pid, (pid_t)r->tid, r->time_ns);
        if (!is_of_root(thread, root))
                return;
        if (kind == PERF_EVENT_CLOCK) {
                take_clock_sample(t, thread);
                return;
        }
        walk(t, thread, &path);
        tick_wait_place(thread, &path);
}

static void take_switch(struct ticker *t) {
        const struct perf_record *r = &t->record;
        struct tick_thread *thread;
        struct ticker_tick tick;
        pid_t root;

        if (perf_events_kind(&t->events, r->event_id, &root) == PERF_EVENT_OTHER)
                return;
        thread = tick_tasks_get(&t->tasks, (pid_t)r->pid, (pid_t)r->tid, r->time_ns);
        if (!is_of_root(thread, root))
                return;
        if (r->is_out) {
                tick_run_end(thread, r->time_ns);
                tick_wait_begin(thread, r->time_ns, r->is_preempted);
                return;
        }
        tick_run_begin(thread, r->time_ns);
        if (tick_wait_end(thread, r->time_ns, &tick))
                tell(t, &tick);
}

/* Of ns that no sample stands for what the kernel counts as its own: that is not sampled here. What is left of ns. */
static uint64_t tell_kernel(struct ticker *t, struct tick_thread *thread, uint64_t ns,
                            uint64_t time_ns) {
        struct ticker_tick tick;
        uint64_t counted_ns;

        if (t->events.sees_kernel || !ns ||
            !tick_look_kernel_ns(thread->process->pid, thread->tid, &counted_ns) ||
            counted_ns <= thread->run.kernel_told_ns)
                return ns;
        counted_ns = MIN(counted_ns - thread->run.kernel_told_ns, ns);
        thread->run.kernel_told_ns += counted_ns;
        tick_run_take(thread, counted_ns, time_ns, &tick);
        tick.path.kernel_pcs = &unsampled_pc;
        tick.path.n_kernel = 1;
        t->stats.kernel_ns += counted_ns;
        tell(t, &tick);
        return ns - counted_ns;
}

/* What the kernel counts of threads of which it matters: of those that had no samples for a while when records were taken last, or since. */
static void count_runs(struct ticker *t) {
        uint64_t now_ns = clock_now_ns(), at_ns, ns,
                 slack_ns = (t->events.n_cpus + LATE_PERIODS) * t->events.wish.period_ns;

        if (t->wide_since_ns || t->stats.n_lost)
                return;
        now_ns = MAX(t->drained_ns, now_ns - DRAIN_NS);
        for (size_t i = 0; i < t->tasks.living.n; i++) {
                struct tick_thread *thread = t->tasks.living.items[i];

                if (!tick_run_wants_count(thread, slack_ns, now_ns))
                        continue;
                at_ns = clock_now_ns();
                if (!tick_look_ran_ns(thread->process->pid, thread->tid, &ns))
                        ns = TICK_NO_COUNT;
                if (clock_now_ns() - at_ns < MOMENT_NS)
                        tick_run_count(thread, ns, at_ns);
        }
}

static void settle_runs(struct ticker *t) {
        for (size_t i = 0; i < t->tasks.living.n; i++)
                tick_run_settle(t->tasks.living.items[i], t->drained_ns);
}

/* Whatever runs has samples at even distances. Where it has none, and samples of the kernel are not permitted, it was in the kernel, or the timer was
 * late: told as it is counted, or all of it would be of the moment when the thread ends. */
static void tell_unsampled(struct ticker *t, uint64_t time_ns) {
        uint64_t period_ns = t->events.wish.period_ns, kept_ns = period_ns * t->events.n_cpus;
        struct ticker_tick tick;

        if (t->events.sees_kernel || t->wide_since_ns || t->stats.n_lost)
                return;
        for (size_t i = 0; i < t->tasks.living.n; i++) {
                struct tick_thread *thread = t->tasks.living.items[i];
                uint64_t ns = tick_run_owed_ns(thread, kept_ns, time_ns);

                if (ns < SLACK_PERIODS * period_ns)
                        continue;
                ns = tell_kernel(t, thread, ns, time_ns);
                if (ns < SLACK_PERIODS * period_ns + COUNT_STEP_NS)
                        continue;
                tick_run_take(thread, ns, time_ns, &tick);
                t->stats.uncounted_ns += ns;
                tell(t, &tick);
        }
}

/* All that is known of a thread that ends, or is looked at no longer. */
static void end_thread(struct ticker *t, struct tick_thread *thread, uint64_t time_ns) {
        struct ticker_tick tick;

        if (!t->wide_since_ns && !t->stats.n_lost)
                tell_kernel(t, thread, tick_run_unsampled_ns(thread, time_ns), time_ns);
        while (!t->wide_since_ns && !t->stats.n_lost &&
               tick_run_take_rest(thread, time_ns, &tick)) {
                t->stats.unsampled_ns += tick.weight_ns;
                tell(t, &tick);
        }
        if (tick_wait_end(thread, time_ns, &tick))
                tell(t, &tick);
        while (tick_wait_take_bare(thread, UINT64_MAX, time_ns, &tick))
                tell(t, &tick);
}

/* Where a thread waits of which no sample came, or whose copy was too short. */
static void look_at(struct ticker *t, struct tick_thread *thread) {
        struct ticker_path path = {.pcs = t->pcs, .end = REMOTE_LOST};

        thread->wait.is_looked = true;
        path.n_pcs = tick_look_walk(thread->process->pid, thread->tid, thread->process->space,
                                    t->pcs, TICK_MAX_FRAMES, &path.end);
        if (!path.n_pcs || (thread->wait.has_path && path.end == REMOTE_CUT))
                return;
        t->stats.n_walks[path.end]++;
        tick_wait_place(thread, &path);
}

/* The kernel takes fewer samples of a thread that has waited often in a short time, and none then of the next wait, however long. */
static void look_at_waits(struct ticker *t, uint64_t time_ns) {
        for (size_t i = 0; i < t->tasks.living.n; i++)
                if (tick_wait_wants_look(t->tasks.living.items[i], time_ns))
                        look_at(t, t->tasks.living.items[i]);
}

/* Whoever waits for long is told of meanwhile: the trace is read as it grows. */
static void tell_waits(struct ticker *t, uint64_t time_ns) {
        struct ticker_tick tick;

        if (time_ns < t->waits_due_ns)
                return;
        t->waits_due_ns = time_ns + 250000000;
        for (size_t i = 0; i < t->tasks.living.n; i++) {
                struct tick_thread *thread = t->tasks.living.items[i];

                while (tick_wait_take_bare(thread, time_ns - BARE_NS, time_ns, &tick))
                        tell(t, &tick);
                if (tick_wait_due_ns(thread) > time_ns)
                        continue;
                if (tick_wait_wants_look(thread, time_ns))
                        look_at(t, thread);
                if (tick_wait_take(thread, time_ns, &tick))
                        tell(t, &tick);
        }
}

/* ---- records --------------------------------------------------------------------------------------- */

/* Whether it is the last of its process. */
static bool is_alone(const struct ticker *t, const struct tick_thread *thread) {
        for (size_t i = 0; i < t->tasks.living.n; i++) {
                const struct tick_thread *other = t->tasks.living.items[i];

                if (other != thread && other->process == thread->process && !other->over_ns)
                        return false;
        }
        return true;
}

/* A program that runs with other rights than who started it: the kernel takes the events away, as if it had ended. Where another thread runs a program
 * anew, the first one ends, and the other has its number from then on. */
static void note_hidden(struct ticker *t, const struct tick_thread *thread) {
        if (thread->tid != thread->process->pid ||
            !tick_look_lives_on(thread->process->pid, thread->tid) || !is_alone(t, thread))
                return;
        if (t->stats.n_hidden++ == 0)
                snprintf(t->stats.hidden_name, sizeof(t->stats.hidden_name), "%s", thread->name);
}

static void take_exit(struct ticker *t) {
        struct tick_thread *thread = tick_tasks_find(&t->tasks, (pid_t)t->record.tid);

        if (!thread || thread->over_ns)
                return;
        note_hidden(t, thread);
        end_thread(t, thread, t->record.time_ns);
        if (t->wide_since_ns)
                thread->over_ns = t->record.time_ns;
        else
                tick_tasks_exit(&t->tasks, (pid_t)t->record.tid, t->record.time_ns);
}

/* Those that ended before: nothing more comes of them. */
static void let_go(struct ticker *t, uint64_t before_ns) {
        for (size_t i = t->tasks.living.n; i-- > 0;) {
                struct tick_thread *thread = t->tasks.living.items[i];

                if (thread->over_ns && thread->over_ns < before_ns)
                        tick_tasks_exit(&t->tasks, thread->tid, thread->over_ns);
        }
}

static void take_fork(struct ticker *t) {
        const struct perf_record *r = &t->record;
        const struct tick_thread *before = tick_tasks_find(&t->tasks, (pid_t)r->tid);

        if (r->pid != r->parent_pid && !t->options.children)
                return;
        if (before && before->over_ns) /* the number is another's now */
                tick_tasks_exit(&t->tasks, before->tid, before->over_ns);
        tick_tasks_fork(&t->tasks, &(struct tick_birth){.parent_pid = (pid_t)r->parent_pid,
                                                        .parent_tid = (pid_t)r->parent_tid,
                                                        .pid = (pid_t)r->pid,
                                                        .tid = (pid_t)r->tid,
                                                        .time_ns = r->time_ns});
}

/* Of what a CPU's ring lost, others' samples are not the program's loss: as many as there are of those that came. */
static void take_lost(struct ticker *t) {
        uint64_t n = t->record.n_lost;

        if (t->ring >= t->events.n_cpus) { /* waits whose paths go with others' */
                t->limit.n_samples += n;
                return;
        }
        if (t->wide_since_ns && t->n_wide)
                n = (uint64_t)((double)n * (double)t->n_wide_own / (double)t->n_wide + 0.5);
        t->stats.n_lost += n;
}

static void take_name(struct ticker *t) {
        const struct perf_record *r = &t->record;

        if (r->is_exec) {
                /* the one that runs it may have had another number until then */
                for (size_t i = 0; i < t->tasks.living.n; i++) {
                        struct tick_thread *before = t->tasks.living.items[i];

                        if (before->process->pid == (pid_t)r->pid && !before->over_ns)
                                end_thread(t, before, r->time_ns);
                }
                tick_tasks_exec(&t->tasks, (pid_t)r->pid, (pid_t)r->tid, r->text, r->time_ns);
                if (t->options.off_cpu)
                        tick_run_begin(tick_tasks_find(&t->tasks, (pid_t)r->tid), r->time_ns);
        } else
                tick_tasks_name(&t->tasks, (pid_t)r->pid, (pid_t)r->tid, r->text, r->time_ns);
}

static void take_record(struct ticker *t, const uint8_t *bytes, size_t n) {
        struct perf_record *r = &t->record;

        if (!perf_record_decode(bytes, n, r)) {
                t->stats.n_broken++;
                return;
        }
        if (r->type == PERF_RECORD_LOST) {
                take_lost(t);
                return;
        }
        if (r->type == PERF_RECORD_THROTTLE) {
                t->stats.n_throttled++;
                return;
        }
        /* of one that is dying the kernel has no number any more */
        if ((int32_t)r->pid <= 0 || (int32_t)r->tid <= 0)
                return;
        switch (r->type) {
        case PERF_RECORD_SAMPLE: take_sample(t); break;
        case PERF_RECORD_SWITCH: take_switch(t); break;
        case PERF_RECORD_FORK: take_fork(t); break;
        case PERF_RECORD_EXIT: take_exit(t); break;
        case PERF_RECORD_COMM: take_name(t); break;
        case PERF_RECORD_MMAP2:
                if (r->is_code)
                        remote_space_map(tick_tasks_get(&t->tasks, (pid_t)r->pid, (pid_t)r->tid,
                                                        r->time_ns)
                                                 ->process->space,
                                         r->begin, r->end, r->file_offset, r->text);
                break;
        }
}

static void look_ahead(struct ticker *t, size_t cpu) {
        const uint8_t *bytes;
        size_t n;

        t->next_ns[cpu] = UINT64_MAX;
        if (t->events.rings[cpu].map && perf_ring_peek(&t->events.rings[cpu], &bytes, &n))
                t->next_ns[cpu] = perf_record_time_ns(bytes, n);
}

/* The records of all rings in the order of their times, up to until_ns: later ones may have earlier ones beside them that a
 * ring had not yet when it was asked. */
static size_t take_records(struct ticker *t, uint64_t until_ns) {
        size_t n_taken = 0, first, n;
        const uint8_t *bytes;

        for (size_t i = 0; i < t->events.n_rings; i++) {
                if (t->events.rings[i].map)
                        perf_ring_refresh(&t->events.rings[i]);
                look_ahead(t, i);
        }
        for (;;) {
                first = 0;
                for (size_t i = 1; i < t->events.n_rings; i++)
                        first = t->next_ns[i] < t->next_ns[first] ? i : first;
                if (t->next_ns[first] > until_ns || t->next_ns[first] == UINT64_MAX ||
                    !perf_ring_peek(&t->events.rings[first], &bytes, &n))
                        return n_taken;
                t->ring = first;
                take_record(t, bytes, n);
                perf_ring_advance(&t->events.rings[first], n);
                look_ahead(t, first);
                n_taken++;
        }
}

/* What threads ran until now beyond their samples no clock of theirs will tell. */
static void sample_cpus_if_short(struct ticker *t) {
        const struct ticker_stats *s = &t->stats;
        struct ticker_tick tick;

        if (t->has_tried_wide || s->unsampled_ns < WIDE_MIN_NS ||
            s->unsampled_ns < s->ns[TICKER_RUNS] / WIDE_SHARE)
                return;
        t->has_tried_wide = true;
        if (!perf_events_widen(&t->events))
                return;
        t->wide_since_ns = clock_now_ns();
        take_records(t, t->wide_since_ns);
        for (size_t i = 0; i < t->tasks.living.n && !s->n_lost; i++)
                while (tick_run_take_rest(t->tasks.living.items[i], t->wide_since_ns, &tick)) {
                        t->stats.unsampled_ns += tick.weight_ns;
                        tell(t, &tick);
                }
}

size_t ticker_drain(struct ticker *t) {
        uint64_t until_ns;
        size_t n;

        count_runs(t);
        until_ns = clock_now_ns();
        n = take_records(t, until_ns);
        t->drained_ns = until_ns;
        settle_runs(t);
        t->limit.window_ns = MAX((uint64_t)SWITCH_WINDOW_NS, t->events.switch_fds.n * TURN_NS);
        if (switch_limit_turns(&t->limit, until_ns))
                perf_events_sample_switches(&t->events, !t->limit.is_off);
        sample_cpus_if_short(t);
        let_go(t, until_ns - GOING_NS);
        tell_unsampled(t, until_ns);
        look_at_waits(t, until_ns);
        tell_waits(t, until_ns);
        return n;
}

/* ---- who is followed ------------------------------------------------------------------------------- */

int ticker_follow_child(struct ticker *t, pid_t pid, struct err *reterr) {
        int r;

        t->events.wish.on_exec = true;
        r = perf_events_add(&t->events, pid, reterr);
        return r == -ESRCH ? err_set(reterr, r, "the program ended before it was run") : r;
}

/* Threads that are not followed yet; how many, or -errno. */
static int follow_threads(struct ticker *t, pid_t pid, uint64_t time_ns, struct err *reterr) {
        char path[64];
        int n_new = 0, r = 0;
        struct dirent *one;
        DIR *dir;

        snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
        dir = opendir(path);
        if (!dir)
                return err_set(reterr, -ESRCH, "no process %d: see 'ps' or 'pidof'", (int)pid);
        while (r >= 0 && (one = readdir(dir))) {
                pid_t tid = (pid_t)atoi(one->d_name);

                if (tid <= 0 || tick_tasks_find(&t->tasks, tid))
                        continue;
                r = perf_events_add(&t->events, tid, reterr);
                if (r == 0) {
                        struct tick_thread *thread = tick_tasks_get(&t->tasks, pid, tid, time_ns);

                        if (!t->events.sees_kernel) /* what was before is not silt's to tell */
                                (void)tick_look_kernel_ns(pid, tid, &thread->run.kernel_told_ns);
                        n_new++;
                }
                r = r == -ESRCH ? 0 : r; /* it has just ended */
        }
        closedir(dir);
        return r < 0 ? r : n_new;
}

int ticker_follow_process(struct ticker *t, pid_t pid, struct err *reterr) {
        uint64_t time_ns = clock_now_ns();
        int r;

        t->events.wish.on_exec = false;
        do /* until there is none that came meanwhile */
                r = follow_threads(t, pid, time_ns, reterr);
        while (r > 0);
        for (size_t i = 0; r == 0 && t->options.off_cpu && i < t->tasks.living.n; i++)
                if (tick_look_is_off(t->tasks.living.items[i]->process->pid,
                                     t->tasks.living.items[i]->tid))
                        tick_wait_begin(t->tasks.living.items[i], clock_now_ns(), false);
        if (r == 0 && t->tasks.living.n == 0)
                r = err_set(reterr, -ESRCH, "process %d has ended", (int)pid);
        return r;
}

size_t ticker_n_threads(const struct ticker *t) {
        return t->tasks.living.n;
}

bool ticker_is_over(struct ticker *t) {
        return perf_events_are_over(&t->events);
}

int ticker_poll_fd(const struct ticker *t) {
        return t->events.poll_fd;
}

void ticker_end(struct ticker *t) {
        uint64_t time_ns = clock_now_ns();

        if (t->has_ended)
                return;
        t->has_ended = true;
        take_records(t, UINT64_MAX - 1);
        let_go(t, UINT64_MAX);
        for (size_t i = 0; i < t->tasks.living.n; i++)
                end_thread(t, t->tasks.living.items[i], time_ns);
}

int ticker_new(const struct ticker_options *o, const struct ticker_calls *calls,
               struct ticker **ret, struct err *reterr) {
        struct perf_events_wish wish = {.period_ns = 1000000000u / o->rate_hz + PERIOD_ODD_NS,
                                        .off_cpu = o->off_cpu,
                                        .children = o->children};
        struct ticker *t = calloc(1, sizeof(*t));
        int r;

        if (!t)
                return err_set(reterr, -ENOMEM, "no memory for samples");
        t->options = *o;
        t->calls = *calls;
        t->limit.since_ns = clock_now_ns();
        t->limit.window_ns = SWITCH_WINDOW_NS;
        tick_tasks_init(&t->tasks, &t->calls);
        r = perf_events_open(&t->events, &wish, reterr);
        if (r == 0) {
                t->next_ns = calloc(t->events.n_rings, sizeof(*t->next_ns));
                r = t->next_ns ? 0 : err_set(reterr, -ENOMEM, "no memory for samples");
        }
        if (r < 0) {
                ticker_free(t);
                return r;
        }
        *ret = t;
        return 0;
}

struct ticker *ticker_free(struct ticker *t) {
        if (!t)
                return NULL;
        perf_events_close(&t->events);
        tick_tasks_done(&t->tasks);
        free(t->next_ns);
        free(t);
        return NULL;
}

void ticker_get_stats(const struct ticker *t, struct ticker_stats *ret) {
        *ret = t->stats;
        for (size_t i = 0; i < t->events.n_rings; i++)
                ret->n_broken += t->events.rings[i].n_broken;
        ret->is_wide = t->wide_since_ns != 0;
        ret->sees_kernel = t->events.sees_kernel;
        ret->sees_switches = t->events.sees_switches;
        ret->short_stack_bytes = t->events.is_short ? t->events.stack_bytes : 0;
}

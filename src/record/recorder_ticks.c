/* SPDX-License-Identifier: MIT */
#include "record/recorder_ticks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/kernel_id.h"
#include "base/map.h"
#include "base/system_clock.h"
#include "pipeline/pipeline.h"
#include "record/proc.h"
#include "record/tick_notes.h"
#include "record/watcher.h"
#include "tick/ticker.h"
#include "trace/writer.h"

#define MS 1000000ull

enum {
        TICKS_EVERY_NS = 20 * MS,
        TICKS_WAIT_NS =
                2000 * MS, /* for a process to report, before it is taken for one that never will */
        TICKS_MAX_HELD = 1 << 18,
        TICKS_FORK_SLACK_NS = 50 * MS, /* the parent says so before it forks */
};

/* A process as the ticker knows it, and what became of it here. */
struct tick_task {
        pid_t pid;
        uint64_t began_ns;
        uint32_t parent; /* of these; UINT32_MAX: none */
        uint32_t heir;   /* what it became by exec; UINT32_MAX: nothing else */
        bool is_exec, is_over, is_placed;
        bool is_left_out;       /* a copy that silt made */
        bool is_alone;          /* nothing of silt is in it: its end is written here */
        uint32_t trace_process; /* once it is placed */
        uint32_t process_idx;   /* of the arena */
        char name[17];
};

struct tick_runner {
        pid_t tid;
        uint32_t task;
        uint32_t trace_thread; /* TRACE_NO_THREAD: not yet */
        uint64_t began_ns;
        char name[17];
};

/* Ticks of processes that have not reported yet. */
struct held_tick {
        uint32_t runner;
        struct trace_tick tick;
};

struct recorder_ticks {
        struct recorder *r;
        struct ticker *ticker;
        VEC(struct tick_task) tasks;
        VEC(struct tick_runner) runners;
        uint64_t n_execs; /* of each of which one runner is told anew */
        VEC(struct held_tick) held;
        VEC(pid_t) left_out; /* pids of copies that the ticker has not told of yet */
        struct map modules;  /* number of a file → module */
        uint32_t kernel_module;
        uint64_t n_dropped;
        struct tick_notes notes;
        uint64_t mono_ns,
                recorder_ns; /* the same moment, by the ticker's clock and by the recorder's */
};

/* ---- time ------------------------------------------------------------------------------------------ */

static void ticks_set_clock(struct recorder_ticks *k) {
        k->mono_ns = clock_now_ns();
        k->recorder_ns = recorder_now_ns(k->r);
}

static uint64_t ticks_time(const struct recorder_ticks *k, uint64_t mono_ns) {
        uint64_t ago_ns = k->mono_ns > mono_ns ? k->mono_ns - mono_ns : 0;

        return k->recorder_ns > ago_ns ? k->recorder_ns - ago_ns : 0;
}

/* ---- processes and threads ------------------------------------------------------------------------- */

static uint32_t ticks_on_process(void *ctx, const struct ticker_process *p) {
        struct recorder_ticks *k = ctx;
        struct tick_task *t;

        if (p->is_exec && p->parent < k->tasks.n) {
                k->tasks.items[p->parent].is_over = true;
                k->tasks.items[p->parent].heir = (uint32_t)k->tasks.n;
        }
        k->n_execs += p->is_exec;
        t = vec_add(&k->tasks);
        t->heir = UINT32_MAX;
        t->pid = p->pid;
        t->began_ns = ticks_time(k, p->time_ns);
        t->parent = p->parent;
        t->is_exec = p->is_exec;
        t->trace_process = TRACE_NO_PROCESS;
        strncpy(t->name, p->name, sizeof(t->name) - 1);
        for (size_t i = 0; i < k->left_out.n && !t->is_left_out && !p->is_exec; i++)
                if (k->left_out.items[i] == p->pid) {
                        t->is_left_out = true;
                        k->left_out.items[i] = k->left_out.items[--k->left_out.n];
                }
        return (uint32_t)k->tasks.n - 1;
}

static void ticks_on_process_end(void *ctx, uint32_t process, uint64_t time_ns) {
        struct recorder_ticks *k = ctx;
        struct tick_task *t = &k->tasks.items[process];

        t->is_over = true;
        if (t->is_alone)
                trace_end_process(k->r->writer,
                                  &(struct trace_process_end){.process = t->trace_process,
                                                              .ended = TRACE_ENDED_EXIT,
                                                              .status = -1,
                                                              .end_ns = ticks_time(k, time_ns)});
}

static uint32_t ticks_on_thread(void *ctx, uint32_t process, pid_t tid, uint64_t time_ns) {
        struct recorder_ticks *k = ctx;
        struct tick_runner *t = vec_add(&k->runners);

        t->tid = tid;
        t->task = process;
        t->trace_thread = TRACE_NO_THREAD;
        t->began_ns = ticks_time(k, time_ns);
        return (uint32_t)k->runners.n - 1;
}

static void ticks_on_thread_name(void *ctx, uint32_t thread, const char *name) {
        struct recorder_ticks *k = ctx;
        struct tick_runner *t = &k->runners.items[thread];

        memset(t->name, 0, sizeof(t->name));
        strncpy(t->name, name, sizeof(t->name) - 1);
        if (t->trace_thread != TRACE_NO_THREAD)
                trace_name_thread(k->r->writer, t->trace_thread, t->name);
}

/* The image that reported for this task: the first of its pid that began when it did, or later. The one before an exec may still
 * be there. */
static void ticks_place(struct recorder_ticks *k, struct tick_task *t) {
        const struct images *l = &k->r->images;
        uint64_t slack_ns = t->is_exec ? 0 : TICKS_FORK_SLACK_NS;
        const struct image *one = NULL;

        for (size_t i = 0; i < l->list.n && !one; i++)
                if (l->list.items[i]->pid == t->pid &&
                    l->list.items[i]->began_ns + slack_ns >= t->began_ns)
                        one = l->list.items[i];
        if (!one)
                return;
        t->is_placed = true;
        t->trace_process = one->trace_process;
        t->process_idx = one->process_idx;
}

/* One that nothing of silt is in. */
static void ticks_place_alone(struct recorder_ticks *k, struct tick_task *t) {
        _cleanup_(arena_freep) struct arena *arena = arena_new();
        const char *own[1] = {t->name};
        struct trace_process p = {.pid = (uint32_t)t->pid,
                                  .parent = TRACE_NO_PROCESS,
                                  .image = 1,
                                  .exe = "",
                                  .start_ns = t->began_ns};

        if (!t->is_over && proc_is_called(t->pid, t->name)) {
                p.args = proc_args(arena, t->pid, &p.n_args);
                p.exe = proc_exe(arena, t->pid);
        }
        for (uint32_t i = t->parent; i < k->tasks.n && p.parent == TRACE_NO_PROCESS;
             i = k->tasks.items[i].parent)
                p.parent = k->tasks.items[i].trace_process;
        if (!p.n_args) {
                p.args = own;
                p.n_args = 1;
        }
        t->is_placed = t->is_alone = true;
        t->trace_process = trace_add_process(k->r->writer, &p);
}

static uint32_t ticks_thread(struct recorder_ticks *k, struct tick_runner *t) {
        const struct tick_task *task = &k->tasks.items[t->task];

        if (t->trace_thread != TRACE_NO_THREAD)
                return t->trace_thread;
        if (!task->is_alone)
                t->trace_thread = pipeline_get_thread(k->r->pipeline, task->process_idx,
                                                      (uint32_t)t->tid, t->began_ns);
        if (t->trace_thread == TRACE_NO_THREAD && task->is_alone)
                t->trace_thread =
                        trace_add_thread(k->r->writer,
                                         &(struct trace_thread){.process = task->trace_process,
                                                                .tid = (uint32_t)t->tid,
                                                                .start_ns = t->began_ns});
        if (t->trace_thread != TRACE_NO_THREAD && t->name[0])
                trace_name_thread(k->r->writer, t->trace_thread, t->name);
        return t->trace_thread;
}

/* ---- ticks ----------------------------------------------------------------------------------------- */

static uint32_t ticks_module(struct recorder_ticks *k, const struct remote_module *m) {
        struct trace_module fill = {.path = m->path,
                                    .build_id_len = MIN(m->build_id_len, 32u),
                                    .size_bytes = m->size_bytes};
        bool is_new;
        uint64_t *id = map_put(&k->modules, m->id, 0, &is_new);

        if (!is_new)
                return (uint32_t)*id;
        memcpy(fill.build_id, m->build_id, fill.build_id_len);
        *id = pipeline_add_file(k->r->pipeline, &fill);
        return (uint32_t)*id;
}

/* From the outermost frame on. */
static uint32_t ticks_stack(struct recorder_ticks *k, const struct ticker_tick *t) {
        struct pipeline *p = k->r->pipeline;
        uint32_t stack = 0;

        for (size_t i = t->path.n_pcs; i-- > 0;) {
                uint64_t offset;
                const struct remote_module *m =
                        remote_space_locate(t->space, t->path.pcs[i], &offset);

                stack = m ? pipeline_push(p, stack, ticks_module(k, m), offset)
                          : pipeline_push(p, stack, UINT32_MAX, t->path.pcs[i]);
        }
        if (t->path.n_kernel && k->kernel_module == UINT32_MAX) {
                struct trace_module m = {.path = KERNEL_ID_PATH};

                m.build_id_len = kernel_id_read(m.build_id);
                k->kernel_module = pipeline_add_file(p, &m);
        }
        for (size_t i = t->path.n_kernel; i-- > 0;)
                stack = pipeline_push(p, stack, k->kernel_module, t->path.kernel_pcs[i]);
        return stack;
}

/* False: its process has no place yet. */
static bool ticks_put(struct recorder_ticks *k, uint32_t runner, struct trace_tick *tick) {
        struct tick_task *task = &k->tasks.items[k->runners.items[runner].task];

        if (task->is_left_out)
                return true;
        if (!task->is_placed)
                ticks_place(k, task);
        if (!task->is_placed && task->heir != UINT32_MAX) { /* it never was anything else */
                k->runners.items[runner].task = task->heir;
                return ticks_put(k, runner, tick);
        }
        if (!task->is_placed)
                return false;
        tick->thread = ticks_thread(k, &k->runners.items[runner]);
        if (tick->thread == TRACE_NO_THREAD)
                return false;
        trace_put_tick(k->r->writer, tick);
        return true;
}

static void ticks_on_tick(void *ctx, const struct ticker_tick *t) {
        static const uint8_t states[TICKER_N_STATES] = {[TICKER_RUNS] = TRACE_ON_CPU,
                                                        [TICKER_BLOCKED] = TRACE_BLOCKED,
                                                        [TICKER_READY] = TRACE_READY};
        struct recorder_ticks *k = ctx;
        struct trace_tick tick = {.time_ns = ticks_time(k, t->time_ns),
                                  .weight_ns = t->weight_ns,
                                  .n_samples = (uint32_t)MIN(t->n_samples, (uint64_t)UINT32_MAX),
                                  .state = states[t->state],
                                  .stack = ticks_stack(k, t)};

        if (ticks_put(k, t->thread, &tick))
                return;
        if (k->held.n < TICKS_MAX_HELD)
                vec_push(&k->held, (struct held_tick){t->thread, tick});
        else
                k->n_dropped++;
}

/* Those that wait for their process; it is over, or waited for long enough, and then has a place of its own. */
static void ticks_put_held(struct recorder_ticks *k, uint64_t now_ns, bool is_last) {
        size_t n = 0;

        for (size_t i = 0; i < k->held.n; i++) {
                struct held_tick *h = &k->held.items[i];
                struct tick_task *task;

                if (ticks_put(k, h->runner, &h->tick))
                        continue;
                task = &k->tasks.items[k->runners.items[h->runner].task]; /* its heir, maybe */
                if (!is_last && !task->is_over && task->began_ns + TICKS_WAIT_NS > now_ns) {
                        k->held.items[n++] = *h;
                        continue;
                }
                if (!task->is_placed)
                        ticks_place_alone(k, task);
                if (!ticks_put(k, h->runner, &h->tick))
                        k->n_dropped++;
        }
        k->held.n = n;
}

/* ---- the recorder's side ---------------------------------------------------------------------------- */

int recorder_begin_ticks(struct recorder *r, struct err *reterr) {
        const struct run_options *o = r->config->options;
        const struct ticker_options options = {.rate_hz = o->cpu_rate_hz,
                                               .off_cpu = o->off_cpu,
                                               .children = true};
        struct ticker_calls calls = {.on_process = ticks_on_process,
                                     .on_process_end = ticks_on_process_end,
                                     .on_thread = ticks_on_thread,
                                     .on_thread_name = ticks_on_thread_name,
                                     .on_tick = ticks_on_tick};
        struct recorder_ticks *k;
        int code;

        if (!o->cpu_rate_hz)
                return 0;
        k = calls.ctx = calloc(1, sizeof(*k));
        if (!k)
                return err_set(reterr, -ENOMEM, "no memory for samples");
        k->r = r;
        k->kernel_module = UINT32_MAX;
        ticks_set_clock(k);
        code = ticker_new(&options, &calls, &k->ticker, reterr);
        if (code < 0)
                return code;
        r->ticks = k;
        watcher_add(r->watcher, ticker_poll_fd(k->ticker), TAG_TICKS);
        return o->attached ? ticker_follow_process(k->ticker, r->config->target, reterr)
                           : ticker_follow_child(k->ticker, r->config->target, reterr);
}

static void ticks_say(void *ctx, const char *text) {
        recorder_note(ctx, "%s", text);
}

uint64_t recorder_take_ticks(void *ctx, uint64_t now_ns) {
        struct recorder_ticks *k = ((struct recorder *)ctx)->ticks;
        struct ticker_stats stats;

        if (!k || !k->ticker)
                return OBSERVER_NEVER;
        ticks_set_clock(k);
        ticker_drain(k->ticker);
        ticks_put_held(k, now_ns, false);
        ticker_get_stats(k->ticker, &stats);
        tick_notes_go_on(&k->notes, &stats,
                         &(struct tick_beside){.n_dropped = k->n_dropped,
                                               .off_cpu = k->r->config->options->off_cpu},
                         ticks_say, k->r);
        return now_ns + TICKS_EVERY_NS;
}

void recorder_leave_out_ticks(struct recorder *r, pid_t pid) {
        struct recorder_ticks *k = r->ticks;

        if (!k || !k->ticker)
                return;
        for (size_t i = k->tasks.n; i-- > 0;) /* the newest of that pid */
                if (k->tasks.items[i].pid == pid && !k->tasks.items[i].is_over) {
                        k->tasks.items[i].is_left_out = true;
                        return;
                }
        vec_push(&k->left_out, pid);
}

void recorder_settle_ticks(struct recorder *r, const struct image *one) {
        struct recorder_ticks *k = r->ticks;

        if (!k || !k->ticker)
                return;
        recorder_take_ticks(r, recorder_now_ns(r));
        for (size_t i = k->tasks.n; i-- > 0;)
                if (k->tasks.items[i].trace_process == one->trace_process)
                        k->tasks.items[i].is_over = true;
}

void recorder_tell_ticks(const struct recorder *r, struct control_message *m) {
        struct ticker_stats s;

        if (!r->ticks)
                return;
        ticker_get_stats(r->ticks->ticker, &s);
        m->n_samples = s.n_ticks[TICKER_RUNS];
        m->n_waits = s.n_ticks[TICKER_BLOCKED];
        m->cpu_ns = s.ns[TICKER_RUNS];
        m->waited_ns = s.ns[TICKER_BLOCKED];
        m->n_lost_samples = s.n_lost + s.n_broken + r->ticks->n_dropped +
                            trace_writer_n_unwritten_ticks(r->writer);
        m->n_threads_seen = r->ticks->runners.n - MIN(r->ticks->n_execs, r->ticks->runners.n);
}

void recorder_finish_ticks(struct recorder *r) {
        struct recorder_ticks *k = r->ticks;
        struct ticker_stats stats;

        if (!k || !k->ticker)
                return;
        ticks_set_clock(k);
        ticker_end(k->ticker);
        ticks_put_held(k, recorder_now_ns(r), true);
        ticker_get_stats(k->ticker, &stats);
        tick_notes_end(&k->notes, &stats,
                       &(struct tick_beside){.n_dropped = k->n_dropped,
                                             .off_cpu = r->config->options->off_cpu},
                       ticks_say, r);
}

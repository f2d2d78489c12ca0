/* SPDX-License-Identifier: MIT */
#include "record/recorder.h"
#include "base/system_clock.h"
#include "record/graph_schedule.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/units.h"
#include "pipeline/pipeline.h"
#include "record/admission.h"
#include "record/control.h"
#include "record/counter.h"
#include "record/own_cost.h"
#include "record/printable.h"
#include "record/prior_message.h"
#include "record/proc.h"
#include "record/recorder_begin.h"
#include "record/recorder_bill.h"
#include "record/recorder_graph.h"
#include "record/recorder_observers.h"
#include "record/recorder_sample.h"
#include "record/recorder_snapshots.h"
#include "record/recorder_ticks.h"
#include "record/watcher.h"
#include "trace/writer.h"

#define MS 1000000ull

enum {
        LEAVE_NS = 2000 * MS, /* for threads that were inside when the hooks were taken out */
        RECORDER_MMAP_BYTES = 256 * 1024,
        BUSY_NAP_NS = 1 * MS, /* records trickle in: look again after this, or when a ring fills */
};

/* ---- called back by the pipeline ------------------------------------------------------------- */

static uint32_t recorder_on_process(void *ctx, uint32_t process_idx, uint32_t pid, uint32_t parent,
                                    uint64_t start_ns) {
        struct recorder *r = ctx;
        pid_t number = images_find_number(&r->images, (pid_t)pid, parent);
        struct image *one =
                images_add(&r->images, process_idx, number, (pid_t)pid, parent, start_ns);

        one->is_older = true;
        for (size_t i = 0; i < r->images.list.n; i++)
                if (r->images.list.items[i]->trace_process == parent)
                        ranges_copy(&one->mapped, &r->images.list.items[i]->mapped);
        recorder_log(r, "pid %u: forked, entry %u", pid, process_idx);
        recorder_watch_image(r, one);
        pipeline_set_main(r->pipeline, r->images.main_process);
        if (!one->is_foreign && !image_is_alive(one))
                recorder_see_gone(r, one); /* before the next one begins */
        return one->trace_process;
}

static void recorder_on_process_end(void *ctx, uint32_t process_idx, uint32_t process,
                                    uint64_t end_ns, const struct pipeline_totals *totals) {
        struct recorder *r = ctx;
        struct image *one = images_find_idx(&r->images, process_idx);

        (void)process;
        if (!one)
                return;
        if (one->pidfd >= 0)
                watcher_remove(r->watcher, one->pidfd);
        if (totals->ends_in_exec && one->end.ended != TRACE_ENDED_EXEC && !one->runs_unseen)
                recorder_note(
                        r,
                        "pid %d ran another program that was not followed: static, privileged, or out of reach",
                        (int)one->pid);
        if (one->is_guest && !totals->runtime_bytes && one->pid != r->config->options->attached)
                recorder_note(
                        r,
                        "pid %d not followed: the runtime could not start in it: too few descriptors, too little address space, or it ended at once",
                        (int)one->pid);
        recorder_settle_ticks(r, one);
        limits_judge(r, one, totals);
        images_end(&r->images, one, end_ns, totals);
        recorder_log(r, "pid %d image %u: over, %llu allocations", (int)one->pid, one->image_number,
                     (unsigned long long)totals->counts.n_allocs);
}

static bool recorder_on_module(void *ctx, const struct pipeline_module *m,
                               struct trace_module *fill) {
        struct recorder *r = ctx;
        const struct image *one = images_find_idx(&r->images, m->process_idx);
        bool is_targets =
                modules_resolve(&r->modules, m, one ? one->exe : "", one ? one->program : 0, fill);

        recorder_log(r, "pid %u: module %s", m->pid, is_targets ? fill->path : "(runtime)");
        return is_targets;
}

static bool recorder_is_thread_alive(void *ctx, uint32_t pid, uint32_t tid) {
        const struct recorder *r = ctx;

        return images_thread_is_alive(&r->images, (pid_t)pid, (pid_t)tid);
}

static const char *recorder_thread_name(void *ctx, uint32_t pid, uint32_t tid) {
        struct recorder *r = ctx;

        return proc_comm((pid_t)pid, (pid_t)tid, r->name) ? r->name : "";
}

static void recorder_on_broken(void *ctx, uint32_t process_idx, uint32_t tid, const char *what) {
        struct recorder *r = ctx;
        struct image *one = images_find_idx(&r->images, process_idx);

        recorder_note(r,
                      "pid %d thread %u: its ring was damaged (%s); everything after that is lost",
                      one ? (int)one->pid : 0, tid, what);
}

static int recorder_back_chunks(void *ctx, uint32_t n_chunks) {
        struct recorder *r = ctx;

        return shm_back_chunks(r->config->shm, n_chunks);
}

/* ---- the end ----------------------------------------------------------------------------------- */

static void recorder_end_with_status(struct recorder *r, struct image *one, int wait_status) {
        bool is_oom, is_counted;

        if (WIFSIGNALED(wait_status)) {
                is_oom = false;
                if (WTERMSIG(wait_status) == SIGKILL) {
                        is_counted = oom_watch_take(&r->oom, memory_roots()->proc);
                        is_oom = rooms_heard_of(r, one->pid) || is_counted;
                }
                if (is_oom && !one->is_ending)
                        rooms_take_kill(r, one);
                if (is_oom && one->pid == r->config->target)
                        r->target_was_oom_killed = true;
                if (one->pid == r->config->target && one->image_number > 1)
                        printable_line(one->n_args ? one->args[0] : one->exe, r->ended_program,
                                       sizeof(r->ended_program));
                recorder_end_image(r, one, is_oom ? TRACE_ENDED_OOM : TRACE_ENDED_SIGNAL,
                                   WTERMSIG(wait_status));
        } else
                recorder_end_image(r, one, TRACE_ENDED_EXIT, WEXITSTATUS(wait_status));
}

static void recorder_end_target(struct recorder *r, struct image *one) {
        int status = r->target_wait_status;

        /* what wait() tells is the most that it or any child it waited for had */
        if (!r->images.has_children)
                one->end.peak_rss_bytes = r->target_max_rss_bytes;
        if (status >= 0 || image_end_status(one, &status))
                recorder_end_with_status(r, one, status);
        else
                recorder_end_image(r, one, TRACE_ENDED_UNKNOWN, -1);
}

/* Nobody tells the recorder how others than the target ended. */
static void recorder_end_other(struct recorder *r, struct image *one) {
        int status;

        if (image_end_status(one, &status))
                recorder_end_with_status(r, one, status);
        else
                recorder_end_image(r, one, TRACE_ENDED_EXIT, -1);
}

static void recorder_target_ended(struct recorder *r) {
        struct image *one = images_find_pid(&r->images, r->config->target);

        r->target_has_ended = true;
        if (one)
                recorder_end_target(r, one);
}

/* A process is gone. Of the target the supervisor says how it ended, as long as there is one; that may come before its last
 * image was let in. */
void recorder_see_gone(struct recorder *r, struct image *one) {
        if (one->pid != r->config->target)
                recorder_end_other(r, one);
        else if (r->target_has_ended)
                recorder_end_target(r, one);
        else if (r->supervisor_is_gone || r->config->options->attached)
                recorder_target_ended(r);
        else if (one->pidfd >= 0) {
                watcher_remove(r->watcher, one->pidfd);
                one->gone_ns = recorder_now_ns(r);
                pipeline_see_gone(r->pipeline, one->process_idx);
        }
}

void recorder_stop(struct recorder *r) {
        recorder_log(r, "stopping the recording");
        shm_stop_recording(r->config->shm);
        r->is_stopped = true;
}

/* The runtime went with the program it was brought into. */
static void recorder_target_replaced(struct recorder *r, const struct control_message *m) {
        struct image *one = images_find_pid(&r->images, r->config->target);
        struct unit_text at;

        recorder_note(r,
                      "the program replaced itself with '%.*s' after %s: the recording ends there",
                      (int)sizeof(m->program) - 1, m->program,
                      unit_duration(&at, recorder_now_ns(r)));
        if (one)
                recorder_end_image(r, one, TRACE_ENDED_EXEC, -1);
        r->leave_until_ns = recorder_now_ns(r) + LEAVE_NS;
}

static void recorder_take_control(struct recorder *r) {
        struct control_message m;
        ssize_t n = recv(r->config->control_fd, &m, sizeof(m), MSG_DONTWAIT);

        if (n == (ssize_t)sizeof(m) && m.kind == CONTROL_TARGET_ENDED) {
                r->target_wait_status = m.wait_status;
                r->target_max_rss_bytes = m.max_rss_bytes;
                recorder_end_gone(r);
                recorder_target_ended(r);
        } else if (n == (ssize_t)sizeof(m) && m.kind == CONTROL_PRIOR) {
                const struct image *one = images_find_pid(&r->images, r->config->target);

                priors_keep(&r->priors, &m.prior);
                if (one)
                        priors_write(&r->priors, r->writer, one->trace_process);
        } else if (n == (ssize_t)sizeof(m) && m.kind == CONTROL_HELD) {
                recorder_note(r, "held: %llu ns to %s", (unsigned long long)m.held_ns,
                              m.is_leaving ? "leave" : "attach");
        } else if (n == (ssize_t)sizeof(m) && m.kind == CONTROL_REPLACED) {
                recorder_target_replaced(r, &m);
        } else if (n == (ssize_t)sizeof(m) && m.kind == CONTROL_GRAPH) {
                recorder_graph_on_signal(r);
        } else if (n == (ssize_t)sizeof(m) && m.kind == CONTROL_STOP) {
                r->leave_until_ns = recorder_now_ns(r) + LEAVE_NS;
        } else if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
                struct image *one = images_find_pid(&r->images, r->config->target);

                r->supervisor_is_gone = true;
                watcher_remove(r->watcher, r->config->control_fd);
                /* nobody is left to take the hooks out of a process that was attached to */
                if (r->config->options->attached && !r->is_stopped)
                        recorder_stop(r);
                if (one)
                        recorder_watch_image(r, one); /* nobody else will say that it ended */
                else if (!r->target_has_ended)
                        recorder_target_ended(r);
        }
}

/* Lost events and waits, of all processes. */
static void recorder_count_waste(const struct recorder *r, struct control_message *m) {
        const struct images *l = &r->images;
        struct pipeline_totals totals;
        bool main_is_over = true;

        m->n_lost += l->past.n_lost;
        m->blocked_ns += l->past.blocked_ns;
        for (size_t i = 0; i < l->list.n; i++) {
                if (!pipeline_get_totals(r->pipeline, l->list.items[i]->trace_process, &totals))
                        continue;
                m->n_lost += totals.counts.n_lost;
                m->blocked_ns += totals.blocked_ns;
                main_is_over &= l->list.items[i]->trace_process != l->main_process;
        }
        /* events that are nobody's became its when all was over */
        if (main_is_over && pipeline_get_totals(r->pipeline, l->main_process, &totals))
                m->n_lost += totals.counts.n_lost - l->n_main_lost;
}

void recorder_tell(struct recorder *r, enum control_kind kind) {
        struct control_message m = {.kind = kind};
        struct pipeline_stats stats;
        struct stat st;

        m.n_events = trace_writer_n_events(r->writer);
        m.n_unwritten = trace_writer_n_unwritten(r->writer);
        m.file_bytes = fstat(r->trace_fd, &st) == 0 ? (uint64_t)st.st_size : 0;
        m.duration_ns = r->end_ns ? r->end_ns : recorder_now_ns(r);
        m.n_images = (uint32_t)r->images.n_added;
        unseen_tell(&r->unseen, &m);
        m.n_living = (uint32_t)r->images.n_alive;
        m.target_was_oom_killed = r->target_was_oom_killed;
        memcpy(m.program, r->ended_program, sizeof(m.program));
        recorder_count_waste(r, &m);
        pipeline_get_stats(r->pipeline, &stats);
        m.n_lost += stats.n_unslotted;
        m.recorder_cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
        memcpy(m.trouble, r->trouble, sizeof(m.trouble));
        limits_tell(&r->limits, &m);
        recorder_tell_ticks(r, &m);
        (void)!send(r->config->control_fd, &m, sizeof(m), MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void recorder_fail(struct recorder *r, const char *why) __attribute__((noreturn));

static void recorder_fail(struct recorder *r, const char *why) {
        struct control_message m = {.kind = 0};

        snprintf(m.trouble, sizeof(m.trouble), "%s", why);
        (void)!send(r->config->control_fd, &m, sizeof(m), MSG_NOSIGNAL);
        _exit(1);
}

static void recorder_write_end(struct recorder *r) {
        own_cost_judge_budget(r);
        own_cost_tell(r, recorder_now_ns(r));
        recorder_close_writer(r->config, r->writer, r->trace_fd, r->trouble, sizeof(r->trouble));
}

static void recorder_finish(struct recorder *r) {
        struct pipeline_stats stats;

        /* children first: their parents run on, and pass nothing on to them */
        for (size_t i = r->images.list.n; i-- > 0;)
                if (!r->images.list.items[i]->is_ending)
                        recorder_end_image(r, r->images.list.items[i], TRACE_ENDED_STOPPED, -1);
        for (int i = 0; i < 1000 && r->images.n_alive; i++)
                pipeline_pump(r->pipeline);
        pipeline_get_stats(r->pipeline, &stats);
        if (stats.n_unslotted)
                recorder_note(
                        r,
                        "%llu of the lost events may be of any process: there were more than %d threads or %d processes at once, or signal handlers interrupted each other inside silt",
                        (unsigned long long)stats.n_unslotted, WIRE_N_SLOTS, WIRE_N_PROCESSES);
        admission_note_unheard(r);
        recorder_finish_ticks(r);
        r->end_ns = recorder_now_ns(r);
        pipeline_finish(r->pipeline, r->end_ns);
        while (r->images.list.n) {
                struct image *one = r->images.list.items[0];
                struct pipeline_totals totals = {0};

                pipeline_get_totals(r->pipeline, one->trace_process, &totals);
                limits_judge(r, one, &totals);
                images_end(&r->images, one, recorder_now_ns(r), &totals);
        }
        recorder_finish_graphs(r);
        recorder_finish_bills(r);
        rooms_end(r);
        recorder_close_snapshot_server(r);
        recorder_log_observers(r);
        recorder_write_end(r);
        recorder_tell(r, CONTROL_FINISHED);
        rendezvous_close(r->config->rendezvous);
        _exit(0);
}

/* ---- the loop ---------------------------------------------------------------------------------- */

static void recorder_take_ready(struct recorder *r) {
        uint64_t tag;

        while (watcher_next(r->watcher, &tag)) {
                if (tag == TAG_ABSTRACT || tag == TAG_PATH) {
                        admission_accept(r);
                } else if (tag == TAG_CONTROL) {
                        recorder_take_control(r);
                } else if (tag == TAG_TICKS) {
                        observers_wake(&r->observers, OBSERVER_TICKS, 0);
                } else if (tag == TAG_SNAPSHOT_SERVER) {
                        recorder_hear_snapshot_server(r);
                } else {
                        struct image *one = NULL;

                        for (size_t i = 0; i < r->images.list.n; i++)
                                if (r->images.list.items[i]->trace_process == tag - TAG_PIDFD)
                                        one = r->images.list.items[i];
                        if (one)
                                recorder_see_gone(r, one);
                }
        }
}

static bool recorder_is_settled(const struct recorder *r) {
        for (size_t i = 0; i < r->images.list.n; i++)
                if (r->images.list.items[i]->is_ending && !r->images.list.items[i]->is_over)
                        return false;
        return !r->guests.n && !pipeline_has_newcomers(r->pipeline);
}

/* The target has ended and all that ended with it is in the file; descendants are recorded on. */
static void recorder_tell_written(struct recorder *r) {
        own_cost_tell(r, recorder_now_ns(r));
        pipeline_end_slice(r->pipeline, recorder_now_ns(r), true);
        trace_writer_settle(r->writer);
        r->target_is_written = true;
        recorder_tell(r, CONTROL_WRITTEN);
}

static bool recorder_is_done(struct recorder *r) {
        size_t n_living;

        if (r->is_stopped)
                return true;
        if (!r->target_has_ended || (r->target_is_written && r->images.n_alive))
                return false;
        /* looking for others takes its time, in which one may come, allocate and be gone */
        if (!recorder_is_settled(r) || admission_awaits_unreported(r) || !recorder_is_settled(r))
                return false;
        n_living = recorder_count_living(r);
        if (n_living && !r->target_is_written)
                recorder_tell_written(r);
        return n_living == 0;
}

static bool recorder_has_work(void *ctx) {
        const struct recorder *r = ctx;

        return pipeline_has_work(r->pipeline);
}

static void recorder_rest(struct recorder *r, size_t n_handled) {
        uint64_t now_ns = recorder_now_ns(r), until_ns = observers_next_ns(&r->observers);
        bool is_ending = r->target_has_ended && !r->target_is_written;
        bool is_busy = n_handled || pipeline_has_pending(r->pipeline) || r->guests.n ||
                       r->config->rendezvous->n_callers || is_ending ||
                       recorder_awaits_snapshot(r) || r->leave_until_ns;

        if (n_handled > 4096 || r->has_ended_one) /* what is in its rings is all that comes */
                return;
        if (is_busy)
                until_ns = MIN(until_ns, now_ns + BUSY_NAP_NS);
        if (until_ns <= now_ns)
                return;
        trace_writer_settle(r->writer);
        watcher_sleep(r->watcher, until_ns - now_ns, recorder_has_work, r);
        r->worker.slept_ns += recorder_now_ns(r) - now_ns;
}

/* Ended here and not when they were found: that was in the middle of the pipeline's work. */
static void recorder_end_vanished(struct recorder *r) {
        struct image *one;

        while ((one = images_next_vanished(&r->images)))
                recorder_see_gone(r, one);
}

static void recorder_loop(struct recorder *r) __attribute__((noreturn));

static void recorder_loop(struct recorder *r) {
        for (;;) {
                size_t n_handled;

                r->has_ended_one = false;
                n_handled = pipeline_pump(r->pipeline);
                if (r->config->rendezvous->n_callers)
                        admission_accept(r);
                /* behind the last accept: whoever ended before a guest came is seen to be gone before it is let in */
                recorder_take_ready(r);
                recorder_end_vanished(r);
                admission_admit(r);
                observers_run(&r->observers);
                if (recorder_is_done(r))
                        recorder_finish(r);
                recorder_rest(r, n_handled);
        }
}

/* ---- the beginning ------------------------------------------------------------------------------- */

static void recorder_open_pipeline(struct recorder *r) {
        struct pipeline_config c = {
                .arena = r->config->shm->base,
                .arena_bytes = r->config->shm->size_bytes,
                .writer = r->writer,
                .counter_hz = r->clock_hz,
                .start_time = r->start_counter - shm_header(r->config->shm)->clock_base,
                .addresses = r->config->options->addresses,
                .prior = r->config->options->attached != 0,
                .max_slice_events = trace_slice_max_events(r->writer),
                .calls =
                        {
                                .ctx = r,
                                .on_process = recorder_on_process,
                                .on_process_end = recorder_on_process_end,
                                .on_module = recorder_on_module,
                                .is_thread_alive = recorder_is_thread_alive,
                                .thread_name = recorder_thread_name,
                                .on_broken = recorder_on_broken,
                                .on_unseen = unseen_on_program,
                                .back_chunks = recorder_back_chunks,
                                .on_cut = recorder_on_cut,
                                .on_mapping = limits_take_mapping,
                        },
        };
        struct err e = {0};

        if (pipeline_new(&c, &r->pipeline, &e) < 0)
                recorder_fail(r, e.text);
}

void recorder_main(const struct recorder_config *config) {
        struct recorder *r = calloc(1, sizeof(*r));
        struct err e = {0};

        if (!r)
                _exit(1);
        /* tables that grow are moved by their pages and leave no holes; glibc would raise the threshold by itself */
        mallopt(M_MMAP_THRESHOLD, RECORDER_MMAP_BYTES);
        r->config = config;
        r->patches = *config->known;
        r->target_wait_status = -1;
        r->budget.pct = config->options->budget_pct;
        recorder_leave_terminal(SNAPSHOT_RECORDER_NAME);
        if (config->log_fd >= 0)
                r->log = fdopen(config->log_fd, "a");
        recorder_catch_term();
        if (config->options->attached)
                admission_foresee(r); /* before time begins */
        r->clock = shm_header(config->shm)->clock;
        r->start_counter = counter_now(r->clock);
        if (recorder_open_writer_for(config, &r->writer, &r->trace_fd, &e) < 0)
                recorder_fail(r, e.text);
        r->clock_hz = counter_hz(r->clock, &config->arena_opened);
        images_init(&r->images, r->writer, &r->patches, config->target);
        modules_init(&r->modules, config->runtime_path);
        snapshots_init(&r->snapshots, config->options->snapshot_every_ns,
                       config->options->snapshot_growth_pct);
        snapshot_causes_init(&r->snapshot_causes, &config->options->snapshot_levels,
                             config->options->snapshot_peaks, config->options->snapshot_pressure);
        recorder_open_pipeline(r);
        recorder_init_observers(r);
        if (watcher_new(shm_header(config->shm), &r->watcher, &e) < 0)
                recorder_fail(r, e.text);
        if (config->rendezvous->abstract_fd >= 0)
                watcher_add(r->watcher, config->rendezvous->abstract_fd, TAG_ABSTRACT);
        if (config->rendezvous->path_fd >= 0)
                watcher_add(r->watcher, config->rendezvous->path_fd, TAG_PATH);
        watcher_add(r->watcher, config->control_fd, TAG_CONTROL);
        recorder_open_snapshot_server(r);
        if (recorder_begin_ticks(r, &e) < 0)
                recorder_fail(r, e.text);
        if (config->options->begin_note)
                recorder_note(r, "%s", config->options->begin_note);
        oom_watch_begin(&r->oom, config->target, memory_roots()->proc, memory_roots()->cgroup);
        rooms_begin(r);
        pipeline_pump(r->pipeline); /* lends the first chunks before anyone asks */
        recorder_tell(r, CONTROL_READY);
        recorder_loop(r);
}

/* SPDX-License-Identifier: MIT */
/* `silt attach` as the shell sees it: starts the recorder, has the runtime brought into the process, waits for the end, takes the hooks
 * out again. The process is neither its child nor in its group. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/attach.h"
#include "attach/process_check.h"
#include "base/arena.h"
#include "base/fs.h"
#include "base/macros.h"
#include "record/counter.h"
#include "record/prior_message.h"
#include "record/proc.h"
#include "record/program_check.h"
#include "record/supervisor_state.h"

enum {
        ATTACHED_LOOK_MS = 250,
        ATTACHED_REFUSED = 2,
        ATTACHED_URGENT = 1 /* of SCHED_RR: after all that is */
};

struct attached {
        struct supervisor supervisor;
        struct run_options options;
        struct attach attach;
        bool is_replaced;         /* the process has become another program */
        bool is_ended;            /* by a signal to silt, which is taken once */
        int signal_fd, target_fd; /* signals to silt; of the process, -1: none */
        int policy_before;
        bool is_recording;
};

static void attached_block_signals(struct attached *a) {
        sigset_t signals;

        sigemptyset(&signals);
        sigaddset(&signals, SIGINT);
        sigaddset(&signals, SIGTERM);
        sigaddset(&signals, SIGHUP);
        sigaddset(&signals, SIGQUIT);
        if (a->supervisor.options->graph_signal)
                sigaddset(&signals, a->supervisor.options->graph_signal);
        sigprocmask(SIG_BLOCK, &signals, &a->supervisor.mask_before);
        sigaction(SIGCHLD, NULL, &a->supervisor.child_action_before);
        signal(SIGCHLD, SIG_DFL);
        signal(SIGPIPE, SIG_IGN);
        a->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int attached_start_recorder(struct attached *a, struct err *reterr) {
        struct supervisor *f = &a->supervisor;
        int trace_fd, r;

        r = supervisor_open_arena(f, counter_kind(false), reterr);
        if (r == 0)
                r = rendezvous_open_for(&f->rendezvous, f->target, reterr);
        if (r < 0)
                return r;
        trace_fd = supervisor_open_trace(f, reterr);
        if (trace_fd < 0)
                return trace_fd;
        r = supervisor_fork_recorder(f, trace_fd, reterr);
        close(trace_fd);
        if (r == 0)
                r = supervisor_await_ready(f, reterr);
        if (r < 0)
                unlink(f->trace_path);
        return r;
}

static bool attached_target_is_gone(const struct attached *a) {
        struct pollfd p = {.fd = a->target_fd, .events = POLLIN};

        if (a->target_fd >= 0 && poll(&p, 1, 0) == 1)
                return true;
        return process_is_over(a->supervisor.target);
}

/* Neither exec nor the program's last breath is told to anybody: its memory is gone, and the process is still there. */
static bool attached_is_replaced(struct attached *a) {
        if (!a->is_replaced && !attach_is_there(&a->attach))
                a->is_replaced = !attached_target_is_gone(a);
        return a->is_replaced;
}

static void attached_tell_replaced(struct attached *a) {
        struct control_message m = {.kind = CONTROL_REPLACED};
        char path[64];

        snprintf(path, sizeof(path), "/proc/%d/comm", (int)a->supervisor.target);
        fs_read_text(path, m.program, sizeof(m.program));
        m.program[strcspn(m.program, "\n")] = '\0';
        (void)!send(a->supervisor.control_fd, &m, sizeof(m), MSG_NOSIGNAL);
        supervisor_say(
                &a->supervisor,
                "process %d replaced itself with '%s' (exec); the recording ends there: attach again to record the new program",
                (int)a->supervisor.target, m.program);
}

/* Takes the signals that came: is_ended, or a graph is wanted. */
static void attached_hear_signals(struct attached *a) {
        struct signalfd_siginfo info;

        while (read(a->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
                if ((int)info.ssi_signo == a->supervisor.options->graph_signal)
                        supervisor_want_graph(&a->supervisor);
                else
                        a->is_ended = true;
        }
}

/* Until somebody ends silt, the recorder says that it is done, or it or the process is gone. */
static void attached_wait(struct attached *a) {
        struct supervisor *f = &a->supervisor;
        struct pollfd fds[] = {{.fd = a->signal_fd, .events = POLLIN},
                               {.fd = f->control_fd, .events = POLLIN},
                               {.fd = a->target_fd, .events = POLLIN}};
        struct control_message m;

        for (;;) {
                int n = poll(fds, a->target_fd >= 0 ? 3 : 2, ATTACHED_LOOK_MS);

                if (n < 0 && errno != EINTR)
                        return;
                attached_hear_signals(a);
                if (a->is_ended || attached_target_is_gone(a) || attached_is_replaced(a))
                        return;
                if (n <= 0 || !fds[1].revents)
                        continue;
                if (!supervisor_hear(f, &m)) {
                        supervisor_reap_recorder(f, true);
                        return;
                }
                if (m.kind == CONTROL_DUE)
                        return;
                if (m.kind == CONTROL_FINISHED) {
                        f->summary = m;
                        f->has_summary = true;
                        return;
                }
        }
}

static void set_policy_of_threads(pid_t pid, int policy, int priority) {
        const struct sched_param param = {.sched_priority = priority};
        char path[64];
        struct dirent *one;
        DIR *dir;

        snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
        dir = opendir(path);
        while (dir && (one = readdir(dir)))
                if (one->d_name[0] != '.')
                        sched_setscheduler(atoi(one->d_name), policy, &param);
        if (dir)
                closedir(dir);
}

/* While threads stand still for silt it comes before others, where it may: they wait for it and for the recorder's answer. */
static void attached_hurry(struct attached *a, bool is_hurry) {
        int policy = is_hurry ? SCHED_RR : a->policy_before;
        int priority = is_hurry ? ATTACHED_URGENT : 0;

        if (is_hurry)
                a->policy_before = sched_getscheduler(0);
        if (a->policy_before != SCHED_OTHER && a->policy_before != SCHED_BATCH)
                return; /* somebody knows better */
        set_policy_of_threads(getpid(), policy, priority);
        if (!a->supervisor.recorder_is_gone)
                set_policy_of_threads(a->supervisor.recorder,
                                      policy | (is_hurry ? SCHED_RESET_ON_FORK : 0), priority);
}

static void attached_tell_pause(const struct attached *a, bool is_leaving, uint64_t pause_ns) {
        struct control_message m = {.kind = CONTROL_HELD,
                                    .held_ns = pause_ns,
                                    .is_leaving = is_leaving};

        (void)!send(a->supervisor.control_fd, &m, sizeof(m), MSG_NOSIGNAL | MSG_DONTWAIT);
        supervisor_say(&a->supervisor, "its threads were stopped for %.1f ms to %s",
                       (double)pause_ns / 1e6, is_leaving ? "detach" : "attach");
}

/* Up to here the recording is whole. Also called by the hand, to which the arena is shared. */
static void attached_end_time(void *ctx) {
        struct wire_header *h = shm_header(ctx);

        atomic_store_explicit(&h->leave_ts, counter_now(h->clock) - h->clock_base,
                              memory_order_release);
}

/* While the recorder still takes what comes: what happened until then is in the trace. */
static void attached_leave(struct attached *a) {
        struct err e = {0};

        if (!attached_target_is_gone(a) && !a->is_replaced) {
                int r;

                attached_hurry(a, true);
                r = attach_end(&a->attach, &e);
                attached_hurry(a, false);
                if (r < 0 && !attached_target_is_gone(a))
                        fprintf(stderr, "silt: %s: its hooks stay in place and do nothing\n",
                                e.text);
                else if (r == 0 && a->is_recording)
                        attached_tell_pause(a, true, a->attach.leave_pause_ns);
        }
        attach_done(&a->attach);
}

/* Children of a process that has ended go on being recorded, until they end, or somebody ends silt. */
static void attached_await_children(struct attached *a) {
        struct pollfd fds[] = {{.fd = a->signal_fd, .events = POLLIN},
                               {.fd = a->supervisor.control_fd, .events = POLLIN}};
        struct control_message stop = {.kind = CONTROL_STOP}, m;
        struct supervisor *f = &a->supervisor;

        while (f->summary.kind != CONTROL_FINISHED) {
                int n;

                attached_hear_signals(a);
                if (a->is_ended) {
                        (void)!send(f->control_fd, &stop, sizeof(stop), MSG_NOSIGNAL);
                        return;
                }
                n = poll(fds, 2, -1);
                if (n < 0 && errno != EINTR)
                        return;
                if (n <= 0 || !fds[1].revents)
                        continue;
                if (!supervisor_hear(f, &m))
                        return;
                f->summary = m;
                f->has_summary = true;
        }
}

static void attached_finish_recorder(struct attached *a) {
        struct supervisor *f = &a->supervisor;
        struct control_message m = {.kind = CONTROL_STOP};

        if (f->recorder_is_gone)
                return;
        if (f->summary.kind != CONTROL_FINISHED && a->is_replaced)
                attached_tell_replaced(a);
        else if (f->summary.kind != CONTROL_FINISHED && !attached_target_is_gone(a))
                (void)!send(f->control_fd, &m, sizeof(m), MSG_NOSIGNAL);
        else if (f->summary.kind != CONTROL_FINISHED)
                attached_await_children(a);
        while (f->summary.kind != CONTROL_FINISHED && supervisor_hear(f, &m)) {
                f->summary = m;
                f->has_summary = true;
        }
        if (f->recorder_stall == STALL_NONE)
                supervisor_reap_recorder(f, true);
}

/* Of a recording that never began nothing is left. */
static void attached_drop_recorder(struct attached *a) {
        shm_stop_recording(&a->supervisor.shm);
        close(TAKE_FD(a->supervisor.control_fd));
        waitpid(a->supervisor.recorder, NULL, 0);
        unlink(a->supervisor.trace_path);
        rendezvous_close(&a->supervisor.rendezvous);
}

static int attached_record(struct attached *a) {
        struct supervisor *f = &a->supervisor;
        struct attach_request request = {.runtime_path = f->runtime_path};
        struct control_prior had;
        struct prior seen;
        struct err e = {0};

        attached_block_signals(a);
        supervisor_lift_file_limit(f);
        if (attach_open(&a->attach, f->target, &e) < 0) {
                attach_done(&a->attach);
                return supervisor_fail(&e, ATTACHED_REFUSED);
        }
        prior_ask_kernel(f->target, &had);
        prior_look(&a->attach.target, &seen); /* before the recording's time begins */
        if (attached_start_recorder(a, &e) < 0) {
                attach_done(&a->attach);
                rendezvous_close(&f->rendezvous);
                return supervisor_fail(&e, ATTACHED_REFUSED);
        }
        a->target_fd = (int)syscall(SYS_pidfd_open, f->target, 0);
        request.rendezvous = f->rendezvous.env;
        prior_tell(f->control_fd, &had, &seen);
        attached_hurry(a, true);
        a->attach.leave = attached_end_time;
        a->attach.leave_ctx = &f->shm;
        a->is_recording = attach_begin(&a->attach, &request, &e) == 0;
        attached_hurry(a, false);
        if (!a->is_recording) {
                attached_leave(a);
                attached_drop_recorder(a);
                program_explain_go(f->target, &e);
                return supervisor_fail(&e, ATTACHED_REFUSED);
        }
        if (program_is_go_process(f->target))
                supervisor_say(f, "process %d (%s) " PROGRAM_GO_WORDS, (int)f->target,
                               a->attach.target.name);
        supervisor_say(f, "recording process %d (%s)%s", (int)f->target, a->attach.target.name,
                       f->options->begin_note
                               ? ""
                               : ": press Ctrl-C to stop; the process keeps running");
        attached_tell_pause(a, false, a->attach.enter_pause_ns);
        if (a->attach.is_list_unseen)
                supervisor_say(
                        f,
                        "the process opened libraries while silt attached; allocators in them are not seen: attach again");
        if (f->options->verbose)
                supervisor_say(
                        f,
                        "%u functions hooked; one thread was stopped for %.1f ms (and waited %.1f ms for a CPU), all running threads for %.1f ms",
                        a->attach.entries.n_written, (double)a->attach.call_pause_ns / 1e6,
                        (double)a->attach.call_queued_ns / 1e6,
                        (double)a->attach.entry_pause_ns / 1e6);
        supervisor_tell_recording(f);
        attached_wait(a);
        attached_leave(a);
        attached_finish_recorder(a);
        supervisor_name_stacks(f);
        supervisor_closing_words(f);
        rendezvous_close(&f->rendezvous);
        return 0;
}

int supervisor_attach(const struct run_options *o) {
        struct attached a = {.options = *o, .signal_fd = -1, .target_fd = -1};
        struct arena *arena = arena_new();
        uint16_t machine = 0;
        struct err e = {0};
        const char *const *args;
        uint32_t n_args;
        int status;

        a.supervisor = (struct supervisor){.options = &a.options,
                                           .go_fd = -1,
                                           .exec_fd = -1,
                                           .control_fd = -1,
                                           .log_fd = -1,
                                           .shm.fd = -1,
                                           .relay.sentinel.fd = -1,
                                           .target = o->attached};
        a.supervisor.rendezvous.abstract_fd = a.supervisor.rendezvous.path_fd = -1;
        supervisor_fill_standard_fds();
        if (supervisor_prepare_runtime(&a.supervisor, &machine, &e) < 0 ||
            process_check(o->attached, machine, &e) < 0) {
                program_explain_go(o->attached, &e);
                return supervisor_fail(&e, ATTACHED_REFUSED);
        }
        args = proc_args(arena, o->attached, &n_args);
        a.options.argv = arena_alloc(arena, (n_args + 2) * sizeof(char *));
        a.options.argv[0] = (char *)"process"; /* one that hides its command */
        for (uint32_t i = 0; i < n_args; i++)
                a.options.argv[i] = (char *)args[i];
        a.options.argv[MAX(n_args, 1u)] = NULL;
        status = attached_record(&a);
        arena_free(arena);
        return status;
}

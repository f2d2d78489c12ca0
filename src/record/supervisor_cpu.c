/* SPDX-License-Identifier: MIT */
/* `silt cpu attach` as the shell sees it: starts the recorder of a process that runs, waits for the end. The process is neither its
 * child nor in its group, and knows nothing of it. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/macros.h"
#include "record/proc.h"
#include "record/supervisor_state.h"

enum { CPU_REFUSED = 2 };

static int cpu_block_signals(struct supervisor *f) {
        sigset_t signals;

        sigemptyset(&signals);
        sigaddset(&signals, SIGINT);
        sigaddset(&signals, SIGTERM);
        sigaddset(&signals, SIGHUP);
        sigaddset(&signals, SIGQUIT);
        sigprocmask(SIG_BLOCK, &signals, &f->mask_before);
        sigaction(SIGCHLD, NULL, &f->child_action_before);
        signal(SIGCHLD, SIG_DFL);
        signal(SIGPIPE, SIG_IGN);
        return signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int cpu_start(struct supervisor *f, struct err *reterr) {
        int trace_fd, r = supervisor_open_log(f, reterr);

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

/* Until the recorder has written all, which it does by itself, or because somebody ends silt. */
static void cpu_wait(struct supervisor *f, int signal_fd) {
        struct control_message stop = {.kind = CONTROL_STOP}, m;
        struct pollfd fds[] = {{.fd = f->control_fd, .events = POLLIN},
                               {.fd = signal_fd, .events = POLLIN}};
        struct signalfd_siginfo info;

        while (f->summary.kind != CONTROL_FINISHED) {
                if (poll(fds, 2, -1) < 0 && errno != EINTR)
                        return;
                if (fds[1].revents && read(signal_fd, &info, sizeof(info)) > 0)
                        (void)!send(f->control_fd, &stop, sizeof(stop), MSG_NOSIGNAL);
                if (!fds[0].revents)
                        continue;
                if (!supervisor_hear(f, &m))
                        break;
                f->summary = m;
                f->has_summary = true;
        }
        if (f->recorder_stall == STALL_NONE)
                supervisor_reap_recorder(f, true);
}

static int cpu_record(struct supervisor *f) {
        _cleanup_close_ int signal_fd = cpu_block_signals(f);
        struct err e = {0};

        supervisor_lift_file_limit(f);
        if (cpu_start(f, &e) < 0)
                return supervisor_fail(&e, CPU_REFUSED);
        supervisor_say(
                f, "taking samples of process %d: press Ctrl-C to stop; the process keeps running",
                (int)f->target);
        supervisor_tell_recording(f);
        cpu_wait(f, signal_fd);
        supervisor_name_stacks(f);
        supervisor_closing_words(f);
        return 0;
}

int supervisor_cpu_attach(const struct run_options *o) {
        struct run_options options = *o;
        struct supervisor f = {.options = &options,
                               .target = o->attached,
                               .target_status = -1,
                               .go_fd = -1,
                               .exec_fd = -1,
                               .control_fd = -1,
                               .log_fd = -1,
                               .shm.fd = -1,
                               .rendezvous.abstract_fd = -1,
                               .rendezvous.path_fd = -1,
                               .relay.sentinel.fd = -1};
        _cleanup_(arena_freep) struct arena *arena = arena_new();
        const char *const *args;
        struct err e = {0};
        uint32_t n_args;

        supervisor_fill_standard_fds();
        if (!proc_is_running(o->attached)) {
                err_set(&e, -ESRCH, "no process %d: see 'ps' or 'pidof'", (int)o->attached);
                return supervisor_fail(&e, CPU_REFUSED);
        }
        if (proc_is_kernel(o->attached)) {
                err_set(&e, -EINVAL,
                        "process %d is a thread of the kernel: only programs can be sampled",
                        (int)o->attached);
                return supervisor_fail(&e, CPU_REFUSED);
        }
        args = proc_args(arena, o->attached, &n_args);
        options.argv = arena_alloc(arena, (n_args + 2) * sizeof(char *));
        options.argv[0] = (char *)"process"; /* one that hides its command */
        for (uint32_t i = 0; i < n_args; i++)
                options.argv[i] = (char *)args[i];
        options.argv[MAX(n_args, 1u)] = NULL;
        return cpu_record(&f);
}

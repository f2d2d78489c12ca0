/* SPDX-License-Identifier: MIT */
#include "record/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/macros.h"
#include "base/system_clock.h"
#include "base/vec.h"
#include "record/counter.h"
#include "record/proc.h"
#include "record/supervisor_state.h"

static void supervisor_set_environment(const struct supervisor *f) {
        const char *own = getenv("LD_PRELOAD");
        char *preload;

        if (asprintf(&preload, "%s%s%s", f->runtime_path, own && *own ? ":" : "", own ? own : "") <
            0)
                _exit(SUPERVISOR_FAILED);
        setenv("LD_PRELOAD", preload, 1);
        setenv(WIRE_ENV, f->rendezvous.env, 1);
}

/* An emulator gets the guest's environment by -E options, as qemu-user takes them; its own stays clean. */
static char **supervisor_launcher_argv(const struct supervisor *f) {
        VEC(char *) argv = {0};
        char *words = strdup(f->options->launcher), *word, *option;

        if (!words)
                _exit(SUPERVISOR_FAILED);
        while ((word = strsep(&words, " ")))
                if (*word)
                        vec_push(&argv, word);
        if (asprintf(&option, "LD_PRELOAD=%s", f->runtime_path) < 0)
                _exit(SUPERVISOR_FAILED);
        vec_push(&argv, (char *)"-E");
        vec_push(&argv, option);
        if (asprintf(&option, "%s=%s", WIRE_ENV, f->rendezvous.env) < 0)
                _exit(SUPERVISOR_FAILED);
        vec_push(&argv, (char *)"-E");
        vec_push(&argv, option);
        for (char **a = f->options->argv; *a; a++)
                vec_push(&argv, *a);
        vec_push(&argv, NULL);
        return argv.items;
}

static void supervisor_target_main(const struct supervisor *f, int go_read_fd, int exec_write_fd)
        __attribute__((noreturn));

/* Between fork and exec: waits for the recorder, then becomes the program. */
static void supervisor_target_main(const struct supervisor *f, int go_read_fd, int exec_write_fd) {
        char **argv = f->options->argv;
        char go;
        int e;

        if (fs_read_some(go_read_fd, &go, 1) != 1)
                _exit(SUPERVISOR_FAILED);
        if (f->options->dormant || f->options->cpu_only)
                prctl(PR_SET_PTRACER,
                      getppid()); /* where only parents may trace: silt's helper too */
        else if (f->options->launcher)
                argv = supervisor_launcher_argv(f);
        else
                supervisor_set_environment(f);
        execvp(argv[0], argv);
        e = errno;
        (void)!write(exec_write_fd, &e, sizeof(e));
        _exit(e == ENOENT ? SUPERVISOR_NOT_FOUND : SUPERVISOR_NOT_EXECUTABLE);
}

int supervisor_fork_target(struct supervisor *f, struct err *reterr) {
        int go[2], failed[2];

        if (pipe2(go, O_CLOEXEC) < 0 || pipe2(failed, O_CLOEXEC) < 0)
                return err_set_errno(reterr, -errno, "cannot create pipes (raise ulimit -n)");
        f->target = fork();
        if (f->target < 0)
                return err_set_errno(reterr, -errno, "fork: too many processes (see ulimit -u)");
        if (f->target == 0) {
                close(go[1]);
                close(failed[0]);
                setrlimit(RLIMIT_FSIZE, &f->fsize_before);
                if (f->options->stage && f->options->stage->in_target)
                        f->options->stage->in_target(f->options->stage->ctx);
                supervisor_restore_signals(f);
                supervisor_target_main(f, go[0], failed[1]);
        }
        close(go[0]);
        close(failed[1]);
        f->go_fd = go[1];
        f->exec_fd = failed[0];
        return 0;
}

bool supervisor_check_target(struct supervisor *f, int *ret_status, struct rusage *ret_usage) {
        int status;

        while (wait4(f->target, &status, WNOHANG | WUNTRACED, ret_usage) == f->target) {
                if (!WIFSTOPPED(status)) {
                        *ret_status = status;
                        return true;
                }
                if (WSTOPSIG(status) == SIGTSTP || WSTOPSIG(status) == SIGTTIN ||
                    WSTOPSIG(status) == SIGTTOU)
                        relay_stop(&f->relay);
        }
        return false;
}

void supervisor_want_graph(struct supervisor *f) {
        struct control_message m = {.kind = CONTROL_GRAPH};

        (void)!send(f->control_fd, &m, sizeof(m), MSG_NOSIGNAL | MSG_DONTWAIT);
}

static int supervisor_wait_for_target(struct supervisor *f, const sigset_t *signals,
                                      struct rusage *ret_usage) {
        siginfo_t info;
        int status;

        while (!supervisor_check_target(f, &status, ret_usage)) {
                if (sigwaitinfo(signals, &info) < 0)
                        continue;
                if (info.si_signo == SIGCHLD)
                        supervisor_reap_recorder(f, false);
                else if (info.si_signo == f->options->graph_signal)
                        supervisor_want_graph(f);
                else
                        relay_pass_on(&f->relay, &info);
        }
        return status;
}

/* 0: not known. The kernel counts what the child had before its exec, which is silt's own size. */
static uint64_t supervisor_max_rss_bytes(const struct rusage *usage) {
        uint64_t bytes = (uint64_t)usage->ru_maxrss * 1024;

        return bytes > proc_peak_bytes(getpid()) ? bytes : 0;
}

/* Waits for the recorder's word. One that is stopped and does not go on is left behind as it is: continued, it writes
 * the rest alone. */
static void supervisor_finish_recording(struct supervisor *f, int status,
                                        const struct rusage *usage) {
        struct control_message m = {.kind = CONTROL_TARGET_ENDED, .wait_status = status};
        bool wait_for_all = f->options->wait_for_descendants;

        if (f->recorder_is_gone)
                return;
        m.max_rss_bytes = supervisor_max_rss_bytes(usage);
        (void)!send(f->control_fd, &m, sizeof(m), MSG_NOSIGNAL);
        while (supervisor_hear(f, &m)) {
                f->summary = m;
                f->has_summary = true;
                if (m.kind == CONTROL_FINISHED ||
                    (m.kind == CONTROL_WRITTEN && m.n_living > 0 && !wait_for_all))
                        return;
        }
        if (f->recorder_stall == STALL_NONE)
                supervisor_reap_recorder(f, true);
}

int supervisor_exit_status(int status) {
        return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void supervisor_drop_target(struct supervisor *f) {
        if (f->go_fd >= 0)
                close(TAKE_FD(f->go_fd));
        if (f->target > 0)
                waitpid(f->target, NULL, 0);
}

/* The log, and the memory that runtime and recorder share. */
int supervisor_open_arena(struct supervisor *f, uint32_t clock, struct err *reterr) {
        uint32_t flags = (f->options->lossy ? WIRE_LOSSY : 0) |
                         (f->options->free_stacks ? WIRE_FREE_STACKS : 0) |
                         (f->options->sample_bytes ? WIRE_SAMPLED : 0) |
                         (f->options->leaks ? WIRE_LAST_LOOK : 0) |
                         (f->options->has_fails ? WIRE_FAILS : 0);
        int r = supervisor_open_log(f, reterr);

        if (r < 0)
                return r;
        f->arena_opened = counter_moment();
        r = shm_open_arena(&f->shm, flags, clock, counter_now(clock), reterr);
        if (r < 0)
                return r;
        shm_set_sampling(&f->shm, f->options->sample_bytes);
        return 0;
}

/* The target waits, and nobody else has the arena yet. */
static void supervisor_plan_fails(const struct supervisor *f) {
        const struct run_options *o = f->options;

        if (o->has_fails)
                shm_header(&f->shm)->fails =
                        (struct wire_fails){.nth = o->fail_nth,
                                            .above_bytes = o->has_fail_above ? o->fail_above_bytes
                                                                             : UINT64_MAX,
                                            .rate = (uint64_t)(o->fail_pct / 100 * 4294967296.0),
                                            .seed = o->fail_seed,
                                            .pid = o->fail_children ? 0 : (uint32_t)f->target};
}

static int supervisor_start(struct supervisor *f, struct err *reterr) {
        const struct run_stage *stage = f->options->stage;
        int trace_fd, r;

        if (!f->options->cpu_only && (r = rendezvous_open(&f->rendezvous, reterr)) < 0)
                return r;
        r = supervisor_fork_target(f, reterr); /* silt's first child */
        if (r < 0)
                return r;
        if (f->options->cpu_only) {
                r = supervisor_open_log(f, reterr);
        } else {
                f->foresight = foresight_begin(f->options, &f->program);
                r = supervisor_open_arena(f, counter_kind(f->options->launcher != NULL), reterr);
        }
        if (r < 0)
                return r;
        supervisor_plan_fails(f);
        if (stage && stage->enter && (r = stage->enter(stage->ctx, f->target, reterr)) < 0)
                return r;
        trace_fd = supervisor_open_trace(f, reterr);
        if (trace_fd < 0)
                return trace_fd;
        foresight_end(TAKE_PTR(f->foresight), &f->known);
        r = supervisor_fork_recorder(f, trace_fd, reterr);
        close(trace_fd);
        if (r < 0)
                return r;
        relay_begin(&f->relay, f->target); /* its sentinel starts while the recorder does */
        r = supervisor_await_ready(f, reterr);
        if (r < 0 && f->options->cpu_rate_hz)
                unlink(f->trace_path); /* refused: of a recording that never began nothing is left */
        return r;
}

/* Lets the target go; its exec closes exec_fd, or errno comes through it. */
int supervisor_release_target(struct supervisor *f) {
        int e = 0;

        (void)!write(f->go_fd, "g", 1);
        close(TAKE_FD(f->go_fd));
        if (fs_read_some(f->exec_fd, &e, sizeof(e)) != (ssize_t)sizeof(e))
                return 0;
        return -e;
}

static double supervisor_clock_s(void) {
        return (double)clock_now_ns() / 1e9;
}

/* The disk was full, the recorder died, or events were lost. */
static bool supervisor_lacks_events(const struct supervisor *f) {
        return !f->has_summary || f->recorder_stall != STALL_NONE || f->summary.n_unwritten ||
               f->summary.n_lost || !f->summary.n_images;
}

static int supervisor_record(struct supervisor *f) {
        const struct run_stage *stage = f->options->stage;
        double start_s = supervisor_clock_s();
        struct rusage usage = {0};
        struct sigaction plain = {.sa_handler = SIG_DFL};
        struct err e = {0};
        sigset_t signals;
        int status, r;

        relay_signals(&signals);
        sigprocmask(SIG_BLOCK, &signals, &f->mask_before);
        sigaction(SIGCHLD, &plain, &f->child_action_before);
        supervisor_lift_file_limit(f);
        if (supervisor_start(f, &e) < 0) {
                /* first: its child has the target's pipe too */
                foresight_end(TAKE_PTR(f->foresight), &f->known);
                relay_end(&f->relay);
                supervisor_drop_target(f);
                rendezvous_close(&f->rendezvous);
                return supervisor_fail(&e, SUPERVISOR_FAILED);
        }
        /* The target may be dead already, and whoever reads stderr may have gone: neither ends silt. */
        signal(SIGPIPE, SIG_IGN);
        r = supervisor_release_target(f);
        if (r < 0) {
                relay_end(&f->relay);
                supervisor_drop_target(f);
                unlink(f->trace_path);
                err_set_errno(&e, r, "cannot run '%s'", f->options->argv[0]);
                return supervisor_fail(&e, r == -ENOENT ? SUPERVISOR_NOT_FOUND
                                                        : SUPERVISOR_NOT_EXECUTABLE);
        }
        supervisor_tell_recording(f);
        status = supervisor_wait_for_target(f, &signals, &usage);
        f->target_status = status;
        f->target_wall_s = supervisor_clock_s() - start_s;
        f->target_cpu_s = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                          (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
        if (stage && stage->ended)
                stage->ended(stage->ctx, status, supervisor_max_rss_bytes(&usage));
        supervisor_finish_recording(f, status, &usage);
        relay_end(&f->relay);
        supervisor_name_stacks(f);
        if (stage && stage->say)
                stage->say(stage->ctx, f->trace_path);
        supervisor_closing_words(f);
        if (f->options->strict && status == 0 && supervisor_lacks_events(f))
                return SUPERVISOR_INCOMPLETE;
        return supervisor_exit_status(status);
}

static int supervisor_check_program(struct supervisor *f) {
        struct err e = {0};
        uint16_t machine = 0;

        if (supervisor_prepare_runtime(f, &machine, &e) < 0)
                return supervisor_fail(&e, SUPERVISOR_FAILED);
        switch (program_check(f->options->argv[0], machine, &f->program, &e)) {
        case PROGRAM_OK:
                if (f->program.is_go)
                        supervisor_say(f, "'%s' " PROGRAM_GO_WORDS, f->options->argv[0]);
                return 0;
        case PROGRAM_NOT_FOUND: return supervisor_fail(&e, SUPERVISOR_NOT_FOUND);
        case PROGRAM_NOT_EXECUTABLE: return supervisor_fail(&e, SUPERVISOR_NOT_EXECUTABLE);
        case PROGRAM_REFUSED: break;
        }
        return supervisor_fail(&e, SUPERVISOR_FAILED);
}

int supervisor_run(const struct run_options *o) {
        struct supervisor f = {.options = o,
                               .target_status = -1,
                               .go_fd = -1,
                               .exec_fd = -1,
                               .control_fd = -1,
                               .log_fd = -1,
                               .shm.fd = -1,
                               .relay.sentinel.fd = -1};
        int status;

        supervisor_fill_standard_fds();
        if (access("/proc/self/stat", R_OK) < 0) {
                fputs("silt: /proc: not mounted, but silt needs it to follow processes: mount -t proc proc /proc\n",
                      stderr);
                return SUPERVISOR_FAILED;
        }
        status = o->cpu_only ? 0 : supervisor_check_program(&f); /* exec says what is wrong */
        if (status)
                return status;
        f.rendezvous.abstract_fd = f.rendezvous.path_fd = -1;
        if (o->dormant)
                return dormant_run(&f);
        status = supervisor_record(&f);
        if (f.recorder_is_gone || f.summary.kind == CONTROL_FINISHED || f.recorder <= 0)
                rendezvous_close(&f.rendezvous);
        return status;
}

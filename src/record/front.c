/* SPDX-License-Identifier: MIT */
#include "record/front.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/macros.h"
#include "base/units.h"
#include "base/vec.h"
#include "record/control.h"
#include "record/counter.h"
#include "record/entry.h"
#include "record/oom.h"
#include "record/proc.h"
#include "record/pulse.h"
#include "record/recorder.h"
#include "record/relay.h"
#include "record/rendezvous.h"
#include "record/shm.h"
#include "record/words.h"

struct front {
        const struct run_options *options;
        char runtime_path[4096];
        char trace_path[4096];
        struct shm shm;
        struct rendezvous rendezvous;
        int control_fd;
        int go_fd;   /* closing or writing it lets the target exec */
        int exec_fd; /* carries errno when exec failed */
        int log_fd;  /* -1: none */
        pid_t target, recorder;
        struct relay relay;
        sigset_t mask_before; /* the target's own: signals are blocked while silt waits */
        struct sigaction xfsz_action_before;
        struct rlimit fsize_before; /* the target's own too; silt's files may be larger */
        struct sigaction
                child_action_before; /* the shell may have silt start with SIGCHLD ignored */
        struct oom_watch oom;        /* of the recorder: it may be in the target's limited group */
        bool recorder_is_gone;
        bool recorder_was_oom_killed;
        enum pulse_verdict recorder_pulse; /* other than BEATS: silt waits for it no longer */
        bool has_summary;
        double target_cpu_s, target_wall_s; /* wall: from silt's own start to the target's end */
        struct control_message summary;     /* the last WRITTEN or FINISHED */
};

static void front_say(const struct front *f, const char *fmt, ...)
        __attribute__((format(printf, 2, 3)));

static void front_say(const struct front *f, const char *fmt, ...) {
        va_list args;

        if (f->options->quiet)
                return;
        va_start(args, fmt);
        fputs("silt: ", stderr);
        vfprintf(stderr, fmt, args);
        fputc('\n', stderr);
        va_end(args);
}

static int front_fail(const struct err *e, int status) {
        fprintf(stderr, "silt: %s\n", e->text);
        return status;
}

int front_find_runtime(char *ret_path, size_t cap, struct err *reterr) {
        static const char *const places[] = {"libsilt.so", "../lib/silt/libsilt.so"};
        char exe[4096];
        ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
        char *slash;

        if (n < 0)
                return err_set_errno(reterr, -errno, "runtime: cannot tell where silt is");
        exe[n] = 0;
        slash = strrchr(exe, '/');
        if (slash)
                slash[1] = 0;
        for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
                snprintf(ret_path, cap, "%s%s", exe, places[i]);
                if (access(ret_path, R_OK) == 0)
                        return 0;
        }
        return err_set(
                reterr, -ENOENT,
                "runtime: libsilt.so is neither beside silt nor in ../lib/silt: install silt again");
}

/* ELF e_machine of the runtime decides which programs can be entered. */
static int front_runtime_machine(const char *path, uint16_t *ret_machine, struct err *reterr) {
        _cleanup_close_ int fd = fs_open(path, O_RDONLY, 0);
        Elf64_Ehdr eh;

        if (fd < 0)
                return err_set_errno(reterr, fd, "runtime '%s'", path);
        if (fs_read_at(fd, &eh, sizeof(eh), 0) != sizeof(eh) ||
            memcmp(eh.e_ident, ELFMAG, SELFMAG) != 0)
                return err_set(reterr, -ENOEXEC,
                               "runtime '%s': not a shared library: give the path of libsilt.so",
                               path);
        *ret_machine = eh.e_machine;
        return 0;
}

static int front_prepare_runtime(struct front *f, uint16_t *ret_machine, struct err *reterr) {
        int r;

        if (f->options->runtime_path) {
                if (!realpath(f->options->runtime_path, f->runtime_path))
                        return err_set_errno(reterr, -errno, "runtime '%s'",
                                             f->options->runtime_path);
        } else {
                r = front_find_runtime(f->runtime_path, sizeof(f->runtime_path), reterr);
                if (r < 0)
                        return r;
        }
        if (strpbrk(f->runtime_path, " :"))
                return err_set(
                        reterr, -EINVAL,
                        "runtime '%s': the loader cannot preload a path with a space or colon: move silt",
                        f->runtime_path);
        return front_runtime_machine(f->runtime_path, ret_machine, reterr);
}

static void front_set_environment(const struct front *f) {
        const char *own = getenv("LD_PRELOAD");
        char *preload;

        if (asprintf(&preload, "%s%s%s", f->runtime_path, own && *own ? ":" : "", own ? own : "") <
            0)
                _exit(FRONT_FAILED);
        setenv("LD_PRELOAD", preload, 1);
        setenv(WIRE_ENV, f->rendezvous.env, 1);
}

/* An emulator gets the guest's environment by -E options, as qemu-user takes them; its own stays clean. */
static char **front_launcher_argv(const struct front *f) {
        VEC(char *) argv = {0};
        char *words = strdup(f->options->launcher), *word, *option;

        if (!words)
                _exit(FRONT_FAILED);
        while ((word = strsep(&words, " ")))
                if (*word)
                        vec_push(&argv, word);
        if (asprintf(&option, "LD_PRELOAD=%s", f->runtime_path) < 0)
                _exit(FRONT_FAILED);
        vec_push(&argv, (char *)"-E");
        vec_push(&argv, option);
        if (asprintf(&option, "%s=%s", WIRE_ENV, f->rendezvous.env) < 0)
                _exit(FRONT_FAILED);
        vec_push(&argv, (char *)"-E");
        vec_push(&argv, option);
        for (char **a = f->options->argv; *a; a++)
                vec_push(&argv, *a);
        vec_push(&argv, NULL);
        return argv.items;
}

static void front_target_main(const struct front *f, int go_read_fd, int exec_write_fd)
        __attribute__((noreturn));

/* Between fork and exec: waits for the recorder, then becomes the program. */
static void front_target_main(const struct front *f, int go_read_fd, int exec_write_fd) {
        char **argv = f->options->argv;
        char go;
        int e;

        if (fs_read_some(go_read_fd, &go, 1) != 1)
                _exit(FRONT_FAILED);
        if (f->options->launcher)
                argv = front_launcher_argv(f);
        else
                front_set_environment(f);
        execvp(argv[0], argv);
        e = errno;
        (void)!write(exec_write_fd, &e, sizeof(e));
        _exit(e == ENOENT ? FRONT_NOT_FOUND : FRONT_NOT_EXECUTABLE);
}

static void front_restore_signals(const struct front *f) {
        sigaction(SIGCHLD, &f->child_action_before, NULL);
        sigaction(SIGXFSZ, &f->xfsz_action_before, NULL);
        sigprocmask(SIG_SETMASK, &f->mask_before, NULL);
}

/* A file-size limit is meant for the target. Shared memory counts as a file, so silt frees itself of it as far as it
 * may, and must not be killed by it where it may not. */
static void front_lift_file_limit(struct front *f) {
        struct sigaction ignore = {.sa_handler = SIG_IGN};
        struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY}, most;

        sigaction(SIGXFSZ, &ignore, &f->xfsz_action_before);
        getrlimit(RLIMIT_FSIZE, &f->fsize_before);
        most = (struct rlimit){f->fsize_before.rlim_max, f->fsize_before.rlim_max};
        if (setrlimit(RLIMIT_FSIZE, &none) < 0)
                setrlimit(RLIMIT_FSIZE, &most);
}

static int front_fork_target(struct front *f, struct err *reterr) {
        int go[2], failed[2];

        if (pipe2(go, O_CLOEXEC) < 0 || pipe2(failed, O_CLOEXEC) < 0)
                return err_set_errno(reterr, -errno, "pipes: cannot make them (raise ulimit -n)");
        f->target = fork();
        if (f->target < 0)
                return err_set_errno(reterr, -errno, "fork: no process to be had (see ulimit -u)");
        if (f->target == 0) {
                close(go[1]);
                close(failed[0]);
                setrlimit(RLIMIT_FSIZE, &f->fsize_before);
                front_restore_signals(f);
                front_target_main(f, go[0], failed[1]);
        }
        close(go[0]);
        close(failed[1]);
        f->go_fd = go[1];
        f->exec_fd = failed[0];
        return 0;
}

/* A file that is overwritten was made by somebody with a mode of its own, and may be no file at all. */
static int front_make_private(const struct front *f, int fd, struct err *reterr) {
        struct stat st;

        if (fstat(fd, &st) < 0)
                return err_set_errno(reterr, -errno, "'%s'", f->trace_path);
        if (!S_ISREG(st.st_mode))
                return err_set(reterr, -EINVAL,
                               "'%s': it is no regular file: a trace cannot be written there",
                               f->trace_path);
        /* Some file systems have no modes: there a new file would not be private either. */
        if ((st.st_mode & 077) && fchmod(fd, 0600) < 0 && st.st_uid != geteuid())
                return err_set(
                        reterr, -EPERM,
                        "'%s': it belongs to another user and others may read it: choose another -o",
                        f->trace_path);
        return 0;
}

/* A trace holds what a program did with its memory: nobody else may read it, and no planted link is followed. */
static int front_open_trace(struct front *f, struct err *reterr) {
        const struct run_options *o = f->options;
        const char *slash = strrchr(o->argv[0], '/');
        int flags = O_RDWR | O_CREAT | O_NOFOLLOW, fd, r;

        if (o->output_path)
                snprintf(f->trace_path, sizeof(f->trace_path), "%s", o->output_path);
        else
                snprintf(f->trace_path, sizeof(f->trace_path), "silt.%s.%d.silt",
                         slash ? slash + 1 : o->argv[0], (int)f->target);
        fd = fs_open(f->trace_path, flags | (o->overwrite ? 0 : O_EXCL), 0600);
        if (fd == -EEXIST)
                return err_set(
                        reterr, fd,
                        "'%s': it exists already: choose another -o, or overwrite it with -f",
                        f->trace_path);
        if (fd == -ELOOP)
                return err_set(reterr, fd,
                               "'%s': it is a symbolic link, which is not followed: name the file",
                               f->trace_path);
        if (fd < 0)
                return err_set_errno(reterr, fd, "'%s': cannot write the trace there",
                                     f->trace_path);
        r = front_make_private(f, fd, reterr);
        if (r < 0) {
                close(fd);
                return r;
        }
        return fd;
}

static int front_fork_recorder(struct front *f, int trace_fd, struct err *reterr) {
        struct recorder_config config = {
                .shm = &f->shm,
                .rendezvous = &f->rendezvous,
                .trace_fd = trace_fd,
                .trace_path = f->trace_path,
                .options = f->options,
                .target = f->target,
                .runtime_path = f->runtime_path,
                .log_fd = f->log_fd,
        };
        int pair[2];

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                return err_set_errno(reterr, -errno,
                                     "control socket: cannot make it (raise ulimit -n)");
        f->recorder = fork();
        if (f->recorder < 0)
                return err_set_errno(reterr, -errno, "fork: no process to be had (see ulimit -u)");
        if (f->recorder == 0) {
                close(pair[0]);
                close(f->go_fd);
                close(f->exec_fd);
                front_restore_signals(f);
                config.control_fd = pair[1];
                recorder_main(&config);
        }
        close(pair[1]);
        f->control_fd = pair[0];
        oom_watch_begin(&f->oom, f->recorder, "/proc", "/sys/fs/cgroup");
        return 0;
}

static void front_take_message(struct front *f) {
        struct control_message m;
        ssize_t n = recv(f->control_fd, &m, sizeof(m), MSG_DONTWAIT);

        if (n != (ssize_t)sizeof(m))
                return;
        m.trouble[sizeof(m.trouble) - 1] = 0;
        if (m.kind == CONTROL_WRITTEN || m.kind == CONTROL_FINISHED) {
                f->summary = m;
                f->has_summary = true;
        }
}

/* The recorder's next word. False when it died, because the socket closes with it, or does not go on. */
static bool front_hear(struct front *f, struct control_message *ret) {
        struct pollfd control = {.fd = f->control_fd, .events = POLLIN};
        struct pulse pulse;
        int n;

        pulse_begin(&pulse, f->recorder);
        while ((n = poll(&control, 1, PULSE_LOOK_MS)) != 1) {
                if (n == 0)
                        f->recorder_pulse = pulse_look(&pulse);
                if (f->recorder_pulse != PULSE_BEATS)
                        return false;
        }
        if (recv(f->control_fd, ret, sizeof(*ret), 0) != (ssize_t)sizeof(*ret))
                return false;
        ret->trouble[sizeof(ret->trouble) - 1] = 0;
        return true;
}

/* Blocks until the recorder says it is ready; an error text comes the same way. */
static int front_await_ready(struct front *f, struct err *reterr) {
        struct control_message m;

        if (!front_hear(f, &m)) {
                if (f->recorder_pulse == PULSE_BEATS)
                        return err_set(reterr, -EIO,
                                       "recorder: it ended before it began: see --log");
                kill(f->recorder, SIGKILL);
                return err_set(reterr, -EIO, "recorder: it was stopped before it began: try again");
        }
        if (m.kind != CONTROL_READY)
                return err_set(reterr, -EIO, "recorder: %s", m.trouble);
        return 0;
}

static bool front_reap_recorder(struct front *f, bool wait_for_it) {
        int status;

        if (f->recorder_is_gone)
                return true;
        if (waitpid(f->recorder, &status, wait_for_it ? 0 : WNOHANG) != f->recorder)
                return false;
        f->recorder_is_gone = true;
        f->recorder_was_oom_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL &&
                                     oom_watch_take(&f->oom, "/proc");
        front_take_message(f);
        shm_stop_recording(&f->shm);
        rendezvous_close(&f->rendezvous); /* whoever waits for a welcome there need not wait on */
        return true;
}

/* True when the target has ended. When job control stops the target, silt stops with it, so that the shell sees it. */
static bool front_check_target(struct front *f, int *ret_status, struct rusage *ret_usage) {
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

static int front_wait_for_target(struct front *f, const sigset_t *signals,
                                 struct rusage *ret_usage) {
        siginfo_t info;
        int status;

        while (!front_check_target(f, &status, ret_usage)) {
                if (sigwaitinfo(signals, &info) < 0)
                        continue;
                if (info.si_signo == SIGCHLD)
                        front_reap_recorder(f, false);
                else
                        relay_pass_on(&f->relay, &info);
        }
        return status;
}

/* Waits for the recorder's word. One that is stopped and does not go on is left behind as it is: continued, it writes
 * the rest alone. */
static void front_finish_recording(struct front *f, int status, const struct rusage *usage) {
        struct control_message m = {.kind = CONTROL_TARGET_ENDED, .wait_status = status};
        bool wait_for_all = f->options->wait_for_descendants;

        if (f->recorder_is_gone)
                return;
        /* The kernel counts what the child had before its exec, which is silt's own size. */
        if ((uint64_t)usage->ru_maxrss * 1024 > proc_peak_bytes(getpid()))
                m.max_rss_bytes = (uint64_t)usage->ru_maxrss * 1024;
        (void)!send(f->control_fd, &m, sizeof(m), MSG_NOSIGNAL);
        while (front_hear(f, &m)) {
                f->summary = m;
                f->has_summary = true;
                if (m.kind == CONTROL_FINISHED ||
                    (m.kind == CONTROL_WRITTEN && m.n_living > 0 && !wait_for_all))
                        return;
        }
        if (f->recorder_pulse == PULSE_BEATS)
                front_reap_recorder(f, true);
}

/* A recorder that died left stacks without names, which it would have looked up last. */
static void front_name_stacks(const struct front *f) {
        const struct run_options *o = f->options;
        struct err e = {0};

        if (f->recorder_is_gone && f->summary.kind != CONTROL_FINISHED && o->symbolize &&
            !o->no_symbols)
                (void)o->symbolize(f->trace_path, &e); /* without them it shows addresses */
}

static void front_closing_words(const struct front *f) {
        const struct control_message *m = &f->summary;
        struct unit_text events, lost, size, duration, unwritten;
        char program[512], path[4200], quoted[4200];

        words_plain(f->options->argv[0], program, sizeof(program));
        words_plain(f->trace_path, path, sizeof(path));
        words_shell(f->trace_path, quoted, sizeof(quoted));
        if (f->recorder_pulse != PULSE_BEATS) {
                fprintf(stderr,
                        "silt: recorder: pid %d %s: '%s' has what it wrote until then, the rest when it goes on: kill -CONT %d\n",
                        (int)f->recorder,
                        f->recorder_pulse == PULSE_STOPPED ? "is stopped" : "hangs", path,
                        (int)f->recorder);
                return;
        }
        if (!f->has_summary) {
                fprintf(stderr, "silt: recorder: it %s: what it wrote until then is in '%s'\n",
                        f->recorder_was_oom_killed
                                ? "was killed for want of memory during the recording"
                                : "died during the recording",
                        path);
                return;
        }
        if (m->trouble[0] && m->n_unwritten)
                fprintf(stderr, "silt: %s: %s %s missing there\n", m->trouble,
                        unit_count(&unwritten, m->n_unwritten),
                        m->n_unwritten == 1 ? "event is" : "events are");
        else if (m->trouble[0])
                fprintf(stderr, "silt: %s\n", m->trouble);
        if (!m->n_images) {
                fprintf(stderr,
                        "silt: '%s': nothing was recorded: the program ended before it reported, or dropped LD_PRELOAD: see 'silt doctor'\n",
                        program);
                return;
        }
        front_say(f, "recorded %s event%s of '%s' (pid %d) in %s; %s lost",
                  unit_count(&events, m->n_events), m->n_events == 1 ? "" : "s", program,
                  (int)f->target, unit_duration(&duration, m->duration_ns),
                  unit_count(&lost, m->n_lost + m->n_unwritten));
        if (f->options->verbose)
                front_say(
                        f,
                        "cpu: target %.3f s, recorder %.3f s, blocked %.3f s; it ended after %.3f s",
                        f->target_cpu_s, (double)m->recorder_cpu_ns / 1e9,
                        (double)m->blocked_ns / 1e9, f->target_wall_s);
        if (m->n_living)
                front_say(f, "%u of its descendants %s recorded to %s end", m->n_living,
                          m->n_living == 1 ? "lives on and is" : "live on and are",
                          m->n_living == 1 ? "its" : "their");
        front_say(f, "trace: %s (%s)", path, unit_bytes(&size, m->file_bytes));
        if (m->file_bytes)
                front_say(f, "next:  silt report %s", quoted);
}

static int front_exit_status(int status) {
        return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void front_drop_target(struct front *f) {
        if (f->go_fd >= 0)
                close(TAKE_FD(f->go_fd));
        if (f->target > 0)
                waitpid(f->target, NULL, 0);
}

static int front_open_log(struct front *f, struct err *reterr) {
        const struct run_options *o = f->options;

        if (o->log_path) {
                f->log_fd = fs_open(o->log_path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0600);
                if (f->log_fd < 0)
                        return err_set_errno(reterr, f->log_fd, "--log '%s': cannot write there",
                                             o->log_path);
        } else if (o->verbose) {
                f->log_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
        }
        return 0;
}

static int front_start(struct front *f, struct err *reterr) {
        uint32_t flags = (f->options->lossy ? WIRE_LOSSY : 0) |
                         (f->options->free_stacks ? WIRE_FREE_STACKS : 0);
        uint32_t clock = counter_kind(f->options->launcher != NULL);
        int trace_fd, r;

        r = front_open_log(f, reterr);
        if (r < 0)
                return r;
        r = shm_open_arena(&f->shm, flags, clock, counter_now(clock), reterr);
        if (r < 0)
                return r;
        r = rendezvous_open(&f->rendezvous, reterr);
        if (r < 0)
                return r;
        r = front_fork_target(f, reterr);
        if (r < 0)
                return r;
        trace_fd = front_open_trace(f, reterr);
        if (trace_fd < 0)
                return trace_fd;
        r = front_fork_recorder(f, trace_fd, reterr);
        close(trace_fd);
        if (r < 0)
                return r;
        return front_await_ready(f, reterr);
}

/* Lets the target go; its exec closes exec_fd, or errno comes through it. */
static int front_release_target(struct front *f) {
        int e = 0;

        (void)!write(f->go_fd, "g", 1);
        close(TAKE_FD(f->go_fd));
        if (fs_read_some(f->exec_fd, &e, sizeof(e)) != (ssize_t)sizeof(e))
                return 0;
        return -e;
}

static double front_clock_s(void) {
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int front_record(struct front *f) {
        double start_s = front_clock_s();
        struct rusage usage = {0};
        struct sigaction plain = {.sa_handler = SIG_DFL};
        struct err e = {0};
        sigset_t signals;
        int status, r;

        relay_signals(&signals);
        sigprocmask(SIG_BLOCK, &signals, &f->mask_before);
        sigaction(SIGCHLD, &plain, &f->child_action_before);
        front_lift_file_limit(f);
        if (front_start(f, &e) < 0) {
                front_drop_target(f);
                rendezvous_close(&f->rendezvous);
                return front_fail(&e, FRONT_FAILED);
        }
        /* The target may be dead already, and whoever reads stderr may have gone: neither ends silt. */
        signal(SIGPIPE, SIG_IGN);
        relay_begin(&f->relay, f->target);
        r = front_release_target(f);
        if (r < 0) {
                relay_end(&f->relay);
                front_drop_target(f);
                unlink(f->trace_path);
                err_set_errno(&e, r, "'%s': cannot run it", f->options->argv[0]);
                return front_fail(&e, r == -ENOENT ? FRONT_NOT_FOUND : FRONT_NOT_EXECUTABLE);
        }
        status = front_wait_for_target(f, &signals, &usage);
        f->target_wall_s = front_clock_s() - start_s;
        f->target_cpu_s = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                          (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
        front_finish_recording(f, status, &usage);
        relay_end(&f->relay);
        front_name_stacks(f);
        front_closing_words(f);
        return front_exit_status(status);
}

static int front_check_program(struct front *f) {
        struct entry entry;
        struct err e = {0};
        uint16_t machine = 0;

        if (front_prepare_runtime(f, &machine, &e) < 0)
                return front_fail(&e, FRONT_FAILED);
        switch (entry_check(f->options->argv[0], machine, &entry, &e)) {
        case ENTRY_OK: return 0;
        case ENTRY_NOT_FOUND: return front_fail(&e, FRONT_NOT_FOUND);
        case ENTRY_NOT_EXECUTABLE: return front_fail(&e, FRONT_NOT_EXECUTABLE);
        case ENTRY_REFUSED: break;
        }
        return front_fail(&e, FRONT_FAILED);
}

/* Started without stdin, stdout or stderr, silt must not get its own descriptors there. The target's exec closes
 * these again. */
static void front_fill_standard_fds(void) {
        int fd;

        do
                fd = fs_open("/dev/null", O_RDWR, 0);
        while (fd >= 0 && fd <= STDERR_FILENO);
        if (fd >= 0)
                close(fd);
}

int front_run(const struct run_options *o) {
        struct front f = {.options = o,
                          .go_fd = -1,
                          .exec_fd = -1,
                          .control_fd = -1,
                          .log_fd = -1,
                          .shm.fd = -1,
                          .relay.sentinel.fd = -1};
        int status;

        front_fill_standard_fds();
        if (access("/proc/self/stat", R_OK) < 0) {
                fputs("silt: /proc: it is not mounted, and silt follows processes by it: mount -t proc proc /proc\n",
                      stderr);
                return FRONT_FAILED;
        }
        status = front_check_program(&f);
        if (status)
                return status;
        f.rendezvous.abstract_fd = f.rendezvous.path_fd = -1;
        status = front_record(&f);
        if (f.recorder_is_gone || f.summary.kind == CONTROL_FINISHED || f.recorder <= 0)
                rendezvous_close(&f.rendezvous);
        return status;
}

/* SPDX-License-Identifier: MIT */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/runtime_check.h"
#include "base/fs.h"
#include "base/macros.h"
#include "base/memory_room.h"
#include "base/str.h"
#include "base/units.h"
#include "record/cpu_recorder.h"
#include "record/printable.h"
#include "record/recorder.h"
#include "record/supervisor_state.h"
#include "trace/recorder_end.h"
#include "trace/writer.h"

void supervisor_say(const struct supervisor *f, const char *fmt, ...) {
        va_list args;

        if (f->options->quiet)
                return;
        va_start(args, fmt);
        fputs("silt: ", stderr);
        vfprintf(stderr, fmt, args);
        fputc('\n', stderr);
        va_end(args);
}

int supervisor_fail(const struct err *e, int status) {
        fprintf(stderr, "silt: %s\n", e->text);
        return status;
}

int supervisor_find_runtime(char *ret_path, size_t cap, struct err *reterr) {
        int r = fs_find_companion("libsilt.so", R_OK, ret_path, cap);

        if (r >= 0)
                return 0;
        if (r != -ENOENT)
                return err_set_errno(reterr, r, "runtime: cannot find out where silt is installed");
        return err_set(
                reterr, -ENOENT,
                "runtime: libsilt.so is neither next to silt nor in ../lib/silt: reinstall silt");
}

/* ELF e_machine of the runtime decides which programs can be entered. */
static int supervisor_runtime_machine(const char *path, uint16_t *ret_machine, struct err *reterr) {
        _cleanup_close_ int fd = fs_open(path, O_RDONLY, 0);
        Elf64_Ehdr eh;

        if (fd < 0)
                return err_set_errno(reterr, fd, "runtime '%s'", path);
        if (fs_read_at(fd, &eh, sizeof(eh), 0) != sizeof(eh) ||
            memcmp(eh.e_ident, ELFMAG, SELFMAG) != 0)
                return err_set(reterr, -ENOEXEC,
                               "runtime '%s' is not a shared library: give the path of libsilt.so",
                               path);
        *ret_machine = eh.e_machine;
        return runtime_check_file(path, reterr);
}

int supervisor_prepare_runtime(struct supervisor *f, uint16_t *ret_machine, struct err *reterr) {
        int r;

        if (f->options->runtime_path) {
                if (!realpath(f->options->runtime_path, f->runtime_path))
                        return err_set_errno(reterr, -errno, "runtime '%s'",
                                             f->options->runtime_path);
        } else {
                r = supervisor_find_runtime(f->runtime_path, sizeof(f->runtime_path), reterr);
                if (r < 0)
                        return r;
        }
        if (strpbrk(f->runtime_path, " :"))
                return err_set(
                        reterr, -EINVAL,
                        "runtime '%s': the loader cannot preload a path with a space or colon: move silt",
                        f->runtime_path);
        return supervisor_runtime_machine(f->runtime_path, ret_machine, reterr);
}

void supervisor_restore_signals(const struct supervisor *f) {
        sigaction(SIGCHLD, &f->child_action_before, NULL);
        sigaction(SIGXFSZ, &f->xfsz_action_before, NULL);
        sigprocmask(SIG_SETMASK, &f->mask_before, NULL);
}

/* A file-size limit is meant for the target. Shared memory counts as a file, so silt frees itself of it as far as it
 * may, and must not be killed by it where it may not. */
void supervisor_lift_file_limit(struct supervisor *f) {
        struct sigaction ignore = {.sa_handler = SIG_IGN};
        struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY}, most;

        sigaction(SIGXFSZ, &ignore, &f->xfsz_action_before);
        getrlimit(RLIMIT_FSIZE, &f->fsize_before);
        most = (struct rlimit){f->fsize_before.rlim_max, f->fsize_before.rlim_max};
        if (setrlimit(RLIMIT_FSIZE, &none) < 0)
                setrlimit(RLIMIT_FSIZE, &most);
}

/* A file that is overwritten was made by somebody with a mode of its own, and may be no file at all. */
static int supervisor_make_private(const struct supervisor *f, int fd, struct err *reterr) {
        struct stat st;

        if (fstat(fd, &st) < 0)
                return err_set_errno(reterr, -errno, "'%s'", f->trace_path);
        if (!S_ISREG(st.st_mode))
                return err_set(reterr, -EINVAL,
                               "'%s' is not a regular file: choose another file (-o)",
                               f->trace_path);
        /* Some file systems have no modes: there a new file would not be private either. */
        if ((st.st_mode & 077) && fchmod(fd, 0600) < 0 && st.st_uid != geteuid())
                return err_set(
                        reterr, -EPERM,
                        "'%s' belongs to another user and is readable by others: choose another file (-o)",
                        f->trace_path);
        return 0;
}

/* A trace holds what a program did with its memory: nobody else may read it, and no planted link is followed. */
int supervisor_open_trace(struct supervisor *f, struct err *reterr) {
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
                return err_set(reterr, fd,
                               "'%s' already exists: choose another file (-o) or overwrite it (-f)",
                               f->trace_path);
        if (fd == -ELOOP)
                return err_set(
                        reterr, fd,
                        "'%s' is a symbolic link, which silt does not follow: name the file it points to",
                        f->trace_path);
        if (fd < 0)
                return err_set(reterr, fd,
                               "cannot write the trace to '%s': %s: choose another file (-o)",
                               f->trace_path, strerror(-fd));
        r = supervisor_make_private(f, fd, reterr);
        if (r < 0) {
                close(fd);
                return r;
        }
        return fd;
}

int supervisor_fork_recorder(struct supervisor *f, int trace_fd, struct err *reterr) {
        struct recorder_config config = {
                .shm = &f->shm,
                .arena_opened = f->arena_opened,
                .rendezvous = &f->rendezvous,
                .trace_fd = trace_fd,
                .trace_path = f->trace_path,
                .options = f->options,
                .target = f->target,
                .runtime_path = f->runtime_path,
                .known = &f->known,
                .log_fd = f->log_fd,
        };
        int pair[2];

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                return err_set_errno(reterr, -errno,
                                     "cannot create the control socket (raise ulimit -n)");
        f->recorder = fork();
        if (f->recorder < 0)
                return err_set_errno(reterr, -errno, "fork: too many processes (see ulimit -u)");
        if (f->recorder == 0) {
                close(pair[0]);
                close(f->go_fd);
                close(f->exec_fd);
                supervisor_restore_signals(f);
                config.control_fd = pair[1];
                if (f->options->cpu_only)
                        cpu_recorder_main(&config);
                recorder_main(&config);
        }
        close(pair[1]);
        f->control_fd = pair[0];
        oom_watch_begin(&f->oom, f->recorder, memory_roots()->proc, memory_roots()->cgroup);
        return 0;
}

static void supervisor_take_message(struct supervisor *f) {
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
bool supervisor_hear(struct supervisor *f, struct control_message *ret) {
        struct pollfd control = {.fd = f->control_fd, .events = POLLIN};
        struct stall_watch watch;
        int n;

        stall_begin(&watch, f->recorder);
        while ((n = poll(&control, 1, STALL_LOOK_MS)) != 1) {
                if (n == 0)
                        f->recorder_stall = stall_look(&watch);
                if (f->recorder_stall != STALL_NONE)
                        return false;
        }
        if (recv(f->control_fd, ret, sizeof(*ret), 0) != (ssize_t)sizeof(*ret))
                return false;
        ret->trouble[sizeof(ret->trouble) - 1] = 0;
        return true;
}

/* Blocks until the recorder says it is ready; an error text comes the same way. */
int supervisor_await_ready(struct supervisor *f, struct err *reterr) {
        struct control_message m;

        if (!supervisor_hear(f, &m)) {
                if (f->recorder_stall == STALL_NONE)
                        return err_set(reterr, -EIO,
                                       "recorder: ended before recording started: see --log");
                kill(f->recorder, SIGKILL);
                return err_set(reterr, -EIO,
                               "recorder: was stopped before recording started: try again");
        }
        if (m.kind != CONTROL_READY)
                return err_set(reterr, -EIO, f->options->cpu_only ? "%s" : "recorder: %s",
                               m.trouble);
        return 0;
}

bool supervisor_reap_recorder(struct supervisor *f, bool wait_for_it) {
        int status;

        if (f->recorder_is_gone)
                return true;
        if (waitpid(f->recorder, &status, wait_for_it ? 0 : WNOHANG) != f->recorder)
                return false;
        f->recorder_is_gone = true;
        f->recorder_was_oom_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL &&
                                     oom_watch_take(&f->oom, memory_roots()->proc);
        supervisor_take_message(f);
        if (!f->options->cpu_only)
                shm_stop_recording(&f->shm);
        rendezvous_close(&f->rendezvous); /* whoever waits for a welcome there need not wait on */
        return true;
}

/* What became of the program is known here alone. */
static void supervisor_note_kill(const struct supervisor *f) {
        struct oom_watch oom = f->oom;
        char note[200], end[100] = "";
        struct err e = {0};
        int status = f->target_status;

        if (status >= 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL &&
            oom_watch_take(&oom, memory_roots()->proc))
                snprintf(end, sizeof(end), "%s", RECORDER_BOTH_KILLED);
        else if (status >= 0 && WIFSIGNALED(status))
                snprintf(end, sizeof(end), "; the program was ended by signal %d later",
                         WTERMSIG(status));
        else if (status >= 0)
                snprintf(end, sizeof(end), "; the program went on and exited with status %d",
                         WEXITSTATUS(status));
        snprintf(note, sizeof(note), RECORDER_KILLED_NOTE "%s", end);
        (void)trace_append_note(f->trace_path, note, &e); /* the trace is readable without it */
}

/* A recorder that died left stacks without names, which it would have looked up last. */
void supervisor_name_stacks(const struct supervisor *f) {
        const struct run_options *o = f->options;
        struct err e = {0};

        if (f->recorder_was_oom_killed && f->summary.kind != CONTROL_FINISHED)
                supervisor_note_kill(f);
        if (f->recorder_is_gone && f->summary.kind != CONTROL_FINISHED && o->symbolize &&
            !o->no_symbols)
                (void)o->symbolize(f->trace_path, &e); /* without them it shows addresses */
}

/* Before anybody takes the figures for all there is. */
static void supervisor_say_limits(const struct supervisor *f) {
        const struct control_message *m = &f->summary;

        for (uint32_t i = 0; i < MIN(m->n_limits, (uint32_t)CONTROL_MAX_LIMITS); i++) {
                char text[sizeof(m->limits[i])], more[64] = "";
                struct unit_text n;

                printable_line(m->limits[i], text, sizeof(text));
                if (m->n_more_limits[i])
                        snprintf(more, sizeof(more), " (and %s more like this)",
                                 unit_count(&n, m->n_more_limits[i]));
                supervisor_say(f, "incomplete: %s%s", text, more);
        }
}

/* CPU samples: alone, or behind what else was recorded. */
static void supervisor_say_samples(const struct supervisor *f, const char *program) {
        const struct control_message *m = &f->summary;
        struct unit_text samples, waits, duration, cpu, blocked, lost, threads;
        char with_waits[64] = "", blocked_for[96] = "", of[600] = "";

        if (f->options->off_cpu) {
                snprintf(with_waits, sizeof(with_waits), " and %s wait%s",
                         unit_count(&waits, m->n_waits), m->n_waits == 1 ? "" : "s");
                snprintf(blocked_for, sizeof(blocked_for), ", %s blocked",
                         unit_duration(&blocked, m->waited_ns));
                if (m->waited_ns > m->duration_ns && m->n_threads_seen > 1)
                        snprintf(blocked_for, sizeof(blocked_for),
                                 ", %s blocked (%s threads together)",
                                 unit_duration(&blocked, m->waited_ns),
                                 unit_count(&threads, m->n_threads_seen));
        }
        if (f->options->cpu_only)
                snprintf(of, sizeof(of), " of '%s' (pid %d) in %s", program, (int)f->target,
                         unit_duration(&duration, m->duration_ns));
        supervisor_say(f, "%s %s CPU sample%s%s%s: %s%s%s; %s lost",
                       f->options->cpu_only ? "recorded" : "took",
                       unit_count(&samples, m->n_samples), m->n_samples == 1 ? "" : "s", with_waits,
                       of, m->n_samples ? unit_duration(&cpu, m->cpu_ns) : "less CPU time than one",
                       m->n_samples ? " of CPU" : " stands for", blocked_for,
                       unit_count(&lost, m->n_lost_samples));
}

/* Its exit status says it too, but not who did it. */
static void supervisor_say_kill(const struct supervisor *f, const char *program) {
        int status = f->target_status;
        const char *name;

        if (status < 0 || !WIFSIGNALED(status))
                return;
        if (f->summary.program[0])
                program = f->summary.program;
        name = sigabbrev_np(WTERMSIG(status));
        if (f->summary.target_was_oom_killed)
                supervisor_say(f, "the kernel killed '%s' (pid %d) for lack of memory", program,
                               (int)f->target);
        else
                supervisor_say(f, "signal %d (%s) ended '%s' (pid %d)", WTERMSIG(status),
                               name ? name : "?", program, (int)f->target);
}

void supervisor_closing_words(const struct supervisor *f) {
        const struct control_message *m = &f->summary;
        struct unit_text events, lost, size, duration, unwritten;
        struct str quoted = {0};
        char program[512], path[4200];

        printable_line(f->options->argv[0], program, sizeof(program));
        printable_line(f->trace_path, path, sizeof(path));
        if (f->recorder_stall != STALL_NONE) {
                fprintf(stderr,
                        "silt: recorder: pid %d %s: '%s' is incomplete until it continues: kill -CONT %d\n",
                        (int)f->recorder,
                        f->recorder_stall == STALL_STOPPED ? "is stopped" : "hangs", path,
                        (int)f->recorder);
                return;
        }
        if (!f->has_summary) {
                fprintf(stderr, "silt: recorder: %s: '%s' holds what it wrote until then\n",
                        f->recorder_was_oom_killed
                                ? "killed by the kernel during the recording because memory ran out"
                                : "died during the recording",
                        path);
                return;
        }
        if (m->trouble[0] && m->n_unwritten)
                fprintf(stderr, "silt: %s: %s %s missing from it\n", m->trouble,
                        unit_count(&unwritten, m->n_unwritten),
                        m->n_unwritten == 1 ? "event is" : "events are");
        else if (m->trouble[0])
                fprintf(stderr, "silt: %s\n", m->trouble);
        if (!m->n_images && !f->options->cpu_only) {
                fprintf(stderr,
                        "silt: '%s': nothing was recorded: the program ended before it contacted silt, or dropped LD_PRELOAD: see 'silt doctor'\n",
                        program);
                return;
        }
        supervisor_say_kill(f, program);
        if (!f->options->cpu_only)
                supervisor_say(f, "recorded %s event%s of '%s' (pid %d) in %s; %s lost",
                               unit_count(&events, m->n_events), m->n_events == 1 ? "" : "s",
                               program, (int)f->target, unit_duration(&duration, m->duration_ns),
                               unit_count(&lost, m->n_lost + m->n_unwritten));
        if (f->options->cpu_rate_hz)
                supervisor_say_samples(f, program);
        supervisor_say_limits(f);
        if (f->options->verbose)
                supervisor_say(
                        f,
                        "cpu: target %.3f s, recorder %.3f s, blocked %.3f s; the target ended after %.3f s",
                        f->target_cpu_s, (double)m->recorder_cpu_ns / 1e9,
                        (double)m->blocked_ns / 1e9, f->target_wall_s);
        if (m->n_unseen)
                supervisor_say(f, "%llu process%s not seen: %s", (unsigned long long)m->n_unseen,
                               m->n_unseen == 1 ? " was" : "es were", m->unseen);
        if (m->n_living)
                supervisor_say(
                        f, "%u of its descendants %s still running; recording continues until %s",
                        m->n_living, m->n_living == 1 ? "is" : "are",
                        m->n_living == 1 ? "it ends" : "they end");
        supervisor_say(f, "trace: %s (%s)", path, unit_bytes(&size, m->file_bytes));
        if (m->file_bytes) {
                str_add_shell(&quoted, f->trace_path);
                supervisor_say(f, "next:  silt report %s", str_text(&quoted));
        }
        str_done(&quoted);
}

int supervisor_open_log(struct supervisor *f, struct err *reterr) {
        const struct run_options *o = f->options;

        if (o->log_path) {
                f->log_fd = fs_open(o->log_path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0600);
                if (f->log_fd < 0)
                        return err_set_errno(reterr, f->log_fd, "--log: cannot write to '%s'",
                                             o->log_path);
        } else if (o->verbose) {
                f->log_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
        }
        return 0;
}

/* Started without stdin, stdout or stderr, silt must not get its own descriptors there. The target's exec closes
 * these again. */
void supervisor_fill_standard_fds(void) {
        int fd;

        do
                fd = fs_open("/dev/null", O_RDWR, 0);
        while (fd >= 0 && fd <= STDERR_FILENO);
        if (fd >= 0)
                close(fd);
}

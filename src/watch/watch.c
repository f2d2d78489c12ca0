/* SPDX-License-Identifier: MIT */
#include "watch/watch.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/macros.h"
#include "base/system_clock.h"
#include "base/units.h"
#include "base/vec.h"
#include "record/proc.h"
#include "record/snapshot_protocol.h"
#include "watch/recorders.h"
#include "watch/recording_child.h"
#include "watch/roster.h"
#include "watch/service_status.h"
#include "watch/trace_folder.h"

#define S 1000000000ull
#define TIDY_NS (60 * S) /* traces grow also when none comes or goes */

enum { WATCH_MAX_TOLD = 64 /* reasons to refuse that are said, once each */ };

struct watch {
        const struct watch_options *options;
        struct run_options each;
        struct trace_folder folder;
        struct roster roster;
        struct recorders recorders; /* as they were at this look; empty until somebody asks */
        bool has_recorders;
        VEC(struct recording_child *) children;
        VEC(pid_t) pids; /* of this look */
        VEC(struct pollfd) fds;
        struct wanted_facts facts; /* of the process that was asked about last */
        uint64_t told[WATCH_MAX_TOLD];
        size_t n_told;
        uint64_t next_look_ns, next_tidy_ns, end_ns;
        uint64_t boot_unix_ns; /* asked once: it is not the same twice */
        int signal_fd;
        bool is_ending, was_full;
        char status[200];
};

/* ---- words ---------------------------------------------------------------------------------------- */

static void watch_say(const struct watch *w, const char *fmt, ...)
        __attribute__((format(printf, 2, 3)));

static void watch_say(const struct watch *w, const char *fmt, ...) {
        char text[1024];
        va_list args;

        if (w->each.quiet)
                return;
        va_start(args, fmt);
        vsnprintf(text, sizeof(text), fmt, args);
        va_end(args);
        err_make_one_line(text);
        fprintf(stderr, "silt: %s\n", text);
}

static const char *file_name(const char *path) {
        const char *slash = strrchr(path, '/');

        return slash ? slash + 1 : path;
}

/* The same reason is told once, whatever the numbers in it. */
static bool is_news(struct watch *w, const char *program, const char *why) {
        uint64_t hash = 14695981039346656037u;

        for (const char *c = program; *c; c++)
                hash = (hash ^ (unsigned char)*c) * 1099511628211u;
        for (const char *c = why; *c; c++)
                if (*c < '0' || *c > '9')
                        hash = (hash ^ (unsigned char)*c) * 1099511628211u;
        for (size_t i = 0; i < w->n_told; i++)
                if (w->told[i] == hash)
                        return false;
        if (w->n_told < WATCH_MAX_TOLD)
                w->told[w->n_told++] = hash;
        return w->n_told < WATCH_MAX_TOLD;
}

static const char *without_silt(const char *line) {
        return strncmp(line, "silt: ", 6) == 0 ? line + 6 : line;
}

/* For whoever asks the service manager. */
static void watch_tell_status(struct watch *w) {
        const struct roster *r = &w->roster;
        char text[sizeof(w->status)];
        struct unit_text bytes;

        snprintf(text, sizeof(text),
                 "recording %u process%s, %u waiting, %u refused; %llu recorded so far; traces: %s",
                 r->n_recorded, r->n_recorded == 1 ? "" : "es", r->n_due - r->n_refused,
                 r->n_refused, (unsigned long long)r->n_ever_recorded,
                 unit_bytes(&bytes, w->folder.bytes));
        if (strcmp(text, w->status) != 0)
                service_status_tell("STATUS=%s\nWATCHDOG=1", text);
        else
                service_status_tell("WATCHDOG=1");
        memcpy(w->status, text, sizeof(text));
}

/* ---- the folder ------------------------------------------------------------------------------------- */

static void tell_removed(void *ctx, const char *name, uint64_t bytes) {
        struct watch *w = ctx;
        struct unit_text a, b;

        watch_say(w, "removed %s (%s), the oldest trace: all together may take %s (--max-total)",
                  name, unit_bytes(&a, bytes), unit_bytes(&b, w->folder.max_bytes));
}

static void watch_tidy(struct watch *w, uint64_t now) {
        if (trace_folder_tidy(&w->folder, tell_removed, w) < 0 && is_news(w, "", "folder"))
                fprintf(stderr,
                        "silt: cannot list '%s': its traces are not kept within --max-total\n",
                        w->folder.path);
        w->next_tidy_ns = now + TIDY_NS;
}

/* ---- what the roster asks ----------------------------------------------------------------------------- */

static bool on_identify(void *ctx, pid_t pid, uint64_t *ret_began) {
        double began_s = proc_started_s(pid);

        (void)ctx;
        if (began_s < 0 || pid == getpid())
                return false;
        *ret_began = (uint64_t)(began_s * (double)sysconf(_SC_CLK_TCK) + 0.5);
        return true;
}

/* Those that record are not recorded, whatever the rules say. */
static bool is_silt(const char *name) {
        return !strcmp(name, "silt") || !strcmp(name, SNAPSHOT_RECORDER_NAME);
}

static bool on_wanted(void *ctx, pid_t pid) {
        struct watch *w = ctx;

        return wanted_read(&w->options->wanted, pid, &w->facts) && !is_silt(w->facts.name) &&
               wanted_match(&w->options->wanted, &w->facts) && proc_is_running(pid);
}

static bool on_taken(void *ctx, pid_t pid) {
        struct watch *w = ctx;

        if (!w->has_recorders)
                recorders_find(&w->recorders, w->folder.path, w->pids.items, w->pids.n);
        w->has_recorders = true;
        return recorders_have(&w->recorders, pid);
}

static uint64_t began_unix_s(const struct watch *w, uint64_t began_ticks) {
        return (w->boot_unix_ns + began_ticks * (S / (uint64_t)sysconf(_SC_CLK_TCK))) / S;
}

static bool on_start(void *ctx, const struct roster_one *one) {
        struct watch *w = ctx;
        struct recording_child *c;
        struct run_options o = w->each;
        struct err err = {0};
        char path[sizeof(c->path)];

        if ((w->folder.n_written + 1) * w->folder.max_trace_bytes > w->folder.max_bytes)
                return false; /* recordings of processes that have ended go on in their children */
        c = calloc(1, sizeof(*c));
        if (!c)
                abort();
        trace_folder_name(&w->folder, w->facts.name, one->pid, began_unix_s(w, one->began), path,
                          sizeof(path));
        snprintf(c->program, sizeof(c->program), "%s", w->facts.name);
        err_make_one_line(c->program);
        o.attached = one->pid;
        o.output_path = path;
        o.quiet = true;
        o.duration_ns = 0;
        c->began_ns = clock_now_ns();
        if (recording_child_start(c, &o, &err) < 0) {
                if (is_news(w, "", err.text))
                        fprintf(stderr, "silt: %s\n", err.text);
                free(c);
                return false;
        }
        vec_push(&w->children, c);
        return true;
}

/* ---- a look ------------------------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b) {
        pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

        return x < y ? -1 : x > y;
}

static void watch_list(struct watch *w) {
        DIR *dir = opendir("/proc");
        struct dirent *e;

        vec_clear(&w->pids);
        while (dir && (e = readdir(dir)))
                if (e->d_name[0] >= '1' && e->d_name[0] <= '9')
                        vec_push(&w->pids, (pid_t)atoi(e->d_name));
        if (dir)
                closedir(dir);
        if (w->pids.n)
                qsort(w->pids.items, w->pids.n, sizeof(*w->pids.items), by_number);
}

static bool has_child(const struct watch *w, pid_t recorder, pid_t parent) {
        for (size_t i = 0; i < w->children.n; i++)
                if (w->children.items[i]->pid == recorder || w->children.items[i]->pid == parent)
                        return true;
        return false;
}

/* Recordings into this folder that are nobody's: of a watch that was killed, or of children of a process that has ended. */
static void watch_adopt(struct watch *w) {
        for (size_t i = 0; i < w->recorders.list.n; i++) {
                const struct recorders_one *one = &w->recorders.list.items[i];
                struct recording_child *c;
                char name[17];
                pid_t silt = one->pid;

                if (!one->name[0] || has_child(w, one->pid, one->parent) ||
                    !proc_comm(one->parent, one->parent, name) ||
                    !strcmp(name, SNAPSHOT_RECORDER_NAME)) /* a helper of one */
                        continue;
                if (!strcmp(name, "silt"))
                        silt = one->parent;
                c = calloc(1, sizeof(*c));
                if (!c)
                        abort();
                c->target = trace_folder_pid(one->name);
                c->began_ns = clock_now_ns();
                snprintf(c->path, sizeof(c->path), "%s/%s", w->folder.path, one->name);
                if (recording_child_adopt(c, silt) < 0) {
                        free(c);
                        continue;
                }
                vec_push(&w->children, c);
                watch_say(w, "took over the recording of process %d: %s", (int)c->target,
                          one->name);
        }
}

static void watch_look(struct watch *w, uint64_t now) {
        struct roster *r = &w->roster;
        uint32_t n_taken_over = 0;

        watch_list(w);
        if (w->has_recorders)
                recorders_done(&w->recorders);
        w->has_recorders = false;
        if (now >= w->next_tidy_ns) {
                watch_tidy(w, now);
                on_taken(w, 0); /* lists the recorders */
                watch_adopt(w);
        }
        for (size_t i = 0; i < w->children.n; i++)
                n_taken_over += w->children.items[i]->is_taken_over;
        r->max_processes = w->options->max_processes - MIN(n_taken_over, w->options->max_processes);
        roster_look(r, now, w->pids.items, w->pids.n);
        if (r->n_due > r->n_refused && r->n_starting + r->n_recorded >= r->max_processes &&
            !w->was_full) {
                w->was_full = true;
                watch_say(
                        w,
                        "%u processes are being recorded, the most at once (--max-processes): %u wait",
                        r->n_starting + r->n_recorded + n_taken_over, r->n_due - r->n_refused);
        }
        watch_tell_status(w);
        w->next_look_ns = now + w->options->look_ns;
}

/* ---- recordings ----------------------------------------------------------------------------------------- */

static void on_line(void *ctx, const struct recording_child *c, const char *line) {
        (void)ctx;
        if (c->is_recording) /* else it is why the process was refused */
                fprintf(stderr, "silt: %s (pid %d): %s\n", c->program, (int)c->target,
                        without_silt(line));
}

static void watch_hear(struct watch *w, struct recording_child *c) {
        bool was_recording = c->is_recording;

        recording_child_hear(c, on_line, w);
        if (was_recording || !c->is_recording)
                return;
        roster_began(&w->roster, c->target, clock_now_ns());
        w->next_tidy_ns = 0; /* room for what it may become */
        watch_say(w, "recording %s (pid %d): %s", c->program, (int)c->target, file_name(c->path));
}

static void watch_end(struct watch *w, struct recording_child *c) {
        uint64_t now = clock_now_ns();
        struct unit_text t;

        if (c->is_taken_over) {
                watch_say(w, "the recording of process %d that was taken over has ended: %s",
                          (int)c->target, file_name(c->path));
                return;
        }
        if (c->is_recording) {
                roster_ended(&w->roster, c->target, ROSTER_DONE, now);
                watch_say(w, "%s (pid %d): the recording ended after %s: %s", c->program,
                          (int)c->target, unit_duration(&t, now - c->began_ns), file_name(c->path));
        } else if (!proc_is_running(c->target) || w->is_ending) {
                roster_ended(&w->roster, c->target, ROSTER_DONE, now);
        } else {
                roster_ended(&w->roster, c->target, ROSTER_REFUSED, now);
                if (is_news(w, c->program, c->said))
                        fprintf(stderr, "silt: %s (pid %d) is not recorded: %s\n", c->program,
                                (int)c->target,
                                c->said[0] ? without_silt(c->said)
                                           : "the recording ended at once: see --log");
        }
}

static void watch_reap(struct watch *w) {
        size_t n = 0;

        for (size_t i = 0; i < w->children.n; i++) {
                struct recording_child *c = w->children.items[i];
                int status;
                bool has_ended = recording_child_has_ended(c, &status);

                watch_hear(w, c);
                if (!has_ended) {
                        w->children.items[n++] = c;
                        continue;
                }
                watch_end(w, c);
                recording_child_done(c);
                free(c);
                w->next_tidy_ns = 0;
        }
        w->children.n = n;
}

/* ---- the loop ------------------------------------------------------------------------------------------- */

static void watch_wait(struct watch *w) {
        uint64_t now = clock_now_ns();
        uint64_t until_ns = w->is_ending ? now + S : MIN(w->next_look_ns, w->end_ns);
        uint64_t wait_ms = until_ns > now ? (until_ns - now + 999999) / 1000000 : 0;

        vec_clear(&w->fds);
        vec_push(&w->fds, (struct pollfd){.fd = w->signal_fd, .events = POLLIN});
        for (size_t i = 0; i < w->children.n; i++)
                vec_push(&w->fds,
                         (struct pollfd){.fd = w->children.items[i]->fd, .events = POLLIN});
        poll(w->fds.items, w->fds.n, (int)MIN(wait_ms, 60000u));
}

/* True: somebody ends the watch. */
static bool watch_hear_signals(struct watch *w) {
        struct signalfd_siginfo info;
        bool is_end = false;

        while (read(w->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
                is_end |= info.ssi_signo != SIGCHLD;
        return is_end;
}

static void watch_begin_end(struct watch *w) {
        w->is_ending = true;
        service_status_tell("STOPPING=1\nSTATUS=leaving %zu processes", w->children.n);
        for (size_t i = 0; i < w->children.n; i++)
                recording_child_end(w->children.items[i]);
}

static void watch_loop(struct watch *w) {
        for (;;) {
                uint64_t now = clock_now_ns();
                bool is_asked;

                if (!w->is_ending && now >= w->next_look_ns)
                        watch_look(w, now);
                watch_wait(w);
                is_asked = watch_hear_signals(w);
                watch_reap(w);
                if (w->is_ending && (is_asked || !w->children.n))
                        return; /* asked twice: they have been told, and end without us */
                if (!w->is_ending && (is_asked || clock_now_ns() >= w->end_ns))
                        watch_begin_end(w);
        }
}

static void watch_block_signals(struct watch *w, sigset_t *ret_before) {
        sigset_t signals;

        sigemptyset(&signals);
        sigaddset(&signals, SIGINT);
        sigaddset(&signals, SIGTERM);
        sigaddset(&signals, SIGHUP);
        sigaddset(&signals, SIGQUIT);
        sigaddset(&signals, SIGCHLD);
        sigprocmask(SIG_BLOCK, &signals, ret_before);
        signal(SIGCHLD, SIG_DFL);
        signal(SIGPIPE, SIG_IGN);
        w->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void watch_say_begin(struct watch *w) {
        struct unit_text a, b;

        watch_say(w,
                  "watching: traces go to '%s', up to %s each and %s in all, %u processes at once",
                  w->folder.path, unit_bytes(&a, w->folder.max_trace_bytes),
                  unit_bytes(&b, w->folder.max_bytes), w->options->max_processes);
}

static void watch_say_end(struct watch *w) {
        const struct roster *r = &w->roster;
        struct unit_text a, b, c;

        watch_say(
                w,
                "recorded %s process%s, refused %s time%s, removed %s trace%s; traces are in '%s'",
                unit_count(&a, r->n_ever_recorded), r->n_ever_recorded == 1 ? "" : "es",
                unit_count(&b, r->n_ever_refused), unit_s(r->n_ever_refused),
                unit_count(&c, w->folder.n_removed), unit_s(w->folder.n_removed), w->folder.path);
}

int watch_run(const struct watch_options *o, struct err *reterr) {
        struct watch w = {.options = o, .each = *o->each, .signal_fd = -1};
        const struct roster_calls calls = {.ctx = &w,
                                           .identify = on_identify,
                                           .is_wanted = on_wanted,
                                           .is_taken = on_taken,
                                           .start = on_start};
        sigset_t before;
        int r;

        r = trace_folder_open(o->folder, o->max_total_bytes, o->each->max_trace_bytes, &w.folder,
                              reterr);
        if (r < 0)
                return r;
        roster_init(&w.roster, &calls, o->max_processes);
        watch_block_signals(&w, &before);
        w.boot_unix_ns = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_BOOTTIME);
        w.end_ns = o->each->duration_ns ? clock_now_ns() + o->each->duration_ns : UINT64_MAX;
        watch_say_begin(&w);
        if (o->on_begin)
                o->on_begin(o->on_begin_ctx, w.folder.path);
        service_status_tell("READY=1");
        watch_loop(&w);
        watch_say_end(&w);
        for (size_t i = 0; i < w.children.n; i++) {
                recording_child_done(w.children.items[i]);
                free(w.children.items[i]);
        }
        if (w.has_recorders)
                recorders_done(&w.recorders);
        vec_free(&w.children);
        vec_free(&w.pids);
        vec_free(&w.fds);
        roster_done(&w.roster);
        trace_folder_close(&w.folder);
        close(w.signal_fd);
        sigprocmask(SIG_SETMASK, &before, NULL);
        return 0;
}

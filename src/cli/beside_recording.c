/* SPDX-License-Identifier: MIT */
#include "cli/beside_recording.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "metrics/listen_address.h"
#include "record/supervisor.h"

bool cli_take_metrics(struct cli_parser *p, struct run_options *o) {
        struct listen_address address;
        struct err err = {0};

        o->metrics_address = p->value;
        if (listen_address_parse(p->value, &address, &err) >= 0)
                return true;
        cli_parser_error(p, "--metrics: %s", err.text);
        return false;
}

static void become_metrics(const struct run_options *o, const char *trace_path)
        __attribute__((noreturn));

/* Input and output are the program's. In a session of its own: a Ctrl-C that is meant for the program does not end it, and it stays for
 * the last scrape when silt has ended. It ends when nobody writes the trace any more. */
static void become_metrics(const struct run_options *o, const char *trace_path) {
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        sigset_t none;

        setsid();
        if (null >= 0) {
                dup2(null, STDIN_FILENO);
                dup2(null, STDOUT_FILENO);
                if (o->quiet)
                        dup2(null, STDERR_FILENO);
        }
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        execl("/proc/self/exe", "silt", "metrics", "--wait", "30s", "--until-over", "--listen",
              o->metrics_address, "--", trace_path, NULL);
        fprintf(stderr, "silt: metrics: cannot start: %s: run 'silt metrics %s'\n", strerror(errno),
                trace_path);
        _exit(1);
}

/* By a process between, so that nobody has to wait for it, least of all a program that counts its parent's children. */
static void start_metrics(const struct run_options *o, const char *trace_path) {
        pid_t between = fork();

        if (between == 0) {
                pid_t pid = fork();

                if (pid == 0)
                        become_metrics(o, trace_path);
                _exit(pid < 0);
        }
        if (between > 0)
                (void)waitpid(between, NULL, 0);
        else
                fprintf(stderr, "silt: metrics: cannot start: %s: run 'silt metrics %s'\n",
                        strerror(errno), trace_path);
}

static void start(void *ctx, const char *trace_path) {
        struct beside_recording *b = ctx;

        if (b->options->with_view)
                view_child_start(&b->view, trace_path);
        if (b->options->metrics_address)
                start_metrics(b->options, trace_path);
}

void beside_recording_init(struct beside_recording *b, struct run_options *o) {
        *b = (struct beside_recording){.options = o};
        o->on_recording_ctx = b;
        if (o->with_view || o->metrics_address)
                o->on_recording = start;
}

void beside_recording_wait(struct beside_recording *b) {
        view_child_wait(&b->view);
}

/* ---- beside a watch --------------------------------------------------------------------------------- */

static void become_metrics_of(const char *address, const char *folder, pid_t parent)
        __attribute__((noreturn));

static void become_metrics_of(const char *address, const char *folder, pid_t parent) {
        sigset_t none;

        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGTERM); /* the next watch starts its own, at the same address */
        if (getppid() != parent)
                _exit(1);
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        execl("/proc/self/exe", "silt", "metrics", "--listen", address, "--", folder, NULL);
        _exit(1);
}

void beside_watch_start(void *ctx, const char *folder) {
        struct beside_watch *b = ctx;
        pid_t parent = getpid();

        if (!b->options->metrics_address)
                return;
        b->metrics = fork();
        if (b->metrics == 0)
                become_metrics_of(b->options->metrics_address, folder, parent);
        if (b->metrics < 0)
                fprintf(stderr, "silt: metrics: cannot start: %s: run 'silt metrics %s'\n",
                        strerror(errno), folder);
}

void beside_watch_end(struct beside_watch *b) {
        if (b->metrics <= 0)
                return;
        kill(b->metrics, SIGTERM);
        waitpid(b->metrics, NULL, 0);
}

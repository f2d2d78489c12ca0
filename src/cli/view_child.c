/* SPDX-License-Identifier: MIT */
#include "cli/view_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void become(const char *trace_path, pid_t parent) __attribute__((noreturn));

/* Input and output are the program's. In a group of its own, so that a Ctrl-C that is meant for the program does not end the page;
 * without the supervisor nobody would end it any more. */
static void become(const char *trace_path, pid_t parent) {
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        sigset_t none;

        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != parent)
                _exit(1);
        if (null >= 0) {
                dup2(null, STDIN_FILENO);
                dup2(null, STDOUT_FILENO);
        }
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        execl("/proc/self/exe", "silt", "view", "--wait", "30s", "--", trace_path, NULL);
        fprintf(stderr, "silt: view: cannot start: %s: run 'silt view %s'\n", strerror(errno),
                trace_path);
        _exit(1);
}

void view_child_start(void *ctx, const char *trace_path) {
        struct view_child *v = ctx;
        pid_t parent = getpid();

        v->pid = fork();
        if (v->pid == 0)
                become(trace_path, parent);
        if (v->pid < 0) {
                fprintf(stderr, "silt: view: cannot start: %s: run 'silt view %s'\n",
                        strerror(errno), trace_path);
                v->pid = 0;
        }
}

static bool has_ended(struct view_child *v) {
        return waitpid(v->pid, NULL, WNOHANG) != 0;
}

void view_child_wait(struct view_child *v) {
        const struct timespec at_once = {0};
        sigset_t signals;
        int number;

        if (v->pid <= 0)
                return;
        sigemptyset(&signals);
        sigaddset(&signals, SIGINT);
        sigaddset(&signals, SIGTERM);
        sigaddset(&signals, SIGHUP);
        sigaddset(&signals, SIGQUIT);
        sigaddset(&signals, SIGCHLD);
        sigprocmask(SIG_BLOCK, &signals, NULL);
        signal(SIGCHLD, SIG_DFL);
        while (sigtimedwait(&signals, NULL, &at_once) > 0) { /* those were the program's */
        }
        do {
                if (has_ended(v)) {
                        v->pid = 0;
                        return;
                }
                number = sigwaitinfo(&signals, NULL);
        } while (number == SIGCHLD || number < 0);
        kill(v->pid, SIGTERM);
        waitpid(v->pid, NULL, 0);
        v->pid = 0;
}

/* SPDX-License-Identifier: MIT */
#include "lab/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/macros.h"
#include "base/system_clock.h"
#include "lab/keeper.h"

static void trial_child(const struct trial_plan *plan, const struct group *g, char **argv,
                        int go_fd, int failed_fd) __attribute__((noreturn));

/* Waits to be in its group, then becomes the program. */
static void trial_child(const struct trial_plan *plan, const struct group *g, char **argv,
                        int go_fd, int failed_fd) {
        int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC), e;
        char go;

        if (fs_read_some(go_fd, &go, 1) != 1 || null_fd < 0)
                _exit(125);
        dup2(null_fd, STDIN_FILENO);
        if (!plan->keeps_output) {
                dup2(null_fd, STDOUT_FILENO);
                dup2(null_fd, STDERR_FILENO);
        }
        group_limit_self(g);
        execvp(argv[0], argv);
        e = errno;
        (void)!write(failed_fd, &e, sizeof(e));
        _exit(127);
}

/* True: it has ended. pidfd -1 where the kernel has none: then it is asked now and then. */
static bool trial_await(pid_t pid, int pidfd, uint64_t timeout_ns, int *ret_status,
                        struct rusage *ret_usage) {
        uint64_t end_ns = timeout_ns ? clock_now_ns() + timeout_ns : UINT64_MAX;

        for (;;) {
                struct pollfd ended = {.fd = pidfd, .events = POLLIN};
                uint64_t now = clock_now_ns();
                pid_t r = wait4(pid, ret_status, WNOHANG, ret_usage);

                if (r == pid)
                        return true;
                if (now >= end_ns)
                        return false;
                (void)poll(&ended, 1,
                           pidfd < 0 ? 10 : (int)MIN((end_ns - now) / 1000000 + 1, 1000ull));
        }
}

static int trial_in_group(const struct trial_plan *plan, struct group *g, struct trial *ret,
                          struct err *reterr) {
        char **before = group_command(g, plan->argv);
        char **argv = before ? before : plan->argv;
        struct rusage usage = {0};
        int go[2], failed[2], e = 0, r, pidfd;
        uint64_t begin_ns;
        pid_t pid;

        if (pipe2(go, O_CLOEXEC) < 0 || pipe2(failed, O_CLOEXEC) < 0)
                return err_set_errno(reterr, -errno, "cannot create pipes (raise ulimit -n)");
        pid = fork();
        if (pid < 0)
                return err_set_errno(reterr, -errno, "fork: too many processes (see ulimit -u)");
        if (pid == 0) {
                close(go[1]);
                close(failed[0]);
                trial_child(plan, g, argv, go[0], failed[1]);
        }
        close(go[0]);
        close(failed[1]);
        pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
        r = group_enter(g, pid, reterr);
        begin_ns = clock_now_ns();
        if (r == 0)
                (void)!write(go[1], "g", 1);
        close(go[1]);
        if (r == 0 && fs_read_some(failed[0], &e, sizeof(e)) == (ssize_t)sizeof(e))
                r = err_set_errno(reterr, -e, "cannot run '%s'", argv[0]);
        close(failed[0]);
        if (r < 0) {
                kill(pid, SIGKILL);
                waitpid(pid, NULL, 0);
        } else if (!trial_await(pid, pidfd, plan->timeout_ns, &ret->wait_status, &usage)) {
                ret->timed_out = true;
                kill(pid, SIGKILL);
                group_end(g, 0);
                wait4(pid, &ret->wait_status, 0, &usage);
        }
        ret->run_ns = clock_now_ns() - begin_ns;
        ret->max_rss_bytes = (uint64_t)usage.ru_maxrss * 1024;
        if (pidfd >= 0)
                close(pidfd);
        return r;
}

int trial_run(const struct trial_plan *plan, struct trial *ret, struct err *reterr) {
        struct keeper keeper;
        struct group g;
        int r = group_make(&g, plan->place, &plan->limits, plan->maker, reterr);

        *ret = (struct trial){0};
        if (r < 0)
                return r;
        ret->maker = g.maker;
        r = keeper_start(&keeper, &g, KEEPER_KILLS, reterr);
        if (r == 0)
                r = trial_in_group(plan, &g, ret, reterr);
        group_look(&g, &ret->usage);
        ret->was_killed = ret->usage.n_kills > 0;
        keeper_stop(&keeper);
        group_end(&g, 0);
        (void)group_remove(&g);
        str_done(&g.skipped);
        return r;
}

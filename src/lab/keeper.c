/* SPDX-License-Identifier: MIT */
#include "lab/keeper.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
        KEEPER_LOOK_MS = 10,       /* how often it looks at memory, if it throttles */
        KEEPER_RECLAIM_LOOKS = 10, /* looks between two attempts to reclaim */
        KEEPER_ORPHAN_MS = 500,    /* how often it looks whether the group is empty */
        KEEPER_SLOW_US = 5000,     /* of CPU time in 100 ms, above the mark */
};

struct throttle {
        bool is_slow;
        unsigned n_looks;
};

/* Setting the limit makes the kernel reclaim down to it, or fail. It is never left there: that would kill. */
static void throttle_reclaim(const struct group *g, uint64_t mark_bytes) {
        uint64_t limit_bytes;

        if (place_read_number(g->memory_dir, "memory.limit_in_bytes", &limit_bytes) < 0)
                return;
        (void)place_write_number(g->place, g->memory_dir, "memory.limit_in_bytes", mark_bytes);
        (void)place_write_number(g->place, g->memory_dir, "memory.limit_in_bytes", limit_bytes);
}

static void throttle_set(const struct group *g, struct throttle *t, bool is_slow) {
        if (t->is_slow == is_slow)
                return;
        t->is_slow = is_slow;
        if (is_slow)
                (void)place_write_number(g->place, g->cpu_dir, "cpu.cfs_quota_us", KEEPER_SLOW_US);
        else if (g->limits.n_cpus > 0)
                (void)place_write_number(g->place, g->cpu_dir, "cpu.cfs_quota_us",
                                         (uint64_t)(g->limits.n_cpus * 100000));
        else
                (void)place_write(g->place, g->cpu_dir, "cpu.cfs_quota_us", "-1");
}

static void throttle_look(const struct group *g, struct throttle *t) {
        uint64_t mark_bytes = g->limits.high_bytes + g->limits.own_bytes, now_bytes;

        if (place_read_number(g->memory_dir, "memory.usage_in_bytes", &now_bytes) < 0)
                return;
        throttle_set(g, t, now_bytes > mark_bytes);
        if (now_bytes > mark_bytes && t->n_looks++ % KEEPER_RECLAIM_LOOKS == 0)
                throttle_reclaim(g, mark_bytes);
}

static void keep_orphan(struct group *g, enum keeper_duty duty) {
        if (duty == KEEPER_KILLS)
                (void)group_end(g, 0);
        while (group_signal(g, 0))
                (void)poll(NULL, 0, KEEPER_ORPHAN_MS);
        (void)group_remove(g);
}

static void keeper_main(int fd, const struct group *of, enum keeper_duty duty)
        __attribute__((noreturn));

static void keeper_main(int fd, const struct group *of, enum keeper_duty duty) {
        struct group g = *of;
        bool throttles = g.maker == GROUP_CGROUP1 && g.limits.high_bytes && g.cpu_dir[0];
        struct pollfd silt = {.events = POLLIN};
        struct throttle t = {0};
        sigset_t all;
        char word;

        sigfillset(&all);
        sigprocmask(SIG_SETMASK, &all, NULL);
        prctl(PR_SET_NAME, "silt-keeper");
        /* Whoever reads what silt or the program write must not wait for this process. */
        if (dup2(fd, 0) < 0)
                _exit(0);
        if (syscall(SYS_close_range, 1, ~0u, 0) < 0)
                for (int other = 1; other < 1024; other++)
                        close(other);
        while (poll(&silt, 1, throttles ? KEEPER_LOOK_MS : -1) == 0)
                throttle_look(&g, &t);
        if (throttles)
                throttle_set(&g, &t, false);
        if (read(0, &word, 1) != 1)
                keep_orphan(&g, duty);
        _exit(0);
}

int keeper_start(struct keeper *k, const struct group *g, enum keeper_duty duty,
                 struct err *reterr) {
        int pair[2];

        *k = (struct keeper){.fd = -1};
        if (!g->memory_dir[0] && !g->cpu_dir[0])
                return 0;
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
                return err_set_errno(reterr, -errno, "cannot create a socket (raise ulimit -n)");
        k->pid = fork();
        if (k->pid == 0) {
                close(pair[0]);
                keeper_main(pair[1], g, duty);
        }
        close(pair[1]);
        k->fd = pair[0];
        if (k->pid < 0) {
                k->pid = 0;
                close(k->fd);
                return err_set_errno(reterr, -errno, "fork: too many processes (see ulimit -u)");
        }
        return 0;
}

void keeper_stop(struct keeper *k) {
        if (!k->pid)
                return;
        (void)!send(k->fd, "d", 1, MSG_NOSIGNAL);
        close(k->fd);
        while (waitpid(k->pid, NULL, 0) < 0 && errno == EINTR)
                ;
        *k = (struct keeper){.fd = -1};
}

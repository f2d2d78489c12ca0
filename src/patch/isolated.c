/* SPDX-License-Identifier: MIT */
#include "patch/isolated.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/macros.h"
#include "base/system_clock.h"

enum {
        APART_FILES_FACTOR = 16
}; /* files are mapped, not read: they are no memory that could run out */

/* A program waits for the recorder while it reads, at most 5 s. */
const struct isolated_limits isolated_limits_usual = {.time_ms = 3500,
                                                      .memory_bytes = (uint64_t)1 << 30};

void *isolated_share(size_t n_bytes) {
        void *shared = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        return shared == MAP_FAILED ? NULL : shared;
}

void isolated_unshare(void *shared, size_t n_bytes) {
        if (shared)
                munmap(shared, n_bytes);
}

/* ---- the child ------------------------------------------------------------------------------------- */

/* What the process has inherited does not count. A sanitizer's own memory has no bound. */
static void limit(const struct isolated_limits *limits) {
        rlim_t seconds = limits->time_ms / 1000 + 1;
        unsigned long long space = 0, data = 0;
        uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
        char text[128];

        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        setrlimit(RLIMIT_CPU, &(struct rlimit){seconds, seconds + 1});
        if (fs_read_text("/proc/self/statm", text, sizeof(text)) <= 0 ||
            sscanf(text, "%llu %*u %*u %*u %*u %llu", &space, &data) != 2)
                return;
        space = space * page_bytes + limits->memory_bytes * APART_FILES_FACTOR;
        data = data * page_bytes + limits->memory_bytes;
        setrlimit(RLIMIT_AS, &(struct rlimit){space, space});
        setrlimit(RLIMIT_DATA, &(struct rlimit){data, data});
}

/* What libraries print when they die is nobody's to read; what the terminal sends is meant for the parent. */
static void stand_apart(pid_t parent) {
        static const int ignored[] = {SIGINT, SIGQUIT, SIGHUP, SIGTERM, SIGPIPE};
        int fd = fs_open("/dev/null", O_RDWR, 0);
        sigset_t none;

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
                _exit(1);
        for (int i = 1; i < SIGRTMIN; i++)
                signal(i, SIG_DFL);
        for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
                signal(ignored[i], SIG_IGN);
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        if (fd >= 0)
                dup2(fd, STDERR_FILENO);
}

/* ---- the parent ------------------------------------------------------------------------------------ */

/* Until the child's end of the pipe is closed, or the time is up. */
static void await_end(int fd, uint64_t end_ms) {
        struct pollfd p = {.fd = fd};
        uint64_t now;

        while ((now = clock_now_ms()) < end_ms) {
                int r = poll(&p, 1, (int)(end_ms - now));

                if (r > 0 || (r < 0 && errno != EINTR))
                        return;
        }
}

static void start_child(struct isolated_work *w) {
        pid_t parent = getpid();
        int fds[2];

        w->pid = 0;
        if (pipe2(fds, O_CLOEXEC) < 0)
                return;
        atomic_store(w->at, w->first);
        w->pid = fork();
        if (w->pid == 0) {
                stand_apart(parent);
                limit(w->limits);
        }
        /* where no process is to be had: here */
        for (size_t i = w->first; w->pid <= 0 && i < w->n; i++) {
                w->fn(w->ctx, i);
                atomic_store(w->at, i + 1);
        }
        if (w->pid == 0)
                _exit(0);
        close(fds[1]);
        w->end_fd = fds[0];
        if (w->pid < 0) {
                close(fds[0]);
                w->pid = 0;
        }
}

/* How far it came; the one it was at when it died was its last. */
static size_t await_child(struct isolated_work *w) {
        if (w->pid > 0) {
                await_end(w->end_fd, w->end_ms);
                kill(w->pid, SIGKILL);
                while (waitpid(w->pid, NULL, 0) < 0 && errno == EINTR)
                        ;
                close(w->end_fd);
        }
        return (size_t)MIN(atomic_load(w->at), (uint64_t)w->n);
}

void isolated_begin(struct isolated_work *w, size_t n, void (*fn)(void *ctx, size_t i), void *ctx,
                    const struct isolated_limits *limits) {
        *w = (struct isolated_work){.n = n, .fn = fn, .ctx = ctx, .limits = limits};
        w->end_ms = clock_now_ms() + limits->time_ms;
        w->at = isolated_share(sizeof(*w->at));
        if (w->at)
                start_child(w);
}

bool isolated_end(struct isolated_work *w, bool *ret_done) {
        bool is_in_time = true;

        for (size_t i = 0; i < w->n; i++)
                ret_done[i] = false;
        while (w->at && w->first < w->n) {
                size_t reached = await_child(w);

                for (size_t i = w->first; i < reached; i++)
                        ret_done[i] = true;
                is_in_time = reached == w->n || clock_now_ms() < w->end_ms;
                w->first = MAX(reached, w->first) + 1;
                if (!is_in_time)
                        break;
                if (w->first < w->n)
                        start_child(w);
        }
        isolated_unshare((void *)w->at, sizeof(*w->at));
        return is_in_time;
}

bool isolated_run(size_t n, void (*fn)(void *ctx, size_t i), void *ctx,
                  const struct isolated_limits *limits, bool *ret_done) {
        struct isolated_work w;

        isolated_begin(&w, n, fn, ctx, limits);
        return isolated_end(&w, ret_done);
}

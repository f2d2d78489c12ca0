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
#include <time.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/macros.h"

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

static uint64_t now_ms(void) {
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
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

        while ((now = now_ms()) < end_ms) {
                int r = poll(&p, 1, (int)(end_ms - now));

                if (r > 0 || (r < 0 && errno != EINTR))
                        return;
        }
}

/* How far it came; the one it was at when it died was its last. */
static size_t run_from(size_t first, size_t n, void (*fn)(void *ctx, size_t i), void *ctx,
                       const struct isolated_limits *limits, uint64_t end_ms,
                       _Atomic uint64_t *at) {
        pid_t parent = getpid(), pid;
        int fds[2];

        if (pipe2(fds, O_CLOEXEC) < 0)
                return first;
        atomic_store(at, first);
        pid = fork();
        if (pid == 0) {
                stand_apart(parent);
                limit(limits);
                for (size_t i = first; i < n; i++) {
                        fn(ctx, i);
                        atomic_store(at, i + 1);
                }
                _exit(0);
        }
        close(fds[1]);
        for (size_t i = first; pid < 0 && i < n; i++) { /* no process is to be had: then here */
                fn(ctx, i);
                atomic_store(at, i + 1);
        }
        if (pid > 0) {
                await_end(fds[0], end_ms);
                kill(pid, SIGKILL);
                while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
                        ;
        }
        close(fds[0]);
        return (size_t)MIN(atomic_load(at), (uint64_t)n);
}

bool isolated_run(size_t n, void (*fn)(void *ctx, size_t i), void *ctx,
                  const struct isolated_limits *limits, bool *ret_done) {
        _Atomic uint64_t *at = isolated_share(sizeof(*at));
        uint64_t end_ms = now_ms() + limits->time_ms;
        bool is_in_time = true;

        for (size_t i = 0; i < n; i++)
                ret_done[i] = false;
        for (size_t first = 0; at && first < n && now_ms() < end_ms;) {
                size_t reached = run_from(first, n, fn, ctx, limits, end_ms, at);

                for (size_t i = first; i < reached; i++)
                        ret_done[i] = true;
                is_in_time = reached == n || now_ms() < end_ms;
                first = MAX(reached, first) + 1;
        }
        isolated_unshare((void *)at, sizeof(*at));
        return is_in_time;
}

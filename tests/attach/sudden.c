/* SPDX-License-Identifier: MIT */
/* Preloaded into silt: it is killed at a given moment after it has first asked a thread to stop (PTRACE_INTERRUPT).
 *   SUDDEN_STEP=N  before the N-th call of ptrace after that; 0: at once
 *   SUDDEN_NS=N    so many nanoseconds later, whatever is done by then
 *   SUDDEN_WHO     silt: the process that was started; stopper: the one that stops threads */
#include <dlfcn.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <time.h>
#include <unistd.h>

static pid_t victim(void) {
        const char *who = getenv("SUDDEN_WHO");

        return who && !strcmp(who, "silt") ? getppid() : getpid();
}

static long now_ns(void) {
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return now.tv_sec * 1000000000 + now.tv_nsec;
}

static void kill_in(long ns) {
        long end_ns = now_ns() + ns;
        pid_t pid = victim();

        if (fork())
                return;
        while (now_ns() < end_ns) {}
        kill(pid, SIGKILL);
        _exit(0);
}

long ptrace(enum __ptrace_request request, ...) {
        static long (*real)(int, ...);
        static long left = -1; /* calls; -1: nothing was asked to stop yet */
        const char *step = getenv("SUDDEN_STEP"), *ns = getenv("SUDDEN_NS");
        void *addr, *data;
        va_list args;
        pid_t pid;
        long r;

        va_start(args, request);
        pid = va_arg(args, pid_t);
        addr = va_arg(args, void *);
        data = va_arg(args, void *);
        va_end(args);
        if (!real)
                real = (long (*)(int, ...))dlsym(RTLD_NEXT, "ptrace");
        if (left > 0 && --left == 0)
                kill(victim(), SIGKILL);
        if (request != PTRACE_INTERRUPT || left >= 0)
                return real(request, pid, addr, data);
        if (ns)
                kill_in(atol(ns));
        left = step ? atol(step) : 0;
        r = real(request, pid, addr, data);
        if (step && left == 0)
                kill(victim(), SIGKILL);
        return r;
}

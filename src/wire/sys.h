/* SPDX-License-Identifier: MIT */
/* System calls made by the runtime itself: no libc, no errno, no cancellation point. Each returns
 * what the kernel returns: a result, or -errno. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

static inline long sys_call6(long nr, long a, long b, long c, long d, long e, long f) {
#if defined(__aarch64__)
        register long x8 __asm__("x8") = nr;
        register long x0 __asm__("x0") = a;
        register long x1 __asm__("x1") = b;
        register long x2 __asm__("x2") = c;
        register long x3 __asm__("x3") = d;
        register long x4 __asm__("x4") = e;
        register long x5 __asm__("x5") = f;

        __asm__ volatile("svc #0"
                         : "+r"(x0)
                         : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                         : "memory", "cc");
        return x0;
#elif defined(__x86_64__)
        register long r10 __asm__("r10") = d;
        register long r8 __asm__("r8") = e;
        register long r9 __asm__("r9") = f;
        long ret;

        __asm__ volatile("syscall"
                         : "=a"(ret)
                         : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                         : "rcx", "r11", "memory", "cc");
        return ret;
#else
#error "aarch64 and x86_64 only"
#endif
}

static inline long sys_call3(long nr, long a, long b, long c) {
        return sys_call6(nr, a, b, c, 0, 0, 0);
}

/* True for the kernel's -errno range, also for calls that return addresses. */
static inline int sys_is_error(long ret) {
        return (unsigned long)ret > -4096ul;
}

static inline long sys_mmap(void *addr, size_t size_bytes, int prot, int flags, int fd, long off) {
        return sys_call6(SYS_mmap, (long)addr, (long)size_bytes, prot, flags, fd, off);
}

static inline long sys_munmap(void *addr, size_t size_bytes) {
        return sys_call3(SYS_munmap, (long)addr, (long)size_bytes, 0);
}

static inline long sys_madvise(void *addr, size_t size_bytes, int advice) {
        return sys_call3(SYS_madvise, (long)addr, (long)size_bytes, advice);
}

static inline long sys_close(int fd) {
        return sys_call3(SYS_close, fd, 0, 0);
}

static inline int sys_getpid(void) {
        return (int)sys_call3(SYS_getpid, 0, 0, 0);
}

static inline int sys_getppid(void) {
        return (int)sys_call3(SYS_getppid, 0, 0, 0);
}

static inline int sys_gettid(void) {
        return (int)sys_call3(SYS_gettid, 0, 0, 0);
}

struct sys_timespec {
        int64_t sec, nsec;
};

static inline long sys_clock_gettime(int clock, struct sys_timespec *ret_time) {
        return sys_call3(SYS_clock_gettime, clock, (long)ret_time, 0);
}

enum {
        SYS_FUTEX_WAIT = 0,
        SYS_FUTEX_WAKE = 1
}; /* shared between processes, so not the private forms */

/* timeout: relative; NULL waits for ever */
static inline long sys_futex_wait(void *word, uint32_t expected,
                                  const struct sys_timespec *timeout) {
        return sys_call6(SYS_futex, (long)word, SYS_FUTEX_WAIT, (long)expected, (long)timeout, 0,
                         0);
}

static inline long sys_futex_wake(void *word, int n_waiters) {
        return sys_call6(SYS_futex, (long)word, SYS_FUTEX_WAKE, n_waiters, 0, 0, 0);
}

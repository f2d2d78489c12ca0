/* SPDX-License-Identifier: MIT */
#include "tick/tick_look.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"

enum { PF_EXITING_BIT = 4 }; /* of the kernel's flags, as ever */

static bool read_file(pid_t pid, pid_t tid, const char *name, char *ret, size_t cap) {
        char path[80];

        snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", (int)pid, (int)tid, name);
        return fs_read_text(path, ret, cap) > 0;
}

/* State and flags of the kernel; false: it is gone. */
static bool read_stat(pid_t pid, pid_t tid, char *ret_state, unsigned *ret_flags) {
        char text[512];
        const char *at;

        if (!read_file(pid, tid, "stat", text, sizeof(text)))
                return false;
        at = strrchr(text, ')'); /* a name may hold anything */
        return at && sscanf(at, ") %c %*d %*d %*d %*d %*d %u", ret_state, ret_flags) == 2;
}

bool tick_look_is_off(pid_t pid, pid_t tid) {
        unsigned flags;
        char state;

        return read_stat(pid, tid, &state, &flags) && strchr("SDTtI", state);
}

bool tick_look_lives_on(pid_t pid, pid_t tid) {
        unsigned flags;
        char state;

        return read_stat(pid, tid, &state, &flags) && !strchr("ZXx", state) &&
               !(flags & PF_EXITING_BIT);
}

bool tick_look_kernel_ns(pid_t pid, pid_t tid, uint64_t *ret) {
        unsigned long long n;
        char text[512];
        const char *at;
        long hz = sysconf(_SC_CLK_TCK);

        if (hz <= 0 || !read_file(pid, tid, "stat", text, sizeof(text)))
                return false;
        at = strrchr(text, ')');
        if (!at || sscanf(at, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %llu", &n) != 1)
                return false;
        *ret = n * (1000000000u / (uint64_t)hz);
        return true;
}

bool tick_look_ran_ns(pid_t pid, pid_t tid, uint64_t *ret) {
        unsigned long long n, waited, times;
        char text[128];

        if (!read_file(pid, tid, "schedstat", text, sizeof(text)) ||
            sscanf(text, "%llu %llu %llu", &n, &waited, &times) != 3 || !(n | waited | times))
                return false;
        *ret = n;
        return true;
}

/* "number arguments sp pc", or "-1 sp pc" outside of a call; "running" else. */
static bool parse_place(const char *text, uint64_t *ret_sp, uint64_t *ret_pc) {
        const char *pc = strrchr(text, ' '), *sp = pc;
        unsigned long long a, b;

        if (!pc)
                return false;
        while (sp > text && sp[-1] != ' ')
                sp--;
        if (sscanf(sp, "%llx %llx", &a, &b) != 2 || !a || !b)
                return false;
        *ret_sp = a;
        *ret_pc = b;
        return true;
}

/* How long it ran, how long it could have, how many times: another if it ran meanwhile. Some kernels do not tell, and then it is "". */
static void read_runs(pid_t pid, pid_t tid, char *ret, size_t cap) {
        if (!read_file(pid, tid, "schedstat", ret, cap))
                ret[0] = 0;
}

size_t tick_look_walk(pid_t pid, pid_t tid, struct remote_space *space, uint64_t *ret_pcs,
                      size_t cap, enum remote_end *ret_end) {
        char before[256], after[256], runs_before[128], runs_after[128];
        struct remote_regs regs = {.is_fp_unknown = true}; /* /proc has sp and pc */
        struct remote_stack none = {0};
        size_t n;

        read_runs(pid, tid, runs_before, sizeof(runs_before));
        if (!read_file(pid, tid, "syscall", before, sizeof(before)) ||
            !parse_place(before, &regs.sp, &regs.pc))
                return 0;
        n = remote_walk(space, &regs, &none, ret_pcs, cap, ret_end);
        if (!read_file(pid, tid, "syscall", after, sizeof(after)) || strcmp(before, after) != 0)
                return 0;
        read_runs(pid, tid, runs_after, sizeof(runs_after));
        if (strcmp(runs_before, runs_after) != 0)
                return 0;
        return n;
}

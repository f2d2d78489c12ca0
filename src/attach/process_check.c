/* SPDX-License-Identifier: MIT */
#include "attach/process_check.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/macros.h"

struct status {
        char text[8192], name[32];
        char state;
        pid_t leader, tracer;
        int seccomp;
        bool has_memory, has_shadow_stack;
};

static const char *field(const char *text, const char *name) {
        const char *at = strstr(text, name);

        return at ? at + strlen(name) : NULL;
}

static int number(const char *text, const char *name) {
        const char *at = field(text, name);

        return at ? atoi(at) : 0;
}

static int read_status(pid_t pid, struct status *ret) {
        const char *at;
        char path[64];
        ssize_t n;

        *ret = (struct status){0};
        snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
        n = fs_read_text(path, ret->text, sizeof(ret->text));
        if (n <= 0)
                return n < 0 ? (int)n : -ESRCH;
        sscanf(ret->text, "Name:\t%31[^\n]", ret->name);
        at = field(ret->text, "\nState:\t");
        ret->state = at ? at[0] : '?';
        ret->leader = number(ret->text, "\nTgid:");
        ret->tracer = number(ret->text, "\nTracerPid:");
        ret->seccomp = number(ret->text, "\nSeccomp:");
        ret->has_memory = field(ret->text, "\nVmSize:") != NULL;
        at = field(ret->text, "\nx86_Thread_features:");
        ret->has_shadow_stack = at && strstr(at, "shstk");
        return 0;
}

/* The kernel tells a program at its start whether it was given rights of its own. */
static bool is_privileged(pid_t pid) {
        uint64_t pair[2];
        char path[64];
        int fd;
        bool is_secure = false;

        snprintf(path, sizeof(path), "/proc/%d/auxv", (int)pid);
        fd = fs_open(path, O_RDONLY, 0);
        if (fd < 0)
                return false;
        while (fs_read_some(fd, pair, sizeof(pair)) == (ssize_t)sizeof(pair) && pair[0] != AT_NULL)
                is_secure |= pair[0] == AT_SECURE && pair[1];
        close(fd);
        return is_secure;
}

static const char *machine_name(uint16_t machine) {
        switch (machine) {
        case EM_AARCH64: return "aarch64";
        case EM_X86_64: return "x86_64";
        case EM_ARM: return "32-bit arm";
        case EM_386: return "32-bit x86";
        default: return "another architecture";
        }
}

static bool has_mapping(pid_t pid, const char *name) {
        char path[64];
        char *line = NULL;
        size_t cap = 0;
        bool is_found = false;
        FILE *f;

        snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
        f = fopen(path, "re");
        while (f && !is_found && getline(&line, &cap, f) > 0)
                is_found = strstr(line, name) != NULL;
        if (f)
                fclose(f);
        free(line);
        return is_found;
}

static int check_program(pid_t pid, const char *name, uint16_t machine, struct err *reterr) {
        char path[64];
        Elf64_Ehdr eh = {0};
        int fd;

        snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
        fd = fs_open(path, O_RDONLY, 0);
        if (fd < 0)
                return process_explain(pid, fd == -EACCES ? -EPERM : fd, reterr);
        if (fs_read_at(fd, &eh, sizeof(eh), 0) != sizeof(eh))
                eh.e_machine = 0;
        close(fd);
        if (strncmp(name, "qemu-", 5) == 0)
                return err_set(
                        reterr, -ENOTSUP,
                        "process %d (%s) is an emulator, and silt cannot enter the program in it: start it with 'silt run --launcher'",
                        (int)pid, name);
        if (eh.e_machine != machine || eh.e_ident[EI_CLASS] != ELFCLASS64)
                return err_set(
                        reterr, -ENOTSUP,
                        "process %d (%s) is built for %s, but silt's runtime for %s: use a silt built for its architecture",
                        (int)pid, name, machine_name(eh.e_machine), machine_name(machine));
        if (!has_mapping(pid, "/libc.so.6") && !has_mapping(pid, "/libc-2."))
                return err_set(
                        reterr, -ENOTSUP,
                        "process %d (%s) is static or does not use glibc, so silt cannot enter it: link it dynamically against glibc",
                        (int)pid, name);
        return 0;
}

bool process_is_over(pid_t pid) {
        struct status s;

        /* without memory: it is about to end */
        return read_status(pid, &s) < 0 || s.state == 'Z' || s.state == 'X' || !s.has_memory;
}

/* A process whose first thread has ended is shown as a zombie while others run. */
static int explain_end(pid_t pid, const struct status *s, struct err *reterr) {
        if (number(s->text, "\nThreads:") > 1)
                return err_set(
                        reterr, -ENOTSUP,
                        "process %d (%s) goes on without its first thread, which has ended, and silt can enter it by that one alone: start it with 'silt run'",
                        (int)pid, s->name);
        return err_set(reterr, -ESRCH,
                       "process %d (%s) has already ended (zombie): there is nothing to record",
                       (int)pid, s->name);
}

/* 1: ancestors may trace, 2: root may, 3: nobody, until the machine starts again. */
static const char *scope_remedy(char scope) {
        switch (scope) {
        case '1': return ", run silt as root, or set it to 0 (sysctl)";
        case '2': return ", or run silt as root";
        default: return "";
        }
}

int process_explain(pid_t pid, int error, struct err *reterr) {
        char scope[8] = "";
        struct status s;

        if (pid > 0 && read_status(pid, &s) == 0 && (s.state == 'Z' || s.state == 'X'))
                return explain_end(pid, &s, reterr);
        if (error == -ESRCH || error == -ENOENT)
                return err_set(reterr, -ESRCH, "process %d: no such process: see 'ps'", (int)pid);
        if (read_status(pid, &s) == 0 && s.tracer && s.tracer != getpid())
                return err_set(
                        reterr, -EBUSY,
                        "process %d (%s) is already being traced by process %d: end that one first",
                        (int)pid, s.name, (int)s.tracer);
        fs_read_text("/proc/sys/kernel/yama/ptrace_scope", scope, sizeof(scope));
        if (scope[0] >= '1' && scope[0] <= '3')
                return err_set(
                        reterr, -EPERM,
                        "process %d: not permitted because kernel.yama.ptrace_scope is %c: start it with 'silt run'%s",
                        (int)pid, scope[0], scope_remedy(scope[0]));
        if (geteuid() == 0)
                return err_set(
                        reterr, -EPERM,
                        "process %d: not permitted, even as root: grant CAP_SYS_PTRACE, or run silt outside the container or security module that forbids it",
                        (int)pid);
        return err_set(
                reterr, -EPERM,
                "process %d: not permitted: run silt as that process's user, or as root (with CAP_SYS_PTRACE)",
                (int)pid);
}

int process_check(pid_t pid, uint16_t machine, struct err *reterr) {
        struct status s;
        int r = pid > 0 ? read_status(pid, &s) : -ESRCH;

        if (r < 0)
                return process_explain(pid, r, reterr);
        if (pid == getpid())
                return err_set(reterr, -EINVAL, "process %d is silt itself: name another process",
                               (int)pid);
        if (s.leader != pid)
                return err_set(reterr, -EINVAL,
                               "process %d is a thread of process %d: attach to that process",
                               (int)pid, (int)s.leader);
        if (s.state == 'Z' || s.state == 'X')
                return explain_end(pid, &s, reterr);
        if (!s.has_memory)
                return err_set(reterr, -EINVAL,
                               "process %d (%s) is a kernel thread: name another process", (int)pid,
                               s.name);
        if (s.tracer)
                return process_explain(pid, -EPERM, reterr);
        if (s.state == 'T')
                return err_set(reterr, -EAGAIN,
                               "process %d (%s) is stopped: continue it first with kill -CONT %d",
                               (int)pid, s.name, (int)pid);
        if (s.seccomp)
                return err_set(
                        reterr, -EPERM,
                        "process %d (%s) has a seccomp filter that may kill it for a system call silt needs: start it with 'silt run'",
                        (int)pid, s.name);
        if (s.has_shadow_stack)
                return err_set(
                        reterr, -ENOTSUP,
                        "process %d (%s) has a shadow stack, which silt's calls would break: start it with 'silt run'",
                        (int)pid, s.name);
        if (is_privileged(pid))
                return err_set(
                        reterr, -EPERM,
                        "process %d (%s) is privileged (set-user-id or capabilities), and silt does not enter such programs: run it without privileges",
                        (int)pid, s.name);
        return check_program(pid, s.name, machine, reterr);
}

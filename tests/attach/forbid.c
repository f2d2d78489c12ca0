/* SPDX-License-Identifier: MIT */
/* Preloaded into silt: ptrace is not permitted. With FORBID_SCOPE=N as under yama, whose setting is N: the process's memory cannot be opened either. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

long ptrace(int request, ...);

long ptrace(int request, ...) {
        (void)request;
        errno = EPERM;
        return -1;
}

static int scope_file(const char *scope) {
        int pipes[2];

        if (pipe(pipes) < 0)
                return -1;
        (void)!write(pipes[1], scope, strlen(scope));
        (void)!write(pipes[1], "\n", 1);
        close(pipes[1]);
        return pipes[0];
}

static int open_at(const char *path, int flags, mode_t mode) {
        int (*real)(const char *, int, ...) = dlsym(RTLD_NEXT, "open");
        const char *scope = getenv("FORBID_SCOPE");
        size_t n = strlen(path);

        if (scope && !strcmp(path, "/proc/sys/kernel/yama/ptrace_scope"))
                return scope_file(scope);
        if (scope && !strncmp(path, "/proc/", 6) && n > 4 && !strcmp(path + n - 4, "/mem")) {
                errno = EACCES;
                return -1;
        }
        return real(path, flags, mode);
}

int open(const char *path, int flags, ...) {
        mode_t mode;
        va_list args;

        va_start(args, flags);
        mode = va_arg(args, mode_t);
        va_end(args);
        return open_at(path, flags, mode);
}

int open64(const char *path, int flags, ...) {
        mode_t mode;
        va_list args;

        va_start(args, flags);
        mode = va_arg(args, mode_t);
        va_end(args);
        return open_at(path, flags, mode);
}

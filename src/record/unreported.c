/* SPDX-License-Identifier: MIT */
#include "record/unreported.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "base/macros.h"
#include "record/proc.h"
#include "record/shared_memory.h"
#include "wire/hello.h"

enum { UNREPORTED_MAX_ENVIRON_BYTES = 256 * 1024, UNREPORTED_KTHREADD = 2 };

enum unreported_answer { UNREPORTED_NO, UNREPORTED_YES, UNREPORTED_UNCLEAR };

/* An emulator has the guest's environment among its arguments. Between an exec's old memory and its new arguments there is
 * neither: a program that was spawned by one that has ended since is nobody's then. */
static enum unreported_answer unreported_has_env(pid_t pid, const char *wanted, char *buf) {
        static const char *const files[] = {"environ", "cmdline"};
        size_t n_empty = 0;
        char path[64];

        for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
                ssize_t n;

                snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, files[i]);
                n = fs_read_text(path, buf, UNREPORTED_MAX_ENVIRON_BYTES);
                if (n > 0 && memmem(buf, (size_t)n, wanted, strlen(wanted)))
                        return UNREPORTED_YES;
                n_empty += n == 0;
        }
        return n_empty == ARRAY_SIZE(files) ? UNREPORTED_UNCLEAR : UNREPORTED_NO;
}

/* Zombies and the kernel's own threads have no environment for ever. */
static bool unreported_will_have_env(pid_t pid, double since_s) {
        return proc_started_s(pid) >= since_s && proc_is_running(pid) &&
               proc_parent(pid) != UNREPORTED_KTHREADD;
}

void unreported_find(unreported *ret, size_t *ret_n_unclear, const char *rendezvous_env,
                     double since_s) {
        _cleanup_free_ char *buf = malloc(UNREPORTED_MAX_ENVIRON_BYTES);
        char wanted[400];
        DIR *proc = opendir("/proc");
        struct dirent *d;

        *ret_n_unclear = 0;
        snprintf(wanted, sizeof(wanted), "%s=%s", WIRE_ENV, rendezvous_env);
        while (buf && proc && (d = readdir(proc))) {
                pid_t pid = (pid_t)atoi(d->d_name);
                enum unreported_answer answer = UNREPORTED_NO;

                if (pid > 1 && pid != getpid())
                        answer = unreported_has_env(pid, wanted, buf);
                if (answer == UNREPORTED_YES)
                        vec_push(ret, pid);
                else if (answer == UNREPORTED_UNCLEAR)
                        *ret_n_unclear += unreported_will_have_env(pid, since_s);
        }
        if (proc)
                closedir(proc);
}

static bool unreported_is_silt(pid_t pid) {
        struct stat own, its;
        char path[64];

        snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
        return stat("/proc/self/exe", &own) == 0 && stat(path, &its) == 0 &&
               own.st_dev == its.st_dev && own.st_ino == its.st_ino;
}

static pid_t unreported_tracer(pid_t pid) {
        char path[64], text[2048];
        const char *at;

        snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
        if (fs_read_text(path, text, sizeof(text)) <= 0)
                return 0;
        at = strstr(text, "\nTracerPid:");
        return at ? (pid_t)atoi(at + strlen("\nTracerPid:")) : 0;
}

/* A copy that one of silt's helpers holds is read, and never runs. */
static bool unreported_is_copy(pid_t pid) {
        return proc_state(pid) == 't' && unreported_is_silt(unreported_tracer(pid));
}

void unreported_find_heirs(unreported *ret, double since_s) {
        shared_files own = {0}, its = {0};
        DIR *proc = opendir("/proc");
        struct dirent *d;

        shared_memory_list(getpid(), &own);
        while (own.n && proc && (d = readdir(proc))) {
                pid_t pid = (pid_t)atoi(d->d_name);

                if (pid <= 1 || proc_started_s(pid) < since_s || !proc_is_running(pid))
                        continue;
                vec_clear(&its);
                shared_memory_list(pid, &its);
                if (shared_memory_meet(&own, &its) && !unreported_is_silt(pid) &&
                    !unreported_is_copy(pid))
                        vec_push(ret, pid);
        }
        if (proc)
                closedir(proc);
        vec_free(&own);
        vec_free(&its);
}

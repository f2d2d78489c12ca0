/* SPDX-License-Identifier: MIT */
#include "record/strays.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "wire/hello.h"

enum { STRAYS_MAX_ENVIRON_BYTES = 256 * 1024 };

static bool strays_has_env(pid_t pid, const char *wanted, char *buf) {
        char path[64];
        ssize_t n;

        snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
        n = fs_read_text(path, buf, STRAYS_MAX_ENVIRON_BYTES);
        return n > 0 && memmem(buf, (size_t)n, wanted, strlen(wanted)) != NULL;
}

void strays_find(strays *ret, const char *rendezvous_env) {
        _cleanup_free_ char *buf = malloc(STRAYS_MAX_ENVIRON_BYTES);
        char wanted[400];
        DIR *proc = opendir("/proc");
        struct dirent *d;

        snprintf(wanted, sizeof(wanted), "%s=%s", WIRE_ENV, rendezvous_env);
        while (buf && proc && (d = readdir(proc))) {
                pid_t pid = (pid_t)atoi(d->d_name);

                if (pid > 1 && pid != getpid() && strays_has_env(pid, wanted, buf))
                        vec_push(ret, pid);
        }
        if (proc)
                closedir(proc);
}

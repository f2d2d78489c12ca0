/* SPDX-License-Identifier: MIT */
#include "record/strays.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/macros.h"
#include "wire/hello.h"

enum { STRAYS_MAX_ENVIRON_BYTES = 256 * 1024 };

/* An emulator has the guest's environment among its arguments. */
static bool strays_has_env(pid_t pid, const char *wanted, char *buf) {
        static const char *const files[] = {"environ", "cmdline"};
        char path[64];

        for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
                ssize_t n;

                snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, files[i]);
                n = fs_read_text(path, buf, STRAYS_MAX_ENVIRON_BYTES);
                if (n > 0 && memmem(buf, (size_t)n, wanted, strlen(wanted)))
                        return true;
        }
        return false;
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

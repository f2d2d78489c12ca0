/* SPDX-License-Identifier: MIT */
#include "trace/being_written.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* "3: FLOCK  ADVISORY  WRITE 4711 08:01:123456 0 EOF". Of devices nothing is said: some file systems show others than stat does. */
static bool is_lock_of(const char *line, unsigned long long inode) {
        unsigned long long found;
        char kind[16], how[16];

        return sscanf(line, "%*s %15s %*s %15s %*s %*x:%*x:%llu", kind, how, &found) == 3 &&
               strcmp(kind, "FLOCK") == 0 && strcmp(how, "WRITE") == 0 && found == inode;
}

bool trace_is_being_written(const char *path) {
        FILE *locks;
        char line[256];
        bool found = false;
        struct stat st;

        if (stat(path, &st) < 0)
                return false;
        locks = fopen("/proc/locks", "re");
        while (locks && !found && fgets(line, sizeof(line), locks))
                found = is_lock_of(line, st.st_ino);
        if (locks)
                fclose(locks);
        return found;
}

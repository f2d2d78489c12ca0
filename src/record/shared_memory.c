/* SPDX-License-Identifier: MIT */
#include "record/shared_memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

int shared_memory_list(pid_t pid, shared_files *ret) {
        char path[64], *line = NULL, mode[8];
        unsigned major_no, minor_no;
        unsigned long long inode;
        size_t cap = 0;
        FILE *f;

        snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
        f = fopen(path, "re");
        if (!f)
                return -errno;
        while (getline(&line, &cap, f) > 0)
                if (sscanf(line, "%*s %7s %*s %x:%x %llu", mode, &major_no, &minor_no, &inode) ==
                            4 &&
                    strcmp(mode, "rw-s") == 0 && inode &&
                    !strstr(line, "anon_inode:")) /* rings of the kernel: all have one number */
                        vec_push(ret, (struct shared_file){makedev(major_no, minor_no), inode});
        free(line);
        fclose(f);
        return 0;
}

bool shared_memory_meet(const shared_files *a, const shared_files *b) {
        for (size_t i = 0; i < a->n; i++)
                for (size_t k = 0; k < b->n; k++)
                        if (a->items[i].device == b->items[k].device &&
                            a->items[i].inode == b->items[k].inode)
                                return true;
        return false;
}

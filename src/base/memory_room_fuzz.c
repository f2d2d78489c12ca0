/* SPDX-License-Identifier: MIT */
/* Any bytes as the files of a memory cgroup and of /proc: what can be read is a number, all else is unknown, and nothing is read beyond a text's end. The input's
 * parts, with bars between them, are the files one after the other; the first is /proc/PID/cgroup.
 *
 * covers: src/base/memory_room.c */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/macros.h"
#include "base/memory_room.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static char root[64];

static const char *const files[] = {"proc/7/cgroup",
                                    "proc/meminfo",
                                    "proc/vmstat",
                                    "proc/pressure/memory",
                                    "cgroup/memory/a/b/memory.oom_control",
                                    "cgroup/memory/a/b/memory.stat",
                                    "cgroup/memory/a/b/memory.limit_in_bytes",
                                    "cgroup/memory/a/b/memory.usage_in_bytes",
                                    "cgroup/memory/a/b/memory.memsw.limit_in_bytes",
                                    "cgroup/a/b/memory.events",
                                    "cgroup/a/b/memory.stat",
                                    "cgroup/a/b/memory.max",
                                    "cgroup/a/b/memory.current",
                                    "cgroup/a/b/memory.swap.max",
                                    "cgroup/a/b/memory.pressure"};

static void remove_root(void) {
        char command[128];

        snprintf(command, sizeof(command), "rm -r '%s'", root);
        if (system(command) != 0)
                perror(root);
}

static void expect(bool is_so) {
        if (!is_so)
                abort();
}

/* Writing takes most of the time: a file that is so already is left alone. */
static bool is_there(size_t file, const uint8_t *data, size_t n) {
        static struct {
                uint8_t *data;
                size_t n;
                bool is_there;
        } last[ARRAY_SIZE(files)];

        if (last[file].is_there && last[file].n == n &&
            (n == 0 || memcmp(last[file].data, data, n) == 0))
                return true;
        last[file].data = realloc(last[file].data, n + 1);
        expect(last[file].data != NULL);
        if (n)
                memcpy(last[file].data, data, n);
        last[file].n = n;
        last[file].is_there = true;
        return false;
}

static void put(size_t file, const uint8_t *data, size_t n) {
        const char *name = files[file];
        char path[256];
        int fd;

        if (is_there(file, data, n))
                return;
        snprintf(path, sizeof(path), "%s/%s", root, name);
        for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')); *at++ = '/') {
                *at = 0;
                mkdir(path, 0700);
        }
        fd = fs_open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        expect(fd >= 0 && fs_write_all(fd, data, n) == 0);
        close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        char proc[96], cgroup[96];
        struct memory_group g;
        struct memory_room room;

        if (!root[0]) {
                snprintf(root, sizeof(root), "%s/memory_room_fuzz.XXXXXX",
                         access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
                expect(mkdtemp(root) != NULL && atexit(remove_root) == 0);
        }
        for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
                const uint8_t *end = n ? memchr(data, '|', n) : NULL;
                size_t n_part = end ? (size_t)(end - data) : n;

                put(i, data, n_part);
                data += n_part + (end != NULL);
                n -= n_part + (end != NULL);
        }
        snprintf(proc, sizeof(proc), "%s/proc", root);
        snprintf(cgroup, sizeof(cgroup), "%s/cgroup", root);
        if (memory_room_read_machine(proc, &room))
                expect(room.of[ROOM_USAGE] <= room.of[ROOM_LIMIT]);
        if (!memory_group_find(7, proc, cgroup, &g))
                return 0;
        expect(strlen(g.folder) >= g.n_tree && g.path[0] == '/');
        expect(memory_group_is_within(g.path, "/"));
        for (unsigned k = 0; k < 2000; k++) {
                if (memory_room_read(&g, &room)) {
                        memory_room_recount(&g, proc, &room);
                        expect(memory_room_left(&room) == ROOM_UNKNOWN ||
                               memory_room_left(&room) <= room.of[ROOM_LIMIT]);
                }
                if (!memory_group_rise(&g))
                        return 0;
        }
        abort(); /* a path has no more parts than bytes */
}

/* SPDX-License-Identifier: MIT */
/* Any bytes as /tmp/perf-PID.map. Whatever they are: a name is printable and no longer than promised, and
 * an address that no line of plain form covers has none.
 *
 * covers: src/symbol/perfmap.c */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fs.h"
#include "symbol/perfmap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { N_ADDRESSES = 64 };

/* Its own process has a map, which is not older than itself; nobody else's is taken for it. */
static void check_open(void) {
        char path[64];
        int fd;

        snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
        fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0)
                return; /* somebody else's is in the way */
        close(fd);
        fd = perfmap_open((uint32_t)getpid(), 0);
        if (fd < 0)
                abort();
        close(fd);
        unlink(path);
        if (perfmap_open((uint32_t)getpid(), 0) >= 0 || perfmap_open(UINT32_MAX, 1) >= 0)
                abort();
}

static void check_name(const char *name) {
        if (!name)
                return;
        if (!name[0] || strlen(name) > PERFMAP_MAX_NAME)
                abort();
        for (const char *c = name; *c; c++)
                if ((unsigned char)*c < ' ' || *c == 0x7f)
                        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        static bool is_checked;
        uint64_t addresses[N_ADDRESSES];
        const char *names[N_ADDRESSES] = {0};
        struct arena *arena = arena_new();
        int fd = memfd_create("map", MFD_CLOEXEC);

        if (!is_checked)
                check_open();
        is_checked = true;
        /* Dense at the bottom, and up to the top. */
        for (size_t i = 0; i < N_ADDRESSES; i++)
                addresses[i] = i < 32 ? i * 16 : i < 63 ? 1ull << i : UINT64_MAX;
        if (fd < 0 || fs_write_all(fd, data, n) < 0 || lseek(fd, 0, SEEK_SET) < 0)
                abort();
        perfmap_name(fd, addresses, N_ADDRESSES, arena, names);
        for (size_t i = 0; i < N_ADDRESSES; i++) {
                check_name(names[i]);
                if (names[i] && !memchr(data, '\n', n))
                        abort();
        }
        close(fd);
        arena_free(arena);
        return 0;
}

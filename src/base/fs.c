/* SPDX-License-Identifier: MIT */
#include "base/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/macros.h"

int fs_open(const char *path, int flags, mode_t mode) {
        int fd;

        /* A path may come from a stranger and name a fifo or a terminal: neither may be waited for. */
        if ((flags & O_ACCMODE) == O_RDONLY)
                flags |= O_NONBLOCK | O_NOCTTY;
        do
                fd = open(path, flags | O_CLOEXEC, mode);
        while (fd < 0 && errno == EINTR);
        return fd < 0 ? -errno : fd;
}

int fs_open_nameless(void) {
        const char *folder = getenv("TMPDIR");
        int fd = fs_open(folder && folder[0] ? folder : "/tmp", O_TMPFILE | O_RDWR, 0600);

        if (fd < 0)
                fd = memfd_create("silt", MFD_CLOEXEC);
        return fd < 0 ? -errno : fd;
}

int fs_write_all(int fd, const void *p, size_t size_bytes) {
        const char *at = p;

        while (size_bytes) {
                ssize_t n = write(fd, at, size_bytes);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0)
                        return n < 0 ? -errno : -EIO;
                at += n;
                size_bytes -= (size_t)n;
        }
        return 0;
}

ssize_t fs_read_some(int fd, void *p, size_t size_bytes) {
        ssize_t n;

        do
                n = read(fd, p, size_bytes);
        while (n < 0 && errno == EINTR);
        return n < 0 ? -errno : n;
}

ssize_t fs_read_at(int fd, void *p, size_t size_bytes, uint64_t off) {
        size_t done = 0;

        while (done < size_bytes) {
                ssize_t n = pread(fd, (char *)p + done, size_bytes - done, (off_t)(off + done));

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return -errno;
                if (n == 0)
                        break;
                done += (size_t)n;
        }
        return (ssize_t)done;
}

ssize_t fs_read_text(const char *path, char *buf, size_t cap) {
        _cleanup_close_ int fd = fs_open(path, O_RDONLY, 0);
        size_t n = 0;

        if (fd < 0)
                return fd;
        while (n + 1 < cap) {
                ssize_t got = fs_read_some(fd, buf + n, cap - 1 - n);

                if (got < 0)
                        return got;
                if (got == 0)
                        break;
                n += (size_t)got;
        }
        buf[n] = 0;
        return (ssize_t)n;
}

int fs_find_companion(const char *name, int mode, char *ret_path, size_t cap) {
        static const char *const places[] = {"", "../lib/silt/"};
        char exe[4096];
        ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
        char *slash;

        if (n < 0)
                return -errno;
        exe[n] = 0;
        slash = strrchr(exe, '/');
        if (slash)
                slash[1] = 0;
        for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
                snprintf(ret_path, cap, "%s%s%s", exe, places[i], name);
                if (access(ret_path, mode) == 0)
                        return 0;
        }
        return -ENOENT;
}

/* SPDX-License-Identifier: MIT */
#include "attach/loan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/macros.h"

static bool is_same(const char *a, const char *b) {
        struct stat one, other;

        return stat(a, &one) == 0 && stat(b, &other) == 0 && one.st_dev == other.st_dev &&
               one.st_ino == other.st_ino;
}

static int copy_file(const char *from, const char *to) {
        _cleanup_close_ int in = fs_open(from, O_RDONLY, 0);
        _cleanup_close_ int out = fs_open(to, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0755);
        char buf[65536];
        ssize_t n = in < 0 ? in : out < 0 ? out : 1;

        while (n > 0) {
                n = fs_read_some(in, buf, sizeof(buf));
                if (n > 0) {
                        int r = fs_write_all(out, buf, (size_t)n);

                        n = r < 0 ? r : n;
                }
        }
        if (n == 0 && fchmod(out, 0755) < 0)
                n = -errno;
        return (int)n;
}

/* Folders where programs may be put, and may be mapped as code. */
static int make_folder(struct loan *l, pid_t pid, size_t *ret_root_len) {
        static const char *const places[] = {"/tmp", "/dev/shm", "/var/tmp", "/run"};

        for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
                *ret_root_len = (size_t)snprintf(l->dir, sizeof(l->dir), "/proc/%d/root", (int)pid);
                snprintf(l->dir + *ret_root_len, sizeof(l->dir) - *ret_root_len, "%s/silt-XXXXXX",
                         places[i]);
                if (mkdtemp(l->dir)) {
                        chmod(l->dir, 0755);
                        return 0;
                }
        }
        l->dir[0] = '\0';
        return -errno;
}

int loan_make(struct loan *l, pid_t pid, const char *path, struct err *reterr) {
        char there[4200];
        size_t root_len;
        int r;

        *l = (struct loan){0};
        snprintf(there, sizeof(there), "/proc/%d/root%s", (int)pid, path);
        snprintf(l->path, sizeof(l->path), "%s", path);
        if (is_same(there, path))
                return 0;
        r = make_folder(l, pid, &root_len);
        if (r == 0) {
                snprintf(l->copy, sizeof(l->copy), "%s/libsilt.so", l->dir);
                snprintf(l->path, sizeof(l->path), "%s", l->copy + root_len);
                r = copy_file(path, l->copy);
        }
        if (r == 0)
                return 0;
        loan_end(l);
        return err_set_errno(
                reterr, r,
                "process %d: it has another root, and no folder there takes the runtime (/tmp, /dev/shm)",
                (int)pid);
}

void loan_end(struct loan *l) {
        if (l->copy[0])
                unlink(l->copy);
        if (l->dir[0])
                rmdir(l->dir);
        l->copy[0] = l->dir[0] = '\0';
}

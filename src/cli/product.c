/* SPDX-License-Identifier: MIT */
#include "cli/product.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/macros.h"

static int refuse_existing(const struct product *p, struct err *reterr) {
        return err_set(reterr, -EEXIST,
                       "'%s' already exists: choose another file (-o) or overwrite it (-f)",
                       p->path);
}

static bool is_own(const struct product *p, int fd) {
        char head[PRODUCT_MAX_MARK_WITHIN + 1] = "";
        struct stat st;

        return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
               fs_read_at(fd, head, MIN(p->mark_within, sizeof(head) - 1), 0) > 0 &&
               strstr(head, p->mark);
}

static int refuse(const struct product *p, int error, struct err *reterr) {
        return err_set(reterr, error, "'%s': %s: choose another file (-o)", p->path,
                       strerror(-error));
}

/* The folder it is to be made in; a new file needs it. */
static int check_folder(const struct product *p, struct err *reterr) {
        const char *slash = strrchr(p->path, '/');
        char *folder = slash ? strndup(p->path, MAX((size_t)(slash - p->path), (size_t)1)) : NULL;
        int r = 0;

        if (access(folder ? folder : ".", W_OK | X_OK) < 0)
                r = refuse(p, -errno, reterr);
        free(folder);
        return r;
}

int product_check(const struct product *p, struct err *reterr) {
        bool is_taken;
        int fd;

        if (access(p->path, F_OK) < 0)
                return check_folder(p, reterr);
        if (p->force)
                return 0;
        fd = fs_open(p->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
        is_taken = fd < 0 || !is_own(p, fd);
        if (fd >= 0)
                close(fd);
        return is_taken ? refuse_existing(p, reterr) : 0;
}

/* Opens a new file, or one that may be overwritten, empty. */
static int open_empty(const struct product *p, struct err *reterr) {
        int fd = fs_open(p->path, O_WRONLY | O_CREAT | O_CLOEXEC | (p->force ? O_TRUNC : O_EXCL),
                         p->is_private ? 0600 : 0666);

        if (fd == -EEXIST) {
                fd = fs_open(p->path, O_RDWR | O_CLOEXEC, 0);
                if (fd >= 0 && (!is_own(p, fd) || ftruncate(fd, 0) < 0)) {
                        close(fd);
                        return refuse_existing(p, reterr);
                }
        }
        if (fd < 0)
                return refuse(p, fd, reterr);
        return fd;
}

int product_write(const struct product *p, const char *bytes, size_t n, struct err *reterr) {
        int fd = open_empty(p, reterr);
        int r;

        if (fd < 0)
                return fd;
        r = fs_write_all(fd, bytes, n);
        if (close(fd) < 0 && r >= 0)
                r = -errno;
        if (r < 0) {
                unlink(p->path); /* half a product is none */
                return refuse(p, r, reterr);
        }
        return 0;
}

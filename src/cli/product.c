/* SPDX-License-Identifier: MIT */
#include "cli/product.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
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

        return p->mark && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
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

static int product_check(const struct product *p, struct err *reterr) {
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

static int product_write(const struct product *p, const char *bytes, size_t n, struct err *reterr) {
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

int product_draw(const struct product *p, product_draw_fn draw, void *ctx, size_t *ret_n_bytes,
                 struct err *reterr) {
        _cleanup_free_ char *text = NULL;
        FILE *out;
        int r = product_check(p, reterr);

        if (r < 0)
                return r;
        out = open_memstream(&text, ret_n_bytes);
        if (!out)
                abort();
        r = draw(ctx, out, reterr);
        fclose(out);
        return r < 0 ? r : product_write(p, text, *ret_n_bytes, reterr);
}

/* ---- as it is made ----------------------------------------------------------------------------- */

/* Where the file system has such files, nothing is left when silt is killed. */
static int open_nameless(const char *path) {
        const char *slash = strrchr(path, '/');
        char *folder =
                strndup(slash ? path : ".", slash ? MAX((size_t)(slash - path), (size_t)1) : 1);
        int fd = fs_open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

        free(folder);
        return fd;
}

/* Its name beside the product's. */
static int give_name(struct product_stream *s) {
        char self[64];
        int fd = mkostemp(s->part, O_CLOEXEC); /* one that nobody has */

        if (fd < 0)
                return -errno;
        close(fd);
        unlink(s->part);
        snprintf(self, sizeof(self), "/proc/self/fd/%d", s->fd);
        return linkat(AT_FDCWD, self, AT_FDCWD, s->part, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
}

int product_begin(struct product_stream *s, const struct product *p, struct err *reterr) {
        struct stat st;
        int r = product_check(p, reterr);

        *s = (struct product_stream){.product = p, .fd = -1};
        if (r < 0)
                return r;
        if (stat(p->path, &st) == 0 && !S_ISREG(st.st_mode)) {
                s->fd = fs_open(p->path, O_WRONLY | O_CLOEXEC, 0);
                return s->fd < 0 ? refuse(p, s->fd, reterr) : 0;
        }
        if (asprintf(&s->part, "%s.XXXXXX", p->path) < 0)
                abort();
        s->fd = open_nameless(p->path);
        s->is_nameless = s->fd >= 0;
        if (!s->is_nameless)
                s->fd = mkostemp(s->part, O_CLOEXEC);
        if (s->fd < 0) {
                r = -errno;
                free(TAKE_PTR(s->part));
                return refuse(p, r, reterr);
        }
        if (!p->is_private) {
                mode_t mask = umask(0);

                umask(mask);
                (void)fchmod(s->fd, 0666 & ~mask);
        }
        return 0;
}

int product_end(struct product_stream *s, int r, struct err *reterr) {
        bool is_there = !s->is_nameless;
        int named;

        if (s->is_nameless && r >= 0) {
                named = give_name(s);
                is_there = named >= 0;
                r = is_there ? r : refuse(s->product, named, reterr);
        }
        if (s->fd >= 0 && close(s->fd) < 0 && r >= 0)
                r = refuse(s->product, -errno, reterr);
        if (s->part && r >= 0 && rename(s->part, s->product->path) < 0)
                r = refuse(s->product, -errno, reterr);
        if (s->part && r < 0 && is_there)
                unlink(s->part); /* half a product is none */
        free(TAKE_PTR(s->part));
        return r;
}

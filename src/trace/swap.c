/* SPDX-License-Identifier: MIT */
#include "trace/swap.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* The directory and the name of an open file, as they are now. */
static int swap_find(int old_fd, struct trace_swap *s) {
        char link[64], path[PATH_MAX], *slash;
        ssize_t n;

        snprintf(link, sizeof(link), "/proc/self/fd/%d", old_fd);
        n = readlink(link, path, sizeof(path) - 1);
        if (n < 0)
                return -errno;
        path[n] = 0;
        slash = strrchr(path, '/');
        if (!slash || strlen(slash + 1) >= sizeof(s->name))
                return -ENOENT;
        snprintf(s->name, sizeof(s->name), "%s", slash + 1);
        slash[slash == path] = 0;
        s->dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        return s->dir_fd < 0 ? -errno : 0;
}

/* Somebody may have moved the file away and put another one there, which must not be replaced. */
static int swap_check_name(const struct trace_swap *s, int old_fd) {
        struct stat there, mine;

        if (fstat(old_fd, &mine) < 0 ||
            fstatat(s->dir_fd, s->name, &there, AT_SYMLINK_NOFOLLOW) < 0)
                return -errno;
        return there.st_dev == mine.st_dev && there.st_ino == mine.st_ino ? 0 : -ESTALE;
}

static void swap_make_name(struct trace_swap *s) {
        static unsigned number;

        snprintf(s->temporary, sizeof(s->temporary), ".silt-%d-%u", (int)getpid(), number++);
}

static int swap_create(struct trace_swap *s) {
        s->fd = openat(s->dir_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
        if (s->fd >= 0)
                return 0;
        swap_make_name(s);
        s->fd = openat(s->dir_fd, s->temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                       0600);
        if (s->fd >= 0)
                return 0;
        s->temporary[0] = 0;
        return -errno;
}

int trace_swap_begin(int old_fd, struct trace_swap *ret) {
        struct trace_swap s = TRACE_SWAP_NONE;
        struct stat st;
        int r = swap_find(old_fd, &s);

        if (r == 0)
                r = swap_check_name(&s, old_fd);
        if (r == 0)
                r = swap_create(&s);
        if (r == 0 && fstat(old_fd, &st) < 0)
                r = -errno;
        if (r == 0 && fchmod(s.fd, st.st_mode & 0777) < 0)
                r = -errno;
        /* where that is not allowed the owner is the one who writes it */
        if (r == 0 && fchown(s.fd, st.st_uid, st.st_gid) < 0 && errno != EPERM)
                r = -errno;
        if (r < 0) {
                trace_swap_done(&s);
                return r;
        }
        *ret = s;
        return 0;
}

/* A name of its own, from which rename can take it. */
static int swap_give_name(struct trace_swap *s) {
        char link[64];

        if (s->temporary[0])
                return 0;
        swap_make_name(s);
        snprintf(link, sizeof(link), "/proc/self/fd/%d", s->fd);
        if (linkat(AT_FDCWD, link, s->dir_fd, s->temporary, AT_SYMLINK_FOLLOW) == 0)
                return 0;
        s->temporary[0] = 0;
        return -errno;
}

/* Through the name: a descriptor that was opened without one does not learn it (/proc/self/fd calls such a file
 * deleted for ever, Linux 6.1), and could not be found the next time. */
static int swap_reopen(struct trace_swap *s) {
        int fd = openat(s->dir_fd, s->temporary, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
        struct stat there, mine;

        if (fd < 0)
                return -errno;
        if (fstat(fd, &there) < 0 || fstat(s->fd, &mine) < 0 || there.st_ino != mine.st_ino ||
            there.st_dev != mine.st_dev) {
                close(fd);
                return -ESTALE;
        }
        close(s->fd);
        s->fd = fd;
        return 0;
}

int trace_swap_commit(struct trace_swap *s, int old_fd) {
        int r = swap_check_name(s, old_fd);

        if (r == 0)
                r = swap_give_name(s);
        if (r == 0)
                r = swap_reopen(s);
        if (r == 0 && flock(s->fd, LOCK_EX | LOCK_NB) < 0)
                r = -errno;
        if (r == 0 && renameat(s->dir_fd, s->temporary, s->dir_fd, s->name) < 0)
                r = -errno;
        if (r < 0)
                return r;
        s->temporary[0] = 0;
        while (dup3(s->fd, old_fd, O_CLOEXEC) < 0)
                if (errno != EINTR && errno != EBUSY)
                        return -errno; /* cannot happen: both are open */
        return 0;
}

void trace_swap_done(struct trace_swap *s) {
        if (s->temporary[0])
                unlinkat(s->dir_fd, s->temporary, 0);
        if (s->fd >= 0)
                close(s->fd);
        if (s->dir_fd >= 0)
                close(s->dir_fd);
        *s = TRACE_SWAP_NONE;
}

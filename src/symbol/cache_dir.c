/* SPDX-License-Identifier: MIT */
#include "symbol/cache_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/units.h"
#include "base/vec.h"

enum { DIR_STALE_SECONDS = 3600 };
#define DIR_DEFAULT_BYTES (512ull << 20)

/* ---- where ----------------------------------------------------------------------------------- */

/* Whoever can put files here can put them under any name; so it must be nobody but this user. With sudo and
 * the caller's HOME it is the caller's, and root keeps out of it. */
static int check_owner(int fd, bool must_be_closed) {
        struct stat st;

        if (fstat(fd, &st) < 0)
                return -errno;
        if (st.st_uid != geteuid() || (must_be_closed && st.st_mode & 022))
                return -EPERM;
        return 0;
}

static int open_below(int dir_fd, const char *name) {
        _cleanup_close_ int fd = -1;
        int r;

        if (mkdirat(dir_fd, name, 0700) < 0 && errno != EEXIST)
                return -errno;
        fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        r = check_owner(fd, true);
        return r < 0 ? r : TAKE_FD(fd);
}

/* ~/.cache itself may be a link: it was the user who made it. */
static int open_base(const char *path) {
        _cleanup_close_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        int r;

        if (fd < 0)
                return -errno;
        r = check_owner(fd, false);
        return r < 0 ? r : TAKE_FD(fd);
}

static int make_base(const char *path) {
        char parent[PATH_MAX];
        _cleanup_close_ int fd = -1;
        char *slash;

        snprintf(parent, sizeof(parent), "%s", path);
        slash = strrchr(parent, '/');
        if (!slash || slash == parent || slash[1] == '\0')
                return -ENOENT;
        *slash = '\0';
        fd = open_base(parent);
        if (fd < 0)
                return fd;
        return open_below(fd, slash + 1);
}

int cache_dir_open(void) {
        const char *xdg = secure_getenv("XDG_CACHE_HOME"), *home = secure_getenv("HOME");
        _cleanup_close_ int base = -1, own = -1;
        char path[PATH_MAX];
        int n;

        if (xdg && xdg[0] == '/')
                n = snprintf(path, sizeof(path), "%s", xdg);
        else if (home && home[0] == '/')
                n = snprintf(path, sizeof(path), "%s/.cache", home);
        else
                return -ENOENT;
        if (n < 0 || (size_t)n >= sizeof(path))
                return -ENAMETOOLONG;
        base = open_base(path);
        if (base == -ENOENT)
                base = make_base(path);
        if (base < 0)
                return base;
        own = open_below(base, "silt");
        return own < 0 ? own : open_below(own, "symbols");
}

uint64_t cache_dir_max_bytes(void) {
        const char *text = secure_getenv("SILT_SYMBOL_CACHE");
        uint64_t bytes;

        if (!text || !text[0])
                return DIR_DEFAULT_BYTES;
        if (strcmp(text, "off") == 0)
                return 0;
        return unit_parse_bytes(text, &bytes, NULL) < 0 ? DIR_DEFAULT_BYTES : bytes;
}

/* ---- how much -------------------------------------------------------------------------------- */

struct dir_file {
        char name[NAME_MAX + 1];
        uint64_t size_bytes;
        struct timespec used; /* mtime: set by every use */
};

typedef VEC(struct dir_file) dir_file_list;

static int older_first(const void *a, const void *b) {
        const struct dir_file *x = a, *y = b;

        if (x->used.tv_sec != y->used.tv_sec)
                return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
        if (x->used.tv_nsec != y->used.tv_nsec)
                return x->used.tv_nsec < y->used.tv_nsec ? -1 : 1;
        return strcmp(x->name, y->name);
}

static uint64_t list_files(int dir_fd, dir_file_list *ret) {
        int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *dir = fd < 0 ? NULL : fdopendir(fd);
        uint64_t total_bytes = 0;
        struct dirent *d;

        if (!dir) {
                if (fd >= 0)
                        close(fd);
                return 0;
        }
        while ((d = readdir(dir))) {
                struct dir_file f = {0};
                struct stat st;

                if (fstatat(dir_fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || S_ISDIR(st.st_mode))
                        continue;
                if (strncmp(d->d_name, CACHE_DIR_NEW, strlen(CACHE_DIR_NEW)) == 0) {
                        if (time(NULL) - st.st_mtim.tv_sec > DIR_STALE_SECONDS)
                                unlinkat(dir_fd, d->d_name, 0);
                        continue;
                }
                snprintf(f.name, sizeof(f.name), "%s", d->d_name);
                f.size_bytes = (uint64_t)st.st_size;
                f.used = st.st_mtim;
                total_bytes += f.size_bytes;
                vec_push(ret, f);
        }
        closedir(dir);
        return total_bytes;
}

void cache_dir_trim(int dir_fd, uint64_t max_bytes) {
        uint64_t aim_bytes = max_bytes - max_bytes / 8; /* not again with the next file */
        dir_file_list files = {0};
        uint64_t total_bytes;

        if (flock(dir_fd, LOCK_EX | LOCK_NB) < 0) /* another silt is at it */
                return;
        total_bytes = list_files(dir_fd, &files);
        if (total_bytes > max_bytes) {
                qsort(files.items, files.n, sizeof(files.items[0]), older_first);
                for (size_t i = 0; i < files.n && total_bytes > aim_bytes; i++)
                        if (unlinkat(dir_fd, files.items[i].name, 0) == 0)
                                total_bytes -= files.items[i].size_bytes;
        }
        flock(dir_fd, LOCK_UN);
        vec_free(&files);
}

/* SPDX-License-Identifier: MIT */
#include "import/kept_files.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KEPT_MAX_PATH = 2048, KEPT_FOLDERS_AT_ONCE = 16 };

struct kept_files {
        char root[PATH_MAX]; /* "": not made yet */
        uint64_t left_bytes;
};

struct kept_files *kept_files_new(uint64_t max_bytes) {
        struct kept_files *k = calloc(1, sizeof(*k));

        if (!k)
                abort();
        k->left_bytes = max_bytes;
        return k;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw) {
        (void)st, (void)type, (void)ftw;
        (void)remove(path);
        return 0;
}

struct kept_files *kept_files_free(struct kept_files *k) {
        if (k && k->root[0])
                nftw(k->root, remove_one, KEPT_FOLDERS_AT_ONCE, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
        free(k);
        return NULL;
}

const char *kept_files_root(const struct kept_files *k) {
        return k && k->root[0] ? k->root : NULL;
}

/* A file says what it likes: nothing is written outside of the folder. */
static bool leads_out(const char *path) {
        size_t n = strlen(path);

        return path[0] != '/' || n > KEPT_MAX_PATH || path[n - 1] == '/' || strstr(path, "/../") ||
               (n >= 3 && strcmp(path + n - 3, "/..") == 0);
}

static int make_root(struct kept_files *k) {
        const char *folder = getenv("TMPDIR");

        if (k->root[0])
                return 0;
        if (snprintf(k->root, sizeof(k->root), "%s/silt-files-XXXXXX",
                     folder && folder[0] ? folder : "/tmp") >=
                    (int)sizeof(k->root) - KEPT_MAX_PATH ||
            !mkdtemp(k->root)) {
                k->root[0] = 0;
                return -errno;
        }
        return 0;
}

int kept_files_create(struct kept_files *k, const char *path, uint64_t n_bytes) {
        char whole[PATH_MAX];
        int fd, r;

        if (leads_out(path))
                return -EINVAL;
        if (n_bytes > k->left_bytes)
                return -EFBIG;
        r = make_root(k);
        if (r < 0)
                return r;
        snprintf(whole, sizeof(whole), "%s%s", k->root, path);
        for (char *slash = whole + strlen(k->root) + 1; (slash = strchr(slash, '/')); slash++) {
                *slash = 0;
                if (mkdir(whole, 0700) < 0 && errno != EEXIST)
                        return -errno;
                *slash = '/';
        }
        fd = open(whole, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0)
                return -errno;
        k->left_bytes -= n_bytes;
        return fd;
}

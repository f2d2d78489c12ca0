/* SPDX-License-Identifier: MIT */
#include "attach/visible_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/macros.h"

static bool is_same(const char *a, const char *b) {
        struct stat one, other;

        return stat(a, &one) == 0 && stat(b, &other) == 0 && one.st_dev == other.st_dev &&
               one.st_ino == other.st_ino;
}

/* Who it is, as far as files are concerned. */
struct user {
        uid_t uid;
        gid_t groups[256];
        size_t n_groups;
};

static bool read_user(pid_t pid, struct user *ret) {
        char path[64], text[8192];
        const char *uid, *gid, *groups;
        char *end;

        *ret = (struct user){0};
        snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
        if (fs_read_text(path, text, sizeof(text)) <= 0)
                return false;
        uid = strstr(text, "\nUid:\t");
        gid = strstr(text, "\nGid:\t");
        groups = strstr(text, "\nGroups:\t");
        /* the fourth of each is that of file systems */
        if (!uid || !gid || !groups || sscanf(uid + 6, "%*u %*u %*u %u", &ret->uid) != 1 ||
            sscanf(gid + 6, "%*u %*u %*u %u", &ret->groups[0]) != 1)
                return false;
        ret->n_groups = 1;
        for (const char *at = groups + 9; *at && *at != '\n' && ret->n_groups < 256; at = end) {
                unsigned long one = strtoul(at, &end, 10);

                if (end == at)
                        break;
                ret->groups[ret->n_groups++] = (gid_t)one;
                end += *end == ' ';
        }
        return true;
}

/* want: 4 to read, 1 to pass. */
static bool user_may(const struct user *u, const char *path, mode_t want) {
        mode_t mode;
        struct stat st;

        if (stat(path, &st) < 0)
                return false;
        mode = st.st_mode;
        for (size_t i = 0; i < u->n_groups; i++)
                if (u->groups[i] == st.st_gid)
                        mode = st.st_mode >> 3;
        if (u->uid == st.st_uid)
                mode = st.st_mode >> 6;
        return u->uid == 0 || (mode & want) == want;
}

static bool is_code_allowed(const char *path) {
        struct statvfs fs;

        return statvfs(path, &fs) < 0 || !(fs.f_flag & ST_NOEXEC);
}

/* By the modes of files and folders; where they cannot be told it is tried. */
static bool may_open(pid_t pid, const char *path) {
        char real[4096], *slash;
        struct user u;

        if (!is_code_allowed(path))
                return false;
        if (!read_user(pid, &u) || strlen(path) >= sizeof(real) || !realpath(path, real))
                return true;
        if (!user_may(&u, real, 4))
                return false;
        while ((slash = strrchr(real, '/')) && slash != real) {
                *slash = '\0';
                if (!user_may(&u, real, 1))
                        return false;
        }
        return true;
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
static int make_folder(struct visible_copy *l, pid_t pid, size_t *ret_root_len) {
        static const char *const places[] = {"/tmp", "/dev/shm", "/var/tmp", "/run"};

        for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
                *ret_root_len = (size_t)snprintf(l->dir, sizeof(l->dir), "/proc/%d/root", (int)pid);
                snprintf(l->dir + *ret_root_len, sizeof(l->dir) - *ret_root_len, "%s", places[i]);
                if (!is_code_allowed(l->dir))
                        continue;
                snprintf(l->dir + *ret_root_len, sizeof(l->dir) - *ret_root_len, "%s/silt-XXXXXX",
                         places[i]);
                if (mkdtemp(l->dir)) {
                        chmod(l->dir, 0755);
                        return 0;
                }
        }
        l->dir[0] = '\0';
        return -ENOENT;
}

int visible_copy_make(struct visible_copy *l, pid_t pid, const char *path, struct err *reterr) {
        char there[4200];
        size_t root_len;
        int r;

        *l = (struct visible_copy){0};
        snprintf(there, sizeof(there), "/proc/%d/root%s", (int)pid, path);
        snprintf(l->path, sizeof(l->path), "%s", path);
        if (is_same(there, path) && may_open(pid, there))
                return 0;
        r = make_folder(l, pid, &root_len);
        if (r == 0) {
                snprintf(l->copy, sizeof(l->copy), "%s/libsilt.so", l->dir);
                snprintf(l->path, sizeof(l->path), "%s", l->copy + root_len);
                r = copy_file(path, l->copy);
        }
        if (r == 0)
                return 0;
        visible_copy_end(l);
        return err_set(
                reterr, r,
                "process %d: cannot open '%s', and no directory takes a copy (/tmp, /dev/shm, /var/tmp, /run): make one of them writable and not noexec",
                (int)pid, path);
}

void visible_copy_end(struct visible_copy *l) {
        if (l->copy[0])
                unlink(l->copy);
        if (l->dir[0])
                rmdir(l->dir);
        l->copy[0] = l->dir[0] = '\0';
}

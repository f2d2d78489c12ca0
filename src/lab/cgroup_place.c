/* SPDX-License-Identifier: MIT */
#include "lab/cgroup_place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/macros.h"

void place_init(struct place *p) {
        const char *root = getenv("SILT_CGROUP_ROOT");

        *p = (struct place){.cgroup_root = "/sys/fs/cgroup",
                            .proc_cgroup = "/proc/self/cgroup",
                            .systemd_alive = "/run/systemd/system"};
        if (root && *root) {
                p->cgroup_root = root;
                p->is_emulated = true;
        }
}

/* A container may see its own group as the root of the mounted tree while /proc tells the path from the machine's root: then a
 * tail of the path is the one that exists. */
static int place_find_tail(const char *tree, const char *group, char *ret_dir, size_t cap) {
        struct stat st;

        for (const char *tail = group; tail; tail = strchr(tail + 1, '/')) {
                if ((size_t)snprintf(ret_dir, cap, "%s%s", tree, tail[1] ? tail : "") < cap &&
                    stat(ret_dir, &st) == 0 && S_ISDIR(st.st_mode))
                        return 0;
        }
        if ((size_t)snprintf(ret_dir, cap, "%s", tree) < cap && stat(ret_dir, &st) == 0 &&
            S_ISDIR(st.st_mode))
                return 0;
        return -ENOENT;
}

static bool has_controller(char *list, const char *controller) {
        char *rest = list, *one;

        while ((one = strsep(&rest, ",")))
                if (strcmp(one, controller) == 0)
                        return true;
        return false;
}

/* Version 1 mounts each controller by its name, version 2 is the root itself or, beside version 1, its folder "unified". */
static int place_try_line(const struct place *p, char *line, const char *controller, char *ret_dir,
                          size_t cap) {
        char *list = strchr(line, ':'), *group, tree[PLACE_PATH_CAP];

        if (!list || !(group = strchr(list + 1, ':')))
                return -ENOENT;
        *group++ = 0;
        list++;
        if (*group != '/')
                return -ENOENT;
        if (controller) {
                if (!has_controller(list, controller))
                        return -ENOENT;
                snprintf(tree, sizeof(tree), "%s/%s", p->cgroup_root, controller);
                return place_find_tail(tree, group, ret_dir, cap);
        }
        if (*list)
                return -ENOENT;
        snprintf(tree, sizeof(tree), "%s/cgroup.controllers", p->cgroup_root);
        if (access(tree, F_OK) == 0)
                snprintf(tree, sizeof(tree), "%s", p->cgroup_root);
        else
                snprintf(tree, sizeof(tree), "%s/unified", p->cgroup_root);
        return place_find_tail(tree, group, ret_dir, cap);
}

int place_own_group(const struct place *p, const char *controller, char *ret_dir, size_t cap) {
        char text[8192], *line, *rest = text;
        ssize_t n = fs_read_text(p->proc_cgroup, text, sizeof(text));

        if (n < 0)
                return (int)n;
        while ((line = strsep(&rest, "\n")))
                if (place_try_line(p, line, controller, ret_dir, cap) == 0)
                        return 0;
        return -ENOENT;
}

int place_write(const struct place *p, const char *dir, const char *file, const char *text) {
        char path[PLACE_PATH_CAP];
        int fd, r;

        if ((size_t)snprintf(path, sizeof(path), "%s/%s", dir, file) >= sizeof(path))
                return -ENAMETOOLONG;
        fd = fs_open(path, O_WRONLY | O_CLOEXEC | (p->is_emulated ? O_CREAT | O_TRUNC : 0), 0600);
        if (fd < 0)
                return fd;
        r = fs_write_all(fd, text, strlen(text));
        close(fd);
        return r;
}

int place_write_number(const struct place *p, const char *dir, const char *file, uint64_t n) {
        char text[32];

        snprintf(text, sizeof(text), "%llu", (unsigned long long)n);
        return place_write(p, dir, file, text);
}

static int place_read(const char *dir, const char *file, char *ret, size_t cap) {
        char path[PLACE_PATH_CAP];
        ssize_t n;

        if ((size_t)snprintf(path, sizeof(path), "%s/%s", dir, file) >= sizeof(path))
                return -ENAMETOOLONG;
        n = fs_read_text(path, ret, cap);
        return n < 0 ? (int)n : 0;
}

static int parse_number(const char *text, uint64_t *ret) {
        char *end;

        if (strncmp(text, "max", 3) == 0) {
                *ret = UINT64_MAX;
                return 0;
        }
        if (*text < '0' || *text > '9')
                return -EINVAL;
        errno = 0;
        *ret = strtoull(text, &end, 10);
        return errno || (*end && *end != '\n') ? -EINVAL : 0;
}

int place_read_number(const char *dir, const char *file, uint64_t *ret) {
        char text[64];
        int r = place_read(dir, file, text, sizeof(text));

        return r < 0 ? r : parse_number(text, ret);
}

int place_read_key(const char *dir, const char *file, const char *key, uint64_t *ret) {
        char text[8192], *line, *rest = text;
        size_t n = strlen(key);
        int r = place_read(dir, file, text, sizeof(text));

        if (r < 0)
                return r;
        while ((line = strsep(&rest, "\n")))
                if (strncmp(line, key, n) == 0 && line[n] == ' ')
                        return parse_number(line + n + 1, ret);
        return -ENOENT;
}

bool place_has_word(const char *dir, const char *file, const char *word) {
        char text[1024], *one, *rest = text;

        if (place_read(dir, file, text, sizeof(text)) < 0)
                return false;
        while ((one = strsep(&rest, " \n")))
                if (strcmp(one, word) == 0)
                        return true;
        return false;
}

int place_make_dir(const struct place *p, const char *dir) {
        (void)p;
        return mkdir(dir, 0755) < 0 ? -errno : 0;
}

/* The files of a real group go with it; those of an emulated one are removed first. */
int place_remove_dir(const struct place *p, const char *dir) {
        DIR *d = p->is_emulated ? opendir(dir) : NULL;
        struct dirent *e;

        while (d && (e = readdir(d)))
                unlinkat(dirfd(d), e->d_name, 0);
        if (d)
                closedir(d);
        return rmdir(dir) < 0 && errno != ENOENT ? -errno : 0;
}

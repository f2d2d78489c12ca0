/* SPDX-License-Identifier: MIT */
#include "remote/remote_files.h"

#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "base/vec.h"

enum {
        UNUSED_MAX = 64, /* files that no process maps any more, kept for the next that does */
        PATH_CAP = 4200,
};

struct entry {
        struct remote_known known;
        dev_t dev;
        ino_t ino;
        struct timespec mtime;
        off_t size;
        uint64_t unused_since; /* counts take and give_back */
};

/* of the one thread that uses spaces */
static VEC(struct entry *) entries;
static unsigned n_ids, n_unused;
static uint64_t now;

static bool has_suffix(const char *path, const char *suffix) {
        size_t n = strlen(path), n_suffix = strlen(suffix);

        return n > n_suffix && strcmp(path + n - n_suffix, suffix) == 0;
}

/* Only what surely is a file: opening anything else may wait, or do something. */
static int open_plain(const char *path, struct stat *ret) {
        _cleanup_close_ int fd = fs_open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);

        return fd >= 0 && fstat(fd, ret) == 0 && S_ISREG(ret->st_mode) ? TAKE_FD(fd) : -1;
}

/* Of a process that is gone nothing is known; most have the root that all have. */
struct remote_root remote_files_root(pid_t pid) {
        struct remote_root r = {.pid = pid};
        struct stat its, own;
        char path[64];

        snprintf(path, sizeof(path), "/proc/%d/root/", (int)pid);
        r.is_other = stat(path, &its) == 0 && stat("/", &own) == 0 &&
                     (its.st_dev != own.st_dev || its.st_ino != own.st_ino);
        return r;
}

/* The program of a process, where the kernel says that it is this path. */
static int open_program(pid_t pid, const char *path, struct stat *ret) {
        char link[64], exe[PATH_CAP];
        ssize_t n;

        snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
        n = readlink(link, exe, sizeof(exe) - 1);
        exe[MAX(n, (ssize_t)0)] = '\0';
        return strcmp(exe, path) == 0 ? open_plain(link, ret) : -1;
}

/* Through the process's own root, so that another mount namespace is no obstacle; by the mapping itself where the file was
 * removed, which the kernel allows to few; plainly when the process is gone and had the same root. */
static int open_mapped(const struct remote_root *root, uint64_t begin, uint64_t end,
                       const char *path, struct stat *ret) {
        int pid = (int)root->pid;
        bool is_deleted = has_suffix(path, " (deleted)");
        char reachable[PATH_CAP];
        int fd;

        snprintf(reachable, sizeof(reachable), "/proc/%d/root%s", pid, path);
        fd = is_deleted ? -1 : open_plain(reachable, ret);
        if (fd >= 0)
                return fd;
        snprintf(reachable, sizeof(reachable), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, pid,
                 begin, end);
        fd = open_plain(reachable, ret);
        if (fd >= 0)
                return fd;
        if (is_deleted)
                return open_program(pid, path, ret);
        return root->is_other ? -1 : open_plain(path, ret);
}

/* The same in all processes of this machine: this one's own. */
static struct remote_file *read_vdso(void) {
        const ElfW(Ehdr) *h =
                (const void *)getauxval(AT_SYSINFO_EHDR); /* NOLINT: an address by definition */

        return h ? remote_file_new_from(h, h->e_shoff + (size_t)h->e_shnum * h->e_shentsize) : NULL;
}

static bool is_same(const struct entry *e, const struct stat *st, const char *path) {
        return e->dev == st->st_dev && e->ino == st->st_ino && e->size == st->st_size &&
               e->mtime.tv_sec == st->st_mtim.tv_sec && e->mtime.tv_nsec == st->st_mtim.tv_nsec &&
               strcmp(e->known.path, path) == 0;
}

static struct remote_known *add(struct remote_file *file, const struct stat *st, const char *path) {
        struct entry *e = calloc(1, sizeof(*e));
        char *copy = strdup(path);

        if (!e || !copy)
                abort();
        e->known = (struct remote_known){file, copy, n_ids++, 1};
        e->dev = st->st_dev;
        e->ino = st->st_ino;
        e->mtime = st->st_mtim;
        e->size = st->st_size;
        vec_push(&entries, e);
        return &e->known;
}

static struct remote_known *find(const struct stat *st, const char *path) {
        for (size_t i = 0; i < entries.n; i++)
                if (is_same(entries.items[i], st, path))
                        return remote_files_share(&entries.items[i]->known);
        return NULL;
}

struct remote_known *remote_files_take(const struct remote_root *root, uint64_t begin, uint64_t end,
                                       const char *path) {
        bool is_vdso = strcmp(path, "[vdso]") == 0;
        struct remote_known *k;
        struct stat st = {0};
        int fd;

        if (is_vdso) {
                k = find(&st, path);
                return k ? k : add(read_vdso(), &st, path);
        }
        fd = path[0] == '/' ? open_mapped(root, begin, end, path, &st) : -1;
        if (fd < 0)
                st = (struct stat){0};
        k = find(&st, path);
        if (!k)
                return add(fd >= 0 ? remote_file_new(fd) : NULL, &st, path);
        if (fd >= 0)
                close(fd);
        return k;
}

struct remote_known *remote_files_share(struct remote_known *k) {
        if (k->n_users++ == 0)
                n_unused--;
        return k;
}

static void drop(size_t i) {
        struct entry *e = entries.items[i];

        remote_file_free(e->known.file);
        free((char *)e->known.path);
        free(e);
        entries.items[i] = entries.items[--entries.n];
        n_unused--;
}

static void drop_oldest(void) {
        size_t oldest = entries.n;

        for (size_t i = 0; i < entries.n; i++)
                if (entries.items[i]->known.n_users == 0 &&
                    (oldest == entries.n ||
                     entries.items[i]->unused_since < entries.items[oldest]->unused_since))
                        oldest = i;
        if (oldest < entries.n)
                drop(oldest);
}

void remote_files_give_back(struct remote_known *k) {
        if (--k->n_users > 0)
                return;
        ((struct entry *)k)->unused_since = ++now; /* known is its first member */
        if (++n_unused > UNUSED_MAX)
                drop_oldest();
}

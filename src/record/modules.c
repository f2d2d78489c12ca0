/* SPDX-License-Identifier: MIT */
#include "record/modules.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "record/elf_id.h"

void modules_init(struct modules *m, const char *runtime_path) {
        memset(m, 0, sizeof(*m));
        m->arena = arena_new();
        m->runtime_path = runtime_path;
}

/* As the kernel writes the path of a removed program; no library's path comes from there. */
static bool is_deleted(const char *path) {
        static const char mark[] = " (deleted)";
        size_t n = strlen(path), n_mark = sizeof(mark) - 1;

        return n > n_mark && strcmp(path + n - n_mark, mark) == 0;
}

/* Through the process's own root, so that another mount namespace or chroot is no obstacle; plainly when it is gone. */
static bool modules_stat(uint32_t pid, const char *path, char ret_reachable[4200],
                         struct stat *ret) {
        snprintf(ret_reachable, 4200, "/proc/%u/root%s", pid, path);
        if (stat(ret_reachable, ret) == 0)
                return true;
        snprintf(ret_reachable, 4200, "%s", path);
        if (stat(ret_reachable, ret) == 0)
                return true;
        /* A program that was removed while it runs can be read all the same. */
        snprintf(ret_reachable, 4200, "/proc/%u/exe", pid);
        return is_deleted(path) && stat(ret_reachable, ret) == 0;
}

/* The number of the file that is there now; st NULL: there is none. */
static size_t modules_know(struct modules *m, const char *path, const char *reachable,
                           const struct stat *st) {
        struct modules_file f = {0};

        if (st) {
                f.dev = st->st_dev;
                f.ino = st->st_ino;
                f.mtime = st->st_mtime;
        }
        for (size_t i = 0; i < m->files.n; i++) {
                const struct modules_file *known = &m->files.items[i];

                if (known->dev == f.dev && known->ino == f.ino && known->mtime == f.mtime &&
                    !strcmp(known->path, path))
                        return i;
        }
        f.path = arena_strdup(m->arena, path);
        f.build_id_len = f.ino ? elf_id_read(reachable, f.build_id) : 0;
        vec_push(&m->files, f);
        return m->files.n - 1;
}

uint32_t modules_add_program(struct modules *m, pid_t pid, const char *exe) {
        char reachable[64];
        struct stat st;

        snprintf(reachable, sizeof(reachable), "/proc/%d/exe", (int)pid);
        return exe[0] && stat(reachable, &st) == 0
                       ? (uint32_t)modules_know(m, exe, reachable, &st) + 1
                       : 0;
}

static const struct modules_file *modules_find(struct modules *m, uint32_t pid, const char *path) {
        char reachable[4200];
        struct stat st;
        bool is_there = modules_stat(pid, path, reachable, &st);
        size_t number = modules_know(m, path, reachable, is_there ? &st : NULL);

        return &m->files.items[number]; /* looked up now: knowing one more may move them */
}

/* The loader's name may be relative to where the process stood. */
static const char *modules_path(struct modules *m, const struct pipeline_module *which,
                                const char *exe) {
        char path[4200];
        struct arena *scratch = m->arena;

        if (!which->name[0])
                return exe;
        if (strchr(which->name, '/') && which->name[0] != '/') {
                char link[64], cwd[4096];
                ssize_t n;

                snprintf(link, sizeof(link), "/proc/%u/cwd", which->pid);
                n = readlink(link, cwd, sizeof(cwd) - 1);
                if (n > 0) {
                        cwd[n] = 0;
                        snprintf(path, sizeof(path), "%.2048s/%.2048s", cwd, which->name);
                        return arena_strdup(scratch, path);
                }
        }
        return which->name;
}

bool modules_resolve(struct modules *m, const struct pipeline_module *which, const char *exe,
                     uint32_t program, struct trace_module *fill) {
        const struct modules_file *f;
        const char *path;

        memset(fill, 0, sizeof(*fill));
        fill->size_bytes = which->end - which->begin;
        if (!strcmp(which->name, m->runtime_path))
                return false;
        if (!strncmp(which->name, "linux-vdso", 10)) {
                fill->path = "[vdso]";
                fill->build_id_len = elf_id_read_vdso(fill->build_id);
                return true;
        }
        path = modules_path(m, which, exe);
        f = program && !which->name[0] ? &m->files.items[program - 1]
                                       : modules_find(m, which->pid, path);
        fill->path = f->path;
        memcpy(fill->build_id, f->build_id, sizeof(fill->build_id));
        fill->build_id_len = f->build_id_len;
        return true;
}

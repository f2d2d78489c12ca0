/* SPDX-License-Identifier: MIT */
#include "symbol/debug_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/macros.h"
#include "base/str.h"
#include "base/vec.h"

enum {
        DEBUG_FILES_MAX = 200000, /* looked at */
        DEBUG_FILES_MAX_DEPTH = 24,
};

static bool is_elf(int fd) {
        char magic[4];

        return fs_read_at(fd, magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) &&
               memcmp(magic, "\177ELF", 4) == 0;
}

/* path: a regular file, maybe by a link. */
static void add_file(struct debug_files *f, const char *path, bool is_given) {
        struct debug_file file = {.is_given = is_given};
        _cleanup_close_ int fd = fs_open(path, O_RDONLY | O_NONBLOCK, 0);

        f->n_seen++;
        if (fd < 0 || !is_elf(fd) || elf_file_identify(fd, &file.id, NULL) < 0)
                return;
        file.path = strdup(path);
        if (!file.path)
                abort();
        vec_push(f, file);
}

static int by_name(const void *a, const void *b) {
        return strcmp(*(char *const *)a, *(char *const *)b);
}

/* In the order of names, so that the same tree always gives the same answer. */
static void add_tree(struct debug_files *f, const char *path, unsigned depth) {
        DIR *dir = opendir(path);
        VEC(char *) names = {0};
        struct dirent *e;

        while (dir && (e = readdir(dir)))
                if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) {
                        char *name = strdup(e->d_name);

                        if (!name)
                                abort();
                        vec_push(&names, name);
                }
        if (dir)
                closedir(dir);
        if (names.n)
                qsort(names.items, names.n, sizeof(names.items[0]), by_name);
        for (size_t i = 0; i < names.n; i++) {
                struct str child = {0};
                struct stat st;

                str_addf(&child, "%s/%s", path, names.items[i]);
                f->is_cut |= f->n_seen >= DEBUG_FILES_MAX;
                /* links lead to files, never to directories: those may lead back */
                if (!f->is_cut && lstat(str_text(&child), &st) == 0) {
                        if (S_ISDIR(st.st_mode) && depth < DEBUG_FILES_MAX_DEPTH)
                                add_tree(f, str_text(&child), depth + 1);
                        else if (S_ISREG(st.st_mode) ||
                                 (S_ISLNK(st.st_mode) && stat(str_text(&child), &st) == 0 &&
                                  S_ISREG(st.st_mode)))
                                add_file(f, str_text(&child), false);
                }
                str_done(&child);
                free(names.items[i]);
        }
        vec_free(&names);
}

const struct debug_files *debug_files_of(const struct symbol_search *search) {
        static struct debug_files files;
        static char *of; /* the paths it is of, one a line */
        struct str paths = {0};
        struct stat st;

        if (search->n_debug_paths == 0)
                return NULL;
        for (size_t i = 0; i < search->n_debug_paths; i++)
                str_addf(&paths, "%s\n", search->debug_paths[i]);
        if (of && strcmp(of, str_text(&paths)) == 0) {
                str_done(&paths);
                return &files;
        }
        free(of);
        of = strdup(str_text(&paths));
        str_done(&paths);
        for (size_t i = 0; i < files.n; i++)
                free((void *)files.items[i].path);
        vec_free(&files);
        files = (struct debug_files){0};
        for (size_t i = 0; i < search->n_debug_paths; i++) {
                if (stat(search->debug_paths[i], &st) < 0)
                        continue;
                if (S_ISDIR(st.st_mode))
                        add_tree(&files, search->debug_paths[i], 0);
                else if (S_ISREG(st.st_mode))
                        add_file(&files, search->debug_paths[i], true);
        }
        return &files;
}

const struct debug_file *debug_files_find(const struct debug_files *f, const uint8_t *id,
                                          size_t n_id) {
        const struct debug_file *best = NULL;

        for (size_t i = 0; f && n_id && i < f->n; i++)
                if (elf_file_id_is(&f->items[i].id, id, n_id) &&
                    (!best || (f->items[i].id.has_debug_info && !best->id.has_debug_info)))
                        best = &f->items[i];
        return best;
}

static const char *base_of(const char *path) {
        const char *slash = strrchr(path, '/');

        return slash ? slash + 1 : path;
}

/* Whether a file is called NAME, or NAME with an ending: app.debug, app-1.2.dbg. */
static bool is_called_like(const char *file, const char *name) {
        size_t n = strlen(name);

        return n && strncmp(file, name, n) == 0 && (!file[n] || strchr(".-_", file[n]));
}

const struct debug_file *debug_files_find_other(const struct debug_files *f, const char *module,
                                                const char *link) {
        for (size_t i = 0; f && i < f->n; i++) {
                const char *base = base_of(f->items[i].path);

                if (is_called_like(base, base_of(module)) ||
                    (link && strcmp(base, base_of(link)) == 0))
                        return &f->items[i];
        }
        for (size_t i = 0; f && i < f->n; i++)
                if (f->items[i].is_given)
                        return &f->items[i];
        return NULL;
}

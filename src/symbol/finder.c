/* SPDX-License-Identifier: MIT */
#include "symbol/finder.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "symbol/debug_files.h"
#include "symbol/debuginfod.h"
#include "symbol/inflate.h"
#include "symbol/sources.h"

#define SYSTEM_ROOT "/usr/lib/debug"

static const struct symbol_search usual_places;

void finder_init(struct finder *f, const struct trace_module *m,
                 const struct symbol_search *search) {
        *f = (struct finder){.module = m, .search = search ? search : &usual_places};
}

static const char *base_of(const char *path) {
        const char *slash = strrchr(path, '/');

        return slash ? slash + 1 : path;
}

/* The directory of a path with its last slash, as a number of characters. */
static int dir_len(const char *path) {
        return (int)(base_of(path) - path);
}

int finder_each_root(const struct finder *f, finder_root_fn try, void *ctx) {
        char root[4200];
        int r = 0;

        for (size_t i = 0; i < f->search->n_debug_paths && !r; i++)
                r = try(ctx, f->search->debug_paths[i]);
        if (!r && f->search->sysroot) {
                snprintf(root, sizeof(root), "%s" SYSTEM_ROOT, f->search->sysroot);
                r = try(ctx, root);
        }
        return r ? r : try(ctx, SYSTEM_ROOT);
}

/* ---- one candidate --------------------------------------------------------------------------- */

/* What a file must be to be taken. */
struct wanted {
        struct finder *finder;
        const uint8_t *id;
        size_t n_id;
        bool by_crc; /* without an id */
        uint32_t crc;
        const char *link; /* the file name it may have, NULL none */
        int worst;        /* -ENOENT, -ENOEXEC, -ESTALE: of all candidates so far */
        char path[4200];
        struct elf_file_id found_id;
        struct elf_file_alt found_alt;
};

static int refuse(struct wanted *w, int why) {
        if (why == -ESTALE || (why == -ENOEXEC && w->worst == -ENOENT))
                w->worst = why;
        return 0;
}

/* The first that had the right name counts: it is what people take for the right one. */
static void note_other(struct finder *f, const char *path, const struct elf_file_id *id) {
        if (f->other_path[0])
                return;
        snprintf(f->other_path, sizeof(f->other_path), "%s", path);
        f->other_id = *id;
}

/* A descriptor above 0 when it is the one; 0 to go on looking. */
static int try_path(struct wanted *w, const char *path) {
        _cleanup_close_ int fd = elf_file_open(path);
        uint32_t crc;

        if (fd < 0)
                return refuse(w, fd == -EINVAL ? -ENOEXEC : -ENOENT);
        if (elf_file_identify(fd, &w->found_id, &w->found_alt) < 0)
                return refuse(w, -ENOEXEC);
        if (w->n_id && !elf_file_id_is(&w->found_id, w->id, w->n_id)) {
                note_other(w->finder, path, &w->found_id);
                return refuse(w, -ESTALE);
        }
        if (!w->n_id && w->by_crc && (elf_file_crc32(fd, &crc) < 0 || crc != w->crc))
                return refuse(w, -ESTALE);
        snprintf(w->path, sizeof(w->path), "%s", path);
        return TAKE_FD(fd);
}

static int try_format(struct wanted *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static int try_format(struct wanted *w, const char *fmt, ...) {
        char path[8400];
        va_list args;
        int n;

        va_start(args, fmt);
        n = vsnprintf(path, sizeof(path), fmt, args);
        va_end(args);
        if (n < 0 || (size_t)n >= sizeof(w->path))
                return 0;
        return try_path(w, path);
}

/* ROOT/.build-id/ab/cdef….debug */
static int try_build_id(void *ctx, const char *root) {
        struct wanted *w = ctx;
        char hex[2 * ELF_FILE_MAX_ID + 2];
        size_t n = 0;

        if (w->n_id < 2 || w->n_id > ELF_FILE_MAX_ID)
                return 0;
        for (size_t i = 0; i < w->n_id; i++)
                n += (size_t)snprintf(hex + n, sizeof(hex) - n, i == 1 ? "/%02x" : "%02x",
                                      w->id[i]);
        return try_format(w, "%s/.build-id/%s.debug", root, hex);
}

/* ROOT/dir/of/the/file/NAME, ROOT/NAME, and dwz's ROOT/.dwz/NAME */
static int try_link(void *ctx, const char *root) {
        struct wanted *w = ctx;
        const char *of = w->finder->module->path;
        int r = of[0] == '/' ? try_format(w, "%s%.*s%s", root, dir_len(of), of, w->link) : 0;

        if (!r)
                r = try_format(w, "%s/%s", root, base_of(w->link));
        return r ? r : try_format(w, "%s/.dwz/%s", root, base_of(w->link));
}

/* Any file in a debug path that has the build-id, whatever it is called. */
static int try_files(struct wanted *w) {
        struct finder *f = w->finder;
        const struct debug_file *file;

        f->files = w->n_id ? debug_files_of(f->search) : NULL;
        if (!f->files)
                return 0;
        file = debug_files_find(f->files, w->id, w->n_id);
        if (file)
                return try_path(w, file->path);
        sources_note_unlisted(); /* one may be put there, anywhere */
        file = debug_files_find_other(f->files, f->module->path, w->link);
        if (file)
                note_other(f, file->path, &file->id);
        return 0;
}

static int fetch(struct wanted *w) {
        char *path = NULL;
        int fd = debuginfod_fetch(w->id, w->n_id, &path);

        if (fd < 0)
                return 0;
        close(fd);
        fd = path ? try_path(w, path) : 0; /* what a server sends is checked like the rest */
        free(path);
        return fd;
}

/* ---- the code -------------------------------------------------------------------------------- */

/* DIR/the/whole/path and DIR/name: for programs that were copied from elsewhere. */
static int try_copies(struct wanted *w, const char *path) {
        const struct symbol_search *s = w->finder->search;
        int r = 0;

        for (size_t i = 0; i < s->n_debug_paths && !r; i++) {
                r = try_format(w, "%s/%s", s->debug_paths[i], path);
                if (!r)
                        r = try_format(w, "%s/%s", s->debug_paths[i], base_of(path));
        }
        return r;
}

/* The kernel writes so behind the path of a file that was removed; another may stand there now. */
static void cut_deleted(char *path) {
        static const char mark[] = " (deleted)";
        size_t n = strlen(path), n_mark = sizeof(mark) - 1;

        if (n > n_mark && strcmp(path + n - n_mark, mark) == 0)
                path[n - n_mark] = '\0';
}

static int try_code(struct wanted *w) {
        const struct symbol_search *s = w->finder->search;
        const char *path = w->finder->module->path;
        char cut[4200];
        int r = 0;

        snprintf(cut, sizeof(cut), "%s", path);
        cut_deleted(cut);
        if (s->sysroot)
                r = try_format(w, "%s/%s", s->sysroot, cut);
        if (!r && (!s->sysroot || w->n_id))
                r = try_path(w, path);
        if (!r && strcmp(cut, path) != 0 && w->n_id)
                r = try_path(w, cut);
        return r || !w->n_id ? r : try_copies(w, cut);
}

int finder_open_code(struct finder *f) {
        const struct trace_module *m = f->module;
        struct wanted w = {.finder = f,
                           .id = m->build_id,
                           .n_id = m->build_id_len,
                           .worst = -ENOENT};
        int fd = m->path[0] ? try_code(&w) : 0;

        if (!fd) {
                fd = finder_each_root(f, try_build_id, &w);
                if (!fd)
                        fd = try_files(&w);
                if (!fd)
                        fd = fetch(&w);
                f->is_debug_file = fd > 0;
        }
        if (!fd)
                return w.worst;
        snprintf(f->path, sizeof(f->path), "%s", w.path);
        if (f->is_debug_file)
                snprintf(f->debug_path, sizeof(f->debug_path), "%s", w.path);
        f->is_unproven = m->build_id_len == 0;
        f->id = w.found_id;
        f->has_debug_info = w.found_id.has_debug_info;
        f->alt = w.found_alt;
        return f->search->functions_only ? fd : inflate_open(fd);
}

/* ---- debug files ----------------------------------------------------------------------------- */

/* Beside the file, or where it is a link, as a process's own program is in /proc, beside what it leads to. */
static int try_beside(struct wanted *w, const char *of) {
        char real[PATH_MAX];
        int r = 0;

        for (unsigned i = 0; of && !r && i < 2; i++) {
                r = try_format(w, "%.*s%s", dir_len(of), of, w->link);
                if (!r)
                        r = try_format(w, "%.*s.debug/%s", dir_len(of), of, w->link);
                of = realpath(of, real);
        }
        return r;
}

/* By build-id first, then beside the file, then by name under the roots, then from a server. */
static int find_debug_file(struct wanted *w, const char *of) {
        int r = finder_each_root(w->finder, try_build_id, w);

        if (!r && w->link && strchr(w->link, '/') == NULL) {
                r = try_beside(w, of);
                if (!r)
                        r = finder_each_root(w->finder, try_link, w);
        }
        if (!r && w->n_id) /* unstripped copies */
                r = try_copies(w, w->finder->module->path);
        if (!r)
                r = try_files(w);
        return r ? r : fetch(w);
}

/* The name is a path, mostly relative to the file that has it. */
static int find_alt(struct wanted *w, const char *of) {
        const char *sysroot = w->finder->search->sysroot;
        int r = finder_each_root(w->finder, try_build_id, w);

        if (!r && w->link[0] != '/')
                r = try_format(w, "%.*s%s", dir_len(of), of, w->link);
        if (!r && w->link[0] == '/' && sysroot)
                r = try_format(w, "%s%s", sysroot, w->link);
        if (!r && w->link[0] == '/')
                r = try_path(w, w->link);
        if (!r)
                r = finder_each_root(w->finder, try_link, w);
        if (!r)
                r = try_files(w);
        return r ? r : fetch(w);
}

int finder_find_debuginfo(Dwfl_Module *mod, void **userdata, const char *modname, Dwarf_Addr base,
                          const char *file_name, const char *debuglink, GElf_Word debuglink_crc,
                          char **ret_path) {
        struct finder *f = *userdata;
        struct wanted w = {.finder = f, .link = debuglink, .worst = -ENOENT};
        bool is_alt = debuglink && f->alt.name[0] && strcmp(debuglink, f->alt.name) == 0;
        int fd;

        (void)mod, (void)modname, (void)base, (void)file_name;
        if (is_alt) {
                w.id = f->alt.id.bytes, w.n_id = f->alt.id.n;
                fd = find_alt(&w, f->debug_path[0] ? f->debug_path : f->path);
                f->lacks_alt = fd <= 0;
        } else {
                if (f->has_sought || f->is_debug_file || (f->id.n == 0 && !debuglink))
                        return -1;
                f->has_sought = true;
                w.id = f->id.bytes, w.n_id = f->id.n;
                w.by_crc = true, w.crc = debuglink_crc;
                fd = find_debug_file(&w, f->path);
                if (fd > 0) {
                        snprintf(f->debug_path, sizeof(f->debug_path), "%s", w.path);
                        f->alt = w.found_alt;
                        f->has_debug_info |= w.found_id.has_debug_info;
                }
        }
        if (fd <= 0)
                return -1;
        *ret_path = strdup(w.path);
        return f->search->functions_only ? fd : inflate_open(fd);
}

/* SPDX-License-Identifier: MIT */
#include "source/source_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "base/macros.h"

enum { FILE_BINARY_LOOK_BYTES = 8192, FILE_MAX_PATH_BYTES = 4096 };

/* ---- paths ----------------------------------------------------------------------------------- */

void file_add_normal(struct str *to, const char *path) {
        size_t begin = to->n, n;
        bool is_absolute = *path == '/';

        if (is_absolute)
                str_add(to, "/");
        for (; *path; path += n) {
                size_t root = begin + is_absolute;

                path += strspn(path, "/");
                n = strcspn(path, "/");
                if (n == 0 || (n == 1 && path[0] == '.'))
                        continue;
                if (n == 2 && strncmp(path, "..", 2) == 0) {
                        size_t at = to->n;

                        while (at > root && to->bytes[at - 1] != '/')
                                at--;
                        if (to->n > root && strcmp(to->bytes + at, "..") != 0) {
                                to->n = at > root ? at - 1 : root;
                                to->bytes[to->n] = 0;
                                continue;
                        }
                        if (is_absolute)
                                continue;
                }
                if (to->n > root)
                        str_add(to, "/");
                str_addn(to, path, n);
        }
}

/* ---- reading --------------------------------------------------------------------------------- */

static int refuse(struct file *f, enum file_state state, const char *why) {
        f->state = state;
        snprintf(f->why, sizeof(f->why), "%s", why);
        return -EINVAL;
}

static const char *what_is(mode_t mode) {
        if (S_ISDIR(mode))
                return "is a directory";
        return S_ISFIFO(mode) ? "is a pipe" : S_ISSOCK(mode) ? "is a socket" : "is a device";
}

/* Opening a device or a pipe can do something: what it is, is looked at before. */
static int open_regular(struct file *f, const char *path, struct stat *ret_st) {
        _cleanup_close_ int place = fs_open(path, O_PATH | O_CLOEXEC, 0);
        char again[64];
        int fd;

        if (place < 0)
                return place;
        if (fstat(place, ret_st) < 0)
                return -errno;
        if (!S_ISREG(ret_st->st_mode))
                return refuse(f, FILE_UNREADABLE, what_is(ret_st->st_mode));
        snprintf(again, sizeof(again), "/proc/self/fd/%d", place);
        fd = fs_open(again, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
        if (fd == -ENOENT) /* no /proc */
                fd = fs_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
        return fd;
}

static int split_lines(struct file *f) {
        size_t n = 1;

        for (size_t i = 0; i < f->n_bytes; i++)
                n += f->text[i] == '\n';
        if (n > FILE_MAX_LINES)
                return refuse(f, FILE_UNREADABLE, "has more than 4,194,304 lines");
        f->begins = calloc(n + 1, sizeof(f->begins[0]));
        if (!f->begins)
                abort();
        for (size_t i = 0; i < f->n_bytes; i++)
                if (i == 0 || f->text[i - 1] == '\n')
                        f->begins[f->n_lines++] = (uint32_t)i;
        f->begins[f->n_lines] = (uint32_t)f->n_bytes;
        return 0;
}

static int read_text(struct file *f, int fd, uint64_t size_bytes) {
        ssize_t n;

        if (size_bytes > FILE_MAX_BYTES)
                return refuse(f, FILE_UNREADABLE, "is larger than 32 MiB");
        f->text = malloc(size_bytes + 1);
        if (!f->text)
                abort();
        n = fs_read_at(fd, f->text, size_bytes, 0);
        if (n < 0)
                return (int)n;
        f->n_bytes = (size_t)n;
        if (memchr(f->text, 0, MIN(f->n_bytes, (size_t)FILE_BINARY_LOOK_BYTES)))
                return refuse(f, FILE_UNREADABLE, "is not text");
        return split_lines(f);
}

static bool is_absent(int error) {
        return error == -ENOENT || error == -ENOTDIR;
}

/* 0; or what is wrong is told by *f. */
static int read_file(struct file *f, const char *path, struct stat *ret_st) {
        _cleanup_close_ int fd = -1;
        int r;

        f->state = FILE_READ;
        fd = open_regular(f, path, ret_st);
        r = fd < 0 ? fd : read_text(f, fd, (uint64_t)ret_st->st_size);
        if (r >= 0)
                return 0;
        free(f->text);
        f->text = NULL;
        f->n_bytes = f->n_lines = 0;
        if (f->state == FILE_READ) {
                f->state = is_absent(r) ? FILE_MISSING : FILE_UNREADABLE;
                snprintf(f->why, sizeof(f->why), "cannot be read: %s", strerror(-r));
        }
        return r;
}

/* ---- where it may be ------------------------------------------------------------------------- */

/* The first place with something there; its state, good or bad, is then f's. */
static bool try_path(struct file *f, const char *path, struct stat *ret_st) {
        if (strlen(path) >= FILE_MAX_PATH_BYTES)
                return false;
        read_file(f, path, ret_st);
        if (f->state == FILE_MISSING) {
                if (f->tried.n < FILE_MAX_TRIED)
                        vec_push(&f->tried, strdup(path));
                return false;
        }
        free(f->path);
        f->path = strdup(path);
        return true;
}

static bool try_maps(struct file *f, const char *path, const struct source_options *o,
                     struct stat *ret_st) {
        struct str s = {0};
        bool found = false;

        for (size_t i = o->n_maps; i-- > 0 && !found;) { /* the later one wins */
                const struct source_map *m = &o->maps[i];

                if (strncmp(path, m->old, m->n_old) != 0 ||
                    (path[m->n_old] && path[m->n_old] != '/' && m->old[m->n_old - 1] != '/'))
                        continue;
                str_clear(&s);
                str_add(&s, m->new);
                if (s.n && s.bytes[s.n - 1] != '/' && path[m->n_old] != '/' && path[m->n_old])
                        str_add(&s, "/");
                str_add(&s, path + m->n_old);
                found = try_path(f, str_text(&s), ret_st);
        }
        str_done(&s);
        return found;
}

/* Below each directory the longest end of the path that is there: the tree may have moved as a whole, or in part. */
static bool try_dirs(struct file *f, const char *path, const struct source_options *o,
                     struct stat *ret_st) {
        struct str s = {0};
        bool found = false;

        for (size_t i = 0; i < o->n_dirs && !found; i++)
                for (const char *end = path; end && *end && !found;) {
                        const char *slash;

                        end += strspn(end, "/");
                        str_clear(&s);
                        str_addf(&s, "%s/", o->dirs[i]);
                        str_add(&s, end);
                        found = !strstr(end, "../") && try_path(f, str_text(&s), ret_st);
                        slash = strchr(end, '/');
                        end = slash;
                }
        str_done(&s);
        return found;
}

static bool try_recorded(struct file *f, const char *path, const struct trace_meta *meta,
                         struct stat *ret_st) {
        struct str s = {0};
        bool found;

        if (*path != '/' && meta->cwd && meta->cwd[0])
                str_addf(&s, "%s/", meta->cwd);
        str_add(&s, path);
        found = try_path(f, str_text(&s), ret_st);
        str_done(&s);
        return found;
}

/* ---- whether it is still the same ------------------------------------------------------------- */

static uint64_t mtime_ns(const struct stat *st) {
        return st->st_mtim.tv_sec < 0
                       ? 0
                       : (uint64_t)st->st_mtim.tv_sec * 1000000000 + (uint64_t)st->st_mtim.tv_nsec;
}

/* After the recording began, or after the code that ran was built. A module that is younger than the recording was
 * built anew and says nothing. */
static void check_change(struct file *f, const struct stat *st, const char *module,
                         const struct trace_meta *meta) {
        struct stat built;

        f->is_changed = meta->started_unix_ns && mtime_ns(st) > meta->started_unix_ns;
        if (!f->is_changed && module[0] == '/' && stat(module, &built) == 0 &&
            S_ISREG(built.st_mode) && mtime_ns(&built) <= meta->started_unix_ns)
                f->is_changed = mtime_ns(st) > mtime_ns(&built);
}

void file_load(struct file *f, const char *recorded, const char *module,
               const struct source_options *o, const struct trace_meta *meta) {
        struct stat st = {0};

        *f = (struct file){.path = strdup(recorded), .state = FILE_MISSING};
        if (try_maps(f, recorded, o, &st) || try_dirs(f, recorded, o, &st) ||
            try_recorded(f, recorded, meta, &st)) {
                if (f->state == FILE_READ)
                        check_change(f, &st, module, meta);
        }
}

void file_done(struct file *f) {
        for (size_t i = 0; i < f->tried.n; i++)
                free(f->tried.items[i]);
        vec_free(&f->tried);
        free(f->path);
        free(f->text);
        free(f->begins);
        *f = (struct file){0};
}

/* ---- lines ----------------------------------------------------------------------------------- */

const char *file_line(const struct file *f, uint32_t line, size_t *ret_n) {
        const char *text;
        size_t n;

        *ret_n = 0;
        if (line == 0 || line > f->n_lines)
                return "";
        text = f->text + f->begins[line - 1];
        n = f->begins[line] - f->begins[line - 1];
        while (n && (text[n - 1] == '\n' || text[n - 1] == '\r'))
                n--;
        *ret_n = n;
        return text;
}

size_t file_indent(const char *text, size_t n) {
        size_t cells = 0;

        for (size_t i = 0; i < n; i++) {
                if (text[i] == '\t')
                        cells += FILE_TAB_CELLS - cells % FILE_TAB_CELLS;
                else if (text[i] == ' ')
                        cells++;
                else
                        return cells;
        }
        return SIZE_MAX;
}

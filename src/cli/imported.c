/* SPDX-License-Identifier: MIT */
#include "cli/imported.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "import/import.h"
#include "show/opened.h"
#include "trace/foreign.h"

/* A command may open the same file several times: the last one made is kept. */
static struct {
        dev_t dev;
        ino_t ino;
        off_t n_bytes;
        struct timespec changed;
        int fd;
} last = {.fd = -1};

static bool is_last(const struct stat *st) {
        return last.fd >= 0 && st->st_dev == last.dev && st->st_ino == last.ino &&
               st->st_size == last.n_bytes && st->st_mtim.tv_sec == last.changed.tv_sec &&
               st->st_mtim.tv_nsec == last.changed.tv_nsec;
}

int imported_files(const char *const *paths, size_t n_paths, const struct import_options *options,
                   int fd, struct import_told *ret, struct err *reterr) {
        struct opened_progress progress;
        int r;

        opened_progress_begin(&progress);
        import_set_progress(opened_progress_draw, &progress);
        r = import_files(paths, n_paths, options, fd, ret, reterr);
        import_set_progress(NULL, NULL);
        opened_progress_end(&progress);
        return r;
}

static int make_trace(int fd, const char *path, struct err *reterr) {
        const char *const paths[] = {path};
        struct stat st;
        int made, r;

        if (!import_title(fd))
                return -ENOENT;
        if (fstat(fd, &st) == 0 && is_last(&st))
                return fcntl(last.fd, F_DUPFD_CLOEXEC, 0);
        made = fs_open_nameless();
        if (made < 0)
                return err_set_errno(reterr, made, "cannot make a trace of '%s'", path);
        r = imported_files(paths, 1, NULL, made, NULL, reterr);
        if (r < 0) {
                close(made);
                return r == -ENOENT ? -EINVAL : r;
        }
        if (last.fd >= 0)
                close(last.fd);
        last.dev = st.st_dev, last.ino = st.st_ino, last.n_bytes = st.st_size;
        last.changed = st.st_mtim;
        last.fd = made;
        return fcntl(made, F_DUPFD_CLOEXEC, 0);
}

void imported_init(void) {
        foreign_set_importer(make_trace, import_title);
}

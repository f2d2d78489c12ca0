/* SPDX-License-Identifier: MIT */
#include "fleet/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "base/str.h"

/* of their names: batches; being written; without a place any more, and to be told as lost; set aside, as nobody can read them, or as
 * the server must not have them */
#define ENDING_BATCH ".batch"
#define ENDING_NEW ".new"
#define ENDING_DROPPED ".dropped"
#define ENDING_DAMAGED ".damaged"
#define ENDING_REFUSED ".refused"

enum {
        SPOOL_MAX_FILES = 100000, /* a folder of others' files is not read for ever */
        SPOOL_OLD_NEW_S =
                600, /* what is being written for so long is left over from one who died */
};

struct spool {
        char *path;
        int dir_fd;
        uint64_t max_bytes;
        pthread_mutex_t lock; /* for the counts */
        uint64_t n_dropped, n_damaged, n_refused;
};

struct spool_entry {
        char name[96];
        uint64_t n_bytes;
        time_t changed;
};
typedef VEC(struct spool_entry) spool_list;

/* ---- the folder ---------------------------------------------------------------------------------- */

static bool ends_with(const char *name, const char *ending) {
        size_t n = strlen(name), m = strlen(ending);

        return n > m && strcmp(name + n - m, ending) == 0;
}

static bool is_set_aside(const char *name) {
        return ends_with(name, ENDING_DAMAGED) || ends_with(name, ENDING_REFUSED);
}

static bool is_ours(const char *name) {
        return strlen(name) < sizeof(((struct spool_entry *)0)->name) &&
               (ends_with(name, ENDING_BATCH) || ends_with(name, ENDING_DROPPED) ||
                is_set_aside(name) || ends_with(name, ENDING_NEW));
}

static int compare_entries(const void *x, const void *y) {
        return strcmp(((const struct spool_entry *)x)->name, ((const struct spool_entry *)y)->name);
}

/* Everything of ours in it, by name. */
static void list_folder(const struct spool *s, spool_list *ret) {
        int fd = openat(s->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
        struct dirent *e;

        vec_clear(ret);
        if (!d) {
                if (fd >= 0)
                        close(fd);
                return;
        }
        while (ret->n < SPOOL_MAX_FILES && (e = readdir(d))) {
                struct spool_entry *entry;
                struct stat st;

                if (!is_ours(e->d_name) ||
                    fstatat(s->dir_fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
                    !S_ISREG(st.st_mode))
                        continue;
                entry = vec_add(ret);
                memcpy(entry->name, e->d_name, strlen(e->d_name) + 1);
                entry->n_bytes = (uint64_t)st.st_size;
                entry->changed = st.st_mtime;
        }
        closedir(d);
        if (ret->n)
                qsort(ret->items, ret->n, sizeof(ret->items[0]), compare_entries);
}

static int make_folders(const char *path, struct err *reterr) {
        struct str part = {0};
        int r = 0;

        for (const char *p = path; r >= 0 && *p;) {
                size_t n = strcspn(p + 1, "/") + 1;

                str_addn(&part, p, n);
                p += n;
                if (mkdir(str_text(&part), 0700) < 0 && errno != EEXIST && errno != EISDIR && !*p)
                        r = err_set_errno(reterr, -errno, "cannot make the spool '%s'", path);
        }
        str_done(&part);
        return r;
}

int spool_open(const char *path, uint64_t max_bytes, struct spool **ret, struct err *reterr) {
        int r = make_folders(path, reterr), fd;
        struct spool *s;

        if (r < 0)
                return r;
        fd = fs_open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
        if (fd < 0)
                return err_set_errno(reterr, fd, "cannot open the spool '%s'", path);
        if (faccessat(fd, ".", W_OK | X_OK, 0) < 0) {
                r = err_set_errno(reterr, -errno, "cannot write into the spool '%s'", path);
                close(fd);
                return r;
        }
        s = calloc(1, sizeof(*s));
        if (!s)
                abort();
        s->path = strdup(path);
        if (!s->path)
                abort();
        s->dir_fd = fd;
        s->max_bytes = max_bytes;
        pthread_mutex_init(&s->lock, NULL);
        *ret = s;
        return 0;
}

struct spool *spool_close(struct spool *s) {
        if (!s)
                return NULL;
        close(s->dir_fd);
        pthread_mutex_destroy(&s->lock);
        free(s->path);
        free(s);
        return NULL;
}

const char *spool_path(const struct spool *s) {
        return s->path;
}

static void count(struct spool *s, uint64_t *what) {
        pthread_mutex_lock(&s->lock);
        ++*what;
        pthread_mutex_unlock(&s->lock);
}

struct spool_state spool_state(struct spool *s) {
        struct spool_state state = {0};
        spool_list all = {0};

        list_folder(s, &all);
        for (size_t i = 0; i < all.n; i++) {
                state.n_files += ends_with(all.items[i].name, ENDING_BATCH);
                state.n_bytes += all.items[i].n_bytes;
        }
        vec_free(&all);
        pthread_mutex_lock(&s->lock);
        state.n_dropped = s->n_dropped;
        state.n_damaged = s->n_damaged;
        state.n_refused = s->n_refused;
        pthread_mutex_unlock(&s->lock);
        return state;
}

/* ---- reading ------------------------------------------------------------------------------------- */

static int read_whole(int fd, bytes_buf *ret, struct err *reterr) {
        struct stat st;
        ssize_t n;

        if (fstat(fd, &st) < 0)
                return err_set_errno(reterr, -errno, "cannot look at it");
        if (st.st_size < 0 || st.st_size > FLEET_MAX_BATCH_BYTES)
                return err_set(reterr, -EBADMSG, "it is too large");
        vec_clear(ret);
        vec_reserve(ret, (size_t)st.st_size + 1);
        n = fs_read_at(fd, ret->items, (size_t)st.st_size, 0);
        if (n < 0)
                return err_set_errno(reterr, (int)n, "cannot read it");
        ret->n = (size_t)n;
        return 0;
}

static int read_batch(int fd, struct fleet_batch **ret, struct err *reterr) {
        bytes_buf bytes = {0};
        int r = read_whole(fd, &bytes, reterr);

        if (r >= 0)
                r = fleet_batch_unpack(bytes.items, bytes.n, ret, reterr);
        vec_free(&bytes);
        return r;
}

/* The same name with another ending. */
static void rename_file(const struct spool *s, const char *name, const char *ending) {
        char to[128];
        const char *dot = strrchr(name, '.');

        snprintf(to, sizeof(to), "%.*s%s", dot ? (int)(dot - name) : (int)strlen(name), name,
                 ending);
        (void)renameat(s->dir_fd, name, s->dir_fd, to);
}

/* Locked, and still there: who had the lock may have removed it. -EAGAIN: somebody else has it. */
static int open_locked(const struct spool *s, const char *name) {
        int fd = openat(s->dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
        struct stat st;

        if (fd < 0)
                return -errno;
        if (flock(fd, LOCK_EX | LOCK_NB) < 0 || fstat(fd, &st) < 0 || st.st_nlink == 0) {
                close(fd);
                return -EAGAIN;
        }
        return fd;
}

/* 1, 0: not this one. */
static int take_file(struct spool *s, const char *name, struct spool_file *ret,
                     struct err *reterr) {
        struct err why = {0};
        int fd = open_locked(s, name), r;

        if (fd < 0)
                return fd == -EAGAIN || fd == -ENOENT
                               ? 0
                               : err_set_errno(reterr, fd, "cannot open '%s/%s'", s->path, name);
        r = read_batch(fd, &ret->batch, &why);
        if (r < 0) {
                if (r != -EBADMSG) {
                        close(fd);
                        return err_set(reterr, r, "'%s/%s': %s", s->path, name, why.text);
                }
                rename_file(s, name, ENDING_DAMAGED);
                count(s, &s->n_damaged);
                close(fd);
                return 0;
        }
        snprintf(ret->name, sizeof(ret->name), "%s", name);
        ret->fd = fd;
        return 1;
}

int spool_take(struct spool *s, const char *after, size_t max, size_t max_sites,
               struct spool_file *ret, struct err *reterr) {
        spool_list all = {0};
        size_t n = 0, n_sites = 0;
        int r = 0;

        list_folder(s, &all);
        for (size_t i = 0; i < all.n && n < max && n_sites < max_sites && r >= 0; i++) {
                if (!ends_with(all.items[i].name, ENDING_BATCH) ||
                    strcmp(all.items[i].name, after) <= 0)
                        continue;
                r = take_file(s, all.items[i].name, &ret[n], reterr);
                if (r > 0)
                        n_sites += ret[n++].batch->sites.n;
        }
        vec_free(&all);
        return n ? (int)n : r;
}

void spool_put_back(struct spool_file *f) {
        fleet_batch_free(f->batch);
        close(f->fd); /* and with it the lock */
        f->batch = NULL;
        f->fd = -1;
}

void spool_refuse(struct spool *s, struct spool_file *f) {
        rename_file(s, f->name, ENDING_REFUSED);
        count(s, &s->n_refused);
        spool_put_back(f);
}

int spool_remove(struct spool *s, struct spool_file *f, struct err *reterr) {
        int r = unlinkat(s->dir_fd, f->name, 0) < 0 && errno != ENOENT ? -errno : 0;

        spool_put_back(f);
        return r < 0 ? err_set_errno(reterr, r, "cannot remove '%s/%s'", s->path, f->name) : 0;
}

/* ---- adding -------------------------------------------------------------------------------------- */

/* What a file that had to go was, told by the batch that took its place. */
static void tell_loss(struct spool *s, const char *name, uint64_t n_bytes, struct fleet_batch *in) {
        int fd = openat(s->dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
        struct fleet_batch *b = NULL;
        struct fleet_loss loss = {.service = in->run.service,
                                  .host = in->run.host,
                                  .why = "the spool was full",
                                  .n_bytes = n_bytes};

        if (fd < 0)
                return;
        if (read_batch(fd, &b, NULL) >= 0) {
                loss.id = b->id;
                loss.run = b->run.id;
                loss.service = b->run.service;
                loss.host = b->run.host;
                loss.n_snapshots = b->snapshots.n;
                if (b->snapshots.n) {
                        loss.from_unix_ms = b->snapshots.items[0].unix_ms;
                        loss.to_unix_ms = b->snapshots.items[b->snapshots.n - 1].unix_ms;
                }
                for (size_t i = 0; i < b->losses.n; i++)
                        fleet_batch_add_loss(in, &b->losses.items[i]);
        }
        if (loss.n_snapshots)
                fleet_batch_add_loss(in, &loss);
        fleet_batch_free(b);
        close(fd);
}

/* What is being sent at this moment stays. */
static bool drop_file(struct spool *s, const struct spool_entry *e, struct fleet_batch *told_by) {
        int fd = open_locked(s, e->name);

        if (fd < 0)
                return false;
        tell_loss(s, e->name, e->n_bytes, told_by);
        rename_file(s, e->name, ENDING_DROPPED);
        count(s, &s->n_dropped);
        close(fd);
        return true;
}

/* Takes the oldest away, and has the batch tell it, until what is left and n_bytes more fit: how many. Files set aside go first. */
static size_t drop_oldest(struct spool *s, uint64_t n_bytes, struct fleet_batch *b) {
        spool_list all = {0};
        uint64_t total = n_bytes;
        size_t n = 0;

        list_folder(s, &all);
        for (size_t i = 0; i < all.n; i++)
                total += ends_with(all.items[i].name, ENDING_DROPPED) ? 0 : all.items[i].n_bytes;
        for (size_t i = 0; i < all.n && total > s->max_bytes; i++)
                if (is_set_aside(all.items[i].name) &&
                    unlinkat(s->dir_fd, all.items[i].name, 0) == 0)
                        total -= all.items[i].n_bytes;
        for (size_t i = 0; i < all.n && total > s->max_bytes; i++)
                if (ends_with(all.items[i].name, ENDING_BATCH) && drop_file(s, &all.items[i], b)) {
                        total -= all.items[i].n_bytes;
                        n++;
                }
        vec_free(&all);
        return n;
}

static bool is_left_over(const struct spool_entry *e) {
        return ends_with(e->name, ENDING_NEW) && time(NULL) - e->changed > SPOOL_OLD_NEW_S;
}

static int write_file(struct spool *s, const char *name, const bytes_buf *bytes,
                      struct err *reterr) {
        char new[128];
        int fd, r;

        snprintf(new, sizeof(new), "%.80s.%d%s", name, (int)getpid(), ENDING_NEW);
        (void)unlinkat(s->dir_fd, new, 0);
        fd = openat(s->dir_fd, new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0)
                return err_set_errno(reterr, -errno, "cannot write into the spool '%s'", s->path);
        r = fs_write_all(fd, bytes->items, bytes->n);
        if (r >= 0 && fsync(fd) < 0)
                r = -errno;
        close(fd);
        if (r >= 0 && renameat(s->dir_fd, new, s->dir_fd, name) < 0)
                r = -errno;
        if (r < 0) {
                (void)unlinkat(s->dir_fd, new, 0);
                return err_set_errno(reterr, r, "cannot write into the spool '%s'", s->path);
        }
        return fsync(s->dir_fd) < 0
                       ? err_set_errno(reterr, -errno, "cannot write into the spool '%s'", s->path)
                       : 0;
}

/* Left behind by one who died before the batch that told them was there. */
static void tell_left_over(struct spool *s, struct fleet_batch *b) {
        spool_list all = {0};

        list_folder(s, &all);
        for (size_t i = 0; i < all.n; i++)
                if (ends_with(all.items[i].name, ENDING_DROPPED))
                        tell_loss(s, all.items[i].name, all.items[i].n_bytes, b);
        vec_free(&all);
}

static void remove_told(struct spool *s) {
        spool_list all = {0};

        list_folder(s, &all);
        for (size_t i = 0; i < all.n; i++)
                if (ends_with(all.items[i].name, ENDING_DROPPED) || is_left_over(&all.items[i]))
                        (void)unlinkat(s->dir_fd, all.items[i].name, 0);
        vec_free(&all);
}

/* What was dropped is renamed first and removed when the batch that tells it is on disk: whoever dies in between has it told twice, with
 * the same number, and the server takes it once. */
int spool_add(struct spool *s, struct fleet_batch *b, struct err *reterr) {
        bytes_buf bytes = {0};
        char id[2 * FLEET_ID_BYTES + 1], name[96];
        uint64_t unix_ms = b->snapshots.n ? b->snapshots.items[0].unix_ms : 0;
        int r;

        tell_left_over(s, b);
        do {
                vec_clear(&bytes);
                fleet_batch_pack(b, &bytes);
        } while (drop_oldest(s, bytes.n, b) > 0); /* telling it takes room too */
        if (bytes.n > s->max_bytes) {
                r = err_set(
                        reterr, -EFBIG,
                        "a batch of %zu bytes does not fit into the spool: give --spool-size more",
                        bytes.n);
        } else {
                fleet_id_text(&b->id, id);
                snprintf(name, sizeof(name), "%013llx-%s%s", (unsigned long long)unix_ms, id,
                         ENDING_BATCH);
                r = write_file(s, name, &bytes, reterr);
        }
        if (r >= 0)
                remove_told(s);
        vec_free(&bytes);
        return r;
}

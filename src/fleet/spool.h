/* SPDX-License-Identifier: MIT */
/* Batches on disk until a server has them: a folder with a file each, the oldest by name first. Several processes may share one: a file
 * is locked by whoever sends it, and appears whole or not at all. What is in it may be anybody's: it is checked when it is read.
 *
 *   spool_open(path, max_bytes, &s, &err);
 *   spool_add(s, batch, &err);                  // fsynced; the oldest make room, and the batch says so
 *   while (spool_take(s, "", 1, SIZE_MAX, &file, &err) > 0)     // locked
 *           sent ? spool_remove(s, &file) : spool_put_back(&file); */
#pragma once

#include "fleet/batch.h"

struct spool;

struct spool_file {
        char name[96];
        int fd;
        struct fleet_batch *batch;
};

struct spool_state {
        size_t n_files;
        uint64_t n_bytes;
        uint64_t n_dropped; /* since it was opened: batches that made room */
        uint64_t n_damaged; /* likewise: set aside, as nobody can read them */
        uint64_t n_refused; /* likewise: as they would count twice */
};

/* Makes the folder, for its owner alone, where it is not there. */
int spool_open(const char *path, uint64_t max_bytes, struct spool **ret, struct err *reterr);
struct spool *spool_close(struct spool *s); /* NULL ok; returns NULL */
DEFINE_CLEANUP(struct spool, spool_close)

/* Adds what made room for it as losses of the batch. */
int spool_add(struct spool *s, struct fleet_batch *b, struct err *reterr);

/* The oldest files behind `after` (a name; "": from the first) that nobody else sends, at most max, and none more when they have max_sites:
 * how many. The folder is looked through once: it may have tens of thousands. */
int spool_take(struct spool *s, const char *after, size_t max, size_t max_sites,
               struct spool_file *ret, struct err *reterr);
void spool_put_back(struct spool_file *f); /* unlocks it */
/* Sets it aside: it would count twice. */
void spool_refuse(struct spool *s, struct spool_file *f);
int spool_remove(struct spool *s, struct spool_file *f, struct err *reterr);

/* Looks at the folder: others may add and remove. Safe from any thread, as is all else here. */
struct spool_state spool_state(struct spool *s);
const char *spool_path(const struct spool *s);

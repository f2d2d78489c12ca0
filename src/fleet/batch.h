/* SPDX-License-Identifier: MIT */
/* What is sent: some moments of one run, the call paths they are about, and what was lost before. It is made here, kept as bytes in a
 * file of the spool, and read from there again (docs/fleet.md has both); whoever sends it makes of it what its server wants.
 *
 *   struct fleet_batch *b = fleet_batch_new(&run);
 *   struct fleet_snapshot *s = fleet_batch_add_snapshot(b);        // fill it
 *   fleet_batch_add_site(b, fleet_batch_path(b, frames, n), &figures);    // of the last snapshot
 *   fleet_batch_pack(b, &bytes);                                   // for spool_add
 *   fleet_batch_unpack(bytes.items, bytes.n, &again, &err);        // hostile bytes */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/map.h"

enum {
        FLEET_ID_BYTES = 16,
        FLEET_MAX_FRAMES = 512, /* of a call path; further ones are left out at its outer end */
        FLEET_MAX_TEXT = 1024,  /* bytes of a function, a service, a label; longer ones are cut */
        FLEET_MAX_LABELS = 32,
        FLEET_MAX_LOSSES = 64,    /* of a batch; further ones are added up */
        FLEET_MAX_PATHS = 100000, /* of a batch */
        FLEET_MAX_SNAPSHOTS = 1000,
        FLEET_MAX_BATCH_BYTES = 64 << 20,
};

/* 128 bits of XXH3 over what it names. */
struct fleet_id {
        uint8_t bytes[FLEET_ID_BYTES];
};

/* One recording on one host. Texts are UTF-8 without NUL. */
struct fleet_run {
        struct fleet_id id;
        const char *service, *host, *program;
        const char *build; /* hex; "" unknown */
        uint32_t pid;
        const char *labels[FLEET_MAX_LABELS]; /* "k=v" */
        size_t n_labels;
};

struct fleet_path {
        struct fleet_id id;
        uint32_t *frames; /* numbers of texts, innermost first */
        size_t n_frames;
};

struct fleet_site {
        uint32_t path_idx;
        int64_t live_bytes, live_blocks;
        uint64_t alloc_bytes, n_allocs; /* in the period */
        double error_bytes;             /* of live_bytes, one standard error */
};

struct fleet_snapshot {
        uint64_t recording_ms, unix_ms, period_ms;
        int64_t live_bytes, live_blocks;
        uint64_t peak_bytes, rss_bytes;                            /* rss 0: unknown */
        uint64_t alloc_bytes, n_allocs, n_frees, n_failed, n_lost; /* in the period */
        uint64_t sample_bytes;
        double error_bytes;
        bool is_last;
        bool is_damaged; /* a part of the trace could not be read when it was taken */
        bool is_late;    /* the program ran before: what it held then is not in the figures */
        size_t first_site, n_sites; /* of the batch's */
};

/* A batch, or several, that the spool had no room for. */
struct fleet_loss {
        struct fleet_id id, run;
        const char *service, *host, *why;
        uint64_t from_unix_ms, to_unix_ms; /* of its snapshots */
        uint64_t n_snapshots, n_bytes;
};

struct fleet_batch {
        struct arena *arena; /* has every text and table */
        struct fleet_id id;  /* of its bytes: set when they are made or read */
        struct fleet_run run;
        VEC(const char *) texts; /* functions */
        struct map text_by_hash, path_by_hash;
        VEC(struct fleet_path) paths;
        VEC(struct fleet_snapshot) snapshots;
        VEC(struct fleet_site) sites;
        VEC(struct fleet_loss) losses;
};

/* Texts are copied: cut, and what is no UTF-8 as '?'. */
struct fleet_batch *fleet_batch_new(const struct fleet_run *run);
struct fleet_batch *fleet_batch_free(struct fleet_batch *b); /* NULL ok; returns NULL */
DEFINE_CLEANUP(struct fleet_batch, fleet_batch_free)

/* The run that host, start and first process make. */
struct fleet_id fleet_run_id(const char *host, uint64_t started_unix_ns, uint32_t pid);

/* The number of a call path, each once. */
uint32_t fleet_batch_path(struct fleet_batch *b, const char *const *frames, size_t n_frames);
/* Zeroed; valid until the next one. */
struct fleet_snapshot *fleet_batch_add_snapshot(struct fleet_batch *b);
/* To the last snapshot. */
void fleet_batch_add_site(struct fleet_batch *b, const struct fleet_site *s);
/* When there are too many, added to the last. */
void fleet_batch_add_loss(struct fleet_batch *b, const struct fleet_loss *loss);

/* The bytes of a file of the spool; sets the batch's id. */
void fleet_batch_pack(struct fleet_batch *b, bytes_buf *to);
/* -EBADMSG: they are none. */
int fleet_batch_unpack(const void *bytes, size_t n_bytes, struct fleet_batch **ret,
                       struct err *reterr);

void fleet_id_text(const struct fleet_id *id, char ret[2 * FLEET_ID_BYTES + 1]);

/* SPDX-License-Identifier: MIT */
/* perf's own file as records, whatever it is packed in, the smallest byte first:
 *
 *   a file   "PERFILE2", sizes, where the sections are; attributes; data; features
 *   a pipe   "PERFILE2", 16; records alone, some of which are attributes and features
 *
 *   attributes  what each event is, and what its samples carry
 *   data        records: type, flags and size, then what the type has. Of -z some have others, packed as one stream of zstd
 *               Traces of the hardware (Intel PT, SPE) are bytes behind a record of their own
 *   features    the machine, the command, names of events, build-ids of the files that samples are in
 *
 * Inside import/ only. */
#pragma once

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "import/import_input.h"
#include "import/import_order.h"

enum perf_record_type {
        PERF_MMAP = 1,
        PERF_LOST = 2,
        PERF_COMM = 3,
        PERF_EXIT = 4,
        PERF_FORK = 7,
        PERF_SAMPLE = 9,
        PERF_MMAP2 = 10,
        PERF_LOST_SAMPLES = 13,
};

enum perf_carried { /* by samples, in this order but for the identifier, which comes first */
                    PERF_HAS_IP = 1 << 0,
                    PERF_HAS_TID = 1 << 1,
                    PERF_HAS_TIME = 1 << 2,
                    PERF_HAS_ADDR = 1 << 3,
                    PERF_HAS_READ = 1 << 4,
                    PERF_HAS_CALLCHAIN = 1 << 5,
                    PERF_HAS_ID = 1 << 6,
                    PERF_HAS_CPU = 1 << 7,
                    PERF_HAS_PERIOD = 1 << 8,
                    PERF_HAS_STREAM_ID = 1 << 9,
                    PERF_HAS_RAW = 1 << 10,
                    PERF_HAS_BRANCHES = 1 << 11,
                    PERF_HAS_REGS_USER = 1 << 12,
                    PERF_HAS_STACK_USER = 1 << 13,
                    PERF_HAS_IDENTIFIER = 1 << 16,
};

struct perf_event {
        uint32_t type;
        uint64_t config, sample_type, read_format, branch_type, regs_mask;
        uint64_t period; /* of each sample that tells none; 0: it is unknown */
        bool has_ids_behind, begins_on_exec;
        const char *name;
};

struct perf_build_id {
        uint8_t bytes[20];
        uint32_t n; /* 0: unknown */
};

struct perf_record {
        uint64_t at; /* for messages, and for perf_file_record */
        const uint8_t *bytes;
        size_t n;
        uint32_t type, misc;
};

/* Called for each record that is kept, in the order of the file, before any is given in the order of times. */
typedef int (*perf_survey_fn)(void *ctx, uint64_t time_ns, const struct perf_record *r,
                              struct err *reterr);

struct perf_file {
        struct import_input *in;
        perf_survey_fn survey;
        void *ctx;
        bytes_buf bytes, unpacked;
        size_t n_walked; /* of unpacked */
        struct ZSTD_DCtx_s *zstd;
        struct arena *arena;
        VEC(struct perf_event) events;
        struct map ids;       /* → index of the event */
        struct map build_ids; /* hash of path → struct perf_build_id */
        const char *os_release, *host;
        struct import_order *order; /* where they are */
        uint64_t n_lost;
        uint64_t hardware_bytes; /* of traces of the hardware, which are passed over */
};

int perf_file_open(struct perf_file *f, struct import_input *in, perf_survey_fn survey, void *ctx,
                   struct err *reterr);
void perf_file_done(struct perf_file *f); /* also after a failure */

/* The next record in the order of times. 1, 0 at the end, or -errno. */
int perf_file_next(struct perf_file *f, uint64_t *ret_time_ns, struct perf_record *ret,
                   struct err *reterr);
/* The same again; those that were unpacked lie behind the file. */
void perf_file_record(const struct perf_file *f, uint64_t at, struct perf_record *ret);
/* Of a sample: its index; -1: it has the identifier of none. */
int perf_file_event(const struct perf_file *f, const struct perf_record *r);
/* That features say the file has. */
const struct perf_build_id *perf_file_build_id(const struct perf_file *f, const char *path);

int perf_file_refuse(const struct perf_file *f, uint64_t at, struct err *reterr, const char *why);

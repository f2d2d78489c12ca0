/* SPDX-License-Identifier: MIT */
/* Memcheck's loss records, from its text or its XML, as what was live at the end. Inside import/ only. */
#pragma once

#include "import/import_frames.h"
#include "import/import_input.h"
#include "import/import_trace.h"

enum leak_kind {
        LEAK_DEFINITE,
        LEAK_INDIRECT,
        LEAK_POSSIBLE,
        LEAK_REACHABLE,
        LEAK_N_KINDS,
};

struct leak_sum {
        uint64_t n_bytes, n_blocks;
};

struct leak_record {
        enum leak_kind kind;
        uint64_t n_blocks, n_bytes; /* its own: without what hangs from them */
        uint64_t indirect_bytes;    /* definitely lost: what is lost with them */
        size_t first, n;            /* of its frames */
};

struct leak_records {
        VEC(struct leak_record) list;
        VEC(struct import_frame) frames; /* innermost first; texts are the arena's */
        struct import_frames path;       /* of the record that is being read */
        struct arena *arena;
        const char *command;
        uint32_t pid;
        /* HEAP SUMMARY, which the XML lacks */
        bool has_summary;
        uint64_t n_allocs, n_frees, alloc_bytes, end_bytes, end_blocks;
        /* LEAK SUMMARY, which also has what no record shows; the XML lacks it */
        bool has_kinds;
        struct leak_sum kinds[LEAK_N_KINDS];
};

void leak_records_init(struct leak_records *l);
void leak_records_done(struct leak_records *l);
void leak_records_clear(struct leak_records *l); /* of records: another leak check begins */

/* "128 (64 direct, 64 indirect) bytes in 1 blocks are definitely lost in loss record 2 of 4". False: it is another line. */
bool leak_records_parse(const char *text, struct leak_record *ret);
/* "   still reachable: 8,192 bytes in 1 blocks", of the summary. */
void leak_records_take_kind(struct leak_records *l, const char *text);
/* With the frames of l->path, which it clears. */
void leak_records_add(struct leak_records *l, const struct leak_record *record);
int leak_records_put(struct leak_records *l, struct import_trace *t, struct err *reterr);

/* SPDX-License-Identifier: MIT */
/* What is asked about, found in the trace: a function, a file, a line. Inside source/ only. */
#pragma once

#include "base/arena.h"
#include "base/vec.h"
#include "query/query.h"

enum subject_kind { SUBJECT_FUNCTION, SUBJECT_FILE, SUBJECT_LINE };

/* A source file that has frames of the subject. */
struct subject_file {
        const char *path;   /* as recorded, without . and .. */
        const char *module; /* one that was made from it; "" unknown */
};

struct subject {
        enum subject_kind kind;
        const char *name; /* SUBJECT_FUNCTION: in short */
        const char *
                last; /* SUBJECT_FUNCTION: the last part of its name: what stands in the source; "" unknown */
        uint32_t line; /* SUBJECT_LINE */
        VEC(struct subject_file) files;
        bool *is_subject;  /* by symbol of the trace */
        uint32_t *file_of; /* by symbol: index into files, or QUERY_NO_LINE */
        struct arena *arena;
};

/* -ENOENT: there is none; -ENOTUNIQ: several are called so. */
int subject_find(struct subject *s, struct query *q, const char *what, struct err *reterr);
void subject_done(struct subject *s);

/* SPDX-License-Identifier: MIT */
/* What all rules look at: the sites of an answer, what each held over time, and the tree of
 * functions above them. Asked once. Inside finding/ only. */
#pragma once

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "finding/finding.h"
#include "name/name.h"

enum { FACTS_NO_ROW = UINT32_MAX };
enum {
        FACTS_COLUMNS = 64,
        FACTS_FEW_COLUMNS = 32, /* for traces with many sites: each column costs a pass over them */
        FACTS_MANY_STACKS = 20000, /* from which on */
        /* read for columns that end inside slices; a large trace has slices enough to end them at */
        FACTS_MAX_EVENTS = 4000000,
        FACTS_MAX_SITES = 65536, /* with a history */
};

/* Over time, one value a column. */
struct course {
        int64_t *bytes, *blocks, *n_allocs, *n_frees; /* alive; since the window's begin */
        const struct course
                *by_work; /* in columns of equal work (facts.by_work); NULL: not known */
};

struct facts {
        const struct finding_source *source;
        struct query *q;
        struct names *names;
        struct arena *arena;
        const struct query_totals *totals;
        struct query_history *h;
        const struct query_group *rows; /* sites, most bytes allocated first */
        size_t n_rows, n_told;          /* of the first so many the course is known */
        size_t n_columns;
        double *at_s; /* of columns, since the window's begin */
        /* the same in columns of equal work, by all allocations: only history, rows, at_s and total; NULL: work is done
         * evenly, they would be no others */
        struct facts *by_work;
        struct course total; /* of all rows */
        double begin_s;      /* of the window, in the recording */
        double mapped_bytes; /* beside blocks: at most so much of what it mapped was resident */
        struct map row_of_stack;
        bool names_no_sites; /* call paths are files of code, in which all that anybody allocates is one */
        bool has_losses;  /* memcheck has told them */
        bool *is_claimed; /* rows that a finding tells about already */
        bool *is_collected; /* rows of a garbage collector's heap: their size and pace are its choice */
        double reserve_end_bytes,
                collected_end_bytes; /* left: the C++ library's reserve, heaps of collectors */
        uint64_t *
                n_regrown; /* asker → growths that are told about: what is replaced at once is temporary too */
        VEC(struct finding) found;
        size_t n_passed_on;               /* of them, to who waits for each */
        VEC(struct request_step *) steps; /* of theirs */
        struct finding_growth growth;
};

/* How many events columns are worth. */
uint64_t facts_max_events(const struct query *q);

/* All that the program had. */
static inline double facts_whole_bytes(const struct facts *f) {
        return (double)f->totals->peak_bytes + f->mapped_bytes;
}

/* What is known without looking at history; facts_gather adds the rest. */
void facts_begin(struct facts *f, const struct finding_source *source, struct arena *arena);
int facts_gather(struct facts *f, struct err *reterr);
void facts_done(struct facts *f);
static inline struct course facts_course(const struct facts *f, size_t row) {
        size_t i = row * f->n_columns;

        return (struct course){f->h->live_bytes + i, f->h->live_blocks + i, f->h->n_allocs + i,
                               f->h->n_frees + i, NULL};
}

uint32_t facts_row_of_stack(const struct facts *f, uint32_t stack); /* FACTS_NO_ROW: none */

struct course course_new(struct arena *a, size_t n);
/* With room for columns of equal work beside, where facts have them; facts_add_row() fills both. */
struct course facts_course_new(struct facts *f);
void facts_add_row(struct facts *f, struct course *to, uint32_t row);
void course_add(struct course *to, const struct course *c, size_t n);
/* Between two columns; of any figures, a damaged trace's among them. */
static inline double course_gain(const int64_t *values, size_t from, size_t to) {
        return (double)values[to] - (double)values[from];
}
double *course_values(struct arena *a, const int64_t *values, size_t n);

/* The column in which, from 0 to 1, this part of the time has passed; or of all allocations has been made. */
size_t facts_column_of_time(const struct facts *f, double share);
size_t facts_column_of_work(const struct facts *f, double share);

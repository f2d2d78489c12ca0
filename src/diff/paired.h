/* SPDX-License-Identifier: MIT */
/* Two answers laid beside each other, by call path and by function, whatever the addresses. Inside diff/ only. */
#pragma once

#include "base/map.h"
#include "base/vec.h"
#include "diff/side.h"

enum diff_status { DIFF_SAME, DIFF_GROWN, DIFF_SHRUNK, DIFF_NEW, DIFF_GONE, DIFF_N_STATUS };

enum { PAIR_NO_CLASS = UINT32_MAX };

/* A call path, or a function that asked, on both sides. */
struct diff_row {
        uint32_t class_number; /* of the function that asked; PAIR_NO_CLASS: no stack is known */
        bool has[NAME_N_SIDES];
        uint32_t stacks[NAME_N_SIDES]; /* one that stands for all; 0: none */
        uint32_t n_paths[NAME_N_SIDES];
        struct query_figures f[NAME_N_SIDES];
        uint32_t id;    /* of a call path, whatever the order */
        bool is_chance; /* its change is chance */
};

struct diff {
        const struct diff_options *options;
        struct diff_side sides[NAME_N_SIDES];
        enum query_metric metric;
        double scale[NAME_N_SIDES]; /* 1, or one second in their unit */
        struct name_match *match;
        VEC(struct diff_row) sites, functions; /* the largest change first, chance last */
        double limit;                          /* changes below are of no note */
        bool total_is_chance;
        struct map row_of[NAME_N_SIDES]; /* stack → id of its call path */
};

/* Fills rows and limit. The sides have been asked. */
void diff_pair_sides(struct diff *d);
void diff_unpair(struct diff *d);
void diff_sort_rows(struct diff *d);

/* ---- what rows say --------------------------------------------------------------------------- */

/* Of the metric, scaled. */
double diff_value(const struct diff *d, const struct query_figures *f, enum name_side side);
double diff_total(const struct diff *d, enum name_side side);
double diff_total_change(const struct diff *d);
double diff_change(const struct diff *d, const struct diff_row *row);
enum diff_status diff_status_of(const struct diff *d, const struct diff_row *row);
const char *diff_status_name(enum diff_status s);
bool diff_row_is_noted(const struct diff *d, const struct diff_row *row);
bool diff_total_is_noted(const struct diff *d);
/* Something of note changed: the total, a function or a call path. */
bool diff_is_found(const struct diff *d);
/* NEW, where the row is there; else OLD. */
enum name_side diff_told_side(const struct diff_row *row);

/* ---- opening and asking ---------------------------------------------------------------------- */

/* Nothing is to be freed when it fails. */
int diff_gather(struct diff *d, const struct diff_options *o, struct err *reterr);
void diff_done(struct diff *d);

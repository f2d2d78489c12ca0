/* SPDX-License-Identifier: MIT */
/* One function a kind of finding, and what they share. Each looks at the facts and adds what it finds; sites that an earlier
 * one has told about are left alone. Inside finding/ only. */
#pragma once

#include "base/units.h"
#include "finding/facts.h"
#include "finding/place.h"
#include "finding/series.h"

/* Heaps of garbage collectors and the C++ library's reserve: their rows are claimed before anybody looks at them. */
void find_heaps(struct facts *f);
void find_growing(struct facts *f, const struct askers *askers);
void find_losses(struct facts *f, const struct askers *askers); /* as memcheck tells them */
/* What is left at the end, judged once: behind growing. */
struct left;
struct left *left_new(struct facts *f, const struct askers *askers);
void find_leaks(struct left *l);
struct finding_left find_left(struct left *l); /* told last: what is no alarm */

void find_large(struct facts *f);
void find_short_peak(struct facts *f, const struct askers *askers);
void find_temporary(struct facts *f, const struct askers *askers);
void find_moves(struct facts *f, const struct askers *askers); /* regrowth, freed-elsewhere */
void find_slack(struct facts *f, const struct askers *askers);
void find_fragmentation(struct facts *f);
void find_holder(struct facts *f, const struct askers *askers); /* behind all that may tell of it */
void find_notes(struct facts *f);
void find_failures(struct facts *f); /* by find_notes() */
void find_unseen(struct facts *f);
void find_mapped(struct facts *f);
void find_time(struct facts *f); /* all that is about time: the source has where it went */

enum finding_severity severity_of(const struct facts *f, const struct finding *x);
int severity_compare(const void *a, const void *b); /* of findings, for qsort */
/* Whether it is about enough of all that the program had to be told; else it is a row in a table. */
bool finding_matters(const struct finding *x, double whole_bytes);

/* ---- telling --------------------------------------------------------------------------------- */

const char *say(struct facts *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
const char *plural(uint64_t n);
unsigned share_pct(double part, double whole);
const char *say_rate(struct facts *f, double bytes_per_s); /* "1.2 MiB/s", "35 KiB/h" */
const char *say_moment(struct facts *f,
                       double s); /* of the recording: "00:12", "1:02:30", "120 ms" */

/* A finding about a row, valid until the next is added. */
struct finding *found(struct facts *f, const char *kind, double bytes, uint32_t row,
                      enum query_metric metric);
struct finding *found_about_none(struct facts *f, const char *kind, const char *text);
void found_number(struct finding *x, const char *name, double value);
/* A report of the same process, window and blocks, by a metric: as a tree, or by function (REQUEST_GROUPS). */
struct request_step *next_view(struct facts *f, enum request_shape shape, enum query_metric by);
/* By the callers of a function: of the finding added last, whose text will have what that shows. */
struct request_step *next_callers(struct facts *f, const struct name_frame *frame,
                                  enum query_metric by);
/* To the texts of the findings that are told, what their next steps show. */
void promises_keep(struct facts *f, struct findings *found);

/* Whether bytes with this variance rest on enough: in a recording of samples a few of them are no evidence. */
bool is_sure(const struct facts *f, double bytes, double var);

/* Of all else that was alive at the peak little is left: the program frees what it has. */
bool is_tidy(const struct facts *f, double bytes, double blocks);
/* Whether what is left, of so many bytes and blocks, may as well be a cache that fills: in a short run, of a program that leaves what it has. */
bool is_too_short(const struct facts *f, double bytes, double blocks);
double row_lost_bytes(const struct facts *f, uint32_t row);
/* Whether the reference graph settles what the time does not: nothing points to nearly all of it. Not if such blocks were freed: then somebody may have a
 * pointer that no graph shows. */
bool is_lost(double lost_bytes, double bytes, uint64_t n_frees);

/* Of a run of a moment: so little that nobody can tell what it is, and nobody misses it. It is still counted as left at the end. */
bool is_trifle(const struct facts *f, double bytes, double run_s);

/* ---- rising ---------------------------------------------------------------------------------- */

struct growth {
        struct series_trend trend;
        size_t end_idx;   /* columns looked at: behind them everything is torn down */
        bool is_released; /* at the end */
        bool is_rising;
        bool is_uneven;        /* over time: by work, or in bursts */
        double begin_s, end_s; /* since the window's begin */
        double now_bytes, now_blocks, rise_bytes, rise_blocks, n_allocs, n_frees;
        double weight_bytes; /* the rise, with what came before the line at the same pace */
        double freed_last_s; /* when something was released last; 0: nothing was */
};
/* caller: who called it, where its allocations are a clock to look at it by; else NULL. */
void growth_of(struct facts *f, const struct course *c, const struct course *caller,
               struct growth *ret);
/* Whether it rises for long, or again and again, and not at a few moments, and has not ended before others' work. The trend is
 * known. */
bool growth_is_repeated(struct facts *f, const struct course *c, struct growth *g);
/* Whether it rises by another clock than time; then sets the trend's begin and fit. end_idx is known. */
bool growth_has_rhythm(struct facts *f, const struct course *c, const struct course *caller,
                       struct growth *g);
/* The step about a growth: in the time behind the warm-up where that matters, and before all is torn down. c: of the place. */
struct request_step *next_growth(struct facts *f, const struct name_frame *frame,
                                 const struct course *c, const struct growth *g);
/* What a course gained in the time of a growth. */
double growth_gain(const struct growth *g, const struct course *c);
/* Whether it only takes over, from column begin to last, what others give up: as when the entries of a table are replaced one
 * by one by others that another function makes. */
bool is_taken_over(struct facts *f, const struct askers *askers, const struct course *c,
                   size_t begin, size_t last);

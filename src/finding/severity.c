/* SPDX-License-Identifier: MIT */
/* How much a finding matters to who reads it, and which comes first: what harms before what may be made better before what is only
 * true; of what holds memory the most bytes first. What was mapped, where it is most of the memory, comes before all of that. */
#include <string.h>

#include "finding/rules.h"

#define PROBLEM_BYTES 1e6          /* lost: so much is one in any program, */
#define PROBLEM_SHARE 0.1          /* and so much of the peak, */
#define PROBLEM_SHARE_BYTES 16e3   /* unless that is next to nothing */
#define TRIFLE_MAX_S 2.0           /* in a run so short, */
#define TRIFLE_BYTES 4096          /* fewer than these, */
#define TRIFLE_SHARE 0.01          /* and less of the peak */
#define TIDY_SHARE 0.25            /* of all else at the peak: what is left at most */
#define ELSE_SHARE 0.01            /* of it: less is nothing else */
#define LOST_SHARE 0.9             /* of what grew: nothing points to it */
#define ELSE_BLOCKS 20             /* and fewer are */
#define TELLING_S 10.0             /* in a shorter run a leak and a cache that fills are alike */
#define PROBLEM_BYTES_PER_DAY 10e6 /* at this pace */
#define CHURN_SHARE_PCT 30  /* of all allocations: temporary ones with less are only noted, */
#define CHURN_MIN 100000    /* and fewer of them */
#define COPIED_SHARE 0.1    /* of all bytes allocated: buffers made larger */
#define WAIT_PROBLEM_PCT 20 /* of the CPU time: so long threads waited for locks */
#define HOT_SHARE_PCT 25    /* of the CPU time, in one function */
#define MATTERS_SHARE 0.01  /* of all that the program had: what holds less is a row in a table; */
#define MATTERS_LOST_SHARE 0.001 /* what may be lost, if it is less than this, */
#define MATTERS_LONG_S 60        /* unless it went on for so long, at the pace of a problem */

const char *finding_severity_name(enum finding_severity s) {
        static const char *const names[] = {[FINDING_PROBLEM] = "problem",
                                            [FINDING_WORTH_KNOWING] = "worth-knowing",
                                            [FINDING_NOTE] = "note"};

        return names[s];
}

static double number_of(const struct finding *x, const char *name) {
        for (size_t i = 0; i < x->n_numbers; i++)
                if (strcmp(x->numbers[i].name, name) == 0)
                        return x->numbers[i].value;
        return 0;
}

static bool is_much(const struct facts *f, const struct finding *x) {
        double bytes = (double)x->bytes;

        return bytes >= PROBLEM_BYTES || (bytes >= PROBLEM_SHARE_BYTES &&
                                          bytes >= PROBLEM_SHARE * (double)f->totals->peak_bytes);
}

bool is_trifle(const struct facts *f, double bytes, double run_s) {
        return (f->totals->lacks_time || run_s < TRIFLE_MAX_S) && bytes < TRIFLE_BYTES &&
               bytes < TRIFLE_SHARE * (double)f->totals->peak_bytes;
}

/* By bytes or by blocks: one large block that libraries keep does not make a program careless. */
bool is_tidy(const struct facts *f, double bytes, double blocks) {
        const struct query_totals *t = f->totals;

        return (double)t->end_bytes - bytes <= TIDY_SHARE * ((double)t->peak_bytes - bytes) ||
               (double)t->end_blocks - blocks <= TIDY_SHARE * ((double)t->peak_blocks - blocks);
}

/* What fills comes to rest when it is full; nothing of it shows before. A program that frees all else, if it ever had any, would free a cache, too. */
bool is_too_short(const struct facts *f, double bytes, double blocks) {
        bool has_else = (double)f->totals->peak_bytes > bytes * (1 + ELSE_SHARE) ||
                        (double)f->totals->peak_blocks >= blocks + ELSE_BLOCKS;

        return !f->totals->lacks_time && f->at_s[f->n_columns - 1] < TELLING_S &&
               (!has_else || !is_tidy(f, bytes, blocks));
}

double row_lost_bytes(const struct facts *f, uint32_t row) {
        const struct finding_source *s = f->source;

        return s->lost ? (double)s->lost(s->lost_ctx, f->rows[row].stack) : 0;
}

bool is_lost(double lost_bytes, double bytes, uint64_t n_frees) {
        return n_frees == 0 && bytes > 0 && lost_bytes >= LOST_SHARE * bytes;
}

/* What may be lost. */
static enum finding_severity severity_of_loss(const struct facts *f, const struct finding *x) {
        if (x->is_brief)
                return FINDING_WORTH_KNOWING;
        return is_much(f, x) || number_of(x, "bytes_per_s") * 86400 >= PROBLEM_BYTES_PER_DAY
                       ? FINDING_PROBLEM
                       : FINDING_WORTH_KNOWING;
}

static enum finding_severity severity_of_churn(const struct facts *f, const struct finding *x) {
        bool is_costly = strcmp(x->kind, "temporary") == 0
                                 ? number_of(x, "site_share_pct") >= CHURN_SHARE_PCT &&
                                           number_of(x, "site_temporary") >= CHURN_MIN
                                 : number_of(x, "copied_bytes") - number_of(x, "in_place_bytes") >=
                                           COPIED_SHARE * (double)f->totals->alloc_bytes;

        return is_costly ? FINDING_WORTH_KNOWING : FINDING_NOTE;
}

static bool is_one_of(const char *kind, const char *const *kinds, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (strcmp(kind, kinds[i]) == 0)
                        return true;
        return false;
}
#define IS_ONE_OF(x, ...)                                                                          \
        is_one_of((x)->kind, (const char *const[]){__VA_ARGS__},                                   \
                  sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

/* Time goes somewhere in every program: only who waits for others is held up. */
static enum finding_severity severity_of_time(const struct finding *x) {
        double pct = number_of(x, "share_of_cpu_pct");

        if (IS_ONE_OF(x, "lock-waiting"))
                return pct >= WAIT_PROBLEM_PCT ? FINDING_PROBLEM : FINDING_WORTH_KNOWING;
        if (IS_ONE_OF(x, "hot-function", "silt-time", "waiting"))
                return pct >= HOT_SHARE_PCT ? FINDING_WORTH_KNOWING : FINDING_NOTE;
        return FINDING_WORTH_KNOWING;
}

enum finding_severity severity_of(const struct facts *f, const struct finding *x) {
        if (IS_ONE_OF(x, "growing", "leak"))
                return severity_of_loss(f, x);
        if (IS_ONE_OF(x, "temporary", "regrowth"))
                return severity_of_churn(f, x);
        if (IS_ONE_OF(x, "wrong-size", "killed"))
                return FINDING_PROBLEM;
        if (x->is_time)
                return severity_of_time(x);
        if (IS_ONE_OF(x, "large-site", "short-peak", "slack", "fragmentation", "heap", "mapped",
                      "peak-site", "unknown-frees", "failed") ||
            x->is_open)
                return FINDING_WORTH_KNOWING;
        return FINDING_NOTE;
}

static bool goes_on_for_long(const struct finding *x) {
        return number_of(x, "until_s") - number_of(x, "since_s") >= MATTERS_LONG_S &&
               number_of(x, "bytes_per_s") * 86400 >= PROBLEM_BYTES_PER_DAY;
}

bool finding_matters(const struct finding *x, double whole_bytes) {
        double bytes = (double)x->bytes;

        if (x->is_note || x->is_time || x->is_certain || bytes >= MATTERS_SHARE * whole_bytes)
                return true;
        if (IS_ONE_OF(x, "growing", "leak"))
                return bytes >= MATTERS_LOST_SHARE * whole_bytes || goes_on_for_long(x);
        return !IS_ONE_OF(x, "large-site", "short-peak", "slack", "fragmentation", "heap",
                          "peak-site", "left-at-end");
}

/* What holds memory can be compared by bytes; what costs time comes behind it. */
static unsigned group_of(const struct finding *x) {
        if (x->is_note)
                return 5;
        if (x->follows)
                return 1;
        if (x->is_time)
                return 2;
        if (IS_ONE_OF(x, "growing", "leak", "large-site", "short-peak", "slack", "fragmentation",
                      "heap", "mapped", "peak-site"))
                return 0;
        if (IS_ONE_OF(x, "regrowth", "temporary"))
                return 2;
        return IS_ONE_OF(x, "freed-elsewhere") ? 3 : 4;
}

bool finding_is_worry(const struct finding *x) {
        return x->is_open ||
               (x->severity != FINDING_NOTE && !IS_ONE_OF(x, "heap", "mapped", "peak-site",
                                                          "hot-function", "waiting", "cpu-wanted"));
}

int severity_compare(const void *a, const void *b) {
        const struct finding *x = a, *y = b;

        if (x->leads != y->leads)
                return x->leads ? -1 : 1;
        if (x->severity != y->severity)
                return x->severity < y->severity ? -1 : 1;
        if (group_of(x) != group_of(y))
                return group_of(x) < group_of(y) ? -1 : 1;
        if (x->bytes != y->bytes)
                return x->bytes > y->bytes ? -1 : 1;
        if (x->time_ns != y->time_ns)
                return x->time_ns > y->time_ns ? -1 : 1;
        return strcmp(x->text, y->text);
}

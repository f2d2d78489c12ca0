/* SPDX-License-Identifier: MIT */
/* Any bytes as two traces to compare and to check: what the reader lets through, with whatever names, can be laid beside
 * the other and printed. No crash, no hang, no more memory than twice what a report may take; an error is one line, and
 * nothing was printed then.
 *
 * What is asked of them is in the last bytes: testing/diff_case.h. The second trace is what follows the first, or, where that is
 * nothing, the first again.
 *
 * seeds: src/diff/diff_seeds
 * covers: src/diff/check.c src/diff/diff.c src/diff/chance.c src/diff/diff_json.c src/diff/side_paths.c src/diff/check_measure.c src/diff/check_growth.c src/diff/culprits.c
 * covers: src/diff/paired.c src/diff/altered_paths.c src/diff/side.c src/diff/diff_text.c src/diff/diff_words.c
 * covers: src/name/match.c src/name/stable.c */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/heap_peak.h"
#include "base/macros.h"
#include "diff/check.h"
#include "diff/diff.h"
#include "diff/testing/diff_case.h"
#include "request/testing/request_made.h"
#include "trace/rehash.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static int make_file(const uint8_t *data, size_t n, bool rehash) {
        int fd = memfd_create("fuzz", MFD_CLOEXEC);
        uint8_t *copy = malloc(n + 1);

        if (n)
                memcpy(copy, data, n);
        if (rehash)
                trace_rehash(copy, n);
        if (fd < 0 || fs_write_all(fd, copy, n) < 0)
                abort();
        free(copy);
        return fd;
}

/* Loading the rules takes longer than all the rest. */
static struct request request_of(const struct diff_case *c) {
        struct request r = {.min_share_pct = -1,
                            .rules = {.without_builtin = c->asked >= DIFF_CASE_PLAIN}};

        request_ask(&r, diff_questions[c->asked % DIFF_CASE_PLAIN % ARRAY_SIZE(diff_questions)]);
        return r;
}

static enum query_metric metric_of(const struct diff_case *c) {
        return (enum query_metric)(c->metric % QUERY_N_METRICS);
}

static int compare(FILE *out, char paths[NAME_N_SIDES][32], const struct diff_case *c,
                   struct err *err) {
        struct request requests[NAME_N_SIDES];
        struct diff_options o = DIFF_OPTIONS_DEFAULT;
        _cleanup_(query_freep) struct query *q = NULL;
        bool found;
        int r;

        /* two windows of a trace that is open already */
        if (strcmp(paths[NAME_OLD], paths[NAME_NEW]) == 0 &&
            query_open(paths[NAME_NEW], &q, err) < 0)
                return -EINVAL;
        for (unsigned side = 0; side < NAME_N_SIDES; side++) {
                struct request *asked = &requests[side];

                *asked = request_of(c);
                asked->has_metric = true;
                asked->metric = metric_of(c);
                asked->full = c->choice & DIFF_CASE_FULL;
                if (c->choice & DIFF_CASE_WINDOW)
                        request_ask(asked, side ? "from=3us&to=50us" : "to=50us");
                o.sources[side] = (struct diff_source){paths[side], asked, q};
        }
        o.json = c->choice & DIFF_CASE_JSON;
        o.is_strict = c->choice & DIFF_CASE_STRICT;
        o.min_change_pct = c->choice & DIFF_CASE_NOTED ? 0 : 1;
        r = diff_print(out, &o, &found, err);
        for (unsigned side = 0; side < NAME_N_SIDES; side++)
                request_done(&requests[side]);
        return r;
}

static int check(FILE *out, char paths[NAME_N_SIDES][32], const struct diff_case *c,
                 struct err *err) {
        struct request asked = request_of(c);
        struct check_options o = {.source = {paths[NAME_NEW], &asked},
                                  .against = paths[NAME_OLD],
                                  .json = c->choice & DIFF_CASE_JSON,
                                  .strict = c->choice & DIFF_CASE_STRICT};
        enum check_status status;
        int r;

        if (c->choice & DIFF_CASE_ALL)
                request_ask(&asked, "process=all");
        for (unsigned i = 0; i < LIMIT_N_KINDS; i++) {
                /* most traces have no graph, and then all is refused */
                if (i == LIMIT_LEAKED && !(c->choice & DIFF_CASE_NOTED))
                        continue;
                vec_push(&o.limits,
                         (struct limit){.kind = (enum limit_kind)i,
                                        .unit = i == LIMIT_GROWTH    ? LIMIT_IN_PERCENT_PER_S
                                                : i == LIMIT_AGAINST ? LIMIT_IN_PERCENT
                                                                     : LIMIT_IN_BYTES,
                                        .limit = c->choice & DIFF_CASE_FULL ? 0 : 1e6,
                                        .text = "1M",
                                        .function = "main",
                                        .metric = query_metric_name(metric_of(c)),
                                        .rate_s = 1,
                                        .rate_name = "s"});
        }
        r = check_print(out, &o, &status, err);
        vec_free(&o.limits);
        request_done(&asked);
        return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        struct diff_case c = {0};
        size_t n_first, n_text = 0;
        char paths[NAME_N_SIDES][32], *text = NULL;
        int fds[NAME_N_SIDES], r;
        struct err err = {0};
        FILE *out;

        if (n >= sizeof(c)) {
                n -= sizeof(c);
                memcpy(&c, data + n, sizeof(c));
        }
        n_first = MIN(c.n_first[0] | (size_t)c.n_first[1] << 8, n);
        fds[0] = make_file(data, n_first, c.choice & DIFF_CASE_REHASH);
        fds[1] = n_first < n ? make_file(data + n_first, n - n_first, c.choice & DIFF_CASE_REHASH)
                             : fds[0];
        for (unsigned side = 0; side < NAME_N_SIDES; side++)
                snprintf(paths[side], sizeof(paths[side]), "/proc/self/fd/%d", fds[side]);
        out = open_memstream(&text, &n_text);
        heap_peak_begin();
        r = c.choice & DIFF_CASE_CHECK ? check(out, paths, &c, &err)
                                       : compare(out, paths, &c, &err);
        if (heap_peak_bytes() > 4 * (512 * n + (64u << 20)))
                abort();
        fclose(out);
        if (r < 0 && (!err.text[0] || strchr(err.text, '\n') || n_text))
                abort();
        free(text);
        close(fds[0]);
        if (fds[1] != fds[0])
                close(fds[1]);
        return 0;
}

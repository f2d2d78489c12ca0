/* SPDX-License-Identifier: MIT */
/* Any bytes as two traces to compare and to check: what the reader lets through, with whatever names, can be laid beside
 * the other and printed. No crash, no hang, no more memory than twice what a report may take; an error is one line, and
 * nothing was printed then.
 *
 * The last byte chooses: bit 0 makes the checksums right first; bits 1 to 5 JSON, all processes, full, a check instead, a
 * window of each; bits 6 and 7 with the length the metric. The two before are the length of the first trace; the second is what
 * follows, or, where that is nothing, the first again.
 *
 * seeds: src/diff/diff_seeds
 * covers: src/diff/check.c src/diff/diff.c src/diff/chance.c src/diff/diff_json.c src/diff/side_paths.c src/diff/check_measure.c
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
#include "request/testing/request_made.h"
#include "trace/rehash.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum {
        CHOICE_REHASH = 1,
        CHOICE_JSON = 2,
        CHOICE_ALL = 4,
        CHOICE_FULL = 8,
        CHOICE_CHECK = 16,
        CHOICE_WINDOW = 32,
};

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
static struct name_sources rules_of(size_t n) {
        return (struct name_sources){.without_builtin = n % 8};
}

static const char *process_of(size_t n) {
        return n % 5 == 1 ? "100" : n % 5 == 2 ? "fabric" : n % 5 == 3 ? "x" : NULL;
}

static struct request request_of(uint8_t choice, size_t n) {
        struct request r = {.has_metric = true, .min_share_pct = -1, .rules = rules_of(n)};

        r.metric = (enum query_metric)((n + (choice >> 6)) % QUERY_N_METRICS);
        r.full = choice & CHOICE_FULL;
        return r;
}

static int compare(FILE *out, char paths[NAME_N_SIDES][32], uint8_t choice, size_t n,
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

                *asked = request_of(choice, n);
                if (process_of(n))
                        request_set(asked, "process", process_of(n), NULL);
                asked->per_second = (choice & CHOICE_WINDOW) && asked->metric != QUERY_PEAK &&
                                    asked->metric != QUERY_END;
                if (choice & CHOICE_WINDOW)
                        request_ask(asked, side ? "from=3us&to=50us" : "to=50us");
                o.sources[side] = (struct diff_source){paths[side], asked, q};
        }
        o.json = choice & CHOICE_JSON;
        o.min_change_pct = choice & 64 ? 0 : 1;
        r = diff_print(out, &o, &found, err);
        for (unsigned side = 0; side < NAME_N_SIDES; side++)
                request_done(&requests[side]);
        return r;
}

static int check(FILE *out, char paths[NAME_N_SIDES][32], uint8_t choice, size_t n,
                 struct err *err) {
        struct request asked = {.min_share_pct = -1, .rules = rules_of(n)};
        struct check_options o = {.source = {paths[NAME_NEW], &asked},
                                  .against = paths[NAME_OLD],
                                  .json = choice & CHOICE_JSON};
        enum check_status status;
        int r;

        request_ask(&asked, choice & CHOICE_ALL ? "process=all" : "");
        for (unsigned i = 0; i < LIMIT_N_KINDS; i++) {
                if (i == LIMIT_LEAKED) /* most traces have no graph, and then all is refused */
                        continue;
                vec_push(&o.limits,
                         (struct limit){.kind = (enum limit_kind)i,
                                        .unit = i == LIMIT_GROWTH    ? LIMIT_IN_PERCENT_PER_S
                                                : i == LIMIT_AGAINST ? LIMIT_IN_PERCENT
                                                                     : LIMIT_IN_BYTES,
                                        .limit = choice & CHOICE_FULL ? 0 : 1e6,
                                        .text = "1M",
                                        .function = "main",
                                        .metric = "allocated",
                                        .rate_s = 1,
                                        .rate_name = "s"});
        }
        r = check_print(out, &o, &status, err);
        vec_free(&o.limits);
        request_done(&asked);
        return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        uint8_t choice = n ? data[--n] : 0;
        size_t n_first = n >= 2 ? data[n - 2] | (size_t)data[n - 1] << 8 : 0, n_text = 0;
        char paths[NAME_N_SIDES][32], *text = NULL;
        int fds[NAME_N_SIDES], r;
        struct err err = {0};
        FILE *out;

        n -= MIN(n, (size_t)2);
        n_first = MIN(n_first, n);
        fds[0] = make_file(data, n_first, choice & CHOICE_REHASH);
        fds[1] = n_first < n ? make_file(data + n_first, n - n_first, choice & CHOICE_REHASH)
                             : fds[0];
        for (unsigned side = 0; side < NAME_N_SIDES; side++)
                snprintf(paths[side], sizeof(paths[side]), "/proc/self/fd/%d", fds[side]);
        out = open_memstream(&text, &n_text);
        heap_peak_begin();
        r = choice & CHOICE_CHECK ? check(out, paths, choice, n, &err)
                                  : compare(out, paths, choice, n, &err);
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

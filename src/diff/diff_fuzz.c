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
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/heap_peak.h"
#include "base/macros.h"
#include "diff/check.h"
#include "diff/diff.h"
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

static int compare(FILE *out, char paths[NAME_N_SIDES][32], uint8_t choice, size_t n,
                   struct err *err) {
        static const char *const metrics[] = {"peak",  "end",       "allocated",
                                              "count", "temporary", "growth"};
        struct diff_options o = DIFF_OPTIONS_DEFAULT;
        bool found;

        for (unsigned side = 0; side < NAME_N_SIDES; side++) {
                o.sources[side].path = paths[side];
                o.sources[side].process = choice & CHOICE_ALL ? "all" : NULL;
                o.sources[side].process = process_of(n);
                if (choice & CHOICE_WINDOW)
                        o.sources[side].from_ns = 3000 * side, o.sources[side].to_ns = 50000;
        }
        o.metric = metrics[(n + (choice >> 6)) % ARRAY_SIZE(metrics)];
        o.rules = rules_of(n);
        o.json = choice & CHOICE_JSON;
        o.full = choice & CHOICE_FULL;
        o.per_second = (choice & CHOICE_WINDOW) && o.metric[0] != 'p' && o.metric[0] != 'e';
        o.min_change_pct = choice & 64 ? 0 : 1;
        return diff_print(out, &o, &found, err);
}

static int check(FILE *out, char paths[NAME_N_SIDES][32], uint8_t choice, size_t n,
                 struct err *err) {
        struct check_options o = {.source = {.path = paths[NAME_NEW],
                                             .to_ns = UINT64_MAX,
                                             .process = choice & CHOICE_ALL ? "all" : NULL},
                                  .against = paths[NAME_OLD],
                                  .rules = rules_of(n),
                                  .json = choice & CHOICE_JSON};
        enum check_status status;
        int r;

        for (unsigned i = 0; i < LIMIT_N_KINDS; i++)
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
        r = check_print(out, &o, &status, err);
        vec_free(&o.limits);
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

/* SPDX-License-Identifier: MIT */
/* jemalloc's heap profiles, as `prof_dump` writes them:
 *
 *   heap_v2/524288                          mean distance of samples in bytes
 *     t*: 28: 4096 [0: 0]                   all: live blocks: bytes [ever allocated: bytes]
 *   @ 0x7f01 0x7f02                         a call path of return addresses, innermost first
 *     t*: 2: 128 [0: 0]
 *     t3: 2: 128 [0: 0]                     by thread: not taken
 *   MAPPED_LIBRARIES:
 *   /proc/self/maps
 *
 * jemalloc's counts are made for the rule of samples (prof_unbias), by call path and before any sum. */
#include <stdlib.h>
#include <string.h>

#include "import/cpu_profile.h"
#include "import/heap_dump.h"
#include "import/import_format.h"

static bool matches(const uint8_t *head, size_t n) {
        static const char mark[] = "heap_v2/";

        return n > sizeof(mark) && memcmp(head, mark, sizeof(mark) - 1) == 0;
}

/* What jeprof or google-pprof --raw wrote: the profile comes behind symbols, which may be many. */
static bool matches_raw(const uint8_t *head, size_t n) {
        static const char raw[] = "--- symbol\n";

        return n > sizeof(raw) && memcmp(head, raw, sizeof(raw) - 1) == 0;
}

static int take_line(struct heap_dump *d, const char *line, const struct import_input *in,
                     struct err *reterr) {
        struct heap_path *last = d->paths.n ? &d->paths.items[d->paths.n - 1] : &d->head;
        const char *rest;
        int r = heap_dump_take_line(d, line, in, reterr);

        if (r != 0)
                return r;
        if (strncmp(line, "heap_v2/", 8) == 0) {
                d->scaling = HEAP_POISSON;
                d->sample_bytes = strtoull(line + 8, NULL, 10);
                return 0;
        }
        if (line[0] == '@')
                return heap_dump_take_path(d, line + 1, in, reterr);
        line += strspn(line, " ");
        if (line[0] != 't' || !strchr(line, ':'))
                return import_input_refuse(in, reterr, "'%.40s' is not a line of a heap profile",
                                           line);
        if (line[1] == '*' && !heap_dump_parse_sums(line + 2 + (line[2] == ':'), last, &rest))
                return import_input_refuse(in, reterr, "'%.40s' has no counts", line);
        return 0;
}

/* Behind it google-pprof writes counts by call path, as CPU profiles have them. */
static bool is_counts(const struct heap_dump *d, const char *line) {
        return d->scaling == HEAP_EXACT && strcmp(line, "--- profile") == 0;
}

static int read_dump(struct import_input *in, struct import_trace *t, struct err *reterr) {
        struct heap_dump d;
        char *line;
        size_t n;
        int r;

        heap_dump_init(&d);
        while ((r = import_input_line(in, &line, &n, reterr)) > 0 && !is_counts(&d, line) &&
               (r = take_line(&d, line, in, reterr)) >= 0)
                ;
        if (r > 0) {
                r = cpu_profile_read(in, t, &d, reterr);
                heap_dump_done(&d);
                return r;
        }
        if (r >= 0 && d.scaling == HEAP_EXACT)
                r = import_input_refuse(in, reterr, "it has symbols, but no heap profile");
        if (d.sample_bytes > 1)
                d.head = (struct heap_path){
                        0}; /* made for the rule of samples by itself, it is no sum of its rows */
        if (r >= 0)
                r = heap_dump_put(&d, t, in, reterr);
        heap_dump_done(&d);
        return r;
}

const struct import_format import_heap_v2 = {
        .name = "jemalloc",
        .title = "a jemalloc heap profile",
        .lacks = "sums by call path, but no single blocks, no threads and no times",
        .is_dump = true,
        .ends_with_line = true,
        .matches = matches,
        .read = read_dump,
};

const struct import_format import_raw_profile = {
        .name = "pprof-raw",
        .title = "a profile with its symbols, as pprof --raw writes it",
        .lacks = "sums by call path, but no single blocks, no threads and no times",
        .is_dump = true,
        .matches = matches_raw,
        .read = read_dump,
};

/* SPDX-License-Identifier: MIT */
/* Heap profiles of gperftools (HEAPPROFILE) and tcmalloc:
 *
 *   heap profile:     28:     4096 [    60:    9000] @ heapprofile        or heap_v2/524288: samples
 *        2:      128 [     4:      256] @ 0x7f01 0x7f02
 *   MAPPED_LIBRARIES:
 *
 * Go writes the same (debug=1), with its names and twice the distance of its samples. It leaves out the names of its allocator:
 *
 *   heap profile: 2: 4096 [3: 9000] @ heap/1048576
 *   2: 4096 [3: 9000] @ 0x47c30d 0x4d9711
 *   #	0x4d9710	main.leak+0x90	/home/me/main.go:4
 *
 *   # runtime.MemStats */
#include <stdlib.h>
#include <string.h>

#include "import/heap_dump.h"
#include "import/import_format.h"

#define HEAP_MARK "heap profile: "

static bool matches(const uint8_t *head, size_t n) {
        return n > strlen(HEAP_MARK) && memcmp(head, HEAP_MARK, strlen(HEAP_MARK)) == 0;
}

static bool matches_go(const uint8_t *head, size_t n) {
        const uint8_t *end = matches(head, n) ? memchr(head, '\n', n) : NULL;

        return end && memmem(head, (size_t)(end - head), "@ heap/", 7);
}

/* The first line: sums of all, and how they were counted. */
static int take_head(struct heap_dump *d, const char *line, const struct import_input *in,
                     struct err *reterr) {
        const char *rest, *kind;

        if (strncmp(line, HEAP_MARK, strlen(HEAP_MARK)) != 0 ||
            !heap_dump_parse_sums(line + strlen(HEAP_MARK), &d->head, &rest))
                return import_input_refuse(in, reterr, "its first line has no counts");
        kind = rest + strspn(rest, " @");
        if (strncmp(kind, "heap_v2/", 8) == 0 || strncmp(kind, "heap/", 5) == 0) {
                d->scaling = HEAP_POISSON;
                d->sample_bytes = strtoull(strchr(kind, '/') + 1, NULL, 10);
                d->has_live_twice = kind[4] == '_';
                d->cuts_fractions = kind[4] == '/';
                if (d->cuts_fractions)
                        d->sample_bytes /= 2;
        } else if (strncmp(kind, "heapprofile", 11) != 0 && strncmp(kind, "growth", 6) != 0 &&
                   *kind) {
                return import_input_refuse(in, reterr, "profiles of '%.20s' are unknown", kind);
        }
        return 0;
}

/* "0x4d9710<TAB>main.leak+0x90<TAB>/home/me/main.go:4", behind "#<TAB>". */
static void take_go_frame(struct heap_dump *d, const char *text) {
        struct heap_symbol symbol = {{.name = "", .file = ""}, NULL};
        char *fields = arena_strdup(d->arena, text), *rest, *address, *name, *file, *at;

        address = strtok_r(fields, "\t", &rest);
        name = strtok_r(NULL, "\t", &rest);
        file = strtok_r(NULL, "\t", &rest);
        if (!address || !name || !file || strncmp(address, "0x", 2) != 0)
                return;
        if ((at = strrchr(name, '+')))
                *at = '\0';
        symbol.function.name = name;
        if ((at = strrchr(file, ':'))) {
                *at = '\0';
                symbol.function.file = file;
                symbol.function.line = (uint32_t)strtoul(at + 1, NULL, 10);
        }
        d->leaves_unnamed_out = true;
        heap_dump_add_symbol(d, strtoull(address, NULL, 16), &symbol);
}

static int take_line(struct heap_dump *d, const char *line, const struct import_input *in,
                     struct err *reterr) {
        struct heap_path sums;
        const char *rest;
        int r = heap_dump_take_line(d, line, in, reterr);

        if (r != 0)
                return r;
        if (line[0] == '#') {
                if (line[1] == '\t')
                        take_go_frame(d, line + 2);
                return 0;
        }
        if (!heap_dump_parse_sums(line, &sums, &rest))
                return import_input_refuse(in, reterr, "'%.40s' has no counts", line);
        rest += strspn(rest, " ");
        if (*rest != '@')
                return import_input_refuse(in, reterr, "'%.40s' has no call path", line);
        r = heap_dump_take_path(d, rest + 1, in, reterr);
        if (r >= 0) {
                struct heap_path *p = &d->paths.items[d->paths.n - 1];

                sums.first = p->first;
                sums.n = p->n;
                *p = sums;
        }
        return r;
}

static int read_heap(struct import_input *in, struct import_trace *t, struct err *reterr) {
        struct heap_dump d;
        char *line;
        size_t n;
        int r;

        heap_dump_init(&d);
        r = import_input_line(in, &line, &n, reterr);
        if (r > 0)
                r = take_head(&d, line, in, reterr);
        while (r >= 0 && (r = import_input_line(in, &line, &n, reterr)) > 0)
                r = take_line(&d, line, in, reterr);
        if (r >= 0)
                r = heap_dump_put(&d, t, in, reterr);
        heap_dump_done(&d);
        return r;
}

const struct import_format import_gperftools_heap = {
        .name = "gperftools",
        .title = "a gperftools heap profile",
        .lacks = "sums by call path, but no single blocks, no threads and no times",
        .is_dump = true,
        .ends_with_line = true,
        .matches = matches,
        .read = read_heap,
};

const struct import_format import_go_heap = {
        .name = "go-heap",
        .title = "a heap profile of Go in text",
        .lacks = "sums by call path, but no single blocks, no threads and no times",
        .is_dump = true,
        .ends_with_line = true,
        .matches = matches_go,
        .read = read_heap,
};

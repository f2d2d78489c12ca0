/* SPDX-License-Identifier: MIT */
/* Test program: what query_residency says about a trace, one line a call path.
 *
 *   residency_probe FILE
 *
 * prints process, innermost function, then blocks, bytes and touched bytes of peak, last and seen, and
 * max_touched_bytes. */
#include <stdlib.h>

#include "query/query.h"

static bool take_name(void *ctx, const struct query_frame *f) {
        *(const char **)ctx = f->function;
        return false;
}

static void print_row(const struct query *q, const struct query_residency *r) {
        const char *name = "?";
        const uint64_t numbers[] = {r->peak.n_blocks,    r->peak.bytes, r->peak.touched_bytes,
                                    r->last.n_blocks,    r->last.bytes, r->last.touched_bytes,
                                    r->seen_blocks,      r->seen_bytes, r->seen_touched_bytes,
                                    r->max_touched_bytes};

        query_each_frame(q, r->stack, take_name, &name);
        printf("%u %s", r->process, *name ? name : "?");
        for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
                printf(" %llu", (unsigned long long)numbers[i]);
        putchar('\n');
}

int main(int argc, char **argv) {
        struct query_scope scope;
        struct query_residency *rows;
        struct query *q = NULL;
        struct err err = {0};
        size_t n;

        if (argc != 2)
                return 2;
        if (query_open(argv[1], &q, &err) < 0) {
                fprintf(stderr, "%s\n", err.text);
                return 2;
        }
        scope = query_whole(q);
        scope.process = QUERY_ALL;
        if (query_residency(q, &scope, &rows, &n, &err) < 0) {
                fprintf(stderr, "%s\n", err.text);
                return 2;
        }
        for (size_t i = 0; i < n; i++)
                print_row(q, &rows[i]);
        free(rows);
        query_free(q);
        return 0;
}

/* SPDX-License-Identifier: MIT */
#include "query/joined_groups.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"

/* A row with the text that is the same in all groups where it is the same. */
struct named_row {
        char *key; /* NULL: it is like no other */
        size_t of, at;
};

/* Letters that no name has part its parts. */
static char *key_of(enum query_by by, const struct query_group *g) {
        struct str s = {0};
        char *key;

        switch (by) {
        case QUERY_BY_FUNCTION:
                if (g->frame.function[0] && !g->frame.guess)
                        str_addf(&s, "%s\n%s", g->frame.function, g->frame.module);
                else if (g->frame.module[0])
                        str_addf(&s, "\n%llx\n%s", (unsigned long long)g->frame.offset,
                                 g->frame.module);
                break;
        case QUERY_BY_LINE:
                if (g->frame.line)
                        str_addf(&s, "%s\n%s\n%u", g->frame.function, g->frame.file, g->frame.line);
                break;
        case QUERY_BY_MODULE: str_add(&s, g->frame.module); break;
        case QUERY_BY_CRATE:
        case QUERY_BY_COMPONENT: str_add(&s, g->name); break;
        case QUERY_BY_THREAD:
                if (g->thread != TRACE_NO_THREAD)
                        str_addf(&s, "%u", g->thread);
                break;
        case QUERY_BY_PROCESS: str_addf(&s, "%u", g->process); break;
        case QUERY_BY_SITE:
        case QUERY_BY_SIZE:
        case QUERY_N_BY: break;
        }
        key = s.n ? strdup(str_text(&s)) : NULL;
        if (s.n && !key)
                abort();
        str_done(&s);
        return key;
}

/* Those of one key side by side, in the order of the groups that they are of. */
static int compare_rows(const void *a, const void *b) {
        const struct named_row *x = a, *y = b;
        int r = x->key && y->key ? strcmp(x->key, y->key) : (x->key != NULL) - (y->key != NULL);

        if (r)
                return r;
        if (x->of != y->of)
                return x->of < y->of ? -1 : 1;
        return x->at < y->at ? -1 : x->at > y->at;
}

struct query_joined *query_join_groups(const struct query_groups *const *of, size_t n_of) {
        struct query_joined *j = calloc(1, sizeof(*j));
        size_t n = 0, first[16] = {0}, n_rows = 0;
        struct named_row *rows;
        bool *is_taken;

        for (size_t i = 0; i < n_of; i++)
                n += of[i] ? of[i]->n : 0;
        rows = calloc(n + 1, sizeof(*rows));
        is_taken = calloc(n + 1, sizeof(*is_taken)); /* by a row of groups before its own */
        if (!j || !rows || !is_taken || n_of > ARRAY_SIZE(first))
                abort();
        for (size_t i = 0; i < n_of; i++) {
                first[i] = n_rows;
                for (size_t k = 0; of[i] && k < of[i]->n; k++)
                        rows[n_rows++] =
                                (struct named_row){key_of(of[i]->options.by, &of[i]->rows[k]), i,
                                                   k};
        }
        qsort(rows, n, sizeof(rows[0]), compare_rows);
        j->n_of = n_of;
        j->rows = calloc((n + 1) * n_of, sizeof(j->rows[0]));
        if (!j->rows)
                abort();
        /* at first a row for each: what another has of it goes there */
        for (size_t i = 0, head; i < n; i = head) {
                size_t to = first[rows[i].of] + rows[i].at, before = SIZE_MAX;

                for (head = i;
                     head < n && (head == i || (rows[i].key && rows[head].key &&
                                                strcmp(rows[i].key, rows[head].key) == 0));
                     head++) {
                        const struct named_row *r = &rows[head];
                        size_t own = first[r->of] + r->at;

                        if (r->of == before) { /* two of one name stay two */
                                j->rows[own * n_of + r->of] = &of[r->of]->rows[r->at];
                                continue;
                        }
                        before = r->of;
                        j->rows[to * n_of + r->of] = &of[r->of]->rows[r->at];
                        is_taken[own] = own != to;
                }
        }
        for (size_t i = 0; i < n; i++)
                if (!is_taken[i])
                        memmove(&j->rows[j->n++ * n_of], &j->rows[i * n_of],
                                n_of * sizeof(j->rows[0]));
        for (size_t i = 0; i < n; i++)
                free(rows[i].key);
        free(rows);
        free(is_taken);
        return j;
}

struct query_joined *query_joined_free(struct query_joined *j) {
        if (!j)
                return NULL;
        free(j->rows);
        free(j);
        return NULL;
}

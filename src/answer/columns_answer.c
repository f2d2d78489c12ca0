/* SPDX-License-Identifier: MIT */
/* A recording cut into columns, with the call paths they are about: silt.columns/1. */
#include "answer/answers.h"
#include "answer/column_paths.h"
#include "answer/columns.h"

/* Which of the figures mean nothing, for their source did not know them. */
static void put_unknown(struct json *j, uint32_t flags) {
        static const struct {
                const char *figure;
                uint32_t lacks;
        } figures[] = {
                {"count", TRACE_LACKS_TRAFFIC | TRACE_LACKS_BLOCKS},
                {"allocated_bytes", TRACE_LACKS_TRAFFIC | TRACE_LACKS_BLOCKS},
                {"frees", TRACE_LACKS_TRAFFIC | TRACE_LACKS_BLOCKS},
                {"bytes_freed", TRACE_LACKS_TRAFFIC | TRACE_LACKS_BLOCKS},
                {"temporary", TRACE_IS_TOTALS},
                {"reallocations", TRACE_IS_TOTALS},
                {"peak_bytes", TRACE_LACKS_PEAK},
                {"peak_blocks", TRACE_LACKS_BLOCKS | TRACE_LACKS_PEAK},
                {"begin_blocks", TRACE_LACKS_BLOCKS},
                {"end_blocks", TRACE_LACKS_BLOCKS},
        };

        json_key(j, "unknown");
        json_array(j);
        for (size_t i = 0; i < ARRAY_SIZE(figures); i++)
                if (figures[i].lacks & flags)
                        json_string(j, figures[i].figure);
        json_end(j);
}

int answer_columns(struct question *k, struct err *reterr) {
        struct columns c;
        int r = columns_make(&c, k->q, &k->resolved.scope, COLUMNS_N_COLUMNS, k->asked->n_rows,
                             reterr);

        if (r >= 0) {
                json_object(&k->j);
                json_put_string(&k->j, "schema", "silt.columns/1");
                columns_put(&k->j, &c, k->v->end_ns);
                put_unknown(&k->j, k->v->meta.flags);
                column_paths_put(&k->j, &k->frames, c.paths.items, c.paths.n);
                json_end(&k->j);
        }
        columns_done(&c);
        return r;
}

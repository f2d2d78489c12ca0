/* SPDX-License-Identifier: MIT */
/* A recording cut into columns, with the call paths they are about: silt.columns/1. */
#include "answer/answers.h"
#include "answer/column_paths.h"
#include "answer/columns.h"

int answer_columns(struct question *k, struct err *reterr) {
        struct columns c;
        int r = columns_make(&c, k->q, &k->resolved.scope, COLUMNS_N_COLUMNS, k->asked->n_rows,
                             reterr);

        if (r >= 0) {
                json_object(&k->j);
                json_put_string(&k->j, "schema", "silt.columns/1");
                columns_put(&k->j, &c, k->v->end_ns);
                column_paths_put(&k->j, &k->frames, c.paths.items, c.paths.n);
                json_end(&k->j);
        }
        columns_done(&c);
        return r;
}

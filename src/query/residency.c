/* SPDX-License-Identifier: MIT */
/* What looks at the pages of large blocks showed. */
#include "query/internal.h"
#include "query/pick.h"

int query_residency(struct query *q, const struct query_scope *scope, struct query_residency **ret,
                    size_t *ret_n, struct err *reterr) {
        const struct pick *pick;
        int r = pick_get(q, scope->filter, &pick, reterr);

        if (r < 0)
                return r;
        *ret = NULL;
        *ret_n = 0;
        return 0;
}

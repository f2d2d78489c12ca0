/* SPDX-License-Identifier: MIT */
#include "show/testing/toy_view.h"

#include "request/request.h"
#include "show/opened.h"
#include "show/show_json.h"

static int put_groups(FILE *out, struct query *q, const struct request *r,
                      const struct request_resolved *x, struct err *reterr) {
        const struct query_group_options by = {.by = r->group_by, .metric = x->metric};
        _cleanup_(query_groups_freep) struct query_groups *g = NULL;
        int y = query_group(q, &x->scope, &by, &g, reterr);
        struct json j;

        if (y < 0)
                return y;
        json_init(&j, out);
        json_object(&j);
        show_put_answer(&j, q, g->answer, x->metric);
        show_put_groups(&j, q, g, NULL, request_n_top(r, 20));
        json_end(&j);
        return 0;
}

int toy_view(FILE *out, const char *path, const char *url, size_t n, struct err *reterr) {
        struct request r = REQUEST_DEFAULT;
        struct request_resolved x = {0};
        struct opened t = {0};
        int y = request_parse_url(&r, url, n, reterr);

        if (y >= 0)
                y = request_check(&r, REQUEST_REPORT, reterr);
        if (y >= 0)
                y = opened_init(&t, path, &r.rules, reterr);
        if (y >= 0)
                y = request_resolve(&r, t.q, REQUEST_MAIN, &x, reterr);
        if (y >= 0)
                y = put_groups(out, t.q, &r, &x, reterr);
        request_resolved_done(&x);
        opened_done(&t);
        request_done(&r);
        return y;
}

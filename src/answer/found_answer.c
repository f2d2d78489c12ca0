/* SPDX-License-Identifier: MIT */
/* How much of what is chosen has a function of some name on its call path, folded away or not: silt.found/1. */
#include "query/found_paths.h"

#include "answer/answers.h"

int answer_found(struct question *k, struct err *reterr) {
        _cleanup_(query_answer_freep) struct query_answer *a = NULL;
        struct query_found f;
        int r = query_ask(k->q, &k->resolved.scope, &a, reterr);

        if (r >= 0)
                r = err_about(reterr, "search",
                              query_find_paths(k->q, a, k->resolved.metric, k->asked->search,
                                               k->asked->request.full, &f, reterr));
        if (r < 0)
                return r;
        json_object(&k->j);
        json_put_string(&k->j, "schema", "silt.found/1");
        json_put_string(&k->j, "metric", query_metric_name(k->resolved.metric));
        json_key(&k->j, "whole");
        json_int(&k->j, f.whole);
        json_key(&k->j, "value");
        json_int(&k->j, f.value);
        json_key(&k->j, "shown_value");
        json_int(&k->j, f.shown_value);
        json_put_uint(&k->j, "call_paths", f.n_paths);
        json_put_uint(&k->j, "shown_call_paths", f.n_shown_paths);
        json_end(&k->j);
        return 0;
}

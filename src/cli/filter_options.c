/* SPDX-License-Identifier: MIT */
#include "cli/filter_options.h"

#include "query/query.h"

void cli_choose_metric(const struct query_filter *f, const char **metric) {
        if (!*metric && query_filter_is_by_age(f))
                *metric = "end";
}

bool cli_take_filter(struct cli_parser *p, struct query_filter **f) {
        struct err err = {0};

        if (!*f)
                *f = query_filter_new();
        if (query_filter_add(*f, p->name, p->value, &err) >= 0)
                return true;
        cli_parser_error(p, "--%s: %s", p->name, err.text);
        return false;
}

/* SPDX-License-Identifier: MIT */
#include "cli/asking.h"

static bool refuse(struct cli_parser *p, const struct err *err) {
        if (err->key)
                cli_parser_error(p, "--%s: %s", err->key, err->text);
        else
                cli_parser_error(p, "%s", err->text);
        return false;
}

bool cli_take_key(struct cli_parser *p, struct request *r) {
        struct err err = {0};

        return request_set(r, p->name, p->value, &err) >= 0 || refuse(p, &err);
}

bool cli_check_request(struct cli_parser *p, const struct request *r, enum request_view view) {
        struct err err = {0};

        return request_check(r, view, &err) >= 0 || refuse(p, &err);
}

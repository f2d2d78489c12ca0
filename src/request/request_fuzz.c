/* SPDX-License-Identifier: MIT */
/* Any bytes as the query of a URL: refused in one line, or understood; what is understood is written as a URL that is
 * understood as the same.
 *
 * seeds: src/request/request_seeds
 * covers: src/request/request.c src/request/request_url.c src/request/request_options.c */
#include <stdlib.h>
#include <string.h>

#include "request/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_error(const struct err *err) {
        if (!err->text[0] || strchr(err->text, '\n'))
                abort();
}

static void check_same(const struct request *a, const struct request *b) {
        void (*const ways[])(const struct request *, struct str *) = {request_add_url,
                                                                      request_add_options,
                                                                      request_add_words};

        for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
                struct str x = {0}, y = {0};

                ways[i](a, &x);
                ways[i](b, &y);
                if (strcmp(str_text(&x), str_text(&y)) != 0)
                        abort();
                str_done(&x);
                str_done(&y);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        struct request r = REQUEST_DEFAULT, again = REQUEST_DEFAULT, copy;
        struct str url = {0};
        struct err err = {0};

        if (request_parse_url(&r, (const char *)data, size, &err) < 0)
                check_error(&err);
        /* also what was set before something was refused */
        request_add_url(&r, &url);
        if (url.n <= REQUEST_MAX_URL_BYTES) {
                if (request_parse_url(&again, str_text(&url), url.n, &err) < 0)
                        abort();
                check_same(&r, &again);
        }
        copy = request_copy(&r);
        check_same(&r, &copy);
        for (int view = 0; view < REQUEST_N_VIEWS; view++) {
                err = (struct err){0};
                if (request_check(&r, (enum request_view)view, &err) < 0)
                        check_error(&err);
        }
        request_metric(&r);
        request_done(&r);
        request_done(&again);
        request_done(&copy);
        str_done(&url);
        return 0;
}

/* SPDX-License-Identifier: MIT */
#include "answer/testing/asked_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

struct answerer *open_traces(const char *path, const char *old_path) {
        const struct answerer_options o = {.path = path, .old_path = old_path};
        struct answerer *a = NULL;
        struct err err = {0};

        if (answerer_new(&o, &a, &err) < 0)
                fail_msg("%s", err.text);
        return a;
}

struct text ask(struct asker *k, const char *name, const char *query) {
        struct text t = {0};
        FILE *out = open_memstream(&t.bytes, &t.n);

        t.r = answer(k, name, query, strlen(query), out, &t.err);
        fclose(out);
        return t;
}

/* SPDX-License-Identifier: MIT */
/* For tests: what a report says, in words. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/report.h"
#include "request/testing/request_made.h"

/* The report's words with one blank between them, to be freed. */
static inline char *report_words(const char *path) {
        struct request request = request_made("");
        const struct show_options o = {.path = path, .request = &request};
        struct err e = {0};
        char *text = NULL, *to;
        size_t n;
        FILE *out = open_memstream(&text, &n);

        setenv("COLUMNS", "200", 1);
        setenv("LC_ALL", "C", 1);
        assert_int_equal(report_print(out, &o, &e), 0);
        fclose(out);
        request_done(&request);
        to = text;
        for (const char *from = text; *from; from++)
                if ((*from != '\n' && *from != ' ') || (to > text && to[-1] != ' '))
                        *to++ = *from == '\n' ? ' ' : *from;
        *to = '\0';
        return text;
}

static inline void assert_says(const char *text, bool is_said, const char *words) {
        if (!!strstr(text, words) != is_said) {
                print_error("'%s' is %sin:\n%s\n", words, is_said ? "not " : "", text);
                fail();
        }
}

/* SPDX-License-Identifier: MIT */
/* The page and the answers it can give without a server, as one file of HTML: docs/page.md, "One file". */
#pragma once

#include <stdio.h>

#include "answer/answerer.h"
#include "request/request.h"

/* Stands within the first bytes of every page: it may be written anew where it lies. */
#define PAGE_FILE_MARK "written by silt html"
enum { PAGE_FILE_MARK_WITHIN = 256 };

enum { PAGE_MAX_BYTES = 5000000 }; /* of the file: then the smallest call paths become one */

struct page_file_options {
        const char *view; /* that is opened */
        /* What it is written for. Process and filters hold in all of it; window, metric and what is drawn are how it is opened. */
        const struct request *request;
        bool is_reversed;  /* of the flame graph: from the code that asked outwards */
        bool is_compared;  /* with the older trace of the asker */
        const char *title; /* NULL: none */
};
#define PAGE_FILE_OPTIONS_DEFAULT                                                                  \
        ((struct page_file_options){.view = "overview", .request = &request_default})

/* What was written, to be told. */
struct page_file_result {
        uint64_t bytes;
        uint64_t n_max_paths; /* call paths told one by one, at most */
        char left_out[256];   /* what else a reader might look for, and why; "": nothing */
};

int page_file_write(FILE *out, struct asker *k, const struct page_file_options *o,
                    struct page_file_result *ret, struct err *reterr);

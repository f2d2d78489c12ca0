/* SPDX-License-Identifier: MIT */
/* The page and the answers it can give without a server, as one file of HTML: docs/page.md, "One file". */
#pragma once

#include <stdio.h>

#include "answer/answerer.h"

/* Stands within the first bytes of every page: it may be written anew where it lies. */
#define PAGE_FILE_MARK "written by silt html"
enum { PAGE_FILE_MARK_WITHIN = 256 };

enum { PAGE_MAX_BYTES = 5000000 }; /* of the file: then the smallest call paths become one */

struct page_file_options {
        const char *
                start; /* what is chosen when it is opened: a fragment without '#'; "" the overview */
};

/* What was written, to be told. */
struct page_file_result {
        uint64_t bytes;
        uint64_t n_max_paths; /* call paths told one by one, at most */
};

int page_file_write(FILE *out, struct asker *k, const struct page_file_options *o,
                    struct page_file_result *ret, struct err *reterr);

/* SPDX-License-Identifier: MIT */
/* The page as one file, for the commands that make one. */
#pragma once

#include "base/err.h"
#include "page/page_file.h"

struct page_product {
        const char *path;
        const char *old_path; /* the trace to compare with; NULL: none */
        const char *output;   /* "-": standard output */
        bool force;
        struct page_file_options page;
};

/* Also says what was written, on standard error. */
int page_product_make(const struct page_product *p, struct err *reterr);
